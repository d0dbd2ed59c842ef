"""Kuzu, and Ladybug, which is its successor with the same interface: Cypher over tables that are declared.

Node table V, relationship table E with each edge once, and S with each in both directions: a pattern over S is faster
than an undirected one over E. Their patterns are homomorphic, so that conditions make vertices differ.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol

from benchmarks.peers.data import GraphFiles
from benchmarks.peers.engine import Settings
from benchmarks.peers.workload import (
    LEAST_VALUE,
    Answer,
    Pattern,
    PatternEdge,
    Query,
    grouped,
    two_hops,
)

_TABLES = (
    "CREATE NODE TABLE V(id INT64 PRIMARY KEY, lbl INT64, val INT64)",
    "CREATE REL TABLE E(FROM V TO V, lbl INT64)",
    "CREATE REL TABLE S(FROM V TO V, lbl INT64)",
)
_HOP2 = (
    "MATCH (a:V {id: $x})-[:S]->(b:V)-[:S]->(c:V) WHERE id(c) <> id(a) RETURN count(DISTINCT id(c))"
)
_AGG = f"MATCH (a:V)-[:E]->(b:V) WHERE a.val >= {LEAST_VALUE} RETURN b.lbl, count(*)"


class Kuzu:
    """Loading and opening; `module` is kuzu or ladybug."""

    def __init__(self, module: str) -> None:
        self._module = importlib.import_module(module)

    def load(self, graph: GraphFiles, store: Path) -> None:
        """Declare the tables and copy the CSV files into them."""
        connection = self._module.Connection(self._module.Database(str(store)))
        nodes, edges = graph.folder / "nodes.csv", graph.folder / "edges.csv"
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"COPY V FROM '{nodes}' (header=true)")
        connection.execute(f"COPY E FROM '{edges}' (header=true)")
        connection.execute(f"COPY S FROM '{edges}' (header=true)")
        connection.execute(f"COPY S FROM (LOAD FROM '{edges}' (header=true) RETURN dst, src, lbl)")
        connection.close()

    def open(self, graph: GraphFiles, store: Path, query: Query, settings: Settings) -> KuzuSession:
        """Open the database read-only, with the memory budget."""
        database = self._module.Database(
            str(store), read_only=True, buffer_pool_size=settings.memory_gb << 30
        )
        connection = self._module.Connection(database)
        return KuzuSession(connection, graph.vertices, settings.point_seconds)


class _Answer(Protocol):
    def get_all(self) -> list[list[int]]: ...


class _Connection(Protocol):
    """What both modules' connections can do."""

    def execute(self, query: str, parameters: dict[str, int]) -> _Answer: ...


class KuzuSession:
    """An open connection of either module."""

    def __init__(self, connection: _Connection, vertices: int, point_seconds: float) -> None:
        self._connection = connection
        self._vertices = vertices
        self._point_seconds = point_seconds

    def answer(self, query: Query) -> Answer | None:
        """Run a query."""
        if query.name == "hop2":
            return two_hops(self._second_neighbours, self._vertices, self._point_seconds)
        if query.name == "agg":
            return grouped((int(label), int(number)) for label, number in self._rows(_AGG))
        if query.pattern is None:
            return None
        rows = self._rows(cypher(query.pattern))
        return Answer(rows[0][0] if query.pattern.limit is None else len(rows))

    def _second_neighbours(self, vertex: int) -> int:
        return self._rows(_HOP2, {"x": vertex})[0][0]

    def _rows(self, text: str, parameters: dict[str, int] | None = None) -> list[list[int]]:
        return self._connection.execute(text, parameters or {}).get_all()


def cypher(pattern: Pattern) -> str:
    """A pattern in their Cypher."""
    parts = [
        f"{_vertex(pattern, edge.source)}{_edge(edge)}{_vertex(pattern, edge.target)}"
        for edge in pattern.edges
    ]
    # id() for <> is faster than .id, but a bulk load does not keep the order of the ids
    conditions = [f"v{i}.id < v{j}.id" for i, j in pattern.less]
    conditions += [f"id(v{i}) <> id(v{j})" for i, j in pattern.unequal()]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    text = f"MATCH {', '.join(parts)}{where} RETURN "
    if pattern.limit is None:
        return f"{text}count(*)"
    columns = ", ".join(f"v{i}.id" for i in range(pattern.size))
    return f"{text}{columns} LIMIT {pattern.limit}"


def _vertex(pattern: Pattern, number: int) -> str:
    label = f" {{lbl: {pattern.labels[number]}}}" if pattern.labels else ""
    return f"(v{number}:V{label})"


def _edge(edge: PatternEdge) -> str:
    table = "E" if edge.ascending else "S"
    label = "" if edge.label is None else f" {{lbl: {edge.label}}}"
    return f"-[:{table}{label}]->"
