"""Stores with a journal, for tests."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from gdb.storage.columns.model import EdgeTable, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.format.manifest_head import length_in
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.write.commit import commit
from gdb.storage.write.store import Store
from gdb.storage.write.transaction import Changes
from tests.oracles.dict_graph import Naive
from tests.support.graph_tables import GraphTables, read_tables, write_graph

SECTOR = 512
NAMES = ["a", "b", "c", "d", "e"]


def base(folder: Path | None) -> Store:
    """A store with a small graph."""
    store = Store.open(folder, create=True)
    ends = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4])
    own = {"x": column_of([1, 2, 3, 4, None]), "s": column_of(NAMES)}
    edges = EdgeTable("R", True, *ends, {"w": column_of(["p", "qq", None, "r"])})
    write_graph(store, GraphTables((VertexTable(("V",), "", NAMES, own),), (edges,)))
    return store


def change(store: Store, number: int) -> Snapshot:
    """One of a few kinds of small commits."""
    with store.writer():
        changes = Changes(store.snapshot())
        one, other = changes.find([NAMES[number % 4], NAMES[4]], "").tolist()
        ends = np.array([one], np.uint32), np.array([other], np.uint32)
        match number % 5:
            case 0 | 1:
                changes.add_edges("R", True, *ends, {"w": column_of([f"é{number}"])})
            case 2:
                new = changes.add_vertices(("N",), "", column_of([f"n{number}"]), {})
                changes.add_edges("U", False, new, ends[0], {})
            case 3:
                changes.set_vertices(ends[0], {"x": column_of([number])})
            case 4:
                changes.remove_edges("R", *ends)
        return commit(store, changes)


def content(snapshot: Snapshot) -> tuple[object, object]:
    naive = Naive(read_tables(snapshot))
    return naive.vertices, naive.edge_bag()


def read(folder: Path) -> tuple[int, tuple[object, object]]:
    """Version and content, as a process sees them that opens the store now."""
    store = Store.open(folder, create=False, read_only=True)
    try:
        snapshot = store.snapshot()
        snapshot.check()
        return snapshot.version, content(snapshot)
    finally:
        store.close()


def ended(folder: Path) -> int:
    """Where the last record ends; behind it are zeros."""
    raw = (folder / "MANIFEST").read_bytes()
    at = length_in(raw)
    while any(raw[at : at + SECTOR]):
        at += SECTOR * struct.unpack_from("<I", raw, at + 4)[0]
    return at


def length(folder: Path) -> int:
    """Bytes of the manifest without the records behind it."""
    raw = (folder / "MANIFEST").read_bytes()
    return length_in(raw)
