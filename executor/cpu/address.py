"""The kernel's memory: the tables' columns as constants, and loads and stores at addresses."""

from __future__ import annotations

from ..nest.interface_caches import MOST_KEYS
from ..nest.nest import Formula, Kind, Order
from ..nest.tables import (
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

Pointers = int  # the address of one worker's table of addresses P_LEVELS, P_SETS, ...

# control array of a worker
DEPTH, ENTERING, TOTAL, ROWS, STATUS, STAMP, SPENT, JOINED = range(8)
CONTROL = 8
DONE, YIELDED, FULL, OVERFLOW = 0, 1, 2, 3

L_EDGE, L_BASE, L_A, L_B, L_LO, L_HI, L_BITS = (int(LevelField(i)) for i in range(7))
L_BELOW, L_BELOW_END, L_ABOVE, L_ABOVE_END, L_DIFFERS, L_DIFFERS_END = (
    int(LevelField(i)) for i in range(7, 13)
)
L_CHECK, L_CHECK_END, L_SET, L_SET_END, L_COLUMN, L_FLAGS = (
    int(LevelField(i)) for i in range(13, 19)
)
L_AROUND, L_INNER, L_BESIDE, L_NODE, L_NODE_END, L_JOINS = (
    int(LevelField(i)) for i in range(19, 25)
)
L_CACHE, L_TREES_CACHE, L_TREES_CACHE_END, L_LEAST = (int(LevelField(i)) for i in range(25, 29))
S_LEFT, S_LEFT_A, S_LEFT_B, S_OP, S_RIGHT, S_RIGHT_A, S_RIGHT_B = (
    int(SetField(i)) for i in range(7)
)
(
    S_LO,
    S_HI,
    S_BITS,
    S_BELOW,
    S_BELOW_END,
    S_ABOVE,
    S_ABOVE_END,
    S_OFFSET,
    S_MARK,
    S_HELD,
    S_DEPTH,
    S_OPTIONAL,
) = (int(SetField(i)) for i in range(7, 19))
C_TEST, C_A, C_B, C_C, C_D, C_E = (int(CheckField(i)) for i in range(6))
V_FIRST, V_LENGTH, V_ROW, V_INTERVALS, V_OFFSETS, V_NEIGHBOURS, V_EIDS = (
    int(ViewField(i)) for i in range(7)
)
PAIRS, WITHIN, OUTSIDE = int(Test.PAIRS), int(Test.WITHIN), int(Test.OUTSIDE)
W_LEFT, W_RIGHT, W_LEAST, W_MOST = (int(ValueField(i)) for i in range(4))
N_VALUE = len(ValueField)
V_FIRST0, V_LENGTH0, V_ROW0, V_SPLIT = (int(ViewField(i)) for i in range(7, 11))
N_LEVEL, N_SET, N_CHECK, N_VIEW = (
    len(LevelField),
    len(SetField),
    len(CheckField),
    len(ViewField),
)
T_LEVEL, T_SIZE, T_FORMULA, T_ROLE, T_PARENT, T_VIEW = (int(NodeField(i)) for i in range(6))
T_BACK, T_ORDER, T_CHILD, T_NEXT, T_PUSHER, T_SPREADS, T_OPTIONAL, T_PAIRED = (
    int(NodeField(i)) for i in range(6, 14)
)
N_NODE = len(NodeField)
LONE, SLICE, MARK, INNER, PUSHED = (int(r) for r in Role)
POWER, FALLING, BINOMIAL, PAIR = (int(f) for f in Formula)
BELOW, ABOVE = int(Order.BELOW), int(Order.ABOVE)
F_EDGE, F_DIFFERS, F_BITS, F_CHECKS, F_REPEATS, F_SETS = (int(f) for f in LevelFlag)
F_AHEAD = 64  # rows are looked ahead at; in a worker's own table of levels
# a node's state: its list; whether its scratch is in use; the scratch (a byte for each vid of a MARK,
# an i64 for the others); the list of vids that a PUSHED node touched; of a node that spreads, what it has
# added at each vid, and whether it did
Q_LIST, Q_START, Q_END, Q_USED, Q_SCRATCH, Q_TOUCHED, Q_SUMS, Q_SPREAD = range(8)
N_STATE = 8
# a mark's state: its bytes; the stamp of the level whose operand it holds (0: none); that list
M_BYTES, M_STAMP, M_LIST, M_START, M_END = range(5)
N_MARK = 5
# the table of addresses whose own address every function gets
P_LEVELS, P_SETS, P_REFS, P_CHECKS, P_NODES, P_VIEWS, P_SIMPLE, P_LISTS, P_BITS = range(9)
P_V, P_SET_LENGTH, P_BUFFER, P_STAMPS, P_MARKS, P_STATES, P_BOUND, P_VALUES, P_ORDERS = range(9, 18)
P_SUMS, P_PRODUCTS, P_AHEAD, P_CACHES, P_STRANGERS, P_LOCAL = range(18, 24)
# a cache's state: what its row in the table says; its slots, a power of 2, less one, and where they are; how many it
# may have, less one, and where more than the first few are; the run whose counts hold; its look-ups and its hits,
# the steps that the misses took; 1 where that does not pay; the slot that is being counted (0: none), and the total and
# the steps before; the key. A slot: run, count, key
K_KEY, K_KEY_END, K_STRANGER, K_STRANGER_END, K_UNTIL = range(5)
K_MASK, K_SLOTS, K_MOST_MASK, K_MORE = range(5, 9)
K_RUN, K_ASKED, K_KNOWN, K_STEPS, K_OFF, K_SLOT, K_TOTAL, K_SPENT, K_VALUE = range(9, 18)
N_CACHE = K_VALUE + MOST_KEYS
# a stranger's state: what its row says; the newest stamp of what its tests read when they were made; whether one held
X_LEVEL, X_CHECK, X_CHECK_END, X_STAMP, X_MATTERS = range(5)
N_STRANGER = 5
ROW, END, WINDOW = int(Kind.ROW), int(Kind.END), int(Kind.WINDOW)
O_VALUES, O_EIDS, O_SOURCE, N_ORDER = (
    0,
    1,
    2,
    3,
)  # the table of orders: addresses of `Ordered`'s arrays
# what a worker counts in bits (`neighbourhood.Neighbourhood`, whose tables these are): its frame, the view and order of
# the positions, first and last loop over bits, loops of the nest
G_FRAME, G_VIEW, G_ORDER, G_FIRST, G_LAST, G_LOOPS = range(6)
G_RELATIONS, G_RELATION_COUNT, G_OPERATIONS, G_LEVELS, G_ENDS, G_END_COUNT = range(6, 12)
G_STARTS, G_START_COUNT, G_SETS, G_COUNTS, G_SKIP = range(12, 17)
# under the bound frame: whether it is counted in bits; the row that gives the positions, how many, and the words of a
# set; the level that comes next; places in use, and how many there can be
G_ON, G_LIST, G_SIZE, G_WORDS, G_DEPTH, G_USED, G_PLACES = range(17, 24)
# rows of bits, for each place one of each relation; whether each is made; the place of each vid, + 1; the vid of each
# place: the positions, then others whose rows are needed; words of all rows, most places, and words of a row that an
# element of a list is worth
G_ROWS, G_MADE, G_PLACE, G_VIDS, G_ROOM, G_MOST, G_WORTH = range(24, 31)
N_GRAPH = 31
# R_WHOLE: the relation whose rows contain this one's rows, -1 for none
R_VIEW, R_ANTI, R_ORDER, R_DIFFERS, R_WHOLE, N_RELATION = range(6)
K_OUT, K_LEFT, K_RELATION, K_LEVEL, N_OPERATION = range(5)
# of a loop over bits: its set, operations [K, K_END); the word that it is in, the bits left of it, its position
B_SET, B_K, B_K_END, B_WORD, B_LEFT, B_AT, N_LOCAL = range(7)
E_SET, E_RELATION, E_DIFFERS, E_MINUS, E_SIZE, E_FORMULA, E_PAIR, N_END = range(8)
I_SET, I_LO, I_HI, I_BITS, N_START = range(5)
MISSING = -(1 << 63)  # `gdb.executor.plan.plan.MISSING`
LARGEST = 4.0e18  # floats above this may represent counts over 2^63
GALLOP = 16  # one list this much longer than the other: search it instead of merging
LOOK_UP = 64  # a list up to this much longer than a marked one: look all of it up, do not search
MOST = 1 << 62
TOO_MANY = -1  # a product that does not fit; a later factor may be zero
