"""Rows of one relationship are its edges in the order of their ids: those of a nest, whatever its ends and
conditions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import gdb
from gdb import Database
from gdb.executor.cpu import edge_scan
from tests.support.effort import share

NODES, EDGES = 60, 400


@pytest.fixture(scope="module", params=["memory", "changed"])
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    """Nodes of two labels, directed relationships of two types, some parallel, some loops, and undirected ones; or the
    same with changes that are not compacted."""
    chance = random.Random(1)
    with gdb.connect() as made:
        with made.transaction() as tx:
            tx.add_nodes("A", list(range(40)), {"x": list(range(40))})
            tx.add_nodes("B", list(range(40, NODES)), {"x": list(range(40, NODES))})
            for name in ("R", "S"):
                ends = [(chance.randrange(NODES), chance.randrange(NODES)) for _ in range(EDGES)]
                weights = [chance.randrange(9) for _ in ends]
                sources, targets = [a for a, _ in ends], [b for _, b in ends]
                tx.add_relationships(name, sources, targets, {"w": weights})
            tx.add_relationships("U", [1, 2, 3], [4, 5, 3], {"w": [1, 2, 3]}, directed=False)
        if request.param == "changed":
            made.execute("MATCH (a)-[r:R]->(b) WHERE r.w = 3 DELETE r")
            made.execute("MATCH (a:A {x: 7}) DETACH DELETE a")
            made.execute("MATCH (a:A {x: 5}), (b:B) CREATE (a)-[:R {w: 8}]->(b)")
        yield made


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each run of one relationship was a scan; no graph has few edges, and blocks are small."""
    found: list[bool] = []
    deliver = edge_scan.deliver_edges

    def seen(*arguments: Any) -> bool:
        found.append(deliver(*arguments))
        return found[-1]

    monkeypatch.setattr(edge_scan, "deliver_edges", seen)
    monkeypatch.setattr(edge_scan, "LEAST", 1)
    monkeypatch.setattr(edge_scan, "BLOCK", 16)
    monkeypatch.setattr("gdb.executor.run.short_run", lambda *_, **__: None)
    return found


PATTERNS = (
    "()-[r:R]->()",
    "(a)-[r:R]->(b)",
    "(a:A)-[r:R]->(b)",
    "(a)-[r:R]->(b:B)",
    "(a:A)<-[r:R]-(b:B)",
    "(b)<-[r:S]-(a)",
    "(a {x: 5})-[r:R]->(b)",
    "(a)-[r:R]->(a)",
    "(a)-[r:R {w: 3}]->(b:A)",
    "(a:A)-[r:R WHERE r.w > 4]->(b:B WHERE b.x % 2 = 0)",
    "(a WHERE a.x IN [1, 2, 3, 9, 30, 44, 45])-[r:R]->(b WHERE b.x > 20)",
    "(a)-[r:Nothing]->(b)",
    "(a:Nothing)-[r:R]->(b)",
)
"""Scans; and those that are none."""
OTHERS = ("(a)-[r:U]->(b)", "(a)-[r:U]-(b)", "(a)-[r:R]-(b)", "(a)-[r:R|S]->(b)", "(a)-[r]->(b)")
RESULTS = (
    "r.w AS w",
    "a.x AS a, r.w AS w, b.x AS b",
    "count(*) AS n, sum(r.w) AS w",
    "b.x AS b, sum(r.w) AS w, count(DISTINCT a.x) AS n",
    "id(r) AS i, a.x AS a",
)


@pytest.mark.parametrize("pattern", PATTERNS + OTHERS)
def test_rows_are_those_of_a_nest(
    db: Database, scanned: list[bool], pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mode in ("", "DIFFERENT NODES ", "REPEATABLE ELEMENTS "):
        for result in RESULTS:
            if any(f"{end}.x" in result and f"({end}" not in pattern for end in "ab"):
                continue
            text = f"MATCH {mode}{pattern} RETURN {result}"
            found = sorted(map(repr, db.execute(text)))
            with monkeypatch.context() as patch:
                patch.setattr(edge_scan, "is_edge_scan", lambda _: False)
                assert found == sorted(map(repr, db.execute(text))), text
    assert not any(scanned) or pattern in PATTERNS


def test_it_is_a_scan(db: Database, scanned: list[bool]) -> None:
    for pattern in PATTERNS[:6]:
        db.execute(f"MATCH {pattern} RETURN max(r.w)")
    assert scanned == [True] * 6


def test_a_limit_and_a_budget_have_a_nest(db: Database, scanned: list[bool]) -> None:
    text = "MATCH (a)-[r:R]->(b) RETURN r.w"
    few = db.execute(f"{text} LIMIT 3")
    under_budget = db.execute(text, memory="64MB")
    assert not any(scanned)
    every = db.execute(text)
    assert scanned[-1]
    assert (len(few), len(under_budget)) == (3, len(every))


@pytest.mark.parametrize("seed", range(share(20)))
def test_random_conditions(
    db: Database, scanned: list[bool], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    for _ in range(6):
        ends = [chance.choice(["", ":A", ":B"]) for _ in range(2)]
        tests = chance.sample(
            ["a.x > 10", "b.x < 50", "r.w > 2", "a.x % 3 = 1", "a.x < b.x", "r.w = b.x % 9"], 2
        )
        text = (
            f"MATCH (a{ends[0]})-[r:R]->(b{ends[1]}) WHERE {' AND '.join(tests)}"
            " RETURN a.x AS a, b.x AS b, r.w AS w"
        )
        found = sorted(map(repr, db.execute(text)))
        with monkeypatch.context() as patch:
            patch.setattr(edge_scan, "is_edge_scan", lambda _: False)
            assert found == sorted(map(repr, db.execute(text))), text
