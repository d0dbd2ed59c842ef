"""Estimates of small patterns from label counts and mean degrees; large ones are sampled
(`gdb.planner.sampled_embeddings`)."""

from __future__ import annotations

from gdb.planner.resolved_graph import Resolved


def expansion(query: Resolved, bound: frozenset[int] | set[int], vertex: int) -> float:
    """Expected number of data vertices for `vertex` once `bound` are bound.

    Edges are taken as independent: the candidates that have lists for all of them, times for each edge to a bound
    vertex the share of the possible ends that one row of its view holds.
    """
    expected = query.present(vertex)
    for other, share in query.shares(vertex):
        if other in bound:
            expected *= share
    return expected


def first(query: Resolved, vertex: int) -> float:
    """Expected cost of starting at a vertex: its candidates times its cheapest expansion; few and
    selective come first."""
    count = query.present(vertex)
    after = [expansion(query, {vertex}, u) for u in query.neighbours(vertex)]
    return count * min(after, default=1.0) / (1.0 + len(query.neighbours(vertex)))


def estimates(query: Resolved, order: tuple[int, ...]) -> tuple[float, ...]:
    """Expected number of partial embeddings after each vertex of an order."""
    found: list[float] = []
    bound: set[int] = set()
    rows = 1.0
    for v in order:
        rows *= expansion(query, bound, v)
        bound.add(v)
        found.append(rows)
    return tuple(found)
