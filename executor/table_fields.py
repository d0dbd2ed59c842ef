"""The columns of the tables by which a nest is handed to the kernels, on the CPU and on a GPU alike.

Machine code of the CPU depends on these numbers, and is kept by the files of its folder and of this one
(`gdb.base.machine.compile`): they lie here, and not beside the tables.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag


class LevelField(IntEnum):
    """Columns of the level table. For an edge level BASE_A is the view, BASE_B the source level, LO
    the target level; where BASE is `Kind.WINDOW`, LO is the order, -1 for the view's own, and
    [BELOW, BELOW_END) are its windows in the check table.

    Of a loop that counts: AROUND is the loop around it, INNER the first in it, BESIDE the next in the one around it
    (-1: none); [NODE, NODE_END) are the nodes of the tail in it; JOINS is 1 where what is in it is more than one of
    these, or may count nothing and is then one. CACHE is the cache of what it counts (-1: none), [TREES_CACHE,
    TREES_CACHE_END) are those of what the tail in it does. LEAST is 1 where it counts at least one (an optional part),
    else 0.
    """

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
    AROUND = 19
    INNER = 20
    BESIDE = 21
    NODE = 22
    NODE_END = 23
    JOINS = 24
    CACHE = 25
    TREES_CACHE = 26
    TREES_CACHE_END = 27
    LEAST = 28


class LevelFlag(IntFlag):
    """What the elements of a level must pass, so that a kernel sees at once where there is nothing."""

    EDGE = 1
    DIFFERS = 2
    BITS = 4
    CHECKS = 8
    REPEATS = 16  # a row of a view with parallel edges
    SETS = 32


class SetField(IntEnum):
    """Columns of the set table; OFFSET is the set's place in a worker's buffer, in vids. MARK: the
    mark of the left operand; HELD: the mark that may hold this set (-1: none). OPTIONAL: 1 where nothing ends if the
    set is empty."""

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
    OPTIONAL = 18


class NodeField(IntEnum):
    """Columns of the node table, the tail: a node's children are chained from CHILD by NEXT (-1 ends).

    ROLE : see `Role`. PUSHER : the child from whose list a PUSHED node is reached. SPREADS : 1 for another child of
        such a node that has a list, from which it may add to what is reached instead of a look-up per vertex.
        OPTIONAL : the last node of the tree, where the tree counts at least one (an optional part), else -1.
    PAIRED : 1 for a PUSHED root that only one leaf, of two twins, reaches, and whose own vertices are not tested: it is
        counted by the pairs of ways to each.
    REACHED : 1 for an INNER node whose vertices may be found from the list of a leaf below it (the pass "reached").
    [DIFFERS, DIFFERS_END) : refs of a LONE node, and of its partner: what they have to differ from, outermost level
        first. Each is 4 * level, + 1 where the node has to, + 2 where its partner has to.
    HELD : 1 for a LONE node with a partner, whose row may stay the same while that of the partner changes.
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
    OPTIONAL = 12
    PAIRED = 13
    REACHED = 14
    DIFFERS = 15
    DIFFERS_END = 16
    HELD = 17


class CacheField(IntEnum):
    """Columns of the table of caches: [KEY, KEY_END) are its levels in the refs, [STRANGER, STRANGER_END) its rows of
    the table of strangers; of nodes of the tail it has those from where the one before ended to UNTIL."""

    KEY = 0
    KEY_END = 1
    STRANGER = 2
    STRANGER_END = 3
    UNTIL = 4


class StrangerField(IntEnum):
    """Columns of the table of strangers: a level, and its tests, [CHECK, CHECK_END) of the check table."""

    LEVEL = 0
    CHECK = 1
    CHECK_END = 2


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
    LENGTH0, ROW0, where most vids lie. EIDS, SPLIT and PLACE may be 0.

    SPLIT : for each row the position of its first neighbour that is not below the row's own vid, i64[rows].
    PLACE : which rows lie elsewhere than OFFSETS and NEIGHBOURS say, see `gdb.executor.gpu.layout.PlaceField`.
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
    PLACE = 11
