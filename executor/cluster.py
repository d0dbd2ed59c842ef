"""A plan run by other processes: on any `concurrent.futures.Executor`, or a Dask cluster.

A task is a plan, a range of the roots of its first loop, and the state of the store that it is asked of: some
kilobytes, idempotent, which any process that reads the store's folder can do, whatever is committed meanwhile. What
comes back is a count, numbers, or rows, and where that took much longer than expected, the places from which others can
go on with what is left, also below one root. The tasks are sized by the planner's estimates.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from itertools import count, pairwise
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from gdb.base import version, waiting
from gdb.base.once import PerProcess
from gdb.errors import ClusterError, GdbError, StoreError
from gdb.executor.choose_device import STEP, choose, expected, gpu_seconds
from gdb.executor.device_names import checked_device
from gdb.executor.embeddings import Embeddings, Wanted
from gdb.executor.given import Given
from gdb.executor.plan import Plan, Runs
from gdb.executor.prepare import Prepared, between, stage
from gdb.executor.scheduler import Budget, Watch
from gdb.records import dataclass, replace
from gdb.storage.adjacency import I64, U32
from gdb.storage.snapshot import Snapshot
from gdb.storage.state import State, opened, state_of

if TYPE_CHECKING:
    from gdb.executor.place import Place
    from gdb.executor.run import Options
    from gdb.executor.source import GraphSource

Range: TypeAlias = tuple[int, int]
Candidates: TypeAlias = tuple[dict[int, U32], dict[int, I64], dict[int, Range]]
"""What a `Given` holds."""

Key = TypeVar("Key")
T = TypeVar("T")

LEAST = 1.0  # seconds that a query is expected to take on one thread from which on it is sent
SMALLEST = (
    0.25  # seconds of expected work that a task has at least; to send one takes some milliseconds
)
TASKS = 32  # for each worker, where there is so much work
LATE = 3.0  # times as long as expected, after which a task gives back what is left
GIVES_BACK = 0.5  # seconds before which none does
SHARE = 20  # what was given back is given back again after one part in so many of the time that the query has taken
MOST_ROWS = 1 << 22  # that a task finds before it gives back the rest
MANY_WARPS = 4096  # of a GPU of which nothing is known here
KEPT = 4  # states and plans that a worker keeps for the next task
_LOOK = 0.05  # seconds between two looks at cancel and timeout


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where queries may run beside this process.

    executor : a `concurrent.futures.Executor`: a process pool, Dask's or MPI's. workers : tasks that it runs at a time.
    threads : of each. device : of each, as of a query; DeviceError where there is no such name. least : seconds that a
        query must be expected to take on one thread here to be sent.
    """

    executor: Executor
    workers: int
    threads: int = 1
    device: str = "cpu"
    least: float = LEAST

    def __post_init__(self) -> None:
        object.__setattr__(self, "device", checked_device(self.device))


