"""A snapshot as tables: the inverse of `gdb.storage.write.build`, so that adding to a store is: read, append, write."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..columns.model import U32, Column, EdgeTable, VertexTable
from ..graph.snapshot import Snapshot
from .edge_runs import PIECE
from .edge_spool import HIGH, LOW


def read_vertices(snapshot: Snapshot) -> tuple[tuple[VertexTable, ...], U32]:
    """One vertex table for each group, and the row of each vid in all of them, u32[vertices]."""
    row_of_vid = np.zeros(snapshot.vertex_count, np.uint32)
    vertices: list[VertexTable] = []
    first = 0
    for number, group in enumerate(snapshot.groups):
        row_of_vid[snapshot.group_vids(number)] = np.arange(first, first + group.count)
        first += group.count
        columns = {
            key: column
            for key in group.keys
            if (column := snapshot.vertex_column(number, key)) is not None
        }
        vertices.append(VertexTable(group.labels, group.id_space, snapshot.ids_of(number), columns))
    return tuple(vertices), row_of_vid


def read_edges(snapshot: Snapshot, row_of_vid: U32) -> Iterator[EdgeTable]:
    """The edges of one type after the other, in the order of their ids, about `PIECE` in a table; a type without edges
    has one table."""
    for edge_type in snapshot.edge_types:
        named = edge_type.name, edge_type.directed
        for piece in snapshot.edge_pieces(edge_type.name, PIECE):
            ends = (piece.keys >> HIGH).view(np.int64), (piece.keys & LOW).view(np.int64)
            yield EdgeTable(*named, row_of_vid[ends[0]], row_of_vid[ends[1]], piece.columns)
        if not edge_type.edge_count:
            none = {key: Column.nulls(kind, 0) for key, kind in edge_type.keys.items()}
            yield EdgeTable(*named, row_of_vid[:0], row_of_vid[:0], none)


def repeats_of(snapshot: Snapshot) -> dict[str, int]:
    """The edges of each type that join the same two vertices as another one, not counting the first."""
    found = dict[str, int]()
    for edge_type in snapshot.edge_types:
        count, last = 0, -1
        for piece in snapshot.edge_pieces(edge_type.name, PIECE):
            count += int(np.count_nonzero(piece.keys[1:] == piece.keys[:-1]))
            if len(piece.keys):
                count += int(piece.keys[0]) == last
                last = int(piece.keys[-1])
        found[edge_type.name] = count
    return found
