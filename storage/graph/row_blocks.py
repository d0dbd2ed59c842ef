"""Blocks of a view: some of its rows, or what of all rows lies in a range of vids, as a view of its own.

A view that does not fit in memory is read from the first row to the last, with the pages ahead requested from the
system, and only what a block keeps of it is copied (blocks as in SGSI, §6.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

import numpy as np

from gdb.base import usage, waiting
from gdb.base.budget import Budget
from gdb.base.machine.compile import together
from gdb.base.machine.memory import load_i64, load_u32, store_i64, store_u32
from gdb.base.once import MadeOnce
from gdb.records import replace

from ..disk.arrays import GRAPH, GRAPH_SHARE, placed, read_ahead
from .adjacency import I64, U32, Adjacency
from .row_loops import at_of, lower_bound

_ALL = (0, 1 << 32)  # vids
BLOCK = "blocks of rows"  # what memory is for
_ROWS = 1 << 18  # rows between two looks at whether the query goes on
_READ = 1 << 20  # neighbours that are requested from the disk at once


class Side(IntEnum):
    """What of each row counts: all neighbours, or those below or above the row's own vid."""

    BOTH = 0
    BELOW = 1
    ABOVE = 2

    @property
    def across(self) -> Side:
        """The side of the row's vid as seen from a neighbour on this one."""
        return (Side.BOTH, Side.ABOVE, Side.BELOW)[self]


def _row_split_loop(
    first: int, length: int, row: int, intervals: int, offsets: int, near: int, out: int
) -> int:
    """For each row of a view, out[row] is the position of its first neighbour that is not below its vid."""
    for k in range(intervals):
        vid, at = load_u32(first, k), load_u32(row, k)
        for i in range(load_u32(length, k)):
            start, end = load_i64(offsets, at + i), load_i64(offsets, at + i + 1)
            store_i64(out, at + i, lower_bound(near, start, end, vid + i))
    return 0


def _copy_loop(
    first: int,
    length: int,
    row: int,
    intervals: int,
    offsets: int,
    near: int,
    low: int,
    high: int,
    side: int,
    offsets_out: int,
    near_out: int,
    at: int,
) -> int:
    """Copy from rows the neighbours in [low, high) on a side to position `at` and further, and where each row ends to
    offsets_out[1] and further; the longest copy."""
    longest, rows = 0, 0
    for k in range(intervals):
        for i in range(load_u32(length, k)):
            vid, r = load_u32(first, k) + i, load_u32(row, k) + i
            start, end = load_i64(offsets, r), load_i64(offsets, r + 1)
            least = max(low, vid + 1) if side == 2 else low
            most = min(high, vid) if side == 1 else high
            begin = at
            if least > 0:
                start = lower_bound(near, start, end, least)
            while start < end and load_u32(near, start) < most:
                store_u32(near_out, at, load_u32(near, start))
                at += 1
                start += 1
            longest = max(longest, at - begin)
            rows += 1
            store_i64(offsets_out, rows, at)
    return longest


_split, _copy = together(_row_split_loop, _copy_loop)


def split_positions(view: Adjacency) -> I64:
    """For each row the position of its first neighbour that is not below the row's own vid, i64[rows]; computed once
    for each view."""
    return _splits.of(view)


def _made_split(view: Adjacency) -> I64:
    found = placed(max(view.rows, 1), np.int64, GRAPH, usage.room(), most=GRAPH_SHARE)

    def fill(rows: tuple[int, int]) -> None:
        first, length, row = view.intervals_of(*rows)
        index = at_of(first), at_of(length), at_of(row), len(first)
        _split(*index, at_of(view.offsets), at_of(view.neighbours), at_of(found))

    for _ in waiting.within_budget(fill, _in_order(view, 0, view.rows)):
        pass
    return found


_splits = MadeOnce(_made_split)  # workers hold its address, so there must never be two


def sizes_of(view: Adjacency, side: Side, rows: tuple[int, int] | None = None) -> I64:
    """How many neighbours of each of some rows, or all, are on a side, i64[rows]; ABOVE counts its own vid as well."""
    starts, ends = _bounds(view, side, rows or (0, view.rows))
    return ends - starts


def size_of(view: Adjacency, side: Side, rows: tuple[int, int] | None = None) -> int:
    """The sum of `sizes_of`, without memory for it."""
    starts, ends = _bounds(view, side, rows or (0, view.rows))
    return int(ends.sum()) - int(starts.sum())


