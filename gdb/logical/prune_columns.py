"""Projection pruning: columns that no later operator uses are dropped.

Project a, a.x AS x, b   Match (a)-->(c)   Project c.y, x
Project a, a.x AS x      Match (a)-->(c)   Project c.y, x

Before that, a count of what is never null counts rows, so that what is counted has to be in none of them.

Match (a)-[r]->(b)   Aggregate by a.id: count(r)
Match (a)-[r]->(b)   Aggregate by a.id: count(*)
"""

from __future__ import annotations

from gdb.language.aggregation import is_count
from gdb.language.clauses import Match
from gdb.language.syntax import Call, Variable
from gdb.logical.needed_properties import demands
from gdb.logical.operators import (
    Aggregate,
    Argument,
    Column,
    Names,
    Operator,
    Operators,
    Project,
    names_after,
    unless_same,
)
from gdb.records import replace


def prune_columns(operators: Operators, names: tuple[str, ...]) -> Operators:
    """See the module. Computed columns stay: they may fail. The operators themselves where all columns are used."""
    if not any(
        isinstance(one, (Project, Argument)) or (isinstance(one, Aggregate) and one.rest)
        for one in operators
    ):
        return operators  # no name is passed on
    found = []
    for operator, demand in zip(operators, demands(operators, names), strict=True):
        match operator:
            case Project(columns=columns):
                kept = [
                    column
                    for column in columns
                    if column.name in demand.live or not isinstance(column.expression, Variable)
                ]
                if len(kept) < len(columns):
                    operator = replace(operator, columns=tuple(kept))
            case Aggregate(rest=rest) if not demand.live.issuperset(rest):
                operator = replace(operator, rest=tuple(n for n in rest if n in demand.live))
            case Argument(names=again) if not demand.live.issuperset(again):
                operator = replace(operator, names=tuple(n for n in again if n in demand.live))
                if not operator.names:
                    continue
        found.append(operator)
    return unless_same(operators, found)


def count_rows(side: Operators, _: Names) -> Operators:
    """See the module."""
    if not any(isinstance(one, Aggregate) for one in side):
        return side
    found: list[Operator] = []
    there: set[str] = set()  # names that are never null
    names: Names = ()
    for operator in side:
        after = names_after(operator, names)
        match operator:
            case Match(optional=False):
                there |= {*after} - {*names}
            case Project(columns=columns):
                there = _renamed(columns, there)
            case Argument():
                pass  # of what the plan begins with nothing is known
            case Aggregate():
                calls = tuple(replace(one, call=_rows(one.call, there)) for one in operator.calls)
                operator = replace(operator, calls=calls) if calls != operator.calls else operator
                there = _renamed(operator.keys, there) | (there & {*operator.rest})
            case _:
                there &= {*after}
        found.append(operator)
        names = after
    return unless_same(side, found)


def _renamed(columns: tuple[Column, ...], there: set[str]) -> set[str]:
    """The columns that are never null."""
    return {
        one.name
        for one in columns
        if isinstance(one.expression, Variable) and one.expression.name in there
    }


def _rows(call: Call, there: set[str]) -> Call:
    """A count of one of some names as one of rows."""
    if not is_count(call) or call.distinct or call.star:
        return call
    (of,) = call.arguments
    if not isinstance(of, Variable) or of.name not in there:
        return call
    return replace(call, arguments=(), star=True)
