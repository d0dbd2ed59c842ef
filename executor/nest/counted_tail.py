"""The tail of a counting nest: the longest end of it that is a forest, counted without loops.

Levels that depend on one another by no query edge are counted by formula and multiplied; levels
joined by query edges in the shape of a tree are counted from its leaves to its root, one weight for
each data vertex (homomorphisms of trees, thesis ch. 3). What must differ within the tail is counted
exactly where it is a relation of twins or of two lone levels; where it is not, a level stays a loop
(the planner's `structure` pass takes such conditions off beforehand).
"""

from __future__ import annotations

from collections import Counter

from gdb.records import dataclass, replace

from .level_order import reorder_nest
from .nest import (
    EdgeLevel,
    Formula,
    Kind,
    Level,
    LoopNest,
    Node,
    Operand,
    Order,
    VertexLevel,
)
from .optional_parts import are_whole


@dataclass(frozen=True, slots=True)
class _Edge:
    """A query edge within the tail: level `upper` (bound first) to level `lower`."""

    upper: int
    lower: int
    view: int

    def other(self, level: int) -> int:
        return self.lower if level == self.upper else self.upper


def grow(
    nest: LoopNest,
    back: tuple[int, ...],
    *,
    formulas: bool,
    trees: bool,
    wanted: int = 0,
    sink: bool = False,
) -> LoopNest:
    """The nest with its last levels in a tail, as many as can be, at least the last one.

    back : for each view the view of the same edges from their other ends, -1 where there is none.
    formulas : take in more than the last level. trees : also levels that query edges join.
    wanted : the number of levels that the planner chose (0: it did not). All of them leave no loop, where they are a
        forest.
    sink : take in loops that no later loop reads as well.

    before: for a: for b in N(a): for c in N(a) - b: n += 1     after: for a: n += |N(a)| * (|N(a)| - 1)
    before: for a: for b in N(a): for c in N(b): n += c in N(a)
    after:  for a: n += sum(|N(b) & N(a)| for b in N(a))
    """
    if not nest.counting or not nest.levels:
        return nest
    last = len(nest.levels) - 1
    first = last if not formulas else min(1, last)
    if wanted == len(nest.levels) and formulas and trees:
        first = 0
    elif wanted and formulas:
        first = max(first, len(nest.levels) - wanted)
    # an edge level in the tail reads loops only
    reads = [
        max(level.reads() - {k}, default=-1) if isinstance(level, EdgeLevel) else -1
        for k, level in enumerate(nest.levels)
    ]
    for start in range(first, last + 1):
        if max(reads[start:]) >= start:
            continue
        found = _grown(nest, start, back, trees=trees)
        if found is not None:
            if sink and formulas:
                found = _sunk(nest, start, back, trees=trees, apart=bool(wanted)) or found
            return found
    return nest


def _grown(nest: LoopNest, start: int, back: tuple[int, ...], *, trees: bool) -> LoopNest | None:
    """The nest with levels[start:] in a tail, None where they are none."""
    builder = _forest(nest, start, back, trees=trees)
    nodes = builder.build() if builder is not None else None
    if builder is None or nodes is None or builder.entangled:
        return None
    found = _with_tail(nest, builder.bare, nodes, start)
    return found if are_whole(found) else None


def _sunk(
    nest: LoopNest, start: int, back: tuple[int, ...], *, trees: bool, apart: bool
) -> LoopNest | None:
    """The nest with a longer tail than levels[start:]: loops that no later loop reads go down into it, where it stays a
    forest; None where there are none.

    apart : only those that the tail does not read either, nor they it: the planner chose how much it counts there.
    """
    found: LoopNest | None = None
    reads = [level.reads() for level in nest.levels]
    k = start - 1
    while k >= 1:
        readers = {j for j in range(k + 1, len(nest.levels)) if k in reads[j]}
        lower = min(readers, default=start)
        if lower >= start and not (apart and readers) and not isinstance(nest.levels[k], EdgeLevel):
            order = [*range(k), *range(k + 1, start), k, *range(start, len(nest.levels))]
            moved = reorder_nest(nest, order)
            longer = _grown(moved, start - 1, back, trees=trees)
            if longer is not None:
                nest, found, start = moved, longer, start - 1
                reads = [level.reads() for level in nest.levels]
        k -= 1
    return found


