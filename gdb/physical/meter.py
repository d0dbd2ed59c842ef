"""Measurements of a query's operators, for PROFILE: rows, time and memory of each, and the plans of their patterns.

Operators are found by `id`, and the steps of a chain (`gdb.physical.columns.steps`) by name. Time is exclusive: while
one works, none of those around it does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from gdb.records import dataclass, field

if TYPE_CHECKING:
    from gdb.base.allowance import Allowance
    from gdb.executor.run import PlanRun, Profile

Part = TypeVar("Part")
ANSWER = "answer"
"""The step that is the last SELECT of a chain."""


@dataclass(slots=True)
class Figures:
    """What an operator, or a step, did, of all times that it ran.

    rows : that it made; None where they were not counted. seconds : of its own work; None where it did none of its own.
    peak : the most bytes that were metered while it worked; None where none were.
    written : whether its rows were counted when it wrote, for it may be that none is read. arrays : whether it ran over
    arrays.
    plans : of the patterns that it matched, in the order in which they ran.
    """

    rows: int | None = None
    seconds: float | None = None
    peak: int | None = None
    written: bool = False
    arrays: bool = False
    plans: list[PlanRun] = field(default_factory=list)

    def add(self, other: Figures) -> None:
        """Take in what a step of the operator did; its rows are not the operator's."""
        if other.seconds is not None:
            self.seconds = (self.seconds or 0.0) + other.seconds
        self.hold(other.peak)
        self.plans += other.plans

    def hold(self, size: int | None) -> None:
        """Note that bytes were held at one time."""
        if size is not None:
            self.peak = max(self.peak or 0, size)


class Meter:
    """Measures one run.

    profile : what the executors note in. allowance : of the values in Python; None where there are none.
    """

    def __init__(self, profile: Profile, allowance: Allowance | None = None) -> None:
        self.profile, self.allowance = profile, allowance
        self.operators: dict[int, Figures] = {}
        self.steps: dict[str, Figures] = {}
        self._now = Figures(plans=profile.plans)
        self._since = time.perf_counter()

    def operator(self, operator: object) -> Figures:
        """The figures of an operator, which lives as long as the meter."""
        return self.operators.setdefault(id(operator), Figures())

    def step(self, name: str) -> Figures:
        """The figures of a step."""
        return self.steps.setdefault(name, Figures())

    @contextmanager
    def during(self, own: Figures) -> Iterator[None]:
        """Around the work of an operator or a step."""
        before = self._turned_to(own)
        try:
            yield
        finally:
            self._hold(own)
            self._turned_to(before)

    def parts(self, parts: Iterator[list[Part]], own: Figures) -> Iterator[list[Part]]:
        """The batches that an operator makes, counted."""
        own.rows = own.rows or 0
        while True:
            with self.during(own):
                part = next(parts, None)
            if part is None:
                return
            if not own.written:
                own.rows += len(part)
            yield part

    def wrote(self, operator: object, rows: int) -> None:
        """Count the rows of an operator that writes; after that they are not counted as they are read."""
        own = self.operator(operator)
        own.rows, own.written = (own.rows or 0) + rows, True

    def _turned_to(self, own: Figures) -> Figures:
        """Charge the time since the last turn to who worked, who is given back."""
        now, before = time.perf_counter(), self._now
        before.seconds = (before.seconds or 0.0) + now - self._since
        self._since, self._now = now, own
        self.profile.plans = own.plans
        return before

    def _hold(self, own: Figures) -> None:
        if self.allowance is not None and (size := self.allowance.made + self.allowance.kept):
            own.hold(size)
        if own.plans:
            own.hold(max(run.budget.most for run in own.plans) or None)
