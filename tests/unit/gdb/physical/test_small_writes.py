"""Statements of one row touch what they write: nothing of the store's size is read, listed or put together."""

from __future__ import annotations

import numpy as np
import pytest

import gdb
from gdb.errors import ChangeRefused, QueryError
from gdb.executor.relational import lookup
from gdb.physical.rows import component_matching
from gdb.physical.rows.object_graph import Graph
from gdb.storage.columns.model import U32 as Vids
from gdb.storage.columns.model import Kind
from gdb.storage.columns.slices import Slice
from gdb.storage.graph import partitions, pcsr
from gdb.storage.graph.partitions import Partitions
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.graph.vertices import Vertices


@pytest.fixture
def db() -> gdb.Database:
    """Base and delta."""
    db = gdb.connect()
    ids = np.arange(50)
    with db.transaction() as tx:
        tx.add_nodes("P", ids, {"id": ids, "x": ids, "name": [f"n{k}" for k in ids]})
        tx.add_relationships("R", ids, (ids * 7 + 1) % 50, {"w": ids})
        tx.add_relationships("U", ids, (ids * 3 + 2) % 50, directed=False)
    db.compact()
    db.execute("CREATE (:P {id: 100})-[:R {w: 1}]->(:Q {id: 1})")
    db.execute("UNWIND range(200, 220) AS k CREATE (:Q {id: k})")
    db.execute("MATCH (n:P {id: 49}) DETACH DELETE n")
    return db


STATEMENTS = [
    ("MERGE (n:P {id: 7}) SET n.x = 1 RETURN n.name", [("n7",)]),
    ("MERGE (n:P {id: 500}) ON CREATE SET n.x = 1 RETURN n.x", [(1,)]),
    ("MATCH (n:P {id: 8}) SET n.x = n.x + 1 RETURN n.x", [(9,)]),
    ("MATCH (a:P {id: 3}), (b:P {id: 4}) MERGE (a)-[r:R]->(b) RETURN r.w", [(None,)]),
    ("MATCH (a:P {id: 3}), (b:P {id: 22}) MERGE (a)-[r:R]->(b) RETURN r.w", [(3,)]),
    ("MATCH (a:P {id: 3}), (b:P {id: 11}) MERGE (b)-[r:U]-(a) RETURN type(r)", [("U",)]),
    ("MATCH (a:P {id: 100})-[r:R]->(b) SET r.w = 2, b.y = 1 RETURN b.id, r.w", [(1, 2)]),
    ("MATCH (a:P {id: 5}) DETACH DELETE a", []),
]


