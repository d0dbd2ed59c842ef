"""Limits on the rows of a result and on the time of a query, in whichever way it runs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

import gdb
from gdb import limits
from gdb.errors import LimitExceeded, OutOfBudget, QueryTimeout
from gdb.executor import run as executor

NODES = 20
PAIRS = "MATCH (a)-->(b), (c)-->(d) "
ROWS = {
    "columns of embeddings": PAIRS + "RETURN id(a), id(d)",
    "distinct columns": "MATCH (a)-->() RETURN DISTINCT id(a)",
    "sorted": "MATCH (a) RETURN a.x AS x ORDER BY x",
    "a chain": "MATCH (a)-->(b) WITH a, count(*) AS n RETURN a.x, n",
    "rows": "UNWIND range(1, 20) AS k RETURN {a: k} AS m",
}


@pytest.fixture
def db() -> Iterator[gdb.Database]:
    with gdb.connect() as db:
        db.execute("UNWIND range(1, 20) AS x CREATE (:N {x: x})-[:R]->(:M)")
        yield db


@pytest.mark.parametrize("name", ROWS)
def test_rows(db: gdb.Database, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    expected = len(db.execute(ROWS[name]))
    monkeypatch.setattr(limits, "MAX_ROWS", expected - 1)
    with pytest.raises(LimitExceeded, match=f"more than {expected - 1} rows.*MAX_ROWS"):
        db.execute(ROWS[name])
    monkeypatch.setattr(limits, "MAX_ROWS", expected)
    assert len(db.execute(ROWS[name])) == expected


def test_no_more_rows_are_found_than_tell_that_there_are_too_many(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    rows = executor.rows

    def seen(*given: object) -> object:
        asked.append(given[5])
        return rows(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(executor, "rows", seen)
    monkeypatch.setattr(limits, "MAX_ROWS", 7)
    with pytest.raises(LimitExceeded):
        db.execute(PAIRS + "RETURN id(a), id(d)")
    assert len(db.execute(PAIRS + "RETURN id(a), id(d) LIMIT 3")) == 3
    assert asked == [8, 3]


def test_what_is_counted_is_one_row(db: gdb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ROWS", 1)
    assert db.execute(PAIRS + "RETURN count(*)").scalar() == NODES * (NODES - 1)


def test_what_was_written_is_undone(db: gdb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ROWS", 3)
    with pytest.raises(LimitExceeded):
        db.execute("MATCH (a:N) SET a.x = 0 RETURN a.x")
    assert db.execute("MATCH (a {x: 0}) RETURN count(*)").scalar() == 0
    db.execute("MATCH (a:N) SET a.x = 0")
    assert db.execute("MATCH (a {x: 0}) RETURN count(*)").scalar() == NODES


def test_seconds(db: gdb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "MATCH " + ", ".join("()" for _ in range(7)) + " RETURN count(DISTINCT 1)"
    monkeypatch.setattr(limits, "MAX_SECONDS", 1e-6)
    with pytest.raises(QueryTimeout, match="timeout"):
        db.execute(text)
    assert db.execute("RETURN 1", timeout=60).scalar() == 1


GROWING = {
    "a string that + makes": "reduce(s = 'x', i IN range(1, 40) | s + s)",
    "a string that || makes": "reduce(s = 'x', i IN range(1, 40) | s || s)",
    "replace()": "reduce(s = 'x', i IN range(1, 40) | replace(s, 'x', 'xxxx'))",
    "a list that + makes": "reduce(s = [1], i IN range(1, 40) | s + s)",
    "a list that || makes": "reduce(s = [1], i IN range(1, 40) | s || s)",
    "split()": "split(reduce(s = 'x', i IN range(1, 18) | s + s), '')",
}


@pytest.mark.parametrize("what", GROWING)
def test_the_size_of_a_value(db: gdb.Database, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    expression = GROWING[what]
    made = re.escape(what) + r" would take .* at most 1,000,000\..*MAX_VALUE_BYTES"
    for text in (
        f"RETURN size({expression})",
        f"MATCH (n:N) WHERE n.x < 3 RETURN n.x + size({expression})",
        f"MATCH (n:N) WHERE n.x < 3 SET n.y = {expression}",
    ):
        with monkeypatch.context() as patch:
            patch.setattr(limits, "MAX_VALUE_BYTES", 1_000_000)
            with pytest.raises(LimitExceeded, match=made):
                db.execute(text)
        with gdb.connect(limits={"MAX_VALUE_BYTES": 1_000_000}) as other:
            other.execute("UNWIND range(1, 5) AS x CREATE (:N {x: x})")
            with pytest.raises(LimitExceeded, match=made):
                other.execute(text)


def test_a_value_that_grows_is_refused_before_it_takes_seconds(db: gdb.Database) -> None:
    with pytest.raises(LimitExceeded, match="268,435,456"):
        db.execute("RETURN size(reduce(s = 'x', i IN range(1, 40) | s + s))", timeout=60)


LISTS = "reduce(s = [1], i IN range(1, 60) | [s, s])"
MAPS = "reduce(s = {a: 1}, i IN range(1, 60) | {a: s, b: s})"
HUGE = {
    "the result": f"RETURN {LISTS}",
    "a map of the result": f"RETURN {MAPS}",
    "=": f"RETURN {LISTS} = {LISTS}",
    "= of maps": f"RETURN {MAPS} = {MAPS}",
    "<": f"RETURN {LISTS} < {LISTS}",
    "IN": f"RETURN {LISTS} IN [1, {LISTS}]",
    "DISTINCT": f"UNWIND [1, 2] AS x WITH {LISTS} AS y RETURN count(DISTINCT y)",
    "DISTINCT maps": f"UNWIND [1, 2] AS x WITH {MAPS} AS y RETURN count(DISTINCT y)",
    "ORDER BY": f"UNWIND [1, 2] AS x WITH x, {LISTS} AS y ORDER BY y RETURN x",
    "ORDER BY maps": f"UNWIND [1, 2] AS x WITH x, {MAPS} AS y ORDER BY y RETURN x",
    "max()": f"RETURN size(max({LISTS}))",
    "valueType()": f"RETURN valueType({LISTS})",
}


@pytest.mark.parametrize("name", HUGE)
def test_lists_that_hold_one_another_twice(db: gdb.Database, name: str) -> None:
    """60 lists of two items, which no walk over all items ends with."""
    with pytest.raises(QueryTimeout):
        db.execute(HUGE[name], timeout=0.2)


@pytest.mark.parametrize("name", ["the result", "a map of the result", "DISTINCT", "ORDER BY maps"])
def test_their_copies_count(db: gdb.Database, name: str) -> None:
    with pytest.raises(OutOfBudget):
        db.execute(HUGE[name], memory="64MiB", timeout=60)


# ---- what a query has to wait for ---------------------------------------------------------------

_FRESH = """
import sys, gdb
db = gdb.connect()
with db.transaction() as tx:
    tx.add_nodes("N", [1, 2, 3], {"x": [1, 2, 3], "s": ["a", "b", "ab"]})
    tx.add_relationships("R", [1, 2], [2, 3])
before = set(sys.modules)
text = "MATCH (a:N)-[r]->(b) WHERE a.x IN [1, 2] AND b.s ENDS WITH 'b' AND id(a) = 2 RETURN count(*)"
assert db.execute(text).scalar() == 1
print(*({name.partition(".")[0] for name in sys.modules} & {"duckdb", "sqlglot", "nanoarrow"}))
"""


def test_a_count_imports_neither_duckdb_nor_sqlglot() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FRESH], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("", "")
