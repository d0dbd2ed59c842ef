"""A whole graph as tables, written into a store and read back: what tests and measurements make stores of."""

from __future__ import annotations

import numpy as np

from gdb.records import dataclass
from gdb.storage.columns.model import Column, EdgeTable, VertexTable
from gdb.storage.graph import pcsr
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.write.build import Progress, spool_table, write_spools
from gdb.storage.write.edge_runs import Room
from gdb.storage.write.edge_spool import Spool
from gdb.storage.write.snapshot_tables import read_edges, read_vertices
from gdb.storage.write.store import Store


@dataclass(frozen=True, slots=True, eq=False)
class GraphTables:
    """A whole graph; edge tables of one type must agree on `directed`, and are appended."""

    vertices: tuple[VertexTable, ...] = ()
    edges: tuple[EdgeTable, ...] = ()


def write_graph(
    store: Store,
    tables: GraphTables,
    *,
    progress: Progress | None = None,
    segment_edges: int = pcsr.SEGMENT_EDGES,
    budget: int | None = None,
    packed: bool | None = None,
) -> Snapshot:
    """Replace the content of the store by `tables`, in one commit; see `gdb.storage.write.build.write_spools`.

    budget : see `gdb.storage.write.edge_runs.Room`; for the edges beside the tables.
    """
    spools, room = dict[str, Spool](), Room(store.files, budget)
    for table in tables.edges:
        spool_table(spools, table, room)
    return write_spools(
        *(store, tables.vertices, spools),
        progress=progress,
        segment_edges=segment_edges,
        packed=packed,
        room=room,
    )


def read_tables(snapshot: Snapshot) -> GraphTables:
    """The whole graph as tables: one vertex table for each group, one edge table for each type.

    Undirected edges have their smaller vid as source.
    """
    vertices, rows = read_vertices(snapshot)
    by_type: dict[str, list[EdgeTable]] = {}
    for table in read_edges(snapshot, rows):
        by_type.setdefault(table.type, []).append(table)
    return GraphTables(vertices, tuple(map(_joined, by_type.values())))


def _joined(tables: list[EdgeTable]) -> EdgeTable:
    """Tables of one type and its properties as one."""
    first = tables[0]
    return EdgeTable(
        first.type,
        first.directed,
        np.concatenate([table.sources for table in tables]),
        np.concatenate([table.targets for table in tables]),
        {key: Column.concat([table.columns[key] for table in tables]) for key in first.columns},
    )
