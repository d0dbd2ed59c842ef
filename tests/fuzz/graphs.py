"""Small random multigraphs as plain lists, and the same graph in a database."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import gdb

LABELS = "AB"
TYPES = ("R", "S", "U")
UNDIRECTED = frozenset("U")
Value = int | None


@dataclass(frozen=True, slots=True)
class Vertex:
    labels: frozenset[str]
    properties: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Edge:
    """source, target : numbers of vertices; those of an undirected type have no order."""

    type: str
    source: int
    target: int
    properties: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Graph:
    """The id of a vertex is its number; an edge has its number as property k."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]


def random_graph(draw: random.Random, most_vertices: int = 5, most_edges: int = 9) -> Graph:
    """Parallel edges and loops are likely; some properties are missing."""
    n = draw.randint(1, most_vertices)

    def some(key: str) -> dict[str, int]:
        value = draw.choice([0, 1, 2, None])
        return {} if value is None else {key: value}

    vertices = [
        Vertex(frozenset(draw.choice(["A", "B", "AB", "", "A"])), some("x")) for _ in range(n)
    ]
    ends = list(range(n))
    edges = [
        Edge(draw.choice("RRRSSU"), draw.choice(ends), draw.choice(ends), {"k": k, **some("w")})
        for k in range(draw.randint(0, most_edges))
    ]
    return Graph(tuple(vertices), tuple(edges))


def fill(db: gdb.Database, graph: Graph) -> None:
    """Put the graph into an empty database."""
    with db.transaction() as tx:
        for labels in sorted({v.labels for v in graph.vertices}, key=sorted):
            own = [k for k, v in enumerate(graph.vertices) if v.labels == labels]
            xs = [graph.vertices[k].properties.get("x") for k in own]
            tx.add_nodes(sorted(labels), own, {"x": xs})
        for type_ in TYPES:
            edges = [edge for edge in graph.edges if edge.type == type_]
            if edges:
                tx.add_relationships(
                    type_,
                    [edge.source for edge in edges],
                    [edge.target for edge in edges],
                    {key: [edge.properties.get(key) for edge in edges] for key in "kw"},
                    directed=type_ not in UNDIRECTED,
                )


def database(graph: Graph) -> gdb.Database:
    """The graph in a database in memory."""
    db = gdb.connect()
    fill(db, graph)
    return db