def entangled_levels(
    nest: LoopNest, back: tuple[int, ...], wanted: int
) -> frozenset[tuple[int, int]] | None:
    """What keeps the last `wanted` levels from being a tail: pairs of levels that have to differ, the
    later one first. None where something else does."""
    builder = _forest(nest, len(nest.levels) - wanted, back, trees=True)
    if builder is None or builder.build() is None:
        return None
    if any(isinstance(builder.relation[pair], Order) for pair in builder.entangled):
        return None
    return builder.entangled


def _forest(
    nest: LoopNest, start: int, back: tuple[int, ...], *, trees: bool
) -> _TailBuilder | None:
    """What makes a tail of levels[start:], None where they are no forest."""
    members = range(start, len(nest.levels))
    if _inner(nest, start) >= len(members):
        return None
    edges: list[_Edge] = []
    bare = list(nest.levels)
    for k in members:
        level = nest.levels[k]
        if isinstance(level, EdgeLevel):
            if any(start <= r != k for r in level.reads()):
                return None
            continue
        if any(o.b >= start for o in level.anti):
            return None
        if level.checks and any(start <= r != k for r in replace(level, differs=()).reads()):
            return None
        operands = (level.base, *level.sources)
        if level.base.kind is Kind.END and level.base.b >= start:
            return None
        inner = [o for o in operands if o.kind is Kind.ROW and o.b >= start]
        outer = [o for o in operands if o not in inner]
        edges += [_Edge(o.b, k, o.a) for o in inner]
        if not outer:
            if level.anti:
                return None
            outer = [Operand(Kind.FREE, -1)]
        if any(nest.levels[o.b].part != level.part for o in inner):
            return None
        if inner and (level.each or any(_is_each(nest.levels[o.b]) for o in inner)):
            return None  # a tree counts its vertices once
        if inner:
            bare[k] = replace(level, base=outer[0], sources=tuple(outer[1:]))
    if edges and (not trees or any(back[e.view] < 0 for e in edges)):
        return None
    return _TailBuilder(nest, tuple(bare), start, edges, back)


def _is_each(level: Level) -> bool:
    return isinstance(level, VertexLevel) and level.each


def _inner(nest: LoopNest, start: int) -> int:
    """Number of query edges within levels[start:]."""
    found = 0
    for level in nest.levels[start:]:
        if isinstance(level, VertexLevel):
            operands = (level.base, *level.sources)
            found += sum(o.kind is Kind.ROW and o.b >= start for o in operands)
    return found


def _with_tail(
    nest: LoopNest,
    bare: tuple[VertexLevel | EdgeLevel, ...],
    nodes: tuple[Node, ...],
    start: int,
) -> LoopNest:
    levels = tuple(_without_tail(x, start) if k >= start else x for k, x in enumerate(bare))
    return replace(nest, levels=levels, tail=nodes)


def _without_tail(level: VertexLevel | EdgeLevel, start: int) -> VertexLevel | EdgeLevel:
    """A level without its relations to other levels of the tail, which the nodes now hold."""
    if isinstance(level, EdgeLevel):
        return level
    cut = replace(
        level.cut,
        below=tuple(b for b in level.cut.below if b < start),
        above=tuple(b for b in level.cut.above if b < start),
    )
    differs = tuple(d for d in level.differs if d < start)
    return replace(
        level, cut=cut, differs=differs, apart=tuple(a for a in level.apart if a < start)
    )


