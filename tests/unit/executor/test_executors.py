"""One contract for all executors: reference = brute force, cpu (and gpu) = reference, with every
pass on or off."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb import planner
from gdb.executor import reference
from gdb.executor.nest.prepare import prepare
from gdb.executor.plan import embeddings
from gdb.executor.plan.embeddings import Embeddings
from gdb.executor.plan.plan import Plan
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import QueryEdge, QueryGraph, QueryVertex
from tests.oracles import brute_force
from tests.support.backends import BACKENDS, Backend
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.support.strategies import cases

PASS_SETS = [frozenset(), *(frozenset({p}) for p in planner.PASSES), frozenset(planner.PASSES)]


def bag(table: Embeddings, plan: Plan) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    bound = list(plan.bound_edges)
    return Counter(
        (tuple(v), tuple(int(e[k]) for k in sorted(bound)))
        for v, e in zip(table.vids.tolist(), table.eids.tolist(), strict=True)
    )


def expected(
    query: QueryGraph, graph: SmallGraph, plan: Plan
) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    bound = sorted(plan.bound_edges)
    return Counter((v, tuple(e[k] for k in bound)) for v, e in brute_force.embeddings(query, graph))


def orbits(
    query: QueryGraph, found: Counter[tuple[tuple[int, ...], tuple[int, ...]]], plan: Plan
) -> Counter[object]:
    """Rows up to automorphism: SUBGRAPHS may return any one of an automorphism class."""
    bound = sorted(plan.bound_edges)
    group = brute_force.automorphisms(query)
    if any(edges[e] not in bound for _, edges in group for e in bound):
        # a twin's bound edge is not bound here, so rows of one class cannot be distinguished by their edges
        found, bound = _vids_only(found), []
    classes: Counter[object] = Counter()
    for (vids, eids), n in found.items():
        at = dict(zip(bound, eids, strict=True))
        twins = frozenset(
            (tuple(vids[i] for i in image), tuple(at.get(i, -1) for i in edges))
            for image, edges in group
        )
        classes[twins] += n
    return classes


def _vids_only(
    found: Counter[tuple[tuple[int, ...], tuple[int, ...]]],
) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    seen: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for (vids, _), n in found.items():
        seen[vids, ()] += n
    return seen


@settings(max_examples=share(250), deadline=None)
@given(cases(), st.sampled_from(PASS_SETS))
def test_reference_is_brute_force(case: tuple[SmallGraph, QueryGraph], off: frozenset[str]) -> None:
    graph, query = case
    plan = planner.plan(query, graph, counting=False, switched_off=off)
    counted = planner.plan(query, graph, counting=True, switched_off=off)
    want = expected(query, graph, plan)
    got = bag(reference.rows(plan, graph), plan)
    assert reference.count(counted, graph) == sum(want.values())
    if query.mode.distinct:
        assert orbits(query, got, plan) == orbits(query, want, plan)
    else:
        assert got == want


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@settings(max_examples=share(400), deadline=None)
@given(
    case=cases(),
    off=st.sampled_from(PASS_SETS),
    capacity=st.sampled_from([1, 2, 31, 32, 33, 1000]),
)
def test_backend_is_reference(
    backend: Backend, case: tuple[SmallGraph, QueryGraph], off: frozenset[str], capacity: int
) -> None:
    graph, query = case
    plan = planner.plan(query, graph, counting=False, switched_off=off)
    counted = planner.plan(query, graph, counting=True, switched_off=off)
    found = backend.rows(
        prepare(plan, graph, windows=backend.windows),
        Watch(None, None, None),
        Budget(),
        capacity,
    )
    assert bag(embeddings.expand(found, plan.twins), plan) == bag(reference.rows(plan, graph), plan)
    total = backend.count(
        prepare(counted, graph, windows=backend.windows), Watch(None, None, None), Budget()
    )
    assert total * counted.multiplicity == reference.count(counted, graph)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
def test_candidates_beyond_the_last_row_are_neighbours_all_the_same(backend: Backend) -> None:
    """A label whose vertices have no outgoing edge comes last; once its range was taken for isolated."""
    graph = SmallGraph([("A",), ("A",), ("B",)], [("R", 0, 1), ("R", 0, 2), ("R", 1, 2)])
    vertices = (QueryVertex("a"), QueryVertex("b", (("B",),)))
    query = QueryGraph(vertices, (QueryEdge(0, 1, ("R",)),))
    plan = planner.plan(query, graph, counting=True)
    prepared = prepare(plan, graph)
    assert backend.count(prepared, Watch(None, None, None), Budget()) == 2
