"""gdb, end to end: each query through `db.execute` on a store that is opened from disk, read-only.

Three stores hold a graph: `plain` with one undirected type E whose edges have their label as the property lbl, `typed`
with an undirected type E<label> for each label, and `directed` with E from the smaller id to the larger, which agg
means. A query opens the one that it needs.
"""

from __future__ import annotations

from pathlib import Path

import gdb
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

_HOP2 = "MATCH (a)-[:E]-(b)-[:E]-(c) WHERE id(a) = $x RETURN count(DISTINCT id(c))"
_AGG = f"MATCH (a)-[:E]->(b) WHERE a.val >= {LEAST_VALUE} RETURN b.lbl, count(*)"


class Ours:
    """Loading and opening."""

    def load(self, graph: GraphFiles, store: Path) -> None:
        """Load the one of the three stores that the folder's name says."""
        kind = store.stem.removeprefix("ours-")
        edges = "ours-typed.csv" if kind == "typed" else "ours-edges.csv"
        with gdb.connect(store) as db:
            db.load(
                nodes=graph.folder / "ours-nodes.csv",
                edges=graph.folder / edges,
                type=None if kind == "typed" else "E",
                directed=kind == "directed",
            )

    def open(self, graph: GraphFiles, store: Path, query: Query, settings: Settings) -> OurSession:
        """Open the store read-only."""
        return OurSession(gdb.connect(store, read_only=True), graph.vertices, settings)


def stored(files: GraphFiles, kind: str = "plain") -> Path:
    """The store of that kind beside a graph's files; it is loaded unless it is there."""
    store = files.folder / f"ours-{kind}.gdb"
    if not store.exists():
        Ours().load(files, store)
    return store


class OurSession:
    """An open store."""

    def __init__(self, db: gdb.Database, vertices: int, settings: Settings) -> None:
        self._db = db
        self._vertices = vertices
        self._settings = settings

    def answer(self, query: Query) -> Answer | None:
        """Run a query on the CPU."""
        if query.name == "hop2":
            return two_hops(self._second_neighbours, self._vertices, self._settings.point_seconds)
        if query.name == "agg":
            rows = self._execute(_AGG).fetchall()
            return grouped((int(str(label)), int(str(number))) for label, number in rows)
        if query.pattern is None:
            return None
        result = self._execute(cypher(query.pattern, self._settings.edge_labels))
        if query.pattern.limit is not None:
            return Answer(len(result.fetchall()))
        return Answer(int(str(result.scalar())))

    def _second_neighbours(self, vertex: int) -> int:
        return int(str(self._execute(_HOP2, {"x": vertex}).scalar()))

    def _execute(self, text: str, parameters: dict[str, object] | None = None) -> gdb.Result:
        return self._db.execute(text, parameters, device="cpu", threads=self._settings.threads)


def cypher(pattern: Pattern, edge_labels: str) -> str:
    """A pattern in our language: each subgraph once, or, where it has labels, each embedding."""
    mode = "DIFFERENT NODES" if pattern.labels else "SUBGRAPHS"
    parts = [
        f"{_vertex(pattern, edge.source)}{_edge(edge, edge_labels)}{_vertex(pattern, edge.target)}"
        for edge in pattern.edges
    ]
    text = f"MATCH {mode} {', '.join(parts)} RETURN "
    if pattern.limit is None:
        return f"{text}count(*)"
    columns = ", ".join(f"id(v{i})" for i in range(pattern.size))
    return f"{text}{columns} LIMIT {pattern.limit}"


def _vertex(pattern: Pattern, number: int) -> str:
    label = f":L{pattern.labels[number]}" if pattern.labels else ""
    return f"(v{number}{label})"


def _edge(edge: PatternEdge, edge_labels: str) -> str:
    if edge.label is None:
        return "-[:E]-"
    if edge_labels == "types":
        return f"-[:E{edge.label}]-"
    return f"-[:E {{lbl: {edge.label}}}]-"
