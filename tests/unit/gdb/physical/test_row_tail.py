"""What is behind a pattern of few embeddings runs over rows: the answer is that of the SELECT."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import gdb
from gdb import Database
from gdb.answer import entities
from gdb.errors import ArithmeticProblem, OutOfBudget, QueryError, TypeProblem
from gdb.executor import choose_device
from gdb.physical.rows import row_tail
from gdb.run.bound_rows import BoundRows
from tests.support.ways import forced

PEOPLE = """:ID,name,age:int,score:float,ok:boolean,born:date,:LABEL
{rows}
"""
KNOWS = """:START_ID,:END_ID,:TYPE,since:int,note
{rows}
"""


@pytest.fixture(autouse=True)
def first_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a GPU was used before, the first run of a plan may be there."""
    monkeypatch.setattr(choose_device, "cuda_begun", lambda: False)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty people of three kinds, one of them without `score`; values are missing here and there."""
    folder, random = tmp_path_factory.mktemp("tails"), np.random.default_rng(5)
    people = [
        f"{k},{'' if k % 5 == 0 else f'né{k % 7}'},{'' if k % 3 == 0 else k % 11 - 5},"
        f"{'' if k % 4 == 0 else [k / 2, -0.0, 'NaN'][k % 3]},{['true', 'false', ''][k % 3]},"
        f"{'' if k % 2 else f'2020-01-{k % 28 + 1:02}'},{['P', 'P;Q', 'R'][k % 3]}"
        for k in range(40)
    ]
    knows = [
        f"{a},{b},{['KNOWS', 'LIKES'][(a + b) % 2]},{'' if a % 4 == 0 else b},{'' if b % 2 else f'é{b}'}"
        for a, b in random.integers(0, 40, (120, 2)).tolist()
    ]
    (folder / "people.csv").write_text(PEOPLE.format(rows="\n".join(people)), encoding="utf-8")
    (folder / "knows.csv").write_text(KNOWS.format(rows="\n".join(knows)), encoding="utf-8")
    with gdb.connect(folder / "store.gdb") as db:
        db.load(nodes=folder / "people.csv", edges=folder / "knows.csv")
    return folder / "store.gdb"


@pytest.fixture
def graph(store: Path) -> Iterator[Database]:
    with gdb.connect(store, read_only=True) as db:
        yield db


SUITED = [
    "b.name AS n, b.age AS g ORDER BY g DESC, n LIMIT 4",
    "b.name AS n, b.score AS s ORDER BY s, n SKIP 1 LIMIT $few",
    "b.ok AS k, count(*) AS n, sum(b.age) AS s, avg(b.score) AS v ORDER BY n DESC, k",
    "count(b) AS n, count(DISTINCT b) AS d, count(b.age), min(b.name), max(b.score)",
    "b, count(*) AS n ORDER BY n DESC, id(b) LIMIT 3",
    "b ORDER BY id(b) LIMIT 5",
    "r, b ORDER BY id(r), id(b) LIMIT 5",
    "DISTINCT b.age % 2 AS half ORDER BY half",
    "DISTINCT b.name IS NULL AS none, toUpper(b.name) AS name ORDER BY name",
    "r.since AS since, r.note AS note, id(r) AS r ORDER BY since, r",
    "r.since AS since, count(*) ORDER BY since NULLS FIRST",
    "b.age + $more AS x, id(b) % 3 AS third ORDER BY x, third",
    "id(b) AS b, b.nothing AS none ORDER BY b",
    "type(r) AS t, count(*) ORDER BY t",
    "b.born AS d ORDER BY d",
    "labels(b) AS l, b.born AS d ORDER BY d, id(b) LIMIT 7",
    "max(b.born) AS last, b.ok AS k ORDER BY k",
    "size(labels(b)) AS n, type(r) AS t, count(b.born) ORDER BY n, t",
    "CASE WHEN b.age > 0 THEN 'old' ELSE 'new' END AS k, size(collect(DISTINCT b.age)) AS l ORDER BY k",
]
BEHIND = [
    "WITH b ORDER BY b.age, id(b) LIMIT 3 RETURN b.name, id(b) AS i",
    "WITH b AS c, r.since AS since WHERE since > 3 RETURN c.name, since ORDER BY since, c.name",
    "WITH b, count(*) AS n WHERE n > 0 AND b.age > -3 RETURN b, n ORDER BY id(b)",
    "WITH DISTINCT b.ok AS ok, b.age AS age WITH ok, max(age) AS m RETURN m, ok ORDER BY m",
    "WITH b.name AS b, count(*) AS n RETURN b, n ORDER BY n, b",
]
QUERIES = [*(f"RETURN {one}" for one in SUITED), *BEHIND]


def table(db: Database, text: str, values: dict[str, object]) -> pa.Table:
    return pa.table(db.execute(text, values))


@pytest.mark.parametrize("pattern", ["(a)-[r]->(b)", "(a:P)-[r:KNOWS]-(b:P)", "(a)-[r]->(b:R)"])
@pytest.mark.parametrize("behind", QUERIES)
def test_the_answer_is_that_of_the_select(graph: Database, pattern: str, behind: str) -> None:
    text = f"MATCH {pattern} WHERE id(a) < $x {behind}"
    for x in (0, 3, 1, 9, 9):  # from the third on the statement is bound
        values: dict[str, object] = {"x": x, "few": 2 + x % 2, "more": x}
        values = {name: value for name, value in values.items() if f"${name}" in text}
        found = graph.execute(text, values)
        assert found.summary.evaluator == "rows"
        rows = [repr(tuple(row)) for row in found]
        mine = table(graph, text, values)
        with forced("selects"):
            graph._statements.clear()
            expected = graph.execute(text, values)
            assert expected.summary.evaluator == "duckdb"
            assert rows == [repr(tuple(row)) for row in expected]
            other = table(graph, text, values)
        assert repr(mine.to_pylist()) == repr(other.to_pylist())
        assert mine.schema.types == other.schema.types


@pytest.mark.parametrize(
    "returned",
    [
        "collect(b) AS l",
        "[a IN [1, 2] | a] AS l, id(a) ORDER BY id(a)",
        "b.name IN $names AS k ORDER BY k",
        "EXISTS { (b)-->() } AS e ORDER BY e",
    ],
)
def test_what_needs_more_of_an_element_does_not(graph: Database, returned: str) -> None:
    text = f"MATCH (a:P)-[r]->(b) WHERE id(a) < $x RETURN {returned}"
    values: dict[str, object] = {"x": 9} | ({"names": ["né1", "né2"]} if "$names" in text else {})
    for _ in range(4):
        found = graph.execute(text, values)
        assert (found.summary.evaluator, bool(found.summary.why)) != ("rows", False)


def test_many_embeddings_are_for_the_select(
    graph: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "MATCH (a)-[r]->(b) WHERE id(a) = $x RETURN b.age AS age, count(*) AS n ORDER BY age"
    numbers = {x: _degree(graph, x) for x in range(40)}
    monkeypatch.setattr(row_tail, "MOST", 3)
    assert {number > 3 for number in numbers.values()} == {False, True}
    for x, number in [*numbers.items(), *numbers.items()]:
        found = graph.execute(text, {"x": x}).summary
        evaluator = "rows" if number <= 3 else "duckdb"
        assert (found.evaluator, found.embeddings) == (evaluator, number)


def _degree(graph: Database, x: int) -> int:
    return int(
        str(graph.execute("MATCH (a)-->(b) WHERE id(a) = $x RETURN count(*)", {"x": x}).scalar())
    )


def test_an_error_shows_its_place(graph: Database) -> None:
    text = "MATCH (a)-[r]->(b) WHERE id(a) < $x RETURN b.age / (b.age - b.age) AS q ORDER BY q"
    for _ in range(5):
        with pytest.raises(ArithmeticProblem) as caught:
            graph.execute(text, {"x": 9})
        assert "b.age / (b.age - b.age)" in str(caught.value)
    for number in (-1, "two", 2.5):
        with pytest.raises(TypeProblem, match="LIMIT"):
            graph.execute("MATCH (a) RETURN a.age + 1 AS x LIMIT $n", {"n": number})


def test_a_budget_holds(graph: Database) -> None:
    text = "MATCH (a) RETURN reduce(s = 'x', k IN range(1, 40) | s + s) AS s ORDER BY s"
    with pytest.raises(OutOfBudget):
        graph.execute(text, memory="16MB")


def test_commits_are_seen() -> None:
    text = "MATCH (a:N)-[r:R]->(b) WHERE id(a) = $x RETURN b.k AS k, r.w AS w ORDER BY k DESC"
    with gdb.connect() as db:
        db.execute(
            "CREATE (a:N {k: 0}) WITH a UNWIND [1, 2, 3] AS k CREATE (a)-[:R {w: -k}]->(:N {k: k})"
        )
        (first,) = db.execute("MATCH (a:N {k: 0}) RETURN id(a)").fetchone() or (None,)
        for turn in range(8):
            expected = [(k, -k - turn) for k in (3 + turn, 2 + turn, 1 + turn)]
            assert db.execute(text, {"x": first}).fetchall() == expected
            db.execute("MATCH (b:N) WHERE b.k > 0 SET b.k = b.k + 1")
            db.execute("MATCH ()-[r:R]->() SET r.w = r.w - 2")
        db.execute("MATCH (b:N {k: 9}) DETACH DELETE b")
        assert len(db.execute(text, {"x": first})) == 2


def test_threads_have_rows_of_their_own(graph: Database) -> None:
    text = (
        "MATCH (a)-[r]->(b) WHERE id(a) = $x RETURN b.age AS age, $x + count(*) AS n ORDER BY age"
    )
    expected = {x: graph.execute(text, {"x": x}).fetchall() for x in range(40)}
    wrong: list[object] = []

    def work(seed: int) -> None:
        for x in np.random.default_rng(seed).integers(0, 40, 200).tolist():
            try:
                found = graph.execute(text, {"x": x}).fetchall()
            except QueryError as error:
                wrong.append(error)
                return
            if found != expected[x]:
                wrong.append((x, found))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


def test_an_answer_of_elements_outlives_the_store(store: Path) -> None:
    with gdb.connect(store, read_only=True) as db:
        found = db.execute("MATCH (a)-[r]->(b) WHERE id(a) < 9 RETURN r, b ORDER BY id(r)")
        assert found.summary.evaluator == "rows"
        expected = repr(
            db.execute("MATCH (a)-[r]->(b) WHERE id(a) < 9 RETURN r, b ORDER BY id(r)").fetchall()
        )
    assert repr(found.fetchall()) == expected


@pytest.fixture(scope="module")
def star(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Node 0 with 9,000 relationships, all others with a few; x and the w of relationships are numbers."""
    folder, random = tmp_path_factory.mktemp("star"), np.random.default_rng(1)
    nodes = "\n".join(f"{k},{k % 100}" for k in range(9_001))
    pairs = [(0, k) for k in range(1, 9_001)] + random.integers(1, 9_001, (20_000, 2)).tolist()
    edges = "\n".join(f"{a},{b},{n % 50}" for n, (a, b) in enumerate(pairs))
    (folder / "n.csv").write_text(f"id:ID,x:int\n{nodes}\n")
    (folder / "e.csv").write_text(f":START_ID,:END_ID,w:int\n{edges}\n")
    with gdb.connect() as db:
        db.load(nodes={"P": folder / "n.csv"}, edges={"R": folder / "e.csv"})
        yield db


