"""FOREACH is done row by row and item by item: what its clauses write for one item, those of the next read. Where that
is the same, each clause runs once for all items."""

from __future__ import annotations

import random
from unittest.mock import patch

import pytest

import gdb
from gdb.language.clauses import Foreach
from gdb.language.parser import parse
from gdb.physical.rows import foreach
from tests.support.effort import share

COUNTED = {
    "FOREACH (i IN [1, 2, 3] | CREATE (:X {x: n.y}) SET n.y = n.y + 1)": [0, 1, 2],
    "FOREACH (i IN [1, 2, 3] | SET n.y = n.y + i CREATE (:X {x: n.y}))": [1, 3, 6],
    "FOREACH (i IN [1, 2] | CREATE (:X {x: COUNT { (:X) }}))": [0, 1],
    "FOREACH (i IN [1, 2] | MERGE (a:X {x: i}) MERGE (b:X {x: 3 - i}) ON CREATE SET b.x = 7)": [
        *(1, 2, 7)
    ],
    "FOREACH (i IN [1, 2] | FOREACH (j IN range(0, n.y) | CREATE (:X {x: j})) SET n.y = n.y + 1)": [
        *(0, 0, 1)
    ],
    "FOREACH (i IN [1, 2] | CREATE (a:X {x: i}) DELETE a)": [],
    "FOREACH (i IN [1, 2] | CREATE (a:X {x: i}) SET a.x = a.x * 10)": [10, 20],
}


@pytest.mark.parametrize("text", COUNTED)
def test_an_item_sees_what_the_items_before_wrote(text: str) -> None:
    with gdb.connect() as db:
        db.execute(f"CREATE (n:N {{y: 0}}) {text}")
        assert [x for (x,) in db.execute("MATCH (x:X) RETURN x.x ORDER BY x.x")] == COUNTED[text]


def test_a_row_sees_what_the_rows_before_wrote() -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:N {l: [1, 2]})")
        db.execute("MATCH (n:N) UNWIND [1, 2] AS u FOREACH (i IN n.l | SET n.l = n.l + [9, 9, 9])")
        assert db.execute("MATCH (n:N) RETURN size(n.l)").scalar() == 2 + 2 * 3 + 8 * 3


FREE = (
    "MERGE (a:A {k: i}) MERGE (b:B {k: i}) MERGE (a)-[:R]->(b)",
    "MERGE (a:A {k: i}) SET a.v = coalesce(a.v, 0) + 1",
    "CREATE (a:A {k: i}) CREATE (b:B {k: a.k}) CREATE (a)-[:R]->(b)",
    "CREATE (:A {k: i})",
    "SET n.y = n.y + i",
    "MERGE (a:A {k: i}) MERGE (b:A {k: i + 1})",
    "FOREACH (j IN range(1, i) | CREATE (:A {k: j}))",
)
BOUND = (
    "MERGE (a:A {k: i}) ON CREATE SET a.v = 1 MERGE (b:A {k: 3 - i}) ON CREATE SET b.w = 2",
    "MERGE (a:A {k: i}) MERGE (n)-[:R]->(b:A {k: i + 1})",
    "CREATE (a:A {k: n.y}) SET n.y = i",
    "MERGE (a:A {k: i}) CREATE (:A:B {k: i + 1, l: 2})",
    "MERGE (a:A {k: i}) SET a.k = i + 1",
    "CREATE (a:A {k: i}) DELETE a",
    "CREATE (a:A {k: i}) SET a += {v: 1}",
    "CREATE (:A {k: COUNT { (:A) }})",
    "FOREACH (j IN range(1, n.y) | SET n.y = j)",
)


@pytest.mark.parametrize("text", FREE + BOUND)
def test_which_are_done_item_by_item(text: str) -> None:
    query = parse(f"MATCH (n) FOREACH (i IN [1, 2] | {text})")
    clause = query.parts[0][-1]
    assert isinstance(clause, Foreach)
    assert foreach.item_by_item(clause, ("n",)) is (text in BOUND)


PARTS = (
    "MERGE (a{n}:{l} {{k: {e}}})",
    "MERGE (a{n}:{l} {{k: {e}}}) ON CREATE SET a{n}.v = {e}",
    "CREATE (a{n}:{l} {{k: {e}}})",
    "SET a0.{p} = {e}",
    "MERGE (a0)-[:{t} {{k: {e}}}]->(a1)",
    "CREATE (a0)-[:{t}]->(a1)",
    "MERGE (a1)-[:{t}]->(a0)",
)


def _clauses(chance: random.Random) -> str:
    found = ["MERGE (a0:{l} {{k: {e}}})", "CREATE (a1:{l} {{k: {e}}})"]
    chance.shuffle(found)
    found += chance.choices(PARTS, k=chance.randrange(3))
    return " ".join(
        part.format(
            n=f"0{place}" if place > 1 else part[8:9],
            l=chance.choice(["A", "B", "A:B"]),
            t=chance.choice("RT"),
            p=chance.choice("kvw"),
            e=chance.choice(["i", "i % 2", "3 - i", "coalesce(n.v, 0)", "n.k + i"]),
        )
        for place, part in enumerate(found)
    )


def _graph(text: str) -> list[str]:
    with gdb.connect() as db:
        db.execute("CREATE (:A {k: 1, v: 0}), (:B {k: 2})")
        db.execute(text)
        nodes = db.execute("MATCH (a) RETURN labels(a), a.k, a.v, a.w")
        ends = db.execute("MATCH (a)-[r]->(b) RETURN type(r), r.k, a.k, a.v, b.k, labels(b)")
        return sorted(map(repr, nodes)) + sorted(map(repr, ends))


@pytest.mark.parametrize("seed", range(share(60)))
def test_at_once_is_as_item_by_item(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(4):
        text = f"MATCH (n) WITH n ORDER BY n.k FOREACH (i IN [1, 2, 3, 1] | {_clauses(chance)})"
        found = _graph(text)
        with patch.object(foreach, "item_by_item", lambda *_: True):
            assert found == _graph(text), text
