"""From a nest to its tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gdb.errors import InternalError
from gdb.storage.graph.adjacency import Adjacency

from ..plan.plan import Plan
from ..table_fields import (
    CacheField,
    CheckField,
    LevelField,
    LevelFlag,
    NodeField,
    Role,
    SetField,
    StrangerField,
    Test,
)
from .nest import (
    Check,
    EdgeLevel,
    Formula,
    Kind,
    Level,
    LoopNest,
    Member,
    Node,
    Operand,
    PairsApart,
    SetOp,
    Slice,
    VertexLevel,
    WithinBounds,
)
from .optional_parts import ends_of_trees, first_loops
from .tables import I64, Tables

SHORT = 2.0  # elements that a computed set is taken to have: what intersections leave is mostly shorter than a row


class _Encoder:
    """Collects the side tables while levels and sets are written."""

    def __init__(
        self, nest: LoopNest, views: Sequence[Adjacency], list_sizes: tuple[int, ...]
    ) -> None:
        self.nest, self.views, self.list_sizes = nest, views, list_sizes
        self.loops, self.arounds = nest.loops, nest.arounds
        self.refs: list[int] = []
        self.read: set[int] = set()  # views
        self.checks: list[list[int]] = []
        self.bit_sets: list[int] = []
        self.lists: list[int] = []
        self.capacity: dict[int, int] = {}
        self.marks: list[tuple[int, int, int]] = []
        self.orders: list[tuple[int, int, int]] = []
        self.used = 0
        self.least = {*first_loops(nest).values()}
        self.cached = {one.level: k for k, one in enumerate(nest.caches) if not one.tail}

    def refer(self, levels: tuple[int, ...]) -> tuple[int, int]:
        start = len(self.refs)
        self.refs += levels
        return start, len(self.refs)

    def bits(self, key: int) -> int:
        if key not in self.bit_sets:
            self.bit_sets.append(key)
        return self.bit_sets.index(key)

    def mark(self, op: SetOp) -> int:
        """The mark of an operand that stays while the other changes: its rows are then looked up
        instead of merged; -1 where both change at once."""
        depth = {s.slot: s.depth for s in self.nest.sets}
        left, right = op.left, op.right
        if left.kind is Kind.LIST or right.kind is not Kind.ROW:
            return -1
        own = left.b if left.kind is Kind.ROW else depth[left.a]
        if own >= op.depth or right.b != op.depth:
            return -1
        key = (int(left.kind), left.a, own)
        if key not in self.marks:
            self.marks.append(key)
        return self.marks.index(key)

    def operand(self, operand: Operand) -> tuple[int, int, int]:
        if operand.kind in (Kind.LIST, Kind.END):
            key = operand.a if operand.kind is Kind.LIST else -1 - operand.a
            if key not in self.lists:
                self.lists.append(key)
            return int(operand.kind), self.lists.index(key), operand.b
        if operand.kind is Kind.ROW:
            self.read.add(operand.a)
        return int(operand.kind), operand.a, operand.b

    def longest(self, operand: Operand) -> int:
        match operand.kind:
            case Kind.ROW:
                return self.views[operand.a].max_degree
            case Kind.SET:
                return self.capacity[operand.a]
            case Kind.LIST:
                return self.list_sizes[operand.a]
            case _:
                raise InternalError(f"A set reads {operand}.", "Please report it.")

    def cut(self, cut: Slice) -> list[int]:
        bits = self.bits(cut.bits) if cut.bits >= 0 else -1
        return [cut.lo, cut.hi, bits, *self.refer(cut.below), *self.refer(cut.above)]

    def check(self, check: Check) -> None:
        match check:
            case Member(view=w, source=s, target=t, least=least, most=most):
                self.checks.append([Test.MEMBER, w, s, t, least, most])
                self.read.add(w)
            case WithinBounds(left=left, right=right, number=number, inside=inside):
                test = Test.WITHIN if inside else Test.OUTSIDE
                self.checks.append([test, left, right, number, 0, 0])
            case PairsApart(a=a, b=b, c=c, d=d, either_way=either_way):
                self.checks.append([Test.PAIRS, a, b, c, d, int(either_way)])

    def set_row(self, op: SetOp) -> list[int]:
        longest = written = self.longest(op.left)
        mark = self.mark(op)
        if op.op == 0:
            longest = written = min(longest, self.longest(op.right))
        if mark >= 0:
            # a row that is looked up gives its repeats as well, which are thinned out then
            written = max(written, self.longest(op.right))
        self.capacity[op.slot] = longest
        row = [
            *self.operand(op.left),
            int(op.op),
            *self.operand(op.right),
            *self.cut(op.cut),
            self.used,
            mark,
            -1,
            op.depth,
            int(op.optional),
        ]
        self.used += written + 1  # a merge stores before it compares
        return row

    def level_row(self, k: int, column: int) -> list[int]:
        level = self.nest.levels[k]
        if isinstance(level, VertexLevel):
            head = [0, *self.operand(level.base), *self.cut(level.cut), *self.refer(level.differs)]
        else:
            bits = self.bits(-1 - level.edge) if level.allowed else -1
            self.read.add(level.view)
            kind, (last, *at) = Kind.ROW, (level.target, 0, 0)
            if level.target < 0:
                kind, (last, *at) = Kind.WINDOW, self.windows(level, k)
            head = [1, int(kind), level.view, level.source, last, 0, bits, *at]
            head += [*self.refer(level.above), *self.refer(level.differs)]
        start = len(self.checks)
        for check in level.checks:
            self.check(check)
        ops = [i for i, op in enumerate(self.nest.sets) if op.depth == k]
        sets = [ops[0], ops[-1] + 1] if ops else [0, 0]
        row = [*head, start, len(self.checks), *sets, column]
        return [*row, int(self.flags(level, row)), *self.place(k)]

    def place(self, k: int) -> list[int]:
        """The position of loop k among the loops and the nodes of the tail."""
        loops, around = self.loops, self.arounds
        if k >= loops:
            return [-1, -1, -1, 0, 0, 0, -1, 0, 0, 0]
        inner = [loop for loop in range(k + 1, loops) if around[loop] == k]
        beside = [loop for loop in range(k + 1, loops) if around[loop] == around[k]]
        nodes = [c for c, node in enumerate(self.nest.tail) if around[node.levels[0]] == k]
        span = [nodes[0], nodes[-1] + 1] if nodes else [0, 0]
        joins = len(inner) + bool(nodes) > 1 or any(loop in self.least for loop in inner)
        own = [around[k], (*inner, -1)[0], (*beside, -1)[0], *span, int(joins)]
        trees = [c for c, one in enumerate(self.nest.caches) if one.tail and one.level == k]
        kept = [trees[0], trees[-1] + 1] if trees else [0, 0]
        return [*own, self.cached.get(k, -1), *kept, int(k in self.least)]

    def caches(self) -> tuple[list[list[int]], list[list[int]]]:
        """The tables of caches and of strangers."""
        rows, strangers = [], list[list[int]]()
        for one in self.nest.caches:
            first = len(strangers)
            for stranger in one.strangers:
                start = len(self.checks)
                for test in stranger.tests:
                    self.check(test)
                strangers.append([stranger.level, start, len(self.checks)])
            rows.append([*self.refer(one.keys), first, len(strangers), one.until])
        return rows, strangers

    def windows(self, level: EdgeLevel, k: int) -> tuple[int, int, int]:
        """Of level k the order of its rows, and where its windows are in the check table."""
        start = len(self.checks)
        if not level.windows:
            return -1, start, start
        first = level.windows[0]
        for window in level.windows:
            self.check(window)
            self.checks[-1][CheckField.D] = int(window.right == k)
        key = (level.view, first.number, int(first.right == k))
        if key not in self.orders:
            self.orders.append(key)
        return self.orders.index(key), start, len(self.checks)

    def flags(self, level: Level, row: list[int]) -> LevelFlag:
        """What there is to be tested on a level."""
        found = LevelFlag(0)
        if isinstance(level, EdgeLevel):
            found |= LevelFlag.EDGE
        elif level.base.kind is Kind.ROW and not self.views[level.base.a].simple:
            found |= LevelFlag(0) if level.each else LevelFlag.REPEATS
        for flag, field in (
            (LevelFlag.DIFFERS, LevelField.DIFFERS),
            (LevelFlag.CHECKS, LevelField.CHECK),
            (LevelFlag.SETS, LevelField.SET),
        ):
            if row[field] != row[field + 1]:
                found |= flag
        return found | LevelFlag.BITS if row[LevelField.BITS] >= 0 else found

    def nodes(self, levels: list[list[int]], *, reached: bool) -> list[list[int]]:
        """The node table. levels : the table of levels. reached : the pass of this name is on."""
        tail = self.nest.tail
        rows: list[list[int]] = []
        ends = ends_of_trees(self.nest)
        order = sorted(range(len(tail)), key=self.effort)
        for k, node in enumerate(tail):
            children = [i for i in order if tail[i].parent == k]
            siblings = [i for i in order if tail[i].parent == node.parent]
            later = siblings[siblings.index(k) + 1 :] if node.parent >= 0 else []
            following = later[0] if later else -1
            role = self.role(node, bool(children))
            pusher = self.pusher(children, rows) if role is Role.PUSHED else -1
            rows.append(
                [
                    *(node.levels[0], len(node.levels), int(node.formula), int(role)),
                    *(node.parent, node.view, node.back, int(node.order)),
                    *(children[0] if children else -1, following, pusher, 0, ends.get(k, -1), 0),
                    int(reached and role is Role.INNER),
                    *self.differing(k, role),
                    int(self.is_held(k, levels)),
                ]
            )
        for k, row in enumerate(rows):
            parent = rows[row[NodeField.PARENT]] if row[NodeField.PARENT] >= 0 else row
            other = parent[NodeField.ROLE] == Role.PUSHED and parent[NodeField.PUSHER] != k
            row[NodeField.SPREADS] = int(
                other and parent is not row and row[NodeField.ROLE] in (Role.MARK, Role.INNER)
            )
            row[NodeField.PAIRED] = int(self.is_paired(row, rows, levels))
            if parent is not row:
                self.read |= self.sides(row, parent, k)
        return rows

    def differing(self, k: int, role: Role) -> tuple[int, int]:
        """See `NodeField.DIFFERS`."""
        tail = self.nest.tail
        if role is not Role.LONE:
            return 0, 0
        found: dict[int, int] = {}
        both = tail[k].formula is Formula.PAIR
        for whose, node in enumerate(tail[k : k + 1 + both], 1):
            level = self.nest.levels[node.levels[0]]
            for other in level.differs if isinstance(level, VertexLevel) else ():
                found[other] = found.get(other, 0) | whose
        return self.refer(tuple(4 * level + whose for level, whose in sorted(found.items())))

    def is_held(self, k: int, levels: list[list[int]]) -> bool:
        """See `NodeField.HELD`."""
        if self.nest.tail[k].formula is not Formula.PAIR or k + 1 == len(self.nest.tail):
            return False
        one, other = (levels[node.levels[0]] for node in self.nest.tail[k : k + 2])
        if any(row[LevelField.FLAGS] & ~LevelFlag.DIFFERS for row in (one, other)):
            return False
        rows = one[LevelField.BASE] == other[LevelField.BASE] == Kind.ROW
        return rows and one[LevelField.BASE_B] < other[LevelField.BASE_B]

    @staticmethod
    def sides(row: list[int], parent: list[int], k: int) -> set[int]:
        """The views of node k's edge that the CPU's kernel reads: counts are looked up at the parent's vertices, or
        added to them from the node's."""
        if parent[NodeField.PUSHER] == k:
            return {row[NodeField.BACK]}
        reached = parent[NodeField.REACHED] and row[NodeField.ROLE] == Role.MARK
        if reached or row[NodeField.SPREADS]:
            return {row[NodeField.VIEW], row[NodeField.BACK]}
        return {row[NodeField.VIEW]}

    @staticmethod
    def is_paired(row: list[int], rows: list[list[int]], levels: list[list[int]]) -> bool:
        """See `NodeField.PAIRED`."""
        if row[NodeField.ROLE] != Role.PUSHED or row[NodeField.PARENT] >= 0:
            return False
        child, flags = rows[row[NodeField.CHILD]], levels[row[NodeField.LEVEL]][LevelField.FLAGS]
        if child[NodeField.NEXT] >= 0 or flags & (LevelFlag.DIFFERS | LevelFlag.BITS):
            return False
        return child[NodeField.ROLE] == Role.MARK and child[NodeField.SIZE] == 2

    def effort(self, k: int) -> int:
        """About how much a parent's vertex has to read for a node: the first that is empty ends a product. Rows within
        the vids of a rare label are short."""
        node = self.nest.tail[k]
        level = self.nest.levels[node.levels[0]]
        inner = any(n.parent == k for n in self.nest.tail)
        if node.parent < 0 or isinstance(level, EdgeLevel) or (node.free and not inner):
            return 0
        return level.cut.hi - level.cut.lo

    @staticmethod
    def role(node: Node, children: bool) -> Role:
        if not children:
            if node.parent < 0:
                return Role.LONE
            return Role.SLICE if node.free else Role.MARK
        return Role.PUSHED if node.free else Role.INNER

    def pusher(self, children: list[int], rows: list[list[int]]) -> int:
        """The child that reaches its parent: one with a list, a leaf rather than an inner node, and of these the one
        that reaches the fewest."""
        for role in (Role.MARK, Role.INNER, Role.PUSHED):
            found = [child for child in children if rows[child][NodeField.ROLE] == role]
            if found:
                return min(found, key=lambda child: self.reached(child, rows))
        raise InternalError(
            "A free node of the tail has no child with a list.", "Please report it."
        )

    def reached(self, k: int, rows: list[list[int]]) -> float:
        """About how many vertices of its parent node k reaches: as many as it has, times the mean degree of its
        query edge."""
        node = self.nest.tail[k]
        degree = self.views[node.back].shape.mean_degree
        if rows[k][NodeField.ROLE] == Role.PUSHED:
            return self.reached(rows[k][NodeField.PUSHER], rows) * degree
        level = self.nest.levels[node.levels[0]]
        base = level.base if isinstance(level, VertexLevel) else None
        if base is None or base.kind is Kind.SET:
            return SHORT * degree
        if base.kind is Kind.LIST:
            return self.list_sizes[base.a] * degree
        return self.views[base.a].shape.mean_degree * degree


