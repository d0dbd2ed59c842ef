"""LIMIT without an order: which clauses before it need not run over all of their rows.

Each row of MATCH, UNWIND and a WITH that neither groups nor sorts comes from one row before it. So some rows of the
first such clause lead to some rows of the last, and where these are enough, nobody asks for the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from gdb.language.aggregation import is_aggregate
from gdb.language.clauses import Clause, Match, Return, Unwind, With
from gdb.language.syntax import walk


def stops(clauses: Sequence[Clause]) -> list[int | None]:
    """For each clause the place of the one behind it whose LIMIT the rows from it on fill, in no order; None where
    there is none."""
    found: list[int | None] = []
    behind: int | None = None  # the LIMIT that rows before the clause last looked at fill
    for k in range(len(clauses) - 1, -1, -1):
        ends, limited = _ends(clauses[k])
        found.append(None if ends else behind)
        behind = k if limited else found[-1]
    return found[::-1]


def _ends(clause: Clause) -> tuple[bool, bool]:
    """Whether the rows of a clause lead to no LIMIT behind it, and whether it has a LIMIT that its own rows fill."""
    match clause:
        case Match() | Unwind():
            return False, False
        case With(projection=projection) | (Return() as projection):
            every = [item.expression for item in projection.items]
            grouped = any(is_aggregate(part) for e in every for part in walk(e))
            if grouped or projection.distinct or projection.order:
                return True, False
            limited = projection.limit is not None
            return limited or projection.skip is not None, limited
        case _:
            return True, False
