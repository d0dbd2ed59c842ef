"""Counts of one relationship by the degrees that are known: where they are taken they are right, and nothing loops."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

import gdb
from gdb import planner
from gdb.executor import reference
from gdb.executor.cpu import launch, plans
from gdb.executor.nest.degrees import sum_of_degrees
from gdb.executor.nest.prepare import prepare
from gdb.query_graph import (
    DIFFERENT_EDGES,
    DIFFERENT_NODES,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.storage.format.direction import Direction
from tests.support.small_graph import SmallGraph

EDGES = [
    *[("U", 0, 1), ("U", 0, 1), ("U", 2, 2), ("U", 3, 1), ("U", 5, 4)],
    *[("V", 0, 1), ("V", 1, 2), ("W", 4, 4), ("W", 4, 4), ("W", 2, 5)],
]
LABELS = [("A",), ("A",), ("A",), ("A", "B"), ("A", "B"), ("B",), ("B",)]


@pytest.mark.parametrize("undirected", [frozenset(), frozenset("U"), frozenset("UVW")])
@pytest.mark.parametrize("mode", [DIFFERENT_EDGES, DIFFERENT_NODES, REPEATABLE_ELEMENTS, SUBGRAPHS])
def test_what_is_known_is_right(mode: MatchMode, undirected: frozenset[str]) -> None:
    graph, known = SmallGraph(LABELS, EDGES, undirected), 0
    for types in (("U",), ("V",), ("W",), ("U", "W"), ()):
        for left in ((), (("A",),), (("B",),)):
            for right in ((), (("A",),), (("B",),)):
                for direction in (Direction.OUT, Direction.ANY):
                    ends = QueryVertex(labels=left), QueryVertex(labels=right)
                    edge = QueryEdge(0, 1, types, direction)
                    plan = planner.plan(QueryGraph(ends, (edge,), mode), graph, counting=True)
                    found = sum_of_degrees(prepare(plan, graph))
                    if found is not None:
                        known += 1
                        total = found * plan.multiplicity // plan.divisor
                        assert total == reference.count(plan, graph), (types, left, right)
    assert known >= {DIFFERENT_NODES: 0, SUBGRAPHS: 5}.get(mode, 20)


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("()-[r]->()", 9),
        ("(:A)-[r:K]->()", 4),
        ("()-[r]-()", 17),
    ],
)
def test_nothing_loops(pattern: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a store whose types have labels, directions and parallel relationships, also after a node was deleted."""
    with gdb.connect() as db:
        db.execute(
            "CREATE (a:A {i: 0})-[:K]->(b:B {i: 1})-[:L]->(a), (a)-[:K]->(b), (b)-[:K]->(:B {i: 2})"
        )
        db.execute("MATCH (a:A), (b:B) CREATE (a)-[:K]->(b) CREATE (a)-[:L]->(b)")
        db.execute(
            "MATCH (b:B {i: 2}) CREATE (b)-[:L]->(b) CREATE (c:A {i: 3})-[:K]->(b) DETACH DELETE c"
        )
        looped = Mock(wraps=launch.count)
        monkeypatch.setattr(plans, "count", looped)
        text = f"MATCH {pattern} RETURN count(r) AS n"
        assert db.execute(text, memory="1GB").scalar() == count
        looped.assert_not_called()
