"""Integers and floats that are equal: exactly, whichever way rows are joined by them, and with a hash table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import duckdb
import pytest

import gdb
from gdb import Database
from gdb.base.sql import column_of, exp, written
from gdb.functions.types import FLOAT, INTEGER, Type, Typed
from gdb.language.comparisons import compare
from gdb.language.syntax import Comparator
from tests.support.ways import WAYS, Way, forced

WHOLE = (*(0, 1, -1, 7, 2**53, 2**53 + 1, -(2**53) - 1, 2**53 + 2), *(2**63 - 1, -(2**63), None))
FLOATS = (
    *(0.0, -0.0, 1.0, 7.5, 7.0, 2.0**53, -(2.0**53)),
    *(2.0**63, -(2.0**63), 1e300, math.inf, -math.inf, math.nan, None),
)


def equal(one: float | None, other: float | None) -> bool | None:
    """one = other. Python compares an integer with a float exactly."""
    return None if one is None or other is None else one == other


@pytest.fixture(scope="module")
def numbers() -> Iterator[Database]:
    with gdb.connect() as db:
        for label, values in (("W", WHOLE), ("F", FLOATS)):
            rows = [{"k": k, "v": value} for k, value in enumerate(values)]
            db.execute(f"UNWIND $rows AS row CREATE (n:{label}) SET n = row", {"rows": rows})
        yield db


PAIRS = [("W", "F"), ("F", "W"), ("F", "F")]
VALUES = {"W": WHOLE, "F": FLOATS}


def pairs(of: str, other: str) -> list[tuple[int, int]]:
    each = product(enumerate(VALUES[of]), enumerate(VALUES[other]))
    return [(k, m) for (k, one), (m, another) in each if equal(one, another)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("of", "other"), PAIRS)
def test_rows_are_joined_by_equal_numbers(numbers: Database, of: str, other: str, way: Way) -> None:
    wanted = pairs(of, other)
    with forced(way):
        for text in (
            f"MATCH (a:{of}) WITH a MATCH (b:{other}) WHERE b.v = a.v RETURN a.k, b.k",
            f"MATCH (a:{of}) WITH a, a.v AS v MATCH (b:{other} {{v: v}}) RETURN a.k, b.k",
            f"MATCH (a:{of}), (b:{other}) WHERE a.v = b.v RETURN a.k, b.k",
            f"MATCH (a:{of}) CALL (a) {{ MATCH (b:{other}) WHERE b.v = a.v RETURN b }} RETURN a.k, b.k",
        ):
            assert sorted(numbers.execute(text).fetchall()) == wanted, text
        text = f"MATCH (a:{of}) WHERE EXISTS {{ (b:{other}) WHERE b.v = a.v }} RETURN a.k"
        found = {k for (k,) in numbers.execute(text).fetchall()}
        assert found == {k for k, _ in wanted}
        text = f"MATCH (a:{of}) OPTIONAL MATCH (b:{other}) WHERE a.v = b.v RETURN a.k, count(b)"
        counts = dict(numbers.execute(text).fetchall())
        assert counts == {k: sum(k == one for one, _ in wanted) for k in range(len(VALUES[of]))}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("of", "other"), PAIRS)
def test_what_an_equality_is(numbers: Database, of: str, other: str, way: Way) -> None:
    text = f"MATCH (a:{of}), (b:{other}) RETURN a.k, b.k, a.v = b.v AS same, NOT a.v = b.v AS apart"
    with forced(way):
        found = {(a, b): (same, apart) for a, b, same, apart in numbers.execute(text)}
    for (k, one), (m, another) in product(enumerate(VALUES[of]), enumerate(VALUES[other])):
        same = equal(one, another)
        assert found[k, m] == (same, None if same is None else not same), (one, another)


@pytest.mark.parametrize(
    ("left", "right"), [(INTEGER, FLOAT), (FLOAT, INTEGER), (FLOAT, FLOAT), (INTEGER, INTEGER)]
)
def test_duckdb_joins_with_a_hash_table(left: Type, right: Type) -> None:
    names = {INTEGER: "BIGINT", FLOAT: "DOUBLE"}
    found = compare(
        Comparator.EQUAL, Typed(column_of("x", "l"), left), Typed(column_of("y", "r"), right)
    )
    query = exp.Select(expressions=[exp.Star()]).from_("l").join("r").where(found.sql)
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE l (x {names[left]}); CREATE TABLE r (y {names[right]})")
        db.execute(
            "INSERT INTO l SELECT range FROM range(9); INSERT INTO r SELECT range FROM range(9)"
        )
        ((_, plan),) = db.execute(f"EXPLAIN {written(query)}").fetchall()
    assert "hash join" in plan.lower().replace("_", " ")
