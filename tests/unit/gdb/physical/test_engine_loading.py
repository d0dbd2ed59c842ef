"""Rows instead of columns while the relational engine is not loaded: the same answers, and the engine soon enough."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pytest

import gdb
from gdb import Database
from gdb.physical import engine_loading
from gdb.physical.rows.bound import Bound
from gdb.run import columns_or_rows

PEOPLE, KNOWN = 3_000, 2
MEANS = "MATCH (a:Person)-[:KNOWS]->(b) RETURN a.age AS age, avg(b.age) AS mean ORDER BY mean, age"
NOT_LOADED = "DuckDB is not loaded yet"


@pytest.fixture
def people() -> Iterator[Database]:
    with gdb.connect() as db:
        ids = list(range(PEOPLE))
        with db.transaction() as tx:
            tx.add_nodes("Person", ids, {"age": [k % 80 for k in ids]})
            targets = [(7 * k + 13 * n + 1) % PEOPLE for n in range(KNOWN) for k in ids]
            tx.add_relationships("KNOWS", ids * KNOWN, targets)
        yield db


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has not loaded the engine."""
    monkeypatch.setattr(engine_loading, "SECONDS", {"no module": 0.145})
    monkeypatch.setattr(engine_loading._Account, "spent", 0.0)


def ways(db: Database, text: str, *values: dict[str, object]) -> list[str]:
    return [db.execute(text, *values).summary.evaluator for _ in range(8)]


QUERIES = {
    MEANS: True,
    "MATCH (a:Person) WHERE a.age < 50 RETURN a.age % 7 AS x, count(DISTINCT id(a)) AS n": True,
    "MATCH (a:Person)-[:KNOWS]->(b) WHERE a.age > b.age RETURN sum(a.age * 2), max(b.age)": True,
    "MATCH (a:Person)-[:KNOWS]->(b) WITH a, count(b) AS n RETURN a.age AS age, n ORDER BY age, n": True,
    "MATCH (a:Person)-[:KNOWS]->(b) WITH a, count(b) AS n MATCH (a)-[:KNOWS]->(c) RETURN n, sum(c.age)": True,
    "MATCH (a:Person)-[:KNOWS]->(b) WITH a, count(b) AS n ORDER BY id(a) LIMIT 3 RETURN a, n": False,
    "MATCH (a:Person) RETURN collect(a)[0] AS first": False,
    "MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(c)-[:KNOWS]->(d)-[:KNOWS]->(e) RETURN sum(e.age)": False,
    "MATCH (a:Person)-[:KNOWS]->(b) RETURN a.age, EXISTS { (b)-->(a) } AS e ORDER BY e": False,
    "MATCH (a:Person)-[:KNOWS]->(b) RETURN count(*)": False,
    "MATCH (a:Person) RETURN a.age": False,
}  # fmt: skip


@pytest.mark.parametrize("text", QUERIES)
def test_which_queries_run_over_rows(people: Database, unloaded: None, text: str) -> None:
    assert (NOT_LOADED in people.explain(text)) == QUERIES[text]
    (shown, *_), *_ = people.execute(f"EXPLAIN {text}")
    assert (NOT_LOADED in str(shown)) == QUERIES[text]
    first = people.execute(text)
    assert not QUERIES[text] or first.summary.evaluator == "rows"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_loading, "SECONDS", {})
        assert NOT_LOADED not in people.explain(text)
        again = people.execute(text)
    assert sorted(map(repr, first)) == sorted(map(repr, again))


def test_a_process_loads_the_engine_in_the_end(people: Database, unloaded: None) -> None:
    found = ways(people, MEANS)
    assert found[0] == "rows"
    assert found[-1] == "duckdb"
    assert found == sorted(found, reverse=True)  # and stays with it
    other = "MATCH (a:Person)-[:KNOWS]->(b) RETURN b.age AS age, sum(a.age) AS n ORDER BY n, age"
    assert people.execute(other).summary.evaluator == "duckdb"  # it was as long for all of them


def test_a_kept_text_is_not_held_to_rows(people: Database, unloaded: None) -> None:
    text = MEANS.replace("RETURN", "WHERE a.age < $most RETURN")
    assert people.execute(text, {"most": 40}).summary.evaluator == "rows"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_loading, "SECONDS", {})
        assert people.execute(text, {"most": 40}).summary.evaluator == "duckdb"
        assert people.execute(text, {"most": 30}).summary.evaluator == "duckdb"
    assert people.execute(text, {"most": 20}).summary.evaluator == "duckdb"  # it is kept


