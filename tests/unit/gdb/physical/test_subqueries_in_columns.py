"""CALL { } that sees the rows runs over columns for all rows at once, and gives what it gives row by row."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator

import pytest

import gdb
from gdb import Database, errors
from tests.support.effort import share
from tests.support.ways import Way, forced

WAYS: tuple[Way, ...] = "rows", "columns"
BEGINNINGS = (
    *(
        "MATCH (a)",
        "MATCH (a:A)",
        "MATCH (z)-->(a)",
        "OPTIONAL MATCH (a:C)",
        "UNWIND [1, 2] AS u MATCH (a)",
    ),
    *("MATCH (a) WITH a, a.x AS p", "MATCH (a) WITH a ORDER BY a.id LIMIT 4", "MATCH (a:None)"),
)
PATTERNS = (
    *("MATCH (a)-[r:T]->(b)", "MATCH (a)--(b)", "MATCH (a)-->(b:A)", "MATCH (a)-[:T]->(b)-->(c)"),
    *(
        "OPTIONAL MATCH (a)-[r:U]->(b)",
        "OPTIONAL MATCH (a)-->(b) WHERE b.x > a.x",
        "UNWIND [1, 2, 3] AS b",
    ),
    *("MATCH (b) WHERE b.x = a.x", "MATCH (b:B) WHERE b.id > a.id", "MATCH (a)-[:T*1..2]->(b)"),
    *("WITH a WHERE a.x > 1 MATCH (a)-->(b)", "MATCH (a)-->(b) WHERE EXISTS { (b)-->(a) }"),
    "MATCH (a)-->(b) WITH DISTINCT a, b ORDER BY b.id LIMIT 2",
)
RESULTS = (
    *(
        "RETURN count(*) AS n, 0 AS v",
        "RETURN count($b) AS n, max($b) AS v",
        "RETURN $b AS n, a.id AS v",
    ),
    *(
        "RETURN sum($b) AS n, min($b) AS v",
        "RETURN DISTINCT $b AS n, 1 AS v",
        "RETURN $b AS n, count(*) AS v",
    ),
    *(
        "RETURN $b AS n, a.x AS v ORDER BY n DESC LIMIT 2",
        "RETURN $b AS n, a.x AS v ORDER BY n SKIP 1",
    ),
    *(
        "RETURN $b AS n, a.x AS v ORDER BY n DESC LIMIT 0",
        "RETURN count(DISTINCT $b) AS n, a.id + 1 AS v",
    ),
    *(
        "WITH $b AS k, count(*) AS c RETURN max(c) AS n, count(k) AS v",
        "WITH avg($b) AS q RETURN q AS n, 1.5 AS v",
    ),
    *(
        "WITH DISTINCT $b AS k RETURN count(k) AS n, sum(k) AS v",
        "WITH count(*) AS c RETURN c AS n, a.x AS v",
    ),
    *(
        "WITH count(*) AS c WHERE c > 1 RETURN c AS n, a.id AS v",
        "WITH collect($b) AS l RETURN size(l) AS n, 1 AS v",
    ),
    "WITH $b AS k ORDER BY k LIMIT 2 RETURN sum(k) AS n, count(*) AS v",
)
PASSED = "WITH $b AS k, a WHERE k > 1 RETURN a AS own, k AS n, count(*) AS v"
"""The row's own node comes back, null where OPTIONAL CALL has no row."""
NESTED = "MATCH (a)-->(d) CALL (d) { MATCH (d)--(e) RETURN count(e) AS k } RETURN sum(k) AS n, count(*) AS v"
ENDS = (
    *("RETURN a.id AS i, n, v", "RETURN count(*) AS i, sum(n) AS n, max(v) AS v"),
    *(
        "RETURN a.id AS i, sum(n) AS n, count(v) AS v",
        "RETURN a.id AS i, n, v ORDER BY i, n, v LIMIT 5",
    ),
    "WITH n, v, a WHERE n > 0 MATCH (a)-->(f) RETURN f.id AS i, n, v",
)


def random_store(draw: random.Random) -> Database:
    db = gdb.connect()
    count = draw.randrange(2, 9)
    for k in range(count):
        values = [f"id: {k}"]
        values += [f"x: {draw.randrange(4)}"] if draw.random() < 0.8 else []
        db.execute(f"CREATE (:{draw.choice(('A', 'B', 'A:B', 'C'))} {{{', '.join(values)}}})")
    for _ in range(draw.randrange(3 * count)):
        ends = {"a": draw.randrange(count), "b": draw.randrange(count)}
        type_ = draw.choice("TU")
        db.execute(f"MATCH (a {{id: $a}}), (b {{id: $b}}) CREATE (a)-[:{type_}]->(b)", ends)
    return db


