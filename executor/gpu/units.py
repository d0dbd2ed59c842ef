"""The work units of a stage on a GPU: parts of the lists of its roots."""

from __future__ import annotations

import numpy as np

from gdb.base import waiting
from gdb.storage.disk.arrays import pieces, unset
from gdb.storage.graph.adjacency import I64, U32

from ..nest.prepare import Prepared
from ..nest.tables import Tables
from ..table_fields import LevelField, NodeField, Role

PART = 32  # a root with more neighbours than this is cut into several work units;
# the same, where a part is one of the vids that are reached, and reads the whole list
PUSHED_PART = 128
COLD_PUSHED_PART = 1024  # and where that list's rows are read through the link
# where several devices share them, parts are as small as this, if that makes no more units than so many
SHARED_PART, MOST_UNITS = 2, 1 << 20
# units of one root in a row that one of several devices takes, where each of them reads the same lists
PUSHED_RUN = 32


def work_units(
    prepared: Prepared, sizes: I64 | None = None, devices: int = 1, *, cold: bool = False
) -> tuple[U32, I64]:
    """Each unit's root as a position in `roots`, u32[units], and each root's first unit, i64[roots + 1].

    A unit is one part of about `PART` elements of a root's list, where there is a second loop, or a node of the tail,
    to be cut. sizes : how long these lists are at most, i64[roots] (None: as the roots' weights say); a root whose list
    is empty has no unit. devices : that share them. Of many small units each has as much to do; where there are few, a
    device that has ended cannot help another. cold : some rows are read through the link.
    """
    loops = prepared.tables.loops
    if loops == 0:
        return np.zeros(1, np.uint32), np.array([0, 1], np.int64)
    if sizes is None:
        sizes = prepared.weights
    cuts, pushed = cut_level(prepared.tables) >= 0, is_pushed(prepared.tables)
    part = (COLD_PUSHED_PART if cold else PUSHED_PART) if pushed else PART
    if devices > 1 and not pushed:
        part = _shared_part(int(sizes.sum()))
    first_unit = unset(len(sizes) + 1, np.int64)
    first_unit[0] = 0

    def count(roots: tuple[int, int]) -> int:
        some = sizes[slice(*roots)]
        parts = (some + part - 1) // part if cuts else np.ones(len(some), np.int64)
        np.cumsum(parts, out=first_unit[roots[0] + 1 : roots[1] + 1])
        return int(first_unit[roots[1]])

    ranges = list(pieces(len(sizes)))
    before = np.cumsum([0, *waiting.in_order(count, ranges)]).tolist()
    unit_roots = unset(before[-1], np.uint32)

    def fill(at: tuple[int, int, int]) -> None:
        first, last, units = at
        ends = first_unit[first + 1 : last + 1]
        parts = np.diff(ends, prepend=0)
        ends += units
        unit_roots[units : int(ends[-1])] = np.repeat(
            np.arange(first, last, dtype=np.uint32), parts
        )

    for _ in waiting.in_order(fill, [(*r, b) for r, b in zip(ranges, before, strict=False)]):
        pass
    return unit_roots, first_unit


def at_most(prepared: Prepared, devices: int) -> int:
    """As many units as there may be, as far as the roots' weights say."""
    part = PART if devices == 1 else _shared_part(prepared.work)
    return prepared.work // part + len(prepared.roots)


def is_pushed(tables: Tables) -> bool:
    """Whether a part is one of the vids that are reached, and reads the whole list."""
    node = cut_node(tables)
    return node >= 0 and tables.is_pushed(node)


def run_of(tables: Tables) -> int:
    """How many work units in a row are one device's: of units that read the same lists several, which then read them at
    about the same time, from its cache."""
    return PUSHED_RUN if is_pushed(tables) else 1


def share_units(units: int, run: int, index: int, of: int) -> int:
    """How many of so many work units lie in the runs `index`, `index + of`, ..., each of `run` units but for the last.

    Examples
    --------
    >>> [share_units(10, 4, index, 2) for index in (0, 1)]
    [6, 4]
    """
    runs = -(-units // run)
    own = len(range(index, runs, of))
    missing = runs * run - units if own and (runs - 1) % of == index else 0
    return own * run - missing


def _shared_part(elements: int) -> int:
    return min(max(SHARED_PART, -(-elements // MOST_UNITS)), PART)


def cut_level(tables: Tables) -> int:
    """The level whose list says how many work units a root has: the second loop, or that of the tail's node; -1 for
    none: of an optional part it shows only in the end whether it counts nothing."""
    if tables.loops > 1:
        return -1 if tables.levels[1, LevelField.LEAST] else 1
    node = cut_node(tables)
    if node < 0:
        return -1
    while tables.is_pushed(node):
        node = int(tables.nodes[node, NodeField.PUSHER])
    return int(tables.nodes[node, NodeField.LEVEL])


def cut_node(tables: Tables) -> int:
    """The node of the tail that may be counted in parts, where there is but one loop: a root, which is a sum over its
    list, or over the vids that it is reached at, and not optional. -1 where there is none."""
    if tables.loops != 1:
        return -1
    for c, row in enumerate(tables.nodes):
        summed = row[NodeField.ROLE] in (Role.INNER, Role.PUSHED) and row[NodeField.PARENT] < 0
        if summed and row[NodeField.OPTIONAL] < 0:
            return c
    return -1
