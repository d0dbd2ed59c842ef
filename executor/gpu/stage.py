"""A stage on a GPU: its tables, its graph, its warps' states and scratch. Launches go on from them, and further runs of
the stage use them again."""

from __future__ import annotations

import numpy as np

from gdb.errors import LimitExceeded
from gdb.executor.embeddings import Wanted
from gdb.executor.gpu import compiler, device, layout, memory, render, special
from gdb.executor.gpu.compiler import Function
from gdb.executor.gpu.layout import Header, Job
from gdb.executor.gpu.memory import Block, DeviceArray, HostArray
from gdb.executor.gpu.rows import Out
from gdb.executor.prepare import Prepared
from gdb.executor.scheduler import Budget
from gdb.executor.tables import NodeField, Role, Tables, ViewField
from gdb.storage.adjacency import I64, U32, Adjacency

PART = 32  # a root with more neighbours than this is cut into several work units
_ALIGNED = 256  # bytes to which each warp's and each node's scratch is rounded up
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


def work_units(prepared: Prepared) -> tuple[U32, I64]:
    """Each unit's root as a position in `roots`, u32[units], and each root's first unit, i64[roots + 1].

    A unit is one part of about `PART` neighbours of a root, where there is a second loop, or a list of the tail, to be
    cut.
    """
    loops, weights = prepared.tables.loops, prepared.weights
    if loops == 0:
        return np.zeros(1, np.uint32), np.array([0, 1], np.int64)
    cuts = loops > 1 or cut_node(prepared.tables) >= 0
    parts = (weights + PART - 1) // PART if cuts else np.ones(len(weights), np.int64)
    first_unit = np.concatenate([[0], np.cumsum(parts)]).astype(np.int64)
    return np.repeat(np.arange(len(parts), dtype=np.uint32), parts), first_unit


def cut_node(tables: Tables) -> int:
    """The node of the tail whose list may be counted in parts, where there is but one loop: a root, over whose list the
    tail is a sum. -1 where there is none."""
    if tables.loops != 1:
        return -1
    for c, row in enumerate(tables.nodes):
        if row[NodeField.ROLE] == Role.INNER and row[NodeField.PARENT] < 0:
            return c
    return -1


