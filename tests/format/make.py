"""Write the golden stores: python tests/format/make.py NAME FOLDER

The graph is that of NAME.json. With PYTHONPATH naming the tree of another commit, that commit's code writes it: this
uses only what has been there since format 1.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

import gdb
from gdb.storage.columns.model import Column, EdgeTable, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.write.store import Store
from tests.support.graph_tables import GraphTables, write_graph

HERE = Path(__file__).resolve().parent
PACKED_SEGMENT_EDGES = 3200
SEGMENT_EDGES = 280  # the row of 300 goes over two segments, and one piece of it is long

Properties: TypeAlias = "dict[str, object]"
NodeRow: TypeAlias = "tuple[str, int | str, list[str], Properties]"  # id space, id, labels
# type, directed, ids of the ends, properties, how many there are of it; an id is in one id space only
EdgeRow: TypeAlias = "tuple[str, bool, int | str, int | str, Properties, int]"


def graph_of(name: str) -> tuple[list[NodeRow], list[EdgeRow]]:
    """The graph in NAME.json."""
    found = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return found["nodes"], found["relationships"]


def tables_of(nodes: list[NodeRow], edges: list[EdgeRow]) -> GraphTables:
    """The graph as tables: of numbers, booleans and texts, which is what format 1 has."""
    groups: dict[tuple[str, tuple[str, ...]], list[NodeRow]] = defaultdict(list)
    for node in nodes:
        groups[node[0], tuple(node[2])].append(node)
    vertices = []
    rows: dict[int | str, int] = {}
    for (space, labels), mine in groups.items():
        ids: list[int | str] = [node[1] for node in mine]
        rows |= {one: len(rows) + n for n, one in enumerate(ids)}
        own = np.array(ids, np.int64) if isinstance(ids[0], int) else list(map(str, ids))
        vertices.append(VertexTable(labels, space, own, _columns(node[3] for node in mine)))
    kinds: dict[tuple[str, bool], list[EdgeRow]] = defaultdict(list)
    for edge in edges:
        kinds[edge[0], edge[1]] += [edge] * edge[5]
    types = []
    for (name, directed), many in kinds.items():
        sources, targets = (
            np.array([rows[e] for e in some])
            for some in zip(*((x[2], x[3]) for x in many), strict=True)
        )
        types.append(EdgeTable(name, directed, sources, targets, _columns(e[4] for e in many)))
    return GraphTables(tuple(vertices), tuple(types))


def _columns(rows: Iterable[Properties]) -> dict[str, Column]:
    found = list(rows)
    keys = sorted({key for row in found for key in row})
    return {key: column_of(cast(Any, [row.get(key) for row in found])) for key in keys}


def typed(folder: Path) -> None:
    """All of format 1."""
    store = Store.open(folder, create=True)
    write_graph(store, tables_of(*graph_of("format-1-typed")), segment_edges=SEGMENT_EDGES)
    store.close()


def packed_graph() -> GraphTables:
    """The graph of format-4-packed.json: of every kind of section so much that packing it is worth while."""
    return tables_of(*graph_of("format-4-packed"))


def packed(folder: Path) -> None:
    """A base whose sections are packed."""
    store = Store.open(folder, create=True)
    write_graph(store, packed_graph(), segment_edges=PACKED_SEGMENT_EDGES, packed=True)
    store.close()


def loaded(folder: Path) -> None:
    """An edge list and CSV files, by the public face."""
    (edges := folder.with_name("links.txt")).write_text("# a comment\n7\t9\n9 11\n11 7\n7 7\n7 9\n")
    (nodes := folder.with_name("towns.csv")).write_text(
        "town:ID,:LABEL,name,size:int\n1,Town,Ålesund,\n2,Town;Capital,Oslo,700\n3,Town,,12\n"
    )
    (roads := folder.with_name("roads.csv")).write_text(
        ":START_ID,:END_ID,:TYPE,km:float\n1,2,ROAD,540.5\n2,3,ROAD,\n2,2,RING,1.25\n"
    )
    with gdb.connect(folder) as db:
        db.load(edges, type="LINK", label="Page", directed=False, id_space="pages")
        db.load(nodes=nodes, edges=roads, id_space="towns")


def empty(folder: Path) -> None:
    """A store into which nothing was written."""
    gdb.connect(folder).close()


def delta(folder: Path) -> None:
    """A base with times and lists, and of everything that a transaction may change something."""
    from datetime import date, datetime, timedelta  # what format 1 has not, its code cannot hold

    with gdb.connect(folder) as db:
        with db.transaction() as tx:
            born = [date(1815, 12, 10), None, date(1912, 6, 23), date(1906, 12, 9)]
            people: dict[str, Sequence[object]] = {
                "born": born,
                "names": [["Ada", "Augusta"], None, ["Alan"], []],
            }
            tx.add_nodes(["Person"], ["ada", "bob", "alan", "grace"], people)
            tx.add_nodes(["Place"], [1, 2], {"size": [10, 20]}, id_space="places")
            starts = ["ada", "ada", "bob", "alan", "alan"]
            ends = ["bob", "bob", "alan", "alan", "grace"]
            since = {"since": [1833, 1834, None, 1936, 1940]}
            tx.add_relationships("KNOWS", starts, ends, since)
            tx.add_relationships("NEAR", ["ada", "bob"], ["alan", "bob"], directed=False)
        db.compact()
        with db.transaction() as tx:
            tx.add_nodes(["Person"], ["zoë", "gone"], {"born": [date(2000, 2, 29), None]})
            tx.add_nodes(["Machine", "Thing"], ["engine"], {"made": [datetime(1837, 1, 2, 3, 4)]})
            tx.set_nodes(["bob"], {"born": [date(1, 1, 1)], "names": [["Bob"]]})
            tx.set_nodes([2], {"size": [2.5]}, id_space="places")
            tx.set_labels(["alan"], add="Admin")
            tx.remove_nodes(["grace"], detach=True)
            tx.add_relationships("KNOWS", ["zoë", "ada"], ["ada", "bob"], {"since": [2020, 1835]})
            tx.set_relationships("KNOWS", ["bob"], ["alan"], {"note": ["é"]})
            tx.add_relationships(
                "NEAR", ["zoë", "bob"], ["bob", "zoë"], {"for": [timedelta(1)] * 2}
            )
            tx.remove_relationships("NEAR", ["bob"], ["bob"])
            tx.add_relationships(
                "LIVES", ["engine", "zoë"], [1, 1], {"floor": [True, None]}, id_space=("", "places")
            )
        with db.transaction() as tx:
            tx.remove_nodes(["gone"])


def free(folder: Path) -> None:
    """Values of any type, in the base and in the delta, where some are over typed ones of the base."""
    with gdb.connect(folder) as db:
        db.execute(
            "CREATE (a:A {id: 'a', x: 1, y: 1}), (b:A {id: 'b', x: 'é', y: 2}), (c:A {id: 'c', x: [1, 'a']}),"
            " (a)-[:R {w: 1}]->(b), (a)-[:R {w: 2}]->(b), (b)-[:S {v: 0.5}]->(c)"
        )
        db.execute("MATCH (c:A {id: 'c'}) SET c.y = 3")
        db.compact()
        db.execute("MATCH (b:A {id: 'b'}) SET b.y = 2.0, b.z = time('10:35:00.5-08:00')")
        db.execute("MATCH (c:A {id: 'c'}) SET c.y = -0.0, c.z = duration('P1M2DT3.000000004S')")
        db.execute("MATCH ()-[r:R {w: 2}]->() SET r.w = [true, date('2020-02-29'), '']")
        db.execute(
            "MATCH (c:A {id: 'c'}) CREATE (c)-[:S {v: datetime('2020-07-01T00:00:00.000000001[Europe/Stockholm]')}]->"
            "(:A {id: 'd', y: localdatetime('9999-12-31T23:59:59.999999'), z: date('-0044-03-15')})"
        )


def journal(folder: Path) -> None:
    """The graph of `free`, and then, of everything that a transaction may change, something in records."""
    free(folder)
    with gdb.connect(folder) as db:
        for text in (
            "MATCH (a:A {id: 'a'}) SET a.x = 2",
            "MATCH (a:A {id: 'a'}) SET a.x = 1",
            "MATCH (d:A {id: 'd'}) CREATE (d)-[:T {v: [1, 2]}]->(:B {id: 'e', x: 'ö'})",
            "MATCH (e:B) SET e.born = date('2020-02-29'), e.x = null",
            "MATCH (a:A {id: 'a'})-[r:R {w: 1}]->() DELETE r",
            "MATCH (e:B {id: 'e'}) CREATE (e)-[:R {w: 3}]->(e), (:B {id: 'f'})",
            "MATCH (e:B) SET e:C",
            "MATCH (f {id: 'f'}) DETACH DELETE f",
        ):
            db.execute(text)


def large(folder: Path) -> None:
    """The same, and every file with the checksum of large ones."""
    from gdb.storage.disk import checksum

    checksum.LARGE = 0
    journal(folder)


STORES = {
    "format-1-typed": typed,
    "format-1-loaded": loaded,
    "format-1-empty": empty,
    "format-2-delta": delta,
    "format-2-delta-inside": delta,
    "format-3-delta-inside": free,
    "format-4-journal-delta-inside": journal,
    "format-4-packed": packed,
    "format-5-journal-delta-inside": large,
}

if __name__ == "__main__":
    STORES[sys.argv[1]](Path(sys.argv[2]))
