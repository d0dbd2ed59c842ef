"""Paths are searched breadth first if only their ends matter, in every way of running.

In a complete digraph there are more trails than can be listed: a query that lists them does not end in time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import gdb
from gdb import Database
from gdb.language.clauses import Match
from gdb.language.parser import parse
from gdb.logical import planning
from gdb.physical.rows import pattern as row_patterns
from gdb.query_graph import DIFFERENT_EDGES
from tests.support.effort import share
from tests.support.ways import WAYS, Way, forced

SIZE = 12
EVERY = [*range(SIZE)]
TIMEOUT = 10.0
FROM_0 = "MATCH (a {i: 0})-[*]->(b) "


@pytest.fixture(scope="module", params=[0, 3000], ids=["small", "beside others"])
def complete(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A complete digraph; alone, or beside so many other nodes that columns are chosen."""
    with gdb.connect() as db:
        db.execute(f"UNWIND range(0, {SIZE - 1}) AS i CREATE (:P {{i: i}})")
        db.execute("MATCH (a:P), (b:P) WHERE a <> b CREATE (a)-[:R {w: 1}]->(b)")
        db.execute("UNWIND range(1, $n) AS j CREATE (:I {j: j})", {"n": request.param})
        yield db


ENDS: dict[str, list[object]] = {
    "MATCH (a {i: 0})-[*1..20]->(b) RETURN DISTINCT b.i": EVERY,
    FROM_0 + "WITH DISTINCT b RETURN b.i": EVERY,
    FROM_0 + "RETURN max(b.i)": [11],
    FROM_0 + "RETURN min(b.i)": [0],
    FROM_0 + "RETURN count(DISTINCT b.i)": [12],
    FROM_0 + "RETURN count(DISTINCT b)": [12],
    FROM_0 + "WITH a.i AS i, max(b.i) AS most RETURN i + most": [11],
    FROM_0 + "WHERE b.i > 9 RETURN DISTINCT b.i": [10, 11],
    FROM_0 + "WITH DISTINCT b MATCH (b)-->(c) RETURN count(*)": [132],
    FROM_0 + "WITH b ORDER BY b.i RETURN DISTINCT b.i": EVERY,
    FROM_0 + "RETURN b.i AS i UNION MATCH (a {i: 1})-[*]->(b) RETURN b.i AS i": EVERY,
    "MATCH (a {i: 0})-[*2..]->(b) RETURN DISTINCT b.i": EVERY,
    "MATCH (a {i: 0})-[*]->(b)-->(c) RETURN DISTINCT c.i": EVERY,
    "MATCH (a {i: 0})-[*]-(b) RETURN DISTINCT b.i": EVERY,
    "MATCH ACYCLIC (a {i: 0})-[*]->(b) RETURN DISTINCT b.i": EVERY[1:],
    "MATCH p = (a {i: 0})-[r*]->(b) RETURN DISTINCT b.i": EVERY,
    "MATCH (a {i: 0})-[r* {w: 1}]->(b) RETURN DISTINCT b.i": EVERY,
    "MATCH (a {i: 0})-[r*]->(b) WHERE all(q IN r WHERE q.w = 1) RETURN DISTINCT b.i": EVERY,
    "MATCH (a {i: 0}), (b {i: 5}) MATCH (a)-[*]->(b) RETURN DISTINCT b.i": [5],
    "MATCH (a {i: 0}) OPTIONAL MATCH (a)-[*]->(b) RETURN DISTINCT b.i": EVERY,
    "MATCH (a {i: 0}) CALL (a) { MATCH (a)-[*]->(b) RETURN DISTINCT b } RETURN b.i": EVERY,
    "MATCH (a {i: 0}) CALL (a) { MATCH (a)-[*]->(b) RETURN count(DISTINCT b) AS n } RETURN n": [12],
    # tests of existence
    "MATCH (a {i: 0}) WHERE EXISTS { (a)-[*]->(b {i: 5}) } RETURN a.i": [0],
    "MATCH (a {i: 0}) WHERE EXISTS { (a)-[*]->(b:I) } RETURN a.i": [],
    "MATCH (a {i: 0}) WHERE EXISTS { (a)-[*3..]->(b {i: 5}) } RETURN a.i": [0],
    "MATCH (a {i: 0}) WHERE EXISTS { MATCH (a)-[*]->(b) RETURN b.i AS i } RETURN a.i": [0],
    "MATCH (a {i: 0}), (b {i: 5}) WHERE (a)-[*]->(b) RETURN a.i": [0],
    "MATCH (a {i: 0}), (b {i: 5}) WHERE NOT (a)-[*]->(b) RETURN a.i": [],
    "MATCH (a {i: 0}), (b {i: 5}) WHERE EXISTS { (a)-[*3..]->(b) } RETURN a.i": [0],
    "MATCH (a {i: 0}) WHERE EXISTS { (a)-[*]->(a) } RETURN a.i": [0],
    "MATCH (a {i: 0}) RETURN exists((a)-[*]->({i: 5}))": [True],
    "MATCH (a {i: 0}) RETURN [x IN [1] WHERE exists((a)-[*]->({i: 5}))] = [1]": [True],
    "MATCH (a) WHERE (a)-[*]->({i: 3}) RETURN a.i": EVERY,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", ENDS)
def test_no_path_is_listed_of_which_only_the_ends_matter(
    complete: Database, text: str, way: Way
) -> None:
    with forced(way):
        rows = complete.execute(text, timeout=TIMEOUT).fetchall()
    assert sorted(value for (value,) in rows) == ENDS[text]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("MATCH (a {i: 0}) WHERE EXISTS { (a)-[*]->(b {i: 5}) } SET a.seen = true", 1),
        ("MATCH (a:P) WHERE EXISTS { (a)-[*]->(b {i: 5}) } SET a.seen = true", 12),
        ("MATCH (a:P), (b {i: 5}) WHERE (a)-[*]->(b) SET a.seen = true", 12),
        (FROM_0 + "WITH DISTINCT b SET b.seen = true", 12),
    ],
)
def test_nor_in_a_query_that_writes(complete: Database, text: str, changed: int, way: Way) -> None:
    with forced(way):
        complete.execute(text, timeout=TIMEOUT)
    assert complete.execute("MATCH (a {seen: true}) RETURN count(*)").scalar() == changed
    complete.execute("MATCH (a {seen: true}) REMOVE a.seen")


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (FROM_0 + "RETURN DISTINCT b.i", "walk a to b: only where paths end"),
        (FROM_0 + "RETURN b.i", "walk a to b: every path"),
        ("MATCH (a {i: 0}) WHERE (a)-[*]->({i: 5}) SET a.x = 1", "walk a: only where paths end"),
        ("MATCH p = ANY SHORTEST (a {i: 0})-[*]->(b) RETURN p", "walk a to b: shortest paths"),
    ],
)
def test_explain_shows_the_search_over_rows(complete: Database, text: str, how: str) -> None:
    with forced("rows"):
        lines = complete.execute(f"EXPLAIN {text}").fetchall()
    assert how in [line.strip() for (line,) in lines]


