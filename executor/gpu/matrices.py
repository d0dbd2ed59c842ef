"""Matrices of bits: which neighbours of a vertex are neighbours of one another, made on the device once for a view.

A row of bits for each neighbour of a vertex, in rounds of 128 bits; vertices whose matrix is worth the room have one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gdb.base.once import MadeOnce
from gdb.storage.graph.adjacency import I64, Adjacency

from . import compiler, device, layout, memory, render
from .memory import DeviceArray
from .residency import Room

ROOM = 1 << 30  # bytes of the matrices of a view at most,
_SHARE = 8  # and this part of the device's free memory
WORDS_AN_ELEMENT = (
    8  # u32 in the mean that a row of bits may cost for each element of the list that it replaces
)
_BLOCKS = 1 << 14
_ALIGNED = 4  # u32: rows are read four at once


def room(views: Sequence[Adjacency], account: Room, ordinal: int) -> int:
    """Bytes that the matrices of each of some views may take, accounted for; 0 where the query's account has too little
    left. They have the neighbourhoods of the first."""
    most = min(ROOM, device.free_bytes(ordinal) // _SHARE)
    size = min(most, 8 * (views[0].rows + 2) + 4 * int(_words(views[0]).sum())) * len(views)
    if 2 * size > account.left:
        return 0
    account.take(size, "which neighbours are adjacent, in bits")
    return most


def place_matrices(
    views: Mapping[int, tuple[Adjacency, list[int]]], most: int, ordinal: int
) -> dict[int, DeviceArray]:
    """The matrices of some views with their rows in the view table, u32 each, on device `ordinal`, which must be the
    current one: of the neighbourhoods of the first, of so many bytes at most. Empty where there is no memory."""
    found: dict[int, DeviceArray] = {}
    first = next(iter(views.values()))
    try:
        for k, other in views.items():
            found[k] = _make_matrices(first, other, most, ordinal)
    except MemoryError:
        return {}
    return found


def _make_matrices(
    view: tuple[Adjacency, list[int]], other: tuple[Adjacency, list[int]], most: int, ordinal: int
) -> DeviceArray:
    """The matrices of a view's neighbourhoods, of the edges of another."""

    def make() -> DeviceArray:
        at, words = layout_of(view[0], most)
        array = memory.empty((words,), np.uint32, zero=True)
        table = memory.upload(at)
        memory.copy_between(array.data.ptr, table.data.ptr, at.nbytes)
        rows = [memory.upload(np.array(row, np.int64)) for _, row in (view, other)]
        arguments = (*rows, np.int64(view[0].rows), array)
        kernel = compiler.generic(ordinal, render.MATRICES)
        kernel((_BLOCKS,), (layout.BLOCK_THREADS,), arguments)
        return array

    if other[0].neighbours is not view[0].neighbours:
        return make()
    return memory.RESIDENTS.made_of(view[0].neighbours, ordinal, "matrices", make)


def layout_of(view: Adjacency, most: int) -> tuple[I64, int]:
    """Where the matrix of each row begins, in u32, i64[rows], -1 where it has none, behind a table of these; and u32 of
    all. Where not all fit into so many bytes, those stay that replace the most elements."""
    words, held = _words(view), _held.of(view)
    pays = (words > 0) & (words <= WORDS_AN_ELEMENT * held)
    head = -(-2 * view.rows // _ALIGNED) * _ALIGNED
    left = most // 4 - head
    if int(words[pays].sum()) > left:
        chosen = np.flatnonzero(pays)
        chosen = chosen[np.argsort(-held[chosen] / words[chosen], kind="stable")]
        pays[chosen[np.cumsum(words[chosen]) > left]] = False
    taken = np.where(pays, words, 0)
    at = np.where(pays, head + np.cumsum(taken) - taken, -1)
    return at, head + int(taken.sum())


def _words(view: Adjacency) -> I64:
    """The u32 of each row's matrix, 0 where that is too large, i64[rows]."""
    sizes = np.diff(view.offsets).astype(np.int64)
    words = sizes * (-(-sizes // (32 * _ALIGNED)) * _ALIGNED)
    return np.where(sizes <= 32 * layout.BITS_MOST, words, 0)


def _held_of(view: Adjacency) -> I64:
    """How many elements the lists of each row's neighbours have together, i64[rows]."""
    if not view.rows:
        return np.zeros(0, np.int64)
    vids = view.vids()
    degrees = np.zeros(int(max(vids[-1], view.neighbours.max(initial=0))) + 1, np.int64)
    degrees[vids] = np.diff(view.offsets)
    sums = np.concatenate([[0], np.cumsum(degrees[view.neighbours])])
    found: I64 = sums[view.offsets[1:]] - sums[view.offsets[:-1]]
    return found


_held = MadeOnce(_held_of)
