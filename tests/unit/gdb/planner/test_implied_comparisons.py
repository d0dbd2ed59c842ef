"""Comparisons that follow from others: every difference that they leave possible is left, and no other that a pair of
values could have; plans make them early, and again when parameters change."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

import gdb
from gdb import Database
from gdb.executor.plan.plan import Compare
from gdb.planner.implied import again, bounds_of
from gdb.storage.columns.model import EdgeTable, VertexTable
from gdb.storage.columns.python_columns import column_of
from tests.support.effort import share
from tests.support.graph_tables import GraphTables, write_graph

ANY = 1 << 62
VALUES = np.zeros(1, np.int64)


def compare(sides: Sequence[int], bounds: tuple[int, int]) -> Compare:
    left, right = sides
    return Compare(left, right, True, True, *bounds, VALUES, VALUES)


@pytest.mark.parametrize("seed", range(share(40)))
def test_what_follows_is_all_that_is_possible(seed: int) -> None:
    """Three values among 0..6: the bounds of each pair are the least and the most difference of any solution, but for
    what the range of the values itself forbids."""
    rng = random.Random(seed)
    some = [
        compare(rng.sample(range(3), 2), rng.choice([(-ANY, 1), (0, 2), (1, ANY), (-1, 1)]))
        for _ in range(3)
    ]
    found = bounds_of(some)
    values = [
        dict(zip(range(3), at, strict=True))
        for at in product(range(13), repeat=3)
        if all(c.least <= at[c.right] - at[c.left] <= c.most for c in some)
    ]
    for c in some:
        least, most = found.between(c)
        differences = {at[c.right] - at[c.left] for at in values}
        assert all(least <= d <= most for d in differences)
        if differences:
            assert least == -ANY - 1 or least == min(differences)
            assert most == ANY + 1 or most == max(differences)


def test_contradictions_stay_within_what_can_be_compared() -> None:
    many = [compare((k, (k + 1) % 12), (-ANY, -(1 << 61))) for k in range(12)] * 3
    least, most = bounds_of(many).between(many[0])
    assert -ANY - 1 <= most < least <= ANY + 1


def test_bounds_that_tell_other_edges_apart_need_another_plan() -> None:
    known = [compare((0, 1), (-ANY, 5)), compare((1, 2), (1, ANY))]
    assert again(known, {0: (-ANY, 6)}) == {0: (-ANY, 6)}
    assert again(known, {1: (0, ANY)}) is None


@pytest.fixture(scope="module")
def db() -> Database:
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 12, (2, 150))
    at = column_of([int(x) for x in rng.integers(0, 40, 149)] + [None], "int64")
    made = gdb.connect()
    edges = EdgeTable("R", True, ends[0], ends[1], {"at": at})
    write_graph(made._store, GraphTables((VertexTable(("A",), "", np.arange(12), {}),), (edges,)))
    return made


CHAIN = "MATCH (a)-[e:R]->(b)-[f:R]->(c)-[g:R]->(d) WHERE {} RETURN count(*)"
HELD = "e.at <= f.at AND f.at <= g.at AND g.at - e.at <= $w"


def test_what_follows_is_compared(db: Database) -> None:
    shown = db.explain(CHAIN.format(HELD), parameters={"w": 3})
    assert f"as follows from {HELD}" in shown
    assert "as follows" not in db.explain(CHAIN.format("e.at <= f.at AND f.at <= g.at"))


def test_what_follows_changes_with_parameters(db: Database) -> None:
    """One plan, and the counts of rows that are compared one by one."""
    table = db.execute(
        "MATCH (a)-[e:R]->(b)-[f:R]->(c)-[g:R]->(d) RETURN e.at, f.at, g.at", device="cpu"
    ).fetchall()
    for w in (3, 0, 10, -1, 25, 3):
        result = db.execute(CHAIN.format(HELD), {"w": w}, device="cpu")
        want = sum(None not in (e, f, g) and e <= f <= g <= e + w for e, f, g in table)
        assert result.scalar() == want


def test_edges_that_a_parameter_tells_apart(db: Database) -> None:
    """With a positive distance no relationship follows itself, so no other condition need keep them apart; with zero
    it does."""
    text = "MATCH (a)-[e:R]->(b)-[f:R]->(c) WHERE f.at - e.at >= $w RETURN count(*)"
    rows = "MATCH (a)-[e:R]->(b)-[f:R]->(c) RETURN e.at, f.at"
    table = [row for row in db.execute(rows, device="cpu").fetchall() if None not in row]
    for w in (2, 0, 1, -3):
        found = db.execute(text, {"w": w}, device="cpu").scalar()
        assert found == sum(f - e >= w for e, f in table)