@pytest.mark.parametrize(
    "where", ["b.x > $v", "r.w < $v", "b.x % 7 = 3 AND r.w <> $v", "b.x < b.id"]
)
def test_conditions_are_left_for_few_embeddings(star: Database, where: str) -> None:
    text = f"MATCH (a:P {{id: $i}})-[r:R]->(b:P) WHERE {where} RETURN b.id AS i, r.w AS w ORDER BY i, w"
    everything = "MATCH (a:P)-[r:R]->(b:P) WHERE a.id = $i RETURN b.id AS id, b.x AS x, r.w AS w"
    for i in (5, 17, 0, 23, 5, 0, 42, 9_000):
        values = {"i": i, "v": 30}
        found = star.execute(text, {k: v for k, v in values.items() if f"${k}" in text})
        rows = star.execute(everything, {"i": i}).fetchall()
        tests = {
            "b.x > $v": lambda b, x, w: x > 30,
            "r.w < $v": lambda b, x, w: w < 30,
            "b.x % 7 = 3 AND r.w <> $v": lambda b, x, w: x % 7 == 3 and w != 30,
            "b.x < b.id": lambda b, x, w: x < b,
        }
        expected = sorted((b, w) for b, x, w in rows if tests[where](b, x, w))
        assert found.fetchall() == expected
        assert found.summary.evaluator == "rows" or i in (0, 23, 42)  # a hub, or just behind one


