"""Run a prepared stage on a pool of threads through the generic kernel, which releases the GIL."""

from __future__ import annotations

import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from gdb.errors import RunError
from gdb.executor.cpu import address, kernel
from gdb.executor.embeddings import Embeddings
from gdb.executor.prepare import Prepared
from gdb.executor.scheduler import Budget, Watch, units
from gdb.executor.tables import ViewField
from gdb.storage.adjacency import I64, Adjacency

# a launch's step budget: about 10 ms, so that a stop is seen in time and costs nothing
STEPS = 2_000_000
ROWS = 1 << 16  # rows of a worker's output buffer


@dataclass(slots=True, eq=False)
class _Outcome:
    """What the workers found together."""

    total: int = 0
    vids: list[np.ndarray[tuple[int, int], np.dtype[np.uint32]]] = field(default_factory=list)
    eids: list[np.ndarray[tuple[int, int], np.dtype[np.int64]]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def count(prepared: Prepared, watch: Watch, budget: Budget, threads: int = 0) -> int:
    """Number of embeddings that the nest counts (without the plan's multiplicity)."""
    return _run(prepared, watch, budget, threads).total


def rows(
    prepared: Prepared, watch: Watch, budget: Budget, threads: int = 0, capacity: int = ROWS
) -> Embeddings:
    """Embeddings that the nest finds (without twins); `capacity` rows are buffered in each
    worker."""
    found = _run(prepared, watch, budget, threads, capacity)
    plan, tables = prepared.plan, prepared.tables
    n = sum(len(part) for part in found.vids)
    vids = np.empty((n, plan.vertices), np.uint32)
    eids = np.full((n, plan.edges), -1, np.int64)
    if n:
        vids[:, list(tables.vertex_columns)] = np.concatenate(found.vids)
        if tables.edge_columns:
            eids[:, list(tables.edge_columns)] = np.concatenate(found.eids)
    return Embeddings(vids, eids)


def _run(
    prepared: Prepared, watch: Watch, budget: Budget, threads: int, capacity: int = 1
) -> _Outcome:
    threads = threads or len(os.sched_getaffinity(0))
    outcome = _Outcome()
    if prepared.tables.loops == 0:
        queue = deque([(0, 0)])
    else:
        queue = deque(units(prepared.weights, threads))
    threads = max(1, min(threads, len(queue)))
    budget.take(threads * prepared.tables.buffer * 4, "the candidate sets of its workers")
    if threads == 1:
        _work(prepared, queue, watch, budget, outcome, capacity)
    else:
        with ThreadPoolExecutor(threads, thread_name_prefix="gdb") as pool:
            args = (prepared, queue, watch, budget, outcome, capacity)
            futures = [pool.submit(_work, *args) for _ in range(threads)]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                watch.stopped.set()
                raise
    watch.check()
    return outcome


def _work(
    prepared: Prepared,
    queue: deque[tuple[int, int]],
    watch: Watch,
    budget: Budget,
    outcome: _Outcome,
    capacity: int,
) -> None:
    """One worker: take units until none is left."""
    worker = _Worker(prepared, capacity)
    try:
        while watch.going():
            try:
                start, end = queue.popleft()
            except IndexError:
                break
            worker.begin(start, end)
            while watch.going() and not worker.launch():
                worker.drain(watch, budget, outcome)
        worker.drain(watch, budget, outcome)
    except BaseException:
        watch.stopped.set()
        raise
    with outcome.lock:
        outcome.total += int(worker.control[address.TOTAL])


class _Worker:
    """State and buffers of one thread; the kernel goes on from them at every launch."""

    def __init__(self, prepared: Prepared, capacity: int) -> None:
        tables = prepared.tables
        n = max(len(tables.levels), 1)
        self.prepared, self.capacity = prepared, 1 if tables.counting else capacity
        self.views = _addresses(prepared)
        self.simple = np.array([int(v.simple) for v in prepared.views] or [1], np.int64)
        self.lists = np.array([(x.ctypes.data, len(x)) for x in prepared.lists], np.int64).reshape(
            -1, 2
        )
        self.bits = np.array([b.ctypes.data for b in prepared.bit_sets] or [0], np.int64)
        self.control = np.zeros(address.CONTROL, np.int64)
        self.v, self.address, self.position, self.end, self.start = np.zeros((5, n), np.int64)
        self.set_length = np.zeros(max(len(tables.sets), 1), np.int64)
        self.buffer = np.empty(tables.buffer, np.uint32)
        arrays = (
            *(tables.levels, tables.sets, tables.refs, tables.checks, tables.groups),
            *(self.views, self.simple, self.lists, self.bits, self.v, self.set_length, self.buffer),
        )
        self.pointers = tuple(x.ctypes.data for x in arrays)
        self.out_vids = np.empty((self.capacity, max(len(tables.vertex_columns), 1)), np.uint32)
        self.out_eids = np.empty((self.capacity, max(len(tables.edge_columns), 1)), np.int64)

    def begin(self, start: int, end: int) -> None:
        """Stand before the roots [start, end)."""
        self.control[address.DEPTH] = 0
        self.control[address.ENTERING] = 1
        self.address[0] = self.prepared.roots.ctypes.data
        self.position[0] = self.start[0] = start
        self.end[0] = end

    def launch(self) -> bool:
        """Run for one step budget; whether the unit is done."""
        t = self.prepared.tables
        kernel.run(
            self.pointers,
            t.loops,
            len(t.groups),
            t.counting,
            self.control.ctypes.data,
            self.address.ctypes.data,
            self.position.ctypes.data,
            self.start.ctypes.data,
            self.end.ctypes.data,
            self.out_vids.ctypes.data,
            self.out_vids.shape[1],
            self.out_eids.ctypes.data,
            self.out_eids.shape[1],
            self.capacity,
            STEPS,
        )
        status = self.control[address.STATUS]
        if status == address.OVERFLOW:
            raise RunError(
                "The count exceeds 2^63 - 1 within one work unit.",
                "Ask for a smaller pattern or part of it.",
            )
        return bool(status == address.DONE)

    def drain(self, watch: Watch, budget: Budget, outcome: _Outcome) -> None:
        """Hand the buffered rows over."""
        n = int(self.control[address.ROWS])
        if not n:
            return
        budget.take(self.out_vids[:n].nbytes + self.out_eids[:n].nbytes, "its rows")
        with outcome.lock:
            outcome.vids.append(self.out_vids[:n].copy())
            outcome.eids.append(self.out_eids[:n].copy())
        self.control[address.ROWS] = 0
        watch.add_rows(n)


def _addresses(prepared: Prepared) -> I64:
    """The view table: host addresses of each view's arrays (kept alive by `prepared`)."""
    table = np.zeros((max(len(prepared.views), 1), len(ViewField)), np.int64)
    for i, view in enumerate(prepared.views):
        table[i] = _view_row(view, prepared.eids[i])
    return table


def _view_row(view: Adjacency, eids: I64 | None) -> list[int]:
    return [
        view.first.ctypes.data,
        view.length.ctypes.data,
        view.row.ctypes.data,
        len(view.first),
        view.offsets.ctypes.data,
        view.neighbours.ctypes.data,
        0 if eids is None else eids.ctypes.data,
    ]
