"""Windows: of a row whose edges lie in the order of a value, only the part that a comparison admits.

before: for c in N(b): for f in edges(b, c): if 0 <= f.at - e.at <= w: ...
after:  for f in edges(b), from e.at to e.at + w: for c in end(f): ...

So an edge may be bound before the vertex that it leads to. What is walked is what the window holds, and where it comes
last, it is counted by two binary searches.
"""

from __future__ import annotations

from collections.abc import Callable

from gdb.records import dataclass, replace

from .level_order import renumber_level
from .nest import (
    UNBOUNDED,
    Check,
    EdgeLevel,
    Kind,
    Level,
    LoopNest,
    Member,
    Operand,
    VertexLevel,
    WithinBounds,
    levels_of,
)

# the largest share of a row for which a window is walked instead of an intersection
NARROW = 1 / 16


@dataclass(frozen=True, slots=True)
class Orders:
    """What the pass knows of a plan.

    other : for each view that of the same edges from their other ends, -1 where an edge has no one end that is the
        other, or rows are not to be ordered. ends : for each view the largest vid that is a neighbour in it, + 1.
    sides : of each comparison, which arrays its left and its right values are, by number.
    share : what part of all edges some windows leave, about.
    """

    other: tuple[int, ...]
    ends: tuple[int, ...]
    sides: tuple[tuple[int, int], ...]
    share: Callable[[tuple[WithinBounds, ...]], float]


@dataclass(frozen=True, slots=True)
class _Way:
    """A vertex reached by an edge: level `edge` goes along `view` from level `source`, in `windows`, after the edge
    levels `before`."""

    edge: int
    view: int
    source: int
    windows: tuple[WithinBounds, ...]
    before: tuple[int, ...]
    share: float


def windows(nest: LoopNest, orders: Orders) -> LoopNest:
    """The nest with windows wherever an edge is compared with what is bound before the vertex that it leads to; where
    that vertex lies in several rows, wherever windows are narrow."""
    levels, k = list(nest.levels), 1
    while k < len(levels):
        way = _way(levels, k, orders)
        if way is not None:
            levels = _walked(levels, k, way)
            k += 1 + len(way.before)
        k += 1
    if all(isinstance(x, VertexLevel) or x.target >= 0 for x in levels):
        return nest
    levels = _along_edges(levels, orders)
    if nest.counting:
        levels = _without_ends(levels, orders)
    return replace(nest, levels=tuple(levels))


def _way(levels: list[Level], k: int, orders: Orders) -> _Way | None:
    """The narrowest way to the vertex of level k, None where it is better reached by its rows."""
    level = levels[k]
    if not isinstance(level, VertexLevel) or level.base.kind is not Kind.ROW:
        return None
    rows = 1 + sum(_is_row(check, k) for check in level.checks)
    ways = [way for j in range(k + 1, len(levels)) for way in _ways(levels, k, j, orders)]
    best = min(ways, key=lambda way: way.share, default=None)
    return best if best is not None and (rows == 1 or best.share <= NARROW) else None


def _along_edges(levels: list[Level], orders: Orders) -> list[Level]:
    """The levels with edges bound before the vertices that they lead to also where they are compared with nothing
    yet, and one look-up for each vertex is spared. Where few vertices are candidates, more are spared by checking that
    first."""
    k = 1
    while k < len(levels):
        level = levels[k]
        if (
            isinstance(level, VertexLevel)
            and level.base.kind is Kind.ROW
            and level.cut.bits < 0
            and not any(_is_row(check, k) for check in level.checks)
        ):
            edges = (way for j in range(k + 1, len(levels)) for way in _edge(levels, k, j, orders))
            way = next(edges, None)
            if way is not None:
                levels = _walked(levels, k, way)
                k += 1
        k += 1
    return levels


def _edge(levels: list[Level], k: int, j: int, orders: Orders) -> list[_Way]:
    """The way to level k along the edge of level j, if there is one: the whole row of another level."""
    edge = levels[j]
    if not isinstance(edge, EdgeLevel) or edge.target < 0 or not _moves(edge, k):
        return []
    source = edge.source if edge.target == k else edge.target
    if {edge.source, edge.target} != {source, k} or source >= k or orders.other[edge.view] < 0:
        return []
    view = edge.view if edge.target == k else orders.other[edge.view]
    return [_Way(j, view, source, (), (), 1.0)]


