"""Brute force: every assignment of vertices and edges, tested against the words of the language's
definition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from gdb.executor.plan.plan import MISSING, Compare
from gdb.query_graph import OptionalGraph, QueryEdge, QueryGraph
from gdb.storage.format.direction import Direction
from tests.support.small_graph import SmallGraph

Embedding = tuple[tuple[int, ...], tuple[int, ...]]


def embeddings(query: QueryGraph, graph: SmallGraph) -> list[Embedding]:
    """All (vids, eids) of a query, by trying everything; SUBGRAPHS: one of each set that
    automorphisms join."""
    found = []
    candidates = [_candidates(query, graph, k) for k in range(len(query.vertices))]
    for vids in itertools.product(*candidates):
        if query.mode.nodes_differ and len(set(vids)) < len(vids):
            continue
        if any(vids[u] == vids[v] for u, v in query.apart):
            continue
        if any(_matches(edge, vids, graph) for edge in query.negated):
            continue
        choices = [_choices(edge, vids, graph) for edge in query.edges]
        for eids in itertools.product(*choices):
            if (query.mode.edges_differ or query.mode.nodes_differ) and _repeats(query, eids):
                continue
            if not all(_holds(compare, vids, eids) for compare in query.compared):
                continue
            if query.mode.induced and not _induced(vids, eids, graph):
                continue
            found.append((vids, eids))
    return _one_of_each(query, found) if query.mode.distinct else found


def count(query: QueryGraph, graph: SmallGraph) -> int:
    """The number of embeddings, each as often as the product over its optional graphs of how many embeddings these have
    beside it, at least one each."""
    numbers = itertools.count(len(query.vertices))
    parts = [_numbered(part, numbers) for part in query.optional]
    return sum(
        math.prod(_ways(part, graph, dict(enumerate(vids))) for part in parts)
        for vids, _ in embeddings(query, graph)
    )


@dataclass(frozen=True)
class _Part:
    """An optional graph: the numbers of its vertices in the whole pattern; parts within it."""

    graph: QueryGraph
    numbers: list[int]
    held: dict[int, int]
    parts: list[_Part]


def _numbered(part: OptionalGraph, numbers: Iterator[int]) -> _Part:
    held = dict(part.held)
    own = [held[v] if v in held else next(numbers) for v in range(len(part.graph.vertices))]
    return _Part(part.graph, own, held, [_numbered(one, numbers) for one in part.graph.optional])


def _ways(part: _Part, graph: SmallGraph, bound: dict[int, int]) -> int:
    found = 0
    for vids, _ in embeddings(part.graph, graph):
        if all(bound[at] == vids[own] for own, at in part.held.items()):
            known = bound | dict(zip(part.numbers, vids, strict=True))
            found += math.prod(_ways(one, graph, known) for one in part.parts)
    return max(found, 1)


def _candidates(query: QueryGraph, graph: SmallGraph, k: int) -> list[int]:
    vertex = query.vertices[k]
    fits = [
        x
        for x in range(graph.vertex_count)
        if all(set(alternatives) & set(graph.labels[x]) for alternatives in vertex.labels)
    ]
    return fits if vertex.allowed is None else [x for x in fits if x in vertex.allowed.tolist()]


def _matches(edge: QueryEdge, vids: tuple[int, ...], graph: SmallGraph) -> list[int]:
    a, b = vids[edge.source], vids[edge.target]
    found = []
    for eid, (name, s, t) in enumerate(graph.edges):
        if edge.types and name not in edge.types:
            continue
        if edge.allowed is not None and eid not in edge.allowed.tolist():
            continue
        either = name in graph.undirected or edge.direction is Direction.ANY
        if (s, t) == (a, b) or (either and (t, s) == (a, b)):
            found.append(eid)
    return found


def _holds(compare: Compare, vids: tuple[int, ...], eids: tuple[int, ...]) -> bool:
    left = compare.left_values[(eids if compare.left_is_edge else vids)[compare.left]]
    right = compare.right_values[(eids if compare.right_is_edge else vids)[compare.right]]
    there = left != MISSING and right != MISSING
    within = compare.least <= int(right) - int(left) <= compare.most
    return bool(there and within == compare.inside)


def _choices(edge: QueryEdge, vids: tuple[int, ...], graph: SmallGraph) -> list[int]:
    found = _matches(edge, vids, graph)
    return [-1] * bool(found) if edge.exists else found


def _repeats(query: QueryGraph, eids: tuple[int, ...]) -> bool:
    """Whether two query edges of one MATCH have the same data edge."""
    bound = [
        (edge.clause, eid) for edge, eid in zip(query.edges, eids, strict=True) if not edge.exists
    ]
    return len(set(bound)) < len(bound)


def _induced(vids: tuple[int, ...], eids: tuple[int, ...], graph: SmallGraph) -> bool:
    inside = set(vids)
    held = {e for e, (_, s, t) in enumerate(graph.edges) if s in inside and t in inside}
    return held == set(eids) - {-1}


def automorphisms(query: QueryGraph) -> list[Embedding]:
    """(vertex permutation, edge permutation) that keep labels, predicates, types and directions."""
    n, m = len(query.vertices), len(query.edges)
    found = []
    for image in itertools.permutations(range(n)):
        if any(_colour(query, u) != _colour(query, image[u]) for u in range(n)):
            continue
        if not _keeps(query, image):
            continue
        if any(image[v] != v for compare in query.compared for v in compare.vertices):
            continue
        for edges in itertools.permutations(range(m)):
            if any(edges[e] != e for compare in query.compared for e in compare.edges):
                continue
            if all(_same(query.edges[e], query.edges[edges[e]], image) for e in range(m)):
                found.append((image, edges))
    return found


def _keeps(query: QueryGraph, image: tuple[int, ...]) -> bool:
    """Whether a permutation of the vertices keeps the pairs that differ and the anti-edges."""
    apart = {frozenset(pair) for pair in query.apart}
    if {frozenset(image[v] for v in pair) for pair in apart} != apart:
        return False
    k = len(query.negated)
    return any(
        all(_same(query.negated[e], query.negated[to[e]], image) for e in range(k))
        for to in itertools.permutations(range(k))
    )


def _colour(query: QueryGraph, v: int) -> object:
    vertex = query.vertices[v]
    return sorted(map(sorted, vertex.labels)), vertex.predicate


def _same(edge: QueryEdge, other: QueryEdge, image: tuple[int, ...]) -> bool:
    if (sorted(edge.types), edge.predicate) != (sorted(other.types), other.predicate):
        return False
    if edge.exists != other.exists:
        return False
    ends = (image[edge.source], image[edge.target])
    there = (other.source, other.target)
    loops = ends[0] == ends[1] and ends == there  # with and without an arrow they say the same
    if edge.direction != other.direction and not loops:
        return False
    return ends == there or (edge.direction is Direction.ANY and ends == there[::-1])


def _one_of_each(query: QueryGraph, found: list[Embedding]) -> list[Embedding]:
    group, kept, seen = automorphisms(query), [], set()
    for vids, eids in found:
        if (vids, eids) in seen:
            continue
        kept.append((vids, eids))
        for image, edges in group:
            seen.add((tuple(vids[i] for i in image), tuple(eids[i] for i in edges)))
    return kept
