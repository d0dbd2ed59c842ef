"""Loops that number vertices by degree and rows by them, in machine code.

Each row is written once, and its neighbours are sorted among themselves, on all cores; so a view that has no room in
memory can be made in a temporary file (`gdb.storage.disk.arrays.placed`).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gdb.base import usage, waiting
from gdb.base.machine.compile import compiled, together
from gdb.base.machine.memory import load_i64, load_u32, store_i64, store_u32

from ..columns.model import I64, U32
from ..disk.arrays import GRAPH, GRAPH_SHARE, filed, placed
from .adjacency import Adjacency
from .row_loops import at_of

_RUN = 16  # neighbours that are put in order one by one
_PART = 1 << 20  # neighbours that one thread puts in order before it takes more


@compiled
def _row_number(first: int, length: int, row: int, count: int, vid: int) -> int:
    """The row of a vid, -1 where it has none."""
    start = 0
    end = count
    while start < end:
        middle = (start + end) >> 1
        if load_u32(first, middle) <= vid:
            start = middle + 1
        else:
            end = middle
    if start == 0:
        return -1
    step = vid - load_u32(first, start - 1)
    if step >= load_u32(length, start - 1):
        return -1
    return load_u32(row, start - 1) + step


def _degree_loop(first: int, length: int, count: int, offsets: int, degrees: int) -> None:
    row = 0
    for k in range(count):
        vid = load_u32(first, k)
        for step in range(load_u32(length, k)):
            own = load_i64(offsets, row + 1) - load_i64(offsets, row)
            store_i64(degrees, vid + step, load_i64(degrees, vid + step) + own)
            row += 1


def _rank_loop(degrees: int, count: int, most: int, places: int, vid: int, rank: int) -> int:
    """Whether the degrees fall already: 1 or 0. places : i64[most + 2], zeros."""
    falls = 1
    before = most
    for v in range(count):
        degree = load_i64(degrees, v)
        if degree > before:
            falls = 0
        before = degree
        store_i64(places, most - degree + 1, load_i64(places, most - degree + 1) + 1)
    for k in range(most + 1):
        store_i64(places, k + 1, load_i64(places, k + 1) + load_i64(places, k))
    for v in range(count):
        place = most - load_i64(degrees, v)
        at = load_i64(places, place)
        store_i64(places, place, at + 1)
        store_u32(vid, at, v)
        store_u32(rank, v, at)
    return falls


def _order_loop(
    vid: int,
    vertices: int,
    first: int,
    length: int,
    row: int,
    count: int,
    offsets: int,
    vids_out: int,
    rows_out: int,
    offsets_out: int,
) -> None:
    found = 0
    at = 0
    for r in range(vertices):
        old = _row_number(first, length, row, count, load_u32(vid, r))
        if old >= 0:
            store_u32(vids_out, found, r)
            store_u32(rows_out, found, old)
            store_i64(offsets_out, found, at)
            at += load_i64(offsets, old + 1) - load_i64(offsets, old)
            found += 1
    store_i64(offsets_out, found, at)


@compiled
def _merge(source: int, begin: int, middle: int, end: int, out: int) -> None:
    i = begin
    j = middle
    for k in range(begin, end):
        if j >= end or (i < middle and load_u32(source, i) <= load_u32(source, j)):
            store_u32(out, k, load_u32(source, i))
            i += 1
        else:
            store_u32(out, k, load_u32(source, j))
            j += 1


@compiled
def _sort(list: int, count: int, spare: int) -> None:
    """Put u32[count] in ascending order: runs one by one, then merged. spare : u32[count]."""
    begin = 0
    while begin < count:
        end = min(begin + _RUN, count)
        for k in range(begin + 1, end):
            x = load_u32(list, k)
            at = k
            while at > begin and load_u32(list, at - 1) > x:
                store_u32(list, at, load_u32(list, at - 1))
                at -= 1
            store_u32(list, at, x)
        begin = end
    width = _RUN
    source = list
    out = spare
    while width < count:
        begin = 0
        while begin < count:
            middle = min(begin + width, count)
            _merge(source, begin, middle, min(middle + width, count), out)
            begin += 2 * width
        source, out = out, source
        width = 2 * width
    if source != list:
        for k in range(count):
            store_u32(list, k, load_u32(source, k))


def _renumber_rows_loop(
    begin: int,
    end: int,
    rows: int,
    offsets: int,
    near: int,
    rank: int,
    offsets_out: int,
    near_out: int,
    spare: int,
) -> None:
    for k in range(begin, end):
        old = load_i64(offsets, load_u32(rows, k))
        at = load_i64(offsets_out, k)
        count = load_i64(offsets_out, k + 1) - at
        for i in range(count):
            store_u32(near_out, at + i, load_u32(rank, load_u32(near, old + i)))
        _sort(near_out + 4 * at, count, spare)


_degree, _rank, _order, _renumber = together(
    _degree_loop, _rank_loop, _order_loop, _renumber_rows_loop
)


def add_degrees(view: Adjacency, degrees: I64) -> None:
    """Add the length of each row of a view to the number of its vid, i64[vids]."""
    arrays = at_of(view.first), at_of(view.length), len(view.first), at_of(view.offsets)
    _degree(*arrays, at_of(degrees))


def ranks(degrees: I64) -> tuple[U32, U32, bool]:
    """The vid of each rank by falling degree, of equal ones the lower vid first, u32[n]; the rank of each vid, u32[n];
    and whether both are the same numbers. O(n + the highest degree)."""
    count, most = len(degrees), int(degrees.max(initial=0))
    vid, rank = np.empty(count, np.uint32), np.empty(count, np.uint32)
    places = np.zeros(most + 2, np.int64)
    falls = _rank(at_of(degrees), count, most, at_of(places), at_of(vid), at_of(rank))
    room = usage.room()
    return filed(vid, GRAPH, room), filed(rank, GRAPH, room), falls == 1


def renumber_rows(view: Adjacency, vid: U32, rank: U32, longest: int) -> tuple[U32, I64, U32]:
    """The rows of a view with vid[r] called r, its inverse being `rank`: vids u32[rows], offsets i64[rows + 1],
    neighbours u32[m], ascending in each row. On all cores. longest : the length of the longest row."""
    count, room = len(view.offsets) - 1, usage.room()
    vids, rows = np.empty(count, np.uint32), np.empty(count, np.uint32)
    offsets = placed(count + 1, np.int64, GRAPH, room, most=GRAPH_SHARE)
    index = at_of(view.first), at_of(view.length), at_of(view.row), len(view.first)
    out = at_of(vids), at_of(rows), at_of(offsets)
    _order(at_of(vid), len(vid), *index, at_of(view.offsets), *out)
    near = placed(len(view.neighbours), np.uint32, GRAPH, room, most=GRAPH_SHARE)
    old = at_of(rows), at_of(view.offsets), at_of(view.neighbours), at_of(rank)

    def part(rows: tuple[int, int]) -> None:
        begin, end = rows
        spare = np.empty(longest, np.uint32)
        _renumber(begin, end, *old, at_of(offsets), at_of(near), at_of(spare))

    for _ in waiting.in_order(part, pairwise(_cuts(offsets))):
        pass
    return vids, offsets, near


def _cuts(offsets: I64) -> list[int]:
    """Rows between which there are about `_PART` neighbours, from 0 to all."""
    total = int(offsets[-1])
    inner = np.searchsorted(offsets, np.arange(_PART, total, _PART))
    return [int(row) for row in np.unique([0, *inner.tolist(), len(offsets) - 1])]
