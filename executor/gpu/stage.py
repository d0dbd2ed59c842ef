"""A stage on a GPU: its tables, its graph, its warps' states and scratch. Launches go on from them, and further runs of
the stage use them again."""

from __future__ import annotations

import numpy as np

from gdb.errors import LimitExceeded
from gdb.executor.embeddings import Wanted
from gdb.executor.gpu import (
    bits,
    compiler,
    device,
    layout,
    local,
    matrices,
    memory,
    pairs,
    render,
    scratch,
    special,
)
from gdb.executor.gpu.compiler import Call, Function
from gdb.executor.gpu.layout import Header, Job
from gdb.executor.gpu.memory import Block, DeviceArray, HostArray
from gdb.executor.gpu.rows import Out
from gdb.executor.nest import Kind
from gdb.executor.prepare import Prepared
from gdb.executor.scheduler import Budget
from gdb.executor.tables import LevelField, NodeField, Role, Tables, ValueField, ViewField
from gdb.records import dataclass
from gdb.storage.adjacency import I64, U32, Adjacency

DRAWS = 16  # a warp draws work about so often; each time it draws several units where there are more, but no more than
MOST_AT_ONCE = 16
# the same, where a part is one of the vids that are reached, and reads the whole list
PUSHED_PART = 128
PART = 32  # a root with more neighbours than this is cut into several work units
RESERVED = 1 << 10  # bytes of shared memory that the driver takes for each block
SHARED = 48 << 10  # bytes of shared memory that every device gives a block without being asked
_WARPS_IN_BLOCK = layout.BLOCK_THREADS // layout.WARP_LANES


def check_size(tables: Tables, views: int) -> None:
    """The state of a block's warps lies in shared memory, which bounds levels and sets; views are a kernel's parameter.

    Raises
    ------
    LimitExceeded : there are too many.
    """
    for what, n, most in (
        ("variables", len(tables.levels), layout.MAX_LEVELS),
        ("set operations", len(tables.sets), layout.MAX_SETS),
        ("sets of relationship types and directions", views, layout.MAX_VIEWS),
    ):
        if n > most:
            raise LimitExceeded(
                f"The pattern needs {n} {what}; a GPU runs at most {most}.", 'Use device="cpu".'
            )


def work_units(prepared: Prepared, sizes: I64 | None = None) -> tuple[U32, I64]:
    """Each unit's root as a position in `roots`, u32[units], and each root's first unit, i64[roots + 1].

    A unit is one part of about `PART` elements of a root's list, where there is a second loop, or a node of the tail,
    to be cut. sizes : how long these lists are at most, i64[roots] (None: as the roots' weights say); a root whose list
    is empty has no unit.
    """
    loops = prepared.tables.loops
    if loops == 0:
        return np.zeros(1, np.uint32), np.array([0, 1], np.int64)
    if sizes is None:
        sizes = prepared.weights
    cuts, node = cut_level(prepared.tables) >= 0, cut_node(prepared.tables)
    pushed = node >= 0 and prepared.tables.nodes[node, NodeField.ROLE] == Role.PUSHED
    part = PUSHED_PART if pushed else PART
    parts = (sizes + part - 1) // part if cuts else np.ones(len(sizes), np.int64)
    first_unit = np.concatenate([[0], np.cumsum(parts)]).astype(np.int64)
    return np.repeat(np.arange(len(parts), dtype=np.uint32), parts), first_unit


def cut_level(tables: Tables) -> int:
    """The level whose list says how many work units a root has: the second loop, or that of the tail's node; -1 for
    none."""
    if tables.loops > 1:
        return 1
    node = cut_node(tables)
    if node < 0:
        return -1
    while tables.nodes[node, NodeField.ROLE] == Role.PUSHED:
        node = int(tables.nodes[node, NodeField.PUSHER])
    return int(tables.nodes[node, NodeField.LEVEL])


