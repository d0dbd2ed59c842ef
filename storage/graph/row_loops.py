"""Loops over the rows of views in machine code: two views united, and the edge ids of positions.

They go through rows one after the other and write each once, so that what has no room in memory can be made in a
temporary file (`gdb.storage.disk.arrays.placed`). No edges are sorted.
"""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt

from gdb.base import usage
from gdb.base.machine.compile import compiled, together
from gdb.base.machine.memory import load_i64, load_u32, store_i64, store_u32
from gdb.records import dataclass

from ..columns.model import I64, U32
from ..disk.arrays import GRAPH, GRAPH_SHARE, placed, read_in_order
from .adjacency import Adjacency

_LOW = 0xFFFFFFFF


@compiled
def lower_bound(address: int, start: int, end: int, x: int) -> int:
    """First position in [start, end) whose value is >= x."""
    while start < end:
        middle = (start + end) >> 1
        if load_u32(address, middle) < x:
            start = middle + 1
        else:
            end = middle
    return start


# ---- two views as one --------------------------------------------------------------------------------


@compiled
def _vid_of(first: int, length: int, count: int, interval: int, inside: int) -> int:
    """The vid at a place of an interval, or one above all vids behind the last interval."""
    return load_u32(first, interval) + inside if interval < count else _LOW + 1


def _unite_loop(
    first_a: int,
    length_a: int,
    count_a: int,
    offsets_a: int,
    near_a: int,
    first_b: int,
    length_b: int,
    count_b: int,
    offsets_b: int,
    near_b: int,
    eids_a: int,
    eids_b: int,
    without_loops: bool,
    rows_out: int,
    offsets_out: int,
    near_out: int,
    eids_out: int,
    results: int,
) -> None:
    # eids_out : 0 where ids are not wanted
    row_a = 0
    row_b = 0
    at_a = 0  # the interval of the row, and its place there
    in_a = 0
    at_b = 0
    in_b = 0
    found = 0
    length = 0
    repeats = 0
    loops = 0
    most = 0
    while at_a < count_a or at_b < count_b:
        vid_a = _vid_of(first_a, length_a, count_a, at_a, in_a)
        vid_b = _vid_of(first_b, length_b, count_b, at_b, in_b)
        vid = min(vid_a, vid_b)
        i = 0
        i_end = 0
        j = 0
        j_end = 0
        if vid_a == vid:
            i = load_i64(offsets_a, row_a)
            i_end = load_i64(offsets_a, row_a + 1)
            row_a += 1
            in_a += 1
            if in_a == load_u32(length_a, at_a):
                at_a += 1
                in_a = 0
        if vid_b == vid:
            j = load_i64(offsets_b, row_b)
            j_end = load_i64(offsets_b, row_b + 1)
            row_b += 1
            in_b += 1
            if in_b == load_u32(length_b, at_b):
                at_b += 1
                in_b = 0
        begin = length
        before = -1
        while i < i_end or j < j_end:
            x = load_u32(near_a, i) if i < i_end else _LOW + 1
            y = load_u32(near_b, j) if j < j_end else _LOW + 1
            if x <= y:
                if eids_out != 0:
                    store_i64(eids_out, length, load_i64(eids_a, i))
                i += 1
            else:
                x = y
                j += 1
                if without_loops and x == vid:
                    continue
                if eids_out != 0:
                    store_i64(eids_out, length, load_i64(eids_b, j - 1))
            repeats += int(x == before)
            loops += int(x == vid)
            before = x
            store_u32(near_out, length, x)
            length += 1
        if length > begin:
            store_u32(rows_out, found, vid)
            store_i64(offsets_out, found, begin)
            found += 1
            most = max(most, length - begin)
    store_i64(offsets_out, found, length)
    store_i64(results, 0, found)
    store_i64(results, 1, repeats)
    store_i64(results, 2, loops)
    store_i64(results, 3, most)


# ---- edge ids ----------------------------------------------------------------------------------------


@compiled
def _begins(first: int, length: int, count: int, offsets: int, vids: int, cursors: int) -> None:
    """Where the row of each vid begins; -1 where it has none."""
    for vid in range(vids):
        store_i64(cursors, vid, -1)
    row = 0
    for k in range(count):
        for step in range(load_u32(length, k)):
            store_i64(cursors, load_u32(first, k) + step, load_i64(offsets, row))
            row += 1


def _backward_loop(
    first: int,
    length: int,
    count: int,
    offsets: int,
    forward: int,
    edges: int,
    vids: int,
    base: int,
    cursors: int,
    out: int,
) -> int:
    """1 where the rows have as many places for each vid as it is met, else 0."""
    _begins(first, length, count, offsets, vids, cursors)
    for p in range(edges):
        x = load_u32(forward, p)
        if x >= vids:
            return 0
        at = load_i64(cursors, x)
        if at < 0 or at >= edges:
            return 0
        store_i64(out, at, base + p)
        store_i64(cursors, x, at + 1)
    row = 0
    for k in range(count):
        for step in range(load_u32(length, k)):
            row += 1
            if load_i64(cursors, load_u32(first, k) + step) != load_i64(offsets, row):
                return 0
    return 1


