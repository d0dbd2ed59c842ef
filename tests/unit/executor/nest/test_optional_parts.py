"""Optional parts: the count is that of brute force, on every executor, in every mode and with passes left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb import planner
from gdb.errors import CountOverflow, InternalError
from gdb.executor import reference
from gdb.executor.choose_device import choose
from gdb.executor.cpu import launch
from gdb.executor.gpu import units
from gdb.executor.nest.prepare import prepare
from gdb.executor.options import Options
from gdb.executor.plan.plan import Plan
from gdb.executor.plan.valid_plans import verify
from gdb.executor.work.scheduler import Budget, Watch
from gdb.planner.explain import explain
from gdb.query_graph import REPEATABLE_ELEMENTS, OptionalGraph, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction
from tests.oracles import brute_force
from tests.support.backends import BACKENDS, Backend
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.support.strategies import MODES, graphs

PASSES_OFF = [frozenset[str](), *(frozenset({p}) for p in planner.PASSES)]
COUNTED = [mode for mode in MODES if not mode.distinct]
_LABELS = st.sampled_from([(), (), (), (("A",),), (("B",),)])
_TYPES = st.sampled_from([(), (), ("R",), ("R", "S"), ("U",)])
_WAYS = st.sampled_from([Direction.OUT, Direction.ANY])


@st.composite
def _graph(draw: st.DrawFn, least: int, held: int) -> QueryGraph:
    """A pattern whose first `held` vertices are not joined to one another by bound edges."""
    n = held + draw(st.integers(least, 2))
    pairs = [(a, b) for a in range(n) for b in range(a + 1)]
    pairs = [(a, b) for a, b in pairs if a >= held]
    edges = []
    for k in range(max(held, 1), n):
        edges.append((draw(st.integers(0, k - 1)), k))
    if pairs and draw(st.integers(0, 3)) == 3:
        edges.append(draw(st.sampled_from(pairs)))
    made = [QueryEdge(a, b, draw(_TYPES), draw(_WAYS)) for a, b in edges if draw(st.integers(0, 9))]
    negated = []
    if n > 1 and draw(st.integers(0, 7)) == 7:
        a, b = draw(st.permutations(range(n)))[:2]
        other = QueryEdge(a, b, draw(_TYPES), draw(_WAYS), exists=True)
        if draw(st.booleans()):
            made.append(other)
        else:
            negated.append(replace(other, exists=False))
    vertices = []
    for _ in range(n):
        allowed, predicate = None, ""
        if draw(st.integers(0, 9)) == 9:
            allowed, predicate = np.array([0, 2, 3], np.uint32), "p"
        vertices.append(QueryVertex(None, draw(_LABELS), allowed, predicate))
    mode = draw(st.sampled_from(COUNTED))
    return QueryGraph(tuple(vertices), tuple(made), mode, negated=tuple(negated))


@st.composite
def queries(draw: st.DrawFn) -> QueryGraph:
    base = draw(_graph(1, 0))
    numbers = [len(base.vertices)]

    def part(seen: list[int], depth: int) -> OptionalGraph:
        held = draw(st.permutations(seen))[: draw(st.sampled_from([1, 1, 1, 2, 0]))]
        graph = draw(_graph(1, len(held)))
        own = [*held, *range(numbers[0], numbers[0] + len(graph.vertices) - len(held))]
        numbers[0] += len(graph.vertices) - len(held)
        inner = []
        if depth < 2 and numbers[0] < 7 and draw(st.integers(0, 2)) == 2:
            inner.append(part([*dict.fromkeys([*seen, *own])], depth + 1))
        graph = replace(graph, optional=tuple(inner))
        return OptionalGraph(graph, tuple(enumerate(held)))

    parts = [part([*range(len(base.vertices))], 0) for _ in range(draw(st.integers(1, 3)))]
    return replace(base, optional=tuple(parts))


def _count(backend: Backend, plan: Plan, graph: SmallGraph) -> int:
    prepared = prepare(plan, graph, windows=backend.windows)
    return plan.multiplicity * backend.count(prepared, Watch(None, None, None), Budget())


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@settings(max_examples=share(200), deadline=None)
@given(graph=graphs(), query=queries(), off=st.sampled_from(PASSES_OFF), one_step=st.booleans())
def test_the_count_is_that_of_brute_force(
    backend: Backend, graph: SmallGraph, query: QueryGraph, off: frozenset[str], one_step: bool
) -> None:
    plan = planner.plan(query, graph, counting=True, switched_off=off)
    known = brute_force.count(query, graph)
    assert reference.count(plan, graph) == known
    with pytest.MonkeyPatch.context() as patch:
        if one_step:  # the kernel leaves off and goes on everywhere
            patch.setattr(launch, "STEPS", 1)
        assert _count(backend, plan, graph) == known


def _star(leaves: int, held: tuple[tuple[int, int], ...], **more: Any) -> OptionalGraph:
    """Relationships from a vertex to others. held : as in `OptionalGraph`, the first vertex among them."""
    others = max(leaves, *(own for own, _ in held))
    bound = {own for own, _ in held}
    ends = [k for k in range(1, others + 1) if k not in bound]
    while len(ends) < leaves:
        ends.append(others := others + 1)
    vertices = tuple(QueryVertex() for _ in range(others + 1))
    graph = QueryGraph(vertices, tuple(QueryEdge(0, k) for k in ends))
    return OptionalGraph(replace(graph, **more), held)


HUB = SmallGraph([()] * 9, [("R", 0, k) for k in range(1, 7)] + [("R", 7, 8)])
PAIR = QueryGraph((QueryVertex("a"), QueryVertex("b")), (QueryEdge(0, 1),))


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
def test_a_part_is_no_twin_of_what_it_differs_from(backend: Backend) -> None:
    """(a)-->(b), and another (x) than it: six times five, and one for (7)-->(8), which has no other."""
    query = replace(PAIR, optional=(_star(1, ((0, 0), (1, 1)), apart=((1, 2),)),))
    plan = planner.plan(query, HUB, counting=True)
    assert _count(backend, plan, HUB) == reference.count(plan, HUB) == 6 * 5 + 1


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
def test_a_product_that_does_not_fit(backend: Backend) -> None:
    """Parts count as one where they are not there, and are an error where they are too many."""
    parts = tuple(_star(4, ((0, 0),), mode=REPEATABLE_ELEMENTS) for _ in range(7))
    plan = planner.plan(replace(PAIR, optional=parts), HUB, counting=True)
    assert 6**29 > 2**63
    with pytest.raises(CountOverflow):
        _count(backend, plan, HUB)
    none = tuple(_star(4, ((0, 1),), mode=REPEATABLE_ELEMENTS) for _ in range(7))
    plan = planner.plan(replace(PAIR, optional=none), HUB, counting=True)
    assert _count(backend, plan, HUB) == 7


@pytest.mark.usefixtures("quick_gpu")
def test_parts_choose_the_cpu() -> None:
    plan = planner.plan(replace(PAIR, optional=(_star(1, ((0, 1),)),)), HUB, counting=True)
    assert choose(plan, "auto", HUB).device == "cpu"
    assert "optional parts" in explain(plan, HUB, Options())


def test_only_counts_have_parts() -> None:
    plan = planner.plan(replace(PAIR, optional=(_star(1, ((0, 1),)),)), HUB, counting=True)
    assert verify(plan) is plan
    with pytest.raises(InternalError, match="rows have optional parts"):
        verify(replace(plan, counting=False))


def test_what_a_part_shares_tests_and_binds_nothing() -> None:
    """A label of a shared vertex holds for the part alone; what is around it is matched as without."""
    graph = SmallGraph([("A",), ("A",), ("B",)], [("R", 0, 2), ("R", 1, 2)])
    one = QueryGraph((QueryVertex("a", (("A",),)),), ())
    only = _star(1, ((0, 0),))
    shared = replace(only.graph, vertices=(QueryVertex(labels=(("B",),)), QueryVertex()))
    plan = planner.plan(replace(one, optional=(replace(only, graph=shared),)), graph, counting=True)
    assert plan.phases == planner.plan(one, graph, counting=True).phases
    assert "in its candidates" in explain(plan, graph, Options())
    assert reference.count(plan, graph) == 2


@pytest.mark.parametrize("off", [frozenset[str](), frozenset({"trees"})])
def test_no_part_is_cut_into_work_units(off: frozenset[str]) -> None:
    """What a GPU's units count of one root is added up: max(1, n) of a sum is not the sum of it."""
    square = QueryGraph(
        (QueryVertex(),) * 4, tuple(QueryEdge(a, b) for a, b in ((0, 1), (1, 2), (0, 3), (3, 2)))
    )
    alone = QueryGraph((QueryVertex("a"),), ())
    part = OptionalGraph(square, ((0, 0),))
    plan = planner.plan(replace(alone, optional=(part,)), HUB, counting=True, switched_off=off)
    tables = prepare(plan, HUB).tables
    assert (units.cut_level(tables), units.cut_node(tables)) == (-1, -1)
    whole = prepare(planner.plan(square, HUB, counting=True, switched_off=off), HUB).tables
    assert units.cut_level(whole) >= 0
