"""Property maps of nodes and relationships without a name, which mention other variables."""

from __future__ import annotations

import random

import pytest

import gdb
from gdb.run import columns_or_rows

TEXTS = (
    "MATCH (n {x: 0})-->(% {x: n.x + 1}) RETURN n",
    "MATCH (n {x: 0})-[% {w: n.x}]->(m) RETURN n, m",
    "MATCH (n {x: 0})-[% {w: n.x}]->(m) RETURN n.x",
    "MATCH (n {x: 0})-[r]->(% {x: r.w + 1}) RETURN r",
    "MATCH (a), (% {x: a.x}) WHERE a.x > 0 RETURN a",
    "MATCH (a) MATCH (% {x: a.x}) WHERE a.x = 0 RETURN a",
    "MATCH (n {x: 0}), (% :A {x: n.x}) RETURN n",
    "MATCH (n)-->(% {x: n.x + 1}) WHERE id(n) < 6 RETURN n",
    "MATCH (n)-->(m)-->(% {x: n.x + 2}) WHERE n.x < 2 RETURN n, m",
    "MATCH (n {x: 1})-->(% {x: n.x + 1}) RETURN n.x, count(*)",
    "MATCH (n {x: 1})<-[% {w: n.x}]-(% :A {x: n.x}) RETURN DISTINCT n",
)


@pytest.mark.parametrize("way", [None, "rows"])
@pytest.mark.parametrize("text", TEXTS)
def test_they_are_as_those_with_one(
    text: str, way: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns_or_rows, "WAY", way or columns_or_rows.WAY)
    draw, found = random.Random(3), 0
    for many in (3, 12, 40):
        with gdb.connect() as db:
            for k in range(many):
                db.execute(f"CREATE (:{draw.choice('AB')} {{x: {k % 3}}})")
            for _ in range(4 * many):
                ends = {
                    "a": draw.randrange(many),
                    "b": draw.randrange(many),
                    "w": draw.randrange(3),
                }
                db.execute(
                    "MATCH (a), (b) WHERE id(a) = $a AND id(b) = $b CREATE (a)-[:R {w: $w}]->(b)",
                    ends,
                )
            named, parts = "", text.split("%")
            for number, part in enumerate(parts):
                named += part + (f"other{number}" if number < len(parts) - 1 else "")
            nameless = sorted(db.execute(text.replace("% ", "")).fetchall(), key=repr)
            assert nameless == sorted(db.execute(named).fetchall(), key=repr)
            found += len(nameless)
    assert found > 0
