"""Patterns whose existence is tested at each data vertex of one query vertex: semi-joins along the query edges.

A test stops at the first embedding of each root, so that it costs what leads to none: with few candidates at a leaf,
nearly all of the vertices beside it. A semi-join from the few to their neighbours looks at the rows of the few alone,
and drops the others before they are matched. Where the pattern is a tree, and nothing but its edges and candidates
decides, semi-joins from the leaves to the root leave exactly the roots that have an embedding, and nothing is matched
(Yannakakis, Algorithms for acyclic database schemes, VLDB 1981).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.base import usage
from gdb.planner import cost
from gdb.planner.decompose import decompose
from gdb.planner.distinct import conditions
from gdb.planner.order import matching_order
from gdb.planner.resolved_graph import resolve
from gdb.records import replace

if TYPE_CHECKING:
    from gdb.planner.distinct import ModeConditions
    from gdb.planner.resolved_graph import PlannerSource, Resolved
    from gdb.planner.sampled_embeddings import Statistics
    from gdb.query_graph import QueryGraph
    from gdb.storage.graph.adjacency import U32

MUCH_FEWER = 4
"""So many times fewer candidates than a neighbour that is matched before has are worth a semi-join."""
WORTH = 1.0
"""Partial embeddings for each candidate from which on semi-joins take less time than to match."""
MOST_CANDIDATES, LOOKED_AT = 4_000_000, 10_000_000
"""Candidates of all query vertices, 5 bytes each, and elements that the semi-joins may look at."""


@usage.unread
def surely_matched(graph: QueryGraph, source: PlannerSource, root: int) -> U32 | None:
    """The data vertices that the query vertex `root` has in any embedding, u32[n] ascending, where semi-joins find
    them; None where the pattern has to be matched."""
    query = resolve(graph, source)
    if not _is_tree(query):
        return None
    held = conditions(query, {})
    if not _by_edges_alone(query, held):
        return None
    order = matching_order(query, decompose(query), root)
    statistics = _reduced(query, held, order)
    if statistics is None:
        return None
    statistics.fans()
    if statistics.rows() > LOOKED_AT:
        return None
    statistics.weigh(order)
    return statistics.members(root).copy()


def semi_joined(query: Resolved, held: ModeConditions, order: tuple[int, ...]) -> Resolved:
    """The query graph with fewer candidates, where some vertex has much fewer than one that is matched before it.

    held : its conditions. order : in which it is matched.
    """
    statistics = _reduced(query, held, order)
    if statistics is None:
        return query
    left = [*statistics.reduced(order, 0)]
    first = left[order[0]]  # the loop over it is as long as they are many
    if statistics.count(order[0]) < first.count:
        members = statistics.members(order[0]).copy()
        left[order[0]] = replace(first, allowed=members, count=len(members))
    return replace(query, candidates=tuple(left))


def _reduced(query: Resolved, held: ModeConditions, order: tuple[int, ...]) -> Statistics | None:
    """What arc consistency leaves; None where it is not worth it."""
    counts = [c.count for c in query.candidates]
    gains = any(
        MUCH_FEWER * counts[u] < counts[v]
        for k, v in enumerate(order)
        for u in order[k + 1 :]
        if u in query.neighbours(v)
    )
    if not gains or sum(counts) > MOST_CANDIDATES:
        return None
    if max(cost.estimates(query, order)) < WORTH * sum(counts):
        return None
    from gdb.planner.sampled_embeddings import Statistics  # compiles kernels

    statistics = Statistics(query, held.vertices)
    statistics.narrow(LOOKED_AT)
    return statistics


def _is_tree(query: Resolved) -> bool:
    """Whether its edges, no two of them between the same vertices, form a tree."""
    n = len(query.candidates)
    ends = {frozenset((edge.source, edge.target)) for edge in query.edges}
    if len(query.edges) != n - 1 or len(ends) < n - 1 or any(len(pair) == 1 for pair in ends):
        return False
    seen, waiting = {0}, [0]
    while waiting:
        new = query.neighbours(waiting.pop()) - seen
        seen |= new
        waiting += new
    return len(seen) == n


def _by_edges_alone(query: Resolved, held: ModeConditions) -> bool:
    """Whether an embedding is whatever edges and candidates say."""
    graph = query.graph
    needed = held.vertices or held.edges or held.apart or held.between
    tested = any(edge.allowed is not None for edge in graph.edges)
    return not (needed or tested or graph.negated or graph.compared or graph.optional)
