"""What a query returns of elements that it has deleted: their identity, and nothing that was stored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gdb
from gdb.run import columns_or_rows

GONE = gdb.Node(1, (), {}, "")
LOOP = gdb.Relationship(0, "R", 1, 2, {}, True, ("", ""))


@pytest.fixture(params=[None, "rows", "columns"])
def db(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[gdb.Database]:
    monkeypatch.setattr(columns_or_rows, "WAY", request.param)
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("A", [1, 2, 3], {"k": [1, 2, 3]})
            tx.add_relationships("R", [1], [2], {"w": [5]})
        yield db


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MATCH (a:A {k: $k}) DETACH DELETE a RETURN a", GONE),
        ("MATCH (a:A {k: $k}) DETACH DELETE a RETURN DISTINCT a", GONE),
        ("MATCH (a:A {k: $k}) DETACH DELETE a WITH a ORDER BY a RETURN a", GONE),
        ("MATCH (a:A {k: $k}) SET a.k = 9 DETACH DELETE a RETURN a", GONE),
        ("MATCH (a:A {k: $k}) DETACH DELETE a RETURN [a, 1]", [GONE, 1]),
        ("MATCH (a:A {k: $k}) DETACH DELETE a RETURN {a: collect(a)}", {"a": [GONE]}),
        ("UNWIND [$k] AS k MATCH (a:A {k: k}) DETACH DELETE a RETURN a", GONE),
        ("MATCH (:A {k: $k})-[r:R]->() DELETE r RETURN r", LOOP),
        ("MATCH (a:A {k: $k})-[r:R]->() DETACH DELETE a RETURN r", LOOP),
    ],
)
def test_an_element_that_is_returned(db: gdb.Database, text: str, expected: object) -> None:
    found = db.execute(text, {"k": 1}).scalar()
    assert repr(found) == repr(expected)
    assert db.execute(text, {"k": 7}).fetchall() in ([], [({"a": []},)])  # kept statements too


def test_a_path_that_is_returned(db: gdb.Database) -> None:
    path = db.execute("MATCH p = (a)-[:R]->() DETACH DELETE a RETURN p").scalar()
    assert [node.labels for node in path.nodes] == [(), ("A",)]
    assert [dict(node.properties) for node in path.nodes] == [{}, {"k": 2}]
    assert [(one.type, dict(one.properties)) for one in path.relationships] == [("R", {})]


@pytest.mark.parametrize(
    "read", ["a.k", "a['k']", "properties(a)", "keys(a)", "labels(a)", "a {.*}", "a:A", "a {.k}"]
)
def test_what_was_stored_is_not_read(db: gdb.Database, read: str) -> None:
    with pytest.raises(gdb.DeletedProblem, match="the node was deleted by this query"):
        db.execute(f"MATCH (a:A {{k: 1}}) DETACH DELETE a RETURN {read}")


@pytest.mark.parametrize(
    "change",
    [
        *("SET a.k = 1", "SET a['k'] = 1", "SET a.k = null", "SET a = {k: 1}", "SET a += {k: 1}"),
        *("SET a:Q", "SET a:$('Q')", "REMOVE a.k", "REMOVE a['k']", "REMOVE a:A"),
        *(
            "WITH a SET a.k = 1",
            "FOREACH (x IN [a] | SET x.k = 1)",
            "MERGE (z:Z) ON CREATE SET a.k = 1",
        ),
    ],
)
def test_a_deleted_node_is_not_changed(db: gdb.Database, change: str) -> None:
    for _ in range(2):  # a statement that was kept, too
        with pytest.raises(gdb.DeletedProblem, match="the node was deleted by this query, and can"):
            db.execute(f"MATCH (a:A {{k: 1}}) DETACH DELETE a {change}")
    assert db.execute("MATCH (a:A) RETURN count(*)").scalar() == 3


@pytest.mark.parametrize("change", ["SET r.w = 1", "SET r = {w: 1}", "REMOVE r.w"])
@pytest.mark.parametrize("gone", ["r", "a"])
def test_a_deleted_relationship_is_not_changed(db: gdb.Database, change: str, gone: str) -> None:
    with pytest.raises(gdb.DeletedProblem, match="the relationship was deleted by this query"):
        db.execute(f"MATCH (a)-[r:R]->() DETACH DELETE {gone} {change}")
    assert db.execute("MATCH ()-[r:R]->() RETURN r.w").scalar() == 5


def test_what_another_row_deletes_is_not_changed_behind_it(db: gdb.Database) -> None:
    with pytest.raises(gdb.DeletedProblem):
        db.execute(
            "MATCH (a:A) WITH collect(a) AS all UNWIND all AS a DETACH DELETE all[0] SET a.k = 0"
        )
    db.execute("MATCH (a:A) SET a.k = 0 DETACH DELETE a")  # the other way round
    db.execute("OPTIONAL MATCH (a:A) SET a.k = 0 REMOVE a.k")  # null stays null
