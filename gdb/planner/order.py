"""The matching order: core first from its smallest cycle, then trees, then leaves (geneva-tpds §6,
Algorithm 8)."""

from __future__ import annotations

from gdb.planner import cost
from gdb.planner.decompose import Decomposition
from gdb.planner.resolved_graph import Resolved


def matching_order(
    query: Resolved, parts: Decomposition, root: int | None = None
) -> tuple[int, ...]:
    """All query vertices, each (but the first of a component) joined to an earlier one; `root` first where it
    is given.

    Within the smallest cycle, the rest of the core, the forest and the leaves, in this order, the
    vertex with the smallest expected expansion is next; more edges to bound vertices decide ties.
    """
    order: list[int] = []
    stages = (parts.cycle, parts.core, parts.forest, parts.leaves)
    firsts = [cost.first(query, v) for v in range(len(query.candidates))]
    components = _components(query)
    components.sort(key=lambda c: (root not in c, not c & parts.core, min(firsts[v] for v in c)))
    for component in components:
        bound: set[int] = set()
        start = root if root in component else _selective(query, component, firsts)
        if start is not None:
            order += _from(query, start, component, stages)
            continue
        own: list[int] = []
        for stage in stages:
            left = set(stage & component) - bound
            if left and not bound:
                own.append(min(left, key=lambda v: (firsts[v], v)))
                bound.add(own[-1])
                left.discard(own[-1])
            while left:
                chosen = _next(query, left, bound)
                own.append(chosen)
                bound.add(chosen)
                left.discard(chosen)
        order += _from_few(query, own, component, stages)
    return tuple(order)


FEWER = 2  # times: as much fewer vertices, and partial embeddings, are worth another beginning


def _from_few(
    query: Resolved, own: list[int], component: frozenset[int], stages: tuple[frozenset[int], ...]
) -> list[int]:
    """An order of the component that begins at a vertex that may be far fewer data vertices, where far fewer partial
    embeddings are expected then; else its own."""
    first, found = query.present(own[0]), own
    few = [v for v in component if FEWER * query.present(v) <= first]
    least = sum(cost.estimates(query, tuple(own))) / FEWER if few else 0.0
    for v in few:
        other = _from(query, v, component, stages)
        expected = sum(cost.estimates(query, tuple(other)))
        if expected < least:
            least, found = expected, other
    return found


SELECTIVE = 64  # so few candidates: lists that were found by id, not by a scan


def _selective(query: Resolved, component: frozenset[int], firsts: list[float]) -> int | None:
    """The vertex with the fewest candidates, where these are a handful and others' are not: wherever
    in the pattern it is, matching begins there."""
    counts = {v: query.candidates[v].count for v in component}
    first = min(component, key=lambda v: (counts[v], firsts[v], v))
    few = query.candidates[first].allowed is not None and counts[first] <= SELECTIVE
    return first if few and max(counts.values()) > SELECTIVE else None


def _from(
    query: Resolved, start: int, component: frozenset[int], stages: tuple[frozenset[int], ...]
) -> list[int]:
    """The component in an order from `start`: next is what is joined to it, of the earliest stage."""
    order = [start]
    while len(order) < len(component):
        bound = set(order)
        joined = {v for v in component - bound if query.neighbours(v) & bound}
        stage = next(joined & stage for stage in stages if joined & stage)
        order.append(_next(query, set(stage), bound))
    return order


def _next(query: Resolved, left: set[int], bound: set[int]) -> int:
    joined = [v for v in left if query.neighbours(v) & bound]
    # a tree that is joined to nothing bound yet cannot occur: stages are peeled from the outside in
    choice = joined or sorted(left)
    return min(
        choice,
        key=lambda v: (cost.expansion(query, bound, v), -len(query.neighbours(v) & bound), v),
    )


def spine_order(query: Resolved, parts: Decomposition, order: tuple[int, ...]) -> tuple[int, ...]:
    """An order of a tree that begins at an end of what is left of it without its leaves, or at a leaf there: from there
    to the other end it may be counted without a loop. That is the given one, where it does.

    before: a - b - c - d - e in the order c, b, d, a, e    after: b, c, d, a, e
    """
    inner = {v for v in order if len(query.neighbours(v)) > 1}
    ends = {v for v in inner if len(query.neighbours(v) & inner) < 2}
    # a pattern of several parts has as many edges as a tree where one of them is a cycle: there may be no end
    if not ends or order[0] in ends or query.neighbours(order[0]) <= ends:
        return order
    return matching_order(query, parts, min(ends, key=lambda v: (query.present(v), v)))


def order_behind(query: Resolved, bound: tuple[int, ...]) -> tuple[int, ...]:
    """All query vertices, first those that are bound already, in their order."""
    order, left = [*bound], set(range(len(query.candidates))) - {*bound}
    while left:
        order.append(_next(query, left, {*order}))
        left.discard(order[-1])
    return tuple(order)


def independent_last(
    query: Resolved, order: tuple[int, ...], kept: int | None = None
) -> tuple[int, ...]:
    """For counting: an order that ends with two vertices that no edge and no anti-edge joins, so that
    both are counted and none looped over; `kept` is neither.

    The pair is the latest in `order` whose removal leaves the other vertices of its component
    joined. Sets are computed as early as their operands are bound, so a vertex that comes last
    still prunes early.
    """
    place = {v: k for k, v in enumerate(order)}
    few = query.candidates[order[0]].allowed is not None
    if kept is None and few and query.candidates[order[0]].count <= SELECTIVE:
        kept = order[0]
    for last in reversed(order):
        for before in sorted(order, key=lambda v: -place[v]):
            if kept in (before, last):
                continue
            tied = before in query.neighbours(last) or query.barred(before, last)
            if place[before] < place[last] and not tied:
                rest = joined(query, [v for v in order if v not in (last, before)])
                if rest is not None and _hangs(query, rest, before) and _hangs(query, rest, last):
                    return (*rest, before, last)
    return order


def _hangs(query: Resolved, rest: tuple[int, ...], vertex: int) -> bool:
    return bool(query.neighbours(vertex) & set(rest))


def joined(query: Resolved, vertices: list[int]) -> tuple[int, ...] | None:
    """These vertices so that each is joined to an earlier one, as near to the given order as can
    be; None if impossible."""
    left, found = vertices[1:], vertices[:1]
    while left:
        following = next((v for v in left if query.neighbours(v) & set(found)), None)
        if following is None:
            return None
        found.append(following)
        left.remove(following)
    return tuple(found)


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