def test_at_a_hub_conditions_are_pushed(star: Database) -> None:
    text = "MATCH (a:P {id: $i})-[r:R]->(b:P) WHERE b.x > $v RETURN b.id ORDER BY b.id"
    few, hub = (
        "\n".join(line for (line,) in star.execute(f"EXPLAIN {text}", {"i": i, "v": 97}))
        for i in (5, 0)
    )
    assert "scan b: :P .x" not in few
    assert star.execute(text, {"i": 5, "v": 97}).summary.embeddings is not None
    assert star.execute(text, {"i": 0, "v": 97}).summary.embeddings == 180
    assert few != hub


@pytest.mark.parametrize(
    "returned",
    [
        "EXISTS { MATCH (a)-[:R]->(b) } AS e",
        "EXISTS { (a)<-[:R]-(b) } AS e",
        "COUNT { MATCH (a)-[:R]-(b) } AS n",
        "COUNT { MATCH (a)-[:R]->(c) } AS n",
        "COUNT { MATCH (a)-[:R]->(c:P) WHERE c.x > 40 } AS n",
        "COUNT { MATCH (a)-[:R]->(c)-[:R]->(d) } AS n",
        "EXISTS { MATCH (c:P {x: a.x})-[:R]->(a) } AS e",
    ],
)
def test_subqueries_at_few_rows(star: Database, returned: str) -> None:
    text = f"MATCH (a:P {{id: $i}}), (b:P {{id: $j}}) RETURN a.id, b.id, {returned}"
    for i, j in ((0, 5), (5, 0), (7, 7), (0, 0), (31, 8_000), (9, 99_999)):
        found = star.execute(text, {"i": i, "j": j})
        with forced("columns"):
            assert found.fetchall() == star.execute(text, {"i": i, "j": j}).fetchall()


