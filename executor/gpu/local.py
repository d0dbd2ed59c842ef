"""Local graphs: the end of a counting nest whose vertices all lie in one list, such as the neighbours that a clique's
first vertex has in common with the rest.

Where that list is short, a special kernel makes a matrix of bits of the edges in it and counts the levels there
(`kernels/local.cuh`; the local graphs of G2Miner §4.2). Where it is longer, the nest runs unchanged. The lists of
several work units lie in one local graph, where each is a row of its root: most are shorter than a warp has lanes.
"""

from __future__ import annotations

import numpy as np

from gdb.records import dataclass
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64

from ..nest.demands import Demand, chain
from ..nest.nest import Formula, Kind, LoopNest
from ..nest.prepare import Prepared
from ..table_fields import LevelField
from .layout import LOCAL_PAIRS, LOCAL_ROWS, LOCAL_STARTS, LOCAL_WORDS, Local

# levels of a local graph: fewer gain nothing where it is that of one work unit, more could keep a warp for long
LEAST, MOST = 3, 5
EDGES = 2  # levels where it only has its edges counted: those of triangles


@dataclass(frozen=True, slots=True)
class LocalLevel:
    """A level of a local graph: the levels of the nest whose neighbour it must be, below and above whose vid it must
    stay, from which it only has to differ; how many alike levels it represents, by which formula."""

    near: frozenset[int]
    below: frozenset[int]
    above: frozenset[int]
    differs: frozenset[int]
    size: int = 1
    formula: Formula = Formula.POWER


@dataclass(frozen=True, slots=True)
class LocalGraph:
    """first : the level of the nest whose list holds all vertices. view : of the edges among them. several : whether
    the lists of several work units may lie in one graph: each is a row of its root, whole but for its range, and no
    level is bound to what has no edge to the others. supports : whether each of its edges, which is a triangle with
    its root, is noted for the supports of the three (`supports.py`)."""

    first: int
    view: int
    levels: tuple[LocalLevel, ...]
    several: bool
    supports: bool = False

    @property
    def symmetric(self) -> bool:
        """Whether neighbours above a vertex are read, and not only those below."""
        return any(level.near - level.below for level in self.levels)

    @property
    def only_edges(self) -> bool:
        """Whether each edge counts one, and no matrix is made."""
        return len(self.levels) == EDGES

    @property
    def in_passes(self) -> bool:
        """Whether passes can fill it, each with the rows of a part of its vertices: below them only."""
        return self.several and not self.symmetric

    @property
    def words(self) -> int:
        """u32 of shared memory that a warp needs."""
        return LOCAL_WORDS + (0 if self.only_edges else LOCAL_ROWS) + LOCAL_STARTS * self.supports

    @property
    def pairs(self) -> int:
        """u32 of a warp's buffer for what its first two levels are bound to."""
        return 0 if self.only_edges else LOCAL_PAIRS

    @property
    def table(self) -> I64:
        """i64[levels, len(Local)], levels counted from the first."""
        rows = np.zeros((len(self.levels), len(Local)), np.int64)
        for row, level in zip(rows, self.levels, strict=True):
            for column, found in (
                (Local.NEAR, level.near),
                (Local.BELOW, level.below),
                (Local.ABOVE, level.above),
                (Local.DIFFERS, level.differs),
            ):
                row[column] = sum(1 << (k - self.first) for k in found)
            row[Local.SIZE], row[Local.FORMULA] = level.size, int(level.formula)
        return rows


def find(prepared: Prepared) -> LocalGraph | None:
    """The longest end of a counting nest that can be counted in a local graph; None where there is none."""
    nest = prepared.nest
    if "local" in prepared.plan.notes.switched_off:
        return None
    levels = _chain(nest)
    if levels is None:
        return None
    starts = range(max(1, len(levels) - MOST), min(nest.loops, len(levels) - LEAST + 1))
    if nest.loops == 1 and len(levels) == 1 + EDGES and levels[-1].size == 1:
        starts = range(1, 2)
    for first in starts:
        found = _from(levels, first, several=first == 1 and _side_by_side(prepared))
        if found is not None:
            view = prepared.specs[found.view]
            adjacency = prepared.views[found.view]
            if view.direction is Direction.ANY and adjacency.simple and not adjacency.loops:
                return found
    return None


def _chain(nest: LoopNest) -> list[Demand] | None:
    """What each loop demands, then what the tail's levels do, parents before children; None where something else is
    demanded. Alike levels count as one, which must be the last."""
    found = chain(nest)
    if found is None or any(end.formula is Formula.PAIR for end in found.ends):
        return None
    # the first loop runs over candidates, and is never in a local graph
    levels = (found.loops[0] or Demand(), *found.loops[1:], *found.path, *reversed(found.ends))
    known = [level for level in levels if level is not None]
    if len(known) < len(levels) or any(level.bits >= 0 or level.anti for level in known[1:]):
        return None
    return known if all(level.size == 1 for level in known[:-1]) else None


def _side_by_side(prepared: Prepared) -> bool:
    """Whether the list of level 1 is a row of its root, whole but for its range."""
    root, row = prepared.tables.levels[:2]
    whole = root[LevelField.SET] == root[LevelField.SET_END] and not row[LevelField.IS_EDGE]
    whole = whole and row[LevelField.BASE] == Kind.ROW and row[LevelField.BITS] < 0
    whole = whole and row[LevelField.DIFFERS] == row[LevelField.DIFFERS_END]
    whole = whole and row[LevelField.CHECK] == row[LevelField.CHECK_END]
    return bool(whole) and prepared.views[row[LevelField.BASE_A]].simple


def _from(levels: list[Demand], first: int, *, several: bool) -> LocalGraph | None:
    """The local graph of levels[first:]: its levels demand the same of what is bound before, and the rest of one
    another."""

    def outside(demand: Demand) -> object:
        rows = frozenset(row for row in demand.rows if row[1] < first)
        bounds = (demand.below, demand.above, demand.differs)
        return rows, demand.lo, demand.hi, *(frozenset(x for x in b if x < first) for b in bounds)

    ends = levels[first:]
    if any(outside(demand) != outside(ends[0]) for demand in ends[1:]):
        return None
    inner = {row for demand in ends for row in demand.rows if row[1] >= first}
    views = {view for view, _ in inner}
    if len(views) != 1 or (next(iter(views)), first) not in ends[1].rows:
        return None

    def inside(some: frozenset[int]) -> frozenset[int]:
        return frozenset(k for k in some if k >= first)

    made = tuple(
        LocalLevel(
            inside(frozenset(level for _, level in demand.rows)),
            inside(demand.below),
            inside(demand.above),
            inside(demand.differs),
            demand.size,
            demand.formula,
        )
        for demand in ends
    )
    several = several and all(level.near for level in made[1:])
    return LocalGraph(first, views.pop(), made, several)
