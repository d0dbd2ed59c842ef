"""CALL { } over rows, row by row; over columns it runs for all rows at once (`gdb.physical.columns.applied`).

What a subquery gives that sees nothing of the rows is the same for each of them. It is run for the first row and for
the second one, and kept from then on where it has few rows: one row alone keeps nothing, and a LIMIT that the first
rows fill ends its work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from gdb.language import clauses
from gdb.language.random_values import is_random
from gdb.logical.operators import Apply, Plan, every_expression, writes
from gdb.physical.rows.batches import Batches, Parts, Replayed, called_rows, expand_rows, hold_rows

if TYPE_CHECKING:
    from gdb.base.allowance import Allowance
    from gdb.base.values.kinds import Row
    from gdb.logical.operators import Operator

MOST = 1 << 16
"""Rows that are kept; where there are more, the subquery runs for each row."""


def apply_rows(
    allowance: Allowance,
    operator: Apply,
    rows: Batches,
    run: Callable[[Plan, Batches], Batches],
) -> Parts:
    """What a subquery finds for each row; where it writes, one row after the other, and all before this is read.

    run : runs a plan from some rows on.
    """
    plan, sees = operator.plan, operator.sees
    missing: Row = dict.fromkeys(name for name in operator.brings if name not in rows.names)

    def found(row: Row) -> Parts:
        return run(plan, Batches(sees, iter([[{name: row[name] for name in sees}]]))).parts

    def expand(row: Row) -> Iterable[Row]:
        parts = found(row) if same is None else same.again()
        if not operator.returns:
            return [row]
        return called_rows(parts, row, missing if operator.optional else None)

    same = None
    if writes(plan):
        before = hold_rows(allowance, rows.parts)
        return hold_rows(allowance, expand_rows(allowance, before, expand))
    if operator.returns and not sees and gives_the_same(plan):
        same = Uncorrelated(allowance, lambda: found({}))
    return _read(expand_rows(allowance, rows.parts, expand), same)


def _read(parts: Parts, same: Uncorrelated | None) -> Parts:
    try:
        yield from parts
    finally:
        if same is not None:
            same.clear()


def gives_the_same(plan: Plan) -> bool:
    """Whether a plan that reads has the same rows each time: it computes no random values, and no procedure runs."""
    return not any(_varies(operator) for side in plan.sides for operator in side)


def _varies(operator: Operator) -> bool:
    if isinstance(operator, Apply):
        return not gives_the_same(operator.plan)
    if isinstance(operator, clauses.CallProcedure):
        return True
    return any(map(is_random, every_expression(operator)))


class Uncorrelated:
    """The rows of a subquery that gives the same each time; what is kept counts until it is cleared."""

    def __init__(self, allowance: Allowance, run: Callable[[], Parts]) -> None:
        self._allowance, self._run = allowance, run
        self._count: int | None = None  # of the first run, when it has ended
        self._kept: Replayed | None = None

    def again(self) -> Parts:
        """The rows, from the first one on."""
        if self._kept is None and self._count is not None and self._count <= MOST:
            self._kept = Replayed(self._allowance, self._run(), "the rows of a subquery")
        return self._counted() if self._kept is None else self._kept.again()

    def clear(self) -> None:
        """Forget what is kept."""
        if self._kept is not None:
            self._kept.clear()

    def _counted(self) -> Parts:
        count = 0
        for part in self._run():
            count += len(part)
            yield part
        self._count = count
