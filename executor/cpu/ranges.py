"""Passes of a stage on the CPU, where a query has a budget that the graph does not fit: one level is bound to a range
of vids, and what is read from there is copied to memory of the budget, in the order in which it lies on the disk
(`gdb.executor.nest.vid_ranges`).

They are quicker than reads in any order where rows are short, even if the page cache has all of the graph; where it
has not, each of these may be one of the disk, and passes may be many.
"""

from __future__ import annotations

import numpy as np

from gdb.base.machine.free_memory import cache_room
from gdb.records import dataclass
from gdb.storage.disk.arrays import read_ahead
from gdb.storage.graph.adjacency import I64, Adjacency
from gdb.storage.graph.row_blocks import Side, block, rows_between, size_of, sizes_of

from ..nest.prepare import Prepared
from ..nest.vid_ranges import Reads, bindable, bound_stage, describe_passes, reads, reads_of
from ..nest.visits import GAIN, MOST_PASSES, cheapest, visits
from ..work.scheduler import Budget

SHARE = 8  # one part in so many of what is left of a budget is held back for workers
_ROW = 8  # bytes of a row of a block beside its neighbours
_ALL = (0, 1 << 32)
_VIDS = 1 << 16  # that are looked at at once


@dataclass(frozen=True, slots=True)
class Passes:
    """level : that is bound. reads : because of it. marks : the first vid of each pass, and the end of the last."""

    level: int
    reads: Reads
    marks: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.marks) - 1

    def stage(self, prepared: Prepared, number: int, budget: Budget) -> Prepared:
        """The stage of a pass, whose blocks are accounted for."""
        vids, views = (self.marks[number], self.marks[number + 1]), prepared.views
        rows = {k: _rows(views[k], vids, side, budget) for k, side in self.reads.rows.items()}
        columns = {
            k: _columns(prepared, k, vids, side, budget) for k, side in self.reads.columns.items()
        }
        return bound_stage(prepared, self.level, vids, rows, columns)

    def describe(self, prepared: Prepared) -> str:
        """A line of EXPLAIN."""
        return describe_passes(prepared, self.level, len(self))


def find(prepared: Prepared, limit: int, left: int) -> Passes | None:
    """The passes in which a stage runs; None where it runs once.

    limit : bytes of the query's budget. left : what is left of it.
    """
    whole = sum({id(v): v.neighbours.nbytes + v.offsets.nbytes for v in prepared.views}.values())
    room = left - left // SHARE
    if whole <= limit or room <= 0 or any(e is not None for e in prepared.eids):
        return None
    known = {level: reads_of(prepared, level) for level in bindable(prepared)}
    marks = {
        level: _marks(prepared, found, room)
        for level, found in known.items()
        if found.rows or found.columns
    }
    levels = [level for level, cuts in marks.items() if 2 < len(cuts) <= MOST_PASSES + 1]
    totals = _totals(prepared)
    level, cost = cheapest(
        prepared,
        totals,
        levels,
        lambda level: len(marks[level]) - 1,
        lambda level: bool(known[level].columns),
    )
    stay = sum(totals.values()) * (1 - room / whole)
    if level < 0 or (cost > GAIN * stay and whole <= cache_room()):
        return None
    return Passes(level, known[level], tuple(marks[level]))


def _totals(prepared: Prepared) -> dict[int, float]:
    """Visits from each level, of all views."""
    totals = dict[int, float]()
    for k in range(len(prepared.views)):
        for level, often in visits(prepared, k).items():
            totals[level] = totals.get(level, 0.0) + often.total
    return totals


def _marks(prepared: Prepared, found: Reads, room: int) -> list[int]:
    """Where passes begin and end so that the blocks of each have room."""
    for k in found.columns:
        fixed = _ROW * (prepared.views[k].rows + 1)
        room -= fixed if 2 * fixed <= room else 0  # else they lie in a file
    marks, used = [0], 0
    for begin in range(0, prepared.vids, _VIDS):
        end = min(begin + _VIDS, prepared.vids)
        total = np.cumsum(_sizes(prepared, found, (begin, end)))
        at = 0
        while len(marks) <= MOST_PASSES + 1:
            before = int(total[at - 1]) if at else 0
            fit = int(np.searchsorted(total, before + room - used, side="right"))
            if begin + fit >= end:
                used += int(total[-1]) - before
                break
            at = fit if begin + fit > marks[-1] else fit + 1
            marks.append(begin + at)
            used = 0
            if begin + at >= end:
                break
    return marks if marks[-1] == prepared.vids else [*marks, prepared.vids]


def _sizes(prepared: Prepared, found: Reads, vids: tuple[int, int]) -> I64:
    """Bytes that each vid of a range adds to the blocks, i64[vids]."""
    sizes = np.zeros(vids[1] - vids[0], np.int64)
    whole = [(prepared.views[k], side, _ROW) for k, side in found.rows.items()]
    whole += [(_across(prepared, k), side.across, 0) for k, side in found.columns.items()]
    for view, side, each in whole:
        present = view.rows_of(np.arange(*vids, dtype=np.uint32)) >= 0
        sizes[present] += each + 4 * sizes_of(view, side, rows_between(view, vids))
    return sizes


def _rows(view: Adjacency, vids: tuple[int, int], side: Side, budget: Budget) -> Adjacency:
    rows = rows_between(view, vids)
    return block(view, rows, _ALL, size_of(view, side, rows), budget, side)


def _columns(
    prepared: Prepared, k: int, vids: tuple[int, int], side: Side, budget: Budget
) -> Adjacency:
    view, other = prepared.views[k], _across(prepared, k)
    size = size_of(other, side.across, rows_between(other, vids))
    return block(view, (0, view.rows), vids, size, budget, side)


def _across(prepared: Prepared, k: int) -> Adjacency:
    """The edges of view k from their other ends."""
    spec = prepared.specs[k]
    flipped = spec.types, spec.direction.flipped
    specs = [(other.types, other.direction) for other in prepared.specs]
    return prepared.views[specs.index(flipped)]


def read_roots_ahead(prepared: Prepared, start: int, end: int) -> None:
    """Have the system read the rows of some roots."""
    if end <= start:
        return
    roots = prepared.roots[[start, end - 1]]
    for k in {view for view, level, _ in reads(prepared) if level == 0}:
        view = prepared.views[k]
        first, last = view.rows_of(roots).tolist()
        if 0 <= first <= last:
            begin, stop = int(view.offsets[first]), int(view.offsets[last + 1])
            read_ahead(view.neighbours, begin, stop)
            read_ahead(view.offsets, first, last + 2)
