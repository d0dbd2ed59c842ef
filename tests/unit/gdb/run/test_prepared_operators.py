"""Statements that run operator by operator are understood once, whatever the graph; those in a transaction are kept
until it changes something. Neither is ever answered with what was."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Iterator

import pytest

import gdb
from gdb import Database
from gdb.errors import NameProblem, QueryWarning
from gdb.run.query_cache import QueryCache

UPSERT = "MERGE (n:P {id: $i}) SET n.x = $x"
CHAIN = "MATCH (a:P {id: $i}) OPTIONAL MATCH (a)-->(b) WITH a, count(b) AS n RETURN n + a.x AS n"
READ = "MATCH (n:P {id: $i}) RETURN n.x"


@pytest.fixture
def db() -> Iterator[Database]:
    with gdb.connect() as made:
        made.execute("UNWIND range(1, 3000) AS i CREATE (:P {id: i, x: i})")
        made.execute("MATCH (a:P {id: 1}), (b:P) WHERE b.id IN [2, 3] CREATE (a)-[:R]->(b)")
        yield made


def refused(*_: object) -> None:
    raise AssertionError("understood again")


@pytest.mark.parametrize("text", [UPSERT, CHAIN])
def test_a_text_is_understood_once(
    db: Database, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [{"i": k, "x": 7} for k in (1, 2, 4000)] if text == UPSERT else [{"i": 1}, {"i": 2}]
    first = db.execute(text, asked[0])
    for name in ("parsed", "checked", "planned"):
        monkeypatch.setattr(QueryCache, name, refused)
    others = [db.execute(text, one) for one in asked[1:]]
    assert {step for one in others for step in one.summary.seconds} <= {
        "plan",
        "run",
        "tail",
        "commit",
    }
    if text == CHAIN:
        assert [first.scalar(), others[0].scalar()] == [3, 2]
    else:
        assert others[1].summary.effects is not None
        assert others[1].summary.effects.nodes_created == 1


def test_another_set_of_parameters_is_checked_anew(db: Database) -> None:
    db.execute(UPSERT, {"i": 1, "x": 5})
    with pytest.raises(NameProblem):
        db.execute(UPSERT, {"i": 1})
    db.execute(UPSERT, {"i": 1, "x": 6, "y": 0})
    assert db.execute(READ, {"i": 1}).scalar() == 6


def test_another_mode_is_planned_anew(db: Database) -> None:
    db.execute("MATCH (a:P {id: 2}), (b:P {id: 1}) CREATE (a)-[:R]->(b)")
    text = "MATCH (a:P {id: 1})-->(b)-->(c) WITH c MATCH (c)-->(d) RETURN count(*)"
    modes = ["DIFFERENT EDGES", "REPEATABLE ELEMENTS", "DIFFERENT NODES"] * 2
    found = [db.execute(text, match=mode).scalar() for mode in modes]
    assert found == [2, 2, 0] * 2


def test_a_warning_comes_each_time(db: Database) -> None:
    text = "MATCH (a:P {id: 1}) WITH a MATCH (a), (b:P {id: 2}) WITH a, b WHERE a.x = NULL RETURN 1"
    told = []
    for _ in range(2):
        with pytest.warns(QueryWarning) as caught:
            db.execute(text)
        told.append([str(one.message) for one in caught])
    assert told[0] == told[1] != []


def test_explain_and_the_query_itself_are_two_texts(db: Database) -> None:
    for _ in range(2):
        assert db.execute(f"EXPLAIN {CHAIN}", {"i": 1}).columns == ["plan"]
        assert db.execute(CHAIN, {"i": 1}).columns == ["n"]


def test_many_other_texts_make_room(db: Database) -> None:
    db.execute(UPSERT, {"i": 1, "x": 1})
    cache = db._statements.cache
    assert UPSERT in cache._prepared
    for k in range(300):
        db.execute(f"MATCH (a:P {{id: 1}}) WITH a AS a{k} RETURN 1")
    assert UPSERT not in cache._prepared
    assert len(cache._prepared) <= len(cache._queries)
    db.execute(UPSERT, {"i": 1, "x": 2})
    assert db.execute(READ, {"i": 1}).scalar() == 2


def test_in_a_transaction_what_was_planned_is_kept_until_it_writes(db: Database) -> None:
    with db.transaction() as tx:
        assert "plan" in tx.execute(READ, {"i": 1}).summary.seconds
        again = tx.execute(READ, {"i": 2})
        assert (again.scalar(), "plan" in again.summary.seconds) == (2, False)
        tx.execute(UPSERT, {"i": 2, "x": -1})
        tx.execute("CREATE (:P {id: 5000, x: 50})")
        assert tx.execute(READ, {"i": 2}).scalar() == -1
        assert tx.execute(READ, {"i": 5000}).scalar() == 50
        tx.add_nodes("P", [77_777], {"id": [9000], "x": [90]})
        assert tx.execute(READ, {"i": 9000}).scalar() == 90
        tx.execute("MATCH (n:P {id: 9000}) DETACH DELETE n")
        assert tx.execute(READ, {"i": 9000}).fetchall() == []
        tx.rollback()
    assert db.execute(READ, {"i": 2}).scalar() == 2


@pytest.mark.parametrize("keep", [True, False])
def test_a_transaction_that_has_ended_holds_no_graph(db: Database, keep: bool) -> None:
    with db.transaction() as tx:
        tx.execute(UPSERT, {"i": 1, "x": 9})
        assert tx.execute(READ, {"i": 1}).scalar() == 9
        view = weakref.ref(tx._open().view)
        if not keep:
            tx.rollback()
    db.execute(UPSERT, {"i": 2, "x": 9})
    gc.collect()
    assert view() is None


def test_what_a_text_is_warned_of_follows_the_graph() -> None:
    text = "MATCH (n:P {x: $x}) RETURN n.y"

    def warned(db: gdb.Database, x: object) -> list[str]:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            db.execute(text, {"x": x})
        return [str(one.message).partition(": ")[2] for one in told]

    def said(found: list[str], words: str) -> bool:
        return any(words in one for one in found)

    with gdb.connect() as db:
        assert said(warned(db, 1), "no node has the label :P")
        db.execute("CREATE (:P {x: 1})")
        assert said(warned(db, 1), "never has the property y")
        assert not said(warned(db, 1), "no node has the label")
        db.execute("CREATE (:P {x: 2, y: 3})")
        assert warned(db, 1) == []
        assert warned(db, "1") != []  # a string where integers are
        db.execute("MATCH (n) DETACH DELETE n")
        assert said(warned(db, 1), "no node has the label :P")
