"""Projection pruning: columns that no later operator uses are dropped.

Project a, a.x AS x, b   Match (a)-->(c)   Project c.y, x
Project a, a.x AS x      Match (a)-->(c)   Project c.y, x
"""

from __future__ import annotations

from gdb.language.syntax import Variable
from gdb.logical.needed_properties import demands
from gdb.logical.operators import Aggregate, Operators, Project, unless_same
from gdb.records import replace


def prune_columns(operators: Operators, names: tuple[str, ...]) -> Operators:
    """See the module. Computed columns stay: they may fail. The operators themselves where all columns are used."""
    if not any(
        isinstance(one, Project) or (isinstance(one, Aggregate) and one.rest) for one in operators
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
        found.append(operator)
    return unless_same(operators, found)
