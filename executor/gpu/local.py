"""Local graphs: the end of a counting nest whose vertices all lie in one list, such as the neighbours that a clique's
first vertex has in common with the rest.

Where that list is short, a special kernel makes a matrix of bits of the edges in it and counts the levels there
(`kernels/local.cuh`; the local graphs of G2Miner §4.2). Where it is longer, the nest runs as it stands.
"""

from __future__ import annotations

import numpy as np

from gdb.executor.gpu.layout import Local
from gdb.executor.nest import EdgeLevel, Formula, Kind, LoopNest, Op, Operand, Order, VertexLevel
from gdb.executor.prepare import Prepared
from gdb.records import dataclass
from gdb.storage.adjacency import I64, Direction

LEAST, MOST = 3, 5  # levels of a local graph: fewer gain nothing, more could keep a warp for long


@dataclass(frozen=True, slots=True)
class LocalLevel:
    """A level of a local graph: the levels of the nest whose neighbour it must be, below and above whose vid it must
    stay, from which it only has to differ; how many alike levels it stands for, by which formula."""

    near: frozenset[int]
    below: frozenset[int]
    above: frozenset[int]
    differs: frozenset[int]
    size: int = 1
    formula: Formula = Formula.POWER


@dataclass(frozen=True, slots=True)
class LocalGraph:
    """first : the level of the nest whose list holds all vertices. view : of the edges among them."""

    first: int
    view: int
    levels: tuple[LocalLevel, ...]

    @property
    def symmetric(self) -> bool:
        """Whether a vertex is asked for neighbours above it, and not only for those below."""
        return any(level.near - level.below for level in self.levels)

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
    if not nest.counting or nest.loops == 0 or nest.around:
        return None
    if any(isinstance(level, EdgeLevel) for level in nest.levels):
        return None
    chain = _chain(nest)
    if chain is None:
        return None
    for first in range(max(1, len(chain) - MOST), min(nest.loops, len(chain) - LEAST + 1)):
        found = _from(nest, chain, first)
        if found is not None:
            view = prepared.specs[found.view]
            adjacency = prepared.views[found.view]
            if view.direction is Direction.ANY and adjacency.simple and not adjacency.loops:
                return found
    return None


@dataclass(frozen=True, slots=True)
class _Demand:
    """What a level asks of its vertex: rows that it stands in as (view, level), the range and order of its vid."""

    rows: frozenset[tuple[int, int]]
    lo: int
    hi: int
    below: frozenset[int]
    above: frozenset[int]
    differs: frozenset[int]
    size: int = 1
    formula: Formula = Formula.POWER


def _chain(nest: LoopNest) -> list[_Demand] | None:
    """What each loop asks, then what the tail's levels ask, parents before children; None where something else is
    asked. Alike levels stand as one, which must be the last."""
    found: list[_Demand] = []
    place: dict[int, int] = {}  # level -> where in the chain
    for k in range(nest.loops):
        demand = _demand(nest, k)
        if demand is None:
            return None
        place[k] = k
        found.append(demand)
    nodes = list(reversed(nest.tail))
    for node in nodes:
        demand = _demand(nest, node.levels[0])
        if demand is None or node.free or node.formula is Formula.PAIR or found[-1].size > 1:
            return None
        rows, below, above = demand.rows, demand.below, demand.above
        if node.parent >= 0:
            up = place[nest.tail[node.parent].levels[0]]
            rows |= {(node.view, up)}
            below |= {up} if node.order is Order.BELOW else set()
            above |= {up} if node.order is Order.ABOVE else set()
        place[node.levels[0]] = len(found)
        more = (len(node.levels), node.formula)
        found.append(_Demand(rows, demand.lo, demand.hi, below, above, demand.differs, *more))
    return found


def _demand(nest: LoopNest, k: int) -> _Demand | None:
    level = nest.levels[k]
    assert isinstance(level, VertexLevel)
    rows = _rows(nest, level.base)
    if k > 0 and (rows is None or level.checks or level.cut.bits >= 0):
        return None
    cut = level.cut
    return _Demand(
        frozenset(rows or ()),
        cut.lo,
        cut.hi,
        frozenset(cut.below),
        frozenset(cut.above),
        frozenset(level.differs),
    )


def _rows(nest: LoopNest, operand: Operand) -> set[tuple[int, int]] | None:
    """The rows that an operand is the intersection of; None where it is more than that. What sets on the way are cut
    to, the level that reads them is cut to as well."""
    if operand.kind is Kind.ROW:
        return {(operand.a, operand.b)}
    if operand.kind is not Kind.SET:
        return None
    made = nest.sets[operand.a]
    left, right = _rows(nest, made.left), _rows(nest, made.right)
    if made.op is not Op.INTERSECT or made.cut.bits >= 0 or left is None or right is None:
        return None
    return left | right


def _from(nest: LoopNest, chain: list[_Demand], first: int) -> LocalGraph | None:
    """The local graph of chain[first:]: its levels ask the same of what is bound before, and the rest of one
    another."""

    def outside(demand: _Demand) -> object:
        rows = frozenset(row for row in demand.rows if row[1] < first)
        bounds = (demand.below, demand.above, demand.differs)
        return rows, demand.lo, demand.hi, *(frozenset(x for x in b if x < first) for b in bounds)

    ends = chain[first:]
    if any(outside(demand) != outside(ends[0]) for demand in ends[1:]):
        return None
    inner = {row for demand in ends for row in demand.rows if row[1] >= first}
    views = {view for view, _ in inner}
    if len(views) != 1 or (next(iter(views)), first) not in ends[1].rows:
        return None

    def inside(levels: frozenset[int]) -> frozenset[int]:
        return frozenset(k for k in levels if k >= first)

    levels = tuple(
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
    return LocalGraph(first, views.pop(), levels)
