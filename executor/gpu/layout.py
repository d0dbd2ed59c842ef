"""Numbers that host and kernel share beyond the tables: the job, a warp's state, counters, limits.

`render.py` writes them (and the columns of `gdb.executor.nest.tables`) as #defines, so that the two sides cannot drift.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

WARP_LANES = 32
BLOCK_THREADS = 128
# 1024 threads: what the smallest device we build for (sm_75) holds at once
BLOCKS_PER_MULTIPROCESSOR = 8
MAX_LEVELS = 64
FILTER_BITS = 32768  # of a MARK's filter at most
LOCAL_MOST = 128  # vertices of a local graph
LOCAL_FILTER_BITS = 4096
# u32: filter, vids, where lists begin, the lists; then, where more than edges are counted, bit rows
LOCAL_WORDS = LOCAL_FILTER_BITS // 32 + LOCAL_MOST + LOCAL_MOST // 32 + WARP_LANES
LOCAL_ROWS = 4 * LOCAL_MOST
LOCAL_STARTS = 2 * WARP_LANES  # u32: where the lists begin in the view, where supports are counted
LOCAL_PAIRS = LOCAL_MOST * (LOCAL_MOST - 1) // 2  # u32: two bytes for a pair, both ways round
PACK_ELEMENTS = 2048  # that are read end to end before the next are laid out
PACK_AHEAD = 8  # reads of a lane that are under way at once
PACK_QUEUE = WARP_LANES * (PACK_AHEAD + 1)
PACK_PAIRS = 256
PACK_BEGINS = PACK_ELEMENTS // 32 + PACK_AHEAD
# u32: bits, offsets, what was found, values and lanes of the queue, lanes, length of the queue, words of rows, pairs
PACK_WORDS = PACK_BEGINS + 64 + 32 + PACK_QUEUE + PACK_QUEUE // 4 + 8 + 4 + 8 + PACK_PAIRS // 2
BITS_MOST = 64  # u32 of a row of bits at most, two for each lane: 2,048 neighbours
BITS_FRAME_WORDS = 8  # u32 of the head of a warp's bits
BITS_ELEMENTS = 512  # u32 of the elements of a loop that are taken at once, two bytes for each of 1,024 positions
BITS_CHUNK = 128  # steps after which a loop over bits looks whether to go on
MAX_SETS = 512
MAX_VIEWS = 32  # with the job at most the 4 KB that a kernel takes as parameters
PAIRS_MOST = 256  # elements of the second list; a longer one keeps all lanes at work by itself
LARGEST_COUNT = 9.0e18  # doubles above this may represent counts over 2^63


class Job(IntEnum):
    """The job table, i64: numbers, and device addresses of what plural names say; the view table follows it."""

    LEVELS = 0
    SETS = 1
    REFS = 2
    CHECKS = 3
    NODES = 4
    SIMPLE = 5  # i64[views]: no row of the view holds a neighbour twice
    LISTS = 6  # i64[lists, 2]: address, length
    BITS = 7  # i64[bit sets]: addresses
    ROOTS = 8  # u32[r]
    UNIT_ROOTS = 9  # u32[units]: position in ROOTS of each unit's root
    FIRST_UNIT = 10  # i64[r + 1]: first unit of each root
    STATES = 11  # i64[warps, STATE_WORDS]
    BUFFERS = 12  # u32[warps, BUFFER_VIDS]
    HEADER = 13
    OUT_VIDS = 14  # u32[columns, CAPACITY]: a column's rows lie together
    OUT_EIDS = 15  # i64[columns, CAPACITY]
    LEVEL_COUNT = 16
    LOOPS = 17
    COUNTING = 18
    NODE_COUNT = 19
    UNITS = 20
    WARPS = 21
    STATE_WORDS = 22
    BUFFER_VIDS = 23
    CAPACITY = 24
    ONCE = 25  # the level whose values are marked in SEEN instead of rows written, -1: none
    SEEN = 26  # u8[VIDS]: 1 where a vertex was found
    VIDS = 27
    SCRATCH = 28  # u8[warps, SCRATCH_BYTES], zero between tails
    SCRATCH_BYTES = 29
    SCRATCH_AT = 30  # i64[nodes]: where each node's begins in a warp's
    FILTER_BITS = 31  # of a MARK's filter, a power of two
    FILTER_AT = 32  # i64[nodes]: where each MARK's begins among those of a warp, in u32
    FILTER_WORDS = 33  # u32 of a warp's filters
    CUT_NODE = 34  # the node of the tail whose list is cut into work units, -1: none
    TASKS = 35  # i64[warps, len(Task) + levels]: what each warp is given while it waits
    STRIDE = 36  # a warp that has number k (its own, then WARPS and what it draws) takes the units k, k + STRIDE, ...
    SPREAD_AT = 38  # i64[nodes]: where the sums begin in a warp's scratch that a node adds to its parent's vertices, -1
    SHARES = 39  # of the runs of work units every so manieth is this device's,
    SHARE = 40  # beginning at this
    RUN = 52  # units of a run
    LOCAL_PAIRS = 37  # where the pairs of a local graph begin in a warp's buffer
    TALLIES = 41  # u64[VIDS]: what is counted for each vertex of the first loop, 0: only the sum is wanted
    IDLE = 43  # u32[warps / 32]: a bit for each warp that waits and was not given anything
    VALUES = 44  # i64[comparisons, len(ValueField)]
    PAIRS = 42  # see `Pairs`, 0: each loop runs for itself
    JOINS_AT = 45  # where the sums and products of loops begin in a warp's state, if some have several in them; else 0
    IN_PASSES = 47  # whether a level is bound to a part of the vids at a time, whose rows are resident meanwhile
    PASS = 53  # the number of the pass, -1: that which counts what the others found
    PASS_START = 48  # and that part
    PASS_END = 49
    MARKS = 54  # u64[units]: in which passes a unit has something to do, and where its root's row is; see
    PASS_BITS = 62  # `unit_passes.MarkBits`, whose numbers
    START_BITS = 63  # these are
    CUTS = 64
    BATCH = 55  # units that are drawn together in a pass, at most 32
    GROUP = 57  # in groups of so many neighbouring ones
    WINDOWS = 56  # of each warp the numbers of `Window`, i64, and so many vids, u32:
    WINDOW_VIDS = 66  # as `Warps.add_windows` says
    AFTER = 60  # HEADER of the pass before, 0: none; this one does nothing unless that has ended
    LOCAL_ROWS = 58  # u32: what passes find of local graphs, of each root from
    LOCAL_AT = 59  # i64[r] on
    LOCAL_MARKS = 61  # a bit for each of these u32 where something begins that was found,
    LOCAL_LISTS = 65  # and for each root whose list a last pass has to count in
    SUPPORTS = 67  # u32: of each position in the view in how many triangles its edge is, 0: instead there is
    TRIANGLES = 68  # u32[TRIANGLES_MOST, 3]: the positions of each triangle's edges,
    TRIANGLES_MOST = 69
    TRIANGLES_FOUND = 70  # u64: and how many were found
    OUTER = 46  # the last loop that a warp may split off a part of: counts inside it are multiplied with those beside
    MATRICES = 50  # i64[views]: addresses of the matrices of neighbourhoods in each view, 0: none
    PACKS = 51  # whether warps have room for a `Pack`


class PlaceField(IntEnum):
    """The places of a view's rows, where some are in page-locked memory of the host (`kernels/lookup.cuh`).
    Positions and row numbers of the whole view are indices from each of the addresses.

    START, SIZE : the positions whose neighbours lie where ViewField.NEIGHBOURS says; all lie at COLD.
    ROW, ROWS : the rows whose offsets lie where ViewField.OFFSETS says; all lie at COLD_OFFSETS.
    SPLIT_ROW, SPLIT_ROWS : the same of ViewField.SPLIT and COLD_SPLIT.
    """

    START = 0
    SIZE = 1
    COLD = 2
    ROW = 3
    ROWS = 4
    COLD_OFFSETS = 5
    SPLIT_ROW = 6
    SPLIT_ROWS = 7
    COLD_SPLIT = 8


class Window(IntEnum):
    """What a warp keeps of the rows of a batch of units' roots, a number for each unit: positions in the view of where
    the row starts and ends, of its split, and the place of its neighbours in the vids after these; -1: they are not
    there."""

    START = 0
    END = 1
    SPLIT = 2
    COPY = 3


LEAST_WINDOW = 1024  # vids of a window; where warps have scratch, up to a part of that, so that the longest row fits
WINDOW_SHARE = 8
COPY_AHEAD = 4  # reads of a lane that are under way at once while a window is filled
UNIT_GROUP = 4  # neighbouring work units that are drawn together in a pass,
LOCAL_GROUP = 16  # and where they lie in local graphs, so that their lists are read in whole lines
FAR_COST = 32  # numbers of device memory that are written in order sooner than one in any order
FAR_SHORT = 128  # numbers of a row that the link brings sooner than a place among them is found
FAR_ALONE = (
    32  # numbers of one above which all lanes read it together: 1.7 times as quick as eight of them
)
FAR_LONG = 1024  # numbers of one above which bits say what it holds: to find a place takes 10 reads of the link


class Warp(IntEnum):
    """The first numbers of a warp's state. DEPTH -1: it holds no work. WAITING: and waits for some. NEXT: the unit that
    it takes next, + 1; 0: it draws one. PAIRED: the last two loops run as one. JOINED: in so many loops around its
    position there are several, whose counts are multiplied. BITS: whether the neighbourhood that it is in is counted in
    bits; -1: the next one is not. BATCH, LEFT: in a pass, what it has drawn, and a bit for each unit of it that is
    left. SLOT: the place in the window of the unit's root, + 1; 0: it is not there. MERGED: further units of the same
    root that run with it."""

    DEPTH = 0
    ENTERING = 1
    TOTAL = 2
    UNIT = 3
    WAITING = 4
    NEXT = 5
    PAIRED = 6
    JOINED = 7
    BITS = 8
    BATCH = 9
    LEFT = 10
    SLOT = 11
    MERGED = 12


class Pairs(IntFlag):
    """How the last two loops of a nest for rows may run as one, over pairs of elements of their lists. SAME: both lists
    are one. ABOVE: the second vertex must be above the first."""

    TOGETHER = 1
    SAME = 2
    ABOVE = 4


class Local(IntEnum):
    """Columns of the table of a local graph's levels. The first four are sets of its earlier levels, a bit each: those
    that query edges join this one to, those whose vid bounds it from above and from below, those that it only has to
    differ from. SIZE, FORMULA: of the last level, as NodeField."""

    NEAR = 0
    BELOW = 1
    ABOVE = 2
    DIFFERS = 3
    SIZE = 4
    FORMULA = 5


class RelationField(IntEnum):
    """Columns of the tables of a local part (`gdb.executor.nest.neighbourhood`): as its records; and so the next
    three."""

    VIEW = 0
    ANTI = 1
    ORDER = 2
    DIFFERS = 3


class OperationField(IntEnum):
    """DEPTH: the level that it depends on. OUTSIDE: the row that it reads of a vertex that is no neighbour of the
    frame, -1 where its vertex always is one."""

    OUT = 0
    LEFT = 1
    RELATION = 2
    LEVEL = 3
    DEPTH = 4
    OUTSIDE = 5


class StartField(IntEnum):
    """A set that a local part begins with: SET has the vids LO to HI that are in bitset BITS (-1: all)."""

    SET = 0
    LO = 1
    HI = 2
    BITS = 3


class Leaf(IntEnum):
    """The last level of a local part, which is counted and not looped over."""

    SET = 0
    RELATION = 1
    DIFFERS = 2
    MINUS = 3
    SIZE = 4
    FORMULA = 5
    PAIR = 6


class Outside(IntEnum):
    """A row of a vertex that may be no neighbour of the frame: that of level LEVEL in view VIEW."""

    LEVEL = 0
    VIEW = 1


class TaskField(IntEnum):
    """Work that one warp gives to another; after these what is bound on the levels below DEPTH.

    FULL: whether there is some. START, END: positions in the list of level DEPTH. BITS: the giver's.
    """

    FULL = 0
    UNIT = 1
    DEPTH = 2
    START = 3
    END = 4
    BITS = 5


class At(IntEnum):
    """The arrays of a warp's state that have a number for each level; after them the lengths of its sets.

    V: the vid or edge id bound. ADDRESS, START, END: the list looped over. POSITION: the next element to test.
    MASK: which of the 32 elements before POSITION passed and are still to be bound.
    """

    V = 0
    ADDRESS = 1
    POSITION = 2
    START = 3
    END = 4
    MASK = 5


class TailField(IntEnum):
    """What a warp keeps of each node of the tail: its list, whether its scratch is in use, whether it has added its
    weights to its parent's vertices."""

    LIST = 0
    START = 1
    END = 2
    USED = 3
    SPREAD = 4


