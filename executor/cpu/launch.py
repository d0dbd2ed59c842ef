"""Run a prepared stage on a pool of threads through the generic kernel, which releases the GIL."""

from __future__ import annotations

import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from gdb.errors import CountOverflow
from gdb.executor.cpu import address
from gdb.executor.cpu.workers import Worker, scratch_bytes
from gdb.executor.embeddings import Embeddings
from gdb.executor.prepare import Prepared
from gdb.executor.scheduler import Budget, Watch
from gdb.storage.adjacency import I64, U32

# a launch's step budget: about 10 ms, so that a stop is seen in time and costs nothing
STEPS = 2_000_000
ROWS = 1 << 16  # rows of a worker's output buffer
WORTH_A_THREAD = 20_000  # roots and their neighbours; below, handing out work takes longer than it
_pool: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()


@dataclass(slots=True, eq=False)
class _Outcome:
    """What the workers found together."""

    total: int = 0
    vids: list[U32] = field(default_factory=list)
    eids: list[I64] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def count(prepared: Prepared, watch: Watch, budget: Budget, threads: int = 0) -> int:
    """Number of embeddings that the nest counts (without the plan's multiplicity).

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget; CountOverflow : 2^63 or more within one work unit.
    """
    return _run(prepared, watch, budget, threads).total


def rows(
    prepared: Prepared, watch: Watch, budget: Budget, threads: int = 0, capacity: int = ROWS
) -> Embeddings:
    """Embeddings that the nest finds (without twins); `capacity` rows are buffered in each
    worker."""
    found = _run(prepared, watch, budget, threads, capacity)
    plan, tables = prepared.plan, prepared.tables
    n = sum(part.shape[1] for part in found.vids)
    vids = np.empty((n, plan.vertices), np.uint32, order="F")
    for column, vertex in enumerate(tables.vertex_columns):
        if n:
            np.concatenate([part[column] for part in found.vids], out=vids[:, vertex])
    return Embeddings(vids, _eids(found, tables.edge_columns, n, plan.edges))


def _eids(found: _Outcome, columns: tuple[int, ...], n: int, edges: int) -> I64:
    if not columns:
        return np.broadcast_to(np.int64(-1), (n, edges))  # nothing bound: no memory either
    eids = np.full((n, edges), -1, np.int64, order="F")
    for column, edge in enumerate(columns):
        if n:
            np.concatenate([part[column] for part in found.eids], out=eids[:, edge])
    return eids


def _run(
    prepared: Prepared, watch: Watch, budget: Budget, threads: int, capacity: int = 1
) -> _Outcome:
    threads = threads or len(os.sched_getaffinity(0))
    if watch.limit is not None:
        capacity = max(1, min(capacity, watch.limit))
    if prepared.work < WORTH_A_THREAD:
        threads = 1
    outcome = _Outcome()
    if prepared.tables.loops == 0:
        queue = deque([(0, 0)])
    else:
        queue = deque(prepared.cut(threads))
    threads = max(1, min(threads, len(queue)))
    budget.take(threads * scratch_bytes(prepared), "the candidate sets of its workers")
    args = (prepared, queue, watch, budget, outcome, capacity)
    futures = [_threads().submit(_work, *args) for _ in range(threads - 1)]
    try:
        _work(*args)
        for future in futures:
            if not future.cancel():  # one that has not begun finds an empty queue
                future.result()
    except BaseException:
        watch.stopped.set()
        for future in futures:
            if not future.cancel():
                future.exception()
        raise
    watch.check()
    return outcome


def _threads() -> ThreadPoolExecutor:
    """The pool of this process, made when first needed; queries share it, and each also works on the
    thread that asked."""
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="gdb")
        return _pool


def _forget_pool() -> None:
    """A forked child has none of its parent's threads."""
    global _pool, _pool_lock
    _pool, _pool_lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_pool)


def _work(
    prepared: Prepared,
    queue: deque[tuple[int, int]],
    watch: Watch,
    budget: Budget,
    outcome: _Outcome,
    capacity: int,
) -> None:
    """One worker: take units until none is left."""
    worker = _idle(prepared, capacity)
    try:
        while watch.going():
            try:
                start, end = queue.popleft()
            except IndexError:
                break
            worker.begin(start, end)
            while watch.going() and not _launch(worker):
                _drain(worker, watch, budget, outcome)
        _drain(worker, watch, budget, outcome)
    except BaseException:
        watch.stopped.set()
        raise
    with outcome.lock:
        outcome.total += int(worker.control[address.TOTAL])
    prepared.idle.append(worker)


def _idle(prepared: Prepared, capacity: int) -> Worker:
    """A worker of an earlier run of this stage, or a new one."""
    while prepared.idle:
        try:
            worker = prepared.idle.pop()
        except IndexError:  # another thread took it
            break
        wanted = 1 if prepared.tables.counting else capacity
        if isinstance(worker, Worker) and worker.capacity == wanted:
            worker.reset()
            return worker
    return Worker(prepared, capacity)


def _launch(worker: Worker) -> bool:
    """Run for one step budget; whether the unit is done."""
    status = worker.run(STEPS)
    if status == address.OVERFLOW:
        raise CountOverflow(
            "The count exceeds 2^63 - 1 within one work unit.",
            "Ask for a smaller pattern or part of it.",
        )
    return status == address.DONE


def _drain(worker: Worker, watch: Watch, budget: Budget, outcome: _Outcome) -> None:
    """Hand the buffered rows over."""
    n = worker.rows
    if not n:
        return
    vids, eids = worker.taken()
    budget.take(vids.nbytes + eids.nbytes, "its rows")
    with outcome.lock:
        outcome.vids.append(vids)
        outcome.eids.append(eids)
    watch.add_rows(n)
