"""Checks that elements of an embedding differ, at the lowest cost (design.md §3: the match modes).

Where at most one edge can join two vertices, "two relationships differ" is a comparison of
vertices; only where parallel edges exist are edge ids bound and compared.
"""

from __future__ import annotations

from gdb.executor.plan.plan import Apart, Twin, ViewSpec
from gdb.planner.implied import bounds_of
from gdb.planner.resolved_graph import Resolved, ResolvedEdge
from gdb.query_graph import QueryEdge
from gdb.records import dataclass, replace
from gdb.storage.format.direction import Direction


@dataclass(frozen=True, slots=True)
class ModeConditions:
    """All conditions of a query graph's mode.

    vertices : pairs of query vertices whose data vertices must differ.
    edges : pairs of query edges whose data edges must be compared by edge id.
    apart : comparisons of vertex pairs, each for the pair of query edges in `compared`.
    bound : query edges that need an edge id.
    between : view as seen from u, u, v, count (INDUCED, anti-edges).
    """

    vertices: frozenset[tuple[int, int]]
    edges: frozenset[tuple[int, int]]
    apart: tuple[Apart, ...]
    bound: frozenset[int]
    between: tuple[tuple[ViewSpec, int, int, int], ...]
    compared: tuple[tuple[int, int], ...] = ()


def conditions(query: Resolved, parallel: dict[int, int]) -> ModeConditions:
    """The conditions of the query's mode; `parallel` are the edge pairs that SUBGRAPHS orders by
    id."""
    mode = query.graph.mode
    vertices: set[tuple[int, int]] = set()
    edges = {(f, e) for e, f in parallel.items()}
    apart: dict[tuple[int, int], Apart] = {}
    if mode.edges_differ or mode.nodes_differ:
        ends = [frozenset((x.source, x.target)) for x in query.edges]
        query_edges, compared = query.graph.edges, bounds_of(query.graph.compared).apart
        for f in range(len(query.edges)):
            for e in range(f):
                # where nodes differ, edges with different ends do
                close = not mode.nodes_differ or ends[e] == ends[f]
                if close and _about(query_edges[e], query_edges[f]) and (e, f) not in compared:
                    _edges_differ(query, e, f, vertices, edges, apart)
    if mode.nodes_differ:
        n = len(query.candidates)
        vertices |= {(u, v) for v in range(n) for u in range(v) if not _apart_anyway(query, u, v)}
    asked_apart = {(min(pair), max(pair)) for pair in query.graph.apart}
    vertices |= {(u, v) for u, v in asked_apart if not _apart_anyway(query, u, v)}
    bound = {e for pair in edges for e in pair}
    for e, edge in enumerate(query.edges):
        test = query.graph.edges[e]
        simple = query.shape(edge.spec(edge.source)).simple
        if not test.exists and (test.wanted or test.allowed is not None or not simple):
            bound.add(e)
    bound |= {e for c in query.graph.compared for e in c.edges}
    between = _induced(query) if mode.induced else ()
    anti = [x for x in query.negated if x.types is not None]
    between += tuple((x.spec(x.source), x.source, x.target, 0) for x in anti)
    return ModeConditions(
        *(frozenset(vertices), frozenset(edges), tuple(apart.values()), frozenset(bound), between),
        compared=tuple(apart),
    )


def clauses(query: Resolved) -> tuple[int, ...]:
    """For each query edge the MATCH within which it has to differ from others; -1 where there is no other that
    could be the same data edge, so that it makes no difference in which one it is."""
    query_edges, edges = query.graph.edges, query.edges
    if not query.graph.mode.edges_differ or len({x.clause for x in query_edges}) == 1:
        return (0,) * len(edges)

    def alone(e: int) -> bool:
        return not any(
            f != e and _compared(query, e, f) and _together(edges[e], edges[f]) is not None
            for f in range(len(edges))
        )

    return tuple(-1 if alone(e) else x.clause for e, x in enumerate(query_edges))


def may_repeat(query: Resolved) -> bool:
    """Whether two query edges could be the same data edge, and may because they are in different MATCH clauses."""
    if not query.graph.mode.edges_differ:
        return False
    known = [
        (x, edge.clause)
        for x, edge in zip(query.edges, query.graph.edges, strict=True)
        if not edge.exists
    ]
    return any(
        one != other and _together(x, y) is not None
        for k, (x, one) in enumerate(known)
        for y, other in known[:k]
    )


def _compared(query: Resolved, e: int, f: int) -> bool:
    """Whether "relationships differ" is about these two query edges."""
    return _about(query.graph.edges[e], query.graph.edges[f])


def _about(x: QueryEdge, y: QueryEdge) -> bool:
    return x.clause == y.clause and not x.exists and not y.exists


