"""Counts behind OPTIONAL MATCH: without rows, as with them."""

from __future__ import annotations

import random

import pytest

import gdb
from gdb.executor import run as executor
from gdb.executor.plan.plan import Plan
from gdb.logical import rewrites
from tests.support.chain_queries import graph_queries
from tests.support.effort import share
from tests.support.ways import forced

_NODES = ("", ":A", ":B")
_TYPES = ("", ":K", ":L", ":K|L")
_MODES = ("", "", "REPEATABLE ELEMENTS ", "DIFFERENT NODES ", "INDUCED ")


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans with optional parts that were run."""
    found: list[Plan] = []
    run = executor.count

    def seen(plan: Plan, *others: object) -> int:
        if plan.optional:
            found.append(plan)
        return run(plan, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(executor, "count", seen)
    return found


def _step(chance: random.Random, name: str) -> str:
    left, right = chance.choice([("-", "->"), ("<-", "-"), ("-", "-")])
    return f"{left}[{chance.choice(_TYPES)}]{right}({name}{chance.choice(_NODES)})"


def _text(chance: random.Random, mode: str) -> str:
    """mode : of the first MATCH; others have theirs."""
    clauses = [f"MATCH {mode}(a{chance.choice(_NODES)})"]
    clauses[0] += "".join(_step(chance, name) for name in ("b", "c")[: chance.randrange(3)])
    roots = [name for name in "abc" if f"({name}" in clauses[0]]
    nodes = list(roots)
    for k in range(chance.randrange(1, 4)):
        root = chance.choice(roots)
        tests = [f"o{k}.i > 0", f"NOT (o{k})-[:K]->()", f"{root}.i > 1"]
        tests += [f"o{k}.i > {root}.i", f"({root})-[:L]-(o{k})"]
        where = chance.choice(["", "", *(f" WHERE {test}" for test in tests)])
        path = f"({root}{chance.choice(_NODES)}){_step(chance, f'o{k}')}"
        path += _step(chance, "") * chance.randrange(2)
        if chance.randrange(4) == 0:
            path += f", (o{k}){_step(chance, chance.choice(roots))}"
        clauses.append(f"OPTIONAL MATCH {chance.choice(_MODES)}{path}{where}")
        nodes.append(f"o{k}")
        if chance.randrange(3) == 0:
            roots.append(f"o{k}")
    one = chance.choice(["count(*)", "count(*)", f"count({chance.choice(nodes)})"])
    several = f"count(*) AS n, count({chance.choice(nodes)}) AS o, count(a) + 1 AS p"
    return f"{' '.join(clauses)} RETURN {chance.choice([one, one, several])}"


@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("seed", range(2))
def test_random_counts_are_those_of_rows(mode: str, seed: int, counted: list[Plan]) -> None:
    chance = random.Random(seed)
    for _ in range(share(6)):
        with gdb.connect() as db:
            for text, values in graph_queries(chance):
                db.execute(text, values)
            for _ in range(8):
                text = _text(chance, mode)
                again = [db.execute(text).fetchall() for _ in range(2)]
                with forced("operators"):
                    again.append(db.execute(text).fetchall())
                with forced("rows"):
                    assert again == [db.execute(text).fetchall()] * 3, text
    assert len(counted) > 20


@pytest.mark.parametrize("name", [one.__name__ for one in rewrites.REWRITES])
def test_counts_without_a_rewrite(name: str, counted: list[Plan]) -> None:
    text = (
        "MATCH (a:A)-->(b) MATCH (b)-->(c) OPTIONAL MATCH (b)-->(d) OPTIONAL MATCH (d)-->(e) "
        "RETURN count(*)"
    )
    with gdb.connect() as db:
        db.execute("CREATE (a:A)-[:K]->(b)-[:K]->(c)-[:K]->(a), (b)-[:K]->(:A), (c)-[:K]->(:B)")
        with pytest.MonkeyPatch.context() as patch:
            left = tuple(one for one in rewrites.REWRITES if one.__name__ != name)
            patch.setattr(rewrites, "REWRITES", left)
            found = db.execute(text).scalar()
        with forced("rows"):
            assert found == db.execute(text).scalar()
    assert counted


def test_a_parameter_is_read_each_time(counted: list[Plan]) -> None:
    one = "MATCH (a:A) OPTIONAL MATCH (a)-->(b) WHERE b.i > $i RETURN count(*)"
    both = "MATCH (a:A) OPTIONAL MATCH (a)-->(b) WHERE b.i > $i RETURN count(b), count(*)"
    with gdb.connect() as db:
        db.execute("CREATE (a:A)-[:K]->(:B {i: 1}), (a)-[:K]->(:B {i: 2}), (:A)")
        assert [db.execute(one, {"i": i}).scalar() for i in (0, 1, 2, 0)] == [3, 2, 2, 3]
        found = [db.execute(both, {"i": i}).fetchall() for i in (0, 1, 2)]
    assert found == [[(2, 3)], [(1, 2)], [(0, 2)]]
    assert len(counted) == 7


def test_what_is_kept_ends_with_the_snapshot(counted: list[Plan]) -> None:
    texts = [
        "MATCH (a:A) OPTIONAL MATCH (a)-->(b) RETURN count(*)",
        "MATCH (a:A) OPTIONAL MATCH (a)-->(b) RETURN count(*), count(*) + count(b)",
    ]
    for text in texts:
        counted.clear()
        with gdb.connect() as db:
            db.execute("CREATE (:A)-[:K]->(:B), (:A)")
            assert [db.execute(text).fetchall()[0][0] for _ in range(2)] == [2, 2]
            assert counted[0] is counted[1]
            db.execute("MATCH (a:A)-->() CREATE (a)-[:K]->(:B)")
            assert db.execute(text).fetchall()[0][0] == 3


@pytest.mark.parametrize(
    "text",
    [
        # (o) depends on two that need not be there together
        "MATCH (a) OPTIONAL MATCH (a)-->(b) OPTIONAL MATCH (a)-->(c) OPTIONAL MATCH (b)-->(o)<--(c) "
        "RETURN count(*)",
        # no node of its own
        "MATCH (a), (b) OPTIONAL MATCH (a)-->(b) RETURN count(*)",
        "MATCH SUBGRAPHS (a)-->(b) OPTIONAL MATCH (a)-->(c) RETURN count(*)",
        "MATCH (a) OPTIONAL MATCH SUBGRAPHS (a)-->(c), (a)-->(d) RETURN count(*)",
        "MATCH (a) OPTIONAL MATCH (a)-[*1..2]->(c) RETURN count(*)",
        "MATCH (a)-[r]->(b) OPTIONAL MATCH (a)-[r]->(c) RETURN count(*)",
        "MATCH (a) OPTIONAL MATCH (a)-->(c) RETURN count(DISTINCT c)",
        "MATCH (a) OPTIONAL MATCH (a)-->(c) WHERE c.i + a.i > 2.5 RETURN count(*)",
        "OPTIONAL MATCH (a:X) OPTIONAL MATCH (a)-->(c) RETURN count(*)",
    ],
)
def test_what_is_no_such_count_has_rows(text: str, counted: list[Plan]) -> None:
    with gdb.connect() as db:
        db.execute(
            "CREATE (a:A {i: 1})-[:K]->(b:B {i: 2})-[:K]->(c {i: 3})-[:L]->(a), (b)-[:L]->(:A)"
        )
        found = db.execute(text).fetchall()
        with forced("rows"):
            assert found == db.execute(text).fetchall()
    assert not counted


def test_explain_shows_the_part() -> None:
    with gdb.connect() as db:
        # a loop, which two relationships of a path could be
        db.execute("CREATE (:A)-[:K]->(:B), (:A), (l:L)-[:K]->(l)")
        text = "MATCH (a:A) OPTIONAL MATCH (a)-->(b) RETURN count(*)"
        assert "optional, counts at least one:" in db.explain(text)
        assert "max(1, |" in db.explain(text)
        assert "products" not in db.explain(f"{text} + 1")
        assert "max(1, |" in db.explain(f"{text} + 1")
        assert "at least 1" in db.explain(text.replace("(b) ", "(b), (b)-->(c), (c)-->(a) "))
