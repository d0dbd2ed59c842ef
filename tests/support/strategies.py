"""Hypothesis strategies: small labelled multigraphs and patterns in every mode."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from gdb.executor.plan.plan import MISSING, Compare
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
from gdb.storage.format.direction import Direction
from tests.support.small_graph import SmallGraph

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
    n = draw(st.sampled_from([7, 6, 5, 5, 4, 3, 1]))
    label_sets = st.sampled_from([("A",), ("A", "B"), ("B",)])
    labels = sorted(draw(st.lists(label_sets, min_size=n, max_size=n)))
    vertex = st.integers(0, n - 1)
    kind = st.sampled_from("RRSU")
    few = draw(st.sampled_from([8, 8, 5, 0]))
    edges = draw(st.lists(st.tuples(kind, vertex, vertex), min_size=few, max_size=14))
    if draw(st.booleans()):  # a simple graph, so that the paths for it are met as often
        edges = sorted({(t, min(a, b), max(a, b)) for t, a, b in edges if a != b})
    return SmallGraph(labels, edges, frozenset("U"))


@st.composite
def queries(draw: st.DrawFn, edge_count: int = 14, vertex_count: int = 7) -> QueryGraph:
    n = draw(st.sampled_from([2, 3, 4, 3, 2, 1]))
    label = st.sampled_from([(), (), (), (), (("A",),), (("B",),), (("A", "B"),), (("A",), ("B",))])
    vertices = []
    for _ in range(n):
        allowed, predicate = None, ""
        if draw(st.integers(0, 9)) == 9:
            predicate = draw(st.sampled_from(["p", "q"]))
            allowed = np.array([0, 2, 3, 5] if predicate == "p" else [1, 2, 4], np.uint32)
            allowed = allowed[allowed < vertex_count]
        vertices.append(QueryVertex(None, draw(label), allowed, predicate))
    edges = []
    extra = draw(st.sampled_from([0, 1, 0, 2, 1]))
    for k in range(n - 1 + extra):
        # grow a tree, mostly connected, then close cycles
        grows = k < n - 1 and draw(st.integers(0, 9)) < 9
        source = draw(st.integers(0, min(k, n - 1)))
        target = k + 1 if grows else draw(st.integers(0, n - 1))
        types = draw(
            st.sampled_from([(), ("R",), (), ("R",), ("R", "S"), ("U",), ("R", "U"), ("X",)])
        )
        direction = draw(st.sampled_from([Direction.OUT, Direction.ANY]))
        eids, predicate = None, ""
        if draw(st.integers(0, 9)) == 9:
            predicate, eids = "p", np.arange(0, edge_count, 2, dtype=np.int64)
        exists = draw(st.integers(0, 9)) == 9
        wanted = draw(st.booleans()) and not exists
        if exists:
            eids, predicate = None, ""
        edges.append(
            QueryEdge(
                *(source, target, types, direction, None, wanted, eids, predicate), exists=exists
            )
        )
    mode = draw(st.sampled_from(MODES))
    if not mode.nodes_differ and draw(st.booleans()):  # several MATCH
        edges = [replace(edge, clause=draw(st.integers(0, 1))) for edge in edges]
    vertex = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(vertex, vertex), max_size=draw(st.sampled_from([0, 0, 2]))))
    negated = []
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        types = draw(st.sampled_from([(), ("R",), ("S",), ("R", "U"), ("U",), ("X",)]))
        direction = draw(st.sampled_from([Direction.OUT, Direction.ANY]))
        negated.append(QueryEdge(draw(vertex), draw(vertex), types, direction))
    return QueryGraph(
        tuple(vertices),
        tuple(edges),
        mode,
        apart=tuple((u, v) for u, v in pairs if u != v),
        negated=tuple(negated),
        compared=draw(comparisons(n, edges, vertex_count, edge_count)),
    )


@st.composite
def comparisons(
    draw: st.DrawFn, n: int, edges: list[QueryEdge], vertex_count: int, edge_count: int
) -> tuple[Compare, ...]:
    """Up to four comparisons of vertices and edges by small numbers, some of them missing; some by one array for all
    edges and one for all vertices, as those of one property are."""
    known = [(k, False) for k in range(n)]
    known += [(k, True) for k, edge in enumerate(edges) if not edge.exists]
    found: list[Compare] = []
    value = st.sampled_from([0, 1, 2, 3, MISSING])
    several = st.lists(value, min_size=15, max_size=15).map(lambda v: np.array(v, np.int64))
    shared = [draw(several)[:vertex_count], draw(several)[:edge_count]]
    alike = draw(st.booleans())
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2, 3, 4])) if len(known) > 1 else 0):
        (left, left_is_edge), (right, right_is_edge) = draw(
            st.lists(st.sampled_from(known), min_size=2, max_size=2, unique=True)
        )
        sides = [
            shared[e] if alike else draw(several)[: edge_count if e else vertex_count]
            for e in (left_is_edge, right_is_edge)
        ]
        least, most = draw(
            st.sampled_from([(-(1 << 62), 0), (1, 1 << 62), (0, 1), (0, 0), (-2, 1)])
        )
        found.append(
            Compare(
                *(
                    left,
                    right,
                    left_is_edge,
                    right_is_edge,
                    least,
                    most,
                    sides[0],
                    sides[1],
                    "compared",
                ),
                draw(st.sampled_from([True, True, False])),
            )
        )
    return tuple(found)


@st.composite
def cases(draw: st.DrawFn) -> tuple[SmallGraph, QueryGraph]:
    graph = draw(graphs())
    return graph, draw(queries(graph.edge_count, graph.vertex_count))
