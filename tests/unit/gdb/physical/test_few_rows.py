"""Queries that begin with few rows run over rows, and when these become many, again as without that: one answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import gdb
from gdb import Database, errors
from gdb.executor.walk import Paths
from gdb.language.clauses import Query
from gdb.physical.rows import path_questions, row_run, walking
from gdb.run import columns_or_rows, pipeline
from gdb.run.request import QueryRun
from tests.support.chain_queries import Queries, graph_queries, normal
from tests.support.effort import share
from tests.support.ways import forced

SEEDS, QUERIES = share(4), 40
LEAVES = 3_000
VALUES: dict[str, object] = {"ints": [1, 2, 5], "strs": ["a", "b"]}


@pytest.fixture
def db(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(columns_or_rows, "SMALL", 0)
    with gdb.connect() as made:
        made.execute(
            "CREATE (:Hub {id: 0}) WITH 1 AS one UNWIND range(1, 30) AS i CREATE (:P {id: i})"
        )
        made.execute(
            "MATCH (a:P), (b:P) WHERE b.id = a.id + 1 OR b.id = a.id + 7 CREATE (a)-[:K]->(b)"
        )
        made.execute(
            f"MATCH (h:Hub) UNWIND range(1, {LEAVES}) AS i CREATE (h)-[:S]->(:Leaf {{id: 100 + i}})"
        )
        yield made


FEW = {
    "MATCH (a:P {id: 3}) OPTIONAL MATCH (a)-->(b) RETURN collect(b.id) AS l": True,
    "MATCH (a:P) WHERE a.id IN [3, 4] WITH a, a.id AS k MATCH (a)-->(b) RETURN k, b.id": True,
    "UNWIND [1, 2] AS i MATCH (a:P {id: i}) RETURN a.id": True,
    "UNWIND $ids AS i MATCH (a:P {id: i}) RETURN a.id": True,
    "UNWIND $rows AS r MATCH (a:P {id: r.id}), (b:P {id: r.to}) RETURN a.id, b.id": True,
    "MATCH (a:P {id: 3}) WITH a LIMIT 1 MATCH (a)-->(b), (c:P {id: b.id}) RETURN c.id": False,  # on the other
    "MATCH (a:P {id: 3}) WITH DISTINCT a MATCH (b:P) RETURN a.id, count(b)": False,
    "MATCH (a:P {id: 3}) OPTIONAL MATCH (a)-[*1..3]->(b) RETURN count(b)": True,
    "MATCH (b:P)<-[*1..3]-(a:P {id: 3}) RETURN b.id": True,
    "MATCH (a:P {id: 3})-[*1..3]->(b:P)-->(c:P) RETURN b.id, c.id": True,
    "MATCH (a:P)-[*1..3]->(b:P) WHERE a.id > 3 RETURN b.id": False,
    "MATCH p = shortestPath((a:P {id: 3})-[*]->(b:P {id: 5})) RETURN length(p)": True,
    "MATCH p = shortestPath((a:P {id: 3})-[*]->(b:P)) RETURN length(p)": False,
    "MATCH p = (a:P {id: 3})-->(b) RETURN p": True,
    "MATCH (a:P) WITH a, count(*) AS n RETURN a.id, n ORDER BY n, a.id": False,
    "UNWIND range(1, 2) AS i MATCH (a:P {id: i}) RETURN a.id": False,
    "MATCH (a:P {id: 3}) WITH a, COUNT { MATCH (b:P) } AS n RETURN n": False,
    "MATCH (a:P {id: 3}) CALL (a) { MATCH (a)-->(b) RETURN b } RETURN b.id": False,
}  # fmt: skip


@pytest.mark.parametrize("text", FEW)
def test_which_queries_begin_with_few_rows(db: Database, text: str) -> None:
    values = {"ids": [1, 2], "rows": [{"id": 1, "to": 2}]}
    values = {name: of for name, of in values.items() if f"${name}" in text}
    assert ("begins with few rows" in db.explain(text, values)) == FEW[text]
    found = sorted(map(repr, db.execute(text, values)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns_or_rows, "WAY", "rows")
        assert sorted(map(repr, db.execute(text, values))) == found


def test_a_hub_goes_over_columns(db: Database) -> None:
    text = "MATCH (h:Hub {id: 0}) OPTIONAL MATCH (h)-[:S]->(x) RETURN h.id, count(x) AS n"
    found = db.execute(text)
    assert found.fetchall() == [(0, LEAVES)]
    assert found.summary.evaluator == "duckdb"
    assert db.execute(text.replace(":Hub {id: 0}", ":P {id: 30}")).summary.evaluator == "rows"


def test_many_rows_of_a_list(db: Database) -> None:
    text = "MATCH (a:P {id: 3}) UNWIND range(1, 5000) AS i RETURN sum(i) AS s"
    found = db.execute(text)
    assert (found.scalar(), found.summary.evaluator) == (5000 * 5001 // 2, "duckdb")


@pytest.mark.parametrize("most", [1, 10, 100, 10**6])
def test_what_is_written_is_written_once(
    db: Database, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_run, "MOST_ROWS", most)
    text = "MATCH (h:Hub {id: 0})-[:S]->(x) SET x.n = coalesce(x.n, 0) + 1"
    text += " WITH x CREATE (x)-[:T]->(:New) RETURN count(*)"
    found = db.execute(text)
    assert found.scalar() == LEAVES
    effects = found.summary.effects
    assert effects is not None
    assert (effects.properties_set, effects.nodes_created) == (LEAVES, LEAVES)
    assert db.execute("MATCH (x:Leaf) RETURN sum(x.n)").scalar() == LEAVES
    assert db.execute("MATCH (x:New) RETURN count(*)").scalar() == LEAVES


class Anchored(Queries):
    """Queries that begin at nodes that a value names."""

    def text(self) -> str:
        self.names = {"s": "node"}
        begin = self.chance.choice(["MATCH (s:A {k: 1})", "MATCH (s) WHERE s.i IN [1, 2]"])
        return f"{begin} {super().text()}"


@pytest.mark.parametrize("most", [2, 20, 2_000])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_queries(seed: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_or_rows, "SMALL", 0)
    monkeypatch.setattr(row_run, "MOST_ROWS", most)
    monkeypatch.setattr(row_run, "MOST_FOUND", most)
    with gdb.connect() as db:
        for text, values in graph_queries(random.Random(seed)):
            db.execute(text, values)
        few = 0
        for number in range(QUERIES):
            query = Anchored(random.Random(1000 * seed + number))
            text = query.text()
            few += "begins with few rows" in db.explain(text, VALUES)
            found = answer(db, text, query.sorted)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(columns_or_rows, "WAY", "rows")
                assert answer(db, text, query.sorted) == found, text
        assert few > QUERIES // 8


def answer(db: Database, text: str, sorted_: bool) -> list[str] | type[Exception]:
    try:
        return normal(db.execute(text, VALUES).fetchall(), sorted_, "collect" in text)
    except errors.QueryError as error:
        return type(error)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a:P {id: $i}) RETURN keys(a) AS k",  # not for SQL
        "MATCH (a:P {id: $i}) OPTIONAL MATCH (a)-->(b) RETURN count(b) AS n",
    ],
)
def test_what_is_not_one_pattern_is_found_out_once(
    db: Database, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    understood = pipeline._understood

    def counted(run: QueryRun, query: Query, first: bool = False) -> object:
        seen.append(1)
        return understood(run, query, first)

    monkeypatch.setattr(pipeline, "_understood", counted)
    for i in (3, 4, 5):
        assert len(db.execute(text, {"i": i}).fetchall()) == 1
    assert len(seen) == 1


def test_labels_are_tested_before_a_bound_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relationship at many rows, most of whose ends have another label: what the bound leaves out is noticed."""
    with gdb.connect() as db:
        db.execute("UNWIND range(0, 2500) AS i CREATE (:P {id: i})")
        db.execute(
            "MATCH (a:P {id: 0}), (h:P {id: 1}) UNWIND range(2, 31) AS k MATCH (b:P {id: k}) "
            "CREATE (a)-[:R]->(b) CREATE (b)-[:S]->(h) CREATE (b)-[:S]->(:Q {id: k})"
        )
        text = (
            "MATCH (a:P {id: 0}) MATCH (a)-[:R]->(b) OPTIONAL MATCH (b)-[:S]->(c:Q) "
            "RETURN c IS NULL AS none, count(*) AS n"
        )
        monkeypatch.setattr(row_run, "MOST_FOUND", 40)
        for _ in range(4):
            assert db.execute(text).fetchall() == [(False, 30)]


@pytest.mark.parametrize(
    "text",
    [
        "MATCH p = (a:P {id: 0})-[:R*1..4]->(b:Rare) RETURN p LIMIT 1",
        "MATCH (a:P {id: 0}) WITH a LIMIT 1 MATCH (a)-[:R*1..4]->(b:Rare) RETURN b.id LIMIT 1",
    ],
)
def test_a_limit_lists_no_path_to_another_label(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a LIMIT wants few paths, the walk knows at which nodes they may end: else all of them would be listed."""
    listed = list[int]()
    whole = path_questions.paths_of

    def noted(*given: Any) -> Paths:
        found = whole(*given)
        listed.append(len(found.rows))
        return found

    monkeypatch.setattr(walking, "paths_of", noted)
    with gdb.connect() as db:
        db.execute("UNWIND range(0, 300) AS i CREATE (:P {id: i}) CREATE (:Rare {id: i})")
        db.execute("MATCH (a:P), (b:P) WHERE (a.id * 7 + b.id) % 40 = 0 CREATE (a)-[:R]->(b)")
        with forced("rows"):
            assert db.execute(text).fetchall() == []
    assert listed
    assert not any(listed)
