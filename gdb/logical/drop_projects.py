"""A Project that only leaves names out is dropped where nothing sees them, or where there are none.

Project a.x AS x, a   Filter a.y > x   Project x   Project x + 1 AS z
Project a.x AS x, a   Filter a.y > x   Project x + 1 AS z
"""

from __future__ import annotations

from gdb.language.mentioned_names import mentioned
from gdb.logical import operators
from gdb.logical.operators import (
    Names,
    Operator,
    Operators,
    expressions_of,
    names_after,
    unless_same,
)


def drop_projects(side: Operators, _: Names) -> Operators:
    """See the module."""
    if not any(isinstance(one, operators.Project) and one.narrows for one in side):
        return side
    found: list[Operator] = []
    known: Names | None = None  # the names here, from the first operator on that says all of them
    for operator, after in zip(side, (*side[1:], None), strict=True):
        if isinstance(operator, operators.Project) and operator.narrows:
            left = names_after(operator, ())
            if left == known or (after is not None and _sees_only(after, left)):
                continue
        found.append(operator)
        if known is not None or isinstance(operator, (operators.Project, operators.Aggregate)):
            known = names_after(operator, known or ())
    return unless_same(side, found)


def _sees_only(operator: Operator, names: Names) -> bool:
    """Whether an operator, of whose rows nothing but its own columns is left, mentions no other names."""
    if not isinstance(operator, (operators.Project, operators.Aggregate)):
        return False
    used = {name for one in expressions_of(operator) for name in mentioned(one)}
    rest = {*operator.rest} if isinstance(operator, operators.Aggregate) else set()
    return used | rest <= {*names}
