"""The names that a subquery takes from around it are visible in all of it, behind each WITH too."""

from __future__ import annotations

import random

import pytest

import gdb
from gdb.logical import planning, rewrites
from tests.support.ways import WAYS, Way, forced

GRAPH = "CREATE (:A {x: 1})-[:R]->(:B {i: 5}), (:A {x: 2})-[:R]->(:B {i: 9})"
READS: dict[str, list[tuple[object, ...]]] = {
    "CALL (a) { MATCH (a)-[:R]->(b) WITH b MATCH (a)-[:R]->(c) RETURN c.i AS i } RETURN a.x, i": [(1, 5), (2, 9)],
    "RETURN a.x, COUNT { MATCH (a)-[:R]->(b) WITH b MATCH (a)-[:R]->(c) RETURN c }": [(1, 1), (2, 1)],
    "WHERE EXISTS { MATCH (a)-[:R]->(b) WITH b MATCH (a {x: 2}) RETURN 1 AS one } RETURN a.x": [(2,)],
    "CALL (a) { WITH 1 AS one RETURN a.x AS w } RETURN a.x, w": [(1, 1), (2, 2)],
    "RETURN COLLECT { MATCH (a)-[:R]->(b) WITH b RETURN b.i + a.x }": [([6],), ([11],)],
    "CALL (a) { WITH DISTINCT 1 AS z RETURN z, a.x AS f } RETURN z, f": [(1, 1), (1, 2)],
    "RETURN COLLECT { UNWIND [1, 2] AS q WITH q RETURN a.x + q }": [([2, 3],), ([3, 4],)],
    "RETURN COLLECT { UNWIND [3, 1] AS q WITH max(q) AS m UNWIND range(a.x, m) AS r RETURN r }": [
        ([1, 2, 3],), ([2, 3],),
    ],
    "CALL (a) { MATCH (a)-->(b) WITH b ORDER BY b.i LIMIT 1 RETURN b.i AS v, a.x AS w } RETURN v, w": [
        (5, 1), (9, 2),
    ],
    "CALL (a) { MATCH (a)-->(b) WITH b MATCH (b)<--(c {x: a.x}) RETURN c.x AS y } RETURN a.x, y": [(1, 1), (2, 2)],
    "CALL (*) { WITH 1 AS q MATCH (z {x: a.x}) RETURN count(*) AS w } RETURN a.x, w": [(1, 1), (2, 1)],
    "CALL (a) { WITH 5 AS y CALL (a, y) { RETURN a.x + y AS z } RETURN z } RETURN z": [(6,), (7,)],
    "CALL (a) { WITH 5 AS y CALL { WITH a WITH a.x AS z RETURN z } RETURN z } RETURN z": [(1,), (2,)],
    "CALL (a) { WITH 1 AS q RETURN a.x AS w UNION WITH 2 AS q RETURN q + a.x AS w } RETURN a.x, w": [
        (1, 1), (1, 3), (2, 2), (2, 4),
    ],
    "RETURN [x IN [1, 2] | COLLECT { UNWIND [7] AS u WITH u RETURN u + x + a.x }]": [
        ([[9], [10]],), ([[10], [11]],),
    ],
    # an aggregate of no rows: one row, which has the names too; a name that it groups by is a key
    "CALL (a) { MATCH (a)-->(:Nix) WITH count(*) AS c RETURN c, a.x AS w } RETURN c, w": [(0, 1), (0, 2)],
    "CALL (a) { MATCH (a)-->(:Nix) WITH *, count(*) AS c RETURN c, a.x AS w } RETURN c, w": [(0, 1), (0, 2)],
    "CALL (a) { MATCH (a)-->(:Nix) WITH a, count(*) AS c RETURN c, a.x AS w } RETURN c, w": [],
    "CALL (a) { WITH a WITH *, 1 AS z MATCH (a)-->(:Nix) WITH *, count(*) AS c RETURN c } RETURN c": [],
    "CALL (a) { MATCH (a)-->(:Nix) WITH count(*) AS c ORDER BY a.x WHERE a.x > 1 RETURN c } RETURN a.x, c": [(2, 0)],
    "CALL (a) { MATCH (a)-->(:Nix) RETURN count(*) + a.x AS c } RETURN c": [(1,), (2,)],
    "CALL (a) { MATCH (a)-->(:Nix) RETURN count(*) AS c ORDER BY a.x } RETURN c": [(0,), (0,)],
    # an import that the body does not use
    "WHERE EXISTS { CALL (a) { MATCH (m) RETURN m } RETURN 1 AS one } RETURN a.x": [(1,), (2,)],
    "WHERE EXISTS { MATCH (k) CALL (a) { MATCH (m) RETURN m } RETURN 1 AS one } RETURN a.x": [(1,), (2,)],
    "WITH collect(a.x) AS l RETURN COUNT { CALL (l) { RETURN 1 AS q } RETURN 1 AS one } AS n": [(1,)],
    # `*` means the names of its own
    "RETURN COLLECT { MATCH (a)-->(b) WITH b.i AS i WITH * RETURN * }": [([5],), ([9],)],
    "RETURN COLLECT { WITH a WITH a.x AS i WITH * RETURN * }": [([1],), ([2],)],
    "RETURN size(COLLECT { WITH a RETURN * })": [(1,), (1,)],
}  # fmt: skip
WRITES: dict[str, tuple[str, list[tuple[object, ...]]]] = {
    "CALL (a) { MATCH (a)-->(b) WITH b CREATE (a)-[:T]->(b) }": (
        "MATCH (a:A)-[:T]->(b:B) RETURN a.x, b.i", [(1, 5), (2, 9)],
    ),
    "CALL (a) { WITH 1 AS o MERGE (a)-[:V]->(z:Z) }": ("MATCH (a:A)-[:V]->(:Z) RETURN a.x", [(1,), (2,)]),
    "CALL (a) { MATCH (a)-->(b) WITH b SET a.q = b.i }": ("MATCH (a:A) RETURN a.x, a.q", [(1, 5), (2, 9)]),
    "CALL (a) { MATCH (a)-[r]->() SET r.w = 10 WITH r SET r.w = r.w + a.x }": (
        "MATCH ()-[r]->() RETURN r.w", [(11,), (12,)],
    ),
    "CALL (a) { WITH 1 AS o DETACH DELETE a }": ("MATCH (n) RETURN labels(n)", [(["B"],), (["B"],)]),
    "CALL (a) { WITH 1 AS o FOREACH (i IN [7] | SET a.m = i) }": ("MATCH (a:A) RETURN a.m", [(7,), (7,)]),
    "CALL (a) { MATCH (a)-->(:Nix) WITH count(*) AS c SET a.c = c }": ("MATCH (a:A) RETURN a.c", [(0,), (0,)]),
}  # fmt: skip


