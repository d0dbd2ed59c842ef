"""RETURN that only picks the columns of the WITH before it is that WITH.

MATCH (a)-->(b) WITH a, count(*) AS n ORDER BY n LIMIT 3 RETURN a, n
MATCH (a)-->(b) RETURN a, count(*) AS n ORDER BY n LIMIT 3
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gdb.language.clauses import Clause, Query, Return, ReturnItem, With
from gdb.language.syntax import Expression, Literal, Name, Parameter, Variable
from gdb.query_graph import MatchMode
from gdb.records import replace


def join_projections(query: Query, _: MatchMode) -> Query:
    """See the module."""
    parts = tuple(_joined(clauses) for clauses in query.parts)
    return query if parts == query.parts else replace(query, parts=parts)


def _joined(clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
    left = list(clauses)
    while len(left) > 1:
        match left[-2:]:
            case [With(projection=projection, where=None), Return() as last]:
                one = _one(projection, last)
            case _:
                break
        if one is None:
            break
        left[-2:] = [one]
    return clauses if len(left) == len(clauses) else tuple(left)


def _one(first: Return, last: Return) -> Return | None:
    """The RETURN that does both; None where it takes both."""
    if first.everything or last.everything or last.distinct:
        return None
    cut = first.order or first.skip is not None or first.limit is not None
    if cut and (last.order or last.skip is not None or last.limit is not None):
        return None
    columns = {item.name: item.expression for item in first.items}
    picked: list[ReturnItem] = []
    for item in last.items:
        if not isinstance(item.expression, Variable) or item.expression.name not in columns:
            return None
        name = Name(item.name, item.expression.place)
        picked.append(ReturnItem(columns[item.expression.name], name, item.name))
    if not all(map(_may_repeat, _repeated(picked))):
        return None
    names = {item.expression.name for item in last.items if isinstance(item.expression, Variable)}
    lost = [expression for name, expression in columns.items() if name not in names]
    if lost and (_groups(first) or not all(isinstance(one, Variable) for one in lost)):
        return None  # a key all the same, or what may fail
    if last.order or cut:
        kept = {i.name for i in last.items if i.expression == Variable(i.name, i.expression.place)}
        if (
            kept != names
            or not _mentioned([i.expression for i in (*first.order, *last.order)]) <= kept
        ):
            return None  # ORDER BY has other names for the columns, or looks behind them
    order = first.order or last.order
    skip = first.skip if last.skip is None else last.skip
    limit = first.limit if last.limit is None else last.limit
    items, distinct = tuple(picked), first.distinct
    return replace(last, items=items, distinct=distinct, order=order, skip=skip, limit=limit)


def _repeated(items: Sequence[ReturnItem]) -> list[Expression]:
    """The expressions that several items have from one column."""
    times = Counter(id(item.expression) for item in items)
    return [item.expression for item in items if times[id(item.expression)] > 1]


def _may_repeat(expression: Expression) -> bool:
    """Whether an expression is the same, and costs nothing, each time that it is evaluated."""
    return isinstance(expression, (Literal, Parameter, Variable))


def _groups(clause: Return) -> bool:
    from gdb.language.aggregation import has_aggregate  # here: most queries have one projection

    return clause.distinct or any(has_aggregate(item.expression) for item in clause.items)


def _mentioned(expressions: Sequence[Expression]) -> set[str]:
    """The names that expressions mention."""
    from gdb.language.mentioned_names import mentioned  # here: most queries have one projection

    return {name for one in expressions for name in mentioned(one)}