@dataclass(frozen=True, slots=True)
class Task:
    """What one worker is asked: see the module.

    state : of the store. plan : without its stages. number : of the plan, the same in all of its tasks. given :
        candidates and bounds in place of the plan's (`Given`). roots : the range. what : "count", "tallies", "distinct"
        or "rows". patience : seconds after which what is left is given back. version : of gdb. place : where to begin
        among the roots, which another task gave back; None: before them.
    """

    state: State
    plan: Plan
    number: str
    given: Candidates | None
    roots: Range
    what: str
    wanted: Wanted
    device: str
    threads: int
    memory: int | None
    gpu_memory: int | None
    patience: float
    version: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a worker found in a range: a number, numbers (of each vid; distinct vids), or rows. rest : where others
    go on with what is left of the range. seconds : that it took."""

    roots: Range
    count: int = 0
    numbers: I64 | None = None
    rows: tuple[Embeddings, ...] = ()
    rest: tuple[Place, ...] = ()
    seconds: float = 0.0


def cluster_of(on: object, least: float | None = None) -> Cluster:
    """What `on=` names: a Cluster, an executor, or a Dask client.

    Raises
    ------
    ClusterError : it is none of these, or has no workers.
    """
    if isinstance(on, Cluster):
        return on
    found = None
    if hasattr(on, "get_executor") and hasattr(on, "scheduler_info"):  # dask.distributed.Client
        workers = on.scheduler_info(n_workers=-1)["workers"].values()
        threads = sum(int(worker["nthreads"]) for worker in workers)
        found = Cluster(on.get_executor(pure=False), threads)
    elif isinstance(on, Executor):
        workers = getattr(on, "_max_workers", None)
        client = getattr(on, "_client", None)  # of Dask's executor
        if workers is None and client is not None:
            return replace(cluster_of(client), executor=on)
        found = Cluster(on, int(workers or os.cpu_count() or 1))
    if found is None:
        raise ClusterError(
            f"on= takes an executor, not {type(on).__name__}.",
            "Give a concurrent.futures.ProcessPoolExecutor, a dask.distributed.Client or a gdb.Cluster.",
        )
    if found.workers < 1:
        raise ClusterError("The cluster has no workers.", "Start some, or wait for them.")
    return found if least is None else replace(found, least=least)


# ---- who asks ------------------------------------------------------------------------------------


def shares(plan: Plan, graph: GraphSource, cluster: Cluster, given: Given | None) -> float | None:
    """Seconds that one worker is expected to take for all of a plan; None where it is better run here."""
    prepared = stage(plan, graph, given)
    if prepared.tables.loops == 0 or len(prepared.roots) < 2:
        return None
    work = expected(plan, prepared)
    if cluster.device == "cpu":
        seconds = STEP * work.steps / max(cluster.threads, 1)
    else:
        seconds = gpu_seconds(plan, prepared, work, MANY_WARPS)
    return seconds if seconds >= cluster.least else None


def ask(
    plan: Plan,
    graph: GraphSource,
    options: Options,
    seconds: float,
    what: str,
    wanted: Wanted,
    watch: Watch,
    given: Given | None,
) -> Iterator[Answer]:
    """The answers of the workers, each once, as they come.

    seconds : as `shares` told.

    Raises
    ------
    ClusterError : the store lies where no other process can read it, or workers failed.
    Cancelled, QueryTimeout, and what a worker raised.
    """
    cluster = options.on
    assert cluster is not None
    state = state_of(graph) if isinstance(graph, Snapshot) else None
    if state is None:
        raise ClusterError(
            "A graph that is not committed to a disk cannot be read by other processes.",
            "Commit the transaction, keep the graph in a store on disk, or leave out on=.",
        )
    prepared = stage(plan, graph, given)
    sent = None if given is None else (dict(given.vertices), dict(given.edges), dict(given.bounds))
    alone, number = replace(plan, stages={}, runs=Runs(), terms=()), uuid.uuid4().hex
    ranges = cut(
        prepared.weights,
        min(TASKS * cluster.workers, int(seconds / SMALLEST)),
        cluster,
    )
    total = max(float(prepared.work), 1.0)
    upto = np.concatenate([[0], np.cumsum(prepared.weights)])

    begun = time.monotonic()

    def task(roots: Range, place: Place | None) -> Task:
        if place is None:
            patience = LATE * float(upto[roots[1]] - upto[roots[0]]) / total * seconds
        else:  # nothing is known of it: others are idle for a small share of the time at most
            patience = (time.monotonic() - begun) / SHARE
        return Task(
            *(state, alone, number, sent, roots, what, wanted, cluster.device, cluster.threads),
            *(options.memory, options.gpu_memory, max(patience, GIVES_BACK)),
            *(version.installed(), place),
        )

    pending: set[Future[Answer]] = set()
    names = count(1)

    def submit(roots: Range, place: Place | None = None) -> None:
        name = f"gdb-{what}-roots-{roots[0]}-{roots[1]}-{number}-{next(names)}"
        pending.add(_submitted(cluster, task(roots, place), name))

    try:
        for roots in ranges:
            submit(roots)
        while pending:
            done = waiting.first_of(pending, _LOOK)
            if not watch.going():
                watch.check()
                return
            for future in done:
                pending.discard(future)
                answer = _result(future)
                for rest in spread(answer.rest, cluster.workers - len(pending)):
                    submit(answer.roots, rest)
                yield answer
    finally:
        for future in pending:
            future.cancel()


def cut(weights: I64, tasks: int, cluster: Cluster) -> list[Range]:
    """Ranges of about equal weight, the heaviest first; at least one for each worker where there are so many roots."""
    n = len(weights)
    tasks = max(min(max(tasks, cluster.workers), n), 1)
    total = np.cumsum(weights)
    marks = np.arange(1, tasks) * (int(total[-1]) / tasks)
    places = np.searchsorted(total, marks) + 1
    ends = np.unique(np.concatenate([[0], places, [n]]).clip(0, n)).tolist()
    found = list(pairwise(ends))
    heavy = {(a, b): int(total[b - 1] - (total[a - 1] if a else 0)) for a, b in found}
    return sorted(found, key=lambda r: -heavy[r])


def spread(rest: tuple[Place, ...], idle: int) -> list[Place]:
    """What was given back, cut in halves until there is enough for those who have nothing to do."""
    found = deque(rest)
    whole: list[Place] = []
    while found and len(found) + len(whole) < idle:
        place = found.popleft()
        half = place.halve()
        if half is None:
            whole.append(place)
        else:
            found += (place, half)
    return [*found, *whole]


def _submitted(cluster: Cluster, task: Task, name: str) -> Future[Answer]:
    named = {"key": name} if hasattr(cluster.executor, "_client") else {}  # Dask shows it
    try:
        return cluster.executor.submit(work, task, **named)
    except (RuntimeError, BrokenExecutor) as error:
        raise ClusterError(f"The executor takes no task: {error}.", "Start it anew.") from error


def _result(future: Future[Answer]) -> Answer:
    try:
        return waiting.result(future)
    except GdbError:
        raise
    except Exception as error:
        raise ClusterError(
            f"A worker failed: {type(error).__name__}: {error}.",
            "See its log; a worker that is killed again and again may have too little memory.",
        ) from error


# ---- who works -----------------------------------------------------------------------------------


class _Known:
    """Snapshots and plans that this worker was asked of last."""

    def __init__(self) -> None:
        self.lock = waiting.Lock()
        self.snapshots: OrderedDict[State, Snapshot] = OrderedDict()
        self.plans: OrderedDict[tuple[State, str], Plan] = OrderedDict()

    def plan(self, task: Task) -> tuple[Plan, Snapshot]:
        with self.lock:
            snapshot = _kept(self.snapshots, task.state, lambda: opened(task.state))
            plan = _kept(self.plans, (task.state, task.number), lambda: task.plan)
        return plan, snapshot


def _kept(known: OrderedDict[Key, T], key: Key, make: Callable[[], T]) -> T:
    if key not in known:
        known[key] = make()
        while len(known) > KEPT:
            known.popitem(last=False)
    known.move_to_end(key)
    return known[key]


_known = PerProcess(_Known)


def work(task: Task) -> Answer:
    """Do a task, in the process that this is called in.

    Raises
    ------
    ClusterError : this process cannot read the store, or has another version of gdb.
    DeviceError, OutOfBudget, CountOverflow : as of any run.
    """
    own = version.installed()
    if own != task.version:
        raise ClusterError(
            f"The worker on {socket.gethostname()} has gdb {own}, and {task.version} asks.",
            "Install the same version everywhere.",
        )
    begun = time.perf_counter()
    try:
        plan, snapshot = _known.get().plan(task)
    except (StoreError, OSError) as error:
        raise ClusterError(
            f"The worker on {socket.gethostname()} cannot read the store: {error}",
            "Keep the store where every worker sees it under the same path.",
        ) from error
    given = None if task.given is None else Given(*task.given)
    device = task.device if task.place is None else "cpu"  # only there a search stands at a place
    choice = choose(plan, device, snapshot)
    whole = stage(plan, snapshot, given, windows=choice.windows)
    prepared = between(whole, *task.roots)
    watch, budget = Watch(None, None, None), Budget(task.memory)
    watch.start, watch.until = task.place, time.monotonic() + task.patience
    answer = _done(
        task, prepared, choice.ordinals if choice.device != "cpu" else None, watch, budget
    )
    return replace(answer, rest=tuple(watch.rest), seconds=time.perf_counter() - begun)


def _done(
    task: Task, prepared: Prepared, ordinals: tuple[int, ...] | None, watch: Watch, budget: Budget
) -> Answer:
    """What the device finds: a GPU, or the CPU where `ordinals` is None."""
    rows: list[Embeddings] = []

    def keep(part: Embeddings) -> None:
        watch.add_rows(len(part))
        rows.append(replace(part, vids=part.vids.copy(), eids=np.array(part.eids)))

    if ordinals is None:
        import gdb.executor.cpu.launch as cpu

        match task.what:
            case "count":
                return Answer(task.roots, cpu.count(prepared, watch, budget, task.threads))
            case "tallies":
                return Answer(task.roots, 0, cpu.tallies(prepared, watch, budget, task.threads))
            case "distinct":
                assert task.wanted.once is not None
                found = cpu.distinct(prepared, watch, budget, task.wanted.once, task.threads)
                return Answer(task.roots, 0, found.astype(np.int64))
        watch.most_rows = MOST_ROWS
        cpu.deliver_rows(prepared, watch, budget, task.wanted, keep, task.threads)
        return Answer(task.roots, rows=tuple(rows))
    import gdb.executor.gpu.launch as gpu

    match task.what:
        case "count":
            (number,) = gpu.counts([prepared], watch, budget, ordinals, task.gpu_memory)
            return Answer(task.roots, number)
        case "tallies":
            return Answer(
                task.roots, 0, gpu.tallies(prepared, watch, budget, ordinals, task.gpu_memory)
            )
        case "distinct":
            assert task.wanted.once is not None
            vids = gpu.distinct(
                prepared, watch, budget, task.wanted.once, ordinals, task.gpu_memory
            )
            return Answer(task.roots, 0, vids.astype(np.int64))
    gpu.deliver_rows(
        *(prepared, watch, budget, task.wanted, keep, ordinals, task.threads),
        gpu_memory=task.gpu_memory,
    )
    return Answer(task.roots, rows=tuple(rows))
