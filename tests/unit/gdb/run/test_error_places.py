"""Errors that depend on values have their place in the text, whichever way the query ran."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gdb
from gdb.errors import (
    ArithmeticProblem,
    ChangeRefused,
    DeletedProblem,
    PlacedError,
    QueryError,
    TypeProblem,
)
from gdb.run import columns_or_rows, pipeline

LARGEST = 2**63 - 1


@pytest.fixture
def db() -> Iterator[gdb.Database]:
    with gdb.connect() as db:
        db.execute(
            f"UNWIND range(1, 9) AS i CREATE (:P {{x: i, big: {LARGEST}}})-[:K {{w: i}}]->(:Q {{y: i, zero: 0}})"
        )
        yield db


def place_of(db: gdb.Database, text: str, **values: int) -> str:
    """The part of the text that the query's error underlines."""
    with pytest.raises(PlacedError) as found:
        db.execute(text, values)
    error = found.value
    assert error.line == 1
    assert error.column is not None
    assert "^" in str(error)
    return text[error.column - 1 : error.column - 1 + error.length]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("MATCH (a:P) RETURN a.x / 0", "a.x / 0"),
        ("MATCH (a:P) RETURN 1 + a.x % 0", "a.x % 0"),
        ("MATCH (a:P)-->(b) WHERE a.x / b.zero > 1 RETURN a", "a.x / b.zero"),
        ("MATCH (a:P)-->(b) WHERE a.x < b.y / 0 RETURN count(*)", "b.y / 0"),
        ("MATCH (a:P) WHERE a.big * 2 > 1 RETURN a", "a.big * 2"),
        ("MATCH (a:P)-[r]->(b) WHERE r.w + a.big < b.y RETURN count(*)", "r.w + a.big"),
        ("MATCH (a:P) RETURN a.x AS x ORDER BY x / 0", "x / 0"),
        ("MATCH (a:P) RETURN count(*) / 0", "count(*) / 0"),
        ("MATCH (a:P) RETURN 1, sum(a.big)", "sum(a.big)"),
        ("MATCH (a:P {x: 1 / 0}) RETURN a", "1 / 0"),
        ("MATCH (a:P)-[:K*1..2]->() RETURN a.x / 0", "a.x / 0"),
    ],
)
def test_arithmetic(db: gdb.Database, text: str, place: str) -> None:
    assert place_of(db, text) == place
    with pytest.raises(ArithmeticProblem):
        db.execute(text)


def test_arithmetic_of_a_statement_that_is_known(db: gdb.Database) -> None:
    for text, good, bad, place in (
        ("MATCH (a:P) RETURN a.x / $d", 1, 0, "a.x / $d"),
        ("MATCH (a:P) WHERE a.big * $d > 3 RETURN a", 1, 2, "a.big * $d"),
    ):
        assert len(db.execute(text, {"d": good})) == 9
        assert place_of(db, text, d=bad) == place


def test_rows_decide_whether_it_is_an_error(db: gdb.Database) -> None:
    """What SQL calculates for a row that a condition leaves out is no error."""
    text = "MATCH (a:P)-->(b) WHERE b.zero <> 0 AND a.x / b.zero > 0 RETURN count(*)"
    assert db.execute(text).scalar() == 0


def test_of_many_embeddings_the_text_tells_the_place(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "AGAIN", 0)
    monkeypatch.setattr(columns_or_rows, "WAY", "columns")
    assert place_of(db, "MATCH (a:P) RETURN a.x + 1, a.x / 0") == "a.x / 0"
    several = "MATCH (a:P)-->(b) WHERE a.x / b.zero > 1 RETURN b.y % 2"
    assert place_of(db, several) == "a.x / b.zero > 1 RETURN b.y % 2"
    assert place_of(db, "MATCH (a:P) RETURN 1 + 1, sum(a.big)") == "1 + 1, sum(a.big)"


@pytest.mark.parametrize(
    ("text", "place", "kind"),
    [
        ("MATCH (a:P) DELETE a", "a", ChangeRefused),
        ("MATCH (a:P)-->(b) DELETE b, a.x", "a.x", TypeProblem),
        ("MATCH (q:Q) WITH q MATCH (a:P) DELETE a, q", "a", ChangeRefused),
        ("CREATE (a:N)-[:K]->(b:N) DELETE b", "b", ChangeRefused),
        ("MATCH (a:P) DETACH DELETE a CREATE (a)-[:K]->()", "(a)", DeletedProblem),
        ("CREATE (a {x: {b: 1}})", "{b: 1}", TypeProblem),
        ("MERGE (a {x: {b: 1}})", "{b: 1}", TypeProblem),
        ("CREATE ()-[:K {x: [1, null]}]->()", "[1, null]", TypeProblem),
        ("UNWIND [{x: [[1]]}] AS m CREATE (a) SET a += m", "m", TypeProblem),
        ("FOREACH (x IN [{b: 1}] | CREATE ({y: x}))", "x", TypeProblem),
    ],
)
def test_writing(db: gdb.Database, text: str, place: str, kind: type[PlacedError]) -> None:
    assert place_of(db, text) == place
    with pytest.raises(kind):
        db.execute(text)
    assert db.execute("MATCH (a) RETURN count(*)").scalar() == 18


def test_detach_delete_is_the_cure(db: gdb.Database) -> None:
    with pytest.raises(ChangeRefused, match="DETACH DELETE"):
        db.execute("MATCH (a:P) DELETE a")
    with db.transaction() as tx, pytest.raises(ChangeRefused, match="detach=True"):
        tx.remove_nodes([0])


def test_a_node_goes_when_its_last_relationship_goes_in_a_later_clause(db: gdb.Database) -> None:
    db.execute("MATCH (a:P)-[r]->(b) DELETE a DELETE r DELETE b")
    assert db.execute("MATCH (a) RETURN count(*)").scalar() == 0


def test_a_change_without_a_text_has_no_place(db: gdb.Database) -> None:
    with db.transaction() as tx, pytest.raises(ChangeRefused) as found:
        tx.remove_nodes([0])
    assert found.value.line is None
    assert not isinstance(found.value, QueryError)


def test_streamed_rows(db: gdb.Database) -> None:
    text = "MATCH (a:P) RETURN a.x / ($d - a.x) AS q"
    assert len([*db.stream(text, {"d": 10})]) == 9
    with pytest.raises(ArithmeticProblem) as found:
        [*db.stream(text, {"d": 5})]
    assert found.value.column == 20
    pushed = "MATCH (a:P) WHERE a.big * $d > 3 RETURN a.x"
    assert len([*db.stream(pushed, {"d": 1})]) == 9
    with pytest.raises(ArithmeticProblem) as found:
        [*db.stream(pushed, {"d": 2})]
    assert found.value.column == 19


def test_a_stream_tells_what_it_read(db: gdb.Database) -> None:
    with db.stream("MATCH (a:P) RETURN a.x") as rows:
        assert len([*rows]) == 9
        assert rows.summary is not None
        assert rows.summary.bytes_read >= 72
