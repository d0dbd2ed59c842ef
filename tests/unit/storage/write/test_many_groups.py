"""New label sets of one statement are added, and nodes moved between label sets, for the cost of one."""

from __future__ import annotations

import random

import pytest

import gdb
from gdb.storage.graph.vertices import Vertices

CREATED = "UNWIND range(1, {}) AS i CREATE (:$('L' + toString(i)) {{k: i}})"
LABELLED = "MATCH (n:A) WHERE n.k <= {} SET n:$('L' + toString(n.k))"


def made(monkeypatch: pytest.MonkeyPatch, db: gdb.Database, text: str) -> int:
    """How often the groups of a snapshot are found while a statement runs."""
    count, whole = [0], Vertices.__init__

    def counted(self: Vertices, *given: object, **named: object) -> None:
        count[0] += 1
        whole(self, *given, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as context:
        context.setattr(Vertices, "__init__", counted)
        db.execute(text)
    return count[0]


@pytest.mark.parametrize("text", [CREATED, LABELLED])
def test_the_work_does_not_grow_with_the_label_sets(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    for many in (3, 60):
        with gdb.connect() as db:
            db.execute("UNWIND range(1, 60) AS i CREATE (:A {k: i})-[:R {w: i}]->(:B {k: i})")
            counts.append(made(monkeypatch, db, text.format(many)))
            found = db.execute("MATCH (n) RETURN count(*), count(DISTINCT labels(n))").fetchall()
            added, sets = (many, 2 + many) if text is CREATED else (0, 1 + many + (many < 60))
            assert found == [(120 + added, sets)]
            assert db.execute("MATCH (a)-[r:R {w: 2}]->(b:B) RETURN a.k, b.k").fetchall() == [
                (2, 2)
            ]
    assert counts[0] == counts[1]


@pytest.mark.parametrize("seed", range(8))
def test_nodes_of_several_label_sets_go_to_the_same_ones(seed: int) -> None:
    draw = random.Random(seed)
    nodes = {k: {draw.choice("ABC") for _ in range(draw.randint(0, 3))} for k in range(20)}
    edges = [(draw.randrange(20), draw.randrange(20)) for _ in range(30)]
    with gdb.connect() as db:
        for k, labels in nodes.items():
            db.execute(
                f"CREATE (n{''.join(f':{one}' for one in labels)} {{k: {k}, p{k % 3}: {k}}})"
            )
        for number, (a, b) in enumerate(edges):
            db.execute(f"MATCH (a {{k: {a}}}), (b {{k: {b}}}) CREATE (a)-[:R {{n: {number}}}]->(b)")
        for _ in range(3):
            more, less = draw.choice("ABCD"), draw.choice("ABCD")
            db.execute(f"MATCH (n) WHERE n.k % 3 <> 1 SET n:{more} REMOVE n:{less}")
            for k, labels in nodes.items():
                if k % 3 != 1:
                    nodes[k] = (labels | {more}) - {less}
        found = db.execute("MATCH (n) RETURN n.k, labels(n), properties(n)").fetchall()
        assert {k: set(labels) for k, labels, _ in found} == nodes
        assert all(own == {"k": k, f"p{k % 3}": k} for k, _, own in found)
        rows = db.execute("MATCH (a)-[r]->(b) RETURN r.n, a.k, b.k").fetchall()
        assert sorted(rows) == [(number, a, b) for number, (a, b) in enumerate(edges)]
        assert not db.check().faults
