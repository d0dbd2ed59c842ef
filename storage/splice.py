"""Parts with some keys taken out and others put in, without sorting all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gdb.storage import intervals
from gdb.storage.adjacency import I64, U32, Direction
from gdb.storage.pcsr import U64, Part, keys_of

Bools = npt.NDArray[np.bool_]

APART = 250  # neighbours for each changed row, from which on copies of what lies between the rows beat a mask


def without(keys: U64, removed: U64) -> U64:
    """Ascending keys without some of them, u64[k] ascending; of equal ones as many go as are named.

    Raises
    ------
    KeyError : one of them is not there.
    """
    if not len(removed):
        return keys
    first = np.searchsorted(removed, removed, side="left")
    at = np.searchsorted(keys, removed, side="left") + np.arange(len(removed)) - first
    if int(at.max()) >= len(keys) or (keys[at] != removed).any():
        raise KeyError("a key to remove is not there")
    kept: U64 = np.delete(keys, at)
    return kept


def spliced(part: Part, removed: U64, added: U64) -> Part:
    """The part without some keys and with others, both ascending. Rows that change are made anew, what lies between
    them is copied as it is: O(m) bytes are moved, and nothing is sorted but the changed rows. Of few rows in a long
    part the pieces between them are copied one by one; of more, all neighbours through a mask, as long as there are
    less than `APART` of them for each changed row.

    Raises
    ------
    KeyError : a key to remove is not there.
    """
    changed = np.unique(np.concatenate([removed, added]) >> np.uint64(32)).astype(np.uint32)
    view = part.adjacency((), Direction.OUT)
    rows = view.rows_of(changed)
    known = np.flatnonzero(rows >= 0)
    starts, lengths = part.offsets[rows[known]], view.degrees_of(changed[known])
    ends = np.cumsum(lengths)
    at = np.arange(int(lengths.sum())) + np.repeat(starts - ends + lengths, lengths)
    old = without(keys_of(np.repeat(changed[known], lengths), part.neighbours[at]), removed)
    keys = np.insert(old, np.searchsorted(old, added, side="right"), added)
    bounds = np.searchsorted(keys, np.append(changed, 0).astype(np.uint64) << np.uint64(32))
    bounds[-1] = len(keys)
    vids, sizes = part.intervals.vids(), np.diff(part.offsets)
    neighbours = keys.astype(np.uint32)
    places = np.where(rows >= 0, rows, np.searchsorted(vids, changed))
    counts = np.diff(bounds)
    sizes[rows[known]] = counts[known]
    new = np.flatnonzero(rows < 0)
    sizes = np.insert(sizes, places[new], counts[new])
    vids = np.insert(vids, places[new], changed[new])
    if len(changed) * APART < len(part.neighbours):
        joined = _by_pieces(part, rows, places, neighbours, bounds)
    else:
        there = np.isin(vids, changed, assume_unique=True)
        joined = _by_mask(part, rows[known], neighbours, np.repeat(there, sizes))
    kept = sizes > 0
    offsets = np.append(0, np.cumsum(sizes[kept])).astype(np.int64)
    index = intervals.of_vids(vids[kept])
    simple = not bool((keys[1:] == keys[:-1]).any())
    if simple and not part.simple:  # the repeats may be gone, or elsewhere
        alike = joined[1:] == joined[:-1]
        alike[offsets[1:-1] - 1] = False
        simple = not bool(alike.any())
    loops = bool(((keys >> np.uint64(32)) == (keys & np.uint64(0xFFFFFFFF))).any())
    if part.loops and not loops:
        loops = bool((np.repeat(index.vids(), sizes[kept]) == joined).any())
    return Part(index, offsets, joined, simple, loops, int(sizes.max(initial=0)))


def _by_pieces(part: Part, rows: I64, places: I64, neighbours: U32, bounds: I64) -> U32:
    """The neighbours of `spliced`. rows : the changed ones, -1 for a new one; places : where they stand, or come in.
    neighbours : of the changed rows, one after the other, which begin and end at `bounds`."""
    pieces, done = list[U32](), 0
    for k, (row, place) in enumerate(zip(rows.tolist(), places.tolist(), strict=True)):
        begin = int(part.offsets[place])
        pieces += [part.neighbours[done:begin], neighbours[bounds[k] : bounds[k + 1]]]
        done = int(part.offsets[place + (row >= 0)])
    return np.concatenate([*pieces, part.neighbours[done:]])


def _by_mask(part: Part, rows: I64, neighbours: U32, changed: Bools) -> U32:
    """As `_by_pieces`. rows : the changed ones of the part. changed : for each neighbour of the answer whether its row
    is, bool[m]."""
    lengths = np.diff(part.offsets)
    same = np.ones(len(lengths), np.bool_)
    same[rows] = False
    joined = np.empty(len(changed), np.uint32)
    joined[changed] = neighbours
    joined[~changed] = part.neighbours[np.repeat(same, lengths)]
    return joined
