"""A nest written as integer tables, the one form that both generic kernels (CPU and CUDA)
interpret.

Every table is i64. Rows refer to views, bitsets and candidate lists by number; the addresses behind
the numbers are the backend's, in tables of the same layout (`VIEW_FIELDS`, bitset and list
addresses), so that host and device run the same code.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag

import numpy as np
import numpy.typing as npt

from gdb.errors import InternalError
from gdb.executor.embeddings import Wanted
from gdb.executor.nest import (
    Check,
    EdgeLevel,
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
    Within,
)
from gdb.executor.plan import Plan
from gdb.storage.adjacency import Adjacency

I64 = npt.NDArray[np.int64]


class LevelField(IntEnum):
    """Columns of the level table. For an edge level BASE_A is the view, BASE_B the source level, LO
    the target level; where BASE is `Kind.WINDOW`, LO is the order, -1 for the view's own, and
    [BELOW, BELOW_END) are its windows in the check table."""

    IS_EDGE = 0
    BASE = 1
    BASE_A = 2
    BASE_B = 3
    LO = 4
    HI = 5
    BITS = 6
    BELOW = 7
    BELOW_END = 8
    ABOVE = 9
    ABOVE_END = 10
    DIFFERS = 11
    DIFFERS_END = 12
    CHECK = 13
    CHECK_END = 14
    SET = 15
    SET_END = 16
    COLUMN = 17
    FLAGS = 18


class Flag(IntFlag):
    """What the elements of a level must pass, so that a kernel sees at once where there is nothing."""

    EDGE = 1
    DIFFERS = 2
    BITS = 4
    CHECKS = 8
    REPEATS = 16  # a row of a view with parallel edges
    SETS = 32


class SetField(IntEnum):
    """Columns of the set table; OFFSET is the set's place in a worker's buffer, in vids. MARK: the
    mark of the left operand; HELD: the mark that may hold this set (-1: none)."""

    LEFT = 0
    LEFT_A = 1
    LEFT_B = 2
    OP = 3
    RIGHT = 4
    RIGHT_A = 5
    RIGHT_B = 6
    LO = 7
    HI = 8
    BITS = 9
    BELOW = 10
    BELOW_END = 11
    ABOVE = 12
    ABOVE_END = 13
    OFFSET = 14
    MARK = 15
    HELD = 16
    DEPTH = 17


class NodeField(IntEnum):
    """Columns of the node table, the tail: a node's children are chained from CHILD by NEXT (-1 ends).

    ROLE : see `Role`. PUSHER : the child from whose list a PUSHED node is reached. SPREADS : 1 for another child of
        such a node that has a list, from which it may add to what is reached instead of being asked.
    """

    LEVEL = 0
    SIZE = 1
    FORMULA = 2
    ROLE = 3
    PARENT = 4
    VIEW = 5
    BACK = 6
    ORDER = 7
    CHILD = 8
    NEXT = 9
    PUSHER = 10
    SPREADS = 11


class Role(IntEnum):
    """How a node of the tail is counted.

    LONE : no query edge in the tail; by the length of its list. SLICE : a free leaf; by the length of the
        parent vertex's row. MARK : a leaf with a list. INNER : a node with a list and children. PUSHED : a
        free node with children, reached from one of them.
    """

    LONE = 0
    SLICE = 1
    MARK = 2
    INNER = 3
    PUSHED = 4


class CheckField(IntEnum):
    """Columns of the check table. Member: view, source, target, least, most. PairsApart: a, b, c,
    d, either way. Within: left, right, number; of a window, D is 1 where its level is the right one. TEST : see
    `Test`."""

    TEST = 0
    A = 1
    B = 2
    C = 3
    D = 4
    E = 5


class Test(IntEnum):
    """What a check is: `Member`, `PairsApart`, `Within`, or the latter with not `inside`."""

    MEMBER = 0
    PAIRS = 1
    WITHIN = 2
    OUTSIDE = 3


class ValueField(IntEnum):
    """Columns of a backend's table of the plan's comparisons: the addresses of the left and the right values, and the
    bounds of their difference, which no generated source holds: a statement that comes again may have others."""

    LEFT = 0
    RIGHT = 1
    LEAST = 2
    MOST = 3


class ViewField(IntEnum):
    """Columns of a backend's view table: addresses in its memory, but for INTERVALS and the first interval's FIRST0,
    LENGTH0, ROW0, where most vids lie. EIDS and SPLIT may be 0.

    SPLIT : for each row the position of its first neighbour that is not below the row's own vid, i64[rows].
    """

    FIRST = 0
    LENGTH = 1
    ROW = 2
    INTERVALS = 3
    OFFSETS = 4
    NEIGHBOURS = 5
    EIDS = 6
    FIRST0 = 7
    LENGTH0 = 8
    ROW0 = 9
    SPLIT = 10


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
    lists : query vertices whose candidate list is read and, as -1 - view, views of which the ends of edges are; LIST
        and END operands are positions in this tuple.
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


class _Encoder:
    """Collects the side tables while levels and sets are written."""

    def __init__(
        self, nest: LoopNest, views: tuple[Adjacency, ...], list_sizes: tuple[int, ...]
    ) -> None:
        self.nest, self.views, self.list_sizes = nest, views, list_sizes
        self.refs: list[int] = []
        self.checks: list[list[int]] = []
        self.bit_sets: list[int] = []
        self.lists: list[int] = []
        self.capacity: dict[int, int] = {}
        self.marks: list[tuple[int, int, int]] = []
        self.orders: list[tuple[int, int, int]] = []
        self.used = 0

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
            case Within(left=left, right=right, number=number, inside=inside):
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
        ]
        self.used += written + 1  # a merge stores before it compares
        return row

    def level_row(self, k: int, column: int) -> list[int]:
        level = self.nest.levels[k]
        if isinstance(level, VertexLevel):
            head = [0, *self.operand(level.base), *self.cut(level.cut), *self.refer(level.differs)]
        else:
            bits = self.bits(-1 - level.edge) if level.allowed else -1
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
        return [*row, int(self.flags(level, row))]

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

    def flags(self, level: Level, row: list[int]) -> Flag:
        """What there is to be tested on a level."""
        found = Flag(0)
        if isinstance(level, EdgeLevel):
            found |= Flag.EDGE
        elif level.base.kind is Kind.ROW and not self.views[level.base.a].simple:
            found |= Flag.REPEATS
        for flag, field in (
            (Flag.DIFFERS, LevelField.DIFFERS),
            (Flag.CHECKS, LevelField.CHECK),
            (Flag.SETS, LevelField.SET),
        ):
            if row[field] != row[field + 1]:
                found |= flag
        return found | Flag.BITS if row[LevelField.BITS] >= 0 else found

    def nodes(self) -> list[list[int]]:
        """The node table; bases of the levels must have been written."""
        tail = self.nest.tail
        rows: list[list[int]] = []
        for k, node in enumerate(tail):
            children = [i for i, n in enumerate(tail) if n.parent == k]
            siblings = [i for i, n in enumerate(tail) if n.parent == node.parent and i > k]
            following = siblings[0] if siblings and node.parent >= 0 else -1
            role = self.role(node, bool(children))
            pusher = self.pusher(children, rows) if role is Role.PUSHED else -1
            rows.append(
                [
                    *(node.levels[0], len(node.levels), int(node.formula), int(role)),
                    *(node.parent, node.view, node.back, int(node.order)),
                    *(children[0] if children else -1, following, pusher, 0),
                ]
            )
        for k, row in enumerate(rows):
            parent = rows[row[NodeField.PARENT]] if row[NodeField.PARENT] >= 0 else row
            other = parent[NodeField.ROLE] == Role.PUSHED and parent[NodeField.PUSHER] != k
            row[NodeField.SPREADS] = int(
                other and parent is not row and row[NodeField.ROLE] in (Role.MARK, Role.INNER)
            )
        return rows

    @staticmethod
    def role(node: Node, children: bool) -> Role:
        if not children:
            if node.parent < 0:
                return Role.LONE
            return Role.SLICE if node.free else Role.MARK
        return Role.PUSHED if node.free else Role.INNER

    @staticmethod
    def pusher(children: list[int], rows: list[list[int]]) -> int:
        """The child that reaches its parent: one with a list, a leaf rather than an inner node."""
        for role in (Role.MARK, Role.INNER, Role.PUSHED):
            for child in children:
                if rows[child][NodeField.ROLE] == role:
                    return child
        raise InternalError(
            "A free node of the tail has no child with a list.", "Please report it."
        )


def encode(
    nest: LoopNest, plan: Plan, views: tuple[Adjacency, ...], list_sizes: tuple[int, ...]
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
    return Tables(
        _table(rows, len(LevelField)),
        _table(sets, len(SetField)),
        _table(encoder.checks, len(CheckField)),
        np.array(encoder.refs or [0], np.int64),
        _table(encoder.nodes(), len(NodeField)),
        tuple(encoder.marks),
        nest.loops,
        nest.counting,
        max(encoder.used, 1),
        tuple(encoder.bit_sets),
        tuple(encoder.lists),
        vertex_columns,
        edge_columns,
        tuple(encoder.orders),
    )


def _table(rows: list[list[int]], fields: int) -> I64:
    return np.array(rows, np.int64).reshape(len(rows), fields)


def bitset(
    members: npt.NDArray[np.uint32] | npt.NDArray[np.int64], size: int
) -> npt.NDArray[np.uint8]:
    """A set of numbers below `size`, one bit each, bit i in byte i // 8; u8[size // 8 + 1]."""
    flags = np.zeros(size + 8, bool)
    flags[members] = True
    return np.packbits(flags, bitorder="little")