@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.parametrize("text", READS)
def test_reading(text: str, passes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not passes:
        monkeypatch.setattr(rewrites, "REWRITES", ())
        monkeypatch.setattr(planning, "PASSES", ())
    with gdb.connect() as db:
        db.execute(GRAPH)
        assert sorted(db.execute(f"MATCH (a:A) {text}").fetchall()) == READS[text]
        assert db.execute(f"PROFILE MATCH (a:A) {text}").fetchall()


@pytest.mark.parametrize("text", WRITES)
def test_writing(text: str) -> None:
    then, rows = WRITES[text]
    with gdb.connect() as db:
        db.execute(GRAPH)
        db.execute(f"MATCH (a:A) {text}")
        assert sorted(db.execute(then).fetchall()) == rows


def test_explain_shows_where_they_come_from() -> None:
    with gdb.connect() as db:
        db.execute(GRAPH)
        query = "MATCH (a:A) CALL (a) { MATCH (a)-->(b) WITH count(*) AS c RETURN c + a.x AS w } RETURN w"
        plan = str(db.explain(query))
        assert "Argument a" in plan


@pytest.mark.parametrize(
    "body",
    [
        "WITH 3 AS a RETURN a AS z",
        "WITH a WITH 3 AS a RETURN a AS z",
        "WITH a.x AS a RETURN a AS z",
    ],
)
def test_nothing_else_may_have_such_a_name(body: str) -> None:
    with gdb.connect() as db, pytest.raises(gdb.errors.SyntaxProblem, match="'a' is already"):
        db.execute(f"MATCH (a:A) CALL (a) {{ {body} }} RETURN z")


def test_the_older_form_drops_them() -> None:
    with gdb.connect() as db, pytest.raises(gdb.errors.NameProblem, match="add a to it"):
        db.execute("MATCH (a:A) CALL { WITH a WITH 1 AS q RETURN a.x AS w } RETURN w")


# ---- behind a projection that groups rows --------------------------------------------------------

GROUPED = {
    "MATCH (a)-->(b) WITH a, count(*) AS n WHERE EXISTS { (a)<--(%) } RETURN a.n, n": "b",
    "MATCH (a)-->(b) WITH DISTINCT a WHERE EXISTS { (a)<--(%) } RETURN a.n": "b",
    "MATCH (a)-->(b) WITH a AS x, count(*) AS n WHERE EXISTS { (%)-->(x) } RETURN x.n, n": "a",
    "MATCH (a)-->(b) WITH DISTINCT a AS x WHERE EXISTS { (%)-->(x) } RETURN x.n": "a",
    "MATCH (a)-->(b) WITH a AS x, count(*) AS n WHERE a.n > 1 AND EXISTS { (%)-->(x) } RETURN x.n, n": "a",
    "MATCH (a)-->(b) WITH a, count(*) AS n ORDER BY COUNT { (a)<--(%) }, a.n LIMIT 3 RETURN a.n, n": "b",
    "MATCH (a)-->(b) WITH DISTINCT a ORDER BY COUNT { (a)<--(%) }, a.n LIMIT 3 RETURN a.n": "b",
    "MATCH (a)-->(b) WITH a, count(*) AS n WHERE size([(a)<--(%) | %.n]) > 0 RETURN a.n, n": "b",
    "MATCH (a)-->(b) WITH a, count(*) AS n WHERE COUNT { MATCH (a)<--(%) WHERE %.n > 2 } > 0 RETURN a.n, n": "b",
    "MATCH (a)-->(b) WITH a.n AS k, count(*) AS n WHERE EXISTS { (% {n: k})-->() } RETURN k, n": "a",
    "MATCH (a)-->(b) WITH a AS x, count(*) + COUNT { (a)-->() } AS n WHERE EXISTS { (%)-->(x) } RETURN x.n, n": "a",
    "MATCH (z:N {n: 3}) CALL (z) { MATCH (a)-->(b) WITH a, count(*) AS n WHERE EXISTS { (z)<--(%) }"
    " RETURN a.n AS m, n } RETURN m, n": "b",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_name_that_is_no_column_is_a_new_one_behind_a_projection_that_groups(way: Way) -> None:
    draw = random.Random(1)
    with gdb.connect() as db, forced(way):
        db.execute("UNWIND range(0, 5) AS i CREATE (:N {n: i})")
        for _ in range(12):
            ends = {"a": draw.randrange(6), "b": draw.randrange(6)}
            db.execute("MATCH (a {n: $a}), (b {n: $b}) CREATE (a)-[:T]->(b)", ends)
        for text, name in GROUPED.items():
            found = sorted(map(tuple, db.execute(text.replace("%", name))))
            assert found == sorted(map(tuple, db.execute(text.replace("%", "other")))), text
            assert found


def test_names_before_a_grouping_are_gone_from_its_subqueries() -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:N {n: 1})-[:T]->(:N {n: 2})")
        for condition in ("EXISTS { (a)-->(c) WHERE c.n = b.n }", "(a)-->(b)"):
            for columns in ("DISTINCT a", "a, count(*) AS n"):
                with pytest.raises(gdb.NameProblem, match="'b'"):
                    db.execute(f"MATCH (a)-->(b) WITH {columns} WHERE {condition} RETURN 1")
        # where no rows are put together, WHERE sees what was before; and a column may be repeated
        seen = "MATCH (a)-->(b) WITH a WHERE EXISTS { (a)<--(b) } RETURN a.n"
        assert db.execute(seen).fetchall() == []
        again = "COUNT { (a)-->(b) }"
        text = f"MATCH (a)-->(b) WITH DISTINCT a.n AS n, {again} AS c WHERE {again} > 0 RETURN n, c"
        assert db.execute(text).fetchall() == [(1, 1)]
