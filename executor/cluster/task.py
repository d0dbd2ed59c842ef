"""A task of a query that other processes share (`gdb.executor.cluster.cluster`), and how a worker does it.

A worker keeps the snapshots and plans of its last tasks: those of one query follow one another.
"""

from __future__ import annotations

import socket
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from gdb.base import version, waiting
from gdb.base.once import PerProcess
from gdb.base.usage import Usage
from gdb.errors import Cancelled, ClusterError, StoreError
from gdb.records import dataclass, replace
from gdb.storage.graph.adjacency import I64, U32
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.graph.snapshot_state import State, open_state

from ..choose_device import Backend, choose
from ..nest.bindings import Bindings
from ..nest.prepare import Prepared, between, needs_no_roots, stage
from ..plan.embeddings import Embeddings, Wanted
from ..plan.plan import Plan
from ..work.scheduler import Budget, Watch
from .messages import Channel, Inbox

if TYPE_CHECKING:
    from ..work.place import Place

Range: TypeAlias = tuple[int, int]
Candidates: TypeAlias = tuple[dict[int, U32], dict[int, I64], dict[int, Range]]
"""The candidates and bounds of a `Bindings`."""

Key = TypeVar("Key")
T = TypeVar("T")

MOST_ROWS = 1 << 22  # that a task finds before it gives back the rest
KEPT = 4  # states and plans that a worker keeps for the next task


@dataclass(frozen=True, slots=True)
class Task:
    """One request to a worker: see the module.

    state : of the store. plan : without its stages. number : of the plan, the same in all of its tasks. part : of the
        query, if several plans make it. bindings : candidates and bounds instead of the plan's. roots : the
        range. what : "count", "tallies", "distinct" or "rows". patience : seconds after which what is left is given
        back. version : of gdb. channel : of the query. ticket : the number by which a message names it. place : where
        to begin among the roots, which another task gave back; None: before them. more : small tasks of the same
        query and ticket, done after it.
    """

    state: State
    plan: Plan
    number: str
    part: int
    bindings: Candidates | None
    roots: Range
    what: str
    wanted: Wanted
    device: str
    threads: int
    memory: int | None
    gpu_memory: int | None
    patience: float
    version: str
    channel: Channel
    ticket: int
    place: Place | None = None
    more: tuple[Task, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a worker found in a range of a part: a number, numbers (of each vid; distinct vids), or rows. rest : where
    others go on with what is left of the range. seconds : that it took. stopped : there is no answer, for the query was
    stopped. more : to the other tasks in it."""

    part: int
    roots: Range
    count: int = 0
    numbers: I64 | None = None
    rows: tuple[Embeddings, ...] = ()
    rest: tuple[Place, ...] = ()
    seconds: float = 0.0
    stopped: bool = False
    more: tuple[Answer, ...] = ()


class _Known:
    """Snapshots and plans of the last tasks of this worker."""

    def __init__(self) -> None:
        self.lock = waiting.Lock()
        self.snapshots: OrderedDict[State, Snapshot] = OrderedDict()
        self.plans: OrderedDict[tuple[State, str], Plan] = OrderedDict()

    def plan(self, task: Task) -> tuple[Plan, Snapshot]:
        with self.lock:
            snapshot = _kept(self.snapshots, task.state, lambda: open_state(task.state))
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
    """Do a task and those in it, in the process that this is called in.

    Raises
    ------
    ClusterError : this process cannot read the store, has another version of gdb, or a full disk.
    DeviceError, OutOfBudget, CountOverflow : as of any run.
    """
    own = version.installed_version()
    if own != task.version:
        raise ClusterError(
            f"The worker on {socket.gethostname()} has gdb {own}, but the query runs on {task.version}.",
            "Install the same version everywhere.",
        )
    first = _answered(task)
    return replace(first, more=tuple(map(_answered, task.more))) if task.more else first


def _answered(task: Task) -> Answer:
    """The answer to one task."""
    begun = time.perf_counter()
    inbox = Inbox(task.channel, task.ticket)
    if inbox.is_set():
        return Answer(task.part, task.roots, stopped=True)

    def check() -> None:
        if inbox.is_set():
            raise Cancelled("The query was cancelled.")

    try:
        with Usage() as usage:
            usage.check = check  # also while files are fetched, and the plan is prepared
            answer, rest = _run(task, *_known_here(task), inbox)
    except Cancelled:  # an executor would write an error that is raised into its log
        return Answer(task.part, task.roots, stopped=True)
    except StoreError as error:  # which has a cure of its own
        raise ClusterError(
            f"The worker on {socket.gethostname()} could not do its task: {error}"
        ) from error
    except OSError as error:  # of what it keeps in temporary files, above all
        raise ClusterError(
            f"The worker on {socket.gethostname()} could not do its task: {error}",
            f"Check the disk there, and its free space in {tempfile.gettempdir()} (TMPDIR).",
        ) from error
    return replace(answer, rest=rest, seconds=time.perf_counter() - begun)


def _known_here(task: Task) -> tuple[Plan, Snapshot]:
    """The plan of a task, and the snapshot that it reads."""
    try:
        return _known.get().plan(task)
    except (StoreError, OSError) as error:
        raise ClusterError(
            f"The worker on {socket.gethostname()} cannot read the store: {error}",
            "Keep the store where every worker sees it, under the same path or at a URL, or name the place where they "
            "find it: gdb.Cluster(..., store=).",
        ) from error


def _run(
    task: Task, plan: Plan, snapshot: Snapshot, inbox: Inbox
) -> tuple[Answer, tuple[Place, ...]]:
    """The answer, and where others go on."""
    bindings = None if task.bindings is None else Bindings(*task.bindings)
    # only there a search can continue from a place
    device = task.device if task.place is None else "cpu"
    choice = choose(plan, device, snapshot)
    windows = choice.windows and needs_no_roots(plan, task.memory, shared=True)
    whole = stage(plan, snapshot, bindings, windows=windows)
    prepared = between(whole, *task.roots)
    watch, budget = Watch(None, inbox, None), Budget(task.memory)
    watch.start, watch.until = task.place, time.monotonic() + task.patience
    watch.taken_back = inbox.is_taken_back
    ordinals = None if choice.device == "cpu" else choice.ordinals
    backend = Backend(ordinals, task.threads, task.gpu_memory)
    return _done(task, prepared, backend, watch, budget), tuple(watch.rest)


def _done(task: Task, prepared: Prepared, backend: Backend, watch: Watch, budget: Budget) -> Answer:
    """What the device finds."""
    found: I64 | None = None
    number, rows = 0, list[Embeddings]()

    def keep(part: Embeddings) -> None:
        watch.add_rows(len(part))
        rows.append(replace(part, vids=part.vids.copy(), eids=np.array(part.eids)))

    match task.what:
        case "count":
            (number,) = backend.counts(
                [prepared.plan], lambda _: prepared, watch, budget, alone=True
            )
        case "tallies":
            found = backend.tallies(prepared, watch, budget)
        case "distinct":
            assert task.wanted.once is not None
            vids = backend.distinct(prepared, watch, budget, task.wanted.once)
            found = vids.astype(np.int64)
        case _:
            if backend.ordinals is None:  # only there a search can end at a place
                watch.most_rows = MOST_ROWS
            backend.deliver_rows(prepared, watch, budget, task.wanted, keep)
    return Answer(task.part, task.roots, number, found, tuple(rows))
