"""Threads that help a run: its own, and those that other runs have left idle, which it gives back."""

from __future__ import annotations

import threading
from functools import cache
from unittest.mock import patch

import pytest

from gdb import planner
from gdb.executor import reference
from gdb.executor.cpu import launch
from gdb.executor.cpu import plans as beside
from gdb.executor.cpu.workers import Worker
from gdb.executor.nest.prepare import stage
from gdb.executor.plan.plan import Plan
from gdb.executor.work.scheduler import Budget, Helpers, Watch
from gdb.query_graph import DIFFERENT_NODES, QueryEdge, QueryGraph, QueryVertex
from gdb.records import replace
from gdb.storage.format.direction import Direction
from tests.support.small_graph import SmallGraph

LONGEST = 30  # seconds


def test_as_many_as_there_may_be() -> None:
    go, begun = threading.Event(), threading.Semaphore(0)

    def work() -> None:
        begun.release()
        go.wait(LONGEST)

    helpers = Helpers(2)
    assert helpers.may_be_called
    assert helpers.call(work)
    assert not helpers.may_be_called
    assert not helpers.call(work)
    assert begun.acquire(timeout=LONGEST)
    go.set()
    helpers.finish()
    assert (helpers.active, len(helpers.calls)) == (2, 1)  # the work says when it has ended
    helpers.ended()
    assert helpers.may_be_called


def test_idle_threads_are_borrowed_and_given_back() -> None:
    others, begun = Helpers(1), threading.Event()
    helpers = Helpers(1, others)
    assert not helpers.call(begun.set)
    others.ended()  # its first thread has nothing to do
    assert helpers.may_be_called
    assert helpers.call(begun.set)
    assert (helpers.active, helpers.borrowed, others.active) == (2, 1, 1)
    assert not helpers.call(begun.set)
    assert begun.wait(LONGEST)
    helpers.finish()
    helpers.ended()
    assert (helpers.active, helpers.borrowed, others.active) == (1, 0, 0)
    assert helpers.may_be_called


def test_what_a_helper_raises_is_raised() -> None:
    begun = threading.Event()

    def work() -> None:
        begun.set()
        raise ValueError("its own")

    helpers = Helpers(2)
    helpers.call_all(work)
    assert begun.wait(LONGEST)
    with pytest.raises(ValueError, match="its own"):
        helpers.finish()
    helpers.give_up()


@cache
def triangles() -> tuple[Plan, SmallGraph]:
    """A plan that takes many launches of few steps, whatever the planner has time for."""
    edges = [("R", a, b) for b in range(24) for a in range(b) if (a + b) % 5]
    graph = SmallGraph([()] * 24, edges, frozenset("R"))
    pairs = ((0, 1), (0, 2), (1, 2))
    query = QueryGraph(
        (QueryVertex(),) * 3,
        tuple(QueryEdge(a, b, ("R",), Direction.ANY) for a, b in pairs),
        DIFFERENT_NODES,
    )
    return replace(planner.plan(query, graph, counting=True), multiplicity=1), graph


@pytest.mark.parametrize("spare", [0, 1, 3])
def test_a_run_of_one_thread_gives_to_idle_ones(spare: int) -> None:
    """And counts the same, however few steps a launch has."""
    plan, graph = triangles()
    plan = replace(plan, stages={})
    want, others = reference.count(plan, graph), Helpers(1 + spare)
    begins, begun = Helpers._begins, list[bool]()

    def noted(some: Helpers) -> bool:
        found = begins(some)
        if some is others:
            begun.append(found)
        return found

    with patch.object(launch, "STEPS", 20), patch.object(Helpers, "_begins", noted):
        found = launch.count(stage(plan, graph), Watch(None, None, None), Budget(), 1, others)
    assert found == want
    assert any(begun) == bool(spare)
    assert others.active == 1


def test_plans_beside_one_another_leave_their_threads_to_the_last() -> None:
    plan, graph = triangles()
    plans = [
        replace(plan, notes=replace(plan.notes, steps=n), stages={}, terms=()) for n in (2.0, 1.0)
    ]
    want = [reference.count(plan, graph) for plan in plans]
    left, ends, run = threading.Event(), Helpers.ended, launch._launch
    borrowed, threads = list[int](), list[int]()

    def ended(helpers: Helpers) -> None:
        borrowed.append(helpers.borrowed)
        ends(helpers)
        if helpers.beside is None:  # those of all plans
            left.set()

    def launched(worker: Worker, steps: int, watch: Watch) -> bool:
        threads.append(own := threading.get_ident())
        if own == threads[0]:  # that of the first launch: the other one ends first
            assert left.wait(LONGEST)
        return run(worker, steps, watch)

    watch, budget = Watch(None, None, None), Budget()
    with (
        patch.object(launch, "STEPS", 20),
        patch.object(launch, "_launch", launched),
        patch.object(Helpers, "ended", ended),
    ):
        found = beside.counts(plans, lambda p: stage(p, graph), watch, budget, 2, alone=False)
    assert found == want
    assert any(borrowed)
