"""A stage on a GPU: its tables, its graph, its warps' states and scratch. Launches go on from them, and further runs of
the stage use them again."""

from __future__ import annotations

import numpy as np

from gdb.errors import LimitExceeded
from gdb.records import dataclass, replace
from gdb.storage.graph.adjacency import I64

from ..nest.by_edge import ByEdge
from ..nest.prepare import Prepared
from ..nest.tables import Tables
from ..plan.embeddings import Wanted
from ..table_fields import LevelField, NodeField, Role, ViewField
from ..work.scheduler import Budget
from . import (
    bits,
    compiler,
    device,
    layout,
    local,
    matrices,
    memory,
    own_arrays,
    pairs,
    placing,
    render,
    residency,
    scratch,
    special,
    supports,
    unit_placing,
)
from .compiler import Call, Function
from .layout import Header, Job
from .memory import Block, DeviceArray, HostArray
from .pass_chain import PassChain
from .pass_notes import PassNotes
from .residency import Room
from .rows import Out
from .units import at_most, cut_node, run_of, share_units
from .warps import IN_BLOCK, Warps

DRAWS = 16  # a warp draws work about so often; each time it draws several units where there are more, but no more than
MOST_AT_ONCE = 16
RESERVED = 1 << 10  # bytes of shared memory that the driver takes for each block
SHARED = 48 << 10  # bytes of shared memory that every device gives a block by default


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


@dataclass(frozen=True, slots=True)
class Share:
    """A device, and which part of the work units is its: run `index` of them, and every `of`-th after that."""

    ordinal: int
    index: int = 0
    of: int = 1


