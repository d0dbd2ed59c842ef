"""Counts behind OPTIONAL MATCH that hang on one node each: without rows, as with them."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gdb
from gdb.physical import optional_counts
from gdb.physical.optional_counts import OptionalCounts
from tests.chain_queries import graph_queries
from tests.ways import forced

_NODES = ("", ":A", ":B")
_TYPES = ("", ":K", ":L", ":K|L")


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[OptionalCounts]:
    """Every run of counts."""
    found: list[OptionalCounts] = []
    run = OptionalCounts.row

    def seen(self: OptionalCounts, context: object) -> object:
        found.append(self)
        return run(self, context)  # type: ignore[arg-type]

    monkeypatch.setattr(OptionalCounts, "row", seen)
    return found


def _step(chance: random.Random, name: str) -> str:
    left, right = chance.choice([("-", "->"), ("<-", "-"), ("-", "-")])
    return f"{left}[{chance.choice(_TYPES)}]{right}({name}{chance.choice(_NODES)})"


def _text(chance: random.Random) -> str:
    mode = chance.choice(["", "", "REPEATABLE ELEMENTS "])
    clauses = [f"MATCH {mode}(a{chance.choice(_NODES)})"]
    clauses[0] += "".join(_step(chance, name) for name in ("b", "c")[: chance.randrange(3)])
    roots = [name for name in "abc" if f"({name}" in clauses[0]]
    others = []
    for k in range(chance.randrange(1, 4)):
        where = chance.choice(["", "", f" WHERE o{k}.i > 0", f" WHERE NOT (o{k})-[:K]->()"])
        path = f"({chance.choice(roots)}{chance.choice(_NODES)}){_step(chance, f'o{k}')}"
        path += _step(chance, "") * chance.randrange(2)
        clauses.append(f"OPTIONAL MATCH {mode}{path}{where}")
        others.append(f"o{k}")
    return (
        f"{' '.join(clauses)} RETURN count(*) AS n, count({chance.choice(others)}) AS o, count(a)"
    )


@pytest.mark.parametrize("seed", range(4))
def test_random_counts_are_those_of_rows(seed: int, counted: list[OptionalCounts]) -> None:
    chance = random.Random(seed)
    for _ in range(6):
        with gdb.connect() as db:
            for text, values in graph_queries(chance):
                db.execute(text, values)
            for _ in range(8):
                text = _text(chance)
                again = [db.execute(text).fetchall() for _ in range(2)]
                with forced("rows"):
                    assert again == [db.execute(text).fetchall()] * 2, text
    assert len(counted) > 20


def test_a_parameter_is_read_each_time(counted: list[OptionalCounts]) -> None:
    text = "MATCH (a:A) OPTIONAL MATCH (a)-->(b) WHERE b.i > $i RETURN count(b)"
    with gdb.connect() as db:
        db.execute("CREATE (a:A)-[:K]->(:B {i: 1}), (a)-[:K]->(:B {i: 2}), (:A)")
        assert [db.execute(text, {"i": i}).scalar() for i in (0, 1, 2)] == [2, 1, 0]
    assert len(counted) == 3


def test_what_is_kept_ends_with_the_snapshot(counted: list[OptionalCounts]) -> None:
    text = "MATCH (a:A) OPTIONAL MATCH (a)-->(b) RETURN count(*)"
    with gdb.connect() as db:
        db.execute("CREATE (:A)-[:K]->(:B), (:A)")
        assert [db.execute(text).scalar() for _ in range(2)] == [2, 2]
        assert counted[0] is counted[1]
        db.execute("MATCH (a:A)-->() CREATE (a)-[:K]->(:B)")
        assert db.execute(text).scalar() == 3


def test_products_beyond_64_bits() -> None:
    many = [np.full(2, 1 << 40), np.full(2, 1 << 40)]
    assert optional_counts._sum(many, None, 2) == 1 << 81
