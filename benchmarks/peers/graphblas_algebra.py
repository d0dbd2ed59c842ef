"""SuiteSparse:GraphBLAS through python-graphblas: the queries that are a few products of sparse matrices."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np

from benchmarks.peers.data import I64, Graph, GraphFiles
from benchmarks.peers.engine import Settings
from benchmarks.peers.workload import Answer, Pattern, Query, two_hops


class GraphBLAS:
    """Opening; there is no store."""

    def load(self, graph: GraphFiles, store: Path) -> None:
        """Nothing: the matrices are built when the graph is opened."""

    def open(
        self, graph: GraphFiles, store: Path, query: Query, settings: Settings
    ) -> GraphBLASSession:
        """Build the matrices."""
        return GraphBLASSession(graph.read(), settings.point_seconds)


class GraphBLASSession:
    """The adjacency matrix, and its lower triangle with vertices in order of their degrees."""

    def __init__(self, graph: Graph, point_seconds: float) -> None:
        self._gb = importlib.import_module("graphblas")
        self._labels = graph.labels
        self._vertices = graph.vertices
        self._point_seconds = point_seconds
        ends = np.concatenate([graph.sources, graph.targets])
        others = np.concatenate([graph.targets, graph.sources])
        self._all = self._matrix(ends, others)
        degrees = np.bincount(ends, minlength=graph.vertices)
        rank = np.empty(graph.vertices, np.int64)
        rank[np.argsort(degrees, kind="stable")] = np.arange(graph.vertices)
        one, other = rank[graph.sources], rank[graph.targets]
        self._lower = self._matrix(np.maximum(one, other), np.minimum(one, other))

    def _matrix(self, rows: I64, columns: I64):  # type: ignore[no-untyped-def]  # graphblas has no types
        return self._gb.Matrix.from_coo(
            rows, columns, 1, nrows=self._vertices, ncols=self._vertices, dtype="INT64"
        )

    def answer(self, query: Query) -> Answer | None:
        """Run a query, if it is one of five."""
        paths = self._gb.semiring.plus_pair
        match query.name:
            case "tri":
                closed = self._lower.mxm(self._lower.T, paths).new(mask=self._lower.S)
                return Answer(int(closed.reduce_scalar(self._gb.monoid.plus).new().value or 0))
            case "diamond":
                triangles = self._all.mxm(self._all, paths).new(mask=self._all.S)
                return Answer(_pairs(triangles.to_coo()[2]) // 2)
            case "c4":
                common = self._all.mxm(self._all, paths).new().select("offdiag").new()
                return Answer(_pairs(common.to_coo()[2]) // 4)
            case "hop2":
                return two_hops(self._second_neighbours, self._vertices, self._point_seconds)
            case "star3" if query.pattern is not None:
                return self._star(query.pattern)
        return None

    def _star(self, pattern: Pattern) -> Answer:
        """Products of the numbers of neighbours with each of the labels, which must differ."""
        product = None
        for label in pattern.labels[1:]:
            mine = np.flatnonzero(self._labels == label)
            ones = self._gb.Vector.from_coo(mine, 1, size=self._vertices)
            near = self._all.mxv(ones, self._gb.semiring.plus_times).new()
            if product is not None:
                near = product.ewise_mult(near, self._gb.binary.times).new()
            product = near
        if product is None:
            return Answer(0)
        vertices, numbers = product.to_coo()
        return Answer(int(numbers[self._labels[vertices] == pattern.labels[0]].sum()))

    def _second_neighbours(self, vertex: int) -> int:
        reach = self._gb.semiring.any_pair
        start = self._gb.Vector.from_coo([vertex], [1], size=self._vertices, dtype="INT64")
        near = start.vxm(self._all, reach).new().vxm(self._all, reach).new()
        return int(near.nvals) - int(vertex in near)


def _pairs(numbers: I64) -> int:
    """Sum of n choose 2."""
    return int((numbers * (numbers - 1) // 2).sum())
