"""Loops that branch count what the reference counts, in every mode and with passes left out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb import planner
from gdb.errors import CountOverflow
from gdb.executor import reference
from gdb.executor.choose_device import Work, gpu_seconds
from gdb.executor.cpu import launch
from gdb.executor.nest.nest import LoopNest, VertexLevel
from gdb.executor.nest.prepare import prepare
from gdb.executor.run import Options, tallies
from gdb.executor.work.scheduler import Budget, Watch
from gdb.planner.explain import explain
from gdb.query_graph import REPEATABLE_ELEMENTS, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction
from tests.support.backends import BACKENDS, Backend
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.support.strategies import MODES

Pairs = tuple[tuple[int, int], ...]
TRIANGLE: Pairs = ((0, 1), (1, 2), (0, 2))
CLIQUE: Pairs = (*TRIANGLE, (0, 3), (1, 3), (2, 3))
SQUARE: Pairs = ((0, 1), (1, 2), (2, 3), (0, 3))
PIECES: tuple[Pairs, ...] = (TRIANGLE, CLIQUE, SQUARE, ((0, 1),), ((0, 1), (1, 2)))
PASSES_OFF = [
    frozenset[str](),
    *(frozenset({p}) for p in ("branches", "caches", "motion", "trees", "formulas")),
]


def glued(*pieces: tuple[Pairs, int]) -> Pairs:
    """Pieces that each have their vertex 0 at a vertex of those before."""
    edges: list[tuple[int, int]] = []
    count = 0
    for piece, at in pieces:
        new = {k: count - 1 + k for k in range(1, 1 + max(max(pair) for pair in piece))}
        new[0] = at
        if not edges:
            new = {k: k for k in range(len(new))}
        edges += [(new[a], new[b]) for a, b in piece]
        count = 1 + max(max(pair) for pair in edges)
    return tuple(edges)


def query_of(edges: Pairs, labels: dict[int, str] | None = None) -> QueryGraph:
    known = labels or {}
    vertices = tuple(
        QueryVertex(None, ((known[k],),) if k in known else ())
        for k in range(1 + max(max(pair) for pair in edges))
    )
    found = tuple(QueryEdge(a, b, (), Direction.ANY) for a, b in edges)
    return QueryGraph(vertices, found, REPEATABLE_ELEMENTS)


@st.composite
def cases(draw: st.DrawFn) -> tuple[SmallGraph, QueryGraph]:
    n = draw(st.integers(3, 5))
    labels = sorted(draw(st.lists(st.sampled_from([("A",), ("B",)]), min_size=n, max_size=n)))
    vertex = st.integers(0, n - 1)
    ends = st.tuples(st.sampled_from("RU"), vertex, vertex)
    edges = draw(st.lists(ends, min_size=6, max_size=11))
    if draw(st.booleans()):
        edges = sorted({(t, min(a, b), max(a, b)) for t, a, b in edges if a != b})
    pieces: list[tuple[Pairs, int]] = []
    size = 0
    for _ in range(draw(st.integers(2, 4))):
        piece = draw(st.sampled_from(PIECES))
        longer = max(max(pair) for pair in piece)
        if size and size + longer > 7:
            break
        pieces.append((piece, draw(st.integers(0, max(size - 1, 0)))))
        size += longer + (not size)
    types = st.sampled_from([(), (), ("R",), ("U",)])
    direction = st.sampled_from([Direction.ANY, Direction.ANY, Direction.OUT])
    query_edges = tuple(QueryEdge(a, b, draw(types), draw(direction)) for a, b in glued(*pieces))
    label = st.sampled_from([(), (), (("A",),), (("B",),)])
    vertices = tuple(QueryVertex(None, draw(label)) for _ in range(size))
    query = QueryGraph(vertices, query_edges, draw(st.sampled_from(MODES)))
    return SmallGraph(labels, edges, frozenset("U")), query


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@settings(max_examples=share(150), deadline=None)
@given(case=cases(), off=st.sampled_from(PASSES_OFF), one_step=st.booleans())
def test_the_count_is_that_of_the_reference(
    backend: Backend, case: tuple[SmallGraph, QueryGraph], off: frozenset[str], one_step: bool
) -> None:
    graph, query = case
    plan = planner.plan(query, graph, counting=True, switched_off=off)
    with pytest.MonkeyPatch.context() as patch:
        if one_step:  # the kernel leaves off and goes on everywhere
            patch.setattr(launch, "STEPS", 1)
        found = plan.multiplicity * backend.count(
            prepare(plan, graph, windows=backend.windows), Watch(None, None, None), Budget()
        )
        for factor, term in plan.terms:
            found += (
                factor
                * term.multiplicity
                * backend.count(
                    prepare(term, graph, windows=backend.windows), Watch(None, None, None), Budget()
                )
            )
    assert found // plan.divisor == reference.count(plan, graph)


def complete(n: int, label: Callable[[int], tuple[str, ...]] = lambda _: ()) -> SmallGraph:
    labels = [label(k) for k in range(n)]
    edges = [("U", a, b) for a in range(n) for b in range(a)]
    return SmallGraph(labels, edges, frozenset("U"))


def nest_of(query: QueryGraph, graph: SmallGraph, off: frozenset[str] = frozenset()) -> LoopNest:
    return prepare(planner.plan(query, graph, counting=True, switched_off=off), graph).nest


def test_cliques_at_one_vertex_are_counted_apart() -> None:
    graph = complete(8)
    query = query_of(glued((CLIQUE, 0), (CLIQUE, 0)))
    nest = nest_of(query, graph)
    assert nest.around == (-1, 0, 0)
    assert {nest.arounds[k] for n in nest.tail for k in n.levels} == {1, 2}
    assert nest_of(query, graph, frozenset({"branches"})).around == ()
    assert "multiply:" in explain(planner.plan(query, graph, counting=True), graph, Options())


def test_what_reads_one_another_is_not_parted() -> None:
    """Each level of a nest that branches reads levels around it only; the verifier says so."""
    query = query_of((*glued((SQUARE, 0), (SQUARE, 0), (TRIANGLE, 2)), (1, 4)))
    nest = nest_of(query, complete(6))
    for level, path in zip(nest.levels, nest.paths, strict=True):
        assert level.reads() <= path


def test_trees_are_counted_in_the_loop_that_they_hang_on() -> None:
    """The leaves at the first vertex are not counted again for each triangle."""
    edges = glued((CLIQUE, 0), (((0, 1), (1, 2)), 0))
    nest = nest_of(query_of(edges), complete(6))
    first = nest.levels[0]
    assert isinstance(first, VertexLevel)
    assert any(n.inside == 0 for n in nest.tail) or nest.around != ()


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
def test_a_product_that_does_not_fit(backend: Backend) -> None:
    """It is an error, but not where another factor is zero."""
    graph = complete(64, lambda k: ("A",) if k < 63 else ("B",))
    cliques = [(CLIQUE, 0)] * 4
    many = query_of(glued(*cliques))

    def count(query: QueryGraph) -> int:
        plan = planner.plan(query, graph, counting=True)
        return backend.count(
            prepare(plan, graph, windows=backend.windows), Watch(None, None, None), Budget()
        )

    assert math.perm(63, 3) ** 4 > 2**63
    with pytest.raises(CountOverflow):
        count(many)
    # a triangle with two vertices that are each the only one of their label: none
    none = query_of(glued(*cliques, (CLIQUE, 0)), {13: "B", 14: "B"})
    assert count(none) == 0


def test_counts_for_each_vertex_of_the_first_loop() -> None:
    graph = SmallGraph([()] * 6, [("U", a, b) for a in range(6) for b in range(a) if a + b != 5])
    query = query_of(glued((CLIQUE, 0), (TRIANGLE, 0), (((0, 1),), 0)))
    plan = planner.plan(query, graph, counting=True, switched_off=frozenset({"symmetry"}))
    nest = prepare(plan, graph).nest
    first = nest.levels[0]
    assert nest.around != ()
    assert isinstance(first, VertexLevel)
    some, numbers = tallies(plan, graph, Options())
    rows = reference.rows(
        planner.plan(query, graph, counting=False, switched_off=frozenset({"symmetry"})), graph
    )
    known = Counter(rows.vids[:, first.vertex].tolist())
    found = dict(zip(some.vertex(first.vertex).tolist(), numbers.tolist(), strict=True))
    assert found == dict(known)


def test_loops_that_branch_take_a_gpu_as_long_as_few_warps_do() -> None:
    graph = complete(8)
    seconds = []
    for pairs in (glued((CLIQUE, 0), (CLIQUE, 0)), CLIQUE):
        plan = planner.plan(query_of(pairs), graph, counting=True)
        seconds.append(gpu_seconds(plan, prepare(plan, graph), Work(1e8, 1e7), 4224))
    assert seconds[0] > 10 * seconds[1]
