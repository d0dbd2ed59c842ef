"""SUBGRAPHS: conditions with patterns keep the symmetries that map them to themselves, whatever the default mode."""

from __future__ import annotations

import random

import pytest

import gdb
from gdb.run import columns_or_rows
from tests.support.effort import share

BOTH = (  # each the same when a and b change places
    "NOT (a)--(b)", "(a)--(b)", "NOT (a)-[:X]-(b)", "NOT EXISTS { (a)--(b) }", "COUNT { (a)--(b) } = 0",
    "NOT (a)--(b) OR a.i = b.i", "NOT EXISTS { MATCH SUBGRAPHS (a)--(b) }", "NOT (a)--(b) AND a.i <> b.i",
    "NOT EXISTS { (a)-->(x)<--(b) }", "NOT ((a)-->(b) OR (b)-->(a))", "COUNT { (a)-[:X|Y]->()<-[:Y|X]-(b) } < 2",
)  # fmt: skip
ONE = (
    "NOT (a)-->(b)",
    "(a)-->(b)",
    "NOT EXISTS { (a)-->(x)-->(b) }",
    "COUNT { (a)-[:X]->()<-[:Y]-(b) } < 2",
)
MODES = ("DIFFERENT EDGES", "DIFFERENT NODES", "REPEATABLE ELEMENTS", "SUBGRAPHS", "INDUCED")


def graph(seed: int, mode: str) -> gdb.Database:
    draw, db = random.Random(seed), gdb.connect(match=mode)
    nodes = ", ".join(f"(n{k}:{draw.choice('AC')} {{i: {draw.randrange(3)}}})" for k in range(6))
    edges = {tuple(sorted(draw.sample(range(6), 2))) for _ in range(9)}
    links = ", ".join(f"(n{a})-[:{draw.choice('XY')}]->(n{b})" for a, b in sorted(edges))
    db.execute(f"CREATE {nodes}, {links}")
    return db


@pytest.mark.parametrize("way", [None, "rows", "columns"])
@pytest.mark.parametrize("mode", MODES)
def test_pairs(mode: str, way: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_or_rows, "WAY", way or columns_or_rows.WAY)
    counted = 0
    for seed in range(share(4, 2)):
        with graph(seed, mode) as db:
            for number, condition in enumerate((*BOTH, *ONE)):
                rest = f"(a:A)--(c:C)--(b:A) WHERE {condition} RETURN id(a), id(b), id(c)"
                every = db.execute(f"MATCH DIFFERENT NODES {rest}").fetchall()
                found = db.execute(f"MATCH SUBGRAPHS {rest}").fetchall()
                if number < len(BOTH):
                    assert {(*sorted(row[:2]), row[2]) for row in found} == {
                        (*sorted(row[:2]), row[2]) for row in every
                    }, condition
                    assert 2 * len(found) == len(every), condition
                    counted += len(found)
                else:  # it distinguishes a and b
                    assert sorted(found) == sorted(every), condition
    assert counted > 20
