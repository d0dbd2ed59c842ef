"""Rewriting of expressions: names become elements of the pattern, column names the expressions behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from gdb import limits
from gdb.errors import LimitExceeded
from gdb.language.report import located
from gdb.language.syntax import (
    Arithmetic,
    Call,
    Comparison,
    Connected,
    Connective,
    Element,
    Expression,
    HasLabels,
    In,
    Index,
    IsNull,
    ListLiteral,
    Literal,
    MapLiteral,
    Negative,
    Not,
    Parameter,
    Place,
    Property,
    StringTest,
    Variable,
    children,
    walk,
)


def resolve(expression: Expression, lookup: Callable[[Variable], Expression]) -> Expression:
    """The expression with every variable replaced by what `lookup` says."""

    def inner(part: Expression) -> Expression:
        return resolve(part, lookup)

    match expression:
        case Variable():
            return lookup(expression)
        case Property(subject=subject) | HasLabels(subject=subject):
            return replace(expression, subject=inner(subject))
        case Not(operand=operand) | Negative(operand=operand) | IsNull(operand=operand):
            return replace(expression, operand=inner(operand))
        case ListLiteral(items=items):
            return replace(expression, items=tuple(map(inner, items)))
        case Connected(operands=operands):
            return replace(expression, operands=tuple(map(inner, operands)))
        case Call(arguments=arguments):
            return replace(expression, arguments=tuple(map(inner, arguments)))
        case Comparison(left=left, right=right) | StringTest(left=left, right=right):
            return replace(expression, left=inner(left), right=inner(right))
        case In(item=item, list=within):
            return replace(expression, item=inner(item), list=inner(within))
        case Arithmetic(first=first, rest=rest):
            following = tuple((operator, inner(part)) for operator, part in rest)
            return replace(expression, first=inner(first), rest=following)
        case MapLiteral(entries=entries):
            return replace(expression, entries=tuple((key, inner(part)) for key, part in entries))
        case Index(subject=subject, index=index):
            return replace(expression, subject=inner(subject), index=inner(index))
        case _:  # the others are refused by the binder, or hold no variable
            return expression


def conjuncts(condition: Expression) -> tuple[Expression, ...]:
    """The parts of a condition that must all be true: its outermost ANDs taken apart."""
    found: list[Expression] = []
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Connected) and part.connective is Connective.AND:
            waiting.extend(reversed(part.operands))
        else:
            found.append(part)
    return tuple(found)


def elements(expression: Expression) -> frozenset[Element]:
    """The query vertices and edges that an expression mentions."""
    return frozenset(part for part in walk(expression) if isinstance(part, Element))


def is_id(expression: Expression) -> bool:
    """id() of an element of the pattern."""
    return (
        isinstance(expression, Call)
        and expression.function.text.lower() == "id"
        and not expression.distinct
        and len(expression.arguments) == 1
        and isinstance(expression.arguments[0], Element)
    )


def measure(expression: Expression, text: str) -> None:
    """Refuse an expression that is too deep for SQL, or (through chains of comparisons) too large.

    Raises
    ------
    LimitExceeded : see `gdb.limits`.
    """
    waiting, size = [(expression, 1)], 0
    while waiting:
        part, depth = waiting.pop()
        size += 1
        if isinstance(part, Arithmetic):
            depth += len(part.rest)
        if depth > 2 * limits.MAX_DEPTH:
            message = "an expression has too many operators one after the other."
            raise LimitExceeded(
                located(text, part.place, message),
                "Split it, or raise gdb.limits.MAX_DEPTH.",
            )
        if size > limits.MAX_EXPRESSION_SIZE:
            message = f"an expression has more than {limits.MAX_EXPRESSION_SIZE} parts."
            raise LimitExceeded(
                located(text, expression.place, message),
                "Pass long lists as a $parameter, or raise gdb.limits.MAX_EXPRESSION_SIZE.",
            )
        inner = children(part)
        if isinstance(part, ListLiteral):
            inner = tuple(item for item in inner if not isinstance(item, Literal))
        waiting.extend((child, depth + 1) for child in inner)


def properties(expressions: Iterable[Expression]) -> frozenset[tuple[str, str]]:
    """The properties of variables that some expressions mention: name and key."""
    return frozenset(
        (part.subject.name, part.key.text)
        for expression in expressions
        for part in walk(expression)
        if isinstance(part, Property) and isinstance(part.subject, Variable)
    )


def parameters(expression: Expression) -> tuple[tuple[str, Place], ...]:
    """Name and place of every parameter that an expression mentions."""
    return tuple(
        (part.name, part.place) for part in walk(expression) if isinstance(part, Parameter)
    )
