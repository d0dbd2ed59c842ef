"""A small labelled multigraph in plain lists: a source for the planner and executors that shares no
code with the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64, Adjacency, Shape


@dataclass(frozen=True)
class SmallGroup:
    labels: tuple[str, ...]
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SmallType:
    name: str
    directed: bool


class SmallGraph:
    """Vertices 0..n-1 with one label set each (ascending by label set, as the store orders them)
    and typed edges.

    edges : (type, source, target); edge id = position in the list.
    """

    def __init__(
        self,
        labels: Sequence[tuple[str, ...]],
        edges: list[tuple[str, int, int]],
        undirected: frozenset[str] = frozenset(),
    ) -> None:
        assert list(labels) == sorted(labels)
        self.labels, self.edges, self.undirected = list(labels), edges, undirected
        self.vertex_count, self.edge_count = len(labels), len(edges)
        kinds = sorted(set(labels))
        self.groups = tuple(
            SmallGroup(k, ((labels.index(k), labels.index(k) + labels.count(k)),)) for k in kinds
        )
        self.edge_types = tuple(
            SmallType(t, t not in undirected) for t in sorted({e[0] for e in edges})
        )
        self._cache: dict[tuple[tuple[str, ...], Direction], tuple[Adjacency, I64]] = {}

    def ends(self, types: tuple[str, ...], direction: Direction) -> list[tuple[int, int, int]]:
        """(row vertex, neighbour, edge id) of every position, sorted."""
        found = set()
        for eid, (name, a, b) in enumerate(self.edges):
            if types and name not in types:
                continue
            both = name in self.undirected or direction is Direction.ANY
            if both or direction is Direction.OUT:
                found.add((a, b, eid))
            if both or direction is Direction.IN:
                found.add((b, a, eid))
        return sorted(found)

    def _view(self, types: tuple[str, ...], direction: Direction) -> tuple[Adjacency, I64]:
        key = (tuple(types), direction)
        if key not in self._cache:
            ends = self.ends(types, direction)
            vids = sorted({a for a, _, _ in ends})
            starts = [k for k, x in enumerate(vids) if k == 0 or vids[k - 1] != x - 1]
            lengths = np.diff([*starts, len(vids)])
            degrees = Counter(a for a, _, _ in ends)
            degree = [degrees[x] for x in vids]
            pairs = [(a, b) for a, b, _ in ends]
            adjacency = Adjacency(
                tuple(types),
                direction,
                np.array([vids[s] for s in starts], np.uint32),
                lengths.astype(np.uint32),
                np.array(starts, np.uint32),
                np.concatenate([[0], np.cumsum(degree)]).astype(np.int64),
                np.array([b for _, b, _ in ends], np.uint32),
                len(set(pairs)) == len(pairs),
                any(a == b for a, b in pairs),
                max(degree, default=0),
            )
            self._cache[key] = adjacency, np.array([e for _, _, e in ends], np.int64)
        return self._cache[key]

    def adjacency(self, types: tuple[str, ...], direction: Direction) -> Adjacency:
        return self._view(types, direction)[0]

    def shape(self, types: tuple[str, ...], direction: Direction) -> Shape:
        return self.adjacency(types, direction).shape

    def eids(self, types: tuple[str, ...], direction: Direction) -> I64:
        return self._view(types, direction)[1]
