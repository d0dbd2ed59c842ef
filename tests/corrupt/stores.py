"""The stores that are damaged, and all queries that run on them.

Small, so that every byte can be tried, and with every feature of the format: several vertex groups and id
spaces, directed and undirected types, parallel edges, loops, a row of more than 255 entries over two
segments, all kinds of columns, with nulls and without. One is a base alone, one a packed base; the others have a delta
as well, in which vertices, edges, labels and properties were added, changed and removed: in the manifest, in its own
file, or after the last of several records of a journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from unittest.mock import patch

import numpy as np

import gdb
from gdb.api.transaction import Transaction
from gdb.storage.columns.model import Column, EdgeTable, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.format import segment_writer
from gdb.storage.format.direction import Direction
from gdb.storage.write import commit
from gdb.storage.write.store import Store
from tests.support.graph_tables import GraphTables, write_graph

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
        "age": column_of(ages),
        "name": column_of([f"name {n}" for n in range(PEOPLE)]),
        "tall": column_of([bool(n % 3) for n in range(PEOPLE)]),
    }
    weights = [None if n % 7 == 0 else n / 4 for n in range(EDGES)]
    edges = {
        "w": column_of(weights),
        "since": Column("int64", rng.integers(1900, 2000, EDGES)),
        "note": column_of([f"n{n % 11}" for n in range(EDGES)]),
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


BASE, INSIDE, BESIDE, JOURNAL, PACKED = STORES = (
    *("a base", "a delta in the manifest", "a delta in a file"),
    *("a journal", "a packed base"),
)


def write(folder: Path, seed: int = 1, *, name: str = BASE) -> None:
    """Write one of `STORES`, each owner of sections into a file of its own."""
    packed, segment_writer.PACK_BYTES = segment_writer.PACK_BYTES, 1
    try:
        store = Store.open(folder, create=True)
        write_graph(store, graph(seed), segment_edges=SEGMENT_EDGES, packed=name == PACKED)
        store.close()
    finally:
        segment_writer.PACK_BYTES = packed
    if name == JOURNAL:
        with gdb.connect(folder) as db:
            for number in range(2):  # from the second on records may follow
                with db.transaction() as tx:
                    tx.set_nodes([13], {"age": [number]})
            with db.transaction() as tx:
                _change(tx, graph(seed))
            for number in range(4):
                with db.transaction() as tx:
                    tx.add_relationships("MET", [106], [100], {"on": [date(2020, 1, number + 2)]})
                    tx.set_nodes([100], {"name": [f"neü {number}"]})
    elif name in (INSIDE, BESIDE):
        most = commit.MOST_INLINE if name == INSIDE else 0
        with (
            patch.object(commit, "MOST_INLINE", most),
            gdb.connect(folder) as db,
            db.transaction() as tx,
        ):
            _change(tx, graph(seed))


def _change(tx: Transaction, base: GraphTables) -> None:
    """Something of all that a delta can hold. Every vertex has an edge then: to remove one more is a contradiction."""
    lone = [f"plässe {n}" for n in range(PLACES - 3, PLACES)]  # without an edge in the base
    words, guests = "words", "guests"
    new: dict[str, Sequence[object]] = {
        "age": [41, None, 43],
        "name": ["neü", "b", None],
        "tall": [True, None, False],
    }
    tx.add_nodes(["Person", "Young"], [100, 103, 106], new)
    own: dict[str, Sequence[object]] = {
        "born": [date(2000, 2, 29), None, date.min, date.max],
        "words": [["a", "é"], None, [], ["x"]],
    }
    tx.add_nodes(["Guest"], ["gast a", "gast b", "gäst c", "gäst d"], own, id_space=guests)
    tx.add_nodes(["Place"], ["neu"], {"size": [1]}, id_space=words)
    tx.set_nodes([13, 16, 31], {"age": [77, None, 3], "nick": ["ab", None, "é"]})
    tx.set_nodes(["plässe 3"], {"size": [9.5]}, id_space=words)
    tx.set_labels([19], add="Old")
    values: dict[str, Sequence[object]] = {
        "w": [0.5, None, 2.0, 1.0],
        "since": [2000, 2001, None, 2003],
        "note": ["a", "é", None, "d"],
    }
    tx.add_relationships("KNOWS", [100, 100, 31, 106], [31, 31, 106, 106], values)
    tx.add_relationships("NEAR", lone, [*lone[1:], "neu"], id_space=words)
    tx.add_relationships("MET", [103, 106, 100], [100, 100, 106], {"on": [date(2020, 1, 1)] * 3})
    ends = ["gast a", "gast b", "gäst c", "gäst d"], ["gast b", "gast a", "gast a", "gast a"]
    tx.add_relationships("WITH", *ends, directed=False, id_space=guests)
    knows, near = base.edges[0], base.edges[1]
    pairs = [(_end(knows, n)[0][0], *_end(knows, n)[1]) for n in (3, 4, 5)]
    for start, end, space in pairs[:2]:
        tx.set_relationships(
            "KNOWS", [start], [end], {"w": [7.5], "met": [True]}, id_space=("", space)
        )
    start, end, space = pairs[2]
    tx.remove_relationships("KNOWS", [start], [end], id_space=("", space))
    for number in (0, 1):
        (one, first), (other, second) = _end(near, number)
        tx.remove_relationships("NEAR", [one], [other], id_space=(first, second))
    tx.remove_nodes([22, 28, 103], detach=True)
    free = (
        "SET n.free = CASE id(n) WHEN 'gast a' THEN [1, 'é', 1.5] WHEN 'gast b' THEN 'ö' ELSE 7 END"
    )
    tx.execute(f"MATCH (n:Guest) WHERE id(n) <> 'gäst c' {free}")
    tx.execute("MATCH (n:Person) WHERE n.age > 70 SET n.free = [duration('P1M'), time('10:35Z')]")
    tx.execute("MATCH ()-[r:KNOWS]->() WHERE r.w = 0.5 SET r.free = [true, r.note]")


def _end(edges: EdgeTable, number: int) -> tuple[tuple[int | str, str], tuple[int | str, str]]:
    """Id and id space of both ends of an edge of the base."""
    rows = int(edges.sources[number]), int(edges.targets[number])
    one, other = (
        (10 + 3 * r, "") if r < PEOPLE else (f"plässe {r - PEOPLE}", "words") for r in rows
    )
    return one, other


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
    # of the delta; the store without one has no answers to these
    "MATCH (n:Guest) RETURN id(n), n.born, n.words",
    "MATCH (n:Old) RETURN n, n.nick",
    "MATCH (a)-[r:MET]->(b) RETURN a, b, r.on",
    "MATCH (a)-[:WITH]-(b) RETURN a, b",
    "MATCH (n) WHERE n.free IS NOT NULL RETURN id(n), n.free",
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
