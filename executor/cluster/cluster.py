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
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING

from gdb.base import version, waiting
from gdb.base.machine.cores import cores
from gdb.errors import Cancelled, ClusterError, GdbError
from gdb.records import dataclass, replace
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.graph.snapshot_state import State, state_of

from ..choose_device import STEP, expected, gpu_seconds
from ..device_names import checked_device
from ..nest.bindings import Bindings
from ..nest.prepare import stage
from ..plan.embeddings import NO_COLUMNS, Wanted
from ..plan.plan import Plan, Runs
from ..work.scheduler import Watch
from . import messages
from .dask_client import client_of, executor_of, is_client, why_ended, workers_of
from .messages import Channel
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
TAKES_BACK = 0.05  # seconds between two messages that divide running tasks among idle workers
MANY_BUSY = 10  # as long as fewer workers than one in so many are idle, nothing is divided for them
_EXECUTORS = (
    "Give a concurrent.futures.ProcessPoolExecutor, a dask.distributed.Client or a gdb.Cluster."
)
_LOOK = 0.05  # seconds between two looks at cancel and timeout


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where queries may run beside this process.

    executor : a `concurrent.futures.Executor`: a process pool, Dask's or MPI's; of a `dask.distributed.Client` its
        executor. workers : tasks that it runs at a time. threads : of each. device : of each, as of a query;
        DeviceError where there is no such name. least : seconds that a query must be expected to take on one thread
        here to be sent. store : the folder or URL at which the workers find the store; None: where it is opened here.

    Raises
    ------
    ClusterError : one is none of these, or the client is closed or asynchronous.
    """

    executor: Executor
    workers: int
    threads: int = 1
    device: str = "cpu"
    least: float = LEAST
    store: str | None = None

    def __post_init__(self) -> None:
        if is_client(self.executor):
            object.__setattr__(self, "executor", executor_of(self.executor))
        if not isinstance(self.executor, Executor):
            raise ClusterError(
                f"executor= takes an executor, not {type(self.executor).__name__}.", _EXECUTORS
            )
        if isinstance(self.store, os.PathLike):
            object.__setattr__(self, "store", os.fspath(self.store))
        if self.store is not None and not isinstance(self.store, str):
            raise ClusterError(
                f"store= takes a folder or a URL as a text, not {self.store!r}.",
                "Leave it out where the workers find the store as it is opened here.",
            )
        object.__setattr__(self, "device", checked_device(self.device))
        for name in ("workers", "threads"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ClusterError(f"{name}= takes a whole number from 1, not {value!r}.")
        least = self.least
        if isinstance(least, bool) or not isinstance(least, (int, float)) or not least >= 0:
            raise ClusterError(f"least= takes seconds, 0 or more, not {least!r}.")


def cluster_of(on: object, least: float | None = None) -> Cluster:
    """What `on=` names: a Cluster, an executor, or a Dask client.

    Raises
    ------
    ClusterError : it is none of these, or has no workers.
    """
    if isinstance(on, Cluster):
        return on
    found = None
    if is_client(on):
        executor = executor_of(on)
        threads = sum(int(worker["nthreads"]) for worker in workers_of(on, -1).values())
        if threads < 1:
            raise ClusterError("The cluster has no workers.", "Start some, or wait for them.")
        found = Cluster(executor, threads)
    elif isinstance(on, Executor):
        workers = getattr(on, "_max_workers", None)
        client = client_of(on)
        if workers is None and client is not None:
            return replace(cluster_of(client), executor=on)
        found = Cluster(on, int(workers or os.cpu_count() or 1))
    if found is None:
        raise ClusterError(f"on= takes an executor, not {type(on).__name__}.", _EXECUTORS)
    return found if least is None else replace(found, least=least)


# ---- the calling process -------------------------------------------------------------------------


def shares(
    plans: Sequence[Plan], graph: GraphSource, cluster: Cluster, bindings: Bindings | None = None
) -> list[float | None]:
    """Seconds that one worker is expected to take for each of the plans that make a query; None where one is better run
    here, which are all if together they take less than `cluster.least`.

    They are what the tasks of the last run took. Before there was one they are estimated, and corrected by what the
    last run on this machine's CPU took, as if all of its threads had worked all the time.
    """
    if not all(isinstance(plan.over(graph), Snapshot) for plan in plans):
        # rows or values are vertices (`gdb.planner.extended_graph`), which no store has
        return [None for _ in plans]
    found = [_seconds(plan, graph, cluster, bindings) for plan in plans]
    here = plans[0].runs.last.get("cpu")  # of a count, that of its terms too
    if here is not None and cluster.device == "cpu" and not any(p.runs.worked for p in plans):
        factor = here * cores() / max(cluster.threads, 1) / max(_whole(found), STEP)
        found = [None if seconds is None else seconds * factor for seconds in found]
    return found if _whole(found) >= cluster.least else [None for _ in found]


def _whole(found: Sequence[float | None]) -> float:
    return sum(seconds for seconds in found if seconds is not None)


def _seconds(
    plan: Plan, graph: GraphSource, cluster: Cluster, bindings: Bindings | None
) -> float | None:
    prepared = stage(plan, graph, bindings)
    if prepared.tables.loops == 0 or len(prepared.roots) < 2:
        return None
    known = plan.runs.worked.get(_kind(cluster))
    if known is not None:
        return known / _threads(cluster)
    work = expected(plan, prepared)
    if cluster.device == "cpu":
        return STEP * work.steps / _threads(cluster)
    return gpu_seconds(plan, prepared, work, MANY_WARPS)


def _kind(cluster: Cluster) -> str:
    """Of the device of its workers, as `Runs.worked` has it."""
    return "cpu" if cluster.device == "cpu" else "cuda"


def _threads(cluster: Cluster) -> int:
    """Of each worker, by which work is measured in seconds of one; a GPU counts as one."""
    return max(cluster.threads, 1) if cluster.device == "cpu" else 1


class _Part:
    """One of the plans that a query is made of, as tasks are cut from it.

    seconds : that all of it is expected to take one worker.
    """

    def __init__(
        self, number: int, plan: Plan, graph: GraphSource, bindings: Bindings | None, seconds: float
    ) -> None:
        prepared = stage(plan, graph, bindings)
        self.number, self.seconds = number, seconds
        self.plan, self.name = replace(plan, stages={}, runs=Runs(), terms=()), uuid.uuid4().hex
        self.weights = prepared.weights

    def expected(self, roots: Range) -> float:
        """Seconds of a range."""
        start, end = roots
        weight = self.weights.upto(end) - self.weights.upto(start)
        return weight / max(self.weights.total, 1) * self.seconds


def parts_of(
    plans: Sequence[Plan],
    graph: GraphSource,
    seconds: Sequence[float | None],
    bindings: Bindings | None,
) -> list[_Part]:
    """Those plans that other processes do, by what `shares` says of each."""
    return [
        _Part(number, plan, graph, bindings, expected)
        for number, (plan, expected) in enumerate(zip(plans, seconds, strict=True))
        if expected is not None
    ]


def ranges_of(parts: Sequence[_Part], workers: int) -> list[list[tuple[_Part, Range]]]:
    """What each task does, the longest first: a range of a part, or several that are short together."""
    whole = sum(part.seconds for part in parts)
    wanted = tasks_for(whole, workers)
    found = [
        (part, roots)
        for part in parts
        for roots in part.weights.cut(round(wanted * part.seconds / whole) if whole else wanted)
    ]
    found.sort(key=lambda one: -one[0].expected(one[1]))
    most = (1 + 1e-9) * whole / wanted
    tasks, room = list[list[tuple[_Part, Range]]](), 0.0
    for part, roots in found:
        seconds = part.expected(roots)
        if not tasks or seconds > room:
            tasks.append([])
            room = most
        tasks[-1].append((part, roots))
        room -= seconds
    return tasks


def tasks_for(seconds: float, workers: int) -> int:
    """Into how many tasks so many seconds of work are cut.

    Less than a second is not cut. Of more, 8 tasks for each worker balance it (largest first, the last to end is late
    by a task), so down to 0.25 s each there are so many: with tasks of a second, 10 s on four workers took 1.5 times as
    long (docs/performance.md, "Many workers"). Beyond them, tasks take 1 s each until there are 32 for each worker:
    after that, only their size grows, and a query of an hour costs the scheduler no more than one of a minute.
    """
    if seconds < TASK:
        return 1
    balanced = min(FEW * workers, seconds / SMALLEST)
    most = max(FEW * workers, min(MANY * workers, MOST))
    return int(min(max(seconds / TASK, balanced), most))


def ask(
    plans: Sequence[Plan],
    graph: GraphSource,
    options: Options,
    seconds: Sequence[float | None],
    what: str,
    wanted: Wanted,
    watch: Watch,
    bindings: Bindings | None,
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
    assert isinstance(graph, Snapshot)  # `shares` leaves everything else here
    found = state_of(graph)
    if found is None:
        raise ClusterError(
            "A graph that is not committed to a disk cannot be read by other processes.",
            "Commit the transaction, keep the graph in a store on disk, or leave out on=.",
        )
    state = found.at(cluster.store)
    parts = {part.number: part for part in parts_of(plans, graph, seconds, bindings)}
    ranges = deque(ranges_of(list(parts.values()), cluster.workers))
    begun = time.monotonic()
    pending: dict[Future[Answer], Sent] = {}  # in the order in which they were sent
    tickets, worked = count(1), dict.fromkeys(parts, 0.0)
    deserted = _Deserted(cluster)
    channel = messages.channel_for(cluster.executor)
    idle = _Idle(cluster, channel, begun)

    def task(part: _Part, roots: Range, ticket: int, place: Place | None = None) -> Task:
        # others are idle for a small share of the time at most, however wrong the estimates are
        patience = (time.monotonic() - begun) / SHARE
        if place is None:
            patience = min(LATE * part.expected(roots), max(LATE * TASK, patience))
        sent = task_of(part, roots, state, options, what, wanted, bindings, patience, channel)
        return replace(sent, ticket=ticket, place=place)

    def submit(ticket: int, first: Task, *others: Task) -> None:
        start, end = first.roots
        name = f"gdb-{what}-roots-{start}-{end}-{first.number}-{ticket}"
        sent = replace(first, more=others) if others else first
        pending[_submitted(cluster, sent, name)] = Sent(ticket, time.monotonic())

    try:
        while pending or ranges:
            while ranges and len(pending) < AHEAD * cluster.workers:
                ticket = next(tickets)
                submit(ticket, *(task(part, roots, ticket) for part, roots in ranges.popleft()))
            idle.take_back(pending)
            done = waiting.first_of(pending, _LOOK)
            if not watch.going():
                watch.check()
                return
            if not done:
                deserted.check()
            for future in done:
                pending.pop(future)
                first = _result(cluster, future)
                for answer in (first, *first.more):
                    worked[answer.part] += answer.seconds
                    for rest in spread(answer.rest, cluster.workers - len(pending) - len(ranges)):
                        ticket = next(tickets)
                        submit(ticket, task(parts[answer.part], answer.roots, ticket, rest))
                    yield answer
        for number, spent in worked.items():
            plans[number].runs.worked[_kind(cluster)] = spent * _threads(cluster)
    finally:
        for future in pending:
            future.cancel()
        if pending:
            messages.stop(channel, cluster.executor)  # to those that run


@dataclass(frozen=True, slots=True)
class Sent:
    """A task that was sent: its ticket, and when."""

    ticket: int
    when: float


class _Idle:
    """Finds work for workers that have none when no task waits: those that were sent first are taken back, and what is
    left of them is divided. So the end of a query is not as late as its longest task."""

    def __init__(self, cluster: Cluster, channel: Channel, begun: float) -> None:
        self._cluster, self._channel, self._begun = cluster, channel, begun
        self._asked: set[int] = set()
        self._last = begun

    def take_back(self, pending: Mapping[Future[Answer], Sent]) -> None:
        """Look whether to, again after `TAKES_BACK` seconds and a `SHARE` of the query's time. Neither tasks that were
        sent since then are taken back, which may be short, nor those of a query that may be over before another worker
        has prepared its plan."""
        now = time.monotonic()
        passed = now - self._begun
        late = max(TAKES_BACK, passed / SHARE)
        if (
            not worth_dividing(self._cluster.workers, len(pending), passed)
            or now < self._last + late
        ):
            return
        self._asked &= {sent.ticket for sent in pending.values()}
        long = [sent.ticket for sent in pending.values() if now - sent.when > late]
        more = [ticket for ticket in long if ticket not in self._asked]
        if more:
            self._last = now
            self._asked.update(more[: most_taken_back(passed)])
            messages.take_back(self._channel, self._cluster.executor, sorted(self._asked))


def worth_dividing(workers: int, busy: int, seconds: float) -> bool:
    """Whether enough workers are idle, of a query that has taken so many seconds, to take tasks back for them."""
    return workers - busy >= max(1.0, workers / MANY_BUSY) and seconds >= SMALLEST


def most_taken_back(seconds: float) -> int:
    """How many tasks of a query that has taken so many seconds are taken back at a time: the caller needs milliseconds
    for each, and some times as many for what it divides them into."""
    return max(1, int(seconds))


def counts(
    plans: Sequence[Plan],
    graph: GraphSource,
    options: Options,
    watch: Watch,
    bindings: Bindings | None,
) -> dict[int, int]:
    """The counts of those of some plans that other processes do, all at once, by their numbers. Raises as `ask`."""
    assert options.on is not None
    seconds = shares(plans, graph, options.on, bindings)
    found = {number: 0 for number, expected in enumerate(seconds) if expected is not None}
    if found:
        options.ran = "cluster"
        with closing(
            ask(plans, graph, options, seconds, "count", NO_COLUMNS, watch, bindings)
        ) as answers:
            for answer in answers:
                found[answer.part] += answer.count
    return found


class _Deserted:
    """Whether a Dask cluster has no workers left: it would wait for some without end."""

    def __init__(self, cluster: Cluster) -> None:
        self._client = client_of(cluster.executor)
        self._seen = self._looked = time.monotonic()

    def check(self) -> None:
        """Look, once a second. Raises ClusterError after `DESERTED` seconds without a worker, and as `workers_of`."""
        now = time.monotonic()
        if self._client is None or now - self._looked < min(1.0, DESERTED):
            return
        self._looked = now
        if workers_of(self._client, 1):
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
    bindings: Bindings | None,
    patience: float,
    channel: Channel,
) -> Task:
    """The task of a range, without a ticket; the arguments are those of `Task`."""
    on = options.on
    assert on is not None
    sent = (
        None
        if bindings is None
        else (dict(bindings.vertices), dict(bindings.edges), dict(bindings.bounds))
    )
    return Task(
        *(state, part.plan, part.name, part.number, sent, roots, what, wanted),
        *(on.device, on.threads, options.memory, options.gpu_memory, max(patience, GIVES_BACK)),
        *(version.installed_version(), channel, 0),
    )


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
    named = {} if client_of(cluster.executor) is None else {"key": name}  # Dask shows it
    try:
        return cluster.executor.submit(work, task, **named)
    except Exception as error:  # whatever the library of the executor raises
        raise why_ended(cluster.executor, error) or ClusterError(
            f"The executor takes no task: {type(error).__name__}: {error}.", "Start it anew."
        ) from error


def _result(cluster: Cluster, future: Future[Answer]) -> Answer:
    try:
        answer = waiting.result(future)
    except GdbError:
        raise
    except Exception as error:
        raise why_ended(cluster.executor, error) or ClusterError(
            f"A worker failed: {type(error).__name__}: {error}.",
            "See its log; a worker that is killed again and again may have too little memory.",
        ) from error
    if answer.stopped or any(one.stopped for one in answer.more):
        raise Cancelled("The query was cancelled.")
    return answer
