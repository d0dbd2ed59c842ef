"""The loop nest: what a stage does, as nested loops over candidate sets (design.md §5).

A nest is a list of levels, one for each query vertex or bound query edge in binding order; a level
loops over a *base* (a list of candidates, a row of a view, or a set computed above it), cut to a
slice, and tests what is left. Set operations run at the level below which they do not change. In
counting mode the last levels may be *groups*: they are counted and never looped over. `lower` makes
the plainest nest of a plan, the passes of `passes` improve it, `encode` writes it as tables
for the generic kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from gdb.errors import InternalError
from gdb.records import dataclass, field, quick, replace

from ..plan.plan import (
    Apart,
    Between,
    BindEdge,
    Candidates,
    Compare,
    Eliminate,
    Extend,
    OptionalPart,
    Phase,
    Plan,
    Rules,
    Scan,
    Step,
)

UNBOUNDED = 1 << 62


class Kind(IntEnum):
    """What an operand is: the candidates of a query vertex, a row of a view, a computed set; FREE:
    no list, the vertex is reached along the tail's edges; END: the one vertex that an edge leads to. WINDOW: what an
    edge level with windows loops over."""

    LIST = 0
    ROW = 1
    SET = 2
    FREE = 3
    END = 4
    WINDOW = 5


class Op(IntEnum):
    """The operations on two sorted sets: what is in both; what is in the left one only."""

    INTERSECT = 0
    DIFFERENCE = 1


class Formula(IntEnum):
    """How often k alike query vertices (twins) can be bound to n candidates."""

    POWER = 0  # n^k: they may coincide
    FALLING = 1  # n (n-1) ... (n-k+1): all differ
    BINOMIAL = 2  # n over k: all differ and restrictions keep one order
    PAIR = 3  # |A| |B| - |A & B|: this vertex and the next node's only have to differ


class Order(IntEnum):
    """How the vid of a node's vertex compares with its parent's."""

    NONE = 0
    BELOW = 1
    ABOVE = 2


@quick
@dataclass(frozen=True, slots=True)
class Operand:
    """LIST: a = query vertex. ROW: a = view, b = level of the row's vertex. SET: a = slot. END: a = view
    along which the edge of level b is walked."""

    kind: Kind
    a: int
    b: int = -1


@quick
@dataclass(frozen=True, slots=True)
class Slice:
    """The part of an ascending list that counts: lo <= vid < hi, in bitset `bits` (a query vertex's
    candidates, -1: no test), below and above the vids of the named levels."""

    lo: int = 0
    hi: int = UNBOUNDED
    bits: int = -1
    below: tuple[int, ...] = ()
    above: tuple[int, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class Member:
    """The number of edges of `view` from level `source` to level `target` is within [least,
    most]."""

    view: int
    source: int
    target: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class PairsApart:
    """(a, b) and (c, d), all levels, are not the same pair; nor reversed where `either_way`."""

    a: int
    b: int
    c: int
    d: int
    either_way: bool


@dataclass(frozen=True, slots=True)
class WithinBounds:
    """The value of level `right` less that of level `left` is within the bounds, or with not `inside` is not, and
    neither is missing; arrays and bounds are those of comparison `number` of the plan."""

    left: int
    right: int
    number: int
    inside: bool = True


Check = Member | PairsApart | WithinBounds


def levels_of(checks: tuple[Check, ...]) -> set[int]:
    """The levels that some checks read."""
    found: set[int] = set()
    if not checks:  # as most levels have it
        return found
    for check in checks:
        match check:
            case Member(source=s, target=t):
                found |= {s, t}
            case PairsApart(a=a, b=b, c=c, d=d):
                found |= {a, b, c, d}
            case WithinBounds(left=a, right=b):
                found |= {a, b}
    return found


@quick
@dataclass(frozen=True, slots=True)
class SetOp:
    """Set `slot` = left (op) right, cut to `cut`; run whenever level `depth` is bound. Empty: that
    binding leads nowhere, unless all that reads the set is `optional`."""

    slot: int
    depth: int
    left: Operand
    op: Op
    right: Operand
    cut: Slice
    optional: bool = False


@quick
@dataclass(frozen=True, slots=True)
class VertexLevel:
    """Bind query vertex `vertex` to each element of `base` within `cut`, other than levels
    `differs`, passing `checks`.

    sources, anti : rows that must, and must not, contain the vertex besides `base`; `motion` turns
        them into sets.
    part : the optional part that it belongs to, a number of `LoopNest.parts`; 0: none.
    each : it is bound once for each edge of a row, which repeats a neighbour for parallel edges, and not once for each
        neighbour.
    apart : levels of this kind whose edge is another; only until `counted_tail` counts them together.
    """

    vertex: int
    base: Operand
    cut: Slice
    differs: tuple[int, ...] = ()
    checks: tuple[Check, ...] = ()
    sources: tuple[Operand, ...] = ()
    anti: tuple[Operand, ...] = ()
    part: int = 0
    each: bool = False
    apart: tuple[int, ...] = ()

    def reads(self) -> set[int]:
        """Levels that this level depends on without looking through sets."""
        operands = (self.base, *self.sources, *self.anti)
        found = {o.b for o in operands if o.kind in (Kind.ROW, Kind.END)}
        found |= {*self.cut.below, *self.cut.above, *self.differs, *self.apart}
        return found | levels_of(self.checks)


@dataclass(frozen=True, slots=True)
class EdgeLevel:
    """Bind query edge `edge` to each data edge of `view` between levels `source` and `target`.

    differs, above : edge levels whose edge id must be another, must be smaller. allowed : test
        against the edge's bitset. checks : what an edge id must pass besides.
        With a `target` of -1 it is bound to the edges of `view` from level `source` to whatever end.
    windows : comparisons of such an edge's value in one array with values bound before, which it must pass: rows lie in
        the order of these values.
    part : as of a `VertexLevel`.
    """

    edge: int
    view: int
    source: int
    target: int
    differs: tuple[int, ...] = ()
    above: tuple[int, ...] = ()
    allowed: bool = False
    checks: tuple[Check, ...] = ()
    windows: tuple[WithinBounds, ...] = ()
    part: int = 0

    def reads(self) -> set[int]:
        """The levels that it reads: its ends, edges that it is compared with, and those of its checks and windows."""
        ends = {self.source} if self.target < 0 else {self.source, self.target}
        return ends | {*self.differs, *self.above} | levels_of((*self.checks, *self.windows))


Level = VertexLevel | EdgeLevel


@quick
@dataclass(frozen=True, slots=True)
class Node:
    """Twin levels of the tail: counted together by `formula`, never looped over.

    levels : one or more alike levels. Their base and cut read loops only.
    parent : position in the tail of the node that a query edge joins this one to, -1 for a root.
    view, back : that edge as seen from the parent, and from this node.
    order : restriction between the two.
    free : no list of its own ties it to the loops: its base is all candidates.
    inside : where loops branch, the loop in which its tree is counted.
    """

    levels: tuple[int, ...]
    formula: Formula = Formula.POWER
    parent: int = -1
    view: int = -1
    back: int = -1
    order: Order = Order.NONE
    free: bool = False
    inside: int = -1


@dataclass(frozen=True, slots=True)
class Stranger:
    """A level that some within a cache have only to differ from: it matters where one of the tests holds."""

    level: int
    tests: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Cache:
    """What loop `level` counts whenever it is entered or, of the `tail`, what some of the trees in it count whenever it
    is bound, kept by the levels that it depends on.

    until : the node of the tail that such trees end before. They begin where those of the cache before end, the first
        ones with the first node in the loop; nodes of no cache come last.
    """

    level: int
    tail: bool
    keys: tuple[int, ...]
    strangers: tuple[Stranger, ...] = ()
    until: int = 0


@quick
@dataclass(frozen=True, slots=True)
class LoopNest:
    """Levels in binding order, the set operations between them, and in counting mode the tail that
    ends it.

    Loops run over levels[:loops]. The rest is the tail: a forest whose embeddings are counted by
    dynamic programming from its leaves to its roots (thesis ch. 3); a node comes after its
    children. () : each full binding counts one.
    around : the loop around each loop, -1 for the first; loops are in preorder, and what several loops and trees in
    one loop count is multiplied. (): each loop is in the one before, and the tail in the last.
    caches : counts that are kept for when they come again.
    parts : optional parts are numbered from 1; parts[n - 1] is the part around part n, 0 for none. What a part counts
        is multiplied with its siblings' counts, as one where it counts nothing. All of a part is in one loop of its
        own, or is one tree of the tail (`nest_parts.first_of`); with parts, loops have their `around`.
    """

    levels: tuple[Level, ...]
    sets: tuple[SetOp, ...] = ()
    tail: tuple[Node, ...] = ()
    counting: bool = False
    around: tuple[int, ...] = ()
    caches: tuple[Cache, ...] = ()
    parts: tuple[int, ...] = ()

    @property
    def arounds(self) -> tuple[int, ...]:
        """For each level the loop in which it is bound or counted, -1 for none."""
        loops, count = self.loops, len(self.levels)
        if not self.around:
            return (*range(-1, loops - 1), *(loops - 1 for _ in range(loops, count)))
        found = [*self.around, *(-1 for _ in range(loops, count))]
        for node in self.tail:
            for k in node.levels:
                found[k] = node.inside
        return tuple(found)

    @property
    def paths(self) -> tuple[frozenset[int], ...]:
        """For each level it and the loops around it."""
        found: list[frozenset[int]] = []
        for k, up in enumerate(self.arounds):
            found.append((found[up] if up >= 0 else frozenset[int]()) | {k})
        return tuple(found)

    @property
    def loops(self) -> int:
        """Number of levels that are looped over; the rest is the tail."""
        if not self.tail:
            return len(self.levels)
        return min([n.levels[0] for n in self.tail])

    @property
    def has_windows(self) -> bool:
        """Whether rows are read in the order of a value."""
        return any(isinstance(x, EdgeLevel) and x.windows for x in self.levels)

    @property
    def has_trees(self) -> bool:
        """Whether query edges join levels of the tail."""
        return any(n.parent >= 0 for n in self.tail)


def lower(plan: Plan, last_vid: Callable[[int], int]) -> LoopNest:
    """The plainest nest of a plan: one level for each binding, every elimination a check.

    last_vid : gives of a view the largest vid that is a neighbour in it, + 1; a candidate range beyond
        it (isolated vertices) needs no test.
    """
    lowering = _Lowering(plan, last_vid, _closure(plan))
    lowering.part(OptionalPart(plan.phases, plan.optional), 0)
    return LoopNest(tuple(lowering.levels), counting=plan.counting, parts=tuple(lowering.parts))


@dataclass(slots=True)
class _Lowering:
    """A nest in the making. at, edge_at : the levels of query vertices and edges. over : as `_closure`. first : where
    the levels of the current part begin. compared : comparisons so far."""

    plan: Plan
    last_vid: Callable[[int], int]
    over: dict[int, set[int]]
    levels: list[Level] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    at: dict[int, int] = field(default_factory=dict)
    edge_at: dict[int, int] = field(default_factory=dict)
    first: int = 0
    compared: int = 0

    def part(self, part: OptionalPart, number: int) -> None:
        """Append the levels of a part, and of those within it."""
        self.first = len(self.levels)
        held: list[tuple[Check, int]] = []
        for phase in part.phases:
            self._phase(phase, number, held)
        for check, deepest in held:  # of what is bound around it, all are made where it begins
            _attach(self.levels, check, max(deepest, self.first))
        for inner in part.parts:
            self.parts.append(number)
            self.part(inner, len(self.parts))

    def _phase(self, phase: Phase, number: int, checks: list[tuple[Check, int]]) -> None:
        at, plan = self.at, self.plan
        match phase:
            case Scan(vertex=v, rules=rules):
                self._vertex(v, Operand(Kind.LIST, v), Slice(), rules, number)
            case Extend(steps=steps):
                for step in steps:
                    cut = _slice(plan.candidates[step.vertex], step, self.last_vid)
                    base = Operand(Kind.ROW, step.view, at[step.source])
                    self._vertex(step.vertex, base, cut, step.rules, number)
            case Eliminate(view=w, arcs=arcs):
                for arc in arcs:
                    check = Member(w, at[arc.source], at[arc.target], 1, UNBOUNDED)
                    checks.append((check, max(check.source, check.target)))
            case Between(view=w, source=s, target=t, count=n):
                checks.append((Member(w, at[s], at[t], n, n), max(at[s], at[t])))
            case Apart(a=a, b=b, c=c, d=d, either_way=e):
                deepest = max(at[a], at[b], at[c], at[d])
                checks.append((PairsApart(at[a], at[b], at[c], at[d], e), deepest))
            case Compare():
                left = (self.edge_at if phase.left_is_edge else at)[phase.left]
                right = (self.edge_at if phase.right_is_edge else at)[phase.right]
                within = WithinBounds(left, right, self.compared, phase.inside)
                checks.append((within, max(left, right)))
                self.compared += 1
            case BindEdge():
                self.edge_at[phase.edge] = len(self.levels)
                self.levels.append(replace(_edge_level(phase, at, self.edge_at), part=number))

    def _vertex(self, v: int, base: Operand, cut: Slice, rules: Rules, number: int) -> None:
        self.at[v] = len(self.levels)
        level = _vertex_level(v, base, cut, rules, self.at, self.over)
        self.levels.append(replace(level, part=number))


def _closure(plan: Plan) -> dict[int, set[int]]:
    """For each query vertex all vertices that restrictions, taken together, put above it."""
    direct: dict[int, set[int]] = {v: set() for v in range(plan.vertices)}
    for phase in plan.every:
        match phase:
            case Scan(vertex=v, rules=r):
                found = [(v, r)]
            case Extend(steps=steps):
                found = [(s.vertex, s.rules) for s in steps]
            case _:
                found = []
        for vertex, rules in found:
            direct[vertex] |= set(rules.below)
            for u in rules.above:
                direct[u].add(vertex)
    for _ in direct:
        for over in direct.values():
            over |= {w for u in over for w in direct[u]}
    return direct


def _vertex_level(
    vertex: int,
    base: Operand,
    cut: Slice,
    rules: Rules,
    at: dict[int, int],
    over: dict[int, set[int]],
) -> VertexLevel:
    """The level of one vertex; bounds that follow from others are added, so that every list is cut
    as early as can be."""
    below = sorted(at[u] for u in over[vertex] if u in at and u != vertex)
    above = sorted(at[u] for u in at if vertex in over[u] and u != vertex)
    differs = sorted({at[u] for u in rules.differs} - {*below, *above})
    cut = replace(cut, below=tuple(below), above=tuple(above))
    return VertexLevel(vertex, base, cut, tuple(differs))


def _slice(candidates: Candidates, step: Step, last_vid: Callable[[int], int]) -> Slice:
    """The candidates of a step's vertex as one range, and a bitset where one range does not say it
    all. The view, which may have to be read for it, is looked at only where several ranges may be
    one by it."""
    ranges = list(candidates.ranges)
    if len(ranges) > 1:
        last = last_vid(step.view)
        ranges = [(a, b) for a, b in ranges if a < last]
    if not ranges:
        return Slice(0, 0)
    exact = len(ranges) == 1 and candidates.allowed is None
    return Slice(ranges[0][0], ranges[-1][1], -1 if exact else step.vertex)


def _attach(levels: list[Level], check: Check, at: int) -> None:
    level = levels[at]
    if isinstance(level, EdgeLevel) and not isinstance(check, WithinBounds):
        raise InternalError(f"A check is attached to an edge level: {check}.", "Please report it.")
    levels[at] = replace(level, checks=(*level.checks, check))


def _edge_level(phase: BindEdge, at: dict[int, int], edge_at: dict[int, int]) -> EdgeLevel:
    return EdgeLevel(
        phase.edge,
        phase.view,
        at[phase.source],
        at[phase.target],
        tuple(edge_at[e] for e in phase.differs),
        tuple(edge_at[e] for e in phase.above),
        phase.allowed is not None,
    )
