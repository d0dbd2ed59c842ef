"""Vertices that are bound once for each edge of a row: parallel edges repeat a neighbour there, so that the edge itself
needs no level where nothing depends on which it is."""

from __future__ import annotations

from gdb.records import replace

from .level_order import reorder_nest
from .nest import EdgeLevel, Kind, LoopNest, VertexLevel


def each_edge(nest: LoopNest, back: tuple[int, ...]) -> LoopNest:
    """Count without the levels of edges that only multiply what their ends are bound to.

    back : for each view the view of the same edges from their other ends, -1 where there is none.

    before: for a: for b in distinct N(a): for e in edges(a, b): n += 1     after: for a: for b in N(a): n += 1
    """
    if not nest.counting or nest.parts:
        return nest
    m = len(nest.levels) - 1
    while m >= 0:
        k = _bound_with(nest, m, back)
        if k is not None:
            others = [j for j in range(len(nest.levels)) if j != m]
            moved = reorder_nest(nest, [*others, m]).levels[:-1]
            levels = tuple(
                replace(one, each=True) if j == k and isinstance(one, VertexLevel) else one
                for j, one in enumerate(moved)
            )
            nest = replace(nest, levels=levels)
        m -= 1
    return nest


def _bound_with(nest: LoopNest, m: int, back: tuple[int, ...]) -> int | None:
    """The level of the vertex that can be bound once for each edge of level m instead; None where there is none."""
    edge = nest.levels[m]
    if not isinstance(edge, EdgeLevel) or edge.target < 0 or edge.source == edge.target:
        return None
    if edge.differs or edge.above or edge.allowed or edge.checks or edge.windows:
        return None
    if any(m in level.reads() for level in nest.levels):
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
