"""Rectangles between hubs that nearly all other vertices are joined to: counts of hundreds and ten thousands for one
vertex."""

from __future__ import annotations

from functools import cache

from gdb.query_graph import (
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.storage.format.direction import Direction
from tests.support.small_graph import SmallGraph

HUBS = 4


@cache
def joined(number: int) -> dict[int, set[int]]:
    """The neighbours of each hub: of three most of so many others, of one a few. Hubs are the last vertices."""
    others = {vid for vid in range(number) if vid % 5 or number < 1000}
    return dict.fromkeys(range(number, number + 3), others) | {number + 3: {1, 2, number - 3}}


@cache
def graph(number: int) -> SmallGraph:
    """The graph of `joined`."""
    edges = [("U", hub, vid) for hub, near in joined(number).items() for vid in sorted(near)]
    labels = [("A",)] * number + [("Hub",)] * HUBS
    return SmallGraph(labels, edges, frozenset({"U"}))


def query(mode: MatchMode) -> QueryGraph:
    """A rectangle with two hubs across."""
    hub = QueryVertex(labels=(("Hub",),))
    ends = (0, 1), (1, 2), (2, 3), (3, 0)
    edges = tuple(QueryEdge(a, b, ("U",), Direction.ANY) for a, b in ends)
    return QueryGraph((hub, QueryVertex(), hub, QueryVertex()), edges, mode)


def count(number: int, mode: MatchMode) -> int:
    """How many of these there are."""
    near = joined(number)
    common = [len(near[a] & near[b]) for a in near for b in near if a != b]
    if mode is REPEATABLE_ELEMENTS:
        return sum(n * n for n in common) + sum(len(own) ** 2 for own in near.values())
    return sum(n * (n - 1) for n in common) // (4 if mode is SUBGRAPHS else 1)
