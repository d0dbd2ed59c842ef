"""LIMIT pushdown: LIMIT comes before the expressions that are computed for each row.

Match (a)-->(b)   Project a.x + b.x AS sum   Limit 3
Match (a)-->(b)   Limit 3   Project a.x + b.x AS sum
"""

from __future__ import annotations

from gdb.logical.operators import Limit, Operator, Operators, Project, unless_same


def early_limit(operators: Operators, _: tuple[str, ...]) -> Operators:
    """See the module."""
    found: list[Operator] = []
    for operator in operators:
        place = len(found)
        if isinstance(operator, Limit):
            while place and isinstance(found[place - 1], Project):
                place -= 1
        found.insert(place, operator)
    return unless_same(operators, found)
