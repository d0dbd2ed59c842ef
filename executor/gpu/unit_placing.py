"""The work units of a stage on its device: made there where the roots are many, and their lists sides of their own
rows; else on the host, and copied."""

from __future__ import annotations

import numpy as np

from gdb.storage.disk.arrays import filled
from gdb.storage.graph.adjacency import I64

from ..nest.nest import Kind
from ..nest.prepare import Prepared
from ..table_fields import LevelField
from . import compiler, layout, memory, pinned, render, units
from .layout import Job
from .own_arrays import Own
from .placing import Placed

LEAST = 1 << 16  # roots from which the device cuts their lists: for fewer the host takes no longer
_WHAT = "its work units"


def place_units(
    graph: Placed, views: I64, own: Own, job: I64, devices: int
) -> tuple[int, I64 | None]:
    """Place the work units, whose addresses the job then has: how many they are; and how long the list of each root is,
    i64[roots], where that is known on the host.

    graph : of the stage, which is placed, as its roots are. views : the table of views. devices : that share the units.
    """
    prepared = graph.prepared
    side = (
        None
        if graph.split.passes or devices > 1 or len(prepared.roots) < LEAST
        else _side(prepared)
    )
    if side is not None:
        return _made_there(graph, views, own, job, side), None
    sizes = list_sizes(graph)
    unit_roots, first_unit = units.work_units(prepared, sizes, devices, cold=graph.cold)
    job[Job.UNIT_ROOTS] = own.put(unit_roots, _WHAT)
    job[Job.FIRST_UNIT] = own.put(first_unit, _WHAT)
    return len(unit_roots), sizes


def list_sizes(graph: Placed) -> I64 | None:
    """How long the list that is cut into work units is for each root, i64[roots], where it is one side of the
    root's own row; else None."""
    prepared, side = graph.prepared, _side(graph.prepared)
    if side is None:
        return None
    k, below = side
    view, roots, split_of = prepared.views[k], prepared.roots, graph.splits_of(k)

    def sizes(begin: int, end: int) -> I64:
        rows, after = view.rows_at(roots[begin:end])  # all have one: `roots_of` sees to it
        split = split_of(rows, after)
        size: I64 = split - view.offsets[rows] if below else view.offsets[after] - split
        return size

    return filled(len(roots), np.int64, sizes)


def _side(prepared: Prepared) -> tuple[int, bool] | None:
    """The view whose rows of roots have the lists, and whether these are the lower sides; None where they are no
    sides."""
    tables, k = prepared.tables, units.cut_level(prepared.tables)
    if k < 0 or not prepared.restricted:
        return None
    level, refs = tables.levels[k], tables.refs
    if level[LevelField.BASE] != Kind.ROW or level[LevelField.BASE_B] != 0:
        return None
    below = 0 in refs[level[LevelField.BELOW] : level[LevelField.BELOW_END]]
    above = 0 in refs[level[LevelField.ABOVE] : level[LevelField.ABOVE_END]]
    view = int(level[LevelField.BASE_A])
    return (view, below) if below != above and prepared.views[view].rows else None


def _made_there(graph: Placed, views: I64, own: Own, job: I64, side: tuple[int, bool]) -> int:
    """As `place_units`, on the device: warps count the units of 32 roots each, the host adds up what these have, and
    warps write them."""
    prepared, (k, below) = graph.prepared, side
    count = np.int64(len(prepared.roots))
    chunks = -(-len(prepared.roots) // layout.WARP_LANES)
    totals = memory.empty((chunks,), np.int64)
    first = job[Job.FIRST_UNIT] = own.zeros(int(count) + 1, np.int64, _WHAT).address
    part = np.int64(units.part_size(prepared, cold=graph.cold))
    blocks = min(-(-chunks * layout.WARP_LANES // layout.BLOCK_THREADS), 1 << 16)
    shape = (blocks,), (layout.BLOCK_THREADS,)
    counted = compiler.generic(graph.ordinal, render.COUNT_UNITS, cold=graph.cold)
    lists = memory.upload(views[k]), np.int64(job[Job.ROOTS]), count, np.int64(below)
    counted(*shape, (*lists, part, np.int64(first), totals))
    ends = np.cumsum(pinned.download(totals, np.int64))
    before = pinned.upload(np.concatenate([np.zeros(1, np.int64), ends[:-1]]))
    found = job[Job.UNIT_ROOTS] = own.zeros(max(int(ends[-1]), 1), np.uint32, _WHAT).address
    write = compiler.generic(graph.ordinal, render.FILL_UNITS, cold=graph.cold)
    write(*shape, (np.int64(first), count, before, np.int64(found)))
    return int(ends[-1])