class _TailBuilder:
    """Finds roots, twins and relations of a would-be tail."""

    def __init__(
        self,
        nest: LoopNest,
        bare: tuple[VertexLevel | EdgeLevel, ...],
        start: int,
        edges: list[_Edge],
        back: tuple[int, ...],
    ) -> None:
        self.nest, self.bare, self.start, self.edges, self.back = nest, bare, start, edges, back
        self.members = range(start, len(bare))
        self.near: dict[int, list[_Edge]] = {k: [] for k in self.members}
        for edge in edges:
            self.near[edge.upper].append(edge)
            self.near[edge.lower].append(edge)
        # relations of pairs of the tail: (lower, upper) -> how lower's vid compares with upper's
        self.relation: dict[tuple[int, int], Formula | Order] = {}
        for k in self.members:
            level = nest.levels[k]
            if isinstance(level, VertexLevel):
                self._relate(k, level)
        self.nodes: list[Node] = []
        self.explained: set[tuple[int, int]] = set()

    def _relate(self, k: int, level: VertexLevel) -> None:
        for u in (*level.differs, *level.apart):
            if u >= self.start:
                self.relation[k, u] = Formula.FALLING
        for u in level.cut.below:
            if u >= self.start:
                self.relation[k, u] = Order.BELOW
        for u in level.cut.above:
            if u >= self.start:
                self.relation[k, u] = Order.ABOVE

    def free(self, k: int) -> bool:
        level = self.bare[k]
        return isinstance(level, VertexLevel) and level.base.kind is Kind.FREE

    @property
    def entangled(self) -> frozenset[tuple[int, int]]:
        """Relations of the tail that no formula covers."""
        return frozenset(self.relation) - self.explained

    def build(self) -> tuple[Node, ...] | None:
        """The nodes, None where the levels are no forest."""
        left = list(self.members)
        while left:
            component = self._component(left[0])
            if component is None:
                return None
            left = [k for k in left if k not in component]
            if len(component) == 1:
                twins = self._lone_twins(component[0], left)
                left = [k for k in left if k not in twins]
                if not self._add_lone(twins, left):
                    return None
                continue
            if not self._add_tree(component):
                return None
        return tuple(self.nodes)

    def _component(self, k: int) -> list[int] | None:
        """The levels joined to k, k first; None where they are no tree."""
        found, reached, used = [k], {k}, 0
        for at in found:
            for edge in self.near[at]:
                used += 1
                other = edge.other(at)
                if other not in reached:
                    reached.add(other)
                    found.append(other)
        return found if used == 2 * (len(found) - 1) else None

    # ---- lone levels -----------------------------------------------------------------------------

    def _lone_twins(self, k: int, left: list[int]) -> list[int]:
        twins = [k]
        for other in left:
            if not self.near[other] and self._formula([*twins, other]) is not None:
                twins.append(other)
        return twins

    def _add_lone(self, twins: list[int], left: list[int]) -> bool:
        formula = self._formula(twins)
        if formula is None:
            return False
        self._explain(twins)
        partners = [u for u in left if (u, twins[0]) in self.relation]
        if len(twins) == 1 and len(partners) == 1 and self._pair(partners[0], twins[0]):
            left.remove(partners[0])
            self.explained.add((partners[0], twins[0]))
            pair = sorted((twins[0], partners[0]), key=self._row_depth)
            self.nodes += [Node((level,), Formula.PAIR) for level in pair]
            return True
        self.nodes.append(Node(tuple(twins), formula))
        return True

    def _row_depth(self, k: int) -> int:
        """The level whose row level k goes over, after which all other lists come."""
        level = self.bare[k]
        if isinstance(level, EdgeLevel) or level.base.kind is not Kind.ROW:
            return len(self.bare)
        return level.base.b

    def _pair(self, later: int, earlier: int) -> bool:
        """Whether two lone levels only have to differ, from one another and from nothing else in
        the tail."""
        touching = [pair for pair in self.relation if {later, earlier} & set(pair)]
        return (
            touching == [(later, earlier)]
            and self.relation[later, earlier] is Formula.FALLING
            and self.nest.levels[later].part == self.nest.levels[earlier].part
            and not self.near[later]
            and not _is_each(self.nest.levels[later])
            and not self._checked(later)
            and not self._checked(earlier)
        )

    def _explain(self, twins: list[int]) -> None:
        self.explained |= {(b, a) for a in twins for b in twins if a < b}

    def _formula(self, twins: list[int]) -> Formula | None:
        """The formula by which these levels count together, None where they are not alike."""
        if len(twins) == 1:
            return Formula.POWER
        if len({self._outside(k) for k in twins}) != 1:
            return None
        relations = [self.relation.get((b, a)) for a in twins for b in twins if a < b]
        kinds = Counter(relations)
        if len(kinds) != 1:
            return None
        only = relations[0]
        if isinstance(only, Order):
            return Formula.BINOMIAL
        return only

    def _outside(self, k: int) -> object:
        """What a level's candidates depend on outside of the tail: equal for twins; no two edge
        levels are alike."""
        level = self.bare[k]
        if isinstance(level, EdgeLevel):
            return k
        below = frozenset(b for b in level.cut.below if b < self.start)
        above = frozenset(b for b in level.cut.above if b < self.start)
        operands = frozenset((level.base, *level.sources))
        own = k if level.cut.bits >= 0 or level.checks else -1  # a bitset or tests of its own
        differs = frozenset(d for d in level.differs if d < self.start)
        return (
            operands,
            frozenset(level.anti),
            level.part,
            level.cut.lo,
            level.cut.hi,
            own,
            level.each,
            below,
            above,
            differs,
        )

    # ---- trees -----------------------------------------------------------------------------------

    def _checked(self, k: int) -> bool:
        """Whether a level is an edge, or has tests that only its own list can be put to."""
        level = self.bare[k]
        return isinstance(level, EdgeLevel) or bool(level.checks)

    def _add_tree(self, component: list[int]) -> bool:
        if any(self._checked(k) for k in component):
            return False
        ranked = sorted(component, key=lambda k: self._rank(k), reverse=True)
        root = next((k for k in ranked if self._is_reached(k)), None)
        if root is None:
            return False
        nodes: list[Node] = []
        self._place(root, None, nodes)
        base = len(self.nodes)
        self.nodes += [replace(n, parent=n.parent + base if n.parent >= 0 else -1) for n in nodes]
        for n in nodes:
            self._explain(list(n.levels))
            if n.parent >= 0:
                up = nodes[n.parent].levels[0]
                pairs = {(max(k, up), min(k, up)) for k in n.levels}
                self.explained |= {p for p in pairs if isinstance(self.relation.get(p), Order)}
        return True

    def _rank(self, k: int) -> tuple[int, bool, int, int]:
        """Which root is best: many branches, a free one (it is only summed up), one that several rows must contain (its
        list is short, and it is its vertices whose rows are read), others below it."""
        level = self.bare[k]
        rows = len(level.sources) if isinstance(level, VertexLevel) else 0
        below = sum(self._order(edge.other(k), k) is Order.BELOW for edge in self.near[k])
        return len(self.near[k]), self.free(k), rows, below

    def _is_reached(self, root: int) -> bool:
        """Whether each free inner node of the tree below a root has a child to be reached from: one that has a list,
        or gets one from below."""
        waiting = [(root, -1)]
        while waiting:
            k, up = waiting.pop()
            below = [child for edge in self.near[k] if (child := edge.other(k)) != up]
            leaves = all(len(self.near[child]) == 1 and self.free(child) for child in below)
            if below and leaves and self.free(k):
                return False
            waiting += [(child, k) for child in below]
        return True

    def _place(self, k: int, edge: _Edge | None, nodes: list[Node]) -> int:
        """Append the subtree at k, children first; its position."""
        branches: list[list[_Edge]] = []
        for down in (e for e in self.near[k] if e is not edge):
            self._join(branches, down, k)
        children: list[int] = []
        for branch in branches:
            child = branch[0].other(k)
            at = self._place(child, branch[0], nodes)
            twins = tuple(sorted(e.other(k) for e in branch))
            formula = self._formula(list(twins))
            view = branch[0].view if branch[0].upper == k else self.back[branch[0].view]
            nodes[at] = replace(
                nodes[at],
                levels=twins,
                formula=formula if formula is not None else Formula.POWER,
                view=view,
                back=self.back[view],
                order=self._order(child, k),
            )
            children.append(at)
        me = len(nodes)
        for at in children:
            nodes[at] = replace(nodes[at], parent=me)
        nodes.append(Node((k,), free=self.free(k)))
        return me

    def _join(self, branches: list[list[_Edge]], down: _Edge, k: int) -> None:
        """Put a leaf with its twins, anything else into a branch of its own."""
        child = down.other(k)
        if len(self.near[child]) == 1:
            for branch in branches:
                first = branch[0].other(k)
                same = self._seen(branch[0], k) == self._seen(down, k)
                alike = len(self.near[first]) == 1 and self._order(first, k) == self._order(
                    child, k
                )
                twins = sorted([child, *(e.other(k) for e in branch)])
                if same and alike and self._formula(twins) is not None:
                    branch.append(down)
                    return
        branches.append([down])

    def _seen(self, edge: _Edge, k: int) -> int:
        return edge.view if edge.upper == k else self.back[edge.view]

    def _order(self, child: int, parent: int) -> Order:
        """The restriction between a node and its parent, from the node's side."""
        found = self.relation.get((max(child, parent), min(child, parent)))
        if not isinstance(found, Order):
            return Order.NONE
        if child > parent:
            return found
        return Order.ABOVE if found is Order.BELOW else Order.BELOW
