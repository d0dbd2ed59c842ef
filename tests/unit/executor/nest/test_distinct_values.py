"""Distinct values, wanted columns and other candidates: what a run can return besides all rows of its plan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb import planner
from gdb.executor import reference, run
from gdb.executor.choose_device import Choice
from gdb.executor.cpu import launch
from gdb.executor.nest.bindings import Bindings, bitset_of
from gdb.executor.nest.prepare import prepare
from gdb.executor.nest.tables import bitset
from gdb.executor.plan import embeddings
from gdb.executor.plan.embeddings import Embeddings, Wanted
from gdb.executor.plan.plan import BindEdge, Plan
from gdb.executor.run import Options
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import QueryEdge, QueryGraph, QueryVertex
from gdb.storage.graph.adjacency import I64, U32
from tests.support.backends import rows_on_cpu
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.support.strategies import cases

NO_SYMMETRY = frozenset({"symmetry"})


def watch(limit: int | None = None) -> Watch:
    return Watch(None, None, limit)


@settings(max_examples=share(250), deadline=None)
@given(
    case=cases(),
    threads=st.sampled_from([1, 2, 3]),
    capacity=st.sampled_from([1, 2, 1000]),
    data=st.data(),
)
def test_distinct_values_are_the_set_of_the_reference(
    case: tuple[SmallGraph, QueryGraph], threads: int, capacity: int, data: st.DataObject
) -> None:
    graph, query = case
    plan = planner.plan(query, graph, counting=False, switched_off=NO_SYMMETRY)
    vertex = data.draw(st.integers(0, plan.vertices - 1))
    want = set(reference.rows(plan, graph).vids[:, vertex].tolist())
    prepared = prepare(plan, graph, windows=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "WORTH_A_THREAD", 0)
        for _ in range(2):  # the second run finds the workers of the first
            found = launch.distinct(prepared, watch(), Budget(), vertex, threads, capacity)
            assert sorted(found.tolist()) == sorted(want)
            counted = launch.count_distinct(prepared, watch(), Budget(), vertex, threads, capacity)
            assert counted == len(want)
        patch.setattr(launch, "WORTH_A_THREAD", 20_000)
        for _ in range(2):
            counted = launch.count_distinct(prepared, watch(), Budget(), vertex, threads, capacity)
            assert counted == len(want)
    some = launch.distinct(prepared, watch(2), Budget(), vertex, threads, capacity).tolist()
    assert len(some) >= min(2, len(want))
    assert len(set(some)) == len(some)
    assert set(some) <= want


@settings(max_examples=share(100), deadline=None)
@given(case=cases(), limit=st.sampled_from([None, 0, 1, 3, 10, 1000]), data=st.data())
def test_rows_have_the_wanted_columns_and_not_more_than_the_limit(
    case: tuple[SmallGraph, QueryGraph], limit: int | None, data: st.DataObject
) -> None:
    graph, query = case
    plan = planner.plan(query, graph, counting=False)
    wanted = data.draw(st.lists(st.integers(0, plan.vertices - 1), unique=True))
    edges = [e for e in plan.bound_edges if data.draw(st.booleans())]
    asked = Wanted(tuple(wanted), tuple(edges))

    def make(some: Embeddings) -> list[tuple[int, ...]]:
        columns = [some.vertex(v).tolist() for v in wanted] + [some.edge(e).tolist() for e in edges]
        return list(zip(*columns, strict=True)) if columns else [()] * len(some)

    found = run.rows(plan, graph, Options("cpu", 2), asked, make, limit)
    rows = [row for part in found.parts for row in part]
    everything = reference.rows(plan, graph)
    whole = list(make(everything))
    assert found.rows == len(rows) == (len(whole) if limit is None else min(limit, len(whole)))
    left = sorted(whole)
    for row in rows:
        left.remove(row)  # fails for a row too many


@settings(max_examples=share(250), deadline=None)
@given(case=cases(), data=st.data())
def test_a_stage_given_other_candidates_is_the_stage_of_the_plan_that_has_them(
    case: tuple[SmallGraph, QueryGraph], data: st.DataObject
) -> None:
    graph, query = case
    vertices, edges = _others(query, graph, data)
    for counting in (False, True):
        plan = planner.plan(query, graph, counting=counting, switched_off=NO_SYMMETRY)
        if plan.terms or query.mode.distinct:
            continue  # a plan with terms takes none; a class of twins would be another
        given_ = Bindings(vertices, edges, {})
        known = {p.edge for p in plan.phases if isinstance(p, BindEdge)}
        assert set(edges) <= known
        wanted = _with(plan, vertices, edges)
        prepared = prepare(plan, graph)
        for _ in range(2):
            stage = given_.stage(prepared, graph)
            if counting:
                found = launch.count(stage, watch(), Budget(), 1) * plan.multiplicity
                assert found == reference.count(wanted, graph)
                continue
            table = rows_on_cpu(stage, watch(), Budget(), 1, 2)
            want = sorted(reference.rows(wanted, graph).vids.tolist())
            assert sorted(embeddings.expand(table, plan.twins).vids.tolist()) == want
            rows_on_cpu(prepared, watch(), Budget(), 1, 2)  # the worker goes over, and back


def test_a_plan_that_had_no_candidates_may_be_given_some() -> None:
    graph = SmallGraph([("A",), ("A",), ("A",)], [("R", 2, 1), ("R", 0, 2)])
    for allowed in ([], [0]):
        query = QueryGraph(
            (QueryVertex(None), QueryVertex(None, allowed=np.array(allowed, np.uint32))),
            (QueryEdge(0, 1, ("R",)),),
        )
        plan = planner.plan(query, graph, counting=False, switched_off=NO_SYMMETRY)
        prepared = prepare(plan, graph)
        for chosen, want in (([1], [[2, 1]]), ([], []), ([1, 2], [[0, 2], [2, 1]]), ([0], [])):
            stage = Bindings({1: np.array(chosen, np.uint32)}, {}, {}).stage(prepared, graph)
            table = rows_on_cpu(stage, watch(), Budget(), 1, 2)
            assert sorted(embeddings.expand(table, plan.twins).vids.tolist()) == want


def _others(
    query: QueryGraph, graph: SmallGraph, data: st.DataObject
) -> tuple[dict[int, U32], dict[int, I64]]:
    plan = planner.plan(query, graph, counting=False)
    vertices: dict[int, U32] = {}
    for v, vertex in enumerate(query.vertices):
        inside = [x for a, b in plan.candidates[v].ranges for x in range(a, b)]
        if vertex.allowed is not None and inside:
            chosen = data.draw(st.lists(st.sampled_from(inside), unique=True))
            vertices[v] = np.array(sorted(chosen), np.uint32)
    edges: dict[int, I64] = {}
    for e, edge in enumerate(query.edges):
        if edge.allowed is not None and graph.edge_count:
            eid = st.integers(0, graph.edge_count - 1)
            edges[e] = np.array(sorted(data.draw(st.lists(eid, unique=True))), np.int64)
    return vertices, edges


def _with(plan: Plan, vertices: dict[int, U32], edges: dict[int, I64]) -> Plan:
    from dataclasses import replace

    candidates = tuple(
        replace(c, allowed=vertices[v]) if v in vertices else c
        for v, c in enumerate(plan.candidates)
    )
    phases = tuple(
        replace(p, allowed=edges[p.edge]) if isinstance(p, BindEdge) and p.edge in edges else p
        for p in plan.phases
    )
    return replace(plan, candidates=candidates, phases=phases, stages={})


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 500])
def test_a_bitset_of_few_members_is_the_bitset(count: int) -> None:
    members = np.random.default_rng(count).choice(1000, count, replace=False).astype(np.uint32)
    few, usual = bitset_of(members, 1000), bitset(members, 1000)
    assert np.array_equal(few, usual[: len(few)])
    assert not usual[len(few) :].any()


def test_a_vertex_bound_before_others_is_found_once_and_its_rest_need_only_exist() -> None:
    """In a star every leaf is a witness for the middle: one is enough."""
    graph = SmallGraph([("A",)] * 50, [("R", 0, x) for x in range(1, 50)])
    query = QueryGraph(
        (QueryVertex("a"), QueryVertex("b"), QueryVertex("c")),
        (QueryEdge(0, 1, ("R",)), QueryEdge(0, 2, ("R",))),
    )
    plan = planner.plan(query, graph, counting=False, switched_off=NO_SYMMETRY)
    assert launch.distinct(prepare(plan, graph), watch(), Budget(), 0, 1).tolist() == [0]


@settings(max_examples=share(60), deadline=None)
@given(case=cases(), limit=st.sampled_from([None, 0, 2, 1000]), data=st.data())
def test_what_a_gpu_finds_is_handed_on(
    case: tuple[SmallGraph, QueryGraph], limit: int | None, data: st.DataObject
) -> None:
    """No GPU is needed to see what is made of its rows and of its distinct values."""
    from gdb.executor.gpu import launch as gpu

    graph, query = case
    plan = planner.plan(query, graph, counting=False, switched_off=NO_SYMMETRY)
    vertex = data.draw(st.integers(0, plan.vertices - 1))
    whole = reference.rows(plan, graph)

    def make(some: Embeddings) -> list[int]:
        return [int(vid) for vid in some.vertex(vertex)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "choose", lambda *_, **__: Choice("cuda:0", "a test"))
        patch.setattr(
            gpu,
            "deliver_rows",
            lambda stage, watch, budget, wanted, deliver, ordinal, threads, gpu_memory: (
                launch.deliver_rows(stage, watch, budget, wanted, deliver, 1, 3)
            ),
        )
        patch.setattr(
            gpu,
            "distinct",
            lambda stage, w, budget, vertex, ordinal, gpu_memory: launch.distinct(
                stage, watch(), budget, vertex, 1
            ),
        )
        every = run.rows(plan, graph, Options(), Wanted((vertex,)), make, limit)
        once = Wanted((vertex,), once=vertex)
        each = run.rows(plan, graph, Options(), once, make, limit)
        number = run.count_distinct(plan, graph, Options(), vertex)
    vids = whole.vids[:, vertex].tolist()
    most = len(vids) if limit is None else min(limit, len(vids))
    found = [vid for part in every.parts for vid in part]
    assert len(found) == every.rows == most
    assert number == len(set(vids))
    distinct = [vid for part in each.parts for vid in part]
    assert len(distinct) == len(set(distinct)) == min(len(set(vids)), most)
    assert set(distinct) <= set(vids)
    if limit is None:
        assert sorted(found) == sorted(vids)