@pytest.mark.parametrize(("text", "expected"), STATEMENTS)
def test_nothing_is_listed(
    db: gdb.Database, text: str, expected: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the whole store is gone through")

    for owner, name in (
        *((Partitions, "adjacency"), (Partitions, "eids"), (Partitions, "column")),
        *(
            (partitions, "splice_part"),
            (pcsr, "keys_of_part"),
            (component_matching, "ComponentRun"),
        ),
        *((Partitions, "part"), (Vertices, "_assembled")),
    ):
        monkeypatch.setattr(owner, name, never)
    assert db.execute(text).fetchall() == expected


def test_what_detach_deletes_is_counted_once_also_where_it_moves(db: gdb.Database) -> None:
    before = db.execute("MATCH ()-[r]->() RETURN count(*)").scalar()
    text = "MATCH (a:P {id: 9})-[r:R]->(b:P) SET b:New, b.x = -1 DETACH DELETE a, b"
    effects = db.execute(text).summary.effects
    assert effects is not None
    after = db.execute("MATCH ()-[r]->() RETURN count(*)").scalar()
    db.check()
    assert int(str(before)) - int(str(after)) > 0
    degree = "MATCH (n) WHERE n.id IN [12, 13] MATCH (n)-[r]-() RETURN count(DISTINCT r)"
    expected = db.execute(degree).scalar()
    text = (
        "MATCH (a:P {id: 12}), (b:P {id: 13}) MATCH (a)-[:R]->(c) "
        "SET c:Moved DETACH DELETE a DETACH DELETE b"
    )
    effects = db.execute(text).summary.effects
    assert effects is not None
    assert effects.relationships_deleted == expected
    assert db.execute("MATCH (n) WHERE n.id IN [12, 13] RETURN count(*)").scalar() == 0
    db.check()


def test_what_is_set_before_properties_are_read_stays(db: gdb.Database) -> None:
    text = (
        "UNWIND [1, 2, 3] AS k MATCH (n:P {id: k}) SET n.x = 10 * k, n.new = k "
        "WITH n ORDER BY n.id REMOVE n.name RETURN n.x, n.new, n.name, n.id, properties(n)"
    )
    rows = db.execute(text).fetchall()
    expected = [(10 * k, k, None, k, {"id": k, "x": 10 * k, "new": k}) for k in (1, 2, 3)]
    assert rows == expected
    found = db.execute("MATCH (n:P) WHERE n.id < 4 RETURN n.id, n.x, n.name ORDER BY n.id")
    assert found.fetchall() == [(0, 0, "n0"), (1, 10, None), (2, 20, None), (3, 30, None)]


ANONYMOUS = [
    "UNWIND [1, 2, 2] AS k MATCH (a:P {id: k}), (b:P {id: k + 20}) CREATE (a)-[:X]->(b)",
    "UNWIND [1, 2, 2] AS k MATCH (a:P {id: k}), (b:P {id: k + 20}) MERGE (a)-[:X]->(b)",
]


@pytest.mark.parametrize(("text", "made"), [*zip(ANONYMOUS, (3, 2), strict=True)])
def test_a_relationship_without_a_name_is_no_object(
    db: gdb.Database, text: str, made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("an object is made")

    monkeypatch.setattr(Graph, "create_relationship", never)
    monkeypatch.setattr(Graph, "relationships", never)
    effects = db.execute(text).summary.effects
    assert effects is not None
    assert effects.relationships_created == made
    assert db.execute("MATCH (a)-[:X]->(b) RETURN count(*)").scalar() == made
    db.execute("MATCH (a:P {id: 2})-[:X]->(b:P {id: 22}) SET b.seen = true")  # nor one that is read
    assert db.execute("MATCH (b:P {seen: true}) RETURN b.id").fetchall() == [(22,)]


def test_what_was_just_connected_is_detached(db: gdb.Database) -> None:
    before = db.stats().edges
    of_one = db.execute("MATCH (:P {id: 1})-[r]-() RETURN count(*)").scalar()
    assert isinstance(of_one, int)
    text = (
        "MATCH (a:P {id: 1}), (b:P {id: 2}), (c:P {id: 3}) "
        "CREATE (a)-[:X]->(b), (b)-[:X]->(c), (c)-[r:X]->(a) DETACH DELETE a"
    )
    effects = db.execute(text).summary.effects
    assert effects is not None
    assert (effects.relationships_created, effects.relationships_deleted) == (3, 2 + of_one)
    assert db.stats().edges == before - of_one + 1
    assert db.execute("MATCH (a)-[:X]->(b) RETURN a.id, b.id").fetchall() == [(2, 3)]


def test_a_node_that_was_just_connected_cannot_be_deleted(db: gdb.Database) -> None:
    text = "MATCH (a:P {id: 40}), (b:P {id: 2}) CREATE (a)-[:X]->(b) DELETE a"
    with pytest.raises(ChangeRefused, match="has relationships") as refused:
        db.execute(text)
    assert "DETACH" in str(refused.value)
    assert db.execute("MATCH (n:P {id: 40}) RETURN count(*)").scalar() == 1


def test_many_are_detached_at_once(db: gdb.Database) -> None:
    """Also loops, relationships between two of them, and what was added to the base."""
    db.execute(
        "MATCH (a:P {id: 1}), (b:P {id: 2}) CREATE (a)-[:R]->(a), (a)-[:R]->(b), (b)-[:R]->(a)"
    )
    ends = db.execute("MATCH (a:P)-[r]-() WHERE a.id IN [1, 2, 3] RETURN DISTINCT r")
    before, own = db.stats().edges, len(ends)
    effects = db.execute("MATCH (n:P) WHERE n.id IN [1, 2, 3] DETACH DELETE n").summary.effects
    assert effects is not None
    assert (effects.nodes_deleted, effects.relationships_deleted) == (3, own)
    assert db.stats().edges == before - own
    gone = "MATCH (a)-[r]-(b) WHERE a:P AND a.id IN [1, 2, 3] RETURN count(*)"
    assert db.execute(gone).scalar() == 0
    assert db.check()


def test_what_a_commit_leaves_as_it_was_is_taken_over(db: gdb.Database) -> None:
    def groups() -> dict[str, object]:
        return {group.labels[0]: group for group in db._store.snapshot().groups}

    before, edges = groups(), db._store.snapshot().partitions
    db.execute("MATCH (n:P {id: 8}) SET n.x = 1")
    after = groups()
    assert after["Q"] is before["Q"]
    assert after["P"] is not before["P"]
    assert db._store.snapshot().partitions is edges
    db.execute("MATCH (a:P {id: 3}), (b:P {id: 4}) MERGE (a)-[:R]->(b)")
    assert groups() == after


def test_ids_of_nodes_that_were_dropped_with_a_failed_query() -> None:
    """The next node that is added has the vid that one of them had."""
    db = gdb.connect()
    with db.transaction() as tx:
        tx.add_nodes("P", range(5))
    db.compact()
    with db.transaction() as tx:
        tx.add_nodes("P", [10])
        text = "CREATE (n:P) WITH n MATCH (m:P) WHERE id(m) = id(n) RETURN 1 / (id(m) - id(n))"
        with pytest.raises(QueryError):
            tx.execute(text)
        tx.add_nodes("P", [20])
        tx.set_nodes([20], {"x": [1]})
    asked = "MATCH (n) WHERE id(n) = $id RETURN n.x"
    assert db.execute(asked, {"id": 11}).fetchall() == []
    assert db.execute(asked, {"id": 20}).fetchall() == [(1,)]
    for k in range(30, 40):  # each index is made of the one before
        with db.transaction() as tx:
            tx.add_nodes("P", [k])
            tx.remove_nodes([k - 10])
            tx.add_nodes("Q", [k - 10])
        found = db.execute("MATCH (n:Q) RETURN id(n)").fetchall()
        assert sorted(found) == [(j - 10,) for j in range(30, k + 1)]
        with db.transaction() as tx, pytest.raises(ChangeRefused, match="is there already"):
            tx.add_nodes("P", [k])
        if k >= 30 and k < 39:
            with db.transaction() as tx:
                tx.add_nodes("P", [k - 9])


def test_only_what_is_asked_for_is_read(db: gdb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    vertex_property = lookup.vertex_property

    def noted(snapshot: Snapshot, vids: Vids, key: str, kind: Kind | None = None) -> Slice | None:
        read.append(key)
        return vertex_property(snapshot, vids, key, kind)

    monkeypatch.setattr(lookup, "vertex_property", noted)
    text = "UNWIND [8, 9] AS k MATCH (n:P {id: k}) SET n.x = n.x + 1, n.y = n.x RETURN n.x, n.y"
    assert db.execute(text).fetchall() == [(9, 9), (10, 10)]
    assert read == ["x"]
    text = "MATCH (n:P {id: 8}) SET n.x = n.x + 1, n.name = 'n' RETURN n.x, properties(n)"
    expected = {"id": 8, "x": 10, "y": 9, "name": "n"}
    assert db.execute(text).fetchall() == [(10, expected)]


@pytest.mark.parametrize(
    "text", ["SET n = a", "SET n += a", "SET n = properties(a)", "SET n.x = a.i"]
)
def test_a_node_that_was_deleted_gives_no_properties(text: str) -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:A {i: 0})")
        with pytest.raises(gdb.errors.DeletedProblem):
            db.execute(f"MATCH (a:A) DELETE a CREATE (n:N) {text} RETURN properties(n)")
        assert db.execute("MATCH (n) RETURN labels(n)").fetchall() == [(["A"],)]
