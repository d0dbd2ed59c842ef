"""What stops early: LIMIT fills from the first rows that are found, EXISTS { } needs no second embedding, and a
MATCH starts from the rows before it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

import gdb
import gdb.physical.columns.chain_run
import gdb.physical.rows.row_run
from gdb import Database, errors
from gdb.executor.run import Options
from gdb.logical import rewrites
from gdb.physical import counting
from gdb.physical.row_graph import RowGraph
from gdb.query_graph import QueryEdge, QueryGraph, QueryVertex
from gdb.run import columns_or_rows
from gdb.storage.format.direction import Direction
from tests.support.chain_queries import graph_queries, normal
from tests.support.counting_queries import Counts
from tests.support.effort import share

LEAVES = 3000
VALUES = {"ints": [1, 2, 5]}


@pytest.fixture(params=["columns", "rows"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Queries of several clauses go this way."""
    monkeypatch.setattr(rewrites, "REWRITES", ())  # which make one pattern of clauses
    if request.param == "rows":
        monkeypatch.setattr(columns_or_rows, "WAY", "rows")
    else:
        monkeypatch.setattr(columns_or_rows, "WAY", "columns")
    return str(request.param)


@pytest.fixture
def star() -> Iterator[Database]:
    """A hub with many leaves, which have two each of their own; one leaf has the label Odd."""
    with gdb.connect() as db:
        db.execute(
            f"CREATE (h:Hub) WITH h UNWIND range(1, {LEAVES}) AS i"
            " CREATE (h)-[:S]->(l:Leaf {i: i})-[:T]->(:End), (l)-[:T]->(:End)"
        )
        db.execute("MATCH (l:Leaf {i: 7}) SET l:Odd")
        yield db


# ---- LIMIT ---------------------------------------------------------------------------------------

FILLED = {
    "MATCH (h:Hub)-->(l) WITH h, l MATCH (l)-->(e) RETURN l.i, e LIMIT 10": 10,
    "MATCH (l:Leaf) OPTIONAL MATCH (l)-->(e) RETURN l.i, e SKIP 3 LIMIT 10": 10,
    "MATCH (l:Leaf) WITH l LIMIT 5 MATCH (l)-->(e) RETURN l.i, count(*) AS n": 5,
    "MATCH (h:Hub) UNWIND range(1, 100000) AS x MATCH (h)-->(l) RETURN x, l LIMIT 3": 3,
    "MATCH (l:Leaf) WITH l.i AS i, l WHERE i > 0 MATCH (l)-->(e) RETURN i, e LIMIT 7": 7,
    "MATCH (l:Leaf) WITH DISTINCT l OPTIONAL MATCH (l)-->(e) RETURN l, e LIMIT 4": 4,
    "MATCH (h:Hub) MATCH (l:Leaf) WITH h, l MATCH (m:Leaf) RETURN h, l, m LIMIT 11": 11,
    "MATCH (l:Leaf) WHERE EXISTS { (l)-->() } WITH l MATCH (l)-->(e) RETURN e LIMIT 6": 6,
    "MATCH (l:Leaf) WITH l MATCH (l)-[:T*1..2]->(e) RETURN l.i, e LIMIT 10": 10,
    "MATCH (l:Leaf) OPTIONAL MATCH (l)-[:T*2..3]->(e) RETURN l.i, e LIMIT 10": 10,
    "MATCH (l:Leaf) WITH l MATCH p = (l)-[:T*0..2]->(e) RETURN length(p) AS n LIMIT 4": 4,
}


@pytest.mark.parametrize("text", FILLED)
def test_limit_is_filled_from_few_rows(star: Database, way: str, text: str) -> None:
    result = star.execute(text)
    assert result.summary.evaluator == {"columns": "duckdb", "rows": "rows"}[way]
    assert len(result.fetchall()) == FILLED[text]
    assert result.summary.embeddings < 8 * 512 + LEAVES * ("DISTINCT" in text or "EXISTS" in text)
    assert any("than LIMIT" in line for line in star.explain(text).splitlines())