def cut_node(tables: Tables) -> int:
    """The node of the tail that may be counted in parts, where there is but one loop: a root, which is a sum over its
    list, or over the vids that it is reached at. -1 where there is none."""
    if tables.loops != 1:
        return -1
    for c, row in enumerate(tables.nodes):
        if row[NodeField.ROLE] in (Role.INNER, Role.PUSHED) and row[NodeField.PARENT] < 0:
            return c
    return -1


@dataclass(frozen=True, slots=True)
class Share:
    """A device, and which part of the work units is its: unit `index`, and every `of`-th after that."""

    ordinal: int
    index: int = 0
    of: int = 1


class Stage:
    """A prepared stage placed on the device of its share, which must be the current one.

    wanted : what is asked of the rows; a stage is used again where the same is. written : what its kernels write.
    tallied : whether counts are added up for each vertex of the first loop, in `tallies`, u64[vids] on the device.
    accounted : bytes that a run takes from its budget for it.
    small_tables : the tables by their place in the job. seconds : that its launches took on the device.
    moved_bytes : what placing it copied to the device. rows : that lie in the buffer of the last launch. total : what
        all warps counted that have ended.
    """

    def __init__(
        self, prepared: Prepared, share: Share, wanted: Wanted, *, tallied: bool = False
    ) -> None:
        self.prepared, self.share, self.wanted, self.tallied = prepared, share, wanted, tallied
        self.ordinal = share.ordinal
        self.tables = prepared.tables
        self.written = self.tables.written(wanted)
        self.kept: list[DeviceArray] = []  # the job names them by address only
        self.splits: dict[int, DeviceArray] = {}  # by the view's id
        self.job = np.zeros(len(Job), np.int64)
        self.rows = self.total = 0
        self.accounted = self.moved_bytes = 0
        self.seconds = 0.0
        self.special: special.Kernel | None = None
        self.bits: bits.Bits | None = None
        self.matrix_room = 0  # bytes of matrices of bits that the budget knows of; 0: none are made

    # ---- placing ---------------------------------------------------------------------------------

    def shape(self, shared: int) -> None:
        """Decide what lies where, on a device whose blocks may take so many bytes of shared memory each."""
        tables, prepared = self.tables, self.prepared
        joining = np.flatnonzero(tables.levels[: tables.loops, LevelField.JOINS])
        plain = layout.state_words(len(tables.levels), len(tables.sets))
        self.words = layout.state_words(len(tables.levels), len(tables.sets), joins=tables.branches)
        self.offsets, self.spreads, self.scratch = scratch.places(prepared)
        is_mark = tables.nodes[:, NodeField.ROLE] == Role.MARK
        self.marks = int(is_mark.sum())
        self.filter_words = filter_words(self.marks, 0)
        self.local, self.packs = local.find(prepared), True
        if self._shared_bytes() > SHARED:
            self.local, self.packs = None, False
        self.packs = self.packs and (self.marks > 0 or self.local is not None)
        if self.local is None:
            room = min(shared, SHARED) - self._shared_bytes()
            self.bits = bits.find(prepared, room // _WARPS_IN_BLOCK)
        room = (min(shared, SHARED) - self._shared_bytes()) // _WARPS_IN_BLOCK
        self.filter_words = filter_words(self.marks, self.filter_words * self.marks + room // 4)
        self.shared = self._shared_bytes()
        filters = np.where(is_mark, (np.cumsum(is_mark) - 1) * self.filter_words, 0)
        self.small_tables: dict[Job, I64] = {
            Job.LEVELS: self.written.levels,
            Job.SETS: tables.sets,
            Job.REFS: tables.refs,
            Job.CHECKS: tables.checks,
            Job.NODES: tables.nodes,
            Job.SCRATCH_AT: self.offsets,
            Job.SPREAD_AT: self.spreads,
            Job.FILTER_AT: filters.astype(np.int64),
            Job.SIMPLE: np.array([int(v.simple) for v in prepared.views], np.int64),
        }
        self.job[Job.LEVEL_COUNT] = len(tables.levels)
        self.job[Job.LOOPS] = tables.loops
        self.job[Job.COUNTING] = tables.counting
        self.job[Job.NODE_COUNT] = len(tables.nodes)
        self.job[Job.VIDS] = prepared.vids
        self.job[Job.CUT_NODE] = cut_node(tables)
        self.job[Job.FILTER_BITS] = 32 * self.filter_words
        self.job[Job.FILTER_WORDS] = self.filter_words * self.marks
        self.job[Job.STATE_WORDS] = self.words
        self.job[Job.PACKS] = self.packs
        self.job[Job.JOINS_AT] = plain if tables.branches else 0
        self.job[Job.OUTER] = joining[0] if len(joining) else tables.loops - 1
        self.job[Job.BUFFER_VIDS] = self._buffer()
        self.job[Job.LOCAL_PAIRS] = tables.buffer
        self.job[Job.SCRATCH_BYTES] = self.scratch
        self.job[Job.CAPACITY] = 1
        self.job[Job.ONCE] = self.written.once
        self.job[Job.PAIRS] = 0 if self.written.once >= 0 else int(pairs.find(prepared))

    def place(self, budget: Budget) -> None:
        """Account for and allocate everything, and copy what is not there yet."""
        tables, prepared = self.tables, self.prepared
        each = device.shared_bytes(self.ordinal) // layout.BLOCKS_PER_MULTIPROCESSOR
        self.shape(each - RESERVED)
        before = budget.used
        budget.take(prepared.bytes, "its graph on the GPU")
        memory.make_room(prepared.bytes, self._lasting(), self.ordinal)
        views, lists, bits = self._place_graph()
        values = self._place_values()
        self._plan_matrices(budget)
        unit_roots, first_unit = work_units(prepared, self._list_sizes())
        marks = prepared.vids if self.written.once >= 0 else 0
        tallies = 8 * prepared.vids if self.tallied else 0
        extra = unit_roots.nbytes + first_unit.nbytes + marks + tallies
        budget.take(extra, "its work units on the GPU")
        free = memory.make_room(extra, [], self.ordinal)
        self.warps = self._warps(len(unit_roots), free, budget)
        budget.take(self.warps * self._warp_bytes(), "the candidate sets of its warps")
        self.accounted = budget.used - before
        units = len(range(self.share.index, len(unit_roots), self.share.of))
        self.job[Job.SHARES], self.job[Job.SHARE] = self.share.of, self.share.index
        draws = min(max(units // (self.warps * DRAWS), 1), MOST_AT_ONCE)
        self.job[Job.UNITS], self.job[Job.STRIDE] = units, -(-units // draws)
        self.job[Job.WARPS] = self.warps
        self._put(Job.UNIT_ROOTS, unit_roots)
        self._put(Job.FIRST_UNIT, first_unit)
        self._allocate(Job.STATES, (self.warps, self.words), np.int64)
        words = len(layout.Task) + len(tables.levels)
        self._allocate(Job.TASKS, (self.warps, words), np.int64, zero=True)
        self.idle = self._allocate(Job.IDLE, (-(-self.warps // 32),), np.uint32)
        self._allocate(Job.BUFFERS, (self.warps, self._buffer()), np.uint32)
        self._allocate(Job.SCRATCH, (self.warps, max(self.scratch, 1)), np.uint8, zero=True)
        self.header = self._allocate(Job.HEADER, (layout.HEADER_WORDS,), np.uint64)
        self.seen = self._allocate(Job.SEEN, (marks,), np.uint8) if marks else None
        self.tallies = (
            self._allocate(Job.TALLIES, (prepared.vids,), np.uint64) if self.tallied else None
        )
        placed = {Job.LISTS: lists, Job.BITS: bits, Job.VALUES: values}
        self._place_tables(self.small_tables | placed)
        room = np.zeros(layout.MAX_VIEWS * len(ViewField), np.int64)
        room[: views.size] = views.ravel()
        self.limits = np.zeros(3, np.int64)  # fresh, steps, nanoseconds
        self.call = Call(np.concatenate([self.job, room]), *np.split(self.limits, 3))

    def _warp_bytes(self) -> int:
        own = 8 * (self.words + len(layout.Task) + len(self.tables.levels))
        return 4 * self._buffer() + own + self.scratch

    def _buffer(self) -> int:
        """u32 of a warp's buffer: its sets, then the pairs of a local graph."""
        return self.tables.buffer + (layout.LOCAL_PAIRS if self.local is not None else 0)

    def _warps(self, units: int, free: int, budget: Budget) -> int:
        """As many warps as the device holds at once, if there are so many units (those of other devices count: warps
        split what they have) and memory for them; at least one."""
        resident = device.multiprocessors(self.ordinal) * layout.BLOCKS_PER_MULTIPROCESSOR
        room = free // 2  # the rest is for what other queries and the pool's rounding need
        if budget.limit is not None:
            room = min(room, (budget.limit - budget.used) // 2)
        return max(1, min(resident * _WARPS_IN_BLOCK, units, room // self._warp_bytes()))

    def _lasting(self) -> list[HostArray]:
        """Arrays that outlive the query: those of the snapshot's partitions, and values of its elements."""
        found: list[HostArray] = [e for e in self.prepared.eids if e is not None]
        for view in self.prepared.views:
            found += [view.first, view.length, view.row, view.offsets, view.neighbours]
        found += [side for sides in self.prepared.values for side in sides]
        return list({id(a): a for a in found}.values())

    def _place_graph(self) -> tuple[I64, I64, I64]:
        """The tables of views, lists and bitsets, whose arrays are placed."""
        prepared = self.prepared
        roots = self._put(Job.ROOTS, prepared.roots)
        views = [self._view_row(k) for k in range(len(prepared.views))]
        lists = [
            roots if x is prepared.roots else self._keep(self._uploaded(x)) for x in prepared.lists
        ]
        pairs = [(a.data.ptr, len(x)) for a, x in zip(lists, prepared.lists, strict=True)]
        bits = [self._keep(self._uploaded(b)).data.ptr for b in prepared.bit_sets]
        return (
            np.array(views, np.int64).reshape(-1, len(ViewField)),
            np.array(pairs, np.int64).reshape(-1, 2),
            np.array(bits, np.int64),
        )

    def _place_values(self) -> I64:
        """The table of comparisons, whose arrays are placed, i64[comparisons, len(ValueField)]."""
        prepared = self.prepared
        table = np.zeros((len(prepared.values), len(ValueField)), np.int64)
        for row, sides, bounds in zip(table, prepared.values, prepared.bounds, strict=True):
            row[: ValueField.LEAST] = [self._resident(side).data.ptr for side in sides]
            row[ValueField.LEAST :] = bounds
        return table

    def _plan_matrices(self, budget: Budget) -> None:
        """Account for the matrices of bits that the stage's own kernel will read, if it is to have any."""
        if self.bits is None:
            return
        views = [self.prepared.views[k] for k in self.bits.views]
        self.matrix_room = matrices.room(views, budget, self.ordinal)
        if self.matrix_room:
            self._allocate(Job.MATRICES, (len(self.prepared.views),), np.int64, zero=True)
        else:
            self.bits = None

    def _place_matrices(self) -> None:
        """Make the matrices of bits, and tell the kernel; where there is no memory it goes on over lists."""
        if self.bits is None or not self.matrix_room:
            return
        views = {k: (self.prepared.views[k], self._view_row(k)) for k in self.bits.views}
        found = matrices.placed(views, self.matrix_room, self.ordinal)
        self.matrix_room = 0
        self.kept += found.values()
        addresses = np.zeros(len(self.prepared.views), np.int64)
        for k, array in found.items():
            addresses[k] = array.data.ptr
        table = memory.upload(addresses)
        memory.copy_between(int(self.job[Job.MATRICES]), table.data.ptr, addresses.nbytes)

    def _resident(self, array: HostArray) -> DeviceArray:
        """The device's copy of an array that outlives the query."""
        if not memory.RESIDENTS.has(array, self.ordinal):
            self.moved_bytes += array.nbytes
        return self._keep(memory.RESIDENTS.copy_of(array, self.ordinal))

    def _view_row(self, k: int) -> list[int]:
        """Row of the view table."""
        view, eids = self.prepared.views[k], self.prepared.eids[k]
        row = [0] * len(ViewField)
        row[ViewField.INTERVALS] = len(view.first)
        arrays: tuple[tuple[ViewField, HostArray | None], ...] = (
            (ViewField.FIRST, view.first),
            (ViewField.LENGTH, view.length),
            (ViewField.ROW, view.row),
            (ViewField.OFFSETS, view.offsets),
            (ViewField.NEIGHBOURS, view.neighbours),
            (ViewField.EIDS, eids),
        )
        for column, array in arrays:
            if array is not None:
                row[column] = self._resident(array).data.ptr
        if len(view.first):
            row[ViewField.FIRST0] = int(view.first[0])
            row[ViewField.LENGTH0] = int(view.length[0])
            row[ViewField.ROW0] = int(view.row[0])
            if self.prepared.restricted:
                self.splits[id(view)] = self._keep(self._split(view, row))
                row[ViewField.SPLIT] = self.splits[id(view)].data.ptr
        return row

    def _list_sizes(self) -> I64 | None:
        """How long the list that is cut into work units is for each root, i64[roots], where it is one side of the
        root's own row; else None."""
        k = cut_level(self.tables)
        if k < 0 or not self.prepared.restricted:
            return None
        level, refs = self.tables.levels[k], self.tables.refs
        if level[LevelField.BASE] != Kind.ROW or level[LevelField.BASE_B] != 0:
            return None
        below = 0 in refs[level[LevelField.BELOW] : level[LevelField.BELOW_END]]
        above = 0 in refs[level[LevelField.ABOVE] : level[LevelField.ABOVE_END]]
        if below == above:
            return None
        view = self.prepared.views[level[LevelField.BASE_A]]
        if not view.rows:
            return None
        rows = view.rows_of(self.prepared.roots)  # all have one: `roots_of` sees to it
        split = memory.download(self.splits[id(view)])[rows]
        sizes: I64 = split - view.offsets[rows] if below else view.offsets[rows + 1] - split
        return sizes

    def _split(self, view: Adjacency, row: list[int]) -> DeviceArray:
        """ViewField.SPLIT of a view, made on the device when first needed."""

        def make() -> DeviceArray:
            split = memory.empty((view.rows,), np.int64)
            blocks = min(-(-view.rows // layout.BLOCK_THREADS), 1 << 16)
            table = memory.upload(np.array(row, np.int64))
            arguments = (table, np.int64(view.rows), split)
            compiler.generic(self.ordinal, render.SPLIT)(
                (blocks,), (layout.BLOCK_THREADS,), arguments
            )
            return split

        return memory.RESIDENTS.made_of(view.neighbours, self.ordinal, "split", make)

    def _place_tables(self, tables: dict[Job, I64]) -> None:
        """All small tables in one copy, one after another."""
        placed = self._put(Job.LEVELS, np.concatenate([t.ravel() for t in tables.values()]))
        at = placed.data.ptr
        for place, table in tables.items():
            self.job[place] = at
            at += table.nbytes

    def _uploaded(self, array: HostArray) -> DeviceArray:
        self.moved_bytes += array.nbytes
        return memory.upload(array)

    def _keep(self, array: DeviceArray) -> DeviceArray:
        self.kept.append(array)
        return array

    def _put(self, place: Job, array: HostArray) -> DeviceArray:
        copy = self._keep(self._uploaded(array))
        self.job[place] = copy.data.ptr
        return copy

    def _allocate(
        self, place: Job, shape: tuple[int, ...], dtype: type[np.generic], *, zero: bool = False
    ) -> DeviceArray:
        array = self._keep(memory.empty(shape, dtype, zero=zero))
        self.job[place] = array.data.ptr
        return array

    # ---- running ---------------------------------------------------------------------------------

    def launch(
        self, out: Out | None, told: Block, steps: int, nanoseconds: int, *, fresh: bool
    ) -> tuple[bool, bool, float]:
        """Run for one launch, from the beginning where it is `fresh`: (whether every warp has ended, whether a count
        was too large, seconds on the device).

        Parameters
        ----------
        out : where rows go, after those that lie there; None where none are written. told : for the counters.
        """
        first, size = (0, self.header.nbytes) if fresh else (Header.UNFINISHED, 8)
        (self.header.data + 8 * first).memset_async(0, size)
        if fresh:
            self.rows = self.total = 0
            for array in (self.idle, self.seen, self.tallies):
                if array is not None:
                    array.data.memset_async(0, array.nbytes)
        elif not self.rows:
            (self.header.data + 8 * Header.ROWS).memset_async(0, 8)
        numbers = self.call.parameters[0]
        if out is not None:
            numbers[Job.OUT_VIDS], numbers[Job.OUT_EIDS] = out.vids, out.eids
            numbers[Job.CAPACITY] = out.capacity
        function, blocks, shared = self.function(), -(-self.warps // _WARPS_IN_BLOCK), self.shared
        self.limits[:] = fresh, steps, nanoseconds
        clock = memory.Clock()
        self.call.launch(function, blocks, shared)
        clock.stop()
        arguments = (self.header, np.int64(told.address))
        compiler.generic(self.ordinal, render.TELL)((1,), (layout.WARP_LANES,), arguments)
        memory.settle()
        counters = told.array((layout.HEADER_WORDS,), np.uint64)
        if out is not None:
            self.rows = min(int(counters[Header.ROWS]), out.capacity)
        low, high = (
            int(counters[first :: layout.SUMS_APART].sum()) for first in (Header.LOW, Header.HIGH)
        )
        self.total = low + (high << 32)
        seconds = clock.seconds()
        self.seconds += seconds
        return not counters[Header.UNFINISHED], bool(counters[Header.OVERFLOWED]), seconds

    @property
    def narrow(self) -> bool:
        """Whether 32 bits hold every position in a list."""
        lists = [view.neighbours for view in self.prepared.views]
        longest = max(
            (len(a) for a in (*lists, *self.prepared.lists, self.prepared.roots)), default=0
        )
        return max(longest, self._buffer()) < 1 << 30

    def function(self) -> Function:
        """The kernel to launch: the stage's own where it has one, which is asked for once it is worth it."""
        if self.special is None and special.is_worth(self):
            self.special = special.kernel_of(self)
        own = self.special.function if self.special is not None else None
        if own is not None:
            self._place_matrices()
        return own or compiler.generic(self.ordinal, render.ENTRY)

    def _shared_bytes(self) -> int:
        own = 8 * (self.words + len(layout.Tail) * len(self.tables.nodes))
        own += 4 * self.filter_words * self.marks
        if self.packs:
            own += 4 * layout.PACK_WORDS
        if self.local is not None:
            own += 4 * layout.LOCAL_WORDS
        if self.bits is not None:
            own += 4 * self.bits.own_words
        return own * _WARPS_IN_BLOCK


def filter_words(marks: int, room: int) -> int:
    """u32 of each of so many filters, a power of two: together as many as there is room for, but at least 8 each."""
    words = layout.FILTER_BITS // 32
    while words > 8 and marks * words > room:
        words //= 2
    return words
