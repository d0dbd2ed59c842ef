"""The store that is damaged, and everything that it is asked.

Small, so that every byte can be tried, and with every feature of the format: several vertex groups and id
spaces, directed and undirected types, parallel edges, loops, a row of more than 255 entries over two
segments, all kinds of columns, with nulls and without.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gdb
from gdb.storage import segment
from gdb.storage.adjacency import Direction
from gdb.storage.build import write_graph
from gdb.storage.model import Column, EdgeTable, GraphTables, VertexTable
from gdb.storage.store import Store

PEOPLE, PLACES, EDGES, SEGMENT_EDGES = 24, 16, 600, 300


def graph(seed: int) -> GraphTables:
    """Different seeds give stores of the same files, and of nearly the same lengths."""
    rng = np.random.default_rng(seed)
    count = PEOPLE + PLACES
    ends = rng.integers(0, count - 3, (6, EDGES))
    ends[0, :540] = 5  # a row longer than 255, over two segments
    words = [f"plässe {n}" for n in range(PLACES)]
    ages = [None if n % 5 == 0 else int(rng.integers(1, 90)) for n in range(PEOPLE)]
    people = {
        "age": Column.from_list(ages),
        "name": Column.from_list([f"name {n}" for n in range(PEOPLE)]),
        "tall": Column.from_list([bool(n % 3) for n in range(PEOPLE)]),
    }
    weights = [None if n % 7 == 0 else n / 4 for n in range(EDGES)]
    edges = {
        "w": Column.from_list(weights),
        "since": Column("int64", rng.integers(1900, 2000, EDGES)),
        "note": Column.from_list([f"n{n % 11}" for n in range(EDGES)]),
    }
    return GraphTables(
        (
            VertexTable(("Person", "Young"), "", np.arange(PEOPLE) * 3 + 10, people),
            VertexTable(
                ("Place",), "words", words, {"size": Column("float64", rng.random(PLACES))}
            ),
        ),
        (
            EdgeTable("KNOWS", True, ends[0], ends[1], edges),
            EdgeTable("NEAR", False, ends[2, :90], ends[3, :90]),
            EdgeTable("LIKES", True, ends[4, :60], ends[5, :60]),
        ),
    )


def write(folder: Path, seed: int = 1, *, times: int = 1) -> None:
    """Write the store, each owner of sections into a file of its own."""
    packed, segment.PACK_BYTES = segment.PACK_BYTES, 1
    try:
        for number in range(times):
            with_store = Store.open(folder, create=True)
            write_graph(with_store, graph(seed + number), segment_edges=SEGMENT_EDGES)
            with_store.close()
    finally:
        segment.PACK_BYTES = packed


QUERIES = (
    "MATCH (n) RETURN count(*)",
    "MATCH (n:Place) RETURN count(*)",
    "MATCH (n:Person) RETURN id(n), n.age, n.name, n.tall",
    "MATCH (n:Place) RETURN id(n), n.size ORDER BY n.size LIMIT 5",
    "MATCH (n:Person) WHERE n.tall AND n.age > 20 RETURN n.name, count(*)",
    "MATCH (n:Person) WHERE id(n) = 31 RETURN n.name",
    "MATCH (n:Place)-[:KNOWS]->(m) WHERE id(n) = 'plässe 3' RETURN m",
    "MATCH ()-[r:KNOWS]->() RETURN count(*)",
    "MATCH (a)-[r:KNOWS]->(b) RETURN a, b, r.w, r.since, r.note",
    "MATCH (a)<-[r:KNOWS]-(b:Place) WHERE r.since > 1950 RETURN a, id(b), r.note",
    "MATCH (a)-[:NEAR]-(b) RETURN a, b",
    "MATCH (a)<-[r:LIKES]-(b) RETURN a, b, id(r)",
    "MATCH (a)-[:NEAR]-(b)-[:NEAR]-(c)-[:NEAR]-(a) RETURN count(*)",
    "MATCH (a)-[:KNOWS]->(b)-[:KNOWS]->(c), (a)-[:KNOWS]->(c) RETURN count(*)",
    "MATCH DIFFERENT NODES (a)--(b)--(c)--(d)--(a) RETURN count(*)",
    "MATCH (a:Person)-[:KNOWS]->(b)<-[:LIKES]-(c:Place) RETURN b.name, count(*)",
    "MATCH REPEATABLE ELEMENTS (a)-->(b)-->(c) RETURN count(*)",
)


def contents(folder: Path) -> list[object]:
    """All that the store holds, read without a query: a hundred times faster than `answers`."""
    store = Store.open(folder, create=False, read_only=True)
    try:
        snapshot = store.snapshot()
        vids = np.arange(snapshot.vertex_count, dtype=np.uint32)
        found: list[object] = [
            snapshot.user_ids(vids),
            snapshot.find(31),
            snapshot.find("plässe 3"),
        ]
        for edge_type in snapshot.edge_types:
            for direction in Direction:
                view = snapshot.adjacency((edge_type.name,), direction)
                found += [view.neighbours.tolist(), view.offsets.tolist(), view.vids().tolist()]
                found.append(snapshot.eids((edge_type.name,), direction).tolist())
            columns = [snapshot.edge_column(edge_type.name, key) for key in edge_type.keys]
            found += [None if column is None else column.to_list() for column in columns]
        for number, group in enumerate(snapshot.groups):
            columns = [snapshot.vertex_column(number, key) for key in group.keys]
            found += [None if column is None else column.to_list() for column in columns]
        return found
    finally:
        store.close()


def rows_of(db: gdb.Database, query: str) -> list[str]:
    """The rows that a query returns, in an order of their own."""
    return sorted(map(repr, db.execute(query).fetchall()))


def answers(db: gdb.Database) -> list[list[str]]:
    """All that the store answers."""
    return [rows_of(db, query) for query in QUERIES]