def _symmetric_loop(
    first: int,
    length: int,
    count: int,
    offsets: int,
    near: int,
    vids: int,
    base: int,
    cursors: int,
    out: int,
) -> int:
    """How many edges there are; -1 where one is known to one of its ends alone."""
    _begins(first, length, count, offsets, vids, cursors)
    found = 0
    row = 0
    for k in range(count):
        for step in range(load_u32(length, k)):
            vid = load_u32(first, k) + step
            at = load_i64(cursors, vid)  # the lower neighbours have come already
            if at > load_i64(offsets, row) and load_u32(near, at - 1) >= vid:
                return -1
            row += 1
            if at > load_i64(offsets, row):
                return -1
            for p in range(at, load_i64(offsets, row)):
                x = load_u32(near, p)
                if x < vid or x >= vids:
                    return -1
                store_i64(out, p, base + found)
                if x > vid:
                    other = load_i64(cursors, x)
                    if other < 0 or load_u32(near, other) != vid:
                        return -1
                    store_i64(out, other, base + found)
                    store_i64(cursors, x, other + 1)
                found += 1
    return found


_unite, _backward, _symmetric = together(_unite_loop, _backward_loop, _symmetric_loop)


def index_of(view: Adjacency) -> tuple[int, int, int]:
    """The addresses of a view's interval index without its rows, and the number of intervals."""
    return at_of(view.first), at_of(view.length), len(view.first)


def _arrays(view: Adjacency) -> tuple[int, int]:
    return at_of(view.offsets), at_of(view.neighbours)


def at_of(array: npt.NDArray[np.generic]) -> int:
    """The address of an array, which the caller keeps alive. As `array.ctypes.data`, in a tenth of its time: by NumPy's
    interface for C, the address is what the object of an array begins with."""
    return ctypes.c_size_t.from_address(id(array) + object.__basicsize__).value


@dataclass(frozen=True, slots=True, eq=False)
class United:
    """Ascending vids of rows, u32[rows], where each begins, i64[rows + 1], and the neighbours, u32[m].

    repeats : how often a neighbour is equal to the one before in its row. loops : how often it is the row's own vid.
    max_degree : the length of the longest row. eids : i64[m], where both views have them.
    """

    vids: U32
    offsets: I64
    neighbours: U32
    repeats: int
    loops: int
    max_degree: int
    eids: I64 | None = None


def unite_rows(
    a: Adjacency, b: Adjacency, *, without_loops: bool, eids: tuple[I64, I64] | None = None
) -> United:
    """The rows of two views as one, equal neighbours as often as both have them. without_loops : neighbours in `b` that
    are their row's own vid are left out. eids : of the positions of both, i64[m] each. O(rows + edges)."""
    most = len(a.offsets) + len(b.offsets) - 2
    room = usage.room()
    vids = np.empty(most, np.uint32)
    offsets = placed(most + 1, np.int64, GRAPH, room, most=GRAPH_SHARE)
    total = len(a.neighbours) + len(b.neighbours)
    near, results = placed(total, np.uint32, GRAPH, room, most=GRAPH_SHARE), np.empty(4, np.int64)
    both = None if eids is None else placed(total, np.int64, GRAPH, room, most=GRAPH_SHARE)
    own = (0, 0) if eids is None else (at_of(eids[0]), at_of(eids[1]))
    out = (
        at_of(vids),
        at_of(offsets),
        at_of(near),
        0 if both is None else at_of(both),
        at_of(results),
    )
    with read_in_order(a.neighbours, b.neighbours):
        _unite(*index_of(a), *_arrays(a), *index_of(b), *_arrays(b), *own, without_loops, *out)
    found, repeats, loops, longest = results.tolist()
    offsets = offsets[: found + 1]
    end = int(offsets[-1])
    known = None if both is None else both[:end]
    return United(vids[:found].copy(), offsets, near[:end], repeats, loops, longest, known)


def backward_eids(backward: Adjacency, forward: U32, base: int) -> I64 | None:
    """The edge id of each position of a backward view, i64[m], by the neighbours of the forward view, whose ids follow
    one another from `base` on; None where the two do not belong together. O(rows + edges)."""
    if len(backward.neighbours) != len(forward):
        return None
    found, cursors = _for_eids(backward)
    rest = at_of(forward), len(forward), len(cursors), base, at_of(cursors), at_of(found)
    with read_in_order(forward):
        done = _backward(*index_of(backward), at_of(backward.offsets), *rest)
    return found if done == 1 else None


def symmetric_eids(view: Adjacency, base: int, edges: int) -> I64 | None:
    """The edge id of each position of a symmetric view, i64[m]: ids from `base` on in the order of the positions whose
    neighbour is not below the row's vid, and the same at the other end. None where it is not symmetric, or has another
    number of edges. O(rows + edges)."""
    found, cursors = _for_eids(view)
    rest = len(cursors), base, at_of(cursors), at_of(found)
    with read_in_order(view.neighbours):
        done = _symmetric(*index_of(view), *_arrays(view), *rest)
    return found if done == edges else None


def _for_eids(view: Adjacency) -> tuple[I64, I64]:
    """Room for the ids of all positions, and for a number of each vid."""
    vids = int(view.first[-1]) + int(view.length[-1]) if len(view.first) else 0
    found = placed(len(view.neighbours), np.int64, GRAPH, usage.room(), most=GRAPH_SHARE)
    return found, np.empty(vids, np.int64)
