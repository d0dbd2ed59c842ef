"""The end of a counting nest whose vertices all lie in one neighbourhood, as sets of bits for both backends.

Under a *frame*, the level whose neighbourhood holds all that the last loops and the tail bind, the neighbours get
positions 0, 1, ... in the order of their vids. What a bound vertex demands of another is a *relation*, which for each
vertex is a row of bits, a bit for each position: the neighbours, those above, all but itself. A candidate set is the
AND of such rows (the bitmaps of the thesis §1.6; the local graphs of G2Miner §4.2).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from gdb.base.once import MadeOnce
from gdb.records import dataclass, field, replace
from gdb.storage.graph.adjacency import Adjacency

from .demands import Chain, Demand, chain
from .nest import Formula, Kind, LoopNest, Operand, Order, VertexLevel
from .prepare import Prepared

_SAMPLE = 256  # edges from which `common` is estimated


class Relation(NamedTuple):
    """Of a vertex x those that are its neighbours in `view` (-1: any), or not where `anti`; `order` to x; and not x
    itself where `differs`."""

    view: int
    anti: bool = False
    order: Order = Order.NONE
    differs: bool = False


class Operation(NamedTuple):
    """Set `out` is set `left` and what relation `relation` says of the vertex of `level`."""

    out: int
    left: int
    relation: int
    level: int


class End(NamedTuple):
    """A leaf: as many of set `set` as are in `relation` to the last loop's vertex (-1: all of them), but for that
    vertex where `differs`, less `minus`; counted as in a `Demand`. pair : this vertex and the next leaf's only have to
    differ: what they count is multiplied, less what both count."""

    set: int
    relation: int
    differs: bool
    minus: int
    size: int
    formula: Formula
    pair: bool


class Start(NamedTuple):
    """Set `out` is all positions whose vids lie in a range and, if `bits` is not -1, in a bitset."""

    out: int
    lo: int
    hi: int
    bits: int


@dataclass(frozen=True, slots=True)
class LocalPart:
    """The local part of a nest.

    frame, view, order : positions are those of the row of level `frame` in `view`; only those count that are in this
        order to the frame's own vertex. first : the first loop over bits. loops : how many loops the nest has;
        there may be one more, a node of the tail.
    operations : by the level that they depend on. bases : for each level from `first` on, the set that it loops over.
    sets : their number. skip : of each set of the nest whether nothing reads it when the rest is counted in bits.
    """

    frame: int
    view: int
    order: Order
    first: int
    loops: int
    relations: tuple[Relation, ...]
    operations: tuple[Operation, ...]
    bases: tuple[int, ...]
    ends: tuple[End, ...]
    starts: tuple[Start, ...]
    sets: int
    skip: tuple[bool, ...]

    @property
    def last(self) -> int:
        """The last loop over bits."""
        return self.first + len(self.bases) - 1

    def depth(self, operation: Operation) -> int:
        """The level that an operation depends on."""
        return max(operation.level, self.frame)


def _mean_common(view: Adjacency) -> float:
    """About how many neighbours the ends of an edge of a view have in common, in the mean; computed once for each
    view."""
    if not len(view.neighbours):
        return 0.0
    drawn = np.random.default_rng(0).integers(len(view.neighbours), size=_SAMPLE)
    vids = view.vids()[np.searchsorted(view.offsets, drawn, side="right") - 1]
    pairs = zip(vids.tolist(), view.neighbours[drawn].tolist(), strict=True)
    both = [
        len(np.intersect1d(view.neighbours_of(x), view.neighbours_of(y), assume_unique=True))
        for x, y in pairs
    ]
    return sum(both) / _SAMPLE


common = MadeOnce(_mean_common)


def counted_chain(prepared: Prepared) -> Chain | None:
    """The end of a counting nest as a chain that can be counted in bits; None where there is none. A longer tree is
    counted level by level."""
    nest = prepared.nest
    if "local" in prepared.plan.notes.switched_off or not nest.tail:
        return None
    known = chain(nest)
    return None if known is None or len(known.path) > 1 else known


def first_inside(known: Chain, frame: int, view: int) -> int | None:
    """The first loop from which on all levels lie in a neighbourhood; None where the last does not."""
    levels = (*known.loops, *known.path)

    def inside(demand: Demand | None) -> bool:
        return demand is not None and (view, frame) in demand.rows

    if not all(map(inside, (*known.path, *known.ends))):
        return None
    first = len(known.loops)
    while first - 1 > frame and inside(known.loops[first - 1]):
        first -= 1
    return first if first < len(levels) else None


def build(prepared: Prepared, known: Chain, frame: int, view: int, first: int) -> LocalPart:
    """The local part under a frame from a loop on, which is not before `first_inside`."""
    return _SetBuilder(prepared, known, frame, view, first).build()


@dataclass(slots=True)
class _SetBuilder:
    """Collects sets, operations and relations; alike ones are one."""

    prepared: Prepared
    known: Chain
    frame: int
    view: int
    first: int
    relations: list[Relation] = field(default_factory=list)
    starts: dict[tuple[int, int, int], int] = field(default_factory=dict)
    made: dict[tuple[int, int, int], int] = field(default_factory=dict)
    sets: int = 0

    @property
    def levels(self) -> tuple[Demand | None, ...]:
        return (*self.known.loops, *self.known.path)

    @property
    def last(self) -> int:
        return len(self.levels) - 1

    @property
    def order(self) -> Order:
        """How all vertices of the local part lie to the frame's own."""
        inner = [d for d in (*self.levels[self.first :], *self.known.ends) if d is not None]
        if all(self.frame in demand.below for demand in inner):
            return Order.BELOW
        return Order.ABOVE if all(self.frame in demand.above for demand in inner) else Order.NONE

    def build(self) -> LocalPart:
        inner = [d for d in self.levels[self.first :] if d is not None]
        bases = [self.base(k, demand) for k, demand in enumerate(inner, self.first)]
        ends = self.ends()
        operations = sorted(
            (Operation(out, *key) for key, out in self.made.items()),
            key=lambda op: (max(op.level, self.frame), op.out),
        )
        return LocalPart(
            *(self.frame, self.view, self.order, self.first),
            len(self.known.loops),
            tuple(self.relations),
            tuple(operations),
            tuple(bases),
            tuple(ends),
            tuple(Start(out, *key) for key, out in self.starts.items()),
            self.sets,
            self.skip(),
        )

    def base(self, k: int, demand: Demand) -> int:
        """The set that a loop runs over."""
        return self.narrowed(demand, [r for r in self.related(demand) if r[0] < k])

    def ends(self) -> list[End]:
        found: list[End] = []
        some = iter(self.known.ends)
        for demand in some:
            if demand.formula is not Formula.PAIR:
                found.append(self.end(demand))
                continue
            other = next(some)
            a, b = replace(demand, formula=Formula.POWER), replace(other, formula=Formula.POWER)
            if self.holds(a, b):
                found += [self.end(a), self.end(b, minus=1)]
            elif self.holds(b, a):
                found += [self.end(a, minus=1), self.end(b)]
            else:
                found += [self.end(a, pair=True), self.end(b)]
        return found

    def end(self, demand: Demand, *, minus: int = 0, pair: bool = False) -> End:
        relations = self.related(demand)
        last = [r for level, r in relations if level == self.last]
        before = [r for r in relations if r[0] < self.last]
        rest = (demand.size, demand.formula, pair)
        if last == [Relation(-1, differs=True)]:
            return End(self.narrowed(demand, before), -1, True, minus, *rest)
        before += [(self.last, r) for r in last[:-1]]
        relation = self.number(last[-1]) if last else -1
        return End(self.narrowed(demand, before), relation, False, minus, *rest)

    def narrowed(self, demand: Demand, relations: Iterable[tuple[int, Relation]]) -> int:
        """The set of what a demand and these relations leave."""
        cut = (demand.lo, demand.hi, self.bits(demand))
        if cut not in self.starts:
            self.starts[cut] = self.sets
            self.sets += 1
        found = self.starts[cut]
        for level, relation in relations:
            key = (found, self.number(relation), level)
            if key not in self.made:
                self.made[key] = self.sets
                self.sets += 1
            found = self.made[key]
        return found

    def bits(self, demand: Demand) -> int:
        return -1 if demand.bits < 0 else self.prepared.tables.bit_sets.index(demand.bits)

    def number(self, relation: Relation) -> int:
        if relation not in self.relations:
            self.relations.append(relation)
        return self.relations.index(relation)

    def related(self, demand: Demand) -> list[tuple[int, Relation]]:
        """The relations that a demand needs, by their levels; not those that every position is in."""
        found: list[tuple[int, Relation]] = []
        for level in sorted(demand.levels):
            views = sorted(view for view, k in demand.rows if k == level)
            orders = [
                order
                for order, levels in ((Order.BELOW, demand.below), (Order.ABOVE, demand.above))
                if level in levels
            ]
            apart = any(not self.prepared.views[view].loops for view in views) or orders
            if level == self.frame:
                views.remove(self.view)
                orders = [order for order in orders if order is not self.order]
            differs = level in demand.differs and not apart
            some = [Relation(view) for view in views]
            if orders or differs:
                head = some.pop(0) if some else Relation(-1)
                some.insert(0, head._replace(order=(*orders, Order.NONE)[0], differs=differs))
            some += [Relation(-1, order=order) for order in orders[1:]]
            some += [Relation(view, anti=True) for view, k in sorted(demand.anti) if k == level]
            found += [(level, relation) for relation in some]
        return found

    def holds(self, a: Demand, b: Demand) -> bool:
        """Whether whatever meets demand `a` meets `b`."""
        apart = a.differs | a.below | a.above
        apart |= {k for view, k in a.rows if not self.prepared.views[view].loops}
        return (
            a.rows >= b.rows
            and a.anti >= b.anti
            and a.lo >= b.lo
            and a.hi <= b.hi
            and b.bits in (-1, a.bits)
            and a.below >= b.below
            and a.above >= b.above
            and apart >= b.differs
        )

    def skip(self) -> tuple[bool, ...]:
        """Of each set whether no loop outside of the local part reads it."""
        nest = self.prepared.nest
        read: set[int] = set()
        waiting = [_base(nest, k) for k in range(1, self.first)]
        while waiting:
            operand = waiting.pop()
            if operand.kind is Kind.SET and operand.a not in read:
                read.add(operand.a)
                waiting += [nest.sets[operand.a].left, nest.sets[operand.a].right]
        return tuple(op.slot not in read and op.depth >= self.frame for op in nest.sets)


def _base(nest: LoopNest, k: int) -> Operand:
    level = nest.levels[k]
    return level.base if isinstance(level, VertexLevel) else Operand(Kind.END, -1)
