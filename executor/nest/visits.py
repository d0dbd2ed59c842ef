"""Estimates of how often the loops of a stage visit the rows of its views, and of what passes over ranges of vids
(`vid_ranges`) cost and spare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gdb.storage.graph.adjacency import Adjacency
from gdb.storage.graph.row_blocks import Side, size_of, sizes_of

from .nest import Kind, VertexLevel
from .prepare import Prepared
from .vid_ranges import reads

F64 = npt.NDArray[np.float64]

# a stage runs in passes where they cost less than this part of what it costs without
GAIN = 0.8
ROOT = 1.5  # visits that it costs to come to a root again, whose row is searched and read


class Visits(NamedTuple):
    """About how often a level comes to rows of a view: to each as often as it has neighbours on a side, times a
    number. total : to all of them."""

    side: Side
    times: float
    total: float

    def to_rows(self, view: Adjacency) -> F64:
        """To each row, f64[rows]."""
        found: F64 = sizes_of(view, self.side).astype(np.float64)
        found *= self.times
        return found


def visits(prepared: Prepared, k: int) -> dict[int, Visits]:
    """About how often the loops come to the rows of view k, from each level but the first, which comes to
    each once: by the side of its vertex that holds vertices bound before, and as often in all as the plan
    expects."""
    view, nest, plan = prepared.views[k], prepared.nest, prepared.plan
    expected = dict(zip(plan.order, plan.notes.estimates, strict=False))
    found: dict[int, Visits] = {}
    for reader in sorted(readers(prepared, k)):
        level = nest.levels[reader]
        if not isinstance(level, VertexLevel) or level.base.kind is Kind.LIST:
            continue
        side = Side.BOTH
        if level.cut.above or level.cut.below:
            side = Side.BELOW if level.cut.above else Side.ABOVE
        total = float(size_of(view, side))
        of_root = level.base.kind is Kind.ROW and level.base.b == 0  # then the sum is exact
        times = 1.0 if of_root or not total else expected.get(level.vertex, total) / total
        if total:
            found[reader] = Visits(side, max(times, 1.0), total * max(times, 1.0))
    return found


def visits_to_rows(prepared: Prepared, k: int) -> dict[int, F64]:
    """`visits` to each row of view k, f64[rows], from each level."""
    view = prepared.views[k]
    return {level: found.to_rows(view) for level, found in visits(prepared, k).items()}


def readers(prepared: Prepared, k: int) -> set[int]:
    """The levels from whose vertices view k is read."""
    return {level for view, level, _ in reads(prepared) if view == k}


def cheapest(
    prepared: Prepared,
    totals: Mapping[int, float],
    levels: Iterable[int],
    passes: Callable[[int], int],
    again: Callable[[int], bool] = lambda _: False,
) -> tuple[int, float]:
    """The level of those in `levels` whose passes cost least, in visits, and what they cost; -1 without any.

    A pass comes to every root again, in order, and to what is bound before the level.

    totals : visits from each level. passes : how many there are of a level. again : whether each of them comes to all
    that the others come to as well.
    """

    def cost(level: int) -> float:
        before = sum(n for k, n in totals.items() if k < level or (k != level and again(level)))
        after = 0.0 if again(level) else sum(n for k, n in totals.items() if k > level)
        return passes(level) * (ROOT * len(prepared.roots) + before) + after

    best = min(levels, key=cost, default=-1)
    return best, cost(best) if best >= 0 else 0.0
