"""A plan run by other processes: on any `concurrent.futures.Executor`, or a Dask cluster.

A task is a plan, a range of the roots of its first loop, and the state of the store that it reads: some kilobytes,
idempotent, and any process that reads the store's folder can run it, whatever is committed meanwhile. What
comes back is a count, numbers, or rows, and where that took much longer than expected, the places from which others can
go on with what is left, also below one root. The tasks are sized by the planner's estimates.
"""

from __future__ import annotations

import os
import time
import uuid
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import closing
from itertools import count, pairwise
from typing import TYPE_CHECKING

import numpy as np

from gdb.base import version, waiting
from gdb.errors import Cancelled, ClusterError, GdbError
from gdb.records import dataclass, replace
from gdb.storage.graph.adjacency import I64
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.graph.snapshot_state import State, state_of

from ..choose_device import STEP, expected, gpu_seconds
from ..device_names import checked_device
from ..nest.bindings import Given
from ..nest.prepare import stage
from ..plan.embeddings import NO_COLUMNS, Wanted
from ..plan.plan import Plan, Runs
from ..work.scheduler import Watch
from .cancellation import Stop, send, stop_for
from .task import Answer, Range, Task, work

if TYPE_CHECKING:
    from ..options import Options
    from ..plan.source import GraphSource
    from ..work.place import Place

LEAST = 1.0  # seconds that a query is expected to take on one thread from which on it is sent
TASK = 1.0  # seconds of expected work that a task has, where that makes 8 to 32 of them for each worker
# tasks for each worker: those which balance it, and those after which more do not
FEW, MANY = (8, 32)
SMALLEST = (
    0.25  # seconds that a task of the first 8 has at least: to send one takes some milliseconds
)
MOST = 4096  # tasks in all, unless there are more than 512 workers: a scheduler takes about 1 ms for each
AHEAD = 2  # tasks for each worker that are sent at a time: one runs, one waits; Dask takes 20 KB for each
LATE = 3.0  # times as long as expected, after which a task gives back what is left
GIVES_BACK = 0.5  # seconds before which none does
SHARE = 20  # what was given back is given back again after one part in so many of the time that the query has taken
MANY_WARPS = 4096  # of a GPU whose size is unknown here
DESERTED = 60.0  # seconds that a Dask cluster may be without a worker: those that died are begun anew meanwhile
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


# ---- the calling process -------------------------------------------------------------------------


def shares(
    plans: Sequence[Plan], graph: GraphSource, cluster: Cluster, given: Given | None = None
) -> list[float | None]:
    """Seconds that one worker is expected to take for each of the plans that make a query; None where one is better run
    here, which are all if together they take less than `cluster.least`."""
    found = [_seconds(plan, graph, cluster, given) for plan in plans]
    whole = sum(seconds for seconds in found if seconds is not None)
    return found if whole >= cluster.least else [None for _ in found]


def _seconds(plan: Plan, graph: GraphSource, cluster: Cluster, given: Given | None) -> float | None:
    prepared = stage(plan, graph, given)
    if prepared.tables.loops == 0 or len(prepared.roots) < 2:
        return None
    work = expected(plan, prepared)
    if cluster.device == "cpu":
        return STEP * work.steps / max(cluster.threads, 1)
    return gpu_seconds(plan, prepared, work, MANY_WARPS)


class _Part:
    """One of the plans that a query is made of, as tasks are cut from it.

    seconds : that all of it is expected to take one worker.
    """

    def __init__(
        self, number: int, plan: Plan, graph: GraphSource, given: Given | None, seconds: float
    ) -> None:
        prepared = stage(plan, graph, given)
        self.number, self.seconds = number, seconds
        self.plan, self.name = replace(plan, stages={}, runs=Runs(), terms=()), uuid.uuid4().hex
        self.weights = prepared.weights
        self._upto = np.concatenate([[0], np.cumsum(prepared.weights)])

    def expected(self, roots: Range) -> float:
        """Seconds of a range."""
        start, end = roots
        return (
            float(self._upto[end] - self._upto[start]) / max(float(self._upto[-1]), 1.0)
        ) * self.seconds


def parts_of(
    plans: Sequence[Plan], graph: GraphSource, seconds: Sequence[float | None], given: Given | None
) -> list[_Part]:
    """Those plans that other processes do, by what `shares` says of each."""
    return [
        _Part(number, plan, graph, given, expected)
        for number, (plan, expected) in enumerate(zip(plans, seconds, strict=True))
        if expected is not None
    ]


def ranges_of(parts: Sequence[_Part], workers: int) -> list[tuple[_Part, Range]]:
    """What each task does, those of all parts together, the longest first."""
    whole = sum(part.seconds for part in parts)
    wanted = tasks_for(whole, workers)
    found = [
        (part, roots)
        for part in parts
        for roots in cut(part.weights, round(wanted * part.seconds / whole) if whole else wanted)
    ]
    return sorted(found, key=lambda one: -one[0].expected(one[1]))


