"""LIMIT without an order: which clauses before it need not run over all of their rows.

Each row of MATCH, UNWIND and a WITH that neither groups nor sorts comes from one row before it. So some rows of the
first such clause lead to some rows of the last, and where these are enough, nobody asks for the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from gdb.language.aggregation import is_aggregate
from gdb.language.clauses import Clause, Match, Return, Unwind, With
from gdb.language.syntax import walk


def stop(clauses: Sequence[Clause], start: int) -> int | None:
    """The place of the clause whose LIMIT the rows of those from `start` on fill, in no order; None where there is
    none."""
    for k in range(start, len(clauses)):
        match clauses[k]:
            case Match() | Unwind():
                continue
            case With(projection=projection) | (Return() as projection):
                every = [item.expression for item in projection.items]
                if any(is_aggregate(part) for e in every for part in walk(e)):
                    return None
                if projection.distinct or projection.order:
                    return None
                if projection.limit is not None:
                    return k if k > start else None
                if projection.skip is not None:
                    return None
            case _:
                return None
    return None
