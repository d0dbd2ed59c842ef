"""A stage in parts, where the query's host memory has no room for what of its graph has none on the device.

Each level whose rows are read is bound to a part of the vids at a time, the first as well, and what is read from there
is copied from the disk to memory of the query's budget (`gdb.executor.nest.vid_ranges`); the stage of such a part reads
these blocks and nothing else of the graph, so that they fit the device. What the stage finds is the union, and what it
counts the sum, over all combinations of parts. (Blocks as in SGSI, §6.1.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from gdb.records import replace
from gdb.storage.graph.adjacency import Adjacency

from ..nest.prepare import Prepared
from ..nest.vid_ranges import (
    MOST_PASSES,
    ROW,
    Passes,
    Reads,
    bindable,
    columns_bytes,
    direct_reads,
    is_pushed_to,
    marks_of,
    reads_of,
)
from ..work.scheduler import Budget
from . import layout, residency
from .stage import Share

_BESIDE = 16  # one part in so many of a device's room is not for blocks, and two where rows are on their way from it
SPARED = 8  # one part in so many of what is left of a budget is held back for work units and warps


def parts_of(
    prepared: Prepared, share: Share, budget: Budget, most: int
) -> Iterator[tuple[Prepared, Budget]]:
    """The stage, or the parts that it runs in, each with the budget of its run: what a part takes from that is given
    back when the next is made.

    share : the device; others hold blocks of the same budget. most : bytes of the views that may lie there.

    Raises
    ------
    Cancelled, QueryTimeout, StoreError : as `gdb.storage.graph.row_blocks.block`.
    """
    passes = _passes(prepared, budget, most, share.of)
    if not passes:
        yield prepared, budget
        return
    for part, account in _bound(prepared, passes, budget):
        alone = _alone(part, len(prepared.views), share.ordinal)
        try:
            yield alone, account
        finally:  # what waits there to run it again holds it, and memory of the device
            alone.idle["gpu"].clear()


def describe_parts(prepared: Prepared, budget: Budget, most: int) -> list[str]:
    """What EXPLAIN says of a stage that runs in parts; nothing of another. Arguments as for `parts_of`."""
    passes = _passes(prepared, budget, most)
    if not passes:
        return []
    number = math.prod(map(len, passes))
    return [
        f"memory: {budget.limit:,} bytes, in which the graph is read in {number:,} parts at most",
        *(f"  {one.describe(prepared)}" for one in passes),
    ]


def locked_bytes(prepared: Prepared, most: int) -> int:
    """Bytes of page-locked memory that a stage takes for its graph, of whose views `most` may lie on the device."""
    found = residency.split_views(prepared, most)
    size = sum(e.nbytes for e in {id(e): e for e in prepared.eids if e is not None}.values())
    each = residency.row_bytes(split=prepared.restricted and not found.lower)
    cold = {
        id(v): v for v, part in zip(found.views, found.extents, strict=True) if part is not None
    }
    return sum(v.neighbours.nbytes + each * (v.rows + 1) for v in cold.values()) + size * bool(cold)


def _passes(prepared: Prepared, budget: Budget, most: int, devices: int = 1) -> list[Passes]:
    """For each level whose rows are read its passes; none where the stage has room as it is, or cannot run in parts:
    what it takes too much of is said where that is taken."""
    if budget.limit is None or locked_bytes(prepared, most) <= (budget.left or 0):
        return []
    found = _levels(prepared)
    blocks = sum(len(known.rows) + len(known.columns) for known in found.values())
    too_many = len(prepared.views) + blocks > layout.MAX_VIEWS
    if not found or too_many or any(e is not None for e in prepared.eids):
        return []
    left = (budget.left or 0) // devices
    room = _room(prepared, found.values(), left, min(most, residency.MOST))
    made = list[Passes]()
    for level, known in found.items():
        marks = marks_of(prepared, known, room // len(found)) if room > 0 else []
        if not 2 <= len(marks) <= MOST_PASSES + 1:
            return []
        made.append(Passes(level, known, tuple(marks)))
    # a block of columns is made from a whole view: these change least often
    return sorted(made, key=lambda one: not one.reads.columns)


def _room(prepared: Prepared, found: Iterable[Reads], left: int, most: int) -> int:
    """Bytes of host memory that the blocks of a part may take, beside where the rows of columns begin: `left` of the
    query's is free, and `most` of the device's, where each row, of one neighbour at least, takes more."""
    most -= -(-most // _BESIDE) * (1 if prepared.nest.counting else 3)
    fixed = sum(columns_bytes(prepared, known) for known in found)
    each = residency.row_bytes(split=prepared.restricted)
    there = (most - fixed * each // ROW) * (ROW + 4) // (each + 4)
    return min(left - left // SPARED - fixed, there)


def _levels(prepared: Prepared) -> dict[int, Reads]:
    """The levels that passes bind, so that nothing is read of a whole view; none where that cannot be."""
    if prepared.tables.loops == 0:
        return {}
    found = {level: reads_of(prepared, level) for level in (0, *bindable(prepared))}
    found = {level: known for level, known in found.items() if known.rows or known.columns}
    none, nest = Reads({}, {}), prepared.nest
    for view, level, _ in direct_reads(prepared):
        if view not in found.get(level, none).rows:
            return {}
    for node in nest.tail:
        if is_pushed_to(prepared, node):
            (level, *_) = nest.tail[node.parent].levels
            if node.back not in found.get(level, none).columns:
                return {}
    return found


def _bound(
    prepared: Prepared, passes: Sequence[Passes], budget: Budget
) -> Iterator[tuple[Prepared, Budget]]:
    if not passes:
        yield prepared, budget
        return
    first, *others = passes
    for number in range(len(first)):
        with budget.part() as account:
            bound = first.stage(prepared, number, account)
            if len(bound.roots):
                yield from _bound(bound, others, account)


def _alone(part: Prepared, wholes: int, ordinal: int) -> Prepared:
    """A part without the whole views, which are the first of its own, and not read. It runs once: no
    kernel is compiled for it, and it is no sum over edges."""
    views = [_without_rows(view) for view in part.views[:wholes]]
    return replace(
        part,
        views=(*views, *part.views[wholes:]),
        idle={"cpu": [], "gpu": []},
        spent={ordinal: -math.inf},
        runs={},
        by_edge=[None],
    )


def _without_rows(view: Adjacency) -> Adjacency:
    none = np.zeros(0, np.uint32)
    return replace(
        view, first=none, length=none, row=none, offsets=np.zeros(1, np.int64), neighbours=none
    )