def tasks_for(seconds: float, workers: int) -> int:
    """Into how many tasks so many seconds of work are cut.

    8 for each worker balance it (largest first, the last to end is late by a task), so down to 0.25 s each there are so
    many. Beyond them, tasks take 1 s each until there are 32 for each worker: after that, only their size grows, and a
    query of an hour costs the scheduler no more than one of a minute.
    """
    balanced = min(FEW * workers, seconds / SMALLEST)
    most = max(FEW * workers, min(MANY * workers, MOST))
    return max(int(min(max(seconds / TASK, balanced), most)), workers)


def ask(
    plans: Sequence[Plan],
    graph: GraphSource,
    options: Options,
    seconds: Sequence[float | None],
    what: str,
    wanted: Wanted,
    watch: Watch,
    given: Given | None,
) -> Generator[Answer, None, None]:
    """The answers of the workers to the plans that a query is made of, each once, as they come. Tasks that run when it
    is closed before the last answer, or raises, are stopped.

    seconds : as `shares` has them.

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
    parts = {part.number: part for part in parts_of(plans, graph, seconds, given)}
    ranges = deque(ranges_of(list(parts.values()), cluster.workers))
    begun = time.monotonic()
    pending: set[Future[Answer]] = set()
    names = count(1)
    deserted = _Deserted(cluster)
    stop = stop_for(cluster.executor)

    def submit(part: _Part, roots: Range, place: Place | None = None) -> None:
        # others are idle for a small share of the time at most, however wrong the estimates are
        patience = (time.monotonic() - begun) / SHARE
        if place is None:
            patience = min(LATE * part.expected(roots), max(LATE * TASK, patience))
        task = task_of(part, roots, state, options, what, wanted, given, patience, stop, place)
        name = f"gdb-{what}-roots-{roots[0]}-{roots[1]}-{part.name}-{next(names)}"
        pending.add(_submitted(cluster, task, name))

    try:
        while pending or ranges:
            while ranges and len(pending) < AHEAD * cluster.workers:
                submit(*ranges.popleft())
            done = waiting.first_of(pending, _LOOK)
            if not watch.going():
                watch.check()
                return
            if not done:
                deserted.check()
            for future in done:
                pending.discard(future)
                answer = _result(future)
                for rest in spread(answer.rest, cluster.workers - len(pending) - len(ranges)):
                    submit(parts[answer.part], answer.roots, rest)
                yield answer
    finally:
        for future in pending:
            future.cancel()
        if pending:
            send(stop, cluster.executor)  # to those that run


def counts(
    plans: Sequence[Plan], graph: GraphSource, options: Options, watch: Watch, given: Given | None
) -> dict[int, int]:
    """The counts of those of some plans that other processes do, all at once, by their numbers. Raises as `ask`."""
    assert options.on is not None
    seconds = shares(plans, graph, options.on, given)
    found = {number: 0 for number, expected in enumerate(seconds) if expected is not None}
    if found:
        options.ran = "cluster"
        with closing(
            ask(plans, graph, options, seconds, "count", NO_COLUMNS, watch, given)
        ) as answers:
            for answer in answers:
                found[answer.part] += answer.count
    return found


class _Deserted:
    """Whether a Dask cluster has no workers left: it would wait for some without end."""

    def __init__(self, cluster: Cluster) -> None:
        self._client = getattr(cluster.executor, "_client", None)
        self._seen = self._looked = time.monotonic()

    def check(self) -> None:
        """Look, once a second. Raises ClusterError after `DESERTED` seconds without a worker."""
        now = time.monotonic()
        if self._client is None or now - self._looked < min(1.0, DESERTED):
            return
        self._looked = now
        if self._client.scheduler_info(n_workers=1)["workers"]:
            self._seen = now
        elif now - self._seen > DESERTED:
            raise ClusterError(
                f"The cluster has had no workers for {now - self._seen:.0f} seconds.",
                "Start some, and run the query again; their logs say why they ended.",
            )


def task_of(
    part: _Part,
    roots: Range,
    state: State,
    options: Options,
    what: str,
    wanted: Wanted,
    given: Given | None,
    patience: float,
    stop: Stop,
    place: Place | None = None,
) -> Task:
    """The task of a range; the arguments are those of `Task`."""
    on = options.on
    assert on is not None
    sent = None if given is None else (dict(given.vertices), dict(given.edges), dict(given.bounds))
    return Task(
        *(state, part.plan, part.name, part.number, sent, roots, what, wanted),
        *(on.device, on.threads, options.memory, options.gpu_memory, max(patience, GIVES_BACK)),
        *(version.installed(), stop, place),
    )


def cut(weights: I64, tasks: int) -> list[Range]:
    """About so many ranges of about equal weight, at least one, and none without roots."""
    n = len(weights)
    tasks = max(min(tasks, n), 1)
    total = np.cumsum(weights)
    marks = np.arange(1, tasks) * (int(total[-1]) / tasks)
    places = np.searchsorted(total, marks) + 1
    ends = np.unique(np.concatenate([[0], places, [n]]).clip(0, n)).tolist()
    return list(pairwise(ends))


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
        answer = waiting.result(future)
    except GdbError:
        raise
    except Exception as error:
        raise ClusterError(
            f"A worker failed: {type(error).__name__}: {error}.",
            "See its log; a worker that is killed again and again may have too little memory.",
        ) from error
    if answer.stopped:
        raise Cancelled("The query was cancelled.")
    return answer
