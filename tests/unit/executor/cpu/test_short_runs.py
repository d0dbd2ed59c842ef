"""Runs of one short launch: the same answers as those of the general way, and none where a run is more than that."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gdb
from gdb import planner
from gdb.errors import Cancelled
from gdb.executor import choose_device, reference, run
from gdb.executor.cpu import address, launch
from gdb.executor.cpu.workers import Worker
from gdb.executor.nest.bindings import Bindings
from gdb.executor.nest.prepare import stage
from gdb.executor.options import Options, Profile
from gdb.executor.plan.embeddings import Embeddings, Wanted
from gdb.executor.plan.plan import Plan
from gdb.query_graph import DIFFERENT_EDGES, DIFFERENT_NODES, QueryEdge, QueryGraph, QueryVertex
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.support.strategies import cases
from tests.unit.executor.test_executors import bag

CIRCLE = SmallGraph([()] * 6, [("E", k, (k + 1) % 6) for k in range(6)])
PATH = QueryGraph(
    tuple(QueryVertex() for _ in range(3)), (QueryEdge(0, 1), QueryEdge(1, 2)), DIFFERENT_EDGES
)
LONGER = launch.FIRST_STEPS


def whole(plan: Plan, graph: SmallGraph, limit: int | None = None) -> Embeddings:
    """All columns of the rows of a plan."""
    wanted = Wanted(tuple(range(plan.vertices)), tuple(range(plan.edges)))

    def make(some: Embeddings) -> Embeddings:
        vids = np.empty((len(some), plan.vertices), np.uint32)
        eids = np.empty((len(some), plan.edges), np.int64)
        for v in wanted.vertices:
            vids[:, v] = some.vertex(v)
        for e in wanted.edges:
            eids[:, e] = some.edge(e)
        return Embeddings(vids, eids)

    found = run.rows(plan, graph, Options("cpu"), wanted, make, limit)
    table = Embeddings(
        np.concatenate([part.vids for part in found.parts]),
        np.concatenate([part.eids for part in found.parts]),
    )
    assert found.rows == len(table)
    return table


def waiting(plan: Plan, graph: SmallGraph, *, windows: bool = True) -> list[Worker]:
    """The workers that wait with the stage of a plan."""
    idle = stage(plan, graph, windows=windows).idle["cpu"]
    return [worker for worker in idle if isinstance(worker, Worker)]


@settings(max_examples=share(120), deadline=None)
@given(case=cases(), steps=st.sampled_from([0, 3, 20_000]), times=st.sampled_from([1, 3]))
def test_rows_are_those_of_the_reference(
    case: tuple[SmallGraph, QueryGraph], steps: int, times: int
) -> None:
    graph, query = case
    plan = planner.plan(query, graph, counting=False)
    wanted = bag(reference.rows(plan, graph), plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "FIRST_STEPS", steps)
        for _ in range(times):
            assert bag(whole(plan, graph), plan) == wanted


@settings(max_examples=share(120), deadline=None)
@given(case=cases(), steps=st.sampled_from([0, 3, 20_000]))
def test_counts_are_those_of_the_reference(case: tuple[SmallGraph, QueryGraph], steps: int) -> None:
    graph, query = case
    plan = planner.plan(query, graph, counting=True)
    rows = planner.plan(query, graph, counting=False)
    wanted = len(reference.rows(rows, graph))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "FIRST_STEPS", steps)
        assert [run.count(plan, graph, Options("cpu")) for _ in range(3)] == [wanted] * 3


@settings(max_examples=share(80), deadline=None)
@given(case=cases(), steps=st.sampled_from([0, 3, 20_000]))
def test_distinct_vertices_are_those_of_the_rows(
    case: tuple[SmallGraph, QueryGraph], steps: int
) -> None:
    graph, query = case
    plan = planner.plan(query, graph, counting=False, switched_off=frozenset({"symmetry"}))
    if plan.twins:
        return
    wanted = set(reference.rows(plan, graph).vertex(0).tolist())

    def vids(some: Embeddings) -> list[int]:
        return [int(vid) for vid in some.vertex(0)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "FIRST_STEPS", steps)
        for _ in range(2):  # what one found, the next finds again
            assert run.count_distinct(plan, graph, Options("cpu"), 0) == len(wanted)
            found = run.rows(plan, graph, Options("cpu"), Wanted((0,), once=0), vids)
            assert sorted(vid for part in found.parts for vid in part) == sorted(wanted)


@pytest.mark.parametrize("limits", [(1, 5, 2), (5, 1), (3, 3)])
def test_each_limit_is_filled(limits: tuple[int, ...]) -> None:
    plan = planner.plan(PATH, CIRCLE, counting=False)
    for limit in limits:
        assert len(whole(plan, CIRCLE, limit)) == limit
    assert len(whole(plan, CIRCLE)) == 6


def test_a_limit_counts_rows_of_twins() -> None:
    graph = SmallGraph([()] * 3, [("E", a, b) for a in range(3) for b in range(a)], frozenset("E"))
    triangle = QueryGraph(
        tuple(QueryVertex() for _ in range(3)),
        tuple(QueryEdge(a, b, ("E",)) for a, b in [(0, 1), (1, 2), (0, 2)]),
        DIFFERENT_NODES,
    )
    plan = planner.plan(triangle, graph, counting=False)
    found = Counter(map(tuple, whole(plan, graph).vids.tolist()))
    assert max(found.values()) == 1
    for limit in (1, 4, 6):
        assert len(whole(plan, graph, limit)) == min(limit, len(found))


def test_a_run_after_a_short_one_takes_its_worker() -> None:
    plan = planner.plan(PATH, CIRCLE, counting=True)
    run.count(plan, CIRCLE, Options("cpu"))
    (worker,) = waiting(plan, CIRCLE)
    run.count(plan, CIRCLE, Options("cpu"))
    assert waiting(plan, CIRCLE) == [worker]


def test_what_took_long_is_not_begun_in_a_short_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planner.plan(PATH, CIRCLE, counting=True)
    assert run.count(plan, CIRCLE, Options("cpu")) == 6
    (worker,) = waiting(plan, CIRCLE)
    worker.control[address.SPENT] = LONGER
    assert launch.launched_once(stage(plan, CIRCLE, windows=True), worker.wanted) is None
    assert waiting(plan, CIRCLE) == [worker]
    assert run.count(plan, CIRCLE, Options("cpu")) == 6
    assert worker.spent < LONGER  # so the next one is
    assert launch.launched_once(stage(plan, CIRCLE, windows=True), worker.wanted) is worker


def test_a_launch_that_was_too_short_marks_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "FIRST_STEPS", 1)
    plan = planner.plan(PATH, CIRCLE, counting=False)
    prepared = stage(plan, CIRCLE, windows=True)
    assert launch.launched_once(prepared, Wanted((0, 1, 2))) is None
    (worker,) = waiting(plan, CIRCLE)
    assert worker.spent >= 1
    assert launch.launched_once(prepared, Wanted((0, 1, 2))) is None


@pytest.mark.parametrize(
    "options",
    [
        Options("cpu", memory=1 << 30),
        Options("cpu", profile=Profile(loops=True)),
    ],
)
def test_what_is_accounted_for_or_measured_is_no_short_run(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a short run")

    monkeypatch.setattr("gdb.executor.choose_device.launch.launched_once", refused)
    plan = planner.plan(PATH, CIRCLE, counting=True)
    assert run.count(plan, CIRCLE, options) == 6
    with pytest.raises(AssertionError):
        run.count(plan, CIRCLE, Options("cpu"))


def test_a_plan_that_ran_on_a_gpu_does_not_try_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planner.plan(PATH, CIRCLE, counting=True)
    plan.runs.add("cuda:0", 1e-6)
    monkeypatch.setattr(
        "gdb.executor.choose_device.launch.launched_once", lambda *_: pytest.fail("a short run")
    )
    assert choose_device.short_run(plan, CIRCLE, Options(), None, Wanted(())) is None


def test_a_short_run_is_cancelled() -> None:
    plan = planner.plan(PATH, CIRCLE, counting=True)
    cancel = threading.Event()
    assert run.count(plan, CIRCLE, Options("cpu", cancel=cancel)) == 6
    cancel.set()
    with pytest.raises(Cancelled):
        run.count(plan, CIRCLE, Options("cpu", cancel=cancel))
    assert run.count(plan, CIRCLE, Options("cpu")) == 6


def test_roots_come_and_go_with_the_bindings() -> None:
    named = QueryVertex(allowed=np.array([0], np.uint32), predicate="id")
    query = QueryGraph((named, QueryVertex()), (QueryEdge(0, 1, ("E",)),), DIFFERENT_EDGES)
    plan = planner.plan(query, CIRCLE, counting=False)

    def targets(*roots: int) -> list[int]:
        bindings = Bindings({0: np.array(roots, np.uint32)}, {}, {})
        found = run.rows(
            *(plan, CIRCLE, Options("cpu"), Wanted((1,)), lambda some: some.vertex(1).tolist()),
            bindings=bindings,
        )
        return sorted(vid for part in found.parts for vid in part)

    for roots in [(3,), (1, 4), (5,), (), (0,), (0,), (2, 3)]:
        assert targets(*roots) == sorted((root + 1) % 6 for root in roots)


def test_threads_share_a_plan() -> None:
    graph = SmallGraph([()] * 40, [("E", k, (k * 7 + j) % 40) for k in range(40) for j in range(3)])
    plan = planner.plan(PATH, graph, counting=True)
    rows = planner.plan(PATH, graph, counting=False)
    wanted = run.count(plan, graph, Options("cpu"))

    def both(_: int) -> tuple[int, int]:
        return run.count(plan, graph, Options("cpu")), len(whole(rows, graph))

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(both, range(200))) == {(wanted, wanted)}


def test_no_rows_of_a_pattern_with_twins() -> None:
    """Its answer has the columns, the first time and again."""
    with gdb.connect() as db:
        db.execute("CREATE (:A {id: 1})-[:R]->(:A {id: 2})")
        query = (
            "MATCH (a)--(b)--(c) WITH a, b, c ORDER BY id(a) RETURN a.id AS a, b.id AS b, c.id AS c"
        )
        for text in (query, query.replace("WITH a, b, c ORDER BY id(a) ", "") + " ORDER BY a"):
            for _ in range(3):
                assert db.execute(text).arrow().schema.names == ["a", "b", "c"]
                assert db.execute(text).fetchall() == []
