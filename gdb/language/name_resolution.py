"""Rewriting of expressions: names become elements of the pattern, column names the expressions behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gdb import limits
from gdb.errors import LimitExceeded
from gdb.language import syntax
from gdb.language.report import located_message
from gdb.language.syntax import Connective, Expression, Place, children, rebuilt, walk

_WITH_VARIABLES = (
    *(syntax.ListComprehension, syntax.Quantified, syntax.Reduce),
    *(syntax.PatternComprehension, syntax.MapProjection),
)


def resolve(expression: Expression, lookup: Callable[[syntax.Variable], Expression]) -> Expression:
    """The expression with every variable replaced by what `lookup` says, but for what has variables of its own."""

    def replaced(part: Expression) -> Expression | None:
        if isinstance(part, syntax.Variable):
            return lookup(part)
        return part if isinstance(part, _WITH_VARIABLES) else None

    return rebuilt(expression, replaced)


def conjuncts(condition: Expression) -> tuple[Expression, ...]:
    """The parts of a condition that must all be true: its outermost ANDs taken apart."""
    found: list[Expression] = []
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        if isinstance(part, syntax.Connected) and part.connective is Connective.AND:
            waiting.extend(reversed(part.operands))
        else:
            found.append(part)
    return tuple(found)


def elements(expression: Expression) -> frozenset[syntax.ElementReference]:
    """The query vertices and edges that an expression mentions."""
    return frozenset(part for part in walk(expression) if isinstance(part, syntax.ElementReference))


def is_id(expression: Expression) -> bool:
    """id() of an element of the pattern."""
    return (
        isinstance(expression, syntax.Call)
        and expression.function.text.lower() == "id"
        and not expression.distinct
        and len(expression.arguments) == 1
        and isinstance(expression.arguments[0], syntax.ElementReference)
    )


def measure(expression: Expression, text: str) -> None:
    """Refuse an expression that is too deep for SQL, or (through chains of comparisons) too large.

    Raises
    ------
    LimitExceeded : see `gdb.limits`.
    """
    waiting, size = [(expression, 1)], 0
    deepest, largest = limits.size("MAX_DEPTH"), limits.size("MAX_EXPRESSION_SIZE")
    while waiting:
        part, depth = waiting.pop()
        size += 1
        if isinstance(part, syntax.Arithmetic):
            depth += len(part.rest)
        if depth > 2 * deepest:
            message = "an expression has too many operators one after the other."
            raise LimitExceeded(
                located_message(text, part.place, message), limits.cure("Split it", "MAX_DEPTH")
            )
        if size > largest:
            message = f"an expression has more than {largest} parts."
            raise LimitExceeded(
                located_message(text, expression.place, message),
                limits.cure("Pass long lists as a $parameter", "MAX_EXPRESSION_SIZE"),
            )
        inner = children(part)
        if isinstance(part, syntax.ListLiteral):
            inner = tuple(item for item in inner if not isinstance(item, syntax.Literal))
        waiting.extend((child, depth + 1) for child in inner)


def properties(expressions: Iterable[Expression]) -> frozenset[tuple[str, str]]:
    """The properties of variables that some expressions mention: name and key."""
    return frozenset(
        (part.subject.name, part.key.text)
        for expression in expressions
        for part in walk(expression)
        if isinstance(part, syntax.Property) and isinstance(part.subject, syntax.Variable)
    )


def parameters(expression: Expression) -> tuple[tuple[str, Place], ...]:
    """Name and place of every parameter that an expression mentions."""
    return tuple(
        (part.name, part.place) for part in walk(expression) if isinstance(part, syntax.Parameter)
    )
