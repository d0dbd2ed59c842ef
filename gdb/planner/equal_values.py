"""Equal values of vertices as paths: where parts of a pattern that no edge joins must have equal values, as in
`MATCH (a:P), (b:P) WHERE a.city = b.city`, the values are vertices beside the graph, with an edge to each vertex that
has them, and the comparison is a query vertex with an edge to each side.

So the pattern is connected: its order is chosen by how many vertices have one value, what is counted is counted for
each value and not for each pair, and pairs of unlike values are never made.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gdb.base import waiting
from gdb.base.once import MadeOnce, MadeWithin
from gdb.executor.plan.plan import MISSING
from gdb.planner.extended_graph import ExtendedGraph, Further, one_each, those_of
from gdb.query_graph import Components, QueryEdge, QueryGraph, QueryVertex
from gdb.records import dataclass, replace
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64, U32, Adjacency

if TYPE_CHECKING:
    from gdb.executor.plan.plan import Compare
    from gdb.planner.resolved_graph import PlannerSource

WORTH = 100.0
"""Pairs that are compared in the time in which one vertex is sorted by its value."""
MOST_KEPT = 256 << 20  # bytes of what is kept for a graph

Key: TypeAlias = "tuple[tuple[int, int, int], ...]"
Own: TypeAlias = "dict[tuple[str, Direction], Adjacency]"


@dataclass(frozen=True, slots=True, eq=False)
class _Joined:
    """Vertices joined by the values that they share.

    left, right : vids that have one, u32[n] ascending. left_at, right_at : the place of each one's value among those
        that occur on both sides, i64[n]. values : how many these are. alike : both sides are one. of : the arrays
        that it was made of, by whose identity it is found.
    """

    left: U32
    left_at: I64
    right: U32
    right_at: I64
    values: int
    alike: bool
    of: tuple[I64, ...]

    @property
    def bytes(self) -> int:
        every: list[U32 | I64] = [self.left, self.left_at, self.right, self.right_at, *self.of]
        return sum(array.nbytes for array in {id(array): array for array in every}.values())

    def adjacencies(self, k: int, first: int) -> Own:
        """The edges between the vertices of both sides and their values, whose vids begin at `first`."""
        vids = np.arange(first, first + self.values, dtype=np.int64).astype(np.uint32)
        own: Own = {}
        sides = [(self.left, self.left_at), (self.right, self.right_at)]
        for name, (some, at) in zip(_types(k, alike=self.alike), sides, strict=False):
            own[name, Direction.OUT] = one_each(name, some, (at + first).astype(np.uint32))
            own[name, Direction.IN] = those_of(name, vids, some, at)
        return own


def _no_joins(_: PlannerSource) -> MadeWithin[Key, _Joined]:
    return MadeWithin()


_of_graphs = MadeOnce(_no_joins)


def joined_by_values(
    graph: QueryGraph, source: PlannerSource, counts: Iterable[int]
) -> tuple[QueryGraph, ExtendedGraph] | None:
    """A query graph in which equal values are paths, and the graph with these values; None where no two parts of the
    pattern are joined by one, or so few pairs are to be compared that it takes no longer.

    counts : candidates of each query vertex.
    """
    if graph.optional or graph.mode.induced or graph.mode.distinct:
        return None  # whose vertices are numbered, or are all that may be joined
    joins = _joins(graph, [*counts], source.vertex_count)
    if not joins:
        return None
    first = source.vertex_count
    further: list[Further] = []
    own: Own = {}
    vertices, edges, gone = list(graph.vertices), list(graph.edges), set[int]()
    kept = _of_graphs.of(source)
    for k, compares in enumerate(joins):
        joined = kept.of(_key(compares), partial(_join, compares), MOST_KEPT)
        own |= joined.adjacencies(k, first)
        label, value = _value(k), len(vertices)
        further.append(Further((label,), ((first, first + joined.values),)))
        text = " and ".join(one.text for one in compares)
        vertices.append(QueryVertex(text or None, ((label,),)))
        types = _types(k, alike=joined.alike)
        ends = compares[0].left, compares[0].right
        for end, name in zip(ends, (types[0], types[-1]), strict=True):
            edges.append(QueryEdge(end, value, (name,), exists=True))
        gone.update(map(id, compares))
        first += joined.values
    extended = ExtendedGraph(source, further, own)
    reached = {vertex for edge in edges for vertex in (edge.source, edge.target)}
    held = (v if k in reached else extended.only_base(v) for k, v in enumerate(vertices))
    compared = tuple(one for one in graph.compared if id(one) not in gone)
    return replace(graph, vertices=tuple(held), edges=tuple(edges), compared=compared), extended


def _joins(graph: QueryGraph, counts: list[int], size: int) -> list[list[Compare]]:
    """The comparisons that join parts which nothing else joins; those of the same two vertices together."""
    equal: dict[tuple[int, int], list[Compare]] = {}
    for one in graph.compared:
        if one.inside and one.least == one.most and not one.edges:
            pair = min(one.left, one.right), max(one.left, one.right)
            equal.setdefault(pair, []).append(one)
    parts = Components(len(graph.vertices))
    for edge in graph.edges:
        parts.join(edge.source, edge.target)
    found: list[list[Compare]] = []
    for (a, b), compares in equal.items():
        worth = float(counts[a]) * counts[b] > WORTH * size
        if parts.of(a) != parts.of(b) and worth:
            parts.join(a, b)
            found.append(
                [one if one.left == compares[0].left else _turned(one) for one in compares]
            )
    return found


def _turned(one: Compare) -> Compare:
    """The same equality, seen from its other side."""
    return replace(
        one,
        left=one.right,
        right=one.left,
        left_values=one.right_values,
        right_values=one.left_values,
        least=-one.most,
        most=-one.least,
    )


def _key(compares: list[Compare]) -> Key:
    return tuple((id(one.left_values), id(one.right_values), one.least) for one in compares)


def _join(compares: list[Compare]) -> _Joined:
    """The vertices whose values are equal in all of some comparisons of the same two query vertices."""
    of = tuple(values for one in compares for values in (one.left_values, one.right_values))
    alike = all(one.left_values is one.right_values and one.least == 0 for one in compares)
    left = _known([one.left_values for one in compares])
    if alike:
        at = _numbered([one.left_values[left] for one in compares])
        return _Joined(left, at, left, at, int(at.max(initial=-1)) + 1, alike, of)
    right, n = _known([one.right_values for one in compares]), len(left)
    values = ((one.left_values[left] + one.least, one.right_values[right]) for one in compares)
    at = _numbered([np.concatenate(both) for both in values])
    shared = np.intersect1d(at[:n], at[n:])  # values that one side alone has join nothing
    (left, left_at), (right, right_at) = (
        _within(vids, some, shared) for vids, some in ((left, at[:n]), (right, at[n:]))
    )
    return _Joined(left, left_at, right, right_at, len(shared), alike, of)


def _known(several: list[I64]) -> U32:
    """The vids that have all of some values, ascending."""
    known = np.logical_and.reduce([values != MISSING for values in several])
    return np.flatnonzero(known).astype(np.uint32)


def _numbered(several: list[I64]) -> I64:
    """The place of each tuple of values among those that are distinct; i64[n]."""
    found = np.zeros(len(several[0]), np.int64)
    for values in several:
        places = _places(values)
        found = (
            _places(found * (int(places.max(initial=0)) + 1) + places) if found.any() else places
        )
    return found


def _places(values: I64) -> I64:
    def sort() -> I64:
        return np.unique(values, return_inverse=True)[1].astype(np.int64)

    return waiting.aside(len(values), sort)


def _within(vids: U32, values: I64, some: I64) -> tuple[U32, I64]:
    """Those of some vids whose values are among others, ascending, and the places of these there."""
    at = np.searchsorted(some, values)
    there = np.flatnonzero(some[np.minimum(at, len(some) - 1)] == values) if len(some) else at[:0]
    return vids[there], at[there].astype(np.int64)


def _value(k: int) -> str:
    return f" value {k}"


def _types(k: int, *, alike: bool) -> tuple[str, ...]:
    """The types of the edges of the left side, and of the right, to the values of the k-th join."""
    return (_value(k),) if alike else (_value(k), f"{_value(k)} right")
