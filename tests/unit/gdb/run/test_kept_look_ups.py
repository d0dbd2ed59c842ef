"""A kept look-up with other keys reads the vertices as they are now: changed, removed, added, of other labels."""

from __future__ import annotations

import numpy as np
import pytest

import gdb
from gdb.api.queries import Queries
from gdb.storage.graph import delta, vertex_pieces

LOOK_UP = "MATCH (n:P {id: $i}) RETURN n.name, n.x"
HOPS = "MATCH (a:P {id: $i})-[:R]->(b)-[:R]->(c) RETURN c.name"
COUNT = 400


@pytest.fixture
def db() -> gdb.Database:
    """A ring of R over the nodes, compacted, where each statement below looks up few."""
    db = gdb.connect()
    ids = np.arange(COUNT)
    with db.transaction() as tx:
        tx.add_nodes("P", ids, {"id": ids, "x": ids, "name": [f"né{k}" for k in ids]})
        tx.add_relationships("R", ids, (ids + 1) % COUNT)
    db.compact()
    return db


def found(db: Queries, *keys: object) -> list[list[tuple[object, ...]]]:
    return [db.execute(LOOK_UP, {"i": key}).fetchall() for key in keys]


def test_values_lie_right_beside_removed_vertices(db: gdb.Database) -> None:
    assert found(db, 7, 8) == [[("né7", 7)], [("né8", 8)]]
    for gone in (3, 5, 9, 200):
        db.execute("MATCH (n:P {id: $i}) DETACH DELETE n", {"i": gone})
        assert found(db, 4, gone, 10, 399) == [[("né4", 4)], [], [("né10", 10)], [("né399", 399)]]
    assert db.execute(HOPS, {"i": 10}).fetchall() == [("né12",)]
    assert db.execute(HOPS, {"i": 7}).fetchall() == []
    assert db.execute(HOPS, {"i": 397}).fetchall() == [("né399",)]


def test_values_of_base_and_delta_come_from_their_own_piece(db: gdb.Database) -> None:
    held = db.snapshot()
    db.execute("MATCH (n:P {id: 5}) DETACH DELETE n")
    for key in (1000, 1001, 1002):
        db.execute(
            "CREATE (:P {id: $i, name: $n})-[:R]->(:Q {id: $i})", {"i": key, "n": f"new{key}"}
        )
    db.execute("MATCH (n:P {id: 1001}) DETACH DELETE n")
    db.execute("MATCH (n:P {id: 6}) SET n.name = 'set', n.x = 1.5")
    db.execute("MATCH (n:P {id: 8}) SET n:Z")
    db.execute("MATCH (a:P {id: 7}), (b:P {id: 1002}) CREATE (a)-[:R]->(b), (b)-[:R]->(a)")
    assert found(db, 6, 7, 8, 1000, 1001, 1002) == [
        *([("set", 1.5)], [("né7", 7)], [("né8", 8)]),
        *([("new1000", None)], [], [("new1002", None)]),
    ]
    assert sorted(db.execute(HOPS, {"i": 7}).fetchall(), key=repr) == [
        *(("né7",), ("né9",), (None,)),
    ]
    both = "MATCH (n:P) WHERE n.id IN $some RETURN n.name ORDER BY n.name"
    some = {"some": [1002, 7, 6, 1000]}
    assert db.execute(both, some).fetchall() == [("new1000",), ("new1002",), ("né7",), ("set",)]
    assert found(held, 5, 6, 1000) == [[("né5", 5)], [("né6", 6)], []]
    held.close()


def test_other_kinds_of_keys_and_none_find_what_they_name(db: gdb.Database) -> None:
    assert found(db, 7, 7.0, "7", None, 7.5, COUNT, 8) == [
        *([("né7", 7)], [("né7", 7)], [], [], [], [], [("né8", 8)]),
    ]


def test_a_transaction_sees_its_own_changes(db: gdb.Database) -> None:
    assert found(db, 7) == [[("né7", 7)]]
    with db.transaction() as tx:
        tx.execute("MATCH (n:P {id: $i}) SET n.name = 'mine'", {"i": 7})
        tx.execute("MATCH (n:P {id: $i}) DETACH DELETE n", {"i": 6})
        assert tx.execute(LOOK_UP, {"i": 7}).fetchall() == [("mine", 7)]
        assert tx.execute(LOOK_UP, {"i": 6}).fetchall() == []
        assert found(db, 6, 7) == [[("né6", 6)], [("né7", 7)]]
    assert found(db, 6, 7) == [[], [("mine", 7)]]


def test_removed_vertices_are_not_gone_through(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By statements of one row that write."""
    visible, made = delta.visible, list[int]()

    def noted(ranges: delta.Ranges, dead: np.ndarray) -> delta.Ranges:
        made.append(len(dead))
        return visible(ranges, dead)

    monkeypatch.setattr(vertex_pieces, "visible", noted)
    for gone in range(20, 60, 2):
        db.execute("MATCH (n:P {id: $i}) DETACH DELETE n", {"i": gone})
    db.execute("MATCH (n:P {id: $i}) SET n.name = 'mine'", {"i": 21})
    db.execute("MATCH (a:P {id: 21}), (b:P {id: 61}) MERGE (a)-[:KNOWS]->(b)")
    db.execute("MERGE (n:P {id: 20}) SET n.name = 'new'")
    assert not made
    assert found(db, 20, 21) == [[("new", None)], [("mine", 21)]]
    assert made  # of a query that is planned over all of them