def body(draw: random.Random) -> str:
    pattern = draw.choice(PATTERNS)
    value = "b" if "UNWIND" in pattern else draw.choice(("b.x", "b.id"))
    return f"{pattern} {draw.choice(RESULTS).replace('$b', value)}"


def passed(draw: random.Random) -> str:
    """A query whose subquery gives the row's own node back."""
    pattern = draw.choice(PATTERNS)
    value = "b" if "UNWIND" in pattern else draw.choice(("b.x", "b.id"))
    inner = f"{pattern} {PASSED.replace('$b', value)}"
    end = draw.choice(
        ("RETURN a.id, own.id, n, v", "OPTIONAL MATCH (own)-->(q) RETURN a.id, own.x, q.id, n")
    )
    return f"{draw.choice(BEGINNINGS)} {draw.choice(('', 'OPTIONAL '))}CALL (a) {{ {inner} }} {end}"


def query(draw: random.Random) -> str:
    inner = NESTED if draw.random() < 0.15 else body(draw)
    if draw.random() < 0.2:
        inner += f" {draw.choice(('UNION', 'UNION ALL'))} {body(draw)}"
    optional = draw.choice(("", "", "OPTIONAL "))
    return f"{draw.choice(BEGINNINGS)} {optional}CALL (a) {{ {inner} }} {draw.choice(ENDS)}"


def question(draw: random.Random) -> str:
    """A query with a subquery in an expression."""
    begin, inner, other = draw.choice(BEGINNINGS), body(draw), body(draw)
    kind = draw.randrange(4)
    if kind == 0:
        value = f"COUNT {{ {inner} {draw.choice(('', f'UNION {other}', f'UNION ALL {other}'))} }}"
    elif kind == 1:
        value = f"EXISTS {{ {inner} }}"
    else:
        match = draw.choice(PATTERNS)
        item = "b" if "UNWIND" in match else "b.x"
        rest = draw.choice(("", " LIMIT 2", " SKIP 1", " DESC"))
        value = f"COLLECT {{ {match} WITH a, {item} AS k ORDER BY k{rest} RETURN k ORDER BY k }}"
    if kind == 1 and draw.random() < 0.5:
        return f"{begin} WITH a WHERE {value} RETURN a.id, count(*)"
    return f"{begin} RETURN a.id AS i, {value} AS n"


@pytest.mark.parametrize("make", [query, question, passed])
@pytest.mark.parametrize("seed", range(share(12, least=3)))
def test_both_ways_agree(seed: int, make: Callable[[random.Random], str]) -> None:
    draw = random.Random(seed)
    over_columns = 0
    with random_store(draw) as db, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(12):
            text = make(draw)
            found = []
            for way in WAYS:
                with forced(way):
                    found.append(sorted(map(repr, db.execute(text).fetchall())))
            with forced("columns"):
                over_columns += "over columns (DuckDB)" in str(db.execute(f"EXPLAIN {text}"))
            assert found[0] == found[1], text
    assert over_columns >= 9


@pytest.fixture(scope="module")
def star() -> Iterator[Database]:
    with gdb.connect() as db:
        db.execute(
            "CREATE (a:Hub {k: 1}), (b:Hub {k: 2}), (:Hub {k: 3}) "
            "WITH a, b UNWIND range(1, 3) AS i CREATE (a)-[:T {w: i}]->(:Leaf {v: i}) "
            "WITH b, i WHERE i < 3 CREATE (b)-[:T {w: 10 * i}]->(:Leaf {v: -i})"
        )
        yield db


