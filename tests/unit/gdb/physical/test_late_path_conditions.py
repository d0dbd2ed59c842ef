"""Conditions on the relationships of a path that mention what a later part of the pattern finds."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import gdb
from gdb import Database
from tests.support.ways import Way, forced

PAIRS = {
    "MATCH (a)-[r*1..2 {w: d.x}]->(b)-[:T*1..2]->(d) %": "all(e IN r WHERE e.w = d.x)",
    "MATCH (a)-[r*1..2 WHERE r.w < d.x]->(b), (b)-[*1..2]->(d) %": "all(e IN r WHERE e.w < d.x)",
    "MATCH (a {x: 1})-[r*1..2 {w: d.x}]->(b)-[*1..2]->(d {x: 2}) %": "all(e IN r WHERE e.w = d.x)",
    "MATCH (a)-[r*1..2 {w: c.x}]->(b)-[s*1..2 {w: a.x}]->(c) %": (
        "all(e IN r WHERE e.w = c.x) AND all(e IN s WHERE e.w = a.x)"
    ),
    "MATCH (a)-[r*1..2 {w: size(s)}]->(b)-[s*1..2]->(c) %": "all(e IN r WHERE e.w = size(s))",
    "MATCH (a)-[r*1..2]->(b)-[s*1..2 {w: size(r)}]->(c) %": "all(e IN s WHERE e.w = size(r))",
    "MATCH (a)-[r*1..2 WHERE r.w <= size(s)]->(b)-[s*1..2 WHERE s.w <= size(r)]->(c) %": (
        "all(e IN r WHERE e.w <= size(s)) AND all(e IN s WHERE e.w <= size(r))"
    ),
    "MATCH p = (a)-[r*1..2 {w: length(p)}]->(b) %": "all(e IN r WHERE e.w = length(p))",
    "MATCH (a)-[r*0..2 {w: t.w}]->(b)<-[t]-(c) %": "all(e IN r WHERE e.w = t.w)",
    "MATCH (d) WHERE EXISTS { (a)-[r*1..2 {w: e.x}]->(d)-[:T*1..2]->(e) % } RETURN count(*)": (
        "all(f IN r WHERE f.w = e.x)"
    ),
}


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    draw = random.Random(5)
    with gdb.connect() as made:
        made.execute("UNWIND range(0, 9) AS i CREATE (:A {n: i, x: i % 3})")
        for _ in range(24):
            made.execute(
                "MATCH (a {n: $a}), (b {n: $b}) CREATE (a)-[:T {w: $w}]->(b)",
                {"a": draw.randrange(10), "b": draw.randrange(10), "w": draw.randrange(3)},
            )
        made.execute("MATCH (a), (b) WHERE b.n = a.n + 3 CREATE (a)-[:U {w: 1}]->(b)")
        yield made


@pytest.mark.parametrize("way", ["chosen", "rows"])
@pytest.mark.parametrize("end", ["RETURN count(*)", "RETURN DISTINCT a.n, b.n"])
@pytest.mark.parametrize("text", PAIRS)
def test_they_are_as_the_same_conditions_behind_the_pattern(
    text: str, end: str, way: Way, db: Database
) -> None:
    inside, where = text.replace("%", ""), f"WHERE {PAIRS[text]}"
    behind = text.replace("%", where)
    for condition in (part.partition("]")[0] for part in text.split("[")[1:]):
        written = condition.partition(" ")[0]
        behind = behind.replace(f"[{condition}]", f"[{written}]")
    if "RETURN" not in text:
        inside, behind = f"{inside} {end}", f"{behind} {end}"
    with forced(way):
        found = sorted(map(tuple, db.execute(inside)))
        assert found == sorted(map(tuple, db.execute(behind)))
    assert found
    assert found != [(0,)]


def test_a_shortest_path_waits_for_what_its_condition_mentions(db: Database) -> None:
    text = "MATCH shortestPath((a)-[r:T*..3 {w: d.x}]->(b)), (b)-[s:U*1..2]->(d) WHERE a <> b RETURN count(*)"
    apart = "MATCH (b)-[s:U*1..2]->(d) MATCH shortestPath((a)-[r:T*..3 {w: d.x}]->(b)) WHERE a <> b RETURN count(*)"
    found = db.execute(text).fetchall()
    assert found == db.execute(apart).fetchall()
    assert found != [(0,)]


def test_shortest_paths_that_wait_for_each_other_are_refused(db: Database) -> None:
    text = (
        "MATCH shortestPath((a)-[r*1..3 WHERE r.w < size(s)]->(b)),"
        " shortestPath((b)-[s*1..2 WHERE s.w < size(r)]->(c)) WHERE a <> b AND b <> c RETURN 1"
    )
    with pytest.raises(gdb.NotSupported, match=r"mentions 's'.*in a MATCH of its own"):
        db.execute(text)