def encode(
    nest: LoopNest, plan: Plan, views: Sequence[Adjacency], list_sizes: tuple[int, ...]
) -> Tables:
    """The tables of a nest over these adjacencies.

    views : one for each of the plan's views. list_sizes : length of each query vertex's candidate
        list.
    """
    encoder = _Encoder(nest, views, list_sizes)
    sets = [encoder.set_row(op) for op in nest.sets]
    for mark, (kind, slot, _) in enumerate(encoder.marks):
        if kind == Kind.SET:
            sets[slot][SetField.HELD] = mark
    vertex_columns = tuple(x.vertex for x in nest.levels if isinstance(x, VertexLevel))
    edge_columns = tuple(x.edge for x in nest.levels if isinstance(x, EdgeLevel))
    rows, seen = [], [0, 0]
    for k, level in enumerate(nest.levels):
        is_edge = isinstance(level, EdgeLevel)
        rows.append(encoder.level_row(k, seen[is_edge]))
        seen[is_edge] += 1
    caches, strangers = encoder.caches()
    nodes = encoder.nodes(rows, reached="reached" not in plan.notes.switched_off)
    return Tables(
        _table(rows, len(LevelField)),
        _table(sets, len(SetField)),
        _table(encoder.checks, len(CheckField)),
        np.array(encoder.refs or [0], np.int64),
        _table(nodes, len(NodeField)),
        tuple(encoder.marks),
        nest.loops,
        nest.counting,
        max(encoder.used, 1),
        tuple(encoder.bit_sets),
        tuple(encoder.lists),
        vertex_columns,
        edge_columns,
        tuple(encoder.orders),
        bool(nest.around),
        _table(caches, len(CacheField)),
        _table(strangers, len(StrangerField)),
        tuple(sorted(encoder.read)),
    )


def _table(rows: list[list[int]], fields: int) -> I64:
    return np.array(rows, np.int64).reshape(len(rows), fields)
