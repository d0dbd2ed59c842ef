"""A text for an expression that is equal for two expressions which mean the same by their shape.

It shows which query vertices are alike (`QueryVertex.predicate`), which conditions an automorphism keeps
(`QueryGraph.symmetric_under`), and which columns an ORDER BY means. Parameters appear by value; the operands of =, <>,
AND, OR and XOR in sorted order; comparisons turned so that constants are on the right, and else > and >= become
< and <=. It says nothing of the rest of algebra: `a.x + 1`
and `1 + a.x` are two texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from gdb.language import syntax
from gdb.language.name_resolution import elements
from gdb.language.syntax import Comparator, Expression, LabelTerms
from gdb.storage.columns.temporal import text_of

if TYPE_CHECKING:
    from gdb.executor.relational.relational_tail import Value

_TURNED = {
    Comparator.GREATER: Comparator.LESS,
    Comparator.GREATER_EQUAL: Comparator.LESS_EQUAL,
    Comparator.LESS: Comparator.GREATER,
    Comparator.LESS_EQUAL: Comparator.GREATER_EQUAL,
}
_WITHOUT_OPERATOR = (
    *(syntax.Literal, syntax.Parameter, syntax.ElementReference, syntax.Property),
    *(syntax.ListLiteral, syntax.Call, syntax.Variable),
)
_PLAIN = re.compile(r"[^\W\d]\w*")
_MOST_ITEMS = 20  # of a list; a longer one appears by its hash


def numbered(element: syntax.ElementReference) -> str:
    """$v0 or $e0, as QueryGraph.symmetric_under wants it."""
    return f"${'v' if element.kind == 'vertex' else 'e'}{element.index}"


def canonical(
    expression: Expression,
    parameters: Mapping[str, Value],
    named: Callable[[syntax.ElementReference], str] = numbered,
) -> str:
    """The text of a resolved expression; `named` gives the text of an element ("" leaves it out).

    Examples
    --------
    >>> from gdb.language.parser import parse
    >>> canonical(parse("MATCH (a) WHERE 30 < 5 AND 2 > 1 RETURN a").parts[0][0].where, {})
    '(1 < 2) AND (30 < 5)'
    """
    return _CanonicalWriter(parameters, named).text(expression)


def conjunction(texts: Iterable[str]) -> str:
    """Several conditions as one text, whatever their order and however often they are said."""
    distinct = sorted(set(texts))
    return distinct[0] if len(distinct) == 1 else " AND ".join(f"({text})" for text in distinct)


class _CanonicalWriter:
    def __init__(
        self, parameters: Mapping[str, Value], named: Callable[[syntax.ElementReference], str]
    ) -> None:
        self.parameters = parameters
        self.named = named

    def text(self, expression: Expression) -> str:
        match expression:
            case syntax.Literal(value=value):
                return value_text(value)
            case syntax.Parameter(name=name):
                return value_text(self.parameters[name])
            case syntax.Variable(name=name):
                return _name(name)
            case syntax.ElementReference():
                return self.named(expression)
            case syntax.Property(subject=subject, key=key):
                return f"{self._operand(subject)}.{_name(key.text)}"
            case syntax.HasLabels(subject=subject, labels=labels):
                return f"{self.text(subject)}:{labels_text(labels)}"
            case syntax.ListLiteral(items=items):
                return f"[{', '.join(map(self.text, items))}]"
            case syntax.Not(operand=operand):
                return f"NOT {self._operand(operand)}"
            case syntax.Negative(operand=operand):
                return f"-{self._operand(operand)}"
            case syntax.IsNull(operand=operand, negated=negated):
                return f"{self._operand(operand)} IS {'NOT ' * negated}NULL"
            case _:
                return self._operator(expression)

    def _operator(self, expression: Expression) -> str:
        match expression:
            case syntax.Connected(connective=connective, operands=operands):
                texts = sorted(f"({self.text(operand)})" for operand in operands)
                return f" {connective} ".join(texts)
            case syntax.Comparison():
                return self._comparison(expression)
            case syntax.StringTest(operator=operator, left=left, right=right):
                return f"{self._operand(left)} {operator} {self._operand(right)}"
            case syntax.In(item=item, list=within):
                return f"{self._operand(item)} IN {self._operand(within)}"
            case syntax.Arithmetic(first=first, rest=rest):
                parts = [f" {operator} {self._operand(operand)}" for operator, operand in rest]
                return self._operand(first) + "".join(parts)
            case syntax.Call(function=function, arguments=arguments, distinct=distinct, star=star):
                inner = "*" if star else ", ".join(map(self.text, arguments))
                return f"{function.text.lower()}({'DISTINCT ' * distinct}{inner})"
            case syntax.MapLiteral(entries=entries):
                inner = ", ".join(f"{_name(key.text)}: {self.text(part)}" for key, part in entries)
                return f"{{{inner}}}"
            case syntax.Index(subject=subject, index=index):
                return f"{self._operand(subject)}[{self.text(index)}]"
            case _:  # the binder refuses what is here
                # here: only comparisons of two elements need it
                from gdb.language.printer import expression_text

                return expression_text(expression)

    def _comparison(self, comparison: syntax.Comparison) -> str:
        """Constants are on the right; else < and <= keep their sides, and = sorts them."""
        left, right = self._operand(comparison.left), self._operand(comparison.right)
        operator = comparison.operator
        constants = not elements(comparison.left), not elements(comparison.right)
        if constants[0] == constants[1]:
            symmetric = operator in (Comparator.EQUAL, Comparator.UNEQUAL)
            turn = right < left if symmetric else operator.startswith(">")
        else:
            turn = constants[0]
        if turn:
            left, right, operator = right, left, _TURNED.get(operator, operator)
        return f"{left} {operator} {right}"

    def _operand(self, expression: Expression) -> str:
        text = self.text(expression)
        return text if isinstance(expression, _WITHOUT_OPERATOR) else f"({text})"


def labels_text(labels: LabelTerms) -> str:
    """Labels in sorted order: A&(B|C)."""
    terms = {"|".join(sorted({_name(name.text) for name in term})) for term in labels}
    several = len(terms) > 1
    return "&".join(f"({term})" if several and "|" in term else term for term in sorted(terms))


def value_text(value: Value) -> str:
    """A value as the language writes it; `$` escaped, because $v0 in these texts means an element."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return repr(value).replace("$", "\\x24")
        case int() | float():
            return repr(value)
        case datetime() if value.tzinfo is not None:
            return f"datetime('{value.isoformat()}', {value.tzinfo!r})"
        case datetime():  # before date, which it is too
            return f"localdatetime('{text_of(value)}')"
        case date() | timedelta():
            name = "date" if isinstance(value, date) else "duration"
            return f"{name}('{text_of(value)}')"
        case Mapping():
            pairs = [f"{_name(key)}: {value_text(value[key])}" for key in sorted(value)]
            return f"{{{', '.join(pairs)}}}"
        case Sequence():
            items = [value_text(item) for item in value]
        case _:  # a time, or a value of `gdb.base.values`
            return f"{type(value).__name__}('{value}')"
    if len(items) <= _MOST_ITEMS:
        return f"[{', '.join(items)}]"
    import hashlib  # loads OpenSSL

    digest = hashlib.sha256("\0".join(items).encode(errors="backslashreplace")).hexdigest()[:32]
    return f"[{items[0]}, {items[1]}, ... {len(items)} items {digest}]"


def _name(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    return "`" + name.replace("`", "``").replace("$", "\\x24") + "`"
