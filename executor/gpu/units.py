"""The work units of a stage on a GPU: parts of the lists of its roots."""

from __future__ import annotations

import numpy as np

from gdb.base import waiting
from gdb.base.machine.cores import cores
from gdb.storage.disk.arrays import unset
from gdb.storage.graph.adjacency import I64, U32
from gdb.storage.graph.row_loops import at_of

from ..nest.prepare import Prepared
from ..nest.tables import Tables
from ..table_fields import LevelField, NodeField, Role
from .unit_loops import count_units, fill_units

PART = 32  # a root with more neighbours than this is cut into several work units;
# the same, where a part is one of the vids that are reached, and reads the whole list
PUSHED_PART = 128
# and where that list's rows are read through the link: a part of all lists, within these
COLD_PUSHED_LEAST, COLD_PUSHED_MOST, COLD_PARTS = 1024, 4096, 1 << 15
# where several devices share them, parts are as small as this, if that makes no more units than so many
SHARED_PART, MOST_UNITS = 2, 1 << 20
LEAST_AT_ONCE = 1 << 16  # roots that a thread makes units of, at least
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
    sizes = np.ascontiguousarray(prepared.weights.each if sizes is None else sizes)
    cuts, part = cut_level(prepared.tables) >= 0, part_size(prepared, cold=cold)
    if devices > 1 and not is_pushed(prepared.tables):
        part = _shared_part(int(sizes.sum()))
    first_unit = unset(len(sizes) + 1, np.int64)
    first_unit[0] = 0
    first, each = at_of(first_unit), part if cuts else 0

    def count(roots: tuple[int, int]) -> int:
        return count_units(at_of(sizes), *roots, each, first)

    step = max(-(-len(sizes) // cores()), LEAST_AT_ONCE)
    ranges = [(k, min(k + step, len(sizes))) for k in range(0, len(sizes), step)]
    before = np.cumsum([0, *waiting.in_order(count, ranges)]).tolist()
    unit_roots = unset(before[-1], np.uint32)

    def fill(roots: tuple[int, int, int]) -> None:
        fill_units(first, *roots, at_of(unit_roots))

    for _ in waiting.in_order(fill, [(*r, b) for r, b in zip(ranges, before, strict=False)]):
        pass
    return unit_roots, first_unit


def part_size(prepared: Prepared, *, cold: bool) -> int:
    """How many elements of a root's list are a unit, where one device has them all. cold : as for `work_units`."""
    if not is_pushed(prepared.tables):
        return PART
    if not cold:
        return PUSHED_PART
    return min(max(COLD_PUSHED_LEAST, prepared.work // COLD_PARTS), COLD_PUSHED_MOST)


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
