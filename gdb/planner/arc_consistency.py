"""Candidates of a pattern whose existence is tested: those that a semi-join along each query edge leaves.

A test stops at the first embedding of each root, so that what it costs is what leads to none: with few candidates at a
leaf nearly all of the vertices beside it. A semi-join from the few to their neighbours (Yannakakis, Algorithms for
acyclic database schemes, VLDB 1981) looks at the rows of the few alone, and drops the others before they are matched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.records import replace

if TYPE_CHECKING:
    from gdb.planner.resolved_graph import Resolved

MUCH_FEWER = 4
"""So many times fewer candidates than a neighbour has are worth a semi-join."""
MOST_CANDIDATES, LOOKED_AT = 4_000_000, 10_000_000
"""Candidates of all query vertices, 5 bytes each, and elements that the semi-joins may look at."""


def semi_joined(
    query: Resolved, differs: frozenset[tuple[int, int]], order: tuple[int, ...]
) -> Resolved:
    """The query graph with fewer candidates, where some vertex has much fewer than one beside it.

    differs : pairs of query vertices that have to differ. order : in which they are matched.
    """
    counts = [c.count for c in query.candidates]
    gains = any(
        MUCH_FEWER * counts[u] < counts[v] for v in range(len(counts)) for u in query.neighbours(v)
    )
    if not gains or sum(counts) > MOST_CANDIDATES:
        return query
    from gdb.planner.sampled_embeddings import Statistics  # compiles kernels

    statistics = Statistics(query, differs)
    statistics.narrow(LOOKED_AT)
    left = [*statistics.reduced(order, 0)]
    first = left[order[0]]  # the loop over it is as long as they are many
    if first.allowed is not None and statistics.count(order[0]) < first.count:
        members = statistics.members(order[0]).copy()
        left[order[0]] = replace(first, allowed=members, count=len(members))
    return replace(query, candidates=tuple(left))