def test_limit_goes_on_until_it_is_full(star: Database, way: str) -> None:
    """The one leaf is among the last that are found, or the first."""
    text = "MATCH (l:Leaf) WITH l WHERE l.i = $i MATCH (l)-->(e) RETURN l.i LIMIT 3"
    for i in (1, LEAVES // 2, LEAVES):
        assert star.execute(text, {"i": i}).fetchall() == [(i,), (i,)]
    many = "MATCH (l:Leaf) WITH l OPTIONAL MATCH (l)-->(e) RETURN l, e LIMIT 100000"
    assert len(star.execute(many).fetchall()) == 2 * LEAVES
    assert star.execute("MATCH (l:Leaf) WITH l MATCH (l)-->(e) RETURN e LIMIT 0").fetchall() == []


NOT_FILLED = [
    "MATCH (l:Leaf) WITH l MATCH (l)-->(e) RETURN l.i AS i ORDER BY i DESC LIMIT 2",
    "MATCH (l:Leaf) WITH l ORDER BY l.i DESC LIMIT 2 MATCH (l)-->(e) RETURN l.i",
    "MATCH (l:Leaf) WITH l MATCH (l)-->(e) WITH DISTINCT l.i % 2 AS i RETURN i LIMIT 5",
    "MATCH (l:Leaf) WITH l MATCH (l)-->(e) WITH count(*) AS n RETURN n LIMIT 1",
    "MATCH (l:Leaf) OPTIONAL MATCH (l)<--(h:Hub {i: 1}) WITH l, h WHERE h IS NOT NULL RETURN l LIMIT 1",
    "MATCH (l:Leaf) WHERE NOT (l)-->(:End) WITH l MATCH (l)-->(e) RETURN l LIMIT 1",
    "MATCH (l:Leaf) WHERE COUNT { (:Hub)-->()-->(x)<--(l) } <> 0 WITH l MATCH (l:Hub) RETURN l LIMIT 1",
]


@pytest.mark.parametrize("text", NOT_FILLED)
def test_limit_leaves_nothing_out(star: Database, way: str, text: str) -> None:
    """What sorts, groups, or tests whether there is none, sees all rows."""
    found = star.execute(text).fetchall()
    known = {
        "ORDER": [(LEAVES,)] * 2
        if "RETURN l.i AS" in text
        else [(LEAVES,)] * 2 + [(LEAVES - 1,)] * 2,
        "DISTINCT": [(0,), (1,)],
        "count(*)": [(2 * LEAVES,)],
    }
    (expected,) = [rows for word, rows in known.items() if word in text] or [[]]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("walks", [False, True])
@pytest.mark.parametrize("seed", range(share(6)))
def test_limited_rows_are_some_of_all(
    seed: int, walks: bool, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random queries that begin with one row of each part: as many rows as there are, up to the limit, all of them
    rows of the query without it."""
    monkeypatch.setattr(gdb.physical.columns.chain_run, "FIRST", 1)
    monkeypatch.setattr(gdb.physical.rows.row_run, "FIRST", 1)
    monkeypatch.setattr(gdb.physical.columns.chain_run, "TIMES_MORE", 2)
    monkeypatch.setattr(gdb.physical.rows.row_run, "TIMES_MORE", 2)
    with gdb.connect() as db:
        for text, values in graph_queries(random.Random(seed)):
            db.execute(text, values)
        for number in range(8):
            query = Counts(random.Random(1000 * seed + number), walks)
            text, limit = query.rows(), random.Random(number).randrange(0, 6)
            skip = random.Random(number).choice(["", "", "SKIP 2 "])
            every = Counter(normal(db.execute(text, VALUES).fetchall(), False, False))
            some = db.execute(f"{text} {skip}LIMIT {limit}", VALUES).fetchall()
            assert not Counter(normal(some, False, False)) - every, text
            left = max(every.total() - (2 if skip else 0), 0)
            assert len(some) == min(limit, left), text


# ---- EXISTS --------------------------------------------------------------------------------------

ASKED = {
    "MATCH (h:Hub) WITH h WHERE EXISTS { (h)-->()-->(:End) } RETURN count(*) AS n": 1,
    "MATCH (h:Hub) WITH h WHERE (h)-->()-->() RETURN count(*) AS n": 1,
    "MATCH (h:Hub), (l:Odd) WITH h, l WHERE EXISTS { (h)-->(l)-->(e) } RETURN count(*) AS n": 1,
    "MATCH (h:Hub), (l:Odd) WITH h, l WHERE NOT EXISTS { (l)-->(h) } RETURN count(*) AS n": 1,
    "MATCH (h:Hub) WITH h, COUNT { (h)-->()-->() } AS n RETURN n": 2 * LEAVES,
    "MATCH (h:Hub), (l:Odd) WITH h, l, COUNT { (h)-->(l)-->() } AS n RETURN n": 2,
}


@pytest.mark.parametrize("text", ASKED)
def test_patterns_in_expressions_list_nothing(
    star: Database, way: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "WORTH_COUNTING", 0.0)
    result = star.execute(text)
    assert result.scalar() == ASKED[text]
    if "COUNT" not in text:
        assert result.summary.embeddings < 10


def test_null_and_deleted_have_no_pattern(star: Database, way: str) -> None:
    text = "OPTIONAL MATCH (a:Nobody) WITH a RETURN EXISTS { (a)--() } AS e, COUNT { (a)--() } AS n"
    assert star.execute(text).fetchall() == [(False, 0)]


# ---- rows as vertices ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_pattern_at_rows(seed: int) -> None:
    """Paths of two, in either mode of counting, against a walk over all pairs of relationships."""
    chance = random.Random(seed)
    with gdb.connect() as db:
        db.execute("UNWIND range(0, 8) AS i CREATE (:N {i: i})")
        pairs = [(chance.randrange(9), chance.randrange(9)) for _ in range(25)]
        db.execute(
            "UNWIND $p AS p MATCH (a:N {i: p[0]}), (b:N {i: p[1]}) CREATE (a)-[:E]->(b)",
            {"p": [list(pair) for pair in pairs]},
        )
        snapshot = db._store.snapshot()
        view = snapshot.adjacency(("E",), Direction.OUT)
        edges = [(v, int(t)) for v in range(9) for t in view.neighbours_of(v)]
        graph = QueryGraph(
            (QueryVertex("a"), QueryVertex("x"), QueryVertex("b")),
            (QueryEdge(0, 1, ("E",)), QueryEdge(1, 2, ("E",))),
        )
        ends = sorted({(chance.randrange(9), chance.randrange(9)) for _ in range(12)})
        columns = [np.array(column, np.uint32) for column in zip(*ends, strict=True)]
        known = [
            sum(
                e != f and (one[0], one[1], other[0], other[1]) == (a, one[1], one[1], b)
                for e, one in enumerate(edges)
                for f, other in enumerate(edges)
            )
            for a, b in ends
        ]
        for worth in (0.0, float("inf")):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(counting, "WORTH_COUNTING", worth)
                at, many = counting.at_rows(
                    graph, snapshot, Options(), (0, 2), columns, numbers=True
                )
            found = np.zeros(len(ends), np.int64)
            found[at] = many
            assert found.tolist() == known
        at, _ = counting.at_rows(graph, snapshot, Options(), (0, 2), columns, numbers=False)
        assert at.tolist() == [k for k, n in enumerate(known) if n]


def test_too_many_rows() -> None:
    class Huge:
        vertex_count, edge_count = (1 << 32) - 2, 0
        groups = edge_types = ()

    with pytest.raises(errors.LimitExceeded):
        RowGraph(Huge(), [np.zeros(2, np.uint32)])  # type: ignore[arg-type]


def test_pairs_are_no_product(star: Database, way: str) -> None:
    """Each hub has its own leaves: the pairs are few, and between their columns there is much."""
    star.execute(
        "UNWIND range(1, 60) AS i CREATE (a:Left {i: i}), (b:Right {i: i}) WITH 1 AS one"
        " MATCH (a:Left), (b:Right) WITH DISTINCT a, b CREATE (a)-[:U]->(:Mid)-[:U]->(b)"
    )
    text = (
        "MATCH (a:Left), (b:Right) WHERE a.i = b.i WITH a, b"
        " MATCH (a)-[:U]->(m)-[:U]->(b) RETURN a.i, m, b.i"
    )
    result = star.execute(text)
    assert len(result.fetchall()) == 60
    assert result.summary.embeddings == 60 + 60 + 60
