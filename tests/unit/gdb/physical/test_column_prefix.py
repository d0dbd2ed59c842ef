"""The first clauses over columns, the rest over rows: the same answers as over rows alone, and the same changes."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import gdb
from gdb import Database, errors
from gdb.language.parser import parse
from gdb.physical.columns import prefix
from gdb.run import columns_or_rows
from tests.support.chain_queries import Queries, graph_queries, normal
from tests.support.effort import share

SEEDS, QUERIES = share(5, least=2), 30
VALUES: dict[str, object] = {"ints": [1, 2, 5], "strs": ["a", "b"]}
LAST = (
    "RETURN {} AS it",
    "WITH {} AS it RETURN it, size(keys(it))",
    "UNWIND [{}] AS it RETURN it",
)


class Mixed(Queries):
    """Queries that end in what only rows can."""

    def _return(self) -> str:
        names = self._kept()
        map_ = ", ".join(f"k{number}: {name}" for number, name in enumerate(names))
        return self.chance.choice(LAST).format(f"{{{map_}}}")


@pytest.fixture
def db(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(columns_or_rows, "WAY", "columns")
    with gdb.connect() as made:
        yield made


def over_rows(db: Database, text: str) -> list[str] | type[Exception]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns_or_rows, "WAY", "rows")
        return answer(db, text)


def answer(db: Database, text: str) -> list[str] | type[Exception]:
    try:
        return normal(db.execute(text, VALUES).fetchall(), False, "collect" in text)
    except errors.QueryError as error:
        return type(error)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_queries(db: Database, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = 0
    run = prefix.run_prefix

    def counted(*given: object) -> object:
        nonlocal begun
        found = run(*given)  # type: ignore[arg-type]
        begun += found is not None
        return found

    monkeypatch.setattr(prefix, "run_prefix", counted)
    for text, values in graph_queries(random.Random(seed)):
        db.execute(text, values)
    for number in range(QUERIES):
        text = Mixed(random.Random(1000 * seed + number)).text()
        assert answer(db, text) == over_rows(db, text), text
    assert begun > QUERIES // 6


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a)-->(b) WITH a, count(*) AS n SET a.n = n",
        "MATCH (a)-->(b) WITH DISTINCT a MATCH (a)-[r]->(c) WITH a, max(c.k) AS k SET a.k = k, a:C",
        "MATCH (a)-[r]->(b) WITH a, b, count(r) AS n WHERE n > 1 CREATE (a)-[:M {n: n}]->(b)",
        "MATCH (a)-[r:K]->(b) WITH r ORDER BY r.w, a.k, b.k LIMIT 2 DELETE r",
        "MATCH (a:A) WITH a.i AS i, collect(a.k) AS ks MERGE (g:G {i: coalesce(i, 0)}) SET g.ks = ks",
        "MATCH (a) WITH DISTINCT a.b AS b CREATE (x:X {b: b}) WITH x MATCH (x) RETURN x.b",
    ],
)
def test_what_is_written(db: Database, text: str) -> None:
    graph = "MATCH (n) OPTIONAL MATCH (n)-[r]->(m) RETURN n, r, m"
    found = []
    for rows in (False, True):
        db.execute("MATCH (n) DETACH DELETE n")
        for made, values in graph_queries(random.Random(7)):
            db.execute(made, values)
        if not rows:
            assert "over columns (DuckDB), then over rows:" in db.explain(text)
        results = over_rows(db, text) if rows else answer(db, text)
        kept = [[_plain(cell) for cell in row] for row in db.execute(graph).fetchall()]
        found.append((results, sorted(map(repr, kept))))
    assert found[0] == found[1]
    assert len(found[0][1]) > 1


def _plain(element: object) -> object:
    """A node or relationship without its id, which is another one each time."""
    if isinstance(element, gdb.Node):
        return sorted(element.labels), sorted(element.properties.items(), key=repr)
    if isinstance(element, gdb.Relationship):
        return element.type, sorted(element.properties.items(), key=repr)
    return element


WORTH = {
    "MATCH (a) WITH a, count(*) AS n RETURN {a: a} AS m": 2,
    "MATCH (a) WITH a LIMIT 3 WITH a, 1 AS x RETURN {a: a} AS m": 3,
    "MATCH (a) WITH DISTINCT a.x AS x MATCH (b) WITH x, count(b) AS n RETURN {x: x} AS m": 5,
    "MATCH (a) WITH a, a.x AS x RETURN {a: a} AS m": 0,  # a row for each row
    "UNWIND [1, 2] AS x WITH count(x) AS n RETURN {n: n} AS m": 0,  # nothing is matched
    "MATCH (a) SET a.x = 1 WITH count(a) AS n RETURN n": 0,
    "MATCH (a) WITH count(a) AS n RETURN {n: n} AS m UNION MATCH (a) WITH count(a) AS n RETURN {n: n} AS m": 0,
    "MATCH (a) WITH collect({x: a.x}) AS l WITH size(l) AS n LIMIT 1 RETURN {n: n} AS m": 0,  # maps
}


@pytest.mark.parametrize("text", WORTH)
def test_how_many_clauses_begin_over_columns(
    db: Database, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.execute("CREATE (:A {x: 1})-[:K]->(:A {x: 2})")
    seen: list[int] = []
    find = prefix.prefix

    def told(*given: object) -> object:
        found = find(*given)  # type: ignore[arg-type]
        seen.append(0 if found is None else len(found.operators))
        return found

    monkeypatch.setattr(prefix, "prefix", told)
    assert parse(text)
    if "SET" in text:
        db.explain(text)
    else:
        db.execute(text)
    assert seen == [WORTH[text]]


def test_columns_that_give_up_leave_it_to_rows(db: Database) -> None:
    db.execute("CREATE (:A {x: 1, y: 0}), (:A {x: 0, y: 5})")
    text = "MATCH (a:A) WHERE a.y = 0 OR 1 / a.y >= 0 WITH a.x AS x, count(*) AS n RETURN {x: x, n: n} AS m"
    assert answer(db, text) == over_rows(db, text)
    text = "MATCH (a:A) WITH 1 / a.y AS z, count(*) AS n RETURN {z: z} AS m"
    with pytest.raises(errors.ArithmeticProblem, match="column 18"):
        db.execute(text)
