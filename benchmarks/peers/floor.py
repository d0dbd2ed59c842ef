"""The floor: no peer, but hand-written kernels for one thread, which show what the machine can do.

They are also a check of the counts that shares no code with ours. Compiling is part of opening.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import numpy as np

from benchmarks.peers import kernels
from benchmarks.peers.data import I64, Graph, GraphFiles
from benchmarks.peers.engine import Settings
from benchmarks.peers.kernels import I32
from benchmarks.peers.workload import LEAST_VALUE, Answer, Query, grouped, two_hops

Kernel = TypeVar("Kernel", bound=Callable[..., object])
_SIZES = {"tri": 3, "k4": 4, "k5": 5}


class Floor:
    """Opening; there is no store."""

    def load(self, graph: GraphFiles, store: Path) -> None:
        """Nothing: the CSR is built when the graph is opened."""

    def open(
        self, graph: GraphFiles, store: Path, query: Query, settings: Settings
    ) -> FloorSession:
        """Build the CSR that the query's kernel reads, and compile the kernel on a graph of one edge."""
        edge, labels = np.array([[0], [1]]), np.array([0, 1])
        tiny = Graph(labels, labels, edge[0], edge[1], labels[:1])
        FloorSession(tiny, settings.point_seconds).answer(query)
        return FloorSession(graph.read(), settings.point_seconds)


class FloorSession:
    """A graph in CSR: by degree for the shapes, as it is numbered for the others."""

    def __init__(self, graph: Graph, point_seconds: float) -> None:
        self._graph = graph
        self._point_seconds = point_seconds
        one, other = by_degree(graph)
        self._oriented = csr(graph.vertices, one, other)
        self._ordered = csr(
            graph.vertices, np.concatenate([one, other]), np.concatenate([other, one])
        )
        self._both = csr(
            graph.vertices,
            np.concatenate([graph.sources, graph.targets]),
            np.concatenate([graph.targets, graph.sources]),
        )
        self._mark = np.full(graph.vertices, -1, np.int64)
        self._stamp = 0

    def answer(self, query: Query) -> Answer | None:
        """Run a query, if there is a kernel for it."""
        graph = self._graph
        match query.name:
            case "tri" | "k4" | "k5":
                count = compiled(kernels.cliques)(*self._oriented, _SIZES[query.name], False)
            case "c4":
                count = compiled(kernels.four_cycles)(*self._ordered)
            case "diamond":
                count = compiled(kernels.diamonds)(*self._oriented)
            case "star3" if query.pattern is not None:
                wanted = np.array(query.pattern.labels)
                count = compiled(kernels.stars)(*self._both, graph.labels, wanted)
            case "hop2":
                return two_hops(self._second_neighbours, graph.vertices, self._point_seconds)
            case "agg":
                return self._aggregate()
            case _:
                return None
        return Answer(int(count))

    def _second_neighbours(self, vertex: int) -> int:
        self._stamp += 1
        kernel = compiled(kernels.second_neighbours)
        return int(kernel(*self._both, self._mark, vertex, self._stamp))

    def _aggregate(self) -> Answer:
        graph = self._graph
        found = compiled(kernels.aggregate)(
            graph.sources,
            graph.targets,
            graph.labels,
            graph.values,
            LEAST_VALUE,
            int(graph.labels.max()) + 1,
        )
        return grouped((label, int(n)) for label, n in enumerate(found) if n > 0)


_COMPILED: dict[str, object] = {}


def compiled(kernel: Kernel) -> Kernel:
    """The kernel as machine code, compiled at its first call."""
    name = kernel.__name__
    if name not in _COMPILED:
        _COMPILED[name] = importlib.import_module("numba").njit(cache=True)(kernel)
    return cast(Kernel, _COMPILED[name])


def by_degree(graph: Graph) -> tuple[I64, I64]:
    """The edges with vertices renumbered by ascending degree, each from the smaller to the larger."""
    degrees = np.bincount(np.concatenate([graph.sources, graph.targets]), minlength=graph.vertices)
    rank = np.empty(graph.vertices, np.int64)
    rank[np.argsort(degrees, kind="stable")] = np.arange(graph.vertices)
    one, other = rank[graph.sources], rank[graph.targets]
    return np.minimum(one, other), np.maximum(one, other)


def csr(vertices: int, sources: I64, targets: I64) -> tuple[I64, I32]:
    """Offsets and neighbours, ascending per row, of edges held from source to target."""
    order = np.lexsort((targets, sources))
    starts = np.zeros(vertices + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=vertices), out=starts[1:])
    return starts, targets[order].astype(np.int32)
