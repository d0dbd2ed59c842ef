"""Analysis of aggregates: the parts of an expression that are aggregates, and what may be left out because of that."""

from __future__ import annotations

from typing import TypeGuard

from gdb.functions.library import AGGREGATES
from gdb.language.syntax import Call, Expression, walk


def is_aggregate(expression: Expression) -> TypeGuard[Call]:
    """Whether an expression is itself a call of an aggregate; those inside it do not matter."""
    return isinstance(expression, Call) and expression.function.text.lower() in AGGREGATES


def has_aggregate(expression: Expression) -> bool:
    """Whether an aggregate occurs anywhere in the expression; what a subquery in it does is its own."""
    return any(is_aggregate(part) for part in walk(expression))


def ignores_repeats(expression: Call) -> bool:
    """Whether an aggregate is the same however often each value occurs."""
    return expression.distinct or not AGGREGATES[expression.function.text.lower()].repeats


def is_count(expression: Expression) -> TypeGuard[Call]:
    """count of anything."""
    return isinstance(expression, Call) and expression.function.text.lower() == "count"


def keeps_order(expression: Call) -> bool:
    """Whether the order of the rows shows in an aggregate of them."""
    return expression.function.text.lower() == "collect"
