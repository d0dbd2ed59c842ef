"""Where the semantics agree, rows equal those of networkx's GraphMatcher (VF2).

On simple graphs DIFFERENT NODES is its subgraph monomorphism and INDUCED its induced subgraph isomorphism.
"""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms import isomorphism

from gdb import planner
from gdb.executor.nest.prepare import prepare
from gdb.executor.plan.embeddings import expand
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import DIFFERENT_NODES, INDUCED, MatchMode, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction
from tests.support.backends import BACKENDS, Backend
from tests.support.effort import share
from tests.support.small_graph import SmallGraph

Pairs = list[tuple[int, int]]


@st.composite
def simple_graphs(
    draw: st.DrawFn, least: int, most: int, directed: bool
) -> tuple[list[str], Pairs]:
    """Vertex labels (ascending) and edges of a simple graph without loops."""
    n = draw(st.integers(least, most))
    labels = sorted(draw(st.lists(st.sampled_from("AAB"), min_size=n, max_size=n)))
    pairs = [(a, b) for a in range(n) for b in range(n) if (a != b if directed else a < b)]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=n - 1, max_size=3 * n, unique=True))
    return labels, sorted(chosen)


def matched(
    data: tuple[list[str], Pairs], query: tuple[list[str], Pairs], directed: bool, induced: bool
) -> list[tuple[int, ...]]:
    """All matches by networkx, as vids by query vertex."""
    kind = nx.DiGraph if directed else nx.Graph
    graphs = []
    for labels, edges in (data, query):
        graph = kind()
        graph.add_nodes_from((k, {"label": x}) for k, x in enumerate(labels))
        graph.add_edges_from(edges)
        graphs.append(graph)
    matcher = isomorphism.DiGraphMatcher if directed else isomorphism.GraphMatcher
    same = isomorphism.categorical_node_match("label", None)
    found = matcher(graphs[0], graphs[1], node_match=same)
    each = found.subgraph_isomorphisms_iter() if induced else found.subgraph_monomorphisms_iter()
    n = len(query[0])
    return sorted(tuple({q: d for d, q in m.items()}[k] for k in range(n)) for m in each)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@settings(max_examples=share(200), deadline=None)
@given(drawn=st.data(), directed=st.booleans(), mode=st.sampled_from([DIFFERENT_NODES, INDUCED]))
def test_rows_are_those_of_vf2(
    backend: Backend, drawn: st.DataObject, directed: bool, mode: MatchMode
) -> None:
    data = drawn.draw(simple_graphs(4, 8, directed))
    query = drawn.draw(simple_graphs(2, 4, directed))
    undirected = frozenset() if directed else frozenset("E")
    graph = SmallGraph([(x,) for x in data[0]], [("E", a, b) for a, b in data[1]], undirected)
    way = Direction.OUT if directed else Direction.ANY
    asked = QueryGraph(
        tuple(QueryVertex(None, ((x,),)) for x in query[0]),
        tuple(QueryEdge(a, b, ("E",), way) for a, b in query[1]),
        mode,
    )
    plan = planner.plan(asked, graph, counting=False)
    found = backend.rows(prepare(plan, graph), Watch(None, None, None), Budget(), 64)
    rows = sorted(map(tuple, expand(found, plan.twins).vids.tolist()))
    assert rows == matched(data, query, directed, mode.induced)
