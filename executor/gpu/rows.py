"""Rows on their way from a GPU: to the host, part by part while kernels go on, or into columns that stay on the device.

Launches write rows into a buffer, in no order, each column contiguous (GENEVA: a warp reserves room for its rows by one
atomic addition). A full buffer stops the launch, never the rows: the next one goes on with another buffer. So memory
bounds how many rows are on their way, and never how many there are.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Literal, Protocol, TypeAlias

import numpy as np

from gdb.base import usage, waiting
from gdb.errors import InternalError
from gdb.records import dataclass
from gdb.storage.graph.adjacency import U32

from ..nest.tables import Written
from ..plan.embeddings import Deliver, Embeddings, Wanted
from ..plan.plan import Twin
from ..work.scheduler import Budget, Watch, helpers_of_all
from . import compiler, layout, memory, render
from .memory import Block, DeviceArray, Event, HostArray
from .residency import Room

OUTS = 2  # buffers on the device: one is written while the other is copied
BLOCKS = 4  # page-locked ones on the host: one is copied to while others are read
LEAST_PART, MOST_PART = 1 << 16, 1 << 20  # rows that are handed over at once, where there are more
SHARE = 4  # of the host's memory that is left at most this part is for buffers
_GRID = 1 << 12  # blocks of a kernel that strides over rows

_Part: TypeAlias = "tuple[_Load, int, int]"  # the rows [start, stop) of a load


class Out:
    """A buffer on the current device that launches write rows into, one column after another.

    capacity : rows. vids, eids : addresses of its columns of vertices, u32[columns, capacity], and of edges,
        i64[columns, capacity].
    copied : when what lay in it has been copied; None where nothing is.
    """

    def __init__(self, columns: Wanted, capacity: int) -> None:
        self.columns, self.capacity = columns, capacity
        edges = 8 * len(columns.edges) * capacity
        size = edges + 4 * len(columns.vertices) * capacity
        self._memory = memory.empty((max(size, 1),), np.uint8)
        self.eids = self._memory.data.ptr
        self.vids = self.eids + edges
        self.copied: Event | None = None

    def vertex(self, vertex: int) -> int:
        """Address of the column of a query vertex."""
        return self.vids + 4 * self.capacity * self.columns.vertices.index(vertex)

    def edge(self, edge: int) -> int:
        """Address of the column of a query edge."""
        return self.eids + 8 * self.capacity * self.columns.edges.index(edge)


class Sink(Protocol):
    """Where the rows of a run go."""

    def room(self) -> Out:
        """The buffer for the next launch; the device waits until it may be written, the host does not."""

    def take(self, out: Out, rows: int) -> None:
        """The first rows of the buffer that was given last; another is given next."""


# ---- to the host -----------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Load:
    """A block of rows. arrived : when they are there. left : parts that were not handed over yet."""

    block: Block
    arrived: Event
    rows: Embeddings
    left: int


class Drain:
    """Brings rows to the host and hands them over, in parts, from several threads; a context manager.

    What a launch wrote is copied to a page-locked block on a stream of its own, while the next launch writes into the
    other buffer. The threads that hand over parts take them from one queue: helpers from the pool, and the thread that
    runs the query whenever it has to wait, so that it depends on no other. With `BLOCKS` blocks in use it waits: that
    is the only back-pressure.

    At the end of the `with` block all rows have been handed over or, where the run was stopped, dropped; nothing is
    copied any more, and what `deliver` raised is raised.

    Parameters
    ----------
    written : what the rows consist of. capacity : rows of each buffer.
    deliver : takes the parts. threads : that may call it at once.
    """

    def __init__(
        self,
        written: Written,
        capacity: int,
        deliver: Deliver,
        watch: Watch,
        ordinal: int,
        threads: int,
    ) -> None:
        self._columns, self._row_bytes = written.columns, written.row_bytes
        self._deliver, self._watch, self._threads = deliver, watch, threads
        self._outs = [Out(written.columns, capacity) for _ in range(OUTS)]
        self._copies = memory.copies(ordinal)
        self._turn = 0
        self._state = threading.Condition()  # of what follows
        self._parts: deque[_Part] = deque()
        self._held = 0  # blocks in use
        self._error: BaseException | None = None
        self._helpers: list[Future[None]] = []  # called and not known to be gone

    def __enter__(self) -> Drain:
        return self

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        if error is not None:
            self._watch.stopped.set()
        self._finish()
        if error is not None:
            self._copies.settle()  # it may have struck between a copy's begin and its place in the queue
        elif self._error is not None:
            raise self._error

    # ---- the thread that launches ----------------------------------------------------------------

    def room(self) -> Out:
        """See `Sink`."""
        out = self._outs[self._turn]
        if out.copied is not None:
            memory.wait_for(out.copied)
        return out

    def take(self, out: Out, rows: int) -> None:
        """See `Sink`; where the run has been stopped, the rows are dropped."""
        self._turn = (self._turn + 1) % OUTS
        if not self._wait_for_a_block():
            return
        block = memory.LOCKED.take(rows * self._row_bytes)
        out.copied = self._copies.to_host(self._pieces(out, rows, block))
        edges, vertices = len(self._columns.edges), len(self._columns.vertices)
        eids = block.array((edges, rows), np.int64)
        vids = block.array((vertices, rows), np.uint32, eids.nbytes)
        table = Embeddings(vids.T, eids.T, kept=self._columns)
        size = min(max(-(-rows // self._threads), LEAST_PART), MOST_PART)
        starts = range(0, rows, size)
        load = _Load(block, out.copied, table, len(starts))
        with self._state:
            self._parts += [(load, start, min(start + size, rows)) for start in starts]
            ready = len(self._parts)
        self._helpers = [helper for helper in self._helpers if not helper.done()]
        # one part can wait for this thread: to call a helper for it takes longer
        for _ in range(min(self._threads - 1 - len(self._helpers), ready - 1)):
            self._helpers.append(helpers_of_all().submit(usage.carry_usage(self._help)))

    def _pieces(self, out: Out, rows: int, block: Block) -> Iterator[tuple[int, int, int]]:
        """What is to be copied of a buffer: its columns, which lie without gaps in the block."""
        at = block.address
        for edge in self._columns.edges:
            yield at, out.edge(edge), 8 * rows
            at += 8 * rows
        for vertex in self._columns.vertices:
            yield at, out.vertex(vertex), 4 * rows
            at += 4 * rows

    def _wait_for_a_block(self) -> bool:
        """Hand parts over until a block may be used; False where the run has been stopped."""
        while self._watch.going():
            with self._state:
                if self._held < BLOCKS:
                    self._held += 1
                    return True
                if not self._parts:
                    self._state.wait(0.01)  # a cancel notifies no waiter
                    continue
                part = self._parts.popleft()
            self._hand_over(*part)
        return False

    def _finish(self) -> None:
        """Hand over what is left, and wait for the helpers."""
        while True:
            with self._state:
                part = self._parts.popleft() if self._parts else None
            if part is None:
                break
            self._hand_over(*part)
        for helper in self._helpers:
            if not helper.cancel():  # one that has not begun finds an empty queue
                waiting.result(helper)

    # ---- any thread --------------------------------------------------------------------------------

    def _help(self) -> None:
        """Hand parts over until none is left."""
        while True:
            with self._state:
                if not self._parts:
                    return
                part = self._parts.popleft()
            self._hand_over(*part)

    def _hand_over(self, load: _Load, start: int, stop: int) -> None:
        """Hand over a part of a load; its block is free after the last."""
        try:
            load.arrived.synchronize()
            if self._watch.going():
                self._deliver(load.rows.part(start, stop))
        except BaseException as error:
            self._watch.stopped.set()
            with self._state:
                self._error = self._error or error
        with self._state:
            load.left -= 1
            if load.left == 0:
                self._held -= 1
                memory.LOCKED.give(load.block)
                self._state.notify_all()


# ---- on the device ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """A column of ids that the query returns on the device.

    element, index : query vertex or query edge number `index`.
    ids : the user's id of each vid, i64[vids]; None for an edge, whose id it is already.
    """

    element: Literal["vertex", "edge"]
    index: int
    ids: HostArray | None = None


class Gathered:
    """Keeps rows on the device, as columns of ids; twins are written out there.

    rows : how many there are.
    """

    def __init__(
        self,
        written: Written,
        capacity: int,
        picks: Sequence[Pick],
        twins: Sequence[Twin],
        watch: Watch,
        room: Room,
        ordinal: int,
    ) -> None:
        self._out = Out(written.columns, capacity)
        self._picks, self._twins = picks, twins
        self._watch, self._room, self._ordinal = watch, room, ordinal
        self._pieces: list[list[DeviceArray]] = [[] for _ in picks]
        self.rows = 0

    def room(self) -> Out:
        """See `Sink`; what is made of the buffer is made on the stream that writes it."""
        return self._out

    def take(self, out: Out, rows: int) -> None:
        """See `Sink`."""
        for twin in self._twins or (None,):
            granted = self._watch.grant(rows)
            if not granted:
                break
            self._account(granted * len(self._picks))
            for pick, pieces in zip(self._picks, self._pieces, strict=True):
                pieces.append(self._column(pick, twin, out, granted))
            self.rows += granted

    def columns(self) -> list[DeviceArray]:
        """The columns, i64[rows] each, complete when this returns."""
        found = []
        for pieces in self._pieces:
            if len(pieces) != 1:
                self._account(self.rows)
                whole = memory.empty((self.rows,), np.int64)
                at = whole.data.ptr
                for piece in pieces:
                    memory.copy_between(at, piece.data.ptr, piece.nbytes)
                    at += piece.nbytes
                pieces[:] = [whole]  # the memory of the others goes to the next column
            found += pieces
        memory.settle()
        return found

    def _account(self, ids: int) -> None:
        self._room.take(8 * ids, "its rows")
        cure = "Add a LIMIT, return fewer columns, or take the rows on the host: execute()."
        memory.make_room(8 * ids, self._ordinal, cure)

    def _column(self, pick: Pick, twin: Twin | None, out: Out, rows: int) -> DeviceArray:
        """The ids of one column of a buffer, i64[rows]."""
        found = memory.empty((rows,), np.int64)
        if pick.element == "edge":
            edge = pick.index if twin is None else twin.edges[pick.index]
            memory.copy_between(found.data.ptr, out.edge(edge), 8 * rows)
            return found
        vertex = pick.index if twin is None else twin.vertices[pick.index]
        look_up(out.vertex(vertex), rows, pick, self._ordinal, found)
        return found


def looked_up(vids: U32, picks: Sequence[Pick], room: Room, ordinal: int) -> list[DeviceArray]:
    """The user's ids of vids that are on the host, as columns on the current device, i64[n] each."""
    room.take(8 * len(vids) * len(picks), "its rows")
    uploaded = memory.upload(vids)
    found = [memory.empty((len(vids),), np.int64) for _ in picks]
    for pick, column in zip(picks, found, strict=True):
        if len(vids):
            look_up(uploaded.data.ptr, len(vids), pick, ordinal, column)
    memory.settle()
    return found


def look_up(vids: int, rows: int, pick: Pick, ordinal: int, out: DeviceArray) -> None:
    """Write the user's id of each vid, u32[rows] at an address of the current device, into i64[rows]."""
    if pick.ids is None:
        raise InternalError("A column of vertices has no ids.", "Please report it.")
    ids = memory.RESIDENTS.copy_of(pick.ids, ordinal)
    grid = min(-(-rows // layout.BLOCK_THREADS), _GRID)
    arguments = (np.int64(vids), np.int64(rows), ids, out)
    compiler.generic(ordinal, render.LOOK_UP)((grid,), (layout.BLOCK_THREADS,), arguments)


def on_host(written: Written, budget: Budget, capacity: int, blocks: int) -> int:
    """Rows of one of so many page-locked blocks, at most `capacity`, accounted for."""
    if budget.limit is not None:
        most = (budget.limit - budget.used) // SHARE // blocks
        most = 1 << max(most, 1).bit_length() - 1
        capacity = max(min(capacity, most // max(written.row_bytes, 1)), 1)
    budget.take(blocks * capacity * written.row_bytes, "rows on their way from the GPU")
    return capacity
