"""Patterns that are an edge and vertices next to both its ends, such as diamonds: counted by the supports of edges.

The support of an edge is the number of triangles that it is in (Cohen's trusses are defined by it). Each triangle of
the graph is found once, from its last vertex, and adds one to the supports of its three edges; the pattern is then a
sum over edges of a formula of their supports. To intersect the rows of both ends of every edge instead reads whole rows
where triangles need their lower sides, and finds each triangle three times.
"""

from __future__ import annotations

import numpy as np

from gdb.records import dataclass, field, replace
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import U32

from .demands import NO_LEVELS, Demand, chain
from .encoding import encode
from .nest import Formula, Kind, LoopNest, Node, Operand, Order, Slice, VertexLevel
from .prepare import Prepared

ROOT = frozenset({0})  # levels
ENDS = frozenset({0, 1})


@dataclass(slots=True, eq=False)
class ByEdge:
    """A counting stage as a sum over edges.

    triangles : the stage of the triangles that add to the supports; it has the view, the roots and the seconds of the
        other in common. size, formula : how many alike vertices are next to both ends of an edge, and how
        they are counted. times : how often the pattern binds each edge. found : how many triangles there are, where
        they were counted and had no room. quickest : by the share of the work units, seconds of the quickest run on a
        GPU; infinite where it is not to be counted so.
    """

    triangles: Prepared
    size: int
    formula: Formula
    times: int
    found: int = 0
    quickest: dict[object, float] = field(default_factory=dict)


def by_edge(prepared: Prepared) -> ByEdge | None:
    """A stage as a sum over edges; None where it is none. Kept with the stage."""
    if not prepared.by_edge:
        prepared.by_edge.append(_found(prepared))
    return prepared.by_edge[0]


def _found(prepared: Prepared) -> ByEdge | None:
    nest, plan = prepared.nest, prepared.plan
    found = chain(nest)
    if found is None or nest.parts or "supports" in plan.notes.switched_off:
        return None
    bound, third = (*found.loops, *found.path), _together(found.ends)
    if len(bound) != 2 or plan.vertices != len(nest.levels):
        return None
    root, end = nest.levels[0], bound[1]
    if not isinstance(root, VertexLevel) or root.base.kind is not Kind.LIST or root.checks:
        return None
    if end is None or third is None or not _is_edge(end) or not _is_third(third):
        return None
    if {view for view, _ in end.rows | third.rows} != {(view := next(iter(end.rows))[0])}:
        return None
    if (end.lo, end.hi) != (third.lo, third.hi) or not _alike(prepared, view):
        return None
    return ByEdge(
        _triangles(prepared, view, end),
        third.size,
        third.formula,
        1 if end.below | end.above else 2,
    )


def _together(ends: tuple[Demand, ...]) -> Demand | None:
    """Levels that are counted each for itself as alike ones; None where they differ."""
    if len(ends) == 1:
        return ends[0]
    if any(end != ends[0] for end in ends) or (ends[0].size, ends[0].formula) != (1, Formula.POWER):
        return None
    return replace(ends[0], size=len(ends))


def _is_edge(end: Demand) -> bool:
    """Whether a level is bound to the neighbours of the root, on either side of it or on one."""
    sides = end.below | end.above
    plain = not end.anti and end.bits < 0 and end.size == 1 and end.differs <= ROOT
    return (
        plain
        and {level for _, level in end.rows} == ROOT
        and not end.below & end.above
        and sides <= ROOT
    )


def _is_third(third: Demand) -> bool:
    """Whether several alike levels are bound to all that is next to both ends."""
    plain = not third.anti and third.bits < 0 and third.differs <= ENDS
    plain = plain and third.below | third.above == NO_LEVELS and third.formula is not Formula.PAIR
    return plain and third.size > 1 and len(third.rows) == 2 and {k for _, k in third.rows} == ENDS


def _alike(prepared: Prepared, view: int) -> bool:
    """Whether an edge may be bound either way round, and all vertices may be bound to the same: everything in one range
    that has a neighbour."""
    some, adjacency = prepared.plan.candidates[0], prepared.views[view]
    if any(c.allowed is not None or c.ranges != some.ranges for c in prepared.plan.candidates):
        return False
    both = (
        prepared.specs[view].direction is Direction.ANY and adjacency.simple and not adjacency.loops
    )
    if not both or len(some.ranges) != 1:
        return False
    # else it has other candidates than the plan's, or a part of the roots
    begin, end = adjacency.rows_between(*some.ranges[0])
    return len(prepared.roots) == end - begin


def _triangles(prepared: Prepared, view: int, end: Demand) -> Prepared:
    """The stage of triangles: from its last vertex, each once."""
    nest, plan = prepared.nest, prepared.plan
    vertices = [level.vertex for level in nest.levels if isinstance(level, VertexLevel)]
    cut, row = Slice(end.lo, end.hi, below=(0,)), Operand(Kind.ROW, view, 0)
    levels = nest.levels[0], *(VertexLevel(v, row, cut) for v in vertices[1:3])
    tail = (
        Node((2,), parent=1, view=view, back=view, order=Order.BELOW),
        Node((1,)),
    )
    triangles = LoopNest(levels, (), tail, counting=True)
    sizes = tuple(len(prepared.roots) if v == vertices[0] else 0 for v in range(plan.vertices))
    tables = encode(triangles, plan, prepared.views, sizes)
    lists: tuple[U32, ...] = tuple(prepared.roots for _ in tables.lists)
    return replace(
        prepared,
        nest=triangles,
        tables=tables,
        bit_sets=(),
        lists=lists,
        restricted=True,
        values=(),
        bounds=np.zeros((0, 2), np.int64),
        orders=(),
        idle={"cpu": [], "gpu": []},
        units={},
        runs={},
        by_edge=[None],
    )
