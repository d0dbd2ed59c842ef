"""Reading statements of several clauses and of paths, bound over numbers: their answers are those of rows in Python."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import gdb
from gdb.api.database import Database
from gdb.errors import GdbError
from gdb.physical.rows.number_graph import NumberGraph
from gdb.physical.rows.numbered_statement import NumberedStatement
from gdb.physical.rows.row_statement import RowStatement
from gdb.run import query_cache
from gdb.run.bound_rows import BoundRows
from tests.support.ways import forced

PEOPLE = 60


@pytest.fixture(params=["disk", "memory"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """Large enough that columns would have it, were it not for the keys."""
    with gdb.connect(tmp_path / "people.gdb" if request.param == "disk" else None) as made:
        draw = np.random.default_rng(4)
        ages = [int(x) if x % 4 else None for x in draw.integers(0, 50, PEOPLE)]
        made.execute(
            "UNWIND range(0, $last) AS i CREATE (n:P {id: i, age: $ages[i], name: 'n' + (i % 7)}) "
            "FOREACH (x IN CASE WHEN i % 3 = 0 THEN [1] ELSE [] END | SET n:Q) "
            "FOREACH (x IN CASE WHEN i % 5 = 0 THEN [1] ELSE [] END | "
            "SET n.score = i / 2.0, n.born = date('2020-01-01'))",
            {"last": PEOPLE - 1, "ages": ages},
        )
        made.execute("UNWIND range(1, 2500) AS i CREATE (:Other {id: i})")
        for kind in ("KNOWS", "LIKES"):
            ends = draw.integers(0, PEOPLE, (130, 2)).tolist()
            made.execute(
                "UNWIND $ends AS e MATCH (a:P {id: e[0]}), (b:P {id: e[1]}) "
                f"CREATE (a)-[:{kind} {{since: (e[0] * 7 + e[1]) % 11, note: 'x' + e[1]}}]->(b)",
                {"ends": ends},
            )
        yield made


A = "MATCH (a:P {id: $i})"
SUITED = [
    f"{A} OPTIONAL MATCH (a)-[:KNOWS]->(b) RETURN a.id AS a, count(b) AS n, sum(b.age) AS s",
    f"{A} OPTIONAL MATCH (a)-[r:LIKES]->(b:Q) RETURN b.name AS n, r.since AS s, id(b) AS b",
    f"{A} OPTIONAL MATCH (a)-[r]->(b:Q) RETURN b IS NULL AS none, type(r) AS t, labels(b) AS l",
    f"{A} OPTIONAL MATCH (a)-[:KNOWS]->(b) OPTIONAL MATCH (b)-[:LIKES]->(c) RETURN count(c) AS n, count(*) AS m",
    f"{A}-[:KNOWS]->(b) WITH b ORDER BY b.id LIMIT 3 MATCH (b)-[:LIKES]->(c) RETURN b.id AS b, count(c) AS n",
    f"{A}-[r:KNOWS]->(b) WITH b, max(r.since) AS m MATCH (b)<-[s:LIKES]-(c) WHERE s.since < m RETURN b.id, c.id",
    f"{A}-[:KNOWS]->(b) WITH DISTINCT b MATCH (b)-[s]->(c) RETURN c, s, c.age AS age, s.note",
    f"{A}, (b:P {{id: $j}}) RETURN EXISTS {{ (a)-[:KNOWS]->(b) }} AS e, a.name = b.name AS same",
    f"{A}-[:LIKES]->(b) RETURN b.id AS b, COUNT {{ (b)-[:KNOWS]->() }} AS n",
    f"{A}-[:LIKES]->(b) RETURN b.id AS b, NOT exists((b)-[:KNOWS]->(:Q)) AS k",
    f"{A}-[:LIKES]->(b) RETURN b.id AS b, EXISTS {{ (b)-[r]->(c) WHERE r.since > 6 OR c.age < 9 }} AS e",
    f"{A}-[:KNOWS*1..2]->(b) RETURN b.id AS b",
    f"{A}-[:KNOWS*1..2]->(b) RETURN DISTINCT b.id AS b, b.age AS age",
    f"{A}-[:KNOWS*0..2]-(b:Q) RETURN b.name AS n, count(*) AS m, min(b.age) AS y",
    f"{A}<-[*2]-(b) RETURN b, b.born AS born",
    f"{A}-[r:KNOWS*1..2]->(b) RETURN size(r) AS n, count(*) AS m",
    f"{A}-[:KNOWS*1..2]->(b) RETURN count(*) AS n, count(b) AS m",
    f"{A}-[:KNOWS*1..2]->(b:Q) RETURN count(*) AS n",
    f"{A}-[:KNOWS*1..2]->(b) RETURN count(DISTINCT b) AS n",
    f"{A} OPTIONAL MATCH (a)-[:KNOWS*1..2]->(b:Q) RETURN count(b) AS n",
    f"MATCH p = shortestPath({A[6:]}-[:KNOWS*1..6]-(b:P {{id: $j}})) RETURN length(p) AS n, a.id AS a",
    f"MATCH p = allShortestPaths({A[6:]}-[*]->(b:P {{id: $j}})) RETURN length(p) AS n, count(*) AS m",
    f"{A}, (b:P {{id: $j}}) MATCH (a)-[:KNOWS*1..3]->(b) RETURN count(*) AS n",
    f"{A}-[:KNOWS*1..3]->(b:P {{id: $j}}) RETURN count(*) AS n, b.age AS age",
    f"MATCH p = {A[6:]}-[:KNOWS]->(b) RETURN length(p) AS n, b.id AS b",
    f"{A} OPTIONAL MATCH (a)-[:KNOWS]-(b)-[:KNOWS]-(c) RETURN b.id AS b, c.id AS c",
    f"{A} OPTIONAL MATCH (a)-[:KNOWS]->(b)<-[:LIKES]-(c), (b)-[r]-(d:Q) RETURN id(r) AS r, c.id AS c, d.id AS d",
    f"{A} OPTIONAL MATCH (a)-[:KNOWS]-(b)-[:KNOWS]-(c)-[:KNOWS]-(a) RETURN b.id AS b, c.id AS c",
    f"{A} OPTIONAL MATCH (a)-[:KNOWS]-(b) OPTIONAL MATCH (b)-[:KNOWS]-(a) RETURN b.id AS b, count(*) AS n",
    f"{A} OPTIONAL MATCH REPEATABLE ELEMENTS (a)-[:KNOWS]-(b)-[:KNOWS]-(c) RETURN b.id AS b, c.id AS c",
]
LISTS = [
    "UNWIND $l AS k MATCH (n:P {id: k}) RETURN k, n.name AS n",
    "UNWIND $l AS k MATCH (n:P {id: k})-[:KNOWS]->(b) RETURN n.id AS n, count(b) AS m, max(b.age) AS y",
    "UNWIND $l AS k OPTIONAL MATCH (n:P {id: k + 1})-[:LIKES]->(b) RETURN k, count(b) AS m",
    "MATCH (a:P {id: $i}) UNWIND $l AS k MATCH (n:P {id: k}) RETURN a.id + n.id AS s",
    "UNWIND $l AS k MATCH (n:P {id: k})-[:KNOWS*1..2]->(b) RETURN k, count(DISTINCT b) AS m",
]
SUITED += [  # with paths, or their relationships, for the answer
    f"MATCH p = {A[6:]}-[:KNOWS]->(b) RETURN p",
    f"MATCH p = {A[6:]}-[:KNOWS]->(b) WITH p LIMIT 500 RETURN p",
    f"MATCH p = {A[6:]}<-[:KNOWS]-(b)-[:LIKES]-(c:Q) RETURN p, b, c.id AS c LIMIT 500",
    f"MATCH p = {A[6:]}-[:KNOWS*0..2]-(b:Q) RETURN b.id AS b, p, length(p) AS n",
    f"{A}-[r:KNOWS*0..2]->(b) RETURN r, b",
    f"{A} MATCH p = (b:Q)-[r:LIKES*1..2]->(a) RETURN r, p, size(r) AS n",
    f"{A} OPTIONAL MATCH p = (a)-[r:LIKES*1..2]->(b:Q) WHERE b.age > 30 RETURN a, p, r",
    f"MATCH p = allShortestPaths({A[6:]}-[*]->(b:P {{id: $j}})) RETURN p",
    f"{A} MATCH p = (a)-[:KNOWS]-(b), q = (a)-[:LIKES]-(c) RETURN q, p",
]
OBJECTS = [
    f"MATCH p = {A[6:]}-[:KNOWS]->(b) RETURN DISTINCT p",
    f"MATCH p = {A[6:]}-[:KNOWS]->(b) RETURN p ORDER BY p LIMIT 500",
    f"MATCH p = {A[6:]}-[:KNOWS]->(b) RETURN [p] AS l",
    f"MATCH p = shortestPath({A[6:]}-[:KNOWS*1..6]-(b:P {{id: $j}})) RETURN [n IN nodes(p) | n.id] AS l",
    f"{A} OPTIONAL MATCH (a)-[:KNOWS]->(b:Q) RETURN b",
    f"{A} OPTIONAL MATCH (a)-[:KNOWS]->(b) WITH a, collect(b) AS l RETURN size(l) AS n",
    f"{A} OPTIONAL MATCH (a)-[:KNOWS]->(b) RETURN properties(b) AS p",
]


def values(text: str, i: int) -> dict[str, object]:
    more: dict[str, object] = {"j": (i * 7 + 3) % PEOPLE} if "$j" in text else {}
    return {"i": i, **more}


def answer(db: Database, text: str, i: int) -> list[str]:
    try:
        return sorted(repr(tuple(row)) for row in db.execute(text, values(text, i)))
    except GdbError as error:
        return [f"{type(error).__name__}: {error}"]


def bound(db: Database, text: str) -> RowStatement:
    found = db._statements.cache.bound(text)
    assert isinstance(found, BoundRows)
    return found.waiting[0]


@pytest.mark.parametrize("text", [*SUITED, *OBJECTS])
def test_the_answer_is_that_of_rows(
    db: Database, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[object]()
    before = NumberGraph.__init__

    def noted(self: NumberGraph, *arguments: object) -> None:
        made.append(self)
        before(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(NumberGraph, "__init__", noted)
    every = (*range(12), PEOPLE + 1)
    found = [answer(db, text, i) for i in every]
    with forced("rows"):
        assert found == [answer(db, text, i) for i in every]
    assert isinstance(bound(db, text), NumberedStatement) is (text in SUITED)
    assert len(made) == (len(every) - 2 if text in SUITED else 0)  # bound by the second


@pytest.mark.parametrize("text", SUITED[:8:3])
def test_what_is_committed_is_seen(db: Database, text: str) -> None:
    for i in range(4):
        answer(db, text, i)
    statement = bound(db, text)
    for i in range(8):
        db.execute("MATCH (a:P {id: $i}) SET a.age = 100 + $i, a.name = 'new'", {"i": i})
        db.execute(
            "MATCH (a:P {id: $i}), (b:P {id: 50}) CREATE (a)-[:KNOWS {since: 7}]->(b)-[:LIKES {since: 1}]->(a)",
            {"i": i},
        )
        if i == 5:  # a kind of nodes that was not there
            db.execute(
                "MATCH (b:P {id: 50}) CREATE (b)-[:LIKES {since: 0}]->(:Q:New {id: 1, age: 3})"
            )
        found = answer(db, text, i)
        with forced("rows"):
            assert found == answer(db, text, i)
    assert bound(db, text) is statement


def test_it_holds_no_snapshot_after_a_commit(db: Database) -> None:
    for i in range(4):
        answer(db, SUITED[0], i)
    statement = bound(db, SUITED[0])
    assert isinstance(statement, NumberedStatement)
    assert statement._snapshot is db._snapshot()
    held = weakref.ref(db._snapshot())
    db.execute("CREATE (:P {id: 1000})")
    gc.collect()
    assert statement._snapshot is None
    assert held() is None


def test_many_rows_go_the_usual_way(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{A}-[:KNOWS*1..2]->(b) RETURN b.id AS b"
    for i in range(3):
        answer(db, text, i)
    monkeypatch.setattr(NumberGraph, "most", 2)
    many = 0
    for i in range(PEOPLE):
        found = answer(db, text, i)
        with forced("rows"):
            assert found == answer(db, text, i)
        many += len(found) > 2
    assert 10 < many < PEOPLE


def test_a_statement_that_never_finds_few_is_tried_seldom(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, tries = f"{A}-[:KNOWS*1..2]->(b) RETURN b.id AS b", list[int]()
    for i in range(3):
        answer(db, text, i)
    monkeypatch.setattr(NumberGraph, "most", 0)
    run = NumberedStatement.run
    monkeypatch.setattr(
        NumberedStatement, "run", lambda self, *given: (tries.append(1), run(self, *given))[1]
    )
    for _ in range(200):
        answer(db, text, 1)
    assert 6 < len(tries) < 12


def test_several_threads_at_once(db: Database) -> None:
    text = SUITED[4]
    expected = [answer(db, text, i) for i in range(PEOPLE)]
    wrong = list[int]()

    def work(first: int) -> None:
        for k in range(40):
            i = (first + k) % PEOPLE
            if answer(db, text, i) != expected[i]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(7 * k,)) for k in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
    assert isinstance(bound(db, text), NumberedStatement)


def test_a_value_that_fails_has_its_place(db: Database) -> None:
    text = f"{A} OPTIONAL MATCH (a)-[:KNOWS]->(b) RETURN a.id AS i, count(b) / (a.id - 3) AS q"
    every = (1, 2, 4, 3, 5)
    found = [answer(db, text, i) for i in every]
    with forced("rows"):
        assert found == [answer(db, text, i) for i in every]
    assert isinstance(bound(db, text), NumberedStatement)
    assert "divided by zero" in answer(db, text, 3)[0]


@pytest.mark.parametrize("text", LISTS)
def test_unwind_of_a_list(db: Database, text: str) -> None:
    lists: list[list[object]] = [
        [3, 1, 7, 3],
        [],
        [None, 5, 5000],
        [2, "x", 2.0, 4.5, [1]],
        [9] * 40,
    ]
    every = [{"l": one} | ({"i": k} if "$i" in text else {}) for k, one in enumerate(lists * 2)]

    def found() -> list[object]:
        several = list[object]()
        for one in every:
            try:
                several.append(sorted(repr(tuple(row)) for row in db.execute(text, one)))
            except GdbError as error:
                several.append(f"{type(error).__name__}: {error}")
        return several

    mine = found()
    with forced("rows"):
        assert mine == found()
    assert isinstance(bound(db, text), NumberedStatement)


def test_a_list_that_something_else_uses_is_not_for_it(db: Database) -> None:
    text = "UNWIND $l AS k MATCH (n:P {id: k}) WHERE n.age IN $l RETURN count(*) AS n"
    for size in (3, 60, 5, 7):
        ours = db.execute(text, {"l": [*range(size)]}).fetchall()
        with forced("rows"):
            assert ours == db.execute(text, {"l": [*range(size)]}).fetchall()


def test_a_long_list_goes_the_usual_way(db: Database) -> None:
    text = LISTS[0]
    for _ in range(4):
        assert len(db.execute(text, {"l": [*range(PEOPLE)]})) == PEOPLE
    assert len(db.execute(text, {"l": [*range(PEOPLE)] * 20})) == PEOPLE * 20


@pytest.mark.parametrize(
    "text",
    [
        f"{A} OPTIONAL MATCH (a)-[*0..1]-(b:Q) WHERE b.score > 3 RETURN count(b) AS n, max(b.born) AS m",
        f"{A} MATCH (a)-[:KNOWS*1..2]->(b:Q) WHERE b.age < 30 OR b = a RETURN b.id AS b",
    ],
)
def test_conditions_are_tested_where_paths_lead_to_the_labels(db: Database, text: str) -> None:
    every = [*range(12)]
    found = [answer(db, text, i) for i in every]
    with forced("rows"):
        assert found == [answer(db, text, i) for i in every]


@pytest.mark.parametrize(
    "text",
    [
        "UNWIND $l AS k MATCH (h:Hub {id: k})-[:HAS]->(b) WHERE b.id > 300 RETURN b",
        "UNWIND $l AS k MATCH (h:Hub {id: k})-[r:HAS]->(b) RETURN b.id AS b, r.n AS n, k",
        "UNWIND $l AS k OPTIONAL MATCH p = (h:Hub {id: k})-[:HAS]->(b) RETURN length(p) AS n",
        "UNWIND $l AS k MATCH (h:Hub {id: k})-[:HAS*1..2]->(b) RETURN count(b.id) AS n",
        "UNWIND $l AS k MATCH (h:Hub {id: k}) UNWIND $l AS j MATCH (h)-[:HAS]->(b:Other {id: j}) RETURN b.id AS b",
    ],
)
def test_a_list_that_leads_to_many_rows(db: Database, text: str) -> None:
    """The statement is given up before it answers, and rows of numbers never come to what runs over objects."""
    db.execute("CREATE (:Hub {id: 1}), (:Hub {id: 2})")
    db.execute("MATCH (h:Hub), (b:Other) WHERE b.id <= 400 CREATE (h)-[:HAS {n: b.id}]->(b)")
    lists = ([9], [1], [9, 9], [2], [1, 2] * 5, [1] * 14, [2, 1])
    found = [sorted(map(repr, db.execute(text, {"l": one}))) for one in lists]
    assert isinstance(bound(db, text), NumberedStatement)
    with forced("rows"):
        assert found == [sorted(map(repr, db.execute(text, {"l": one}))) for one in lists]


def test_what_the_cache_has_dropped_is_held_no_more(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_cache, "MOST", 4)
    dropped = list[weakref.ref[RowStatement]]()
    for k in range(12):
        text = f"{A} OPTIONAL MATCH (a)-[:KNOWS]->(b{k}) RETURN b{k}.name AS n"
        for i in range(3):
            answer(db, text, i)
        dropped.append(weakref.ref(bound(db, text)))
    assert len(db._statements.cache.holding) == 4
    gc.collect()
    assert sum(one() is not None for one in dropped) == 4


def test_two_threads_let_snapshots_go(db: Database) -> None:
    """Whichever takes the last, the other one finds none."""
    cache = db._statements.cache

    class Statement:
        def leave(self) -> None:
            cache.holding.clear()

    cache.holding |= {cast("BoundRows", Statement()) for _ in range(3)}
    cache.leave_snapshots()
    assert not cache.holding
