"""Arrow has the same types of an answer's columns whatever the way, also where no row has a value."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gdb
from gdb.run import columns_or_rows

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def db() -> Iterator[gdb.Database]:
    with gdb.connect() as db:
        db.execute(
            """UNWIND range(1, 20) AS x
            CREATE (a:A {x: x, f: x * 1.5, s: 'a', d: date('2000-01-01'), l: [x], b: true, u: duration({seconds: x})})
            CREATE (a)-[:K {w: x}]->(:B {y: x})"""
        )
        yield db


QUERIES = [
    "MATCH (a:A) WHERE a.x > 100 RETURN a.x, a.f, a.s, a.d, a.l, a.b, a.u",
    "MATCH (a:A) WHERE a.x > 100 WITH a MATCH (a)-->(b) RETURN a.x, b.y + 1 AS y, a.s + 'x' AS s, count(*) AS n",
    "MATCH (a:A) WHERE a.x > 100 WITH a.x AS x, a.l AS l ORDER BY x RETURN DISTINCT x, l",
    "UNWIND [1] AS x MATCH (a:A {x: 100}) RETURN x, a.x, a.u",
    "MATCH (a:A) WHERE a.x > 100 RETURN a.x UNION MATCH (b:B) WHERE b.y > 100 RETURN b.y AS `a.x`",
    "MATCH (a:A) OPTIONAL MATCH (a)-[k:K]->(c:C) RETURN a.x, k.w",
    "UNWIND range(1, 3) AS i MATCH (a:A) WHERE a.x > 100 RETURN i, a.x, toString(a.x) AS t",
    "MATCH p = (a:A)-[*1..2]->(b) WHERE a.x > 100 RETURN length(p) AS l, a.x",
]


@pytest.mark.parametrize("query", QUERIES)
def test_types_are_those_over_columns(
    db: gdb.Database, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for way in ("columns", "rows", None):
        monkeypatch.setattr(columns_or_rows, "WAY", way)
        for _ in range(4):  # a text that comes again is bound
            found.append(pyarrow.table(db.execute(query)).schema)
    assert pyarrow.null() not in found[0].types
    assert all(schema.types == found[0].types for schema in found)


def test_types_of_an_answer_whose_database_is_closed() -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:A {x: 1})")
        found = db.execute("UNWIND [1] AS i MATCH (a:A {x: 2}) RETURN a.x")
    assert pyarrow.table(found).num_rows == 0
