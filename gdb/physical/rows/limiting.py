"""LIMIT without an order: which operators before it need not run over all of their rows.

Each row of MATCH, UNWIND, Project and Filter comes from one row before it. So some rows of the first such operator lead
to some rows of the last, and where these are enough, the others are not computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from gdb.language.clauses import Match, Unwind
from gdb.logical.operators import Filter, Limit, Operator, Project


def stops(operators: Sequence[Operator]) -> list[int | None]:
    """For each operator the place of the LIMIT behind it that the rows from it on fill, in no order; None where there
    is none."""
    found: list[int | None] = []
    behind: int | None = None  # the LIMIT that rows before the operator last looked at fill
    for k in range(len(operators) - 1, -1, -1):
        operator = operators[k]
        passes = isinstance(operator, (Match, Unwind, Project, Filter))
        found.append(behind if passes else None)
        limited = isinstance(operator, Limit) and operator.limit is not None
        behind = k if limited else found[-1]
    return found[::-1]