class Stage:
    """A prepared stage placed on the device of its share, which must be the current one.

    wanted : what the query reads of the rows; a stage is used again for equal ones. written : what its kernels write.
    tallied : whether counts are added up for each vertex of the first loop, in `tallies`, u64[vids] on the device.
    accounted : bytes that a run takes from its budget of the host's memory for it, and from that of the device's.
    cold : whether some rows of its graph are read from page-locked memory of the host.
    requested, most : `gpu_memory` of the query that it was placed for, and `residency.MOST` then.
    small_tables : the tables by their place in the job. moved_bytes : what placing it copied to the device.
    passes : see `PassChain`.
    counted : what its triangles are counted for, by edge; `supports` has them, and only its own kernel finds them.
    notes : what passes write of its work units.
    rows : that lie in the buffer of the last launch. total : what all warps counted that have ended.
    """

    def __init__(
        self,
        prepared: Prepared,
        share: Share,
        wanted: Wanted,
        *,
        tallied: bool = False,
        counted: ByEdge | None = None,
    ) -> None:
        self.prepared, self.share, self.wanted, self.tallied = prepared, share, wanted, tallied
        self.counted = counted
        self.ordinal = share.ordinal
        self.tables = prepared.tables
        self.written = self.tables.written(wanted)
        self.kept: list[DeviceArray] = []  # the job names them by address only
        self.job = np.zeros(len(Job), np.int64)
        self.notes = PassNotes(self.job, needed=prepared.streamed is not None)
        self.rows = self.total = 0
        self.accounted, self.moved_bytes = (0, 0), 0
        self.cold = False
        self._with_own = False
        self.requested: int | None = None
        self.most = residency.MOST
        self.special: special.Kernel | None = None
        self.race = special.Race(prepared.runs, (share, wanted, tallied))
        self.supports = None if counted is None else supports.Supports(counted, share.ordinal)
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
        if self.local is not None and self.counted is not None:
            self.local = replace(self.local, supports=True)
        if self._shared_bytes() > SHARED:
            self.local, self.packs = None, False
        self.packs = self.packs and (self.marks > 0 or self.local is not None)
        if self.local is None:
            room = min(shared, SHARED) - self._shared_bytes()
            self.bits = bits.find(prepared, room // IN_BLOCK)
        room = (min(shared, SHARED) - self._shared_bytes()) // IN_BLOCK
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
        self.warps = Warps(
            self.ordinal,
            state=8 * self.words,
            task=8 * (len(layout.TaskField) + len(tables.levels)),
            buffer=4 * self._buffer(),
            scratch=self.scratch,
        )
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

    def place(self, budget: Budget, room: Room) -> None:
        """Account for and allocate everything, and copy what is not there yet.

        Raises
        ------
        OutOfBudget : the stage needs more host memory than `budget`, or not even one warp fits `room`.
        """
        with device.PRESENCE.placing(self.ordinal):
            self._place(budget, room)

    def _place(self, budget: Budget, room: Room) -> None:
        prepared = self.prepared
        each = device.shared_bytes(self.ordinal) // layout.BLOCKS_PER_MULTIPROCESSOR
        self.shape(each - RESERVED)
        before = budget.used, room.used
        self.requested = room.requested
        self.own = own_arrays.Own(budget, room)
        self.graph = placing.Placed(prepared, self.ordinal, budget, room)
        most = self.graph_room(room)
        views = self.graph.place(min(most, self._evicted(room, most)))
        self.cold = self.graph.cold
        values = self.graph.values()
        self._plan_matrices(views, room)
        lists, bits = self._place_lists()
        in_passes, of = bool(self.graph.split.passes), self.share.of
        count, sizes = unit_placing.place_units(self.graph, views, self.own, self.job, of)
        marks = prepared.vids if self.written.once >= 0 else 0
        self.seen = self._marks(Job.SEEN, marks, np.uint8, "the vertices found")
        tallied = prepared.vids if self.tallied else 0
        self.tallies = self._marks(Job.TALLIES, tallied, np.uint64, "a number for each vertex")
        if in_passes:
            known, alone = self.local, of == 1 and not self.tallied
            if known and not self.notes.place_rows(known, sizes, self.own, budget, alone=alone):
                self.local = None
            self.notes.mark(self.graph, count, views[0], self.own)
            longest = prepared.views[0].max_degree
            self.job[Job.WINDOW_VIDS] = self.warps.add_windows(longest)
        if self.supports is not None:
            self.supports.place(self.local, self.graph, self.own, budget, room, self.job)
        self.warps.place(count, budget, room, self.own)
        self.accounted = budget.used - before[0], room.used - before[1]
        self.job[Job.SHARES], self.job[Job.SHARE] = self.share.of, self.share.index
        run = self.job[Job.RUN] = run_of(self.tables)
        units = share_units(count, int(run), self.share.index, self.share.of)
        warps = self.warps.number
        local_graphs = in_passes and self.local is not None and self.local.in_passes
        group = layout.LOCAL_GROUP if local_graphs else layout.UNIT_GROUP if in_passes else 1
        most = layout.WARP_LANES if in_passes else MOST_AT_ONCE
        draws = most if local_graphs else min(max(units // (warps * DRAWS), 1), most)
        groups = -(-draws // group)  # in a batch
        self.job[Job.UNITS], self.job[Job.STRIDE] = units, -(-units // (group * groups))
        self.job[Job.IN_PASSES], self.job[Job.BATCH] = in_passes, groups * group
        self.job[Job.GROUP] = group
        self.job[Job.WARPS] = warps
        placed = {Job.LISTS: lists, Job.BITS: bits, Job.VALUES: values}
        self._place_tables(self.small_tables | placed)
        parameters = np.zeros(layout.MAX_VIEWS * len(ViewField), np.int64)
        parameters[: views.size] = views.ravel()
        self.limits = np.zeros(3, np.int64)  # fresh, steps, nanoseconds
        self.call = Call(np.concatenate([self.job, parameters]), *np.split(self.limits, 3))
        turns = self.graph.turns(views)
        passes = max(len(turns), 1) + self.notes.keeps_rows
        self.headers = self._keep(memory.empty((passes, layout.HEADER_WORDS), np.uint64))
        self.passes = PassChain(
            turns, self.headers, self._keep(memory.empty((passes, -(-warps // 32)), np.uint32))
        )
        self.moved_bytes += self.graph.moved_bytes + self.own.moved_bytes

    def enter(self) -> None:
        """Get memory for the warps, until `warps.leave`."""
        self.warps.enter(self.call.parameters[0])

    @property
    def waiting_bytes(self) -> int:
        """Bytes of its device that the stage alone holds while it does not run."""
        return sum(array.nbytes for array in self.kept) + self.own.device_bytes

    def serves(self, room: Room) -> bool:
        """Whether a query with this account may use the stage: it fits, and has no less of the graph on the device than
        one placed anew would have."""
        if self.accounted[1] > room.left or self.most != residency.MOST:
            return False
        return not self.cold or self.requested == room.requested

    def graph_room(self, room: Room) -> int:
        """Bytes of an account that the views may take: what is left when work units and warps have their shares."""
        own, warps = self._shares(room)
        return max(room.left - own - warps, 0)

    def _shares(self, room: Room) -> tuple[int, int]:
        """Bytes of an account that are held back for work units and candidates, and for warps."""
        prepared = self.prepared
        own = 4 * at_most(prepared, self.share.of) + 8 * len(prepared.roots)
        lists: list[HostArray] = [*prepared.lists, *prepared.bit_sets]
        own += sum(a.nbytes for a in lists)
        warps = self.warps.resident * self.warps.bytes
        return min(own, room.limit // residency.OWN_SHARE), min(
            warps, room.limit // residency.WARP_SHARE
        )

    def _evicted(self, room: Room, most: int) -> int:
        """Let go of what is worth less than this stage, of whose views `most` bytes may be resident: bytes that there
        is room for."""
        own, warps = self._shares(room)
        arrays = placing.lasting(self.prepared)
        there = {id(a): a.nbytes for a in arrays if memory.RESIDENTS.has(a, self.ordinal)}
        known = sum(there.values())
        missing = max(residency.split_views(self.prepared, most).resident - known, 0)
        free = memory.evict(missing + own + warps, self.ordinal, frozenset(there))
        return max(free - own - min(warps, free // 4), 0) + known

    def _marks(
        self, place: Job, count: int, dtype: type[np.generic], what: str
    ) -> own_arrays.Shared | None:
        """An array that kernels mark; None for no elements."""
        if not count:
            return None
        made = self.own.zeros(count, dtype, what)
        self.job[place] = made.address
        return made

    def _buffer(self) -> int:
        """u32 of a warp's buffer: its sets, then the pairs of a local graph."""
        return self.tables.buffer + (self.local.pairs if self.local is not None else 0)

    def _place_lists(self) -> tuple[I64, I64]:
        """The tables of lists and bitsets, whose arrays are placed."""
        prepared, own = self.prepared, self.own
        what = "its candidates"
        roots = self.job[Job.ROOTS] = own.put(prepared.roots, what)
        lists = [
            (roots if x is prepared.roots else own.put(x, what), len(x)) for x in prepared.lists
        ]
        bits = [own.put(b, what) for b in prepared.bit_sets]
        return np.array(lists, np.int64).reshape(-1, 2), np.array(bits, np.int64)

    def _plan_matrices(self, rows: I64, room: Room) -> None:
        """Account for the matrices of bits that the stage's own kernel will read, if it is to have any: they are made
        of whole rows. rows : the table of views."""
        if self.bits is None or self.cold or self.graph.split.lower:
            self.bits = None
            return
        self.view_rows = rows
        views = [self.prepared.views[k] for k in self.bits.views]
        self.matrix_room = matrices.room(views, room, self.ordinal)
        if self.matrix_room:
            none = np.zeros(len(self.prepared.views), np.int64)
            self.job[Job.MATRICES] = self.own.put(none, "which neighbours are adjacent")
        else:
            self.bits = None

    def _place_matrices(self) -> None:
        """Make the matrices of bits, and pass them to the kernel; where there is no memory it goes on over lists."""
        if self.bits is None or not self.matrix_room:
            return
        views = {k: (self.prepared.views[k], self.view_rows[k].tolist()) for k in self.bits.views}
        found = matrices.place_matrices(views, self.matrix_room, self.ordinal)
        self.matrix_room = 0
        self.kept += found.values()
        addresses = np.zeros(len(self.prepared.views), np.int64)
        for k, array in found.items():
            addresses[k] = array.data.ptr
        table = memory.upload(addresses)
        memory.copy_between(int(self.job[Job.MATRICES]), table.data.ptr, addresses.nbytes)

    def _place_tables(self, tables: dict[Job, I64]) -> None:
        """All small tables in one copy, one after another."""
        placed = self._put(Job.LEVELS, np.concatenate([t.ravel() for t in tables.values()]))
        at = placed.data.ptr
        for place, table in tables.items():
            self.job[place] = at
            at += table.nbytes

    def _keep(self, array: DeviceArray) -> DeviceArray:
        self.kept.append(array)
        return array

    def _put(self, place: Job, array: HostArray) -> DeviceArray:
        self.moved_bytes += array.nbytes
        copy = self._keep(memory.upload(array))
        self.job[place] = copy.data.ptr
        return copy

    def _allocate(self, place: Job, shape: tuple[int, ...], dtype: type[np.generic]) -> DeviceArray:
        array = self._keep(memory.empty(shape, dtype))
        self.job[place] = array.data.ptr
        return array

    # ---- running ---------------------------------------------------------------------------------

    def launch(
        self, out: Out | None, block: Block, steps: int, nanoseconds: int, *, fresh: bool
    ) -> tuple[bool, bool, float]:
        """Run for one launch, from the beginning where it is `fresh`: (whether every warp has ended, whether a count
        was too large, seconds on the device).

        Parameters
        ----------
        out : where rows go, after those that lie there; None where none are written. block : for the counters.
        """
        function = self.function(begins=fresh)
        self.passes.run_by(function)
        if fresh:
            self.rows = self.total = 0
            for marks in (self.seen, self.tallies, self.notes, self.supports):
                if marks is not None:
                    marks.clear()
            self.passes.begin(counts=self.notes.keeps_rows and self._with_own)
        elif not self.rows:  # those of a stage that runs in one pass
            (self.headers.data + 8 * Header.ROWS).memset_async(0, 8)
        numbers = self.call.parameters[0]
        if out is not None:
            numbers[Job.OUT_VIDS], numbers[Job.OUT_EIDS] = out.vids, out.eids
            numbers[Job.CAPACITY] = out.capacity
        blocks = -(-self.warps.number // IN_BLOCK)

        def begin(fresh: bool) -> None:
            self.limits[:] = fresh, steps, nanoseconds
            self.call.launch(function, blocks, self.shared)

        clock = memory.Clock()
        try:
            sent = self.passes.send(numbers, begin)
            clock.stop()
            arguments = (self.headers, np.int64(sent), np.int64(block.address))
            compiler.generic(self.ordinal, render.TELL)((1,), (layout.WARP_LANES,), arguments)
        finally:
            memory.settle()  # what was sent reads and writes page-locked memory that others have next
        counters = block.array((layout.HEADER_WORDS,), np.uint64)
        if out is not None:
            self.rows = min(int(counters[Header.ROWS]), out.capacity)
        low, high = (
            int(counters[first :: layout.SUMS_APART].sum()) for first in (Header.LOW, Header.HIGH)
        )
        self.total = low + (high << 32)
        seconds, spent = clock.seconds(), self.prepared.spent
        spent[self.ordinal] = spent.get(self.ordinal, 0.0) + seconds
        done = self.passes.sent(int(counters[Header.PASSES]), round(1e9 * seconds), nanoseconds)
        self.race.add(seconds, ended=done)
        return done, bool(counters[Header.OVERFLOWED]), seconds

    def has_own_kernel(self) -> bool:
        """Whether the kernel that a stage has of its own is there, which is compiled once that is worth it."""
        self.function()
        return self.special is not None and self.special.function is not None

    @property
    def narrow(self) -> bool:
        """Whether 32 bits hold every position in a list."""
        lists = [view.neighbours for view in self.prepared.views]
        longest = max(
            (len(a) for a in (*lists, *self.prepared.lists, self.prepared.roots)), default=0
        )
        return max(longest, self._buffer()) < 1 << 30

    def function(self, *, begins: bool = False) -> Function:
        """The kernel to launch: the stage's own where it has one, which is compiled once it is worth it, and where the
        generic one was not quicker. begins : a run begins with this launch."""
        if self.special is None and (self.notes.needed or special.is_worth(self)):
            self.special = special.kernel_of(self)
        own = special.function_of(self.special, needed=self.notes.needed)
        own = self.race.own(own, begins=begins, whole=self.notes.keeps_rows)
        if begins:
            self._with_own = own is not None
        if own is not None:
            self._place_matrices()
        return own or compiler.generic(self.ordinal, render.ENTRY, cold=self.cold)

    def _shared_bytes(self) -> int:
        own = 8 * (self.words + len(layout.TailField) * len(self.tables.nodes))
        own += 4 * self.filter_words * self.marks
        if self.packs:
            own += 4 * layout.PACK_WORDS
        if self.local is not None:
            own += 4 * self.local.words
        if self.bits is not None:
            own += 4 * self.bits.own_words
        return own * IN_BLOCK


def filter_words(marks: int, room: int) -> int:
    """u32 of each of so many filters, a power of two: together as many as there is room for, but at least 8 each."""
    words = layout.FILTER_BITS // 32
    while words > 8 and marks * words > room:
        words //= 2
    return words
