"""Statements of one row touch what they write: nothing of the store's size is read, listed or put together."""

from __future__ import annotations

import numpy as np
import pytest

import gdb
from gdb.physical.rows import matching
from gdb.storage import partitions, pcsr
from gdb.storage.partitions import Partitions
from gdb.storage.vertices import Vertices


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
        *((partitions, "spliced"), (pcsr, "keys_of_part"), (matching, "matched")),
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
