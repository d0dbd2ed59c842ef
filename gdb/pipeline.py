"""The way of a query through the rooms: parse -> bind -> plan -> run -> tail -> Result (docs/onboarding.md)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from gdb.errors import Cancelled, QueryTimeout
from gdb.result import Result, Summary

if TYPE_CHECKING:
    from gdb.executor.embeddings import Embeddings
    from gdb.executor.plan import Plan
    from gdb.executor.run import Options
    from gdb.executor.tail import Value
    from gdb.language.binder import BoundQuery
    from gdb.query_graph import MatchMode
    from gdb.storage.snapshot import Snapshot

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """One query as it was asked, its arguments checked (`gdb.options`).

    memory : bytes, None for no budget. timeout : seconds from the start, None for none.
    """

    text: str
    parameters: Mapping[str, Value]
    mode: MatchMode
    cancel: threading.Event
    device: str = "auto"
    threads: int = 0
    memory: int | None = None
    timeout: float | None = None


@dataclass(slots=True)
class _Clock:
    """Seconds by step; a deadline and a cancel event, looked at between steps."""

    cancel: threading.Event
    timeout: float | None
    begun: float = field(default_factory=time.monotonic)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def deadline(self) -> float | None:
        return None if self.timeout is None else self.begun + self.timeout

    def left(self) -> float | None:
        """Seconds until the deadline; a moment where none are left."""
        return None if self.deadline is None else max(self.deadline - time.monotonic(), 1e-3)

    def step(self, name: str, work: Callable[[], T]) -> T:
        if self.cancel.is_set():
            raise Cancelled("the query was cancelled.")
        begin = time.monotonic()
        if self.deadline is not None and begin > self.deadline:
            raise QueryTimeout(
                f"the query ran longer than its timeout of {self.timeout:g} s.",
                "Give a larger timeout=, or ask for less.",
            )
        value = work()
        self.seconds[name] = time.monotonic() - begin
        return value


def answer(request: Request, snapshot: Snapshot) -> Result:
    """Run a query over a snapshot; a query that begins with EXPLAIN gives its plan instead.

    Raises
    ------
    GdbError : SyntaxProblem, NameProblem, TypeProblem, NotSupported, LimitExceeded, Cancelled, QueryTimeout,
        OutOfBudget, DeviceError.
    """
    clock = _Clock(request.cancel, request.timeout)
    bound, plan = _prepared(request, snapshot, clock)
    if bound.explain:
        lines = clock.step("explain", lambda: _explained(request, bound, plan, snapshot))
        summary = Summary(dict(clock.seconds), "", len(lines))
        return Result.of_lines("plan", lines, summary)
    return _run(request, bound, plan, snapshot, clock)


def explained(request: Request, snapshot: Snapshot) -> str:
    """The plan of a query as text, whether or not it begins with EXPLAIN."""
    bound, plan = _prepared(request, snapshot, _Clock(request.cancel, request.timeout))
    return "\n".join(_explained(request, bound, plan, snapshot))


def _prepared(request: Request, snapshot: Snapshot, clock: _Clock) -> tuple[BoundQuery, Plan]:
    from gdb.language.binder import bind  # here and below: `import gdb` stays light
    from gdb.language.parser import parse
    from gdb.planner import plan as make_plan

    query = clock.step("parse", lambda: parse(request.text))
    bound = clock.step("bind", lambda: bind(query, snapshot, request.parameters, request.mode))
    plan = clock.step(
        "plan", lambda: make_plan(bound.graph, snapshot, counting=bound.tail.count_only)
    )
    return bound, plan


def _run(
    request: Request, bound: BoundQuery, plan: Plan, snapshot: Snapshot, clock: _Clock
) -> Result:
    from gdb.executor import run as executor
    from gdb.executor import tail

    options = replace(_options(request), timeout=clock.left())
    device = executor.choose(plan, request.device).device

    def match() -> Embeddings | int:
        if bound.tail.count_only:
            return executor.count(plan, snapshot, options)
        return executor.rows(plan, snapshot, options, bound.tail.row_limit)

    found = clock.step("run", match)
    table = clock.step(
        "tail",
        lambda: tail.run(
            bound.tail,
            found,
            snapshot,
            memory=request.memory,
            cancel=request.cancel,
            deadline=clock.deadline,
        ),
    )
    embeddings = found if isinstance(found, int) else len(found)
    summary = Summary(dict(clock.seconds), device, len(table), embeddings)
    return Result(table, snapshot, warnings=_warnings(bound, plan), summary=summary)


def _explained(request: Request, bound: BoundQuery, plan: Plan, snapshot: Snapshot) -> list[str]:
    from gdb.planner.explain import explain

    lines = explain(plan, snapshot, _options(request)).splitlines()
    known = "\n".join(lines)
    return [*lines, *(f"warning: {text}" for text in bound.warnings if text not in known)]


def _warnings(bound: BoundQuery, plan: Plan) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*bound.warnings, *plan.notes.warnings)))


def _options(request: Request) -> Options:
    from gdb.executor.run import Options

    return Options(
        device=request.device,
        threads=request.threads,
        memory=request.memory,
        timeout=request.timeout,
        cancel=request.cancel,
    )
