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

from gdb.errors import LimitExceeded
from gdb.query_graph import QueryEdge, QueryGraph, QueryVertex
from gdb.records import dataclass, replace
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64, U32, Adjacency, Shape
from gdb.storage.graph.intervals import of_vids

if TYPE_CHECKING:
    from gdb.executor.plan.plan import Plan
    from gdb.planner.resolved_graph import Group, PlannerSource
    from gdb.storage.graph.degree_order import NamedType

_ROW = " row"  # no label and no type that a user can write begins with a blank
_MOST_VIDS = 1 << 32


@dataclass(frozen=True, slots=True)
class _Rows:
    """The vertices that are rows."""

    labels: tuple[str, ...]
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Column:
    """The type of the edges from rows to the vertices in one of their columns."""

    name: str
    directed: bool = True


class RowGraph:
    """A graph and rows.

    base : the graph. columns : vids, u32[rows] each. first : the vid of row 0; those of the others follow.
    """

    def __init__(self, base: PlannerSource, columns: Sequence[U32]) -> None:
        rows = len(columns[0])
        self.base, self.first = base, base.vertex_count
        self.vertex_count, self.edge_count = self.first + rows, base.edge_count
        if self.vertex_count >= _MOST_VIDS:
            raise LimitExceeded(
                f"{rows:,} rows are too many to start from beside {self.first:,} nodes.",
                "Reduce the rows before this pattern.",
            )
        names = [_column(k) for k in range(len(columns))]
        self.groups: tuple[Group, ...]
        self.groups = (*base.groups, _Rows((_ROW,), ((self.first, self.vertex_count),)))
        self.edge_types: tuple[NamedType, ...]
        self.edge_types = (*base.edge_types, *map(_Column, names))
        self._own: dict[tuple[str, Direction], Adjacency] = {}
        for name, column in zip(names, columns, strict=True):
            self._own[name, Direction.OUT] = _to_columns(name, column, self.first)
            self._own[name, Direction.IN] = _to_rows(name, column, self.first)

    def adjacency(self, types: tuple[str, ...], direction: Direction) -> Adjacency:
        """As `GraphSource`; all types are those of the base."""
        own = self._own.get((types[0], direction)) if types else None
        return self.base.adjacency(types, direction) if own is None else own

    def shape(self, types: tuple[str, ...], direction: Direction) -> Shape:
        """As `PlannerSource`."""
        own = self._own.get((types[0], direction)) if types else None
        return self.base.shape(types, direction) if own is None else own.shape

    def eids(self, types: tuple[str, ...], direction: Direction) -> I64:
        """As `GraphSource`."""
        return self.base.eids(types, direction)


def from_rows(graph: QueryGraph, bound: Sequence[int], rows: RowGraph) -> QueryGraph:
    """The query graph with one vertex more, the last, that represents the rows. bound : the query vertices that the
    columns bind, in their order."""
    last = len(graph.vertices)
    reached = {vertex for edge in graph.edges for vertex in (edge.source, edge.target)} | {*bound}
    vertices = tuple(
        vertex if k in reached else _no_row(vertex, rows) for k, vertex in enumerate(graph.vertices)
    )
    ends = tuple(
        QueryEdge(last, vertex, (_column(k),), Direction.OUT, exists=True)
        for k, vertex in enumerate(bound)
    )
    row_vertex = QueryVertex(_ROW, ((_ROW,),))
    return replace(graph, vertices=(*vertices, row_vertex), edges=(*graph.edges, *ends))


def _no_row(vertex: QueryVertex, rows: RowGraph) -> QueryVertex:
    """A query vertex without edges, held to the vertices of the graph."""
    if vertex.labels or vertex.allowed is not None:
        return vertex
    return replace(vertex, allowed=np.arange(rows.first, dtype=np.uint32), predicate=_ROW)


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


def _to_columns(name: str, column: U32, first: int) -> Adjacency:
    """One neighbour for each row."""
    rows = len(column)
    one = np.array([first] if rows else [], np.uint32)
    return Adjacency(
        *((name,), Direction.OUT, one, np.array([rows] if rows else [], np.uint32)),
        np.zeros(len(one), np.uint32),
        np.arange(rows + 1, dtype=np.int64),
        np.ascontiguousarray(column, np.uint32),
        *(True, False, min(rows, 1)),
    )


def _to_rows(name: str, column: U32, first: int) -> Adjacency:
    """The rows in which each data vertex occurs."""
    vids, lengths = np.unique(column, return_counts=True)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    order = np.argsort(column, kind="stable").astype(np.uint32)
    return Adjacency(
        *((name,), Direction.IN, *of_vids(vids.astype(np.uint32)).arrays, offsets),
        *(order + np.uint32(first), True, False, int(lengths.max(initial=0))),
    )