def test_few_nodes_are_those_made_in_bulk(graph: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        "MATCH (n) WHERE id(n) < 9 RETURN n",
        "MATCH (n:R)-[r]->(m) WHERE id(n) < 12 RETURN n, m",
    ]
    for text in texts:
        one_by_one = [repr(row) for row in graph.execute(text)]
        with monkeypatch.context() as patch:
            patch.setattr(entities, "FEW", -1)
            assert one_by_one == [repr(row) for row in graph.execute(text)]


@pytest.mark.parametrize("keys", ["toInteger(rand() * 3)", "toInteger(rand() * 3), a.x"])
def test_a_key_is_evaluated_once(star: Database, keys: str) -> None:
    """Where it is another value each time, a group has the value that it was made by."""
    text = f"MATCH (a:P {{id: $i}}) OPTIONAL MATCH (a)-[:R]-(b) RETURN {keys}, count(*) AS n"
    bound = 0
    for i in range(1, 60):
        found = [tuple(row)[:-1] for row in star.execute(text, {"i": i})]
        assert len(found) == len({*found})
        bound += isinstance(star._statements.bound(text), BoundRows)
    assert bound


def test_a_null_of_the_row_matches_nothing(star: Database) -> None:
    text = (
        "MATCH (a:P {id: $i}) OPTIONAL MATCH (a)-[:R]->(x) WHERE x.x < 0 "
        "MATCH (a)-[:R]-(x) RETURN count(*) AS n"
    )
    for i in (5, 6, 7, 8):
        assert star.execute(text, {"i": i}).scalar() == 0
    assert isinstance(star._statements.bound(text), BoundRows)


@pytest.mark.parametrize("mode", ["", "SUBGRAPHS", "DIFFERENT NODES"])
@pytest.mark.parametrize("behind", ["RETURN id(m) AS m ORDER BY m", "RETURN count(*) AS n"])
def test_predicates_become_alike_and_unlike(
    graph: Database, store: Path, mode: str, behind: str
) -> None:
    """Two of them are of one value or not; what was planned for the one is not run for the other."""
    text = f"MATCH {mode} (a {{name: $i}})--(m)--(b {{name: $j}}) {behind}"
    for first in ("11", "12"):
        graph._statements.clear()
        for both in (first, "12", "11", "22", "21", "34", "33"):
            values = {"i": f"né{both[0]}", "j": f"né{both[1]}"}
            found = graph.execute(text, values).fetchall()
            with gdb.connect(store, read_only=True) as fresh:
                assert found == fresh.execute(text, values).fetchall()
