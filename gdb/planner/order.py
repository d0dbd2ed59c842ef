"""The matching order: core first from its smallest cycle, then trees, then leaves (geneva-tpds §6, Algorithm 8)."""

from __future__ import annotations

from gdb.planner import cost
from gdb.planner.decompose import Decomposition
from gdb.planner.resolve import Resolved


def matching_order(query: Resolved, parts: Decomposition) -> tuple[int, ...]:
    """All query vertices, each (but the first of a component) joined to an earlier one.

    Within the smallest cycle, the rest of the core, the forest and the leaves, in this order, the vertex with the
    smallest expected expansion is next; more edges to bound vertices decide ties.
    """
    order: list[int] = []
    stages = (parts.cycle, parts.core, parts.forest, parts.leaves)
    components = _components(query)
    components.sort(key=lambda c: (not c & parts.core, min(cost.first(query, v) for v in c)))
    for component in components:
        bound: set[int] = set()
        for stage in stages:
            left = set(stage & component) - bound
            while left:
                chosen = _next(query, left, bound, component)
                order.append(chosen)
                bound.add(chosen)
                left.discard(chosen)
    return tuple(order)


def _next(query: Resolved, left: set[int], bound: set[int], component: frozenset[int]) -> int:
    if not bound:
        return min(left, key=lambda v: (cost.first(query, v), v))
    joined = [v for v in left if query.neighbours(v) & bound]
    # a tree that hangs on nothing bound yet cannot occur: stages are peeled from the outside in
    choice = joined or sorted(left)
    return min(
        choice,
        key=lambda v: (cost.expansion(query, bound, v), -len(query.neighbours(v) & bound), v),
    )


def _components(query: Resolved) -> list[frozenset[int]]:
    left = set(range(len(query.candidates)))
    found: list[frozenset[int]] = []
    while left:
        reached = {min(left)}
        grown = [min(left)]
        while grown:
            for u in query.neighbours(grown.pop()) - reached:
                reached.add(u)
                grown.append(u)
        found.append(frozenset(reached))
        left -= reached
    return found


def components(query: Resolved) -> int:
    """Number of connected parts of the query graph."""
    return len(_components(query))


def written_order(query: Resolved) -> tuple[int, ...]:
    """The order in which the query was written (for plans without an order pass)."""
    return tuple(range(len(query.candidates)))
