"""Which ids nodes get that a query creates (docs/LANGUAGE.md, *CREATE*), whatever ids the store has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gdb
from gdb import Node, Relationship
from gdb.errors import ArithmeticProblem

LAST = (1 << 63) - 1


def created(db: gdb.Database, label: str = "Made") -> list[tuple[str, object]]:
    """Id space and id of nodes, ascending."""
    rows = db.execute(f"MATCH (n:{label}) RETURN n").fetchall()
    nodes = [node for (node,) in rows if isinstance(node, Node)]
    return sorted((node.id_space, node.id) for node in nodes)


@pytest.fixture
def strings(tmp_path: Path) -> gdb.Database:
    """A store whose nameless id space has string ids."""
    db = gdb.connect(tmp_path / "s.gdb")
    with db.transaction() as tx:
        tx.add_nodes("P", ["a", "b"])
        tx.add_relationships("R", ["a"], ["b"])
    return db


def test_statement_after_statement(strings: gdb.Database, tmp_path: Path) -> None:
    db = strings
    for k in range(2):
        found = db.execute("CREATE (n:Made) RETURN id(n), elementId(n)").fetchall()
        assert found == [(2 * k, f"_created:{2 * k}")]
        assert db.execute("MERGE (n:Made {k: $k}) RETURN id(n)", {"k": k}).scalar() == 2 * k + 1
    db.close()
    with gdb.connect(tmp_path / "s.gdb") as db:
        db.execute("MATCH (a:P) MERGE (a)-[:IN]->(:Made {of: id(a)})")
        db.compact()
        db.execute("UNWIND [1, 2] AS k CREATE (:Made {k: k})")
        assert created(db) == [("_created", k) for k in range(8)]
        assert db.execute("MATCH (n) WHERE id(n) = 6 RETURN n.k").scalar() == 1
        assert db.execute("MATCH (n) WHERE elementId(n) = '_created:6' RETURN n.k").scalar() == 1
        db.check()


def test_relationships_between_both_id_spaces(strings: gdb.Database) -> None:
    db = strings
    db.execute("MATCH (a:P {}) WHERE id(a) = 'a' CREATE (a)-[:R]->(n:Made)-[:R]->(:Made)-[:R]->(a)")
    with db.transaction() as tx:
        tx.add_relationships("R", [1, 0], ["b", "b"], id_space=("_created", ""))
    found = db.execute("MATCH (x:P)-[:R]->()-[:R]->(y:P) RETURN id(x), id(y)").fetchall()
    assert sorted(found) == [("a", "b")]
    ends = db.execute("MATCH ()-[r:R]->() RETURN r").fetchall()
    assert sorted(repr((r.start, r.end)) for (r,) in ends if isinstance(r, Relationship)) == [
        "('a', 'b')",
        "('a', 0)",
        "(0, 'b')",
        "(0, 1)",
        "(1, 'a')",
        "(1, 'b')",
    ]


def test_statements_of_a_transaction_between_nodes_with_ids_of_their_own() -> None:
    db = gdb.connect()
    with db.transaction() as tx:
        tx.execute("CREATE (:Made), (:Made)")
        tx.add_nodes("Made", [7, -3])
        tx.execute("CREATE (:Made)")
        tx.add_nodes("Other", [100], id_space="other")
        tx.execute("UNWIND [1, 2] AS k CREATE (:Made)")
        tx.remove_nodes([10])
        tx.execute("CREATE (:Made)")
        with pytest.raises(ArithmeticProblem):
            tx.execute("CREATE (:Made {k: 1 / 0})")
        tx.execute("CREATE (:Made) WITH 1 AS one MATCH (n:Other) CREATE (:Made)")
    assert created(db) == [("", k) for k in (-3, 0, 1, 7, 8, 9, 10, 11, 12)]
    with db.transaction() as tx:
        tx.execute("CREATE (:Made)")
        tx.rollback()
    assert db.execute("CREATE (n) RETURN id(n)").scalar() == 13


def test_an_id_that_a_removed_node_had_is_free(tmp_path: Path) -> None:
    with gdb.connect(tmp_path / "s.gdb") as db:
        with db.transaction() as tx:
            tx.add_nodes("P", np.arange(5_000))
        db.compact()
        with db.transaction() as tx:
            tx.remove_nodes(np.arange(2_000, 5_000))
        assert db.execute("CREATE (n:Made) RETURN id(n)").scalar() == 2_000
        assert db.execute("MATCH (n:P) WHERE id(n) = 1999 DELETE n CREATE (:Made)").columns == []
        assert created(db) == [("", 2_000), ("", 2_001)]
        db.execute("MATCH (n) DELETE n")
        assert db.execute("CREATE (n:Made) RETURN id(n)").scalar() == 0


@pytest.mark.parametrize("compacted", [False, True])
def test_beside_the_largest_id_there_can_be(tmp_path: Path, compacted: bool) -> None:
    with gdb.connect(tmp_path / "s.gdb") as db:
        with db.transaction() as tx:
            tx.add_nodes("P", [LAST, 0, 2, -1])
        if compacted:
            db.compact()
        db.execute("UNWIND [1, 2] AS k CREATE (:Made)")
        db.execute("MERGE (:Made {k: 1})")
        assert created(db) == [("", 1), ("", 3), ("", 4)]
        db.execute("MATCH (n) WHERE id(n) IN [0, 3] DELETE n")
        db.execute("UNWIND [0, 3, 5] AS k CREATE (:Again {k: k})")
        assert created(db, "Again") == [("", 0), ("", 3), ("", 5)]
        db.execute("MATCH (n:P) WHERE id(n) = $last DELETE n", {"last": LAST})
        assert db.execute("CREATE (n) RETURN id(n)").scalar() == 6
        db.check()


def test_a_name_that_is_taken_by_strings() -> None:
    db = gdb.connect()
    with db.transaction() as tx:
        tx.add_nodes("P", ["a"])
        tx.add_nodes("P", ["b"], id_space="_created")
    for k in range(2):
        db.execute("CREATE (:Made)")
        assert created(db)[-1] == ("_created2", k)


def test_a_property_called_id_is_none() -> None:
    db = gdb.connect()
    db.execute("CREATE (:Made {id: 77})")
    assert db.execute("MATCH (n:Made {id: 77}) RETURN id(n), n.id").fetchall() == [(0, 77)]
    assert db.execute("MATCH (n:Made {id: 0}) RETURN n").fetchall() == []


def test_export_and_import(strings: gdb.Database, tmp_path: Path) -> None:
    strings.execute("MATCH (a:P) CREATE (a)-[:R]->(:Made {of: id(a)})")
    strings.execute("CREATE (:Made)")
    strings.export(tmp_path / "out")
    with gdb.connect() as db:
        db.load(tmp_path / "out")
        assert created(db) == [("_created", 0), ("_created", 1), ("_created", 2)]
        asked = "MATCH (a:P)-[:R]->(b:Made) RETURN id(a), b.of, id(b)"
        assert sorted(db.execute(asked).fetchall()) == sorted(strings.execute(asked).fetchall())
        assert db.execute("CREATE (n) RETURN id(n)").scalar() == 3


def test_imports_after_it(strings: gdb.Database, tmp_path: Path) -> None:
    db, file = strings, tmp_path / "more.csv"
    db.execute("CREATE (:Made)")
    file.write_text("id:ID,x:int\nc,1\nd,2\n")
    db.load(nodes={"P": file})
    assert db.execute("CREATE (n:Made) RETURN id(n)").scalar() == 1
    file.write_text("id:ID(_created),x:int\n40,1\n")
    db.load(nodes={"Made": file})
    assert db.execute("CREATE (n:Made) RETURN id(n)").scalar() == 41
    assert created(db) == [("_created", k) for k in (0, 1, 40, 41)]
    assert created(db, "P") == [("", text) for text in "abcd"]


@pytest.mark.parametrize("label", [":P", ":Made", ""])
def test_element_ids_are_strings_that_name_the_id_space(label: str) -> None:
    db = gdb.connect()
    with db.transaction() as tx:
        tx.add_nodes("P", [0, 1])
        tx.add_nodes("Made", [0, 1], id_space="it's")
        tx.add_relationships("R", [0], [1])
    wanted = {f"{space}{k}": k for space in ("", "it's:") for k in (0, 1)}
    if label:
        wanted = {one: k for one, k in wanted.items() if (":" in one) == (label == ":Made")}
    for middle in ("", "WITH n", "WITH collect(n) AS several UNWIND several AS n WITH n"):
        text = f"MATCH (n{label}) {middle}"
        assert dict(db.execute(f"{text} RETURN elementId(n), id(n)").fetchall()) == wanted
        for one, k in wanted.items():
            asked = db.execute(f"{text} WHERE elementId(n) = $one RETURN id(n)", {"one": one})
            assert asked.fetchall() == [(k,)]
    assert db.execute("MATCH (n:P)-[r]->() RETURN elementId(r)").scalar() == "0"
    assert db.execute("OPTIONAL MATCH (n:Made)-->() RETURN elementId(n)").scalar() is None
