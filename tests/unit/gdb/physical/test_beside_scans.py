"""What is matched at single nodes becomes columns of their own table (`Found.beside`): answers are those of rows, on
every way, in graphs with loops and parallel relationships."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import gdb
from gdb import Database
from gdb.physical.columns import chain_run
from gdb.run import columns_or_rows
from tests.support.chain_queries import graph_queries
from tests.support.effort import share
from tests.support.ways import WAYS, Way, forced

TESTS = (
    *("(a)-->()", "(a)-->()-->()", "(a)-[:K]->(:B)", "(a)--()--(a)", "(a)<-[:L]-()-->()"),
    *(
        "(a)-->()-->()-->(a)",
        "(a)-->({k: 1})",
        "(a)-[:K*1..2]->()",
        "(:A)-->(a)-->(:B)",
        "(a)-->(a)",
    ),
)
QUERIES = (
    *(f"MATCH (a:A) WHERE EXISTS {{ {test} }} RETURN a.i, count(*) AS n" for test in TESTS),
    *(f"MATCH (a) WHERE {test} AND a.k > 0 RETURN a.i, a.k" for test in TESTS),
    *(f"MATCH (a:A) WHERE NOT {test} RETURN a.i" for test in TESTS),
    *(
        f"MATCH (a) WHERE EXISTS {{ {test} }} AND EXISTS {{ (a)<--() }} RETURN count(*)"
        for test in TESTS
    ),
    *(
        f"MATCH (a) WITH a.k AS k, COUNT {{ {test} }} AS n RETURN k, sum(n), max(n)"
        for test in TESTS
    ),
    *(
        f"MATCH (a) RETURN a.i, COUNT {{ {test} }} AS n, EXISTS {{ (a)-->() }} AS e"
        for test in TESTS
    ),
    *(
        f"MATCH (a:A) OPTIONAL MATCH {test} WITH a.k AS k, count(*) AS n RETURN k, n"
        for test in TESTS
    ),
    *(
        f"MATCH (a:A) OPTIONAL MATCH {test} RETURN a.k, count(a), count(DISTINCT a.i)"
        for test in TESTS
    ),
    "MATCH (a) OPTIONAL MATCH (a)-->(b) WITH a.k AS k, count(b) AS n RETURN k, n ORDER BY k, n",
    "MATCH (a) OPTIONAL MATCH (a)-->(b:B) OPTIONAL MATCH (a)<--(c) RETURN a.k, count(b), count(c), count(*)",
    "MATCH (a) WITH a MATCH (a)-->(b) RETURN a.k, count(*)",
    "MATCH (a) WITH a MATCH (a)-->(b), (c:B) RETURN a.k, count(c)",
    "MATCH (a) OPTIONAL MATCH (a)-->(b) WHERE b.k > a.k RETURN a.k, count(b)",
    "MATCH (a) OPTIONAL MATCH (a)-->(b), (a)<--(c) RETURN a.k, count(*)",
    "MATCH (a) OPTIONAL MATCH (a:B)-->(b) RETURN a.k, count(b)",
    "MATCH (a) WITH a AS x OPTIONAL MATCH (x)-->(b) RETURN x.k, count(b)",
    "MATCH (a) WITH a ORDER BY a.i OPTIONAL MATCH (a)-->(b) RETURN a.i, count(b) ORDER BY a.i",
    "MATCH (a) WITH DISTINCT a OPTIONAL MATCH (a)-->(b) RETURN a.i, count(b)",
    "OPTIONAL MATCH (a:Z) OPTIONAL MATCH (a)-->(b) RETURN a.k, count(b)",
    "UNWIND [1, 2] AS u MATCH (a) OPTIONAL MATCH (a)-->(b) RETURN u, a.k, count(b)",
    "MATCH (a) WHERE EXISTS { (a)-->(b) WHERE b.k > $k } RETURN a.i",
    "MATCH (a) WHERE EXISTS { (a)-->(b) WHERE b.k > a.k } RETURN a.i",
    "MATCH (a) WHERE EXISTS { MATCH (a)-->(b) MATCH (b)-->(a) } RETURN a.i",
)
"""`a` is a node, `i` numbers nodes."""
LIMITED = (
    "MATCH (a:A) WHERE EXISTS { (a)-->() } RETURN a.i LIMIT 3",
    "MATCH (a) WHERE EXISTS { (a)-->()-->(:B) } AND a.k > 0 RETURN a.i LIMIT 4",
    "MATCH (a) OPTIONAL MATCH (a)-->(b) RETURN a.i, b.i LIMIT 5",
    "MATCH (a) RETURN a.i, COUNT { (a)-->() } AS n LIMIT 2",
)


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The steps that had something beside them; no graph is small."""
    found: list[str] = []
    scan = chain_run._ColumnsRun._scanned

    def seen(run: Any, step: Any, *rest: Any) -> Any:
        found.extend(one.name for one in step.beside)
        return scan(run, step, *rest)

    monkeypatch.setattr(chain_run._ColumnsRun, "_scanned", seen)
    monkeypatch.setattr(columns_or_rows, "SMALL", 0)
    yield found
    assert found


