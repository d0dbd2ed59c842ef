"""Vertices that are bound once for each edge of a row: parallel edges repeat a neighbour there, so that the edge itself
needs no level where nothing depends on which it is."""

from __future__ import annotations

from gdb.records import replace

from .level_order import reorder_nest
from .nest import EdgeLevel, Kind, LoopNest, Operand, VertexLevel


def each_edge(nest: LoopNest, back: tuple[int, ...]) -> LoopNest:
    """Count without the levels of edges that only multiply what their ends are bound to.

    back : for each view the view of the same edges from their other ends, -1 where there is none.

    before: for a: for b in distinct N(a): for e in edges(a, b): n += 1     after: for a: for b in N(a): n += 1
    """
    if not nest.counting or nest.parts:
        return nest
    m = len(nest.levels) - 1
    while m >= 0:
        k = _bound_with(nest, frozenset({m}), m, back)
        if k is not None:
            nest = _folded(nest, {m: k}, ())
        m -= 1
    return nest


def alike_edges(nest: LoopNest, back: tuple[int, ...]) -> LoopNest:
    """The same for edges of one list that have only to differ from one another: its elements do, however often they
    repeat a neighbour. Their levels are to be counted together (`VertexLevel.apart`).

    before: for a: for b, e in edges of N(a): for c, f in edges of N(a): n += e != f
    after:  for a: n += |N(a)| * (|N(a)| - 1)
    """
    if not nest.counting or nest.parts:
        return nest
    while True:
        found = next((pairs for some in _groups(nest) if (pairs := _alike(nest, some, back))), None)
        if found is None:
            return nest
        nest = _folded(nest, found, tuple(found.values()))


def _groups(nest: LoopNest) -> list[frozenset[int]]:
    """Sets of levels of edges, each to differ from all others of its set and from no more."""
    apart: dict[int, set[int]] = {}
    for m, level in enumerate(nest.levels):
        for f in level.differs if isinstance(level, EdgeLevel) else ():
            apart.setdefault(m, {m}).add(f)
            apart.setdefault(f, {f}).add(m)
    some = {frozenset(group) for group in apart.values()}
    return sorted(
        (group for group in some if all(apart[m] == group for m in group)), key=lambda g: min(g)
    )


def _alike(nest: LoopNest, group: frozenset[int], back: tuple[int, ...]) -> dict[int, int] | None:
    """The levels of the vertices that can be bound once for each edge of a group, if they go over one list."""
    found: dict[int, int] = {}
    lists = set[Operand]()
    for m in sorted(group):
        k = _bound_with(nest, group, m, back)
        level = nest.levels[k] if k is not None else None
        if k is None or k in found.values() or not isinstance(level, VertexLevel):
            return None
        found[m] = k
        lists.add(level.base)
    return found if len(lists) == 1 else None


def _folded(nest: LoopNest, pairs: dict[int, int], apart: tuple[int, ...]) -> LoopNest:
    """The nest without levels of edges, those of vertices bound once for each instead. apart : levels of vertices whose
    edges differ."""
    levels = list(nest.levels)
    for k in pairs.values():
        level = levels[k]
        assert isinstance(level, VertexLevel)
        levels[k] = replace(level, each=True, apart=tuple(j for j in apart if j < k))
    kept = [j for j in range(len(levels)) if j not in pairs]
    moved = reorder_nest(replace(nest, levels=tuple(levels)), [*kept, *pairs])
    return replace(moved, levels=moved.levels[: len(kept)])


def _bound_with(nest: LoopNest, group: frozenset[int], m: int, back: tuple[int, ...]) -> int | None:
    """The level of the vertex that can be bound once for each edge of level m instead; None where there is none.
    group : levels of edges that it may have to differ from."""
    edge = nest.levels[m]
    if not isinstance(edge, EdgeLevel) or edge.target < 0 or edge.source == edge.target:
        return None
    if not group.issuperset(edge.differs) or edge.above or edge.allowed:
        return None
    if edge.checks or edge.windows:
        return None
    if any(m in level.reads() for j, level in enumerate(nest.levels) if j not in group):
        return None
    b, k = sorted((edge.source, edge.target))
    level = nest.levels[k]
    if not isinstance(level, VertexLevel) or level.each or level.base.kind is not Kind.ROW:
        return None
    if level.sources or level.anti or level.differs or level.base.b != b:
        return None
    if level.cut.below or level.cut.above or _is_compared(nest, k):
        return None
    view = level.base.a
    same = edge.view == view if edge.source == b else bool(back) and back[view] == edge.view
    return k if same else None


def _is_compared(nest: LoopNest, k: int) -> bool:
    """Whether a later vertex must differ from the one of level k, or be below or above it: formulas take each once."""
    others = (one for one in nest.levels if isinstance(one, VertexLevel))
    return any(k in (*one.differs, *one.cut.below, *one.cut.above) for one in others)