class Header(IntEnum):
    """Counters of a run, u64: draws of work units; warps that wait; rows written in this launch (may pass the
    capacity); warps that have not ended, warps whose count overflowed; of several passes together those that have not
    ended; then, in `SUMS` places for different blocks, the sums of the low and of the high halves of what warps
    counted, and whether all warps wait (END). What many warps change at once lies 128 bytes apart."""

    NEXT = 0
    WAITING = 16
    ROWS = 48
    UNFINISHED = 64
    OVERFLOWED = 65
    PASSES = 66
    LOW = 80
    HIGH = 81
    END = 82


class Sum(IntEnum):
    """What the supports of edges come to, u64 (`kernels/supports.cuh`): the sums of the low and of the high halves of
    what threads added up; whether one of these passed 2^63; whether a support passed what half a word holds."""

    LOW = 0
    HIGH = 1
    LARGE = 2
    CARRIED = 3


SUMS = 16
SUMS_APART = 16
HEADER_WORDS = Header.LOW + SUMS * SUMS_APART


class Status(IntEnum):
    """Why a warp returned."""

    DONE = 0
    YIELDED = 1
    FULL = 2
    OVERFLOW = 3


def state_words(levels: int, sets: int, *, joins: bool = False) -> int:
    """Numbers in a warp's state; `joins`: with sums and products of loops at its end."""
    return len(Warp) + len(At) * levels + sets + (2 * levels if joins else 0)
