"""The search for a better plan goes on beside a run, and what it finds takes the run over."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gdb import planner
from gdb.errors import Cancelled, CountOverflow, OutOfBudget, QueryTimeout
from gdb.executor import run as executor
from gdb.executor.nest.bindings import Bindings
from gdb.executor.plan.plan import Plan
from gdb.physical import counting, longer_search
from gdb.planner.explain import explain
from gdb.planner.structure import LONGER, Effort
from gdb.query_graph import DIFFERENT_NODES, QueryEdge, QueryGraph, QueryVertex
from gdb.records import replace
from gdb.storage.format.direction import Direction
from tests.support.small_graph import SmallGraph

QUICK = frozenset({"symmetry", "statistics", "structure"})
SLOW = planner.PASSES  # a run without any pass takes some seconds


def graph_of(n: int, share: float) -> SmallGraph:
    random = np.random.default_rng(1)
    pairs = [(a, b) for a in range(n) for b in range(a) if random.random() < share]
    return SmallGraph([("A",)] * n, [("U", a, b) for a, b in pairs], frozenset("U"))


def path(length: int) -> QueryGraph:
    vertices = tuple(QueryVertex(None, ()) for _ in range(length))
    edges = tuple(QueryEdge(k, k + 1, (), Direction.ANY) for k in range(length - 1))
    return QueryGraph(vertices, edges, DIFFERENT_NODES)


GRAPH, QUERY = graph_of(60, 0.5), path(6)
SMALL = graph_of(50, 0.2)  # whose slow plan takes no seconds


def slow(graph: SmallGraph = GRAPH) -> Plan:
    """A plan for which a longer search may find a better one."""
    plan = planner.plan(QUERY, graph, counting=True, switched_off=frozenset(SLOW) - {"order"})
    return replace(plan, notes=replace(plan.notes, steps=1e9, cut=True))


def quick(_: QueryGraph, graph: SmallGraph, *, effort: Effort = LONGER, **__: object) -> Plan:
    """The plan that is found."""
    plan = planner.plan(QUERY, graph, counting=True, switched_off=QUICK)
    return replace(plan, notes=replace(plan.notes, steps=1e5, cut=True))


def hardly(query: QueryGraph, graph: SmallGraph, **_: object) -> Plan:
    """A plan that is hardly cheaper."""
    plan = quick(query, graph)
    return replace(plan, notes=replace(plan.notes, steps=0.9e9))


def endless(*_: object, effort: Effort, **__: object) -> Plan:
    """A search that ends when it is stopped."""
    while True:
        effort.check()
        time.sleep(0.001)


def truth(graph: SmallGraph = GRAPH) -> int:
    return executor.count(quick(QUERY, graph), graph, executor.Options("cpu"))


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans that are counted."""
    counted: list[Plan] = []
    whole = executor.count

    def count(plan: Plan, *how: Any, **options: Any) -> int:
        counted.append(plan)
        return whole(plan, *how, **options)

    monkeypatch.setattr(executor, "count", count)
    return counted


def count(plan: Plan, options: executor.Options | None = None, graph: SmallGraph = GRAPH) -> int:
    return counting.count_plan(plan, QUERY, graph, options or executor.Options("cpu"), None)


