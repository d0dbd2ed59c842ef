"""Cardinality estimates: the expected rows of each operator of a plan, as far as known without looking at values.

Of conditions, groups and distinct rows nothing is known: they, and what follows them, have no estimate until an
aggregate without keys makes one row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from gdb.language.clauses import Create, Delete, Finish, Foreach, Match, Remove, Set, Unwind
from gdb.language.syntax import Call, Expression, ListLiteral, Literal, Parameter
from gdb.logical.operators import (
    Aggregate,
    Apply,
    Argument,
    Limit,
    Operator,
    Operators,
    Plan,
    Project,
    Sort,
)

OfMatch: TypeAlias = Callable[[Match], float | None]
"""The rows that a MATCH makes of one row before it, None where that is not known."""
Values: TypeAlias = Mapping[str, object]
"""The values of parameters, by name."""

_KEEPS = (Project, Argument, Sort, Create, Set, Remove, Delete, Foreach)


def cardinality(
    plan: Plan, of_match: OfMatch, values: Values, start: float | None = 1.0
) -> dict[int, float | None]:
    """The expected rows of each operator, by its `id`; None where they are not known. start : rows before the first."""
    found: dict[int, float | None] = {}
    for operators in plan.sides:
        _estimate(operators, start, of_match, values, found)
    return found


def _estimate(
    operators: Operators,
    rows: float | None,
    of_match: OfMatch,
    values: Values,
    estimates: dict[int, float | None],
) -> None:
    for operator in operators:
        rows = _after(operator, rows, of_match, values)
        estimates[id(operator)] = rows
        if isinstance(operator, Apply):  # of one row that it sees
            for side in operator.plan.sides:
                _estimate(side, 1.0, of_match, values, estimates)


def _after(
    operator: Operator, rows: float | None, of_match: OfMatch, values: Values
) -> float | None:
    match operator:
        case Match(optional=optional):
            each = of_match(operator)
            if rows is None or each is None:
                return None
            return rows * (max(each, 1.0) if optional else each)
        case Unwind(list=items):
            several = _length(items, values)
            return None if rows is None or several is None else rows * several
        case Aggregate(keys=keys):
            return None if keys else 1.0
        case Limit(skip=skip, limit=limit):
            return _cut(rows, skip, limit, values)
        case Finish():
            return 0.0
        case _ if isinstance(operator, _KEEPS):
            return rows
    return None


def _cut(
    rows: float | None, skip: Expression | None, limit: Expression | None, values: Values
) -> float | None:
    first = 0 if skip is None else _number(skip, values)
    most = float("inf") if limit is None else _number(limit, values)
    if rows is None or first is None or most is None:
        return None
    return min(max(rows - first, 0.0), most)


def _number(expression: Expression, values: Values) -> float | None:
    value: object = None
    if isinstance(expression, Literal):
        value = expression.value
    elif isinstance(expression, Parameter):
        value = values.get(expression.name)
    return float(value) if type(value) is int else None


def _length(items: Expression, values: Values) -> int | None:
    """The length of a list that is written out, or a parameter, or a range of whole numbers."""
    match items:
        case ListLiteral(items=several):
            return len(several)
        case Parameter(name=name):
            value = values.get(name)
            return len(value) if isinstance(value, (list, tuple)) else None
        case Call(function=function, arguments=(first, last)) if function.text.lower() == "range":
            begin, end = _number(first, values), _number(last, values)
            return None if begin is None or end is None else max(int(end - begin) + 1, 0)
    return None
