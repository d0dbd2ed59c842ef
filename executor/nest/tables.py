"""A nest written as integer tables, the one form that both generic kernels (CPU and CUDA)
interpret.

Every table is i64. Rows refer to views, bitsets and candidate lists by number; the addresses behind
the numbers are the backend's, in tables of the same layout (`VIEW_FIELDS`, bitset and list
addresses), so that host and device run the same code.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gdb.records import dataclass, field

from ..plan.embeddings import Wanted
from ..table_fields import CacheField, LevelField, NodeField, Role, StrangerField

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """A nest for the kernels.

    levels, sets, checks : i64[n, fields]; refs : i64[k], level numbers that BELOW/ABOVE/DIFFERS
        ranges point into.
    nodes : i64[n, fields], the tail, children before parents.
    marks : operands that set operations may hold as a byte for each vertex, in MARK order: (1, level)
        for the row that a level's vertex has, (2, set).
    loops : levels that are looped over; the rest is the tail.
    buffer : vids that one worker's sets need.
    vertex_columns, edge_columns : the query vertices and edges that levels bind; a level's COLUMN is its place in them.
    bit_sets : query vertices (>= 0) whose candidates need a bitset and, as -1 - edge, query edges
        whose allowed edge ids do; BITS columns are positions in this tuple.
    lists : query vertices whose candidate list is read and, as -1 - view, views that ends of edges belong to; LIST
        and END operands are positions in this tuple.
    branches : whether loops branch (`LoopNest.around`).
    caches, strangers : i64[n, fields], counts that are kept for when they come again.
    views : numbers of the views that the CPU's kernel reads, ascending.
    orders : views whose rows are read in an order of their edges: view, comparison, and 1 where the values are those of
        its right side.
    """

    levels: I64
    sets: I64
    checks: I64
    refs: I64
    nodes: I64
    marks: tuple[tuple[int, int, int], ...]
    loops: int
    counting: bool
    buffer: int
    bit_sets: tuple[int, ...]
    lists: tuple[int, ...]
    vertex_columns: tuple[int, ...]
    edge_columns: tuple[int, ...]
    orders: tuple[tuple[int, int, int], ...] = ()
    branches: bool = False
    caches: I64 = field(default_factory=lambda: np.zeros((0, len(CacheField)), np.int64))
    strangers: I64 = field(default_factory=lambda: np.zeros((0, len(StrangerField)), np.int64))
    views: tuple[int, ...] = ()

    def is_pushed(self, node: int) -> bool:
        """Whether counts of a node of the tail are pushed to the vids that they are reached at."""
        return int(self.nodes[node, NodeField.ROLE]) == Role.PUSHED

    def written(self, wanted: Wanted) -> Written:
        """What workers write of the rows that they find."""
        levels, once = self.levels.copy(), -1
        vertices = wanted.vertices if wanted.once is None else (wanted.once,)
        edges = tuple(e for e in wanted.edges if e in self.edge_columns and wanted.once is None)
        for k, row in enumerate(levels):
            bound, names = (
                (edges, self.edge_columns)
                if row[LevelField.IS_EDGE]
                else (vertices, self.vertex_columns)
            )
            name = names[int(row[LevelField.COLUMN])]
            row[LevelField.COLUMN] = bound.index(name) if name in bound else -1
            if not row[LevelField.IS_EDGE] and name == wanted.once:
                once = k
        return Written(levels, Wanted(vertices, edges, wanted.once), once)


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """What workers write of the rows that they find.

    levels : the level table, in which COLUMN is the place of the level's vertex or edge among `columns`, -1 where it is
        not written.
    columns : the vertices and the bound edges that are written.
    once : the level whose distinct values are wanted instead of rows, -1 where rows are.
    """

    levels: I64
    columns: Wanted
    once: int

    @property
    def row_bytes(self) -> int:
        """Bytes of a row: 4 for each vertex, 8 for each edge."""
        return 4 * len(self.columns.vertices) + 8 * len(self.columns.edges)


def bitset(
    members: npt.NDArray[np.uint32] | npt.NDArray[np.int64], size: int
) -> npt.NDArray[np.uint8]:
    """A set of numbers below `size`, one bit each, bit i in byte i // 8; u8[size // 8 + 1]."""
    flags = np.zeros(size + 8, bool)
    flags[members] = True
    return np.packbits(flags, bitorder="little")