def with_twins_bound(found: ModeConditions, twins: tuple[Twin, ...]) -> ModeConditions:
    """A twin's row takes an edge's id from where the automorphism moves it, so that one must be
    bound as well."""
    bound = found.bound | {twin.edges[e] for twin in twins for e in found.bound}
    return replace(found, bound=bound)


def _edges_differ(
    query: Resolved,
    e: int,
    f: int,
    vertices: set[tuple[int, int]],
    edges: set[tuple[int, int]],
    apart: dict[tuple[int, int], Apart],
) -> None:
    """Add what keeps query edges e and f from sharing a data edge."""
    x, y = query.edges[e], query.edges[f]
    if _never_same(query, x, y):
        return
    both = _together(x, y)
    if both is None:
        return
    if not query.shape(both).simple:
        edges.add((e, f))
        return
    either = both.direction is Direction.ANY
    a, b, c, d = x.source, x.target, y.source, y.target
    pairs = [(a, c, b, d), (b, d, a, c)] + ([(a, d, b, c), (b, c, a, d)] if either else [])
    for shared, other, left, right in pairs:
        if shared == other and left != right:
            if not _apart_anyway(query, left, right):
                vertices.add((min(left, right), max(left, right)))
            return
    apart[e, f] = Apart(a, b, c, d, either)


def _together(x: ResolvedEdge, y: ResolvedEdge) -> ViewSpec | None:
    """The view that holds every edge that either could match; None if no edge could match both."""
    if x.types is None or y.types is None:
        return None
    if x.types and y.types and not set(x.types) & set(y.types):
        return None
    types = tuple(sorted({*x.types, *y.types})) if x.types and y.types else ()
    return ViewSpec(types, Direction.ANY if x.either_way or y.either_way else Direction.OUT)


def _never_same(query: Resolved, x: ResolvedEdge, y: ResolvedEdge) -> bool:
    """Whether labels, the mode, edges without self-loops or other conditions keep the two edges on different vertices.

    Edges that share a query vertex may not be left to other conditions: theirs are what
    `surely_different` builds upon.
    """
    apart = len({x.source, x.target, y.source, y.target}) == 4

    cannot = surely_different if apart else _whatever_differs
    straight = cannot(query, x.source, y.source) or cannot(query, x.target, y.target)
    if not straight or not (x.either_way or y.either_way):
        return straight
    return cannot(query, x.source, y.target) or cannot(query, x.target, y.source)


def _whatever_differs(query: Resolved, u: int, v: int) -> bool:
    """Whether two query vertices differ without the condition that relationships do."""
    return u != v and (query.graph.mode.nodes_differ or _apart_anyway(query, u, v))


def _apart_anyway(query: Resolved, u: int, v: int) -> bool:
    """Whether labels, or an edge of a kind that has no self-loops, already keep two query vertices
    apart."""
    if query.disjoint(u, v):
        return True
    return v in query.neighbours(u) and any(
        not query.shape(query.edges[e].spec(u)).loops
        for e in query.incident(u)
        if query.edges[e].other(u) == v
    )


def surely_different(query: Resolved, u: int, v: int) -> bool:
    """Whether no embedding maps both query vertices to one data vertex.

    Besides labels and edges: in DIFFERENT EDGES two alike edges from a common neighbour w would be
    one data edge if their other ends were the same, unless parallel edges exist.
    """
    pair = (u, v) if u < v else (v, u)
    found = query.different.get(pair)
    if found is None:
        found = query.different[pair] = _surely_different(query, u, v)
    return found


def _surely_different(query: Resolved, u: int, v: int) -> bool:
    mode = query.graph.mode
    apart = (u, v) in query.graph.apart or (v, u) in query.graph.apart
    if mode.nodes_differ or apart or _apart_anyway(query, u, v):
        return True
    far = not (query.neighbours(u) | {u}) & (query.neighbours(v) | {v})
    if far or not mode.edges_differ:
        return False
    for e in query.incident(u):
        w = query.edges[e].other(u)
        spec = query.edges[e].spec(w)
        for f in query.incident(v):
            edge = query.edges[f]
            alike = edge.other(v) == w and edge.spec(w) == spec and query.shape(spec).simple
            if e != f and alike and _compared(query, e, f):
                return True
    return False


def _induced(query: Resolved) -> tuple[tuple[ViewSpec, int, int, int], ...]:
    """For each pair of query vertices how many data edges of any type may join them: as many as the
    pattern has."""
    spec = ViewSpec((), Direction.ANY)
    view = query.shape(spec)
    found = []
    n = len(query.candidates)
    for v in range(n):
        for u in range(v + 1):
            held = sum(
                {x.source, x.target} == {u, v} and not edge.exists
                for x, edge in zip(query.edges, query.graph.edges, strict=True)
            )
            implied = (u == v and not view.loops and held == 0) or (held == 1 and view.simple)
            if not implied:
                found.append((spec, u, v, held))
    return tuple(found)