def test_explain_shows_where_a_run_goes_on_that_meets_many_rows() -> None:
    text = "MATCH (a:P {i: 0})-[*]->(b) RETURN DISTINCT b.i"
    with gdb.connect() as db:
        db.execute("UNWIND range(0, 3000) AS i CREATE (:P {i: i})")
        db.execute("MATCH (a:P) MATCH (b:P {i: a.i + 1}) CREATE (a)-[:R]->(b)")
        first, *_ = db.execute(f"EXPLAIN {text}").fetchone() or ("",)
        ran, *_ = db.execute(f"PROFILE {text}").fetchone() or ("",)
        assert db.execute(text).summary.evaluator == "duckdb"
    assert "it runs over columns (DuckDB)" in first
    assert "over columns (DuckDB)" in ran


# ---- the pass ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("MATCH (a)-[*]->(b) RETURN DISTINCT b.i", {"b"}),
        ("MATCH (a)-[*]->(b) RETURN a.x, max(b.i)", {"a", "b"}),
        ("MATCH (a)-[*]->(b) RETURN a UNION MATCH (a) RETURN a", {"a"}),
        ("MATCH (a)-[r*]->(b) RETURN DISTINCT size(r)", {"r"}),
        ("MATCH (a)-[*]->(b) RETURN a UNION ALL MATCH (a) RETURN a", None),
        ("MATCH (a)-[*]->(b) RETURN b", None),
        ("MATCH (a)-[*]->(b) RETURN count(*)", None),
        ("MATCH (a)-[*]->(b) RETURN sum(b.x)", None),
        ("MATCH (a)-[*]->(b) WITH b LIMIT 3 RETURN DISTINCT b", None),
        ("MATCH (a)-->(b) RETURN DISTINCT b", None),
    ],
)
def test_what_is_needed_of_the_rows_of_a_match(text: str, needed: set[str] | None) -> None:
    match = planning.planned(parse(text), {}, DIFFERENT_EDGES).sides[0][0]
    assert isinstance(match, Match)
    assert match.needed == needed


