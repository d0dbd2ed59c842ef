"""Hypothesis strategies: small labelled multigraphs and patterns in every mode."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from gdb.query_graph import (
    DIFFERENT_EDGES,
    DIFFERENT_NODES,
    INDUCED,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.storage.adjacency import Direction
from tests.small_graph import SmallGraph

MODES = (
    DIFFERENT_EDGES,
    DIFFERENT_NODES,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    INDUCED,
    MatchMode(nodes_differ=True, distinct=True, induced=True),
)


@st.composite
def graphs(draw: st.DrawFn) -> SmallGraph:
    n = draw(st.integers(1, 7))
    label_sets = st.sampled_from([("A",), ("A", "B"), ("B",)])
    labels = sorted(draw(st.lists(label_sets, min_size=n, max_size=n)))
    vertex = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(st.sampled_from("RSU"), vertex, vertex), max_size=14))
    if draw(st.booleans()):  # a simple graph, so that the paths for it are met as often
        edges = sorted({(t, min(a, b), max(a, b)) for t, a, b in edges if a != b})
    return SmallGraph(labels, edges, frozenset("U"))


@st.composite
def queries(draw: st.DrawFn, edge_count: int = 14, vertex_count: int = 7) -> QueryGraph:
    n = draw(st.integers(1, 4))
    label = st.sampled_from([(), (), (), (("A",),), (("B",),), (("A", "B"),), (("A",), ("B",))])
    vertices = []
    for _ in range(n):
        allowed, predicate = None, ""
        if draw(st.integers(0, 7)) == 0:
            predicate = draw(st.sampled_from(["p", "q"]))
            allowed = np.array([0, 2, 3, 5] if predicate == "p" else [1, 2, 4], np.uint32)
            allowed = allowed[allowed < vertex_count]
        vertices.append(QueryVertex(None, draw(label), allowed, predicate))
    edges = []
    for k in range(draw(st.integers(0, 5))):
        # mostly grow a connected pattern
        source = draw(st.integers(0, min(k, n - 1)))
        target = (
            min(k + 1, n - 1)
            if k < n - 1 and draw(st.integers(0, 5))
            else draw(st.integers(0, n - 1))
        )
        types = draw(st.sampled_from([(), ("R",), ("R",), ("U",), ("R", "S"), ("X",), ("R", "U")]))
        direction = draw(st.sampled_from([Direction.OUT, Direction.ANY]))
        eids, predicate = None, ""
        if draw(st.integers(0, 9)) == 0:
            predicate, eids = "p", np.arange(0, edge_count, 2, dtype=np.int64)
        edges.append(
            QueryEdge(source, target, types, direction, None, draw(st.booleans()), eids, predicate)
        )
    return QueryGraph(tuple(vertices), tuple(edges), draw(st.sampled_from(MODES)))


@st.composite
def cases(draw: st.DrawFn) -> tuple[SmallGraph, QueryGraph]:
    graph = draw(graphs())
    return graph, draw(queries(graph.edge_count, graph.vertex_count))
