"""The kernel's memory: the columns of its tables, a class of constants for each table, and the other constants.

What the nest's tables hold is declared in `gdb.executor.table_fields`; the rest are tables of a worker's own.
"""

from __future__ import annotations

from ..nest.interface_caches import MOST_KEYS
from ..nest.nest import Formula, Kind, Order
from ..table_fields import (
    CheckField,
    LevelField,
    LevelFlag,
    NodeField,
    Role,
    SetField,
    Test,
    ValueField,
    ViewField,
)

Pointers = int  # the address of one worker's table of addresses P.LEVELS, P.SETS, ...

# control array of a worker
DEPTH, ENTERING, TOTAL, ROWS, STATUS, STAMP, SPENT, JOINED = range(8)
CONTROL = 8
DONE, YIELDED, FULL, OVERFLOW = 0, 1, 2, 3

L, S, C, T, V, W, F = (
    *(LevelField, SetField, CheckField, NodeField, ViewField, ValueField),
    LevelFlag,
)
AHEAD = 64  # a flag beside those of F: rows are looked ahead at; in a worker's own table of levels
PAIRS, WITHIN, OUTSIDE = int(Test.PAIRS), int(Test.WITHIN), int(Test.OUTSIDE)
LONE, SLICE, MARK, INNER, PUSHED = (int(r) for r in Role)
POWER, FALLING, BINOMIAL, PAIR = (int(f) for f in Formula)
BELOW, ABOVE = int(Order.BELOW), int(Order.ABOVE)
ROW, END, WINDOW = int(Kind.ROW), int(Kind.END), int(Kind.WINDOW)

N_LEVEL, N_SET, N_CHECK, N_NODE = map(len, (LevelField, SetField, CheckField, NodeField))
N_VIEW, N_VALUE = len(ViewField), len(ValueField)
MISSING = -(1 << 63)  # `gdb.executor.plan.plan.MISSING`
LARGEST = 4.0e18  # floats above this may represent counts over 2^63
GALLOP = 16  # one list this much longer than the other: search it instead of merging
LOOK_UP = 64  # a list up to this much longer than a marked one: look all of it up, do not search
MOST = 1 << 62
TOO_MANY = -1  # a product that does not fit; a later factor may be zero

# Of each of the following tables N is the number of columns.


class P:
    """The table of addresses whose own address every function gets."""

    LEVELS, SETS, REFS, CHECKS, NODES, VIEWS, SIMPLE, LISTS, BITS = range(9)
    V, SET_LENGTH, BUFFER, STAMPS, MARKS, STATES, BOUND, VALUES, ORDERS = range(9, 18)
    SUMS, PRODUCTS, AHEAD, CACHES, STRANGERS, LOCAL, DIFFERING = range(18, 25)


class Q:
    """A node's state: its list; whether its scratch is in use; the scratch (a byte for each vid of a MARK, an i64 for
    the others); the list of vids that a PUSHED node touched; of a node that spreads, what it has added at each vid, and
    whether it did. Of a LONE node the row that was counted last, that of its partner, and in SUMS what they have in
    common; where it is HELD the scratch is a byte for each vid, and HELD the row that it has in it."""

    LIST, START, END, USED, SCRATCH, TOUCHED, SUMS, SPREAD = range(8)
    OTHER, OTHER_END, HELD, HELD_END, N = range(8, 13)


class D:
    """What is known of a value that LONE nodes have to differ from, at the place of its ref: the stamp of the level
    that was bound to it when that was found out; what it is: of the bits of such a ref those of values before that are
    equal (1, 2), IN_FIRST and IN_SECOND where it is in the row of the node, or of its partner. Where the node is HELD:
    the stamp of the level whose value is marked, 0 where none is; the value; those bits; and how many values up to this
    one are to be taken off the row."""

    STAMP, WHAT, MARKED, VALUE, BEFORE, LESS, N = range(7)


IN_FIRST, IN_SECOND = 4, 8


class M:
    """A mark's state: its bytes; the stamp of the level whose operand it holds (0: none); that list."""

    BYTES, STAMP, LIST, START, END, N = range(6)


class K:
    """A cache's state: what its row in the table says; the address of the number of its slots, a power of 2, less one,
    which grows for all workers that share it; how many it may have, less one, and where the first few and more than
    these are; the run whose counts hold; its look-ups and its hits,
    the steps that the misses took; 1 where that does not pay; the slot that is being counted (0: none), and the total
    and the steps before; the count that was found; what the key is mixed to; the key. A slot: check, count, key."""

    KEY, KEY_END, STRANGER, STRANGER_END, UNTIL = range(5)
    MASK, MOST_MASK, FEW, MORE, RUN = range(5, 10)
    ASKED, KNOWN, STEPS, OFF, SLOT, TOTAL, SPENT, COUNT, MIXED, VALUE = range(10, 20)
    N = VALUE + MOST_KEYS


class X:
    """A stranger's state: what its row says; the newest stamp of what its tests read when they were made; whether one
    held."""

    LEVEL, CHECK, CHECK_END, STAMP, MATTERS, N = range(6)


class OR:
    """The table of orders: addresses of the arrays of `Ordered`."""

    VALUES, EIDS, SOURCE, N = range(4)


class G:
    """What a worker counts in bits (`neighbourhood_tables.Neighbourhood`, whose tables these are)."""

    # its frame, the view and order of the positions, first and last loop over bits, loops of the nest
    FRAME, VIEW, ORDER, FIRST, LAST, LOOPS = range(6)
    RELATIONS, RELATION_COUNT, OPERATIONS, LEVELS, ENDS, END_COUNT = range(6, 12)
    STARTS, START_COUNT, SETS, COUNTS, SKIP = range(12, 17)
    # under the bound frame: whether it is counted in bits; the row that gives the positions, how many, and the words of
    # a set; the level that comes next; places in use, and how many there can be
    ON, LIST, SIZE, WORDS, DEPTH, USED, PLACES = range(17, 24)
    # rows of bits, for each place one of each relation; whether each is made; the place of each vid, + 1; the vid of
    # each place: the positions, then others whose rows are needed; words of all rows, most places, and words of a row
    # that an element of a list is worth
    ROWS, MADE, PLACE, VIDS, ROOM, MOST, WORTH, N = range(24, 32)


class R:
    """Relations. WHOLE : the relation whose rows contain this one's rows, -1 for none."""

    VIEW, ANTI, ORDER, DIFFERS, WHOLE, N = range(6)


class OP:
    """Operations."""

    OUT, LEFT, RELATION, LEVEL, N = range(5)


class B:
    """A loop over bits: its set, operations [K, K_END); the word that it is in, the bits left of it, its position."""

    SET, K, K_END, WORD, LEFT, AT, N = range(7)


class E:
    """Ends of a part that is counted in bits."""

    SET, RELATION, DIFFERS, MINUS, SIZE, FORMULA, PAIR, N = range(8)


class ST:
    """Sets with which a part that is counted in bits begins."""

    SET, LO, HI, BITS, N = range(5)
