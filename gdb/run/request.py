"""The request: a query as it was called, the clock that times its steps, and all else that these need."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextvars import Token
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, TypeVar

from gdb.base.budget import WRITES
from gdb.base.usage import Usage
from gdb.errors import QueryTimeout
from gdb.executor.device_names import AUTO, CPU
from gdb.imports import deferred
from gdb.limits import NONE, OF_DATABASE
from gdb.records import dataclass, field
from gdb.run.late_interrupt import Outcome
from gdb.storage.format.direction import Direction

if TYPE_CHECKING:
    from pathlib import Path

    from gdb.answer.result import Result
    from gdb.base.allowance import Allowance
    from gdb.executor import run as executor
    from gdb.executor.cluster.cluster import Cluster
    from gdb.executor.relational.relational_tail import Value
    from gdb.language.clauses import Query
    from gdb.language.procedure_signatures import Procedure
    from gdb.query_graph import MatchMode, QueryGraph
    from gdb.run.statements import Statement, Statements
    from gdb.storage.graph.snapshot import Snapshot
    from gdb.storage.importer.report import LoadReport
    from gdb.storage.write.transaction import Changes
else:
    executor = deferred("gdb.executor.run")  # `import gdb` stays light

T = TypeVar("T")
Load: TypeAlias = "Callable[..., LoadReport]"
"""`Database.load`."""


# not frozen: each query makes one, and a frozen one takes four times as long to make
@dataclass(slots=True)
class Request:
    """One query as it was called, its arguments checked (`gdb.run.options`).

    memory : bytes, None for no budget. gpu_memory : bytes of each GPU, None for a share of what is free.
    timeout : seconds from the start, None for none.
    import_root : the folder in which files that it reads must lie, None for any.
    procedures : what CALL finds, by name. load : `Database.load`, which COPY is; None where nothing can be loaded.
    limits : those that the database has of its own. outcome : whether what it wrote is committed.
    on : other processes that share its work. plain : it came with no option of its own, and its database has no limits.
    """

    text: str
    parameters: Mapping[str, Value]
    mode: MatchMode
    cancel: threading.Event
    device: str = "auto"
    threads: int = 0
    memory: int | None = None
    timeout: float | None = None
    import_root: Path | None = None
    procedures: Mapping[str, Procedure] = field(default_factory=dict)
    load: Load | None = None
    limits: Mapping[str, float] | None = None
    outcome: Outcome = field(default_factory=Outcome)
    on: Cluster | None = None
    gpu_memory: int | None = None
    plain: bool = False

    def options(
        self,
        timeout: float | None,
        profile: executor.Profile | None = None,
    ) -> executor.Options:
        """How its patterns are run. timeout : seconds left."""
        first = self.device, self.threads, self.memory, timeout, self.cancel, profile, self.on
        return executor.Options(*first, gpu_memory=self.gpu_memory)


@dataclass(slots=True)
class Clock:
    """Seconds by step; a deadline and a cancel event, looked at between steps. The steps are in its `with` block, which
    names the timeout that was set in a QueryTimeout: who raises one knows only what is left of it.

    limits : those that the database has of its own, which hold in the block (`gdb.limits`).
    memory : bytes that it may hold, None for no bound.
    outcome : of the request, for what Cancelled says. goes_on : whether its last step has begun: nothing stops it.
    waited_from : when it began to wait until another thread has written, None where it does not.
    usage : what the steps used; what they waited for machine code is a step of its own, "compile".
    """

    cancel: threading.Event
    timeout: float | None
    limits: Mapping[str, float] | None = None
    memory: int | None = None
    outcome: Outcome = field(default_factory=Outcome)
    goes_on: bool = field(default=False, init=False)
    begun: float = field(default_factory=time.monotonic)
    seconds: dict[str, float] = field(default_factory=dict)
    waited_from: float | None = None
    usage: Usage = field(init=False)
    _around: Token[Mapping[str, float]] = field(init=False)

    def __post_init__(self) -> None:
        self.usage = Usage(self.memory)

    def __enter__(self) -> Self:
        self.usage.__enter__()
        self.usage.check = self.check
        self._around = OF_DATABASE.set(self.limits or NONE)
        return self

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        self.usage.opened = None
        self.usage.check = None  # or both would be garbage that only a collection finds
        OF_DATABASE.reset(self._around)
        self.usage.__exit__()
        if isinstance(error, QueryTimeout) and self.timeout is not None:
            raise self._late() from None

    def _late(self) -> QueryTimeout:
        if self.waited_from is not None:
            waited = time.monotonic() - self.waited_from
            return QueryTimeout(
                f"the query has waited {waited:.2g} s for the transaction of another thread, and has not begun.",
                "End that transaction first, or raise timeout=.",
            )
        return QueryTimeout(
            f"the query ran longer than its timeout of {self.timeout:g} s.",
            "Raise timeout=, or make the query do less.",
        )

    @property
    def deadline(self) -> float | None:
        """When the time is over, on the clock of `begun` in seconds; None without a timeout."""
        return None if self.timeout is None else self.begun + self.timeout

    def left(self) -> float | None:
        """Seconds until the deadline; a moment where none are left."""
        return None if self.deadline is None else max(self.deadline - time.monotonic(), 1e-3)

    def over(self) -> bool:
        """Whether it was cancelled, or is past its deadline."""
        if self.cancel.is_set():
            return True
        return self.timeout is not None and time.monotonic() > self.begun + self.timeout

    def check(self) -> float:
        """What time.monotonic() is.

        Raises
        ------
        Cancelled, QueryTimeout : the query is to go no further.
        """
        now = time.monotonic()
        if self.goes_on:
            return now
        if self.cancel.is_set():
            raise self.outcome.cancelled()
        if self.timeout is not None and now > self.begun + self.timeout:
            raise self._late()
        return now

    def step(self, name: str, work: Callable[[], T]) -> T:
        """Do a step, and note its seconds.

        Raises
        ------
        Cancelled, QueryTimeout : before it; a step that has begun is not looked after here.
        """
        begun = self.begin()
        value = work()
        self.end(name, begun)
        return value

    def last_step(self, name: str, work: Callable[[], T]) -> T:
        """As `step`; from its beginning on nothing stops the query any more, neither in it nor behind it: a commit."""

        def unstopped() -> T:
            self.goes_on = True
            return work()

        return self.step(name, unstopped)

    def begin(self) -> tuple[float, float]:
        """As before a step whose work follows; what `end` needs when it is done."""
        watched = self.timeout is not None or self.cancel.is_set()
        return self.check() if watched else time.monotonic(), self.usage.compile_seconds

    def end(self, name: str, begun: tuple[float, float]) -> None:
        """Note the seconds of the step that began then."""
        seconds, (then, before) = self.seconds, begun
        spent, compiled = time.monotonic() - then, self.usage.compile_seconds - before
        if compiled:
            spent = max(spent - compiled, 0.0)
            seconds["compile"] = seconds.get("compile", 0.0) + compiled
        seconds[name] = seconds.get(name, 0.0) + spent


@dataclass(slots=True, eq=False)
class QueryRun:
    """One query on its way, as all steps of it need it.

    request : the query; while its text runs by its shape, that (`gdb.run.query_cache`). take : gives the graph.
    statements : where what is understood and planned is kept, and found when the text comes again.
    change : how a query that writes does so; None refuses it. copy : how COPY runs; None where it cannot.
    run : what runs a statement; None for `pipeline.run_statement`. explains : nothing of it runs.
    """

    request: Request
    take: Callable[[], Snapshot]
    statements: Statements
    change: Change | None = None
    copy: Copying | None = None
    run: StatementRun | None = None
    explains: bool = False
    clock: Clock = field(init=False)
    _taken: Snapshot | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        request = self.request
        limits, memory, outcome = request.limits, request.memory, request.outcome
        self.clock = Clock(request.cancel, request.timeout, limits, memory, outcome)

    @property
    def snapshot(self) -> Snapshot:
        """The graph as it is when the run first needs it."""
        if self._taken is None:
            self._taken = self.take()
        return self._taken

    def copy_ahead(self, graph: QueryGraph, *, runs: bool) -> None:
        """From now on, where it runs, have what is read of the graph copied to the GPU that the request names, if all
        of it will be read there: a pattern without labels over one view, and without a budget."""
        request, views = self.request, {(e.types, e.direction) for e in graph.edges}
        here = runs and not self.explains and request.on is None
        free = request.memory is None and request.gpu_memory is None
        all_read = not any(v.labels or v.allowed is not None for v in graph.vertices)
        if request.device in (AUTO, CPU) or not (here and free and all_read and len(views) == 1):
            return
        ((_, direction),) = views
        if direction is Direction.ANY:
            from gdb.executor.choose_device import copying_ahead  # here: only GPUs need it

            self.clock.usage.opened = copying_ahead(
                request.device, direction, self.snapshot.edge_count
            )

    def options(self, profile: executor.Profile | None = None) -> executor.Options:
        """How its patterns are run, in the time that is left."""
        return self.request.options(self.clock.left(), profile)

    def allowance(self, writes: bool) -> Allowance:
        """What it may use while it runs in Python. writes : whether it changes the graph, for OutOfBudget."""
        from gdb.base.allowance import Allowance  # here: few queries need it
        from gdb.run.options import half_of_memory

        request, budget = self.request, self.clock.usage.budget
        if writes:
            budget.cure = WRITES
        memory = half_of_memory() if request.memory is None else request.memory
        return Allowance(memory, self.clock.deadline, request.cancel, budget.cure)


class Change(Protocol):
    """Does the work of a query that writes on the changes of a transaction, and keeps them; nothing of them where the
    work, or this, raises."""

    def __call__(self, request: Request, clock: Clock, work: Callable[[Changes], T], /) -> T:
        """What the work gives."""
        ...


Copying: TypeAlias = "Callable[[QueryRun, Query], Result]"
"""The answer of COPY."""
StatementRun: TypeAlias = "Callable[[QueryRun, Statement], Result]"
"""The answer of a statement."""