def _is_row(check: Check, k: int) -> bool:
    """Whether a check says that the vertex of level k is in a row."""
    match check:
        case Member(target=target, least=1, most=most):
            return target == k and most >= UNBOUNDED
        case _:
            return False


def _ways(levels: list[Level], k: int, j: int, orders: Orders) -> list[_Way]:
    """The ways to level k along the edge of level j, one for each array that it is compared by."""
    edge, whole = levels[j], _edge(levels, k, j, orders)
    if not isinstance(edge, EdgeLevel) or not whole:
        return []
    by_array: dict[int, list[WithinBounds]] = {}
    for check in edge.checks:
        if isinstance(check, WithinBounds) and check.inside:
            other = check.left if check.right == j else check.right
            if other < k or _ready(levels, k, other):
                array = orders.sides[check.number][check.right == j]
                by_array.setdefault(array, []).append(check)
    return [
        replace(
            whole[0],
            windows=tuple(some),
            before=tuple(sorted({x for c in some for x in (c.left, c.right) if k < x != j})),
            share=orders.share(tuple(some)),
        )
        for some in by_array.values()
    ]


def _ready(levels: list[Level], k: int, other: int) -> bool:
    """Whether another level is an edge that might be bound before level k."""
    level = levels[other]
    return (
        isinstance(level, EdgeLevel)
        and level.target >= 0
        and max(level.source, level.target) < k
        and _moves(level, k)
    )


def _moves(edge: EdgeLevel, k: int) -> bool:
    """Whether an edge level can move before level k: the other edge can check a difference too, but not an order."""
    return all(f < k for f in edge.above)


def _walked(levels: list[Level], k: int, way: _Way) -> list[Level]:
    """The levels with the vertex of level k reached along a way."""
    vertex, edge = levels[k], levels[way.edge]
    assert isinstance(vertex, VertexLevel)
    assert isinstance(edge, EdgeLevel)
    row = Operand(Kind.ROW, way.view, way.source)
    along = Member(way.view, way.source, k, 1, UNBOUNDED)
    checks = tuple(check for check in vertex.checks if check != along)
    if vertex.base != row:
        checks = (Member(vertex.base.a, vertex.base.b, k, 1, UNBOUNDED), *checks)
    changed = list(levels)
    changed[k] = replace(vertex, base=Operand(Kind.END, way.view, way.edge), checks=checks)
    changed[way.edge] = replace(
        edge,
        view=way.view,
        source=way.source,
        target=-1,
        checks=tuple(check for check in edge.checks if check not in way.windows),
        windows=way.windows,
    )
    first = (*way.before, way.edge)
    rest = (x for x in range(k, len(levels)) if x not in first)
    return _in_order(changed, [*range(k), *first, *rest])


def _in_order(levels: list[Level], order: list[int]) -> list[Level]:
    """Some of the levels in another order; what one tests of a later one, the later one tests."""
    at = {old: new for new, old in enumerate(order)}
    found = [renumber_level(levels[old], at) for old in order]
    for k, level in enumerate(found):
        if isinstance(level, EdgeLevel):
            found[k] = replace(
                level,
                differs=tuple(f for f in level.differs if f < k),
                checks=tuple(c for c in level.checks if max(levels_of((c,))) <= k),
            )
            for f in level.differs:
                if f > k:
                    later = found[f]
                    assert isinstance(later, EdgeLevel)
                    found[f] = replace(later, differs=(*later.differs, k))
            for check in level.checks:
                last = max(levels_of((check,)))
                if last > k:
                    found[last] = replace(found[last], checks=(*found[last].checks, check))
    return found


def _without_ends(levels: list[Level], orders: Orders) -> list[Level]:
    """The levels without unused vertices that any end of an edge may be: where only a number is wanted, counting
    the edges gives it."""
    read = {x for k, level in enumerate(levels) for x in level.reads() - {k}}
    return _in_order(
        levels, [k for k, level in enumerate(levels) if k in read or not _is_any(level, orders)]
    )


def _is_any(level: Level, orders: Orders) -> bool:
    if isinstance(level, EdgeLevel) or level.base.kind is not Kind.END:
        return False
    cut = level.cut
    everyone = cut.lo == 0 and cut.hi >= orders.ends[level.base.a] and cut.bits < 0
    return everyone and not (cut.below or cut.above or level.differs or level.checks)
