"""igraph: its own functions for triangles and cliques, VF2 for every other pattern."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np

from benchmarks.peers.data import Graph, GraphFiles
from benchmarks.peers.engine import Settings
from benchmarks.peers.workload import Answer, Pattern, Query, two_hops


class Igraph:
    """Opening; there is no store."""

    def load(self, graph: GraphFiles, store: Path) -> None:
        """Nothing: a graph is built when it is opened."""

    def open(
        self, graph: GraphFiles, store: Path, query: Query, settings: Settings
    ) -> IgraphSession:
        """Build the graph in memory."""
        return IgraphSession(graph.read(), settings.point_seconds)


class IgraphSession:
    """A graph in memory."""

    def __init__(self, graph: Graph, point_seconds: float) -> None:
        self._make = importlib.import_module("igraph").Graph
        ends = np.stack([graph.sources, graph.targets], axis=1)
        self._graph = self._make(n=graph.vertices, edges=ends)
        self._labels = graph.labels.tolist()
        self._edge_labels = graph.edge_labels.tolist()
        self._vertices = graph.vertices
        self._point_seconds = point_seconds

    def answer(self, query: Query) -> Answer | None:
        """Run a query."""
        match query.name:
            case "hop2":
                return two_hops(self._second_neighbours, self._vertices, self._point_seconds)
            case "tri":
                return Answer(len(self._graph.list_triangles()))
            case "k4" | "k5":
                size = int(query.name[1])
                return Answer(len(self._graph.cliques(size, size)))
        return None if query.pattern is None else self._vf2(query.pattern)

    def _vf2(self, pattern: Pattern) -> Answer:
        wanted = self._make(n=pattern.size, edges=[(e.source, e.target) for e in pattern.edges])
        labels: dict[str, list[int]] = {}
        if pattern.labels:
            labels |= {"color1": self._labels, "color2": list(pattern.labels)}
        if pattern.has_edge_labels:
            labels["edge_color1"] = self._edge_labels
            labels["edge_color2"] = [e.label for e in pattern.edges if e.label is not None]
        if pattern.limit is None:
            found = self._graph.count_subisomorphisms_vf2(wanted, **labels)
            return Answer(int(found) // pattern.symmetries)
        first = _First(pattern.limit)
        self._graph.subisomorphic_vf2(wanted, callback=first, **labels)
        return Answer(len(first.rows))

    def _second_neighbours(self, vertex: int) -> int:
        neighbours = self._graph.neighbors
        return len({c for b in neighbours(vertex) for c in neighbours(b)} - {vertex})


class _First:
    """A callback of VF2 that keeps so many embeddings and then stops the search."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.rows: list[list[int]] = []

    def __call__(self, graph: object, wanted: object, there: object, back: list[int]) -> bool:
        self.rows.append(back)
        return len(self.rows) < self._limit
