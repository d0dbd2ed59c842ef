"""Queries of several clauses over columns (`gdb.physical.columns`) give what the reference gives over rows
(`gdb.physical.rows`)."""

from __future__ import annotations

import math
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gdb
import gdb.physical.columns.chain_run
from gdb import Database, errors
from gdb.executor.relational.relational_tail import TailResult
from gdb.logical import rewrites
from gdb.physical import counting
from gdb.physical.columns import column_projection
from gdb.run import columns_or_rows
from tests.support.chain_queries import Expressions, Queries, graph_queries, normal
from tests.support.counting_queries import Counts
from tests.support.effort import share

VALUES: dict[str, Any] = {"ints": [1, 2, 5], "strs": ["a", "é"]}
SEEDS, QUERIES, EXPRESSIONS = share(5, least=2), 12, 40


class Ways:
    """A database whose queries run one way or the other.

    ran : how often columns answered. failed : what they raised.
    """

    def __init__(self, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self.db, self.patch = db, monkeypatch
        monkeypatch.setattr(rewrites, "REWRITES", ())  # which make one pattern of clauses
        self.ran, self.failed = 0, list[errors.GdbError]()
        run: Callable[..., TailResult] = gdb.physical.columns.chain_run.ran

        def seen(*given: object) -> TailResult:
            try:
                found = run(*given)
            except errors.GdbError as error:
                self.failed.append(error)
                raise
            self.ran += 1
            return found

        monkeypatch.setattr(gdb.physical.columns.chain_run, "ran", seen)

    def columns(self, text: str, **values: object) -> gdb.Result:
        self.patch.setattr(columns_or_rows, "WAY", "columns")
        return self.db.execute(text, values)

    def rows(self, text: str, **values: object) -> gdb.Result:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(columns_or_rows, "WAY", "rows")
            return self.db.execute(text, values)

    def both(self, text: str, sorted_: bool = False, **values: Any) -> str:
        """Run a query both ways and compare; the way that columns went."""
        failures = len(self.failed)
        lists = "collect" in text
        try:
            expected = normal(self.rows(text, **values).fetchall(), sorted_, lists)
        except errors.QueryError as error:
            with pytest.raises(type(error)):
                self.columns(text, **values)
            return "error"
        result = self.columns(text, **values)
        found = normal(result.fetchall(), sorted_, lists)
        assert found == expected, text
        if result.summary.evaluator == "duckdb":
            return "columns"
        assert not any(isinstance(e, errors.InternalError) for e in self.failed), self.failed
        return "failed" if len(self.failed) > failures else "rows"


def _graph(chance: random.Random) -> Database:
    db = gdb.connect()
    for text, values in graph_queries(chance):
        db.execute(text, values)
    return db


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ways]:
    with gdb.connect() as db:
        db.execute(
            "CREATE (a:P {name: 'a', x: 1, f: 0.5}), (b:P:Q {name: 'b', x: 2}), (c:P {name: 'c', x: 3}),"
            " (t:T {name: 't'}), (a)-[:K {w: 1}]->(b), (b)-[:K {w: 2}]->(c), (a)-[:L]->(t), (c)-[:L]->(t)"
        )
        yield Ways(db, monkeypatch)


