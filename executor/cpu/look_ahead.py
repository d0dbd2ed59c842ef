"""Rows that a binding must have: they are tested for emptiness at once, not where they are read.

A set that comes out empty ends a binding where it is computed. A vertex with one bound neighbour has no set: that its
list is empty would be seen only where its loop begins, which may be below loops that have nothing to do with it.
"""

from __future__ import annotations

import numpy as np

from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import load_i64
from gdb.storage.graph.adjacency import I64

from ..nest.nest import Kind, LoopNest, Op, Operand, Slice, VertexLevel
from ..nest.optional_parts import is_optional
from ..nest.prepare import Prepared
from .address import P, Pointers
from .sets import row_slice

Row = tuple[int, int, int]  # a view, and the vids [lo, hi) that count
# columns of the table's first part: for each loop where its rows begin and end in the second part; columns of that
N_LIMIT, N_ROW = 2, 3


def rows_ahead(prepared: Prepared) -> list[list[Row]]:
    """Of each loop the rows of its vertex that are read in later loops only, and may be empty."""
    nest = prepared.nest
    if not prepared.views:
        return [[] for _ in range(nest.loops)]
    near: list[set[Row]] = [set() for _ in range(nest.loops)]
    later: list[set[Row]] = [set() for _ in range(nest.loops)]
    for operand, cut, around in _read(nest):
        if operand.kind is Kind.ROW:
            found = near if operand.b == around else later
            found[operand.b].add((operand.a, cut.lo, cut.hi))
    return [
        sorted(row for row in rows - here if _may_be_empty(prepared, *row))
        for rows, here in zip(later, near, strict=True)
    ]


def _read(nest: LoopNest) -> list[tuple[Operand, Slice, int]]:
    """The operands of levels and sets that must not be empty, how each is cut, and in which loop."""
    found = [
        (level.base, level.cut, around)
        for k, (level, around) in enumerate(zip(nest.levels, nest.arounds, strict=True))
        if isinstance(level, VertexLevel) and not is_optional(nest, k, level.base.b)
    ]
    for op in nest.sets:
        both = (op.left, op.right) if op.op is Op.INTERSECT else (op.left,)
        if not op.optional:
            needed = (one for one in both if not is_optional(nest, op.depth, one.b))
            found += [(one, op.cut, op.depth) for one in needed]
    return found


def _may_be_empty(prepared: Prepared, view: int, low: int, high: int) -> bool:
    """Whether a row is cut, or not every vertex has one."""
    whole = low == 0 and high >= prepared.vids
    return not whole or prepared.views[view].rows < prepared.vids


def table_of(rows: list[list[Row]]) -> I64:
    """As the kernel reads it: i64[loops, N_LIMIT], then i64[rows, N_ROW]."""
    limits, flat, end = list[int](), list[int](), 0
    for of_level in rows:
        limits += end, end + len(of_level)
        end += len(of_level)
        flat += (x for row in of_level for x in row)
    return np.array([*limits, *flat], np.int64)


@compiled
def leads_on(p: Pointers, loops: int, d: int, x: int) -> bool:
    """Whether x, to which loop d is bound, has all rows that are read later."""
    table = load_i64(p, P.AHEAD)
    for r in range(load_i64(table, N_LIMIT * d), load_i64(table, N_LIMIT * d + 1)):
        row = table + 8 * (N_LIMIT * loops + N_ROW * r)
        start, end = row_slice(p, load_i64(row, 0), x, load_i64(row, 1), load_i64(row, 2))
        if start == end:
            return False
    return True
