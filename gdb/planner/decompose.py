"""Core, forest and leaves of a query graph (geneva-tpds §6, after CFL: peel degree-one vertices),
and its smallest cycle."""

from __future__ import annotations

from collections import deque

from gdb.planner.resolved_graph import Resolved
from gdb.records import dataclass


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Disjoint sets of query vertices; `cycle` is a smallest cycle of the core, () where the core
    has none."""

    core: frozenset[int]
    forest: frozenset[int]
    leaves: frozenset[int]
    cycle: frozenset[int]


def decompose(query: Resolved) -> Decomposition:
    """Peel degree-one vertices until none is left: what stays is the core; of the peeled, those
    that had degree one (or none) from the start are leaves, the others the forest. Parallel query
    edges and self-loops do not make a core."""
    n = len(query.candidates)
    near = {v: set(query.neighbours(v)) for v in range(n)}
    left = {v: set(near[v]) for v in range(n)}
    ready = deque(v for v in range(n) if len(left[v]) <= 1)
    peeled: set[int] = set()
    while ready:
        v = ready.popleft()
        if v in peeled:
            continue
        peeled.add(v)
        for u in left[v]:
            left[u].discard(v)
            if len(left[u]) <= 1 and u not in peeled:
                ready.append(u)
        left[v] = set()
    core = frozenset(range(n)) - peeled
    leaves = frozenset(v for v in peeled if len(near[v]) <= 1)
    cycle = _smallest_cycle({v: near[v] & core for v in core}, query)
    return Decomposition(core, frozenset(peeled) - leaves, leaves, cycle)


def _smallest_cycle(near: dict[int, set[int]], query: Resolved) -> frozenset[int]:
    """Among the shortest cycles the one with the fewest candidates."""
    best: tuple[int, float, frozenset[int]] | None = None
    ascending = {u: sorted(others) for u, others in near.items()}
    for u in sorted(near):
        for v in ascending[u]:
            if u < v:
                path = _shortest_path(ascending, u, v)
                if path:
                    cost = float(sum(query.candidates[x].count for x in path))
                    found = (len(path), cost, frozenset(path))
                    best = found if best is None or found[:2] < best[:2] else best
    return best[2] if best else frozenset()


def _shortest_path(near: dict[int, list[int]], start: int, goal: int) -> list[int]:
    """A shortest path from start to goal that does not use the edge between them; [] if none."""
    back = {start: start}
    queue = deque([start])
    while queue:
        u = queue.popleft()
        for v in near[u]:
            if v in back or (u == start and v == goal):
                continue
            back[v] = u
            if v == goal:
                path = [v]
                while path[-1] != start:
                    path.append(back[path[-1]])
                return path
            queue.append(v)
    return []