# ---- random queries and expressions --------------------------------------------------------------


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_queries(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tally: Counter[str] = Counter()
    with _graph(random.Random(seed)) as db:
        ways = Ways(db, monkeypatch)
        for number in range(QUERIES):
            query = Queries(random.Random(1000 * seed + number))
            text = query.text()
            tally[ways.both(text, query.sorted, **VALUES)] += 1
    assert tally["columns"] >= 0.6 * QUERIES, tally  # over all seeds it is nine of ten


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_counts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tally: Counter[str] = Counter()
    with _graph(random.Random(seed)) as db:
        ways = Ways(db, monkeypatch)
        for number in range(QUERIES):
            worth = (
                0.0 if number % 2 else float("inf")
            )  # counted by the kernel, or listed and counted
            monkeypatch.setattr(counting, "WORTH_COUNTING", worth)
            text = Counts(random.Random(1000 * seed + number)).text()
            tally[ways.both(text, **VALUES)] += 1
    assert tally["columns"] >= 0.8 * QUERIES, tally


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_expressions(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tally: Counter[str] = Counter()
    names = {
        "n": "node",
        "i": "int",
        "s": "str",
        "f": "float",
        "b": "bool",
        "l": "ints",
        "t": "strs",
    }
    chance = random.Random(seed + 10_000)
    with _graph(random.Random(seed)) as db:
        ways = Ways(db, monkeypatch)
        given = "MATCH (n) WITH n, n.i AS i, n.s AS s, n.f AS f, n.b AS b, n.l AS l, n.t AS t"
        for _ in range(EXPRESSIONS):
            expression = Expressions(chance, names).any(3)
            tally[ways.both(f"{given} RETURN n.k, {expression} AS it", **VALUES)] += 1
    assert tally["columns"] >= 0.7 * EXPRESSIONS, tally


# ---- clause by clause ----------------------------------------------------------------------------

COVERED = [
    "MATCH (a:P) WITH a MATCH (a)-[:K]->(b) RETURN a.name, b",
    "MATCH (a)-[r]->(b) WITH r, b MATCH (x)-[r]->(y) RETURN x, r, y",
    "MATCH (a:P) OPTIONAL MATCH (a)-[r:K]->(b) RETURN a.name, r, count(b) AS n",
    "MATCH (a:P) OPTIONAL MATCH (a)-[:K]->(b) WHERE b.x > a.x + 1 RETURN a.name, b.name",
    "MATCH (a:P) OPTIONAL MATCH (a)-[:K]->(b) WHERE (b)-[:L]->() RETURN a.name, b.name",
    "OPTIONAL MATCH (a:Nobody) RETURN a, a.name, a:P, labels(a)",
    "MATCH (a:P) OPTIONAL MATCH (a)-[:L]->(b) OPTIONAL MATCH (b)<-[:L]-(c) RETURN a, b, c",
    "MATCH (a:P) WITH a.x % 2 AS m, sum(a.x) AS s WHERE s > 2 RETURN m, s",
    "MATCH (a:P) WITH a, count(*) AS n ORDER BY a.x DESC LIMIT 2 RETURN a.name, n",
    "MATCH (a:P) WITH a ORDER BY a.x DESC RETURN collect(a.name) AS names",
    "MATCH (a:P) WITH collect(a.x) AS l UNWIND l AS x RETURN x, size(l)",
    "UNWIND [3, 1, 2] AS x WITH x WHERE x > 1 RETURN x, x * 2 AS y",
    "UNWIND $ints AS x MATCH (a:P) WHERE a.x = x RETURN x, a",
    "UNWIND [] AS x RETURN x",
    "UNWIND null AS x RETURN x",
    "MATCH (a:P) WHERE NOT (a)-[:L]->() RETURN a.name",
    "MATCH (a:P)-[:K]->(b) WHERE NOT (a)-[:L]->({name: 't'}) OR b.x > 2 RETURN a.name, b",
    "MATCH (a:P) WHERE EXISTS { (a)-[:K]->(b) WHERE b.x > a.x } RETURN a.name",
    "MATCH (a:P) WHERE EXISTS { MATCH (a)-[:K]->(b) MATCH (b)-[:L]->(c) RETURN c } RETURN a.name",
    "MATCH (a:P) RETURN a.name, COUNT { (a)--() } AS n",
    "MATCH (a:P) WITH a, COUNT { (a)-->(b:P) WHERE b.x > a.x } AS n WHERE n = 1 RETURN a.name",
    "MATCH (a:P), (b:P) WHERE a.x = b.x + 1 WITH a, b RETURN a.x, b.x",
    "MATCH (a)-[r]->(b), (c)-[s]->(d) WITH a, c RETURN count(*)",
    "MATCH (a:P) RETURN a.name AS n UNION MATCH (t:T) RETURN t.name AS n",
    "MATCH (a:P) RETURN a.x AS n UNION ALL MATCH (b:P) RETURN b.x AS n",
    "MATCH (a:P) RETURN a UNION MATCH (a:Q) RETURN a",
    "MATCH (a:P) CALL { MATCH (t:T) RETURN count(*) AS c } RETURN a.name, c",
    "MATCH (a:P) RETURN CASE WHEN a.x > 2 THEN 'big' WHEN a.x > 1 THEN 'mid' END AS k, count(*) AS n",
    "MATCH (a:P) WITH DISTINCT a.f AS f RETURN f",
    "MATCH (a)-[r]->(b) WITH type(r) AS t, labels(b) AS l RETURN t, l, count(*)",
    "MATCH (a:P) WITH *, a.x AS y RETURN *",
    "MATCH (n) WITH n AS m, n AS k RETURN m, k, m = k",
    "MATCH (a:P) WITH a.name AS name ORDER BY a.x SKIP 1 RETURN name",
    "MATCH (a:P) WITH a.x AS x, a WHERE a.name <> 'b' RETURN x",
    "MATCH (a:P) WITH a.x AS x WHERE a.name <> 'b' RETURN x",
    "MATCH (a:P) WITH count(*) AS n, sum(a.f) AS s, avg(a.x) AS v RETURN n + 1, s, v",
    "MATCH (a:Nobody) WITH count(*) AS n, collect(a.x) AS l, min(a.x) AS m RETURN n, l, m",
    "MATCH (a:P) WITH a, [x, a.x] AS p UNWIND p AS y RETURN y".replace("[x, a.x]", "[1, a.x]"),
    "MATCH REPEATABLE ELEMENTS (a)-[:K]->(b) WITH a, b MATCH (a)-[:K]->(c) RETURN b, c",
]


@pytest.mark.parametrize("text", COVERED)
def test_covered(ways: Ways, text: str) -> None:
    assert ways.both(text, ints=[1, 3, 9]) == "columns"


REFUSED = {
    "MATCH (a:P) WITH a MATCH (a)-[r*1..2]->(b) RETURN r": "a list of relationships",
    "MATCH (a:P) WITH a MATCH p = (a)-->(b) RETURN p": "name for a whole path",
    "MATCH (a:P) WITH collect(a) AS l RETURN l": "collect() of a node",
    "MATCH (a:P) WITH a, {x: a.x} AS m RETURN m": "a map as a value",
    "MATCH (a:P) WITH a CALL (a) { RETURN a.x AS x UNION RETURN 'a' AS x } RETURN x": "UNION of several types",
    "MATCH (a:P) WITH a RETURN [x IN [1] | size([(a)-->(b) | b.name])] AS l": "pattern inside a comprehension",
    "MATCH (a:P) WITH a RETURN keys(a) AS t": "keys() of a node",
    "MATCH (a:P) WITH a RETURN [x IN [1] | x] AS l": "list comprehension",
    "MATCH DIFFERENT NODES (a:P)-->(b) WITH a, b MATCH (b)-->(c) RETURN c": "match mode",
    "UNWIND [1, 2.0] AS x RETURN x": "several types",
    "UNWIND range(1, 6000) AS x RETURN stDev(x) AS s": "an aggregate of so many values",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused_with_the_reason(ways: Ways, text: str) -> None:
    ways.patch.setattr(column_projection, "MOST_LISTED", 5_000)
    assert ways.both(text) == "rows"
    first = ways.db.explain(text).splitlines()[0]
    assert first.startswith("operator by operator, over rows")
    assert REFUSED[text] in first


# ---- what is counted and not listed --------------------------------------------------------------

COUNTED = {
    "MATCH (a:P)-[:K]->(b) OPTIONAL MATCH (b)-[:L]->(c) RETURN sum(b.x) AS n": 2,
    "MATCH (a:P) OPTIONAL MATCH (a)-[:K]->(b) RETURN a.name, count(b) AS n": 1,
    "MATCH (a:P) OPTIONAL MATCH (a)--(b) OPTIONAL MATCH (a)--(c) RETURN a.x, count(b), count(c)": 2,
    "MATCH (a)-->(b) WITH a, b MATCH (b)-->(c) RETURN count(*) AS n": 2,
    "MATCH (a)-->(b) WITH a, b MATCH (b)-->(c) RETURN sum(b.x) AS s, max(b.x) AS m": 2,
    "MATCH (a:P) RETURN a.name, COUNT { MATCH (a)--(b) MATCH (b)--(c) } AS n": 1,
    "MATCH (t:T) MATCH (a:P)-[r]-(b) WITH t, r MATCH (c)-->(d) RETURN count(r), t": 2,
    "MATCH (a:P) OPTIONAL MATCH (a)-[:K]->(b) WHERE (b)-[:L]->() RETURN a.name, count(b) AS n": 1,
    "MATCH (a)-->(b) WITH a, b MATCH (b)-->(c) RETURN avg(b.x) AS s": 0,
    "MATCH (a)-->(b) WITH a, b MATCH (b)-->(c) RETURN b.name": 0,
    "MATCH (a)-->(b) WITH a, b LIMIT 100 MATCH (b)-->(c) RETURN count(DISTINCT a) AS n": 1,
}


@pytest.mark.parametrize("text", COUNTED)
def test_counted_and_not_listed(ways: Ways, text: str) -> None:
    assert ways.both(text) == "columns"
    lines = ways.db.explain(text).splitlines()
    assert sum("counted" in line for line in lines) == COUNTED[text], lines


def test_embeddings_are_counted_by_the_kernel(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 times 2,000 times 2,000 rows."""
    monkeypatch.setattr(counting, "WORTH_COUNTING", 0.0)
    ways.db.execute("CREATE (h:Hub) WITH h UNWIND range(1, 2000) AS i CREATE (h)-[:S]->(:Leaf)")
    text = (
        "MATCH (h:Hub)-[:S]->(a) OPTIONAL MATCH (h)-[:S]->(b) OPTIONAL MATCH (h)-[:S]->(c)"
        " WITH h, b MATCH (h)-[:S]->(d:P) RETURN count(*) AS n"
    )
    assert ways.columns(text).scalar() == 0
    text = text.replace(":P", ":Leaf").replace("WITH h, b", "WITH h, b, c")
    assert ways.columns(text).scalar() == 2000**4
    assert ways.ran == 2
    several = ", ".join(f"(h)-[:S]->(x{k})" for k in range(6))
    with pytest.raises(errors.CountOverflow):  # rows would not end
        ways.columns(f"MATCH (h:Hub) MATCH {several} WITH h MATCH (h) RETURN count(*) AS n")


# ---- what the user sees --------------------------------------------------------------------------


def test_explain_and_profile(ways: Ways) -> None:
    text = "MATCH (a:P) WITH a MATCH (a)-[:K]->(b) RETURN a.name, b.x"
    ways.patch.setattr(columns_or_rows, "WAY", "columns")
    plan = ways.db.explain(text)
    assert plan.startswith(
        "operator by operator, over columns (DuckDB): it is more than one pattern"
    )
    lines = [line for (line,) in ways.columns("PROFILE " + text)]
    assert any("match a, b: listed   =2 rows, " in str(line) for line in lines), lines
    ways.patch.setattr(columns_or_rows, "WAY", None)
    ways.patch.setattr(columns_or_rows, "SMALL", 1000)
    assert "the graph is small" in ways.db.explain(text).splitlines()[0]


def test_many_rows_in_python_are_told(ways: Ways) -> None:
    text = "UNWIND range(1, 12000) AS x RETURN sum(x) AS s, max({x: x}) AS t"
    (warning,) = ways.columns(text).warnings
    assert "12,002 rows went through Python" in warning
    assert "a map as a value" in warning
    assert ways.columns("UNWIND range(1, 12000) AS x RETURN sum(x) AS s").warnings == ()


def test_arrow_keeps_elements_and_nulls(ways: Ways) -> None:
    text = "MATCH (a:P) OPTIONAL MATCH (a)-[r:K]->(b) RETURN a.x AS x, b, r ORDER BY x"
    table = ways.columns(text).arrow()
    assert ways.ran == 1
    assert table["x"].to_pylist() == [1, 2, 3]
    assert [None if b is None else b["properties"]["name"] for b in table["b"].to_pylist()] == [
        "b",
        "c",
        None,
    ]


def test_errors_are_the_reference_s(ways: Ways) -> None:
    for text, kind in (
        ("UNWIND [1, 0] AS x RETURN 1 / x AS y", errors.ArithmeticProblem),
        ("UNWIND [1] AS x RETURN 9223372036854775807 + x AS y", errors.ArithmeticProblem),
        ("UNWIND ['a'] AS x RETURN left(x, -1) AS y", errors.ArgumentProblem),
        ("UNWIND [1] AS x RETURN y", errors.NameProblem),
    ):
        with pytest.raises(kind):
            ways.columns(text)
    assert ways.columns(
        "UNWIND [1, 0] AS x WITH x WHERE x <> 0 AND 1 / x = 1 RETURN x"
    ).fetchall() == [(1,)]


def test_python_is_called_for_single_texts(ways: Ways) -> None:
    text = "UNWIND ['straße', 'strasse', null] AS s RETURN toUpper(s) AS t"
    assert ways.columns(text).fetchall() == [("STRASSE",), ("STRASSE",), (None,)]
    assert ways.ran == 1


def test_order_is_kept(ways: Ways) -> None:
    text = "UNWIND range(1, 5000) AS x WITH x ORDER BY x % 7, x DESC RETURN collect(x) AS l"
    assert ways.columns(text).scalar() == sorted(range(1, 5001), key=lambda x: (x % 7, -x))
    text = "UNWIND range(1, 5000) AS x WITH x ORDER BY -x RETURN x, x % 2 LIMIT 2"
    assert ways.columns(text).fetchall() == [(5000, 0), (4999, 1)]
    assert ways.ran == 2


def test_nan_and_null_sort_behind_all(ways: Ways) -> None:
    text = "UNWIND [2.0, $nan, null, -1.0] AS x RETURN x ORDER BY x DESC"
    found = ways.columns(text, nan=math.nan).fetchall()
    assert [str(x) for (x,) in found] == ["None", "nan", "2.0", "-1.0"]
    assert ways.both("UNWIND [2.0, $nan, -1.0] AS x RETURN max(x), min(x), x < 3.0", nan=math.nan)


def test_cancel_timeout_and_memory(ways: Ways) -> None:
    text = "UNWIND range(1, 300000) AS x UNWIND range(1, 10000) AS y RETURN sum(x % 7 * y) AS s"
    ways.patch.setattr(columns_or_rows, "WAY", "columns")
    with pytest.raises(errors.QueryTimeout, match=r"its timeout of 0\.3 s"):
        ways.db.execute(text, timeout=0.3)
    threading.Timer(0.5, ways.db.interrupt).start()
    with pytest.raises(errors.Cancelled):
        ways.db.execute(text)
    few = "UNWIND range(1, 200000) AS x WITH x ORDER BY x % 1000 RETURN count(DISTINCT x) AS n"
    assert ways.db.execute(few, memory="200MB").scalar() == 200_000


def test_anonymous_elements_of_nested_patterns_differ(ways: Ways) -> None:
    """Both patterns have a relationship without a name: they are not the same one."""
    text = "MATCH (a:P)-[:K]->(b) WHERE (a)-[:L]->() RETURN a.name"
    assert ways.rows(text).fetchall() == [("a",)]
