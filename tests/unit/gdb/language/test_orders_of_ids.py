"""Conditions that compare integer ids in order are evaluated before matching, exactly, also beside floats."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator

import pytest

import gdb
from gdb import Database

ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
VALUES = (
    *(3, 3.0, 3.5, -1, -0.5, 2**62, 2.0**62, 2.0**63, -(2.0**63), 2**63 - 1, -(2**63)),
    *(math.inf, -math.inf, math.nan),
)


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with gdb.connect() as found:
        found.execute("UNWIND range(0, 20) AS i CREATE (:P {k: i})")
        with found.transaction() as tx:
            tx.add_nodes("Q", [-5, 2**62, 10**9])
        found.execute("MATCH (a:P), (b:P) WHERE b.k = a.k + 1 CREATE (a)-[:T]->(b)")
        yield found


def ids_of(db: Database, text: str, given: dict[str, float]) -> list[int]:
    return [row[0] for row in db.execute(text, given)]


@pytest.mark.parametrize("value", VALUES, ids=str)
@pytest.mark.parametrize("order", ORDERS)
def test_orders_of_ids(db: Database, order: str, value: float) -> None:
    ids = [row[0] for row in db.execute("MATCH (n) RETURN id(n)")]
    edges = db.execute("MATCH (a)-[r]->() RETURN id(r), id(a)").fetchall()
    holds, given = ORDERS[order], {"v": value}
    text = f"MATCH (n) WHERE id(n) {order} $v RETURN id(n)"
    assert sorted(ids_of(db, text, given)) == sorted(x for x in ids if holds(x, value))
    text = f"MATCH (n) WHERE NOT id(n) {order} $v AND $v {order} id(n) RETURN id(n)"
    found = sorted(ids_of(db, text, given))
    assert found == sorted(x for x in ids if not holds(x, value) and holds(value, x))
    text = f"MATCH (a)-[r]->() WHERE id(r) {order} $v AND id(a) {order} $v RETURN id(r)"
    found = sorted(ids_of(db, text, given))
    assert found == sorted(r for r, a in edges if holds(r, value) and holds(a, value))


def test_they_are_candidates(db: Database) -> None:
    shown = str(
        db.execute("EXPLAIN MATCH (a)-->(b)-->(c) WHERE id(a) < 5 AND a.k > 2 RETURN count(*)")
    )
    assert "scan a: :(.k > 2) AND (id() < 5), 2 candidates" in shown
    assert (
        db.execute("MATCH (a)-->(b)-->(c) WHERE id(a) < 5 AND a.k > 2 RETURN count(*)").scalar()
        == 2
    )
