"""SUBGRAPHS with conditions over several nodes: an automorphism counts only if it keeps the conditions."""

from __future__ import annotations

from pathlib import Path

import pytest

import gdb


@pytest.fixture
def db(tmp_path: Path) -> gdb.Database:
    """A triangle 1, 2, 3 and a path 4-5-6, undirected, with ages."""
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text("id:ID,age:int\n1,10\n2,10\n3,30\n4,5\n5,6\n6,5\n")
    edges.write_text(":START_ID,:END_ID\n1,2\n2,3\n3,1\n4,5\n5,6\n")
    found = gdb.connect()
    found.load(nodes=nodes, edges=edges, directed=False)
    return found


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("", 4),  # three paths in the triangle, one outside
        ("WHERE a.age = c.age", 2),  # kept by the swap of a and c: 1-3-2 and 4-5-6, each once
        ("WHERE c.age = a.age", 2),
        ("WHERE a.age < c.age", 2),  # not kept: each such path has one direction
        ("WHERE a.age = 10 AND c.age = 10 AND a.age = c.age", 1),
        ("WHERE (a.age < b.age) = (c.age < b.age)", 4),
    ],
)
def test_conditions_shrink_the_group_only_if_they_tell_nodes_apart(
    db: gdb.Database, condition: str, count: int
) -> None:
    query = f"MATCH SUBGRAPHS (a)--(b)--(c) {condition} RETURN count(*)"
    assert db.execute(query).scalar() == count
