"""The pass `each_edge`: parallel edges are counted where a row repeats a neighbour for them."""

from __future__ import annotations

import random

import pytest

from gdb import planner
from gdb.executor import reference
from gdb.executor.nest.nest import EdgeLevel, Formula, VertexLevel
from gdb.executor.nest.prepare import loop_nest, prepare
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import (
    DIFFERENT_EDGES,
    DIFFERENT_NODES,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.storage.format.direction import Direction
from tests.oracles.brute_force import embeddings
from tests.support.backends import BACKENDS, Backend
from tests.support.effort import share
from tests.support.small_graph import SmallGraph

SHAPES = {
    "edge": [(0, 1)],
    "path": [(0, 1), (1, 2)],
    "path of three": [(0, 1), (1, 2), (2, 3)],
    "star": [(0, 1), (0, 2), (0, 3)],
    "triangle with a tail": [(0, 1), (1, 2), (2, 0), (2, 3)],
    "two parts": [(0, 1), (2, 3)],
    "double edge with a tail": [(0, 1), (0, 1), (1, 2)],
    "spider": [(0, 1), (0, 2), (1, 3), (2, 4)],
}
TYPES = (("U",), ("U",), ("V",), ("U", "W"), ())
MODES = [DIFFERENT_EDGES, DIFFERENT_NODES, REPEATABLE_ELEMENTS, SUBGRAPHS]
ALL = frozenset({"order", "structure", "symmetry", "orientation"})


def graph_of(draw: random.Random, kind: str) -> SmallGraph:
    """With parallel edges of the types U and W, none of V, and loops where the kind of graph has them."""
    n = 9
    labels = sorted((draw.choice("AB"),) for _ in range(n))
    edges = []
    for _ in range(30):
        a, b = sorted((draw.randrange(n), draw.randrange(n)))
        type_ = draw.choice("UVW")
        if (a != b or "loops" in kind) and ("V", a, b) not in edges:
            edges += [(type_, a, b)] * (1 if type_ == "V" else draw.choice((1, 1, 2, 3)))
    return SmallGraph(labels, edges, frozenset("UVW") if "undirected" in kind else frozenset())


@pytest.mark.parametrize("kind", ["directed", "directed, loops", "undirected", "undirected, loops"])
@pytest.mark.parametrize("mode", MODES, ids=["edges", "nodes", "repeatable", "subgraphs"])
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_parallel_edges_are_counted(mode: MatchMode, kind: str, backend: Backend) -> None:
    bound, left = 0, 0
    for name, ends in SHAPES.items():
        for seed in range(share(3)):
            draw = random.Random(f"{name} {seed} {kind}")
            graph = graph_of(draw, kind)
            named = [draw.choice(((), (("A",),))) for _ in range(1 + max(map(max, ends)))]
            way = Direction.ANY if "undirected" in kind or seed == 2 else Direction.OUT
            query = QueryGraph(
                tuple(QueryVertex(labels=some) for some in named),
                tuple(QueryEdge(a, b, draw.choice(TYPES), way) for a, b in ends),
                mode,
            )
            expected = reference.count(planner.plan(query, graph, counting=True), graph)
            for off in (frozenset[str](), ALL, ALL | {"each_edge"}, frozenset({"each_edge"})):
                plan = planner.plan(query, graph, counting=True, switched_off=off)
                found = backend.count(prepare(plan, graph), Watch(None, None, None), Budget())
                assert found * plan.multiplicity == expected * plan.divisor, (name, seed, off)
                levels = loop_nest(plan, graph).levels
                each = [one for one in levels if isinstance(one, VertexLevel) and one.each]
                assert not (each and "each_edge" in off)
                bound += len(each)
                left += any(isinstance(one, EdgeLevel) for one in levels)
    assert bound or mode.nodes_differ  # every vertex has to differ there
    assert left


def test_a_leaf_is_the_length_of_its_row() -> None:
    graph = SmallGraph([()] * 3, [("U", 0, 1)] * 3 + [("U", 0, 2)], frozenset())
    query = QueryGraph((QueryVertex(), QueryVertex()), (QueryEdge(0, 1, ("U",)),), DIFFERENT_EDGES)
    plan = planner.plan(query, graph, counting=True)
    nest = loop_nest(plan, graph)
    assert (nest.loops, len(nest.levels), len(nest.tail)) == (1, 2, 1)
    assert not any(isinstance(one, EdgeLevel) for one in nest.levels)
    assert reference.count(plan, graph) == 4


@pytest.mark.parametrize("mode", MODES, ids=["edges", "nodes", "repeatable", "subgraphs"])
@pytest.mark.parametrize("types", ["UV", "VU", "UU", "UVV", "UUV"])
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_leaves_beside_one_another(mode: MatchMode, types: str, backend: Backend) -> None:
    """Leaves of one vertex, in the order in which they are given: what must differ from one that parallel edges repeat
    is taken off as often as they do."""
    edges = [("U", 0, 1)] * 3 + [("U", 0, 2)] * 2 + [("V", 0, k) for k in (1, 2, 3)]
    edges += [("U", 4, 1)] * 2 + [("V", 4, 1), ("V", 4, 2)]
    graph = SmallGraph([()] * 5, edges, frozenset())
    query = QueryGraph(
        tuple(QueryVertex() for _ in range(len(types) + 1)),
        tuple(QueryEdge(0, k + 1, (type_,)) for k, type_ in enumerate(types)),
        mode,
    )
    expected = reference.count(planner.plan(query, graph, counting=True), graph)
    for off in (frozenset[str](), ALL, frozenset({"order", "structure", "orientation"})):
        plan = planner.plan(query, graph, counting=True, switched_off=off)
        found = backend.count(prepare(plan, graph), Watch(None, None, None), Budget())
        assert found * plan.multiplicity == expected * plan.divisor


@pytest.mark.parametrize("kind", ["directed", "directed, loops", "undirected", "undirected, loops"])
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_leaves_of_one_list_are_counted_by_its_length(kind: str, backend: Backend) -> None:
    """Relationships of one list differ where its elements do, however often it repeats a neighbour."""
    for leaves, labels, way in (
        (2, (), Direction.OUT),
        (3, (), Direction.ANY),
        (3, ("A",), Direction.OUT),
    ):
        graph = graph_of(random.Random(f"{leaves} {kind}"), kind)
        named = QueryVertex(labels=(labels,) if labels else ())
        query = QueryGraph(
            (QueryVertex(), *[named] * leaves),
            tuple(QueryEdge(0, k + 1, ("U", "W"), way) for k in range(leaves)),
            DIFFERENT_EDGES,
        )
        expected = len(embeddings(query, graph))
        for off in (frozenset[str](), frozenset({"each_edge"}), frozenset({"formulas"})):
            plan = planner.plan(query, graph, counting=True, switched_off=off)
            found = backend.count(prepare(plan, graph), Watch(None, None, None), Budget())
            assert found * plan.multiplicity == expected
            assert reference.count(plan, graph) == expected
            nest = loop_nest(plan, graph)
            alike = not any(isinstance(one, EdgeLevel) for one in nest.levels)
            assert alike == (not off)
            assert not alike or nest.tail[-1].formula is Formula.FALLING


def test_leaves_of_which_one_is_another_are_bound_by_their_edges() -> None:
    """Only leaves that are alike are counted together: one with a label of its own goes over another list."""
    graph = SmallGraph([("A",), ("B",), ("B",)], [("U", 0, 1)] * 3 + [("U", 0, 2)], frozenset())
    query = QueryGraph(
        (QueryVertex(), QueryVertex(), QueryVertex(labels=(("B",),))),
        (QueryEdge(0, 1), QueryEdge(0, 2)),
        DIFFERENT_EDGES,
    )
    plan = planner.plan(query, graph, counting=True)
    levels = loop_nest(plan, graph).levels
    assert any(isinstance(one, EdgeLevel) for one in levels)
    assert reference.count(plan, graph) == len(embeddings(query, graph)) == 12