# ---- random patterns -----------------------------------------------------------------------------


class Queries:
    """Queries of whose paths only the ends matter, over a few nodes."""

    def __init__(self, rng: random.Random, nodes: int) -> None:
        self.rng, self.nodes = rng, nodes

    def make(self) -> str:
        pick = self.rng.choice
        types, mode = pick(["", ":R", ":S", ":R|S"]), pick(["", "", "", "ACYCLIC "])
        length = pick(["*", "*1..3", "*0..", "*2..", "*2..3", "*3..6", "*1..20"])
        name = pick(["", "r"])
        arrow = pick(["-[%s]->", "<-[%s]-", "-[%s]-"])
        edge, bare = arrow % (name + types + length), arrow % (types + length)
        where = pick(["", "", " WHERE all(q IN r WHERE q.w > 0)"]) if name else ""
        start = pick([f"(a {{i: {self._node()}}})", "(a:A)", "(a)"])
        end = pick(["(b)", "(b:B)", "(b {x: 1})", f"(b {{i: {self._node()}}})", "(a)"])
        more = pick(["", "", "-->(c)", "<-[:R]-(c)", ", (a)-->(c)"])
        last = end[1]
        path, inner = f"{start}{edge}{end}{more}", f"MATCH {mode}(a){edge}{end}{more}{where}"
        behind = pick(
            [
                f"RETURN DISTINCT {last}.i",
                f"RETURN DISTINCT a.i, {last}.i AS b",
                f"RETURN count(DISTINCT {last})",
                f"RETURN a.i, max({last}.x)",
                f"WITH DISTINCT {last} RETURN count({last})",
                f"WITH DISTINCT a, {last} AS b WHERE b.x > 0 RETURN a.i, b.i",
                f"RETURN {last}.i AS i UNION MATCH (z:A) RETURN z.i AS i",
                "RETURN DISTINCT c.i" if more else "RETURN DISTINCT a.x",
            ]
        )
        no = pick(["", "NOT "])
        return pick(
            [
                f"MATCH {mode}{path}{where} {behind}",
                f"MATCH (a) OPTIONAL {inner} RETURN DISTINCT a.i, {last}.i AS b",
                f"MATCH (a) WHERE {no}EXISTS {{ {inner} }} RETURN a.i",
                f"MATCH (a) WHERE EXISTS {{ {inner} RETURN {last} }} RETURN a.i",
                f"MATCH (a), (b) WHERE {no}(a){bare}(b) RETURN a.i, b.i",
                f"MATCH (a) RETURN a.i, [y IN [1] WHERE exists((a){bare}(:B))]",
                f"MATCH (a), (b:B) WHERE EXISTS {{ (a){bare}(b) }} RETURN a.i, b.i",
                f"UNWIND [0, 1, 1] AS k MATCH (a {{i: k}}) CALL (a) {{ MATCH {mode}(a){edge}{end}{where}"
                f" RETURN DISTINCT {last} AS e }} RETURN k, e.i",
            ]
        )

    def _node(self) -> int:
        return self.rng.randrange(self.nodes)


def random_graph(rng: random.Random, nodes: int) -> Database:
    """Nodes of two labels, and relationships of two types."""
    db = gdb.connect()
    for i in range(nodes):
        label = rng.choice(["A", "B", "A:B"])
        db.execute(f"CREATE (:{label} {{i: {i}, x: {rng.randrange(3)}}})")
    for _ in range(rng.randint(1, 9)):
        ends = {"a": rng.randrange(nodes), "b": rng.randrange(nodes), "w": rng.randrange(3)}
        made = f"(a)-[:{rng.choice('RS')} {{w: $w}}]->(b)"
        db.execute(f"MATCH (a {{i: $a}}), (b {{i: $b}}) CREATE {made}", ends)
    return db


@pytest.mark.parametrize("seed", range(share(12)))
def test_random_ends_are_those_of_all_paths(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    nodes = rng.randint(2, 6)

    def answer(text: str, way: Way) -> list[str] | str:
        try:
            with forced(way):
                return sorted(map(repr, db.execute(text, timeout=TIMEOUT).fetchall()))
        except gdb.errors.QueryError as error:
            return type(error).__name__

    with random_graph(rng, nodes) as db:
        queries = Queries(rng, nodes)
        for text in (queries.make() for _ in range(10)):
            with monkeypatch.context() as patch:  # the definition: every path is listed
                patch.setattr(row_patterns, "mark_once", lambda *_: None)
                listed = answer(text, "rows")
            for way in WAYS:
                assert answer(text, way) == listed, text