CASES: dict[str, list[tuple[object, ...]]] = {
    "MATCH (h:Hub) CALL (h) { MATCH (h)-[:T]->(l) RETURN count(l) AS n } RETURN h.k, n": [
        *((1, 3), (2, 2), (3, 0)),
    ],
    "MATCH (h:Hub) CALL (h) { MATCH (h)-[t:T]->(l) RETURN l ORDER BY t.w DESC LIMIT 1 } RETURN h.k, l.v": [
        *((1, 3), (2, -2)),
    ],
    "MATCH (h:Hub) OPTIONAL CALL (h) { MATCH (h)-[t:T]->(l) RETURN l.v AS v ORDER BY v LIMIT 1 } RETURN h.k, v": [
        *((1, 1), (2, -2), (3, None)),
    ],
    "MATCH (h:Hub) CALL (h) { MATCH (h)-->(l) RETURN collect(l.v) AS vs } RETURN h.k, size(vs)": [
        *((1, 3), (2, 2), (3, 0)),
    ],
    "MATCH (h:Hub) CALL (h) { MATCH (h)-->(l) WITH count(*) AS c RETURN c + h.k AS n } RETURN h.k, n": [
        *((1, 4), (2, 4), (3, 3)),
    ],
    "MATCH (h:Hub) CALL (h) { MATCH (h)-->(l) WHERE l.v > 1 RETURN l UNION MATCH (h)-->(l) WHERE l.v = 2 RETURN l } "
    "WITH h, l MATCH (l)<--(g) RETURN g.k, count(*)": [(1, 2)],
    "MATCH (h:Hub) RETURN h.k, COLLECT { MATCH (h)-[t:T]->(l) WITH l, t ORDER BY t.w DESC LIMIT 2 "
    "RETURN CASE WHEN l.v = 2 THEN null ELSE l.v END }": [
        *((1, [3, None]), (2, [-2, -1]), (3, [])),
    ],
    "MATCH (h:Hub) OPTIONAL CALL (h) { WITH h WHERE h.k = 1 RETURN h AS v } RETURN h.k, v.k, v:Hub": [
        *((1, 1, True), (2, None, None), (3, None, None)),
    ],
    "MATCH (h:Hub) OPTIONAL CALL (h) { MATCH (h)-->(l {v: 1}) RETURN h AS v, h AS w, l } "
    "RETURN h.k, v.k, w.k, l.v, v = w": [
        *((1, 1, 1, 1, True), (2, None, None, None, None), (3, None, None, None, None)),
    ],
    "MATCH (h:Hub) OPTIONAL CALL (h) { RETURN h AS v, count(*) AS n LIMIT 0 } RETURN h.k, v.k, n": [
        *((1, None, None), (2, None, None), (3, None, None)),
    ],
    "MATCH (h:Hub) WITH h.k AS k, h OPTIONAL CALL (h, k) { WITH h, k WHERE h.k > 1 RETURN k AS v } RETURN k, v": [
        *((1, None), (2, 2), (3, 3)),
    ],
    "MATCH ()-[t:T]->(l) OPTIONAL CALL (t, l) { WITH t, l WHERE l.v = 2 RETURN t AS u } RETURN t.w, u.w, type(u)": [
        *((1, None, None), (2, 2, "T"), (3, None, None), (10, None, None), (20, None, None)),
    ],
    "MATCH (h:Hub) OPTIONAL CALL (h) { WITH h WHERE h.k = 2 RETURN h AS v } OPTIONAL MATCH (v)-->(l) "
    "RETURN h.k, v.k, count(l)": [(1, None, 0), (2, 2, 2), (3, None, 0)],
    "MATCH (h:Hub) CALL { MATCH (l:Leaf) RETURN max(l.v) AS m UNION MATCH (g:Hub) RETURN min(g.k) AS m } "
    "RETURN h.k, sum(m)": [(1, 4), (2, 4), (3, 4)],
}


@pytest.mark.parametrize("text", CASES)
@pytest.mark.parametrize("way", WAYS)
def test_what_it_gives(star: Database, text: str, way: Way) -> None:
    with forced(way):
        assert sorted(map(repr, star.execute(text))) == sorted(map(repr, CASES[text]))
        if way == "columns":
            assert "over columns (DuckDB)" in str(star.execute(f"EXPLAIN {text}"))


def test_rows_of_one_row_keep_their_order(star: Database) -> None:
    text = (
        "MATCH (h:Hub) WITH h ORDER BY h.k DESC "
        "CALL (h) { MATCH (h)-->(l) RETURN l.v AS v ORDER BY v DESC } RETURN h.k, v"
    )
    wanted = [(2, -1), (2, -2), (1, 3), (1, 2), (1, 1)]
    for way in WAYS:
        with forced(way):
            assert star.execute(text).fetchall() == wanted


def test_an_error_inside_is_the_same(star: Database) -> None:
    text = "MATCH (h:Hub) CALL (h) { MATCH (h)-->(l) RETURN 1 / (l.v - l.v) AS n } RETURN sum(n)"
    for way in WAYS:
        with forced(way), pytest.raises(errors.ArithmeticProblem):
            star.execute(text).fetchall()