@pytest.mark.parametrize(("taken", "found"), [(10, 10**6), (10**6, 10)])
def test_more_rows_than_expected_go_over_columns(
    people: Database, unloaded: None, monkeypatch: pytest.MonkeyPatch, taken: int, found: int
) -> None:
    seen = people.execute(MEANS).fetchall()
    bound = Bound(taken, found, 5.0)
    monkeypatch.setattr(engine_loading, "_bound", lambda *_: bound)
    result = people.execute(MEANS)
    assert (result.summary.evaluator, result.fetchall()) == ("duckdb", seen)


@pytest.mark.parametrize("way", ["columns", "rows"])
def test_a_forced_way_stays(
    people: Database, unloaded: None, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(columns_or_rows, "WAY", way)
    assert people.execute(MEANS).summary.evaluator == "duckdb"  # one pattern and its tail
    assert NOT_LOADED not in people.explain(MEANS)
    assert NOT_LOADED not in people.explain(
        "MATCH (a:Person) WITH a, a.age AS x MATCH (a)-->(b) RETURN sum(x)"
    )


def test_profile_shows_what_ran(people: Database, unloaded: None) -> None:
    lines = [line for (line,) in people.execute(f"PROFILE {MEANS}")]
    assert NOT_LOADED in lines[0]
    assert any(f"{PEOPLE * KNOWN:,}" in line for line in lines)


def test_many_rows_in_python_do_not_warn(
    people: Database, unloaded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns_or_rows, "LARGE", 100)
    result = people.execute(MEANS)
    assert (result.summary.evaluator, result.warnings) == ("rows", ())


EMPTY = [
    "MATCH (a:Person {age: -1})-[:KNOWS]->(b) RETURN a.age AS age, avg(b.age) AS mean ORDER BY age",
    "MATCH (a:Person)-[:KNOWS]->(b) WHERE a.age + b.age < 0 RETURN toString(max(a.age)) AS s, sum(b.age)",
    "MATCH (a:Person)-[:KNOWS]->(b) WHERE a.age + b.age < 0 RETURN collect(a.age) AS l",
    "MATCH (a:Person)-[:KNOWS]->(b) WHERE a.age + b.age < 0 RETURN min(date('2020-01-01')) AS d",
]  # fmt: skip


@pytest.mark.parametrize("text", EMPTY)
def test_arrow_has_the_same_types(people: Database, unloaded: None, text: str) -> None:
    first = people.execute(text)
    assert first.summary.evaluator == "rows"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_loading, "SECONDS", {})
        patch.setattr(columns_or_rows, "WAY", "columns")
        again = people.execute(text)
    assert again.summary.evaluator == "duckdb"
    assert pyarrow.table(first).schema == pyarrow.table(again).schema
    assert pyarrow.table(first) == pyarrow.table(again)


def test_arrow_of_a_closed_graph_has_no_types(unloaded: None) -> None:
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("P", [1, 2], {"age": [1, 2]})
        result = db.execute("MATCH (a:P) WHERE a.age > 5 RETURN a.age AS age, sum(a.age)")
        assert result.summary.evaluator == "rows"
    assert pyarrow.table(result).schema.names == ["age", "sum(a.age)"]


PROGRAM = """
import json, sys, gdb
with gdb.connect(sys.argv[1]) as db:
    found = db.execute(sys.argv[2]).fetchall()
print(json.dumps([found, [name for name in ("duckdb", "sqlglot") if name in sys.modules]]))
"""


def test_a_fresh_process_loads_neither(tmp_path: Path) -> None:
    with gdb.connect(tmp_path / "store") as db, db.transaction() as tx:
        tx.add_nodes("P", [1, 2, 3], {"age": [1, 2, 2]})
    text = "MATCH (a:P) RETURN a.age AS age, count(*) AS n, avg(a.age) AS m ORDER BY age"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "store"), text],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [[[1, 1, 1.0], [2, 2, 2.0]], []]


def test_short_reads_load_the_engine_in_the_end(people: Database, unloaded: None) -> None:
    """Each is understood anew while it is not loaded: what that takes counts."""
    text = "MATCH (a:Person {age: 3})-[:KNOWS]->(b) RETURN b.age AS age ORDER BY age LIMIT 3"
    before = engine_loading.left()
    people.execute(text)
    spent = before - engine_loading.left()
    assert spent > 0
    engine_loading.spend(before)
    assert engine_loading.left() == 0
    assert NOT_LOADED not in people.explain(text)
