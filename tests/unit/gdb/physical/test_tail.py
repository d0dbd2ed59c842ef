"""The operators behind one pattern: its tail answers as rows do, and as without any hint to the executors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gdb
from gdb.api.database import Database
from gdb.errors import TypeProblem
from gdb.physical import tail
from tests.support.ways import WAYS, Way, forced

QUERIES = [
    "MATCH (a)-->(b) RETURN count(*)",
    "MATCH (a)-->(b) RETURN count(a) AS n ORDER BY n LIMIT 1",
    "MATCH (a)-->(b) RETURN count(*) AS n LIMIT 0",
    "MATCH (a)-->(b) RETURN count(*) AS n SKIP 1",
    "MATCH (a)-->(b) RETURN count(*) * 2",
    "MATCH (a)-->(b) RETURN count(DISTINCT a)",
    "MATCH (a)-->(b) RETURN count(DISTINCT a.x), count(DISTINCT a)",
    "MATCH (a)-->(b)-->(c) RETURN a.x, count(*)",
    "MATCH (a)-->(b)-->(c) RETURN a.x, count(*) + 1 AS n ORDER BY n DESC, a.x",
    "MATCH (a)-->(b) RETURN DISTINCT a",
    "MATCH (a)-->(b) RETURN DISTINCT a.x, a LIMIT 1000",
    "MATCH (a)-->(b) RETURN DISTINCT a.name ORDER BY a.name",
    "MATCH (a)-->(b) WITH DISTINCT a RETURN a.name, a.x",
    "MATCH (a)-->(b) WITH DISTINCT a WHERE a.x > 1 RETURN count(*)",
    "MATCH (a)-->(b) WITH a, count(b) AS n WHERE n > 5 RETURN a.name, n",
    "MATCH (a)-->(b) WITH a.x AS x, count(*) AS n WITH x, n WHERE n > 3 RETURN max(n), min(x)",
    "MATCH (a)-->(b) WITH a, count(b) AS n ORDER BY n DESC, a LIMIT 3 RETURN a.name, n * 2, id(a), labels(a)",
    "MATCH (a)-->(b) WITH a, b ORDER BY a.x, b.id, a.id LIMIT 4 RETURN a.name, b.id ORDER BY b.id, a.name",
    "MATCH (a)-[r]->(b) WITH r, a LIMIT 100000 RETURN type(r), r.w, a:P",
    "MATCH (a)-[r]->(b) WHERE a.x + b.x = r.w RETURN a.id, b.id, r.w, type(r)",
    "MATCH (a)-[r]->(b) WHERE a.x + b.x = r.w RETURN count(*)",
    "MATCH (a)-[r]->(b) WHERE a.x + b.x = r.w WITH a, count(*) AS n RETURN max(n)",
    "MATCH (a)-[r]->(b) RETURN a, sum(r.w) AS s ORDER BY s, a LIMIT 5",
    "MATCH (a)-[r]->(b) RETURN a.id, collect(r.w)[0] IS NULL AS q, avg(b.f) AS m ORDER BY a.id SKIP 2 LIMIT 5",
    "MATCH (a)-[r]->(b) WITH a, r.w AS w ORDER BY w, a.id RETURN a.id AS i, collect(w) AS all ORDER BY i",
    "MATCH (a:P) WHERE a.id < 5 RETURN a.id AS i, a.f + 1 ORDER BY i DESC",
    "MATCH (a)-[r]->(b) RETURN *",
    "MATCH (a) RETURN id(a), a:P, a.nope",
    "MATCH (a)-->(b) RETURN a.x AS k, count(*), count(b)",
    "MATCH (a)-->(b) RETURN a ORDER BY a.x, a.id",
    "MATCH (a) WITH a.x AS x LIMIT 1000 WITH x AS y WHERE y > 2 RETURN y, y + 1 AS z",
    "MATCH (a)-->(b) WITH a AS c, b.x AS x RETURN c.name, sum(x) AS s ORDER BY c.name, s",
    "MATCH (a)-[r]->(b) RETURN labels(a), type(r), labels(b), count(*)",
    "MATCH (a)-[r]->(b) RETURN DISTINCT labels(a), type(r)",
]
OTHERS = [
    "MATCH (a) WITH count(a) AS n RETURN size([x IN range(1, 5) | x + n]) AS s",
    "MATCH (a) WITH count(a) AS x WITH x + 1 AS n RETURN reduce(s = 0, x IN range(1, 5) | s + x) + n AS t",
    "MATCH (a)-->(b) WITH DISTINCT a RETURN size([(a)-->(c) | c.x]) AS s",
    "MATCH (a)-->(b) RETURN a.x, EXISTS { (a)-->(c) WHERE c.x = 2 } AS e, count(*)",
]
"""These are more."""
TOLD = (
    "_number_alone",
    "_once",
    "_direct",
    "_tally",
    "_kinds",
    "_weighs",
    "_row_limit",
    "_by_part",
)


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with gdb.connect() as made:
        made.execute(
            "UNWIND range(1, 60) AS i CREATE (:P {id: i, name: 'n' + toString(i % 7), x: i % 5, f: i / 3.0})"
        )
        made.execute(
            "MATCH (a:P), (b:P) WHERE (a.id * 7 + b.id * 3) % 11 = 0 AND a.id <> b.id "
            "CREATE (a)-[:K {w: (a.id * b.id) % 9}]->(b)"
        )
        yield made


def answer(db: Database, text: str, way: Way) -> list[str]:
    """The rows, in their order where the query says one."""
    with forced(way):
        db._statements.clear()
        found = [repr(tuple(row)) for row in db.execute(text)]
    return found if "ORDER" in text else sorted(found)


@pytest.mark.parametrize("text", [*QUERIES, *OTHERS])
def test_every_way_answers_alike(db: Database, text: str) -> None:
    found = {way: answer(db, text, way) for way in WAYS}
    assert all(rows == found["rows"] for rows in found.values()), found


@pytest.mark.parametrize("text", QUERIES)
def test_what_the_executors_are_told_changes_no_answer(
    db: Database, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    want = answer(db, text, "chosen")
    for name in TOLD:
        with monkeypatch.context() as patch:
            nothing = False if name in ("_kinds", "_weighs", "_by_part") else None
            patch.setattr(tail.TailCompiler, name, lambda *_, nothing=nothing: nothing)
            assert answer(db, text, "chosen") == want, name


def test_all_of_these_are_one_pattern(db: Database) -> None:
    for text in QUERIES:
        assert not db.explain(text).startswith("operator by operator"), text


def test_a_condition_on_groups_is_explained(db: Database) -> None:
    plan = db.explain("MATCH (a)-->(b) WITH a, count(b) AS n WHERE n > 5 RETURN a.name, n")
    assert "Aggregate by a: count(*)" in plan
    assert "Filter n > 5" in plan


def test_values_behind_the_pattern_may_change(db: Database) -> None:
    text = "MATCH (a)-->(b) WITH a, count(b) AS n WHERE n > $n RETURN count(*) AS many, max(n) + $more LIMIT $most"
    for n, more, most in [(5, 1, 1), (4, 2, 2), (100, 3, 1), (5, 1, 0)]:
        given = {"n": n, "more": more, "most": most}
        found = db.execute(text, given).fetchall()
        with forced("rows"):
            assert found == db.execute(text, given).fetchall()
    with pytest.raises(TypeProblem, match="-1"):
        db.execute(text, {"n": 1, "more": 1, "most": -1})
