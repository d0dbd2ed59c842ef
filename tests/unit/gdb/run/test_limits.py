"""Limits on the rows of a result and on the time of a query, in whichever way it runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

import gdb
from gdb import limits
from gdb.errors import LimitExceeded, QueryTimeout
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
