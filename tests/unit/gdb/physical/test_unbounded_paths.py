"""The warning of paths without a bound: only where paths are listed."""

from __future__ import annotations

import pytest

import gdb

SEARCHED = [
    "MATCH (a)-[*]->(b) RETURN DISTINCT b",
    "MATCH (a)-[*]->(b) RETURN count(DISTINCT b)",
    "MATCH (a)-[*0..]->(b) WITH DISTINCT a, b RETURN count(*)",
    "MATCH (a) WHERE EXISTS { (a)-[*]->({x: 3}) } RETURN a.x",
    "MATCH (a) WHERE (a)-[*]->({x: 3}) RETURN a.x",
    "MATCH (a) CALL (a) { MATCH (a)-[*]->(b) RETURN DISTINCT b } RETURN b",
    "MATCH (a)-[*]->(b) MATCH (b)-[*]->(c) RETURN DISTINCT c",
    "MATCH p = shortestPath((a)-[*]->(b)) WHERE a <> b RETURN p",
]
LISTED = [
    "MATCH (a)-[*]->(b) RETURN a, b",
    "MATCH (a)-[*]->(b) RETURN count(*)",
    "MATCH (a)-[r*]->(b) RETURN DISTINCT r",
    "MATCH p = (a)-[*]->(b) RETURN DISTINCT p",
    "MATCH (a)-[*2..]->(b) RETURN DISTINCT b",
    "MATCH (a) WHERE COUNT { (a)-[*]->({x: 3}) } > 1 RETURN a.x",
    "MATCH (a) RETURN [(a)-[*]->(b) | b.x]",
    "MATCH (a) CALL (a) { MATCH (a)-[*]->(b) RETURN b } RETURN b",
    "MATCH (a)-[*]->(b)-[*]->(c) RETURN DISTINCT c",
    "MATCH (a)-[*]->(b) SET b.y = 1",
]


@pytest.mark.parametrize("text", [*SEARCHED, *LISTED])
def test_only_paths_that_are_listed_need_a_bound(text: str) -> None:
    with gdb.connect() as db:
        db.execute("CREATE ({x: 1})-[:T]->({x: 2})-[:T]->({x: 3})")
        plan = db.explain(text)
        warned = any("has no bound" in warning for warning in db.execute(text).warnings)
    assert warned is (text in LISTED)
    assert ("has no bound" in plan) is warned
