"""Numbers of embeddings for each vertex: counted, where they would be listed otherwise."""

from __future__ import annotations

import csv
import random

import pytest

import gdb
from gdb.executor import run
from gdb.executor.relational.relational_tail import Value
from gdb.physical import counting

PATTERNS = (
    "(a)-[]-(b)-[]-(c)",
    "(a)-[]-(b)-[]-(c)-[]-(a)",
    "(b)-[]-(a)-[]-(c), (b)-[]-(d)-[]-(c)",
    "(a)-->(b)<--(c)",
    "(b:A)-[r:R]->(a), (a)-->(c)",
    "(b)-->(a)-->(a)",
    "(a)-->(b), (c:B)",
)
MODES = ("", "DIFFERENT NODES", "REPEATABLE ELEMENTS", "SUBGRAPHS")
RETURNS = (
    "id(a) AS v, count(*) AS n",
    "count(*) AS n, a",
    "a.x AS x, count(*) AS n",
    "labels(a) AS l, count(*) AS n, 2 * count(*) AS twice",
    "id(a) AS v, count(*) AS n ORDER BY n DESC, v LIMIT 4",
    "id(a) % 3 AS k, count(*) AS n ORDER BY k SKIP 1",
)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> gdb.Database:
    """Two labels, parallel edges, loops, a property that some vertices have not."""
    draw, folder = random.Random(3), tmp_path_factory.mktemp("counts")
    with (folder / "nodes.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([":ID", ":LABEL", "x:int"])
        rows.writerows([v, draw.choice("AB"), draw.choice(["", "1", "2"])] for v in range(24))
    with (folder / "edges.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([":START_ID", ":END_ID", ":TYPE"])
        rows.writerows(
            [draw.randrange(20), draw.randrange(20), draw.choice("RS")] for _ in range(70)
        )
    db = gdb.connect(folder / "counts.gdb")
    db.load(nodes=folder / "nodes.csv", edges=folder / "edges.csv")
    return db


def answer(
    db: gdb.Database, query: str, threads: int = 0, device: str = "cpu"
) -> list[tuple[Value, ...]]:
    rows = db.execute(query, threads=threads, device=device).fetchall()
    plain: list[tuple[Value, ...]] = [tuple(str(x) for x in row) for row in rows]
    return plain if "ORDER BY" in query else sorted(plain)


@pytest.mark.parametrize("returned", RETURNS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_counted_as_listed(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch, pattern: str, returned: str
) -> None:
    asked: list[object] = []
    counted = run.tallies
    monkeypatch.setattr(run, "tallies", lambda *given: asked.append(given) or counted(*given))
    for mode in MODES:
        for where in ("", " WHERE a.x > 1"):
            query = f"MATCH {mode} {pattern}{where} RETURN {returned}"
            monkeypatch.setattr(counting, "WORTH_COUNTING", 0.0)
            monkeypatch.setattr(counting, "MUCH_WORSE", float("inf"))
            found = [answer(db, f"{query} // {k}", threads) for k, threads in enumerate((1, 2))]
            assert len(asked) == (0 if mode == "SUBGRAPHS" else 2)
            asked.clear()
            monkeypatch.setattr(counting, "WORTH_COUNTING", float("inf"))
            assert found == [answer(db, f"{query} // listed")] * 2
            assert not asked


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a)-->(b) RETURN id(a), count(*), count(DISTINCT b.x)",  # more than their number
        "MATCH (a)-->(b) RETURN id(a), id(b), count(*)",
        "MATCH (a) RETURN a.x, count(*)",
        "MATCH (a)-[r]->(b) RETURN type(r), count(*)",
        "MATCH (a)-->(b) WHERE a.x * b.x <> 3 RETURN id(a), count(*)",
    ],
)
def test_what_has_to_be_listed(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(counting, "WORTH_COUNTING", 0.0)
    monkeypatch.setattr(run, "tallies", None)
    assert db.execute(query).fetchall()


def test_few_embeddings_are_listed(db: gdb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "tallies", None)
    assert db.execute("MATCH (a)-->(b) RETURN id(a), count(*)").fetchall()


def test_parameters_change_and_the_plan_stays(
    db: gdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "WORTH_COUNTING", 0.0)
    query = "MATCH (a)-->(b)-->(c) WHERE b.x = $x RETURN id(a) AS v, count(*) AS n"
    found = [sorted(db.execute(query, {"x": x}).fetchall()) for x in (1, 2, 1)]
    monkeypatch.setattr(counting, "WORTH_COUNTING", float("inf"))
    query += " // listed"
    assert found == [sorted(db.execute(query, {"x": x}).fetchall()) for x in (1, 2, 1)]


def test_what_it_did_is_told(db: gdb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "WORTH_COUNTING", 0.0)
    query = "MATCH (a)-->(b)-->(c) RETURN id(a) AS v, count(*) AS n"
    plan = "\n".join(str(row[0]) for row in db.execute(f"EXPLAIN {query}"))
    assert "for a in candidates(a)" in plan
    assert "write a row" not in plan
    assert "embeddings: " in "\n".join(str(row[0]) for row in db.execute(f"PROFILE {query}"))
