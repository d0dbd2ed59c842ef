"""Passes of a stage on the CPU, where a query has a budget and the graph does not fit in memory: one level is bound to a
range of vids, and what is read from there is copied to memory that the budget accounts for, in the order in which it
lies on the disk (`gdb.executor.nest.vid_ranges`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gdb.records import dataclass
from gdb.storage.graph.adjacency import I64, Adjacency
from gdb.storage.graph.row_blocks import Side, block, split_positions

from ..nest.nest import VertexLevel
from ..nest.prepare import Prepared
from ..nest.vid_ranges import Reads, bound_stage, is_sum, reads_of
from ..work.scheduler import Budget

MOST_PASSES = 64
ROW = 16  # bytes of a row of a block beside its neighbours: where it begins, and its split


@dataclass(frozen=True, slots=True)
class Passes:
    """level : that is bound. reads : because of it. marks : the first vid of each pass, and the end of the last."""

    level: int
    reads: Reads
    marks: tuple[int, ...]

    def stages(self, prepared: Prepared, budget: Budget) -> Iterator[Prepared]:
        """The stage of each pass; its blocks are accounted for until the next."""
        for low, high in zip(self.marks, self.marks[1:], strict=False):
            with budget.part() as part:
                rows = {
                    k: _rows(prepared.views[k], low, high, side, part)
                    for k, side in self.reads.rows.items()
                }
                columns = {
                    k: _columns(prepared, k, low, high, side, part)
                    for k, side in self.reads.columns.items()
                }
                yield bound_stage(prepared, self.level, (low, high), rows, columns)


def sizes_of(view: Adjacency, side: Side) -> I64:
    """How many neighbours of each row count, i64[rows]."""
    if side is Side.BOTH:
        return np.diff(view.offsets)
    split = split_positions(view)[: view.rows]
    return split - view.offsets[:-1] if side is Side.BELOW else view.offsets[1:] - split


def _rows(view: Adjacency, low: int, high: int, side: Side, budget: Budget) -> Adjacency:
    begin, end = np.searchsorted(view.vids(), (low, high)).tolist()
    size = int(sizes_of(view, side)[begin:end].sum())
    return block(view, (begin, end), (0, 1 << 32), size, budget, side)


def _columns(
    prepared: Prepared, k: int, low: int, high: int, side: Side, budget: Budget
) -> Adjacency:
    view = prepared.views[k]
    size = int(_entering(prepared, k, side)[low:high].sum())
    return block(view, (0, view.rows), (low, high), size, budget, side)


def _entering(prepared: Prepared, k: int, side: Side) -> I64:
    """In how many rows of view k each vid counts, i64[vids]."""
    spec = prepared.specs[k]
    for other, view in zip(prepared.specs, prepared.views, strict=True):
        if (other.types, other.direction) == (spec.types, spec.direction.flipped):
            across = {Side.BOTH: Side.BOTH, Side.BELOW: Side.ABOVE, Side.ABOVE: Side.BELOW}[side]
            found = np.zeros(prepared.vids, np.int64)
            found[view.vids()] = sizes_of(view, across)
            return found
    raise AssertionError(spec)


def find(prepared: Prepared, room: int) -> Passes | None:
    nest = prepared.nest
    for level, one in enumerate(nest.levels):
        if not is_sum(nest, level) or not isinstance(one, VertexLevel):
            continue
        reads = reads_of(prepared, level)
        if not reads.rows and not reads.columns:
            continue
        marks = _marks(prepared, reads, room)
        if marks is not None:
            return Passes(level, reads, marks)
    return None


def _marks(prepared: Prepared, reads: Reads, room: int) -> tuple[int, ...] | None:
    sizes = np.zeros(prepared.vids, np.int64)
    for k, side in reads.rows.items():
        view = prepared.views[k]
        sizes[view.vids()] += ROW + 4 * sizes_of(view, side)
    for k, side in reads.columns.items():
        room -= ROW * (prepared.views[k].rows + 1)
        sizes += 4 * _entering(prepared, k, side)
    total = np.concatenate([[0], np.cumsum(sizes)])
    if room <= 0 or int(total[-1]) > MOST_PASSES * room:
        return None
    marks = [0]
    while marks[-1] < prepared.vids:
        end = int(np.searchsorted(total, total[marks[-1]] + room, side="right")) - 1
        marks.append(max(end, marks[-1] + 1))
    return tuple(marks)
