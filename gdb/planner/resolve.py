"""Names to numbers: labels become vid ranges, relationship types become views of partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gdb.executor.plan import Candidates, ViewSpec
from gdb.executor.source import GraphSource
from gdb.query_graph import QueryEdge, QueryGraph, QueryVertex
from gdb.storage.adjacency import Adjacency, Direction


class Group(Protocol):
    """A vertex group of a snapshot: the vertices with exactly these labels."""

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]: ...


class NamedType(Protocol):
    """An edge type of a snapshot."""

    @property
    def name(self) -> str: ...

    @property
    def directed(self) -> bool: ...


class PlannerSource(GraphSource, Protocol):
    """A snapshot, as the planner sees it."""

    @property
    def groups(self) -> tuple[Group, ...]: ...

    @property
    def edge_types(self) -> tuple[NamedType, ...]: ...


@dataclass(frozen=True, slots=True)
class Edge:
    """A query edge with its types resolved.

    types : sorted, () = all types of the graph, None = none of them exists.
    either_way : some data edge may match it in both directions (it has none, or one of its types
        has none).
    """

    source: int
    target: int
    types: tuple[str, ...] | None
    direction: Direction
    either_way: bool

    def spec(self, vertex: int) -> ViewSpec:
        """The view that is read when `vertex`, one of its ends, is bound first."""
        direction = self.direction if vertex == self.source else self.direction.flipped
        return ViewSpec(self.types if self.types is not None else _NONE, direction)

    def other(self, vertex: int) -> int:
        return self.target if vertex == self.source else self.source


_NONE = ("",)  # no edge type has the empty name, so this view has no rows


@dataclass(frozen=True, slots=True)
class Resolved:
    """A query graph over one snapshot."""

    graph: QueryGraph
    source: PlannerSource
    candidates: tuple[Candidates, ...]
    edges: tuple[Edge, ...]

    def view(self, spec: ViewSpec) -> Adjacency:
        return self.source.adjacency(spec.types, spec.direction)

    def incident(self, vertex: int) -> list[int]:
        """Query edges at a query vertex, self-loops once."""
        return [e for e, x in enumerate(self.edges) if vertex in (x.source, x.target)]

    def neighbours(self, vertex: int) -> set[int]:
        """Other query vertices joined to it."""
        return {self.edges[e].other(vertex) for e in self.incident(vertex)} - {vertex}

    def disjoint(self, u: int, v: int) -> bool:
        """Whether no data vertex is a candidate of both."""
        ours, theirs = self.candidates[u].ranges, self.candidates[v].ranges
        return all(b <= c or d <= a for a, b in ours for c, d in theirs)


def resolve(graph: QueryGraph, source: PlannerSource) -> Resolved:
    """Look up every label and type of the query graph; what does not exist matches nothing."""
    known = {t.name: t.directed for t in source.edge_types}
    candidates = tuple(_candidates(v, source.groups) for v in graph.vertices)
    edges = tuple(_edge(e, known) for e in graph.edges)
    return Resolved(graph, source, candidates, edges)


def _edge(edge: QueryEdge, known: dict[str, bool]) -> Edge:
    types: tuple[str, ...] | None = tuple(sorted(known.keys() & set(edge.types)))
    undirected = any(not known[t] for t in types or ())
    undirected = undirected or (not edge.types and not all(known.values()))
    if edge.types and not types:
        types = None
    elif types is not None and len(types) == len(known):
        types = ()
    either_way = edge.direction is Direction.ANY or undirected
    return Edge(edge.source, edge.target, types, edge.direction, either_way)


def _candidates(vertex: QueryVertex, groups: tuple[Group, ...]) -> Candidates:
    admitted = [g for g in groups if all(any(x in g.labels for x in alt) for alt in vertex.labels)]
    ranges = _merge(sorted(r for g in admitted for r in g.ranges))
    label = "&".join("|".join(alt) for alt in vertex.labels)
    if vertex.allowed is None:
        return Candidates(ranges, None, sum(b - a for a, b in ranges), label)
    starts = np.array([a for a, _ in ranges], np.int64)
    ends = np.array([b for _, b in ranges], np.int64)
    at = np.searchsorted(starts, vertex.allowed.astype(np.int64), side="right") - 1
    inside = at >= 0
    if len(starts):
        inside &= vertex.allowed < ends[np.maximum(at, 0)]
    allowed = np.ascontiguousarray(vertex.allowed[inside], np.uint32)
    return Candidates(ranges, allowed, len(allowed), f"{label} {vertex.predicate}".strip())


def _merge(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for a, b in ranges:
        if merged and a <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(b, merged[-1][1]))
        elif a < b:
            merged.append((a, b))
    return tuple(merged)
