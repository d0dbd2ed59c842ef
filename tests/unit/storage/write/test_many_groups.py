"""New label sets of one statement are added, and nodes moved between label sets, for the cost of one."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest

import gdb
from gdb.storage.graph.vertices import Vertices
from gdb.storage.write import collected

CREATED = "UNWIND range(1, {}) AS i CREATE (:$('L' + toString(i)) {{k: i}})"
LABELLED = "MATCH (n:A) WHERE n.k <= {} SET n:$('L' + toString(n.k))"


def made(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> int:
    """How often the groups of a snapshot are found meanwhile."""
    count, whole = [0], Vertices.__init__

    def counted(self: Vertices, *given: object, **named: object) -> None:
        count[0] += 1
        whole(self, *given, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as context:
        context.setattr(Vertices, "__init__", counted)
        work()
    return count[0]


@pytest.mark.parametrize("text", [CREATED, LABELLED])
def test_the_work_does_not_grow_with_the_label_sets(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    for many in (3, 60):
        with gdb.connect() as db:
            db.execute("UNWIND range(1, 60) AS i CREATE (:A {k: i})-[:R {w: i}]->(:B {k: i})")
            counts.append(made(monkeypatch, partial(db.execute, text.format(many))))
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


def test_nodes_of_a_transaction_are_brought_in_when_the_graph_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def added(db: gdb.Database, many: int) -> None:
        with db.transaction() as tx:
            for k in range(many):
                tx.add_nodes(f"L{k}", [k], {"k": [k]})
            assert tx.execute("MATCH (n) RETURN count(*), sum(n.k)").fetchall() == [
                (many, sum(range(many)))
            ]
            tx.add_relationships("R", list(range(many - 1)), list(range(1, many)))
            for k in range(many):
                tx.add_nodes(["B", f"L{k}"], [f"b{k}"], {"k": [0.5]}, id_space="b")

    counts = []
    for many in (3, 60):
        with gdb.connect() as db:
            counts.append(made(monkeypatch, partial(added, db, many)))
            found = db.execute("MATCH (n) RETURN count(*), count(DISTINCT labels(n))").fetchall()
            assert found == [(2 * many, 2 * many)]
            assert db.execute("MATCH (a)-[:R]->(b) RETURN sum(b.k - a.k)").fetchall() == [
                (many - 1,)
            ]
            assert not db.check().faults
    assert counts[0] == counts[1]


def test_calls_in_a_row_are_refused_as_single_ones_are() -> None:
    with gdb.connect() as db, db.transaction() as tx:
        tx.add_nodes("A", [1, 2], {"x": [1, 2], "none": [None, None]})
        tx.add_nodes(["B", "A"], [3], {"x": ["text"]})
        tx.add_nodes("A", [4], {"y": [[]], "x": [None]})
        with pytest.raises(gdb.ChangeRefused, match="id 2 is there already"):
            tx.add_nodes("C", [5, 2])
        with pytest.raises(gdb.ChangeRefused, match="id 6 is given twice"):
            tx.add_nodes("C", [6, 6])
        tx.add_nodes("C", [5])
        with pytest.raises(gdb.ChangeRefused, match="property 'x' holds integers"):
            tx.add_nodes("A", [6], {"x": ["text"]})
        tx.add_nodes("C", [6])
        with pytest.raises(gdb.ChangeRefused, match="ids of the id space '' are integers"):
            tx.add_nodes("D", ["seven"])
        tx.add_nodes("D", ["seven"], id_space="texts")
        tx.add_nodes(["A", "B"], [7], {"x": ["more"]})
        tx.add_nodes("A", [8], {"y": [["some"]]})
        tx.add_nodes("A", [9], {"x": [0.5]})  # the property becomes one of floats
        tx.add_nodes("A", [10], {"x": [3]})
        tx.add_nodes("C", [], {"x": []})
        found = tx.execute("MATCH (n) RETURN id(n), labels(n), n.x, n.y").fetchall()
        assert sorted(map(repr, found)) == sorted(
            map(
                repr,
                [
                    *((1, ["A"], 1.0, None), (2, ["A"], 2.0, None), (3, ["A", "B"], "text", None)),
                    *((4, ["A"], None, []), (5, ["C"], None, None), (6, ["C"], None, None)),
                    *(("seven", ["D"], None, None), (7, ["A", "B"], "more", None)),
                    *((8, ["A"], None, ["some"]), (9, ["A"], 0.5, None), (10, ["A"], 3.0, None)),
                ],
            )
        )


def test_more_nodes_than_are_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collected, "MOST", 10)
    with gdb.connect() as db:
        with db.transaction() as tx:
            for k in range(0, 60, 3):
                tx.add_nodes("ABC"[k % 2], [k, k + 1, k + 2], {"k": [k, None, k + 2]})
            with pytest.raises(gdb.ChangeRefused, match="id 59 is there already"):
                tx.add_nodes("A", [59])
        found = db.execute("MATCH (n) RETURN id(n), n.k").fetchall()
        assert sorted(found) == [(k, None if k % 3 == 1 else k) for k in range(60)]


def test_nodes_of_a_statement_that_fails_are_dropped() -> None:
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("A", [1])
            tx.add_nodes("A", [2])
            with pytest.raises(gdb.QueryError):
                tx.execute("CREATE (:B) WITH 1 AS x RETURN toInteger([1])")
            with pytest.raises(gdb.ChangeRefused):
                tx.remove_nodes([1, 3])
            tx.add_nodes("A", [3])
        assert db.execute("MATCH (n) RETURN id(n), labels(n) ORDER BY id(n)").fetchall() == [
            (k, ["A"]) for k in (1, 2, 3)
        ]
