"""A graph in which rows that are given are vertices: where matching starts from rows, not from what their columns hold.

Each row is a vertex after those of the graph, joined by one edge to each data vertex that occurs in it. A query vertex
for the rows with an edge to each query vertex that they bind (`from_rows`) then is part of the pattern like any other:
the planner begins with it where that is best, pairs that occur in no row are never made, and a count, or a test for
existence, for each value of the query vertex is one for each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.planner.extended_graph import ExtendedGraph, Further, one_each, those_of
from gdb.query_graph import QueryEdge, QueryGraph, QueryVertex
from gdb.records import replace
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import U32, Adjacency

if TYPE_CHECKING:
    from gdb.executor.plan.plan import Plan
    from gdb.planner.resolved_graph import PlannerSource

_ROW = " row"  # no label and no type that a user can write begins with a blank


class RowGraph(ExtendedGraph):
    """A graph and rows.

    base : the graph. columns : vids, u32[rows] each. first : the vid of row 0; those of the others follow.
    """

    def __init__(self, base: PlannerSource, columns: Sequence[U32]) -> None:
        first, rows = base.vertex_count, len(columns[0])
        own: dict[tuple[str, Direction], Adjacency] = {}
        vids = np.arange(first, first + rows, dtype=np.int64).astype(np.uint32)
        for k, column in enumerate(columns):
            name = _column(k)
            own[name, Direction.OUT] = one_each(name, vids, column)
            some, places = np.unique(column, return_inverse=True)
            own[name, Direction.IN] = those_of(name, some.astype(np.uint32), vids, places)
        super().__init__(base, [Further((_ROW,), ((first, first + rows),))], own)


def from_rows(graph: QueryGraph, bound: Sequence[int], rows: RowGraph) -> QueryGraph:
    """The query graph with one vertex more, the last, that represents the rows. bound : the query vertices that the
    columns bind, in their order."""
    last = len(graph.vertices)
    reached = {vertex for edge in graph.edges for vertex in (edge.source, edge.target)} | {*bound}
    vertices = tuple(
        vertex if k in reached else rows.only_base(vertex)
        for k, vertex in enumerate(graph.vertices)
    )
    ends = tuple(
        QueryEdge(last, vertex, (_column(k),), Direction.OUT, exists=True)
        for k, vertex in enumerate(bound)
    )
    row_vertex = QueryVertex(_ROW, ((_ROW,),))
    return replace(graph, vertices=(*vertices, row_vertex), edges=(*graph.edges, *ends))


def plan_from_rows(
    graph: QueryGraph,
    source: PlannerSource,
    bound: Sequence[int],
    columns: Sequence[U32],
    *,
    few: bool = False,
) -> tuple[Plan, PlannerSource]:
    """The plan that lists the embeddings of a query graph where rows bind some vertices, and the graph that it is
    for: from the rows, where several vertices are bound and their values alone would lead to more embeddings than
    there are rows.

    bound : the query vertices, held to what they may be. columns : what a row binds them to, u32[rows] each.
    few : as `gdb.planner.plan`.
    """
    from gdb.planner import plan  # here: kept statements are not planned again

    made = plan(graph, source, counting=False, few=few)
    if len(columns) < 2 or max(made.notes.estimates) <= len(columns[0]):
        return made, source
    several = [*np.unique(np.stack(columns), axis=1)]
    rows = RowGraph(source, several)
    return plan(from_rows(graph, bound, rows), rows, counting=False, few=few), rows


def _column(k: int) -> str:
    return f"{_ROW} {k}"
