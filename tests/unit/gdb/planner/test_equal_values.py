"""Equal values that join parts of a pattern are paths through the values: the answers are those of the comparisons."""

from __future__ import annotations

import random
import warnings
from importlib import import_module

import numpy as np
import pytest

import gdb
from gdb import Database, planner
from gdb.executor import reference, run
from gdb.executor.plan.plan import Compare, Plan
from gdb.language import question
from gdb.planner.extended_graph import ExtendedGraph
from gdb.query_graph import QueryGraph, QueryVertex
from gdb.storage.graph.snapshot import Snapshot
from tests.support.effort import share

equal_values = import_module("gdb.planner.equal_values")  # the module, not its deferred name
PARTS = (
    *("(a:A), (b:B)", "(a:A), (b:A)", "(a), (b)", "(a:A)-->(c), (b:B)", "(a:A)-->(c), (b)--(d:A)"),
    *(
        "(a:A), (b:B), (c)",
        "(a)-->(c)-->(a), (b:A)",
        "(a:A), (b:B), (c:C)",
        "(a:A)-[:T]->(c), (b:B), (d)",
    ),
)
EQUAL = (
    *(
        "a.x = b.x",
        "a.x = b.y",
        "a.s = b.s",
        "a.f = b.x",
        "a.x = b.x + 1",
        "a.y - 1 = b.y",
        "id(a) = b.x",
    ),
    "a = b",
    *("a.x = b.x AND a.y = b.y", "a.x = b.y AND a.s = b.s", "a.x = b.x AND b.x = a.y", "a.d = b.d"),
    *("a.x * 2 = b.y", "toUpper(a.s) = toUpper(b.s)", "coalesce(a.x, -1) = coalesce(b.y, -1)"),
    *("a.x % 2 = b.y AND a.y = b.y", "a.x * $k = b.f", "toString(a.x) = toString(b.y)"),
)
MORE = (
    *(
        "",
        "",
        "AND a.y < b.y",
        "AND NOT (a)-->(b)",
        "AND a <> b",
        "AND a.x > $k",
        "AND b.y IN [0, 2]",
    ),
    *("AND EXISTS { (b)-->() }", "AND a.y <> b.x", "AND id(a) < id(b)"),
)
JOINED = ("", "", " AND c.x = a.y", " AND c.x = b.x", " AND c.y = b.y AND c.x = a.x")
MODES = ("", "", "", "DIFFERENT NODES ", "REPEATABLE ELEMENTS ")


def random_store(draw: random.Random) -> Database:
    db = gdb.connect()
    count = draw.randrange(3, 14)
    for k in range(count):
        values: dict[str, object] = {"k": k}
        for name, several in (
            ("x", range(4)),
            ("y", range(3)),
            ("f", (0.0, 1.0, 1.5, 2.0)),
            ("s", "abc"),
        ):
            if draw.random() < 0.8:
                values[name] = draw.choice(list(several))
        label = draw.choice(("A", "B", "A:B", "C"))
        day = draw.choice((", d: date('2020-01-01')", ", d: date('2020-01-02')", ""))
        text = ", ".join(f"{name}: ${name}" for name in values)
        db.execute(f"CREATE (:{label} {{{text}{day}}})", values)
    for _ in range(draw.randrange(2 * count)):
        ends = {"a": draw.randrange(count), "b": draw.randrange(count)}
        db.execute("MATCH (a {k: $a}), (b {k: $b}) CREATE (a)-[:T]->(b)", ends)
    return db


def conditions(draw: random.Random) -> str:
    parts = draw.choice(PARTS)
    more = draw.choice(JOINED) if "(c:C)" in parts or "(c)" in parts else ""
    return f"{draw.choice(MODES)}{parts} WHERE {draw.choice(EQUAL)} {draw.choice(MORE)}{more}"


RETURNS = (
    *(
        "RETURN count(*)",
        "RETURN a.k, b.k",
        "RETURN DISTINCT a.k",
        "RETURN a.x, count(*), max(b.k)",
    ),
    *(
        "RETURN count(DISTINCT b)",
        "WITH a, count(b) AS n RETURN a.k, n",
        "RETURN b ORDER BY b.k LIMIT 3",
    ),
)


