"""A graph with further vertices, behind its own, and edges of further types between these and its own.

What holds of vertices beside the graph, rows that are given (`gdb.physical.row_graph`) or values that some share
(`gdb.planner.equal_values`), is part of a query graph over it like any other edge: planner and executors need not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.errors import LimitExceeded
from gdb.query_graph import QueryVertex
from gdb.records import dataclass, replace
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64, U32, Adjacency, Shape
from gdb.storage.graph.intervals import of_vids

if TYPE_CHECKING:
    from gdb.planner.resolved_graph import Group, PlannerSource
    from gdb.storage.graph.degree_order import NamedType

_MOST_VIDS = 1 << 32


@dataclass(frozen=True, slots=True)
class Further:
    """The further vertices of one label, which no user can write: it begins with a blank, as do their types."""

    labels: tuple[str, ...]
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class FurtherType:
    """A type of edges between further vertices and others."""

    name: str
    directed: bool = True


class ExtendedGraph:
    """A graph and more.

    base : the graph. further : vertices behind those of the graph, in the order of their vids. own : the adjacencies of
        the further types, in both directions.

    Raises
    ------
    LimitExceeded : a vid would not fit 32 bits.
    """

    def __init__(
        self,
        base: PlannerSource,
        further: Sequence[Further],
        own: Mapping[tuple[str, Direction], Adjacency],
    ) -> None:
        self.base, self.first, self.further = base, base.vertex_count, len(further)
        end = max((end for one in further for _, end in one.ranges), default=self.first)
        if end >= _MOST_VIDS:
            raise LimitExceeded(
                f"{end - self.first:,} rows or values are too many to match beside {self.first:,} nodes.",
                "Reduce the rows before this pattern.",
            )
        self.vertex_count, self.edge_count = end, base.edge_count
        self.groups: tuple[Group, ...] = (*base.groups, *further)
        names = dict.fromkeys(name for name, _ in own)
        self.edge_types: tuple[NamedType, ...]
        self.edge_types = (*base.edge_types, *map(FurtherType, names))
        self._own = own

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

    def only_base(self, vertex: QueryVertex) -> QueryVertex:
        """A query vertex without edges, held to the vertices of the graph."""
        if vertex.labels or vertex.allowed is not None:
            return vertex
        allowed = np.arange(self.first, dtype=np.uint32)
        return replace(vertex, allowed=allowed, predicate=" graph")


def one_each(name: str, vids: U32, neighbours: U32) -> Adjacency:
    """One neighbour for each of some vids, ascending; u32[n] both."""
    return Adjacency(
        *((name,), Direction.OUT, *of_vids(vids).arrays, np.arange(len(vids) + 1, dtype=np.int64)),
        *(np.ascontiguousarray(neighbours, np.uint32), True, False, min(len(vids), 1)),
    )


def those_of(name: str, vids: U32, neighbours: U32, places: I64) -> Adjacency:
    """The neighbours of each of some vids, ascending, which all have some: of the k-th those whose place is k, in their
    order. neighbours, places : u32[n], i64[n]."""
    lengths = np.bincount(places, minlength=len(vids))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    order = np.argsort(places, kind="stable")
    return Adjacency(
        *((name,), Direction.IN, *of_vids(vids).arrays, offsets),
        *(np.ascontiguousarray(neighbours[order], np.uint32), True, False),
        int(lengths.max(initial=0)),
    )
