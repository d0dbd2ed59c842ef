"""Rows in the order of a value, walked by windows: the same embeddings as without, whatever the pattern."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pytest

from gdb import planner
from gdb.errors import InternalError
from gdb.executor import reference
from gdb.executor.choose_device import choose
from gdb.executor.cpu import launch
from gdb.executor.nest import value_order
from gdb.executor.nest.nest import EdgeLevel, Kind, LoopNest, VertexLevel
from gdb.executor.nest.prepare import Prepared, loop_nest, prepare
from gdb.executor.plan import embeddings
from gdb.executor.plan.plan import MISSING, Compare, Plan
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64
from tests.support.backends import rows_on_cpu
from tests.support.effort import share
from tests.support.small_graph import SmallGraph

T = TypeVar("T", np.uint32, np.int64)
ANY = 1 << 62
SHAPES: dict[str, list[tuple[int, int]]] = {
    "path2": [(0, 1), (1, 2)],
    "path3": [(0, 1), (1, 2), (2, 3)],
    "ring3": [(0, 1), (1, 2), (2, 0)],
    "ring4": [(0, 1), (1, 2), (2, 3), (3, 0)],
    "star": [(0, 1), (0, 2), (0, 3)],
    "in-star": [(1, 0), (2, 0), (3, 0)],
    "scatter": [(0, 1), (1, 3), (0, 2), (2, 3)],
    "parallel": [(0, 1), (0, 1), (1, 2)],
    "loop": [(0, 1), (1, 1), (1, 2)],
}


def data_graph(rng: random.Random) -> SmallGraph:
    """Few vertices, many parallel edges; "U" has no direction."""
    n = rng.choice([3, 5, 8])
    kinds = rng.choice(["R", "RRS", "RU"])
    labels = sorted(rng.choice([("A",), ("B",)]) for _ in range(n))
    ends = [(rng.choice(kinds), rng.randrange(n), rng.randrange(n)) for _ in range(24)]
    return SmallGraph(labels, ends, frozenset("U"))


def values(rng: random.Random, count: int) -> I64:
    return np.array([rng.choice([*range(12), MISSING]) for _ in range(count)], np.int64)


def some(rng: random.Random, count: int, kind: type[T]) -> npt.NDArray[T]:
    """Most of the numbers below `count`."""
    return np.array([k for k in range(count) if rng.random() < 0.7], kind)


def bounds(rng: random.Random) -> tuple[int, int]:
    return rng.choice([(0, 3), (1, ANY), (-ANY, 0), (0, ANY), (-2, 2), (0, 0), (3, 1), (1, 4)])


def query_graph(rng: random.Random, shape: str, graph: SmallGraph) -> QueryGraph:
    """A chain of comparisons of the edges, by one array or two; sometimes of a vertex as well."""
    ends = SHAPES[shape]
    n = 1 + max(max(pair) for pair in ends)
    kinds = rng.choice([("R",), ("R",), (), ("S", "R")])
    direction = rng.choice([Direction.OUT, Direction.OUT, Direction.OUT, Direction.ANY])
    clauses = rng.random() < 0.2
    edges = tuple(
        QueryEdge(
            *(a, b, kinds, direction),
            allowed=some(rng, len(graph.edges), np.int64) if rng.random() < 0.2 else None,
            clause=k if clauses else 0,
            predicate=f"{k}",
        )
        for k, (a, b) in enumerate(ends)
    )
    arrays = [values(rng, len(graph.edges)) for _ in range(rng.choice([1, 1, 2]))]
    array = [rng.choice(arrays) for _ in edges]
    found = [
        Compare(k, k + 1, True, True, *bounds(rng), array[k], array[k + 1], f"{k}")
        for k in range(len(edges) - 1)
        if rng.random() < 0.8
    ]
    if rng.random() < 0.5:
        last = len(edges) - 1
        found.append(Compare(0, last, True, True, 0, 5, array[0], array[last], "whole"))
    if rng.random() < 0.3:
        vertex, edge = rng.randrange(n), rng.randrange(len(edges))
        own = values(rng, graph.vertex_count)
        found.append(Compare(vertex, edge, False, True, *bounds(rng), own, array[edge], "vertex"))
    rng.shuffle(found)
    vertices = tuple(
        QueryVertex(
            *(f"v{k}", rng.choice([(), (), (("A",),)])),
            some(rng, graph.vertex_count, np.uint32) if rng.random() < 0.2 else None,
            f"{k}",
        )
        for k in range(n)
    )
    return QueryGraph(vertices, edges, compared=tuple(found))


def count(prepared: Prepared) -> int:
    return launch.count(prepared, Watch(None, None, None), Budget(), 1)


def bag(prepared: Prepared, plan: Plan, capacity: int) -> Counter[tuple[int, ...]]:
    found = rows_on_cpu(prepared, Watch(None, None, None), Budget(), 1, capacity)
    table = embeddings.expand(found, plan.twins)
    edges = sorted(plan.bound_edges)
    return Counter(
        tuple(v) + tuple(e[k] for k in edges)
        for v, e in zip(table.vids.tolist(), table.eids.tolist(), strict=True)
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(share(25)))
def test_windows_leave_the_embeddings_as_they_are(
    shape: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(f"{shape} {seed}")
    graph = data_graph(rng)
    query = query_graph(rng, shape, graph)
    if rng.random() < 0.7:  # these tables are too small for windows to be narrow
        monkeypatch.setattr("gdb.executor.nest.windows.NARROW", 1.0)
    plan = planner.plan(query, graph, counting=False)
    counted = planner.plan(query, graph, counting=True)
    number = reference.count(counted, graph)
    for windows in (True, False):
        found = count(prepare(counted, graph, windows=windows))
        assert found * counted.multiplicity == number
    capacity = rng.choice([1, 3, 100])
    want = bag(prepare(plan, graph), plan, capacity)
    assert bag(prepare(plan, graph, windows=True), plan, capacity) == want
    assert want.total() == number


def chain(shape: str, width: int = 2, edges: int = 40) -> tuple[QueryGraph, SmallGraph]:
    """Edges of one type, each within `width` after the one before."""
    rng = random.Random(shape)
    ends = [("R", rng.randrange(6), rng.randrange(6)) for _ in range(edges)]
    graph = SmallGraph([()] * 6, ends)
    at = np.arange(edges, dtype=np.int64)
    pattern = SHAPES[shape]
    compared = tuple(
        Compare(k, k + 1, True, True, 1, width, at, at, f"{k}") for k in range(len(pattern) - 1)
    )
    vertices = (QueryVertex(),) * (1 + max(max(pair) for pair in pattern))
    query = QueryGraph(
        vertices, tuple(QueryEdge(a, b, ("R",)) for a, b in pattern), compared=compared
    )
    return query, graph


def nest_of(
    query: QueryGraph, graph: SmallGraph, *, off: str = "", counting: bool = True
) -> LoopNest:
    plan = planner.plan(query, graph, counting=counting, switched_off=frozenset({off} - {""}))
    return loop_nest(plan, graph, windows=True)


def windows_of(nest: LoopNest) -> int:
    return sum(isinstance(x, EdgeLevel) and bool(x.windows) for x in nest.levels)


@pytest.mark.parametrize(
    ("shape", "many", "counted"), [("path2", 1, 1), ("path3", 2, 2), ("star", 2, 1)]
)
def test_every_edge_but_the_first_has_a_window(shape: str, many: int, counted: int) -> None:
    nest = nest_of(*chain(shape))
    assert windows_of(nest) == many
    assert windows_of(nest_of(*chain(shape), off="windows")) == 0
    last = nest.levels[-1]
    assert isinstance(last, EdgeLevel)
    assert last.windows  # the vertex it leads to is not wanted
    assert nest.loops == len(nest.levels) - counted  # and edges are counted, not walked
    assert not last.differs  # what comes later is another edge


def test_a_row_has_the_vertex() -> None:
    nest = nest_of(*chain("path2"), counting=False)
    last = nest.levels[-1]
    assert isinstance(last, VertexLevel)
    assert last.base.kind is Kind.END


def test_a_ring_is_closed_by_intersection_or_by_narrow_windows() -> None:
    assert windows_of(nest_of(*chain("ring3", width=30))) == 0
    assert windows_of(nest_of(*chain("ring3", width=1, edges=100))) == 1


def test_two_halves_of_a_window_are_narrow_together() -> None:
    query, graph = chain("ring3", width=1, edges=100)
    halves = [
        replace(c, least=least, most=most)
        for c in query.compared
        for least, most in ((c.least, ANY), (-ANY, c.most))
    ]
    nest = nest_of(replace(query, compared=tuple(halves)), graph, off="implied")
    assert [len(x.windows) for x in nest.levels if isinstance(x, EdgeLevel)].count(2) == 1


def test_an_edge_that_is_compared_with_nothing_yet_comes_before_its_vertex() -> None:
    nest = nest_of(*chain("path2"))
    first = nest.levels[1]
    assert isinstance(first, EdgeLevel)
    assert (first.target, first.windows) == (-1, ())


def test_edges_that_have_no_one_other_end_have_no_windows() -> None:
    query, graph = chain("path2")
    either = tuple(replace(edge, direction=Direction.ANY) for edge in query.edges)
    assert windows_of(nest_of(replace(query, edges=either), graph)) == 0
    undirected = SmallGraph(graph.labels, graph.edges, frozenset("R"))
    assert windows_of(nest_of(query, undirected)) == 0


def test_an_edge_among_many_of_one_value_is_taken_off_once() -> None:
    """Two alike edges, in a window that holds the earlier one among others of its value."""
    graph = SmallGraph([()] * 2, [("R", 0, 1)] * 9 + [("R", 1, 0)])
    at = np.zeros(10, np.int64)
    both = Compare(0, 1, True, True, 0, 1, at, at)
    edges = (QueryEdge(0, 1, ("R",)), QueryEdge(0, 2, ("R",)))
    query = QueryGraph((QueryVertex(),) * 3, edges, compared=(both,))
    plan = planner.plan(query, graph, counting=True)
    prepared = prepare(plan, graph, windows=True)
    assert windows_of(prepared.nest) == 1
    assert count(prepared) == 9 * 8


def test_rows_are_ordered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    query, graph = chain("path3")
    plan = planner.plan(query, graph, counting=True)
    first, again = (prepare(plan, graph, windows=True) for _ in range(2))
    assert first.orders
    assert all(a is b for a, b in zip(first.orders, again.orders, strict=True))
    monkeypatch.setattr(value_order, "MOST_KEPT", 0)
    assert windows_of(loop_nest(plan, graph, windows=True)) == 0


def test_the_longest_unused_order_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    _, graph = chain("path2")
    view = graph.adjacency(("R",), Direction.OUT)
    eids = graph.eids(("R",), Direction.OUT)
    arrays = [np.arange(40, dtype=np.int64) * k for k in range(3)]
    first = value_order.order_rows(view, eids, arrays[0])
    monkeypatch.setattr(value_order, "MOST_KEPT", 2 * first.bytes)
    for values_ in arrays:
        value_order.order_rows(view, eids, values_)
    assert value_order.order_rows(view, eids, arrays[2]) is value_order.order_rows(
        view, eids, arrays[2]
    )
    assert value_order.order_rows(view, eids, arrays[0]) is not first
    by_value = value_order.order_rows(view, eids, -arrays[1])
    for start, end in zip(view.offsets[:-1].tolist(), view.offsets[1:].tolist(), strict=True):
        row = by_value.values[start:end]
        assert (np.diff(row) >= 0).all()
        assert sorted(by_value.eids[start:end].tolist()) == sorted(eids[start:end].tolist())


def test_a_gpu_takes_no_windows() -> None:
    from gdb.executor.gpu import launch as gpu

    query, graph = chain("path2")
    plan = planner.plan(query, graph, counting=True)
    with pytest.raises(InternalError):
        gpu._runs(prepare(plan, graph, windows=True))


@pytest.mark.usefixtures("quick_gpu")
def test_a_plan_that_compares_edges_chooses_the_cpu() -> None:
    query, graph = chain("path2")
    plan = planner.plan(query, graph, counting=True)
    assert choose(plan, "auto", graph).device == "cpu"
    plain = planner.plan(replace(query, compared=()), graph, counting=True)
    assert choose(plain, "auto", graph).device == "cuda:0"
