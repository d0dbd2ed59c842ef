"""Counts of paths of variable length without rows: as with them, on every way."""

from __future__ import annotations

import random
from typing import Any

import pytest

import gdb
from gdb.physical import walk_counts
from tests.support.chain_queries import graph_queries
from tests.support.effort import share
from tests.support.ways import WAYS, forced

LENGTHS = ("*1..2", "*1..3", "*0..2", "*2..2", "*2..3", "*0..0", "*3..2")
RETURNS = (
    *("count(*)", "count(b)", "count(DISTINCT b)", "count(DISTINCT a)", "count(*) + 1 AS n"),
    "count(*) AS n, count(DISTINCT a) AS m, count(DISTINCT b) AS l",
)
WHERE = (
    *(
        "",
        "",
        " WHERE a.k > 0",
        " WHERE a.k > 0 AND b:B",
        " WHERE id(a) = $k",
        " WHERE b.k IN [1, 2]",
    ),
    *(
        " WHERE a.k = b.k",
        " WHERE a.k > 1 OR b.k > 1",
        " WHERE a.k + 1 > $k",
        " WHERE $k > 1",
        " WHERE 1 = 1",
    ),
)


def _text(chance: random.Random) -> str:
    left, right = chance.choice([("-", "->"), ("<-", "-"), ("-", "-")])
    kind = chance.choice(["", ":K", ":K|L", ":Nothing"])
    length = chance.choice(LENGTHS)
    nodes = [f"({name}{chance.choice(['', '', ':A', ':B {k: 1}'])})" for name in "ab"]
    mode = chance.choice(["", "", "", "ACYCLIC ", "TRAIL "])
    keys = chance.choice(["", "", " {j: 1}"])
    path = f"{mode}{nodes[0]}{left}[{kind}{length}{keys}]{right}{nodes[1]}"
    return f"MATCH {path}{chance.choice(WHERE)} RETURN {chance.choice(RETURNS)}"


@pytest.mark.filterwarnings("ignore::gdb.QueryWarning")
@pytest.mark.parametrize("seed", range(2))
def test_counts_are_those_of_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, make = 0, walk_counts.WalkCount.number

    def seen(count: walk_counts.WalkCount, context: Any) -> int:
        nonlocal counted
        counted += 1
        return make(count, context)

    monkeypatch.setattr(walk_counts.WalkCount, "number", seen)
    chance = random.Random(seed)
    for _ in range(share(2)):
        with gdb.connect() as db:
            for text, values in graph_queries(chance):
                db.execute(text, values)
            db.execute("MATCH (a) WITH a LIMIT 1 CREATE (a)-[:K]->(a)")
            for _ in range(20):
                text = _text(chance)
                values = {"k": 1} if "$k" in text else {}
                found = []
                for way in WAYS:
                    with forced(way):  # twice: what is counted is kept
                        found += [db.execute(text, values).fetchall() for _ in range(2)]
                assert all(one == found[0] for one in found), text
    assert counted


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a)-[:K*1..2]->(a) RETURN count(*)",
        "MATCH (a)-[:K*1..2]->(b)-->(c) RETURN count(*)",
        "MATCH p = ANY SHORTEST (a)-[:K*1..2]->(b) RETURN count(*)",
        "MATCH (a)-[r:K*1..2]->(b) WHERE size(r) > 1 RETURN count(*)",
        "MATCH (a)-[:K*1..2]->(b) RETURN a.k, count(*)",
        "MATCH (a)-[:K*1..2]->(b) RETURN count(b.k)",
        "MATCH (a)-[r:K*1..2]->(b) RETURN count(DISTINCT r)",
        "MATCH (a)-[:K*1..2]->(b) RETURN count(DISTINCT a.k)",
        "MATCH (a)-[:K*1..2]->(b) WHERE (a)-->(b) RETURN count(*)",
        "MATCH (a)-[:K*1..2]->(b) RETURN sum(b.k)",
        "OPTIONAL MATCH (a)-[:L*1..2]->(b) RETURN count(*)",
        "MATCH DIFFERENT NODES (a)-[:K*1..2]->(b) RETURN count(*)",
    ],
)
def test_what_is_no_such_count(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk_counts.WalkCount, "number", None)  # which fails where it is called
    with gdb.connect() as db:
        db.execute("CREATE (a:A {k: 1})-[:K]->(b:B {k: 2})-[:K]->(a), (b)-[:K]->(:B)")
        found = []
        for way in WAYS:
            with forced(way):
                try:
                    found.append(sorted(map(repr, db.execute(text))))
                except gdb.GdbError as error:
                    found.append([type(error).__name__])
        assert all(one == found[0] for one in found), found


def test_explain_says_so() -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:A)-[:K]->(:A)-[:K]->(:A)")
        text = "EXPLAIN MATCH (a)-[:K*1..2]->(b) RETURN count(*) AS n, count(DISTINCT b) AS m"
        lines = [line.strip() for (line,) in db.execute(text)]
        assert any("[walked on cpu, counted]" in line for line in lines)
        assert any(line.endswith(": paths are counted, not listed") for line in lines)
        assert any(line.endswith(": only where paths end") for line in lines)