def test_what_is_found_takes_the_run_over(
    plans: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(longer_search, "make_plan", quick)
    expected = truth()
    plans.clear()
    plan, options = slow(), executor.Options("cpu", threads=2, timeout=60.0)
    assert count(plan, options) == expected
    better = plan.runs.better
    assert better is not None
    assert [one is plan for one in plans] == [True, False]
    assert plans[1] is better
    assert options.timeout == 60.0
    assert not plan.stages  # what is not run any more keeps no memory
    assert executor.kept_bytes(plan) == executor.kept_bytes(better) > 0
    # and later runs are its own
    assert count(plan, options) == expected
    assert plans[2:] == [better]
    assert not better.notes.cut


def test_other_candidates_are_those_of_the_plan_itself(plans: list[Plan]) -> None:
    """What is found may be cut down to, or have terms of, the candidates that the plan had."""
    plan = slow(SMALL)
    plan.runs.better = replace(quick(QUERY, SMALL), terms=((-1, quick(QUERY, SMALL)),))
    bound = Bindings({}, {}, {})
    options = executor.Options("cpu")
    found = counting.count_plan(plan, QUERY, SMALL, options, bound)
    assert plans == [plan]
    assert found == truth(SMALL)


@pytest.mark.parametrize("search", [hardly, endless])
def test_a_run_goes_on_where_nothing_much_cheaper_is_found_in_time(
    search: Callable[..., Plan], plans: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search has ended by then."""
    monkeypatch.setattr(longer_search, "make_plan", search)
    plan = slow(SMALL)
    found = count(plan, graph=SMALL)
    assert plans == [plan]
    assert found == truth(SMALL)
    assert plan.runs.better is None


@pytest.mark.parametrize("search", [quick, endless])
def test_a_timeout_is_that_of_the_query(
    search: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(longer_search, "make_plan", search)
    monkeypatch.setattr(longer_search, "CHEAPER", 1e-9)  # nothing is worth a change
    options = executor.Options("cpu", timeout=0.05)
    with pytest.raises(QueryTimeout):
        count(slow(), options)
    assert options.timeout == 0.05


def test_a_search_that_fails_leaves_the_run_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object, **__: object) -> Plan:
        raise OutOfBudget("no memory", "more")

    monkeypatch.setattr(longer_search, "make_plan", fails)
    assert count(slow(SMALL), graph=SMALL) == truth(SMALL)


def test_terms_that_overflow_are_not_counted_again(
    plans: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the pattern is counted without any, also in later runs."""

    def with_terms(query: QueryGraph, graph: SmallGraph, **options: object) -> Plan:
        plan = quick(query, graph)
        return replace(plan, terms=((-1, plan),))

    whole = executor.count

    def overflows(plan: Plan, *how: Any, **options: Any) -> int:
        if plan.terms:
            raise CountOverflow("There are too many.", "Count less.")
        return whole(plan, *how, **options)

    monkeypatch.setattr(longer_search, "make_plan", with_terms)
    monkeypatch.setattr(executor, "count", overflows)
    plan = slow()
    found = count(plan)
    assert len(plans) == 2
    assert count(plan) == found
    assert len(plans) == 3
    assert plans[2] is plans[1]
    assert found == truth()


def test_explain_says_that_the_search_goes_on() -> None:
    words = "the search for a cheaper plan goes on while it runs"
    options, plan = executor.Options("cpu"), slow()
    assert words in explain(plan, GRAPH, options)
    assert words not in explain(replace(plan, notes=replace(plan.notes, cut=False)), GRAPH, options)


@pytest.mark.parametrize(
    ("n", "terms", "rounds", "cut"),
    [(25, 0, 1, True), (100, 0, 1, True), (25, 1e9, 1, False)],
)
def test_a_search_that_comes_to_its_end_is_not_cut(
    n: int, terms: float, rounds: int, cut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "LONGER_FROM", 0.0)
    graph, query = graph_of(n, 0.3), path(9)
    effort = Effort(rounds=rounds, terms=terms)
    plan = planner.plan(query, graph, counting=True, effort=effort)
    assert plan.notes.cut is cut
    monkeypatch.setattr(planner, "LONGER_FROM", 1e300)  # none is worth it
    assert not planner.plan(query, graph, counting=True, effort=effort).notes.cut


def test_what_stops_a_search_passes_through_the_planner() -> None:
    def stop() -> None:
        raise Cancelled("enough")

    graph, query = graph_of(200, 0.3), path(10)
    with pytest.raises(Cancelled, match="enough"):
        planner.plan(query, graph, counting=True, effort=replace(LONGER, check=stop))
