"""The demands of a counting nest's levels on their vertices: the rows that must and must not contain the vertex, its
range, and the levels that it must differ from, and be below or above.

Both backends look here for the part of a nest whose vertices all lie in one neighbourhood, which they count in bits
(the local graphs of G2Miner §4.2).
"""

from __future__ import annotations

from gdb.records import dataclass, quick, replace

from .nest import (
    UNBOUNDED,
    EdgeLevel,
    Formula,
    Kind,
    LoopNest,
    Node,
    Op,
    Operand,
    Order,
)

Row = tuple[int, int]  # of a view, the row of a level's vertex
NO_ROWS: frozenset[Row] = frozenset()
NO_LEVELS: frozenset[int] = frozenset()


@quick
@dataclass(frozen=True, slots=True)
class Demand:
    """What a level demands of its vertex.

    rows, anti : rows that contain it, and that do not. lo, hi, bits : as in a `Slice`. below, above, differs : levels.
    size, formula : how many alike levels it represents, and how these are counted.
    """

    rows: frozenset[Row] = NO_ROWS
    anti: frozenset[Row] = NO_ROWS
    lo: int = 0
    hi: int = UNBOUNDED
    bits: int = -1
    below: frozenset[int] = NO_LEVELS
    above: frozenset[int] = NO_LEVELS
    differs: frozenset[int] = NO_LEVELS
    size: int = 1
    formula: Formula = Formula.POWER

    @property
    def levels(self) -> frozenset[int]:
        """The levels that it names."""
        rows = frozenset(level for _, level in self.rows | self.anti)
        return rows | self.below | self.above | self.differs


@dataclass(frozen=True, slots=True)
class Chain:
    """A nest whose tail is taken for loops as well, but for its leaves.

    loops : of each loop what it demands, None where that is more than a `Demand` can say; without a tail, of each but
        the last, which is the leaf. path : of each node of the
        tail with children, parents first; such a node is the level that follows the loops and the nodes before it.
    ends : of the leaves, in the order of the tail: what they count is multiplied.
    """

    loops: tuple[Demand | None, ...]
    path: tuple[Demand, ...]
    ends: tuple[Demand, ...]


def chain(nest: LoopNest) -> Chain | None:
    """What each level of a counting nest demands; None where its loops branch or its tail demands something else."""
    if not nest.counting or nest.loops == 0 or nest.around:
        return None
    loops = tuple(_demand(nest, k) for k in range(nest.loops))
    if not nest.tail:
        last = loops[-1]
        return Chain(loops[:-1], (), (last,)) if last is not None and len(loops) > 1 else None
    parents = {node.parent for node in nest.tail}
    inner = [c for c in reversed(range(len(nest.tail))) if c in parents]
    place = {c: nest.loops + i for i, c in enumerate(inner)}
    demands = [_of_node(nest, node, place) for node in nest.tail]
    ends = []
    for c, demand in enumerate(demands):
        if demand is None or (c in place and demand.size > 1):
            return None
        if c not in place:
            ends.append(demand)
    path = [demand for c in inner if (demand := demands[c]) is not None]
    return Chain(loops, tuple(path), tuple(ends))


def _of_node(nest: LoopNest, node: Node, place: dict[int, int]) -> Demand | None:
    """What a node of the tail demands. place : of its nodes with children, the levels that they are taken for."""
    demand = _demand(nest, node.levels[0])
    if demand is None or node.free:
        return None
    size, formula = len(node.levels), node.formula
    if node.parent < 0:
        return replace(demand, size=size, formula=formula)
    up = frozenset({place[node.parent]})
    return replace(
        demand,
        rows=demand.rows | {(node.view, place[node.parent])},
        below=demand.below | (up if node.order is Order.BELOW else NO_LEVELS),
        above=demand.above | (up if node.order is Order.ABOVE else NO_LEVELS),
        size=size,
        formula=formula,
    )


def _demand(nest: LoopNest, k: int) -> Demand | None:
    level = nest.levels[k]
    if isinstance(level, EdgeLevel) or level.checks:
        return None
    found = _rows(nest, level.base)
    if found is None:
        return None
    cut = level.cut
    order = frozenset(cut.below), frozenset(cut.above)
    return Demand(*found, cut.lo, cut.hi, cut.bits, *order, frozenset(level.differs))


def _rows(nest: LoopNest, operand: Operand) -> tuple[frozenset[Row], frozenset[Row]] | None:
    """The rows that an operand is the intersection of, and those that it leaves out; None where it is more than that.
    What sets on the way are cut to, the level that reads them is cut to as well."""
    if operand.kind is Kind.ROW:
        return frozenset({(operand.a, operand.b)}), NO_ROWS
    if operand.kind is not Kind.SET:
        return None
    made = nest.sets[operand.a]
    left, right = _rows(nest, made.left), _rows(nest, made.right)
    if left is None or right is None or right[1]:
        return None
    if made.op is Op.DIFFERENCE:
        if made.right.kind is not Kind.ROW:
            return None
        return left[0], left[1] | right[0]
    return left[0] | right[0], left[1]