@pytest.fixture
def joins(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each pattern that was planned meanwhile was joined by values."""
    seen: list[bool] = []
    found = equal_values.joined_by_values

    def joined(*given: object) -> object:
        made = found(*given)
        seen.append(made is not None)
        return made

    monkeypatch.setattr(equal_values, "joined_by_values", joined)
    monkeypatch.setattr(question, "soon_listed", lambda *_: False)  # where comparisons stay behind
    return seen


@pytest.mark.parametrize("seed", range(share(16, least=4)))
def test_the_answers_are_those_of_comparisons(
    seed: int, joins: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"equal values {seed}"
    draw, found = random.Random(f"{name} queries"), list[list[str]]()
    texts = [f"MATCH {conditions(draw)} {draw.choice(RETURNS)}" for _ in range(15)]
    for worth in (float("inf"), -1.0):
        monkeypatch.setattr(equal_values, "WORTH", worth)
        with random_store(random.Random(name)) as db, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            several = [[db.execute(text, {"k": k}).fetchall() for k in (1, 0, 1)] for text in texts]
        found.append([repr([sorted(map(repr, rows)) for rows in some]) for some in several])
    assert dict(zip(texts, found[0], strict=True)) == dict(zip(texts, found[1], strict=True))
    assert sum(joins) > 8


def compare(left: int, right: int, values: list[list[int]], shift: int = 0) -> Compare:
    first, second = (np.array(some, np.int64) for some in values)
    return Compare(left, right, False, False, shift, shift, first, second)


def planned(graph: QueryGraph, snapshot: Snapshot, *, counting: bool) -> list[Plan]:
    both = frozenset[str](), frozenset({"equalities"})
    return [planner.plan(graph, snapshot, counting=counting, switched_off=off) for off in both]


@pytest.mark.parametrize("seed", range(share(20, least=5)))
def test_executors_and_the_reference_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without the pass, which may be switched off."""
    monkeypatch.setattr(equal_values, "WORTH", -1.0)
    draw = random.Random(f"plans {seed}")
    count = draw.randrange(2, 9)
    db = gdb.connect()
    with db.transaction() as tx:
        tx.add_nodes("P", np.arange(count))
    snapshot = db._snapshot()
    shift = draw.randrange(-1, 2)
    values = [[draw.randrange(3) for _ in range(count)] for _ in range(2)]
    compared = [compare(0, 1, values, shift)]
    if draw.random() < 0.5:
        compared.append(compare(2, 1, values[::-1]))
    if draw.random() < 0.5:
        compared.append(compare(1, 0, [values[0], values[0]]))
    graph = QueryGraph(tuple(QueryVertex(name) for name in "abc"), (), compared=tuple(compared))
    for counting in (True, False):
        joined, plain = planned(graph, snapshot, counting=counting)
        assert isinstance(joined.extended, ExtendedGraph)
        assert plain.extended is None
        number = (
            reference.count(plain, snapshot) if counting else len(reference.rows(plain, snapshot))
        )
        if counting:
            assert reference.count(joined, snapshot) == number
            assert run.count(joined, snapshot, run.Options("cpu")) == number
        else:
            kept = {tuple(row[:3]) for row in reference.rows(joined, snapshot).vids.tolist()}
            assert kept == {tuple(row) for row in reference.rows(plain, snapshot).vids.tolist()}
            assert len(kept) == number


def test_equalities_of_the_same_two_from_either_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """`b.x = a.x + 1 AND a.y = b.y + 1` is one value of two: 0 is joined to 1, 1 to 2, and so on."""
    monkeypatch.setattr(equal_values, "WORTH", -1.0)
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("P", np.arange(6))
        up, down = list(range(6)), list(range(6, 0, -1))
        compared = compare(0, 1, [up, up], 1), compare(1, 0, [down, down], 1)
        graph = QueryGraph((QueryVertex("a"), QueryVertex("b")), (), compared=compared)
        joined, _ = planned(graph, db._snapshot(), counting=False)
        found = sorted(map(tuple, reference.rows(joined, db._snapshot()).vids[:, :2].tolist()))
        assert found == [(k, k + 1) for k in range(5)]


def test_a_large_product_is_not_made() -> None:
    """100,000 vertices of 1,000 values: the number of pairs is known without one of them."""
    with gdb.connect() as db:
        with db.transaction() as tx:
            ids = np.arange(100_000)
            tx.add_nodes("P", ids, {"v": ids % 1000, "w": ids // 7})
        text = "MATCH (a:P), (b:P) WHERE a.v = b.v RETURN count(*)"
        assert db.execute(text, timeout=30).scalar() == 10_000_000
        assert "a.v = b.v" in str(db.execute(f"EXPLAIN {text}"))
        assert "cross product" not in str(db.execute(f"EXPLAIN {text}"))
        text = "MATCH (a:P), (b:P) WHERE a.w = b.w AND a.v = b.v + 1 RETURN count(*)"
        known = (ids[1:] // 7 == ids[:-1] // 7) & (ids[1:] % 1000 == ids[:-1] % 1000 + 1)
        assert db.execute(text, timeout=30).scalar() == int(known.sum())