def _graphs(seed: int) -> Iterator[Database]:
    chance = random.Random(seed)
    for _ in range(share(2)):
        with gdb.connect() as db:
            for text, values in graph_queries(chance):
                db.execute(text, values)
            db.execute("MATCH (a) WITH a LIMIT 1 CREATE (a)-[:K]->(a)")
            db.execute(
                "MATCH (a) WITH collect(a) AS l UNWIND range(0, size(l) - 1) AS i SET (l[i]).i = i"
            )
            yield db


def _values(text: str) -> dict[str, int]:
    return {"k": 1} if "$k" in text else {}


@pytest.mark.parametrize("seed", range(2))
def test_answers_are_those_of_rows(seed: int, scans: list[str]) -> None:
    for db in _graphs(seed):
        for text in QUERIES:
            values = _values(text)
            answers: dict[Way, list[str]] = {}
            for way in WAYS:
                with forced(way):
                    answers[way] = sorted(map(repr, db.execute(text, values)))
            assert all(found == answers["rows"] for found in answers.values()), text


@pytest.mark.parametrize("seed", range(2))
def test_a_limit_takes_some_of_the_rows(seed: int, scans: list[str]) -> None:
    for db in _graphs(seed):
        for text in LIMITED:
            whole, _, limit = text.rpartition(" LIMIT ")
            with forced("rows"):
                every = list(map(repr, db.execute(whole)))
            for way in WAYS:
                with forced(way):
                    found = list(map(repr, db.execute(text)))
                assert len(found) == min(int(limit), len(every)), (text, way)
                for row in {*found}:
                    assert found.count(row) <= every.count(row), (text, way)


def test_a_limit_behind_a_test_that_few_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rows that are listed lead to nothing: more of them are."""
    monkeypatch.setattr(chain_run, "FIRST", 4)
    with gdb.connect() as db:
        db.execute("UNWIND range(0, 99) AS i CREATE (:N {i: i})")
        db.execute("MATCH (a:N), (b:N) WHERE a.i >= 90 AND b.i = a.i - 90 CREATE (a)-[:K]->(b)")
        text = "MATCH (a:N) WHERE EXISTS { (a)-->() } RETURN a.i LIMIT 7"
        with forced("columns"):
            found = [i for (i,) in db.execute(text)]
        assert len(set(found)) == 7
        assert min(found) >= 90


def test_what_is_beside_has_its_line(scans: list[str]) -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:N)-[:K]->(:N)-[:K]->(:M)")
        text = (
            "PROFILE MATCH (a:N) OPTIONAL MATCH (a)-->(b) WITH a.i AS i, count(b) AS n RETURN i, n"
        )
        with forced("columns"):
            lines = [line for (line,) in db.execute(text)]
        at = next(k for k, line in enumerate(lines) if line.startswith("OPTIONAL MATCH"))
        assert lines[at + 1].startswith("  match a, b: counted for each a   =2 rows")
        assert "=2 rows" in lines[at]