class Stage:
    """A prepared stage placed on device `ordinal`, which must be the current one.

    wanted : what is asked of the rows; a stage is used again where the same is. written : what its kernels write.
    accounted : bytes that a run takes from its budget for it.
    small_tables : the tables by their place in the job. seconds : that its launches took on the device.
    moved_bytes : what placing it copied to the device. rows : that lie in the buffer of the last launch. total : what
        all warps counted that have ended.
    """

    def __init__(self, prepared: Prepared, ordinal: int, wanted: Wanted) -> None:
        self.prepared, self.ordinal, self.wanted = prepared, ordinal, wanted
        self.tables = prepared.tables
        self.written = self.tables.written(wanted)
        self.kept: list[DeviceArray] = []  # the job names them by address only
        self.job = np.zeros(len(Job), np.int64)
        self.rows = self.total = 0
        self.accounted = self.moved_bytes = 0
        self.seconds = 0.0
        self.special: special.Kernel | None = None

    # ---- placing ---------------------------------------------------------------------------------

    def place(self, budget: Budget) -> None:
        """Account for and allocate everything, and copy what is not there yet."""
        tables, prepared = self.tables, self.prepared
        unit_roots, first_unit = work_units(prepared)
        self.words = layout.state_words(len(tables.levels), len(tables.sets))
        self.offsets, self.scratch = _scratch(prepared)
        is_mark = tables.nodes[:, NodeField.ROLE] == Role.MARK
        self.marks = int(is_mark.sum())
        self.filter_words = filter_words(self.marks)
        filters = np.where(is_mark, (np.cumsum(is_mark) - 1) * self.filter_words, 0)
        before = budget.used
        budget.take(prepared.bytes, "its graph on the GPU")
        marks = prepared.vids if self.written.once >= 0 else 0
        extra = unit_roots.nbytes + first_unit.nbytes + marks
        budget.take(extra, "its work units on the GPU")
        free = memory.make_room(prepared.bytes + extra, self._lasting(), self.ordinal)
        self.warps = self._warps(len(unit_roots), free, budget)
        budget.take(self.warps * self._warp_bytes(), "the candidate sets of its warps")
        self.accounted = budget.used - before
        self._place_numbers(len(unit_roots))
        views, lists, bits = self._place_graph()
        self._put(Job.UNIT_ROOTS, unit_roots)
        self._put(Job.FIRST_UNIT, first_unit)
        self._allocate(Job.STATES, (self.warps, self.words), np.int64)
        words = len(layout.Task) + len(tables.levels)
        self._allocate(Job.TASKS, (self.warps, words), np.int64, zero=True)
        self._allocate(Job.BUFFERS, (self.warps, tables.buffer), np.uint32)
        self._allocate(Job.SCRATCH, (self.warps, max(self.scratch, 1)), np.uint8, zero=True)
        self.header = self._allocate(Job.HEADER, (len(Header),), np.uint64)
        self.seen = self._allocate(Job.SEEN, (marks,), np.uint8) if marks else None
        self.small_tables = self._tables(lists, bits, filters.astype(np.int64))
        self._place_tables(self.small_tables)
        room = np.zeros(layout.MAX_VIEWS * len(ViewField), np.int64)
        room[: views.size] = views.ravel()
        numbers = np.concatenate([self.job, room])
        # what a kernel takes by value is one element of a structured type
        self.parameter = numbers.view([("numbers", np.int64, (len(numbers),))])
        self.numbers = numbers  # the same memory: the job that the next launch is given

    def _tables(self, lists: I64, bits: I64, filters: I64) -> dict[Job, I64]:
        tables = self.tables
        return {
            Job.LEVELS: self.written.levels,
            Job.SETS: tables.sets,
            Job.REFS: tables.refs,
            Job.CHECKS: tables.checks,
            Job.NODES: tables.nodes,
            Job.SCRATCH_AT: self.offsets,
            Job.FILTER_AT: filters,
            Job.SIMPLE: np.array([int(v.simple) for v in self.prepared.views], np.int64),
            Job.LISTS: lists,
            Job.BITS: bits,
        }

    def _warp_bytes(self) -> int:
        own = 8 * (self.words + len(layout.Task) + len(self.tables.levels))
        return 4 * self.tables.buffer + own + self.scratch

    def _warps(self, units: int, free: int, budget: Budget) -> int:
        """As many warps as the device holds at once, if there are units and memory for them; at least one."""
        resident = device.multiprocessors(self.ordinal) * layout.BLOCKS_PER_MULTIPROCESSOR
        room = free // 2  # the rest is for what other queries and the pool's rounding need
        if budget.limit is not None:
            room = min(room, (budget.limit - budget.used) // 2)
        return max(1, min(resident * _WARPS_IN_BLOCK, units, room // self._warp_bytes()))

    def _lasting(self) -> list[HostArray]:
        """Arrays that outlive the query: those of the snapshot's partitions."""
        found: list[HostArray] = [e for e in self.prepared.eids if e is not None]
        for view in self.prepared.views:
            found += [view.first, view.length, view.row, view.offsets, view.neighbours]
        return list({id(a): a for a in found}.values())

    def _place_numbers(self, units: int) -> None:
        tables = self.tables
        self.job[Job.LEVEL_COUNT] = len(tables.levels)
        self.job[Job.LOOPS] = tables.loops
        self.job[Job.COUNTING] = tables.counting
        self.job[Job.NODE_COUNT] = len(tables.nodes)
        self.job[Job.VIDS] = self.prepared.vids
        self.job[Job.CUT_NODE] = cut_node(tables)
        self.job[Job.FILTER_BITS] = 32 * self.filter_words
        self.job[Job.FILTER_WORDS] = self.filter_words * self.marks
        self.job[Job.UNITS] = units
        self.job[Job.WARPS] = self.warps
        self.job[Job.STATE_WORDS] = self.words
        self.job[Job.BUFFER_VIDS] = tables.buffer
        self.job[Job.SCRATCH_BYTES] = self.scratch
        self.job[Job.CAPACITY] = 1
        self.job[Job.ONCE] = self.written.once

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
                if not memory.RESIDENTS.has(array, self.ordinal):
                    self.moved_bytes += array.nbytes
                row[column] = self._keep(memory.RESIDENTS.copy_of(array, self.ordinal)).data.ptr
        if len(view.first):
            row[ViewField.FIRST0] = int(view.first[0])
            row[ViewField.LENGTH0] = int(view.length[0])
            row[ViewField.ROW0] = int(view.row[0])
            if self.prepared.restricted:
                row[ViewField.SPLIT] = self._keep(self._split(view, row)).data.ptr
        return row

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
            if self.seen is not None:
                self.seen.data.memset_async(0, self.seen.nbytes)
        elif not self.rows:
            (self.header.data + 8 * Header.ROWS).memset_async(0, 8)
        if out is not None:
            self.numbers[Job.OUT_VIDS], self.numbers[Job.OUT_EIDS] = out.vids, out.eids
            self.numbers[Job.CAPACITY] = out.capacity
        clock = memory.Clock()
        self.function()(
            (-(-self.warps // _WARPS_IN_BLOCK),),
            (layout.BLOCK_THREADS,),
            (self.parameter, np.int64(fresh), np.int64(steps), np.int64(nanoseconds)),
            shared_mem=self._shared_bytes(),
        )
        clock.stop()
        arguments = (self.header, np.int64(told.address))
        compiler.generic(self.ordinal, render.TELL)((1,), (layout.WARP_LANES,), arguments)
        memory.settle()
        counters = told.array((len(Header),), np.uint64)
        if out is not None:
            self.rows = min(int(counters[Header.ROWS]), out.capacity)
        self.total = int(counters[Header.LOW]) + (int(counters[Header.HIGH]) << 32)
        seconds = clock.seconds()
        self.seconds += seconds
        return not counters[Header.UNFINISHED], bool(counters[Header.OVERFLOWED]), seconds

    def function(self) -> Function:
        """The kernel to launch: the stage's own where it has one, which is asked for once it is worth it."""
        if self.special is None and self.seconds > special.WORTH:
            self.special = special.kernel_of(self)
        own = self.special.function if self.special is not None else None
        return own or compiler.generic(self.ordinal, render.ENTRY)

    def _shared_bytes(self) -> int:
        own = 8 * (self.words + len(layout.Tail) * len(self.tables.nodes))
        return (own + 4 * self.filter_words * self.marks) * _WARPS_IN_BLOCK


def filter_words(marks: int) -> int:
    """u32 of each of so many filters: a power of two, fewer where there are many."""
    words = layout.FILTER_BITS // 32
    while marks > 2 and marks * words > layout.FILTER_BITS // 16 and words > 8:
        words //= 2
    return words


def _scratch(prepared: Prepared) -> tuple[I64, int]:
    """Where each node's scratch begins in that of a warp, i64[nodes], and the bytes of a warp's."""
    vids, nodes = prepared.vids, prepared.tables.nodes
    offsets, total = np.zeros(len(nodes), np.int64), 0
    for c, row in enumerate(nodes):
        role, root = int(row[NodeField.ROLE]), int(row[NodeField.PARENT]) < 0
        size = 0
        if role == Role.MARK:
            size = 4 * (vids // 32 + 1)
        elif role == Role.PUSHED:
            size = 12 * vids
        elif role == Role.INNER and not root:
            size = 8 * vids
        offsets[c] = total
        total += -(-size // _ALIGNED) * _ALIGNED
    return offsets, total