def _bounds(view: Adjacency, side: Side, rows: tuple[int, int]) -> tuple[I64, I64]:
    """Where the side of each row begins and ends."""
    begin, end = rows
    starts, ends = view.offsets[begin:end], view.offsets[begin + 1 : end + 1]
    if side is Side.BELOW:
        ends = split_positions(view)[begin:end]
    elif side is Side.ABOVE:
        starts = split_positions(view)[begin:end]
    return starts, ends


def block(
    view: Adjacency,
    rows: tuple[int, int],
    vids: tuple[int, int],
    size: int,
    budget: Budget,
    side: Side = Side.BOTH,
) -> Adjacency:
    """The view of some rows, of whose neighbours only those in [vids) on a side count.

    rows : from the first to the last, exclusive, of the view. size : how many neighbours the block has, at most.

    Cost: what lies in the rows is read once, in order.

    Raises
    ------
    Cancelled, QueryTimeout : the query of this thread is to go no further. OutOfBudget, StoreError : as `placed`.
    """
    begin, end = rows
    near = placed(max(size, 1), np.uint32, BLOCK, budget)
    offsets = placed(end - begin + 1, np.int64, BLOCK, budget)
    longest = 0
    for start, stop in _in_order(view, begin, end):
        first, length, row = view.intervals_of(start, stop)
        index = at_of(first), at_of(length), at_of(row), len(first)
        whole = *index, at_of(view.offsets), at_of(view.neighbours), *vids, int(side)
        out = at_of(offsets) + 8 * (start - begin), at_of(near), int(offsets[start - begin])
        longest = max(longest, _copy(*whole, *out))
    first, length, row = view.intervals_of(begin, end)
    return replace(
        view,
        first=first,
        length=length,
        row=row - np.uint32(begin),
        offsets=offsets,
        neighbours=near[: int(offsets[-1])],
        max_degree=longest,
    )


def rows_of_vids(view: Adjacency, vids: U32, budget: Budget) -> Adjacency:
    """The view of the rows of some vids, ascending; each has one. Raises as `placed`."""
    rows = view.rows_of(vids)
    starts, ends = view.offsets[rows], view.offsets[rows + 1]
    offsets = placed(len(vids) + 1, np.int64, BLOCK, budget)
    np.cumsum(ends - starts, out=offsets[1:])
    near = placed(int(offsets[-1]), np.uint32, BLOCK, budget)
    for k, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        near[offsets[k] : offsets[k + 1]] = view.neighbours[start:end]
    one_each = np.ones(len(vids), np.uint32), np.arange(len(vids), dtype=np.uint32)
    return replace(
        view,
        first=vids,
        length=one_each[0],
        row=one_each[1],
        offsets=offsets,
        neighbours=near,
        max_degree=int((ends - starts).max(initial=0)),
    )


def below(view: Adjacency) -> Adjacency:
    """The view with nothing in its rows but the neighbours below their own vids; a row may be empty. Its arrays are the
    graph's: where a query's budget has no room for them, they lie in temporary files.

    Cost: the view is read twice, in order. Raises as `block`.
    """
    offsets = placed(view.rows + 1, np.int64, GRAPH, usage.room(), most=GRAPH_SHARE)
    for begin in range(0, view.rows, _ROWS):
        rows = begin, min(begin + _ROWS, view.rows)
        part = offsets[begin + 1 : rows[1] + 1]
        np.cumsum(sizes_of(view, Side.BELOW, rows), out=part)
        part += offsets[begin]
    near = placed(int(offsets[-1]), np.uint32, GRAPH, usage.room(), most=GRAPH_SHARE)

    def fill(rows: tuple[int, int]) -> int:
        first, length, row = view.intervals_of(*rows)
        index = at_of(first), at_of(length), at_of(row), len(first)
        whole = *index, at_of(view.offsets), at_of(view.neighbours), *_ALL, int(Side.BELOW)
        # the ends of rows are written once more, as they are
        return _copy(*whole, at_of(offsets) + 8 * rows[0], at_of(near), int(offsets[rows[0]]))

    longest = max(waiting.within_budget(fill, _in_order(view, 0, view.rows)), default=0)
    return replace(view, offsets=offsets, neighbours=near, max_degree=longest)


def _in_order(view: Adjacency, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows of about `_READ` neighbours or `_ROWS` rows. While one is worked on, the next is read from the
    disk."""
    ahead = begin
    while begin < end:
        usage.pulse()
        start = ahead
        if start < end:
            full = int(
                np.searchsorted(view.offsets, int(view.offsets[start]) + _READ, side="right")
            )
            ahead = min(max(full - 1, start + 1), start + _ROWS, end)
            read_ahead(view.neighbours, int(view.offsets[start]), int(view.offsets[ahead]))
        if start > begin:
            yield begin, start
            begin = start
