"""Parts with some keys taken out and others put in, without sorting all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..format.direction import Direction
from . import intervals
from .pcsr import U64, Part


def splice_part(part: Part, removed: U64, added: U64) -> Part:
    """The part without some keys and with others, both ascending. O(m): rows that change are merged with their keys,
    what lies between them is copied as it is.

    Raises
    ------
    KeyError : a key to remove is not there.
    """
    from .edge_loops import splice  # brings the compiler

    vids = part.intervals.vids()
    found = splice(vids, part.offsets, part.neighbours, removed, added)
    if found is None:
        raise KeyError("a key to remove is not there")
    index = intervals.of_vids(found.rows)
    offsets, neighbours = found.offsets, found.neighbours
    simple, loops = not found.repeats, found.loops > 0
    if simple and not part.simple:  # the repeats may be gone, or elsewhere
        alike = neighbours[1:] == neighbours[:-1]
        alike[offsets[1:-1] - 1] = False
        simple = not bool(alike.any())
    if part.loops and not loops:
        loops = bool((np.repeat(found.rows, np.diff(offsets)) == neighbours).any())
    return Part(index, offsets, neighbours, simple, loops, found.max_degree)


def no_loop(keys: U64) -> npt.NDArray[np.bool_]:
    """Which keys are of no self-loop, bool[m]."""
    different: npt.NDArray[np.bool_] = (keys >> np.uint64(32)) != (keys & np.uint64(0xFFFFFFFF))
    return different


def turn_keys(keys: U64, side: Direction) -> U64:
    """The keys that edges `source << 32 | target` have in a part, ascending; in ANY both, of a loop one."""
    other = keys << np.uint64(32) | keys >> np.uint64(32)
    if side is Direction.OUT:
        return keys
    found = other if side is Direction.IN else np.concatenate([keys, other[no_loop(keys)]])
    found.sort()
    return found
