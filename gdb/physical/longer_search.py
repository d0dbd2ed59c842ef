"""A longer search for the plan of a count, while the first plan runs.

How long a query waits for its plan is bounded (`gdb.planner.structure.EFFORT`). Where the search ended at that bound,
and the count is expected to take long, it goes on beside the run (`LONGER`), at the cost of part of one thread. What it
finds takes over where that is expected to end sooner than what is left of the run, and is the plan of later runs.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from gdb.base import usage, waiting
from gdb.errors import Cancelled, GdbError
from gdb.executor import run as executor
from gdb.executor.work.scheduler import Elsewhere, Flag, Guard, helpers_of_all
from gdb.planner import plan as make_plan
from gdb.planner.structure import LONGER
from gdb.records import replace

if TYPE_CHECKING:
    from gdb.executor.plan.plan import Plan
    from gdb.planner.resolved_graph import PlannerSource
    from gdb.query_graph import QueryGraph

CHEAPER = 0.8  # of the steps of a plan, that another one may take to be worth the change


def count(
    plan: Plan,
    graph: QueryGraph,
    source: PlannerSource,
    options: executor.Options,
) -> int:
    """The count of a plan whose search was cut short, or of a better one. Raises as `executor.count`."""
    if options.on is not None:
        return executor.count(plan, source, options)
    search, begun, timeout = _Search(plan, graph, source), time.perf_counter(), options.timeout
    searching = helpers_of_all().submit(usage.carry_usage(search.run))
    try:
        try:
            return executor.count(plan, source, options, guard=search.guard)
        except Elsewhere:
            if timeout is not None:
                options.timeout = max(timeout - (time.perf_counter() - begun), 0.0)
            assert plan.runs.better is not None
            for one in (plan, *(term for _, term in plan.terms)):
                one.stages.clear()
            return executor.count(plan.runs.better, source, options)
    finally:
        options.timeout = timeout
        search.stopped.set()
        if not searching.cancel():
            waiting.wait_for_future(searching)


class _Search:
    """The search, and what gives the run up once it has found something. stopped : it is to end."""

    def __init__(self, plan: Plan, graph: QueryGraph, source: PlannerSource) -> None:
        self._plan, self._graph, self._source = plan, graph, source
        self._share = math.inf  # of the steps of the plan, that the better one takes
        self.stopped = Flag()
        self.guard = Guard(lambda _: self._share / CHEAPER * self.guard.whole, math.inf)

    def run(self) -> None:
        """Search to the end, or until it is stopped, or the query is."""
        off, effort = self._plan.notes.switched_off, replace(LONGER, check=self._check)
        try:
            found = make_plan(
                self._graph, self._source, counting=True, switched_off=off, effort=effort
            )
        except GdbError:  # the run says so, if it is not over
            return
        self._share = (found.notes.steps or math.inf) / (self._plan.notes.steps or 1.0)
        if self._share < CHEAPER:
            notes = replace(found.notes, cut=False)
            self._plan.runs.better = replace(found, notes=notes)
            self.guard.least = 0.0  # compare now

    def _check(self) -> None:
        if self.stopped.is_set():
            raise Cancelled("The search for a better plan was stopped.")
