"""A relationship of variable length whose list the rows have already: the list is followed, not found."""

from __future__ import annotations

import random

import pytest

import gdb
from tests.support.effort import share

LISTS = ("(a:N)-[rs:R*1..2]->(b)", "(a:N {i: 1})-[rs*0..3]-(b)", "(a:N {i: 2})<-[rs:R|S*1..3]-(b)")
PATTERNS = (
    "(c)-[{}*]->(d)", "(c)<-[{}*1..2]-(d)", "(c)-[{}*0..]-(d)", "(c:A)-[{}*2]-(d:A)", "(b)-[{}*1..3]-(a)",
    "(c)-[{}:S*]-(d)", "(c)-[{}*1..3 {{w: 1}}]-(d)", "(c {{i: 1}})-[{}*]-(d)", "(c)-[{}*..2]->(d {{i: 2}})",
    "ACYCLIC (c)-[{}*1..3]-(d)", "WALK (c)-[{}*1..3]->(d)",
    "(c)-[{}*1..3]-(d)-[x:R]->(e)",  # x is none of the list
)  # fmt: skip


def some_graph(seed: int) -> list[str]:
    draw = random.Random(seed)
    nodes = [f"(n{k}:N{draw.choice(['', ':A'])} {{i: {k}}})" for k in range(5)]
    edges = [
        f"(n{draw.randrange(5)})-[:{draw.choice('RS')} {{w: {draw.randrange(2)}}}]->(n{draw.randrange(5)})"
        for _ in range(7)
    ]
    return [f"CREATE {', '.join(nodes + edges)}"]


@pytest.mark.parametrize("listed", LISTS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_list_followed_is_the_path_found(listed: str, pattern: str) -> None:
    found = 0
    names = [name for name in "abcd" if f"({name}" in listed + pattern]
    returned = ", ".join(f"{name}.i" for name in names)
    for seed in range(share(12, 8)):
        with gdb.connect() as db:
            for text in some_graph(seed):
                db.execute(text)
            texts = (
                f"MATCH {listed} MATCH {pattern.format('rs')} RETURN {returned}",
                f"MATCH {listed} MATCH {pattern.format('qs')} WHERE qs = rs RETURN {returned}",
            )
            one, other = (sorted(db.execute(text).fetchall()) for text in texts)
            assert one == other
            found += len(one)
    assert found > 0 or (":S" in pattern and ":S" not in listed)


def test_a_list_in_a_graph_of_too_many_paths() -> None:
    with gdb.connect() as db:
        db.execute("UNWIND range(1, 12) AS i CREATE (:N {i: i})")
        db.execute("MATCH (a:N), (b:N) WHERE a.i < b.i CREATE (a)-[:R]->(b)")
        text = "MATCH (a {i: 1})-[rs*2]-(b {i: 3}) MATCH (c)-[rs*]-(d) RETURN c.i, d.i"
        assert set(db.execute(text, timeout=100).fetchall()) == {(1, 3)}


def test_what_is_no_list_of_relationships_is_no_path() -> None:
    with gdb.connect() as db:
        db.execute("CREATE (:N)-[:R]->(:N)")
        text = "UNWIND [null, [], [null]] AS rs MATCH (c:N)-[rs*0..]->(d) RETURN rs"
        assert db.execute(text).fetchall() == [([],), ([],)]
