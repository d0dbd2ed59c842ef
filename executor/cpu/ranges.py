"""Passes of a stage on the CPU, where a query has a budget that the graph does not fit: one level is bound to a range
of vids, and what is read from there is copied to memory of the budget, in the order in which it lies on the disk
(`gdb.executor.nest.vid_ranges`).

They are quicker than reads in any order where rows are short, even if the page cache has all of the graph; where it
has not, each of these may be one of the disk, and passes may be many.
"""

from __future__ import annotations

from gdb.base.machine.free_memory import cache_room
from gdb.storage.disk.arrays import read_ahead

from ..nest.prepare import Prepared
from ..nest.vid_ranges import (
    MOST_PASSES,
    Passes,
    bindable,
    columns_bytes,
    marks_of,
    reads,
    reads_of,
)
from ..nest.visits import GAIN, cheapest, visits

SHARE = 8  # one part in so many of what is left of a budget is held back for workers


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
        level: marks_of(prepared, found, _beside(room, columns_bytes(prepared, found)))
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


def _beside(room: int, fixed: int) -> int:
    """What is left of room beside what every pass takes; that lies in a file where it would take more than half."""
    return room - fixed if 2 * fixed <= room else room


def _totals(prepared: Prepared) -> dict[int, float]:
    """Visits from each level, of all views."""
    totals = dict[int, float]()
    for k in range(len(prepared.views)):
        for level, often in visits(prepared, k).items():
            totals[level] = totals.get(level, 0.0) + often.total
    return totals


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
