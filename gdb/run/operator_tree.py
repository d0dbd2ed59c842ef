"""The one form of EXPLAIN and PROFILE: the operators of a query, the first one first.

Each line shows how it runs, the rows that are expected (`~`), and under PROFILE what it did: its rows (`=`), its own
milliseconds and the most bytes that were metered while it worked, as far as each is known. Below it, indented,
is what else is known of it: the plan of a pattern, the plan of CALL { }.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from gdb.logical.plan_text import plan_lines
from gdb.physical.meter import Figures
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.logical.operators import Operator, Plan


@dataclass(frozen=True, slots=True)
class Shown:
    """An operator.

    how : it runs. below : lines about it. figures : what it did; None under EXPLAIN.
    merged : it runs as one with the next operator, which has the figures of both.
    """

    how: str
    below: tuple[str, ...] = ()
    figures: Figures | None = None
    merged: bool = False


DUCKDB, ROWS = "DuckDB on cpu", "rows on cpu"
"""How operators run that match nothing."""
MANY = 1e9  # rows, above which two digits are enough
Show: TypeAlias = "Callable[[Operator], Shown]"


def tree_lines(plan: Plan, show: Show, expected: Mapping[int, float | None]) -> list[str]:
    """The lines of a plan. expected : rows of each operator, by `id`."""

    def note(operator: Operator) -> tuple[str, Iterable[str]]:
        shown = show(operator)
        parts = [f"[{shown.how}]"]
        rows = expected.get(id(operator))
        if rows is not None:
            parts.append(f"~{_estimate(rows)} rows")
        if shown.merged:
            parts.append("as one with the next")
        elif shown.figures is not None:
            parts.append(figures_text(shown.figures))
        return "   " + "   ".join(parts), shown.below

    return list(plan_lines(plan, note))


def figures_text(figures: Figures) -> str:
    """As in: =412 rows, 1.2 ms, 3,296 bytes."""
    parts = []
    if figures.rows is not None:
        parts.append(f"={figures.rows:,} rows")
    if figures.seconds is not None:
        parts.append(f"{figures.seconds * 1e3:.1f} ms")
    if figures.peak is not None:
        parts.append(f"{figures.peak:,} bytes")
    return ", ".join(parts)


def _estimate(rows: float) -> str:
    return f"{rows:,.0f}" if 10 <= rows < MANY else f"{rows:.2g}"
