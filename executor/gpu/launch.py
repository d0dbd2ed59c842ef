"""Run a prepared stage on one GPU through the generic kernel: warps are the workers, launches are short.

A running kernel cannot be stopped from outside, so each launch ends after `LAUNCH_NANOSECONDS` with every warp's state
saved; between launches the host drains rows and asks `Watch` whether to go on.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gdb.errors import CountOverflow, InternalError, LimitExceeded
from gdb.executor.embeddings import Embeddings
from gdb.executor.gpu import device, layout, memory, render
from gdb.executor.gpu.layout import Header, Job, Warp
from gdb.executor.gpu.memory import DeviceArray, HostArray
from gdb.executor.prepare import Prepared
from gdb.executor.scheduler import Budget, Watch
from gdb.executor.tables import Tables, ViewField
from gdb.storage.adjacency import I64, U32

LAUNCH_NANOSECONDS = 40_000_000
STEPS = sys.maxsize  # a warp's step budget in one launch; tests make it small to meet every place where a warp may stop
ROWS = 1 << 18  # rows of the output buffer that all warps share
PART = 32  # a root with more neighbours than this is cut into several work units


@dataclass(slots=True, eq=False)
class _Found:
    """What came back from the device."""

    total: int = 0
    vids: list[npt.NDArray[np.uint32]] = field(default_factory=list)
    eids: list[npt.NDArray[np.int64]] = field(default_factory=list)


class _Kernel(Protocol):
    def __call__(
        self, grid: tuple[int], block: tuple[int], args: tuple[object, ...], *, shared_mem: int
    ) -> None: ...


def count(prepared: Prepared, watch: Watch, budget: Budget, ordinal: int = 0) -> int:
    """Number of embeddings that the nest counts (without the plan's multiplicity).

    Raises
    ------
    DeviceError : no such device, it failed, or it has too little memory.
    LimitExceeded : the nest is too deep for the kernel.
    Cancelled, QueryTimeout, OutOfBudget, CountOverflow (2^63 or more in one work unit).
    """
    return _run(prepared, watch, budget, ordinal, 1).total


def rows(
    prepared: Prepared, watch: Watch, budget: Budget, ordinal: int = 0, capacity: int = ROWS
) -> Embeddings:
    """Embeddings that the nest finds (without twins), in no promised order; `capacity` rows are buffered on the device.

    Raises as `count`.
    """
    found = _run(prepared, watch, budget, ordinal, capacity)
    plan, tables = prepared.plan, prepared.tables
    n = sum(len(part) for part in found.vids)
    vids = np.empty((n, plan.vertices), np.uint32)
    eids = np.full((n, plan.edges), -1, np.int64)
    if n:
        vids[:, list(tables.vertex_columns)] = np.concatenate(found.vids)
        if tables.edge_columns:
            eids[:, list(tables.edge_columns)] = np.concatenate(found.eids)
    return Embeddings(vids, eids)


def _run(prepared: Prepared, watch: Watch, budget: Budget, ordinal: int, capacity: int) -> _Found:
    if prepared.nest.has_trees:
        raise InternalError("The GPU was given a tail with query edges.", "Please report it.")
    _check_size(prepared.tables)
    found = _Found()
    unit_roots, first_unit = work_units(prepared)
    with device.on(ordinal):
        if len(unit_roots):
            stage = _Stage(
                prepared, budget, ordinal, _capacity(prepared.tables, watch, budget, capacity)
            )
            stage.place(unit_roots, first_unit)
            while watch.going() and not stage.launch():
                stage.drain(watch, budget, found)
            stage.drain(watch, budget, found)
            found.total = stage.total()
    watch.check()
    return found


def _check_size(tables: Tables) -> None:
    """The state of a block's warps lies in shared memory, which bounds levels and sets."""
    for what, n, most in (
        ("variables", len(tables.levels), layout.MAX_LEVELS),
        ("set operations", len(tables.sets), layout.MAX_SETS),
    ):
        if n > most:
            raise LimitExceeded(
                f"The pattern needs {n} {what}; a GPU runs at most {most}.", 'Use device="cpu".'
            )


def work_units(prepared: Prepared) -> tuple[U32, I64]:
    """Each unit's root as a position in `roots`, u32[units], and each root's first unit, i64[roots + 1].

    A unit is one part of about `PART` neighbours of a root, where there is a second loop to be cut.
    """
    loops, weights = prepared.tables.loops, prepared.weights
    if loops == 0:
        return np.zeros(1, np.uint32), np.array([0, 1], np.int64)
    parts = (weights + PART - 1) // PART if loops > 1 else np.ones(len(weights), np.int64)
    first_unit = np.concatenate([[0], np.cumsum(parts)]).astype(np.int64)
    return np.repeat(np.arange(len(parts), dtype=np.uint32), parts), first_unit


def _row_bytes(tables: Tables) -> int:
    return 4 * max(len(tables.vertex_columns), 1) + 8 * max(len(tables.edge_columns), 1)


def _capacity(tables: Tables, watch: Watch, budget: Budget, wanted: int) -> int:
    """Rows to buffer: at most the query's limit, so that it stops early, and a quarter of the memory left."""
    if tables.counting:
        return 1
    if watch.limit is not None:
        wanted = min(wanted, watch.limit)
    if budget.limit is not None:
        wanted = min(wanted, (budget.limit - budget.used) // 4 // _row_bytes(tables))
    return max(wanted, 1)


@cache
def _kernel(ordinal: int) -> _Kernel:
    """The compiled kernel on the current device; CuPy keeps the machine code on disk."""
    import cupy

    try:
        module = cupy.RawModule(code=render.source(), options=render.OPTIONS)
        kernel: _Kernel = module.get_function(render.ENTRY)
    except (ImportError, OSError) as error:
        raise device.without_compiler(error) from error
    except RuntimeError as error:
        if isinstance(error, cupy.cuda.runtime.CUDARuntimeError | cupy.cuda.driver.CUDADriverError):
            raise
        raise device.without_compiler(error) from error
    return kernel


class _Stage:
    """A stage on the device: its tables, its graph, its warps' states; goes on from them at every launch."""

    def __init__(self, prepared: Prepared, budget: Budget, ordinal: int, capacity: int) -> None:
        self.prepared, self.budget, self.ordinal, self.capacity = (
            prepared,
            budget,
            ordinal,
            capacity,
        )
        self.tables = prepared.tables
        self.kept: list[DeviceArray] = []  # the job names them by address only
        self.job = np.zeros(len(Job), np.int64)
        self.written = 0  # rows that lie in the buffer

    def place(self, unit_roots: U32, first_unit: I64) -> None:
        """Account for and allocate everything, copy the graph, and stand before the first unit."""
        tables, prepared = self.tables, self.prepared
        self.words = layout.state_words(len(tables.levels), len(tables.sets))
        self.budget.take(prepared.bytes, "its graph on the GPU")
        scratch = unit_roots.nbytes + first_unit.nbytes + self.capacity * _row_bytes(tables)
        self.budget.take(scratch, "its work units and rows on the GPU")
        free = memory.make_room(prepared.bytes + scratch, self._lasting(), self.ordinal)
        self.warps = self._warps(len(unit_roots), free)
        self.budget.take(self.warps * self._warp_bytes(), "the candidate sets of its warps")
        self._place_numbers(len(unit_roots))
        self._place_graph()
        self._put(Job.UNIT_ROOTS, unit_roots)
        self._put(Job.FIRST_UNIT, first_unit)
        states = np.zeros((self.warps, self.words), np.int64)
        states[:, Warp.DEPTH] = -1
        self.states = self._put(Job.STATES, states)
        self.header = self._put(Job.HEADER, np.zeros(len(Header), np.int64))
        self._allocate(Job.BUFFERS, (self.warps, tables.buffer), np.uint32)
        columns = (self.capacity, int(self.job[Job.VID_COLUMNS]))
        self.out_vids = self._allocate(Job.OUT_VIDS, columns, np.uint32)
        columns = (self.capacity, int(self.job[Job.EID_COLUMNS]))
        self.out_eids = self._allocate(Job.OUT_EIDS, columns, np.int64)
        self.device_job = memory.upload(self.job)

    def _warp_bytes(self) -> int:
        return 4 * self.tables.buffer + 8 * self.words

    def _warps(self, units: int, free: int) -> int:
        """As many warps as the device holds at once, if there are units and memory for them; at least one."""
        block = layout.BLOCK_THREADS // layout.WARP_LANES
        resident = device.multiprocessors(self.ordinal) * layout.BLOCKS_PER_MULTIPROCESSOR * block
        room = free // 2  # the rest is for what other queries and the pool's rounding need
        if self.budget.limit is not None:
            room = min(room, (self.budget.limit - self.budget.used) // 2)
        return max(1, min(resident, units, room // self._warp_bytes()))

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
        self.job[Job.GROUP_COUNT] = len(tables.groups)
        self.job[Job.UNITS] = units
        self.job[Job.WARPS] = self.warps
        self.job[Job.STATE_WORDS] = self.words
        self.job[Job.BUFFER_VIDS] = tables.buffer
        self.job[Job.CAPACITY] = self.capacity
        self.job[Job.VID_COLUMNS] = max(len(tables.vertex_columns), 1)
        self.job[Job.EID_COLUMNS] = max(len(tables.edge_columns), 1)
        self._put(Job.LEVELS, tables.levels)
        self._put(Job.SETS, tables.sets)
        self._put(Job.REFS, tables.refs)
        self._put(Job.CHECKS, tables.checks)
        self._put(Job.GROUPS, tables.groups)

    def _place_graph(self) -> None:
        prepared = self.prepared
        roots = self._put(Job.ROOTS, prepared.roots)
        views = np.zeros((max(len(prepared.views), 1), len(ViewField)), np.int64)
        for k in range(len(prepared.views)):
            views[k] = self._view_row(k)
        self._put(Job.VIEWS, views)
        self._put(Job.SIMPLE, np.array([int(v.simple) for v in prepared.views] or [1], np.int64))
        lists = [
            roots if x is prepared.roots else self._keep(memory.upload(x)) for x in prepared.lists
        ]
        pairs = [(a.data.ptr, len(x)) for a, x in zip(lists, prepared.lists, strict=True)]
        self._put(Job.LISTS, np.array(pairs or [(0, 0)], np.int64))
        bits = [self._keep(memory.upload(b)).data.ptr for b in prepared.bit_sets]
        self._put(Job.BITS, np.array(bits or [0], np.int64))

    def _view_row(self, k: int) -> list[int]:
        """Row of the view table: device addresses of a view's arrays, in the order of ViewField."""
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
                row[column] = self._keep(memory.RESIDENTS.copy_of(array, self.ordinal)).data.ptr
        return row

    def _keep(self, array: DeviceArray) -> DeviceArray:
        self.kept.append(array)
        return array

    def _put(self, place: Job, array: HostArray) -> DeviceArray:
        copy = self._keep(memory.upload(array))
        self.job[place] = copy.data.ptr
        return copy

    def _allocate(self, place: Job, shape: tuple[int, int], dtype: type[np.generic]) -> DeviceArray:
        array = self._keep(memory.empty(shape, dtype))
        self.job[place] = array.data.ptr
        return array

    def launch(self) -> bool:
        """Run for one launch; whether every warp has ended."""
        warps_in_block = layout.BLOCK_THREADS // layout.WARP_LANES
        _kernel(self.ordinal)(
            (-(-self.warps // warps_in_block),),
            (layout.BLOCK_THREADS,),
            (self.device_job, np.int64(STEPS), np.int64(LAUNCH_NANOSECONDS)),
            shared_mem=8 * self.words * warps_in_block,
        )
        counters = memory.download(self.header)
        if counters[Header.OVERFLOWED]:
            raise CountOverflow(
                "The count exceeds 2^63 - 1 within one work unit.",
                "Ask for a smaller pattern or part of it.",
            )
        self.written = min(int(counters[Header.ROWS]), self.capacity)
        done = not counters[Header.UNFINISHED]
        counters[Header.ROWS] = counters[Header.UNFINISHED] = 0
        self.header.set(counters)
        return done

    def drain(self, watch: Watch, budget: Budget, found: _Found) -> None:
        """Hand the buffered rows over."""
        n, self.written = self.written, 0
        if not n:
            return
        budget.take(n * _row_bytes(self.tables), "its rows")
        found.vids.append(memory.download(self.out_vids, n).astype(np.uint32, copy=False))
        found.eids.append(memory.download(self.out_eids, n).astype(np.int64, copy=False))
        watch.add_rows(n)

    def total(self) -> int:
        """What all warps counted; summed here, where numbers have no end."""
        return sum(memory.download(self.states)[:, Warp.TOTAL].tolist())
