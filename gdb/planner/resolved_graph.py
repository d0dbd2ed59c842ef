"""Names to numbers: labels become vid ranges, relationship types become views of partitions."""

from __future__ import annotations

import weakref
from typing import Protocol

import numpy as np

from gdb.errors import InternalError
from gdb.executor.plan.plan import Candidates, ViewSpec
from gdb.executor.plan.source import GraphSource
from gdb.language.hidden_names import is_hidden
from gdb.query_graph import QueryEdge, QueryGraph, QueryVertex
from gdb.records import dataclass, field, quick
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import Adjacency, Shape

Ranges = tuple[tuple[int, int], ...]


class Group(Protocol):
    """A vertex group of a snapshot: the vertices with exactly these labels."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its vertices."""

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """Its vids as half-open ranges, ascending."""


class PlannerSource(GraphSource, Protocol):
    """A snapshot, as the planner sees it."""

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups of vertices with the same labels."""

    def shape(self, types: tuple[str, ...], direction: Direction) -> Shape:
        """How large the adjacency of these types is."""
        ...


@quick
@dataclass(frozen=True, slots=True)
class ResolvedEdge:
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
    _specs: tuple[ViewSpec, ViewSpec] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        types = self.types if self.types is not None else _NONE
        ways = self.direction, self.direction.flipped
        specs = ViewSpec(types, ways[0]), ViewSpec(types, ways[1])
        object.__setattr__(self, "_specs", specs)

    def spec(self, vertex: int) -> ViewSpec:
        """The view that is read when `vertex`, one of its ends, is bound first."""
        return self._specs[0] if vertex == self.source else self._specs[1]

    def other(self, vertex: int) -> int:
        """The end that is not this vertex."""
        return self.target if vertex == self.source else self.source


_NONE = ("",)  # no edge type has the empty name, so this view has no rows


@dataclass(frozen=True, slots=True)
class Resolved:
    """A query graph over one snapshot.

    negated : its anti-edges.
    different : what `gdb.planner.distinct.surely_different` found for pairs of query vertices.
    """

    graph: QueryGraph
    source: PlannerSource
    candidates: tuple[Candidates, ...]
    edges: tuple[ResolvedEdge, ...]
    negated: tuple[ResolvedEdge, ...] = ()
    different: dict[tuple[int, int], bool] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _incident: list[list[int]] = field(init=False, repr=False, compare=False)
    _near: list[frozenset[int]] = field(init=False, repr=False, compare=False)
    _views: dict[ViewSpec, Adjacency] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _shapes: dict[ViewSpec, Shape] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _shares: dict[int, list[tuple[int, float]]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _present: dict[int, float] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.candidates)
        incident: list[list[int]] = [[] for _ in range(n)]
        near: list[set[int]] = [set() for _ in range(n)]
        for e, x in enumerate(self.edges):
            for v in {x.source, x.target}:
                incident[v].append(e)
                near[v].add(x.other(v))
        object.__setattr__(self, "_incident", incident)
        object.__setattr__(self, "_near", [frozenset(u - {v}) for v, u in enumerate(near)])

    def view(self, spec: ViewSpec) -> Adjacency:
        """The adjacency of a view, kept."""
        if spec not in self._views:
            self._views[spec] = self.source.adjacency(spec.types, spec.direction)
        return self._views[spec]

    def shape(self, spec: ViewSpec) -> Shape:
        """How large a view is."""
        found = self._shapes.get(spec)
        if found is None:
            found = self._shapes[spec] = self.source.shape(spec.types, spec.direction)
        return found

    def mean_degree(self, spec: ViewSpec) -> float:
        """Mean length of the lists of a view."""
        return self.shape(spec).mean_degree

    def present(self, vertex: int) -> float:
        """At most how many data vertices a query vertex may be: as many as are its candidates, and have a list for each
        of its edges."""
        found = self._present.get(vertex)
        if found is None:
            lists = (self.shape(self.edges[e].spec(vertex)).rows for e in self._incident[vertex])
            found = self._present[vertex] = float(min((self.candidates[vertex].count, *lists)))
        return found

    def shares(self, vertex: int) -> list[tuple[int, float]]:
        """For each query edge to another vertex that vertex, and the share of the possible ends at `vertex` that one
        list of its view holds."""
        found = self._shares.get(vertex)
        if found is None:
            found = self._shares[vertex] = []
            for e in self._incident[vertex]:
                edge = self.edges[e]
                other = edge.other(vertex)
                if other != vertex:
                    ends = self.shape(edge.spec(vertex)).rows
                    mean = self.mean_degree(edge.spec(other))
                    found.append((other, min(1.0, mean / max(ends, 1))))
        return found

    def barred(self, u: int, v: int) -> bool:
        """Whether an anti-edge joins two query vertices."""
        return bool(self.negated) and any({x.source, x.target} == {u, v} for x in self.negated)

    def incident(self, vertex: int) -> list[int]:
        """Query edges at a query vertex, self-loops once."""
        return self._incident[vertex]

    def neighbours(self, vertex: int) -> frozenset[int]:
        """Other query vertices joined to it."""
        return self._near[vertex]

    @property
    def is_clique(self) -> bool:
        """Whether all query vertices are joined to one another."""
        return all(len(near) == len(self._near) - 1 for near in self._near)

    def disjoint(self, u: int, v: int) -> bool:
        """Whether no data vertex is a candidate of both."""
        ours, theirs = self.candidates[u].ranges, self.candidates[v].ranges
        if ours == theirs:
            return not ours
        return all(b <= c or d <= a for a, b in ours for c, d in theirs)


def resolve(graph: QueryGraph, source: PlannerSource) -> Resolved:
    """Look up every label and type of the query graph; what does not exist matches nothing."""
    known = {t.name: t.directed for t in source.edge_types}
    labelled = _by_label(source)
    candidates = tuple(_candidates(v, _ranges(v.labels, source, labelled)) for v in graph.vertices)
    edges = tuple(_edge(e, known) for e in graph.edges)
    negated = tuple(_edge(e, known) for e in graph.negated)
    return Resolved(graph, source, candidates, edges, negated)


def _edge(edge: QueryEdge, known: dict[str, bool]) -> ResolvedEdge:
    if edge.direction is Direction.IN:
        raise InternalError("A query edge points backward.", "Please report it.")
    types: tuple[str, ...] | None = tuple(sorted(known.keys() & set(edge.types)))
    undirected = any(not known[t] for t in types or ())
    undirected = undirected or (not edge.types and not all(known.values()))
    if edge.types and not types:
        types = None
    elif types and len(types) == len(known) and not is_hidden(types[0]):
        types = ()  # of what a graph was extended by, the graph itself has none
    either_way = edge.direction is Direction.ANY or undirected
    return ResolvedEdge(edge.source, edge.target, types, edge.direction, either_way)


_labelled: weakref.WeakKeyDictionary[PlannerSource, dict[str, frozenset[int]]]
_labelled = weakref.WeakKeyDictionary()


def _by_label(source: PlannerSource) -> dict[str, frozenset[int]]:
    """For each label the groups whose vertices have it; found once for each snapshot."""
    found = _labelled.get(source)
    if found is None:
        members: dict[str, set[int]] = {}
        for k, group in enumerate(source.groups):
            for label in group.labels:
                members.setdefault(label, set()).add(k)
        found = {label: frozenset(groups) for label, groups in members.items()}
        _labelled[source] = found
    return found


def _ranges(
    labels: tuple[tuple[str, ...], ...],
    source: PlannerSource,
    labelled: dict[str, frozenset[int]],
) -> Ranges:
    """The vids of the vertices that have one label of each alternative."""
    admitted: frozenset[int] | None = None
    for alternatives in labels:
        some = frozenset().union(*(labelled.get(x, frozenset()) for x in alternatives))
        admitted = some if admitted is None else admitted & some
    chosen = range(len(source.groups)) if admitted is None else admitted
    return _merge(sorted(r for k in chosen for r in source.groups[k].ranges))


def _candidates(vertex: QueryVertex, ranges: Ranges) -> Candidates:
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
