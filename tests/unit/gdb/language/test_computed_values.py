"""Equalities of what is computed of one vertex each, between parts of a pattern: matched by these values."""

from __future__ import annotations

import math
import random
import warnings
from importlib import import_module

import numpy as np
import pytest

import gdb
from gdb import Database, errors
from gdb.language import question
from tests.support.effort import share
from tests.support.ways import forced

equal_values = import_module("gdb.planner.equal_values")
NUMBERS = (
    "a.x",
    "a.x * 2",
    "a.x / 2",
    "a.x % 3",
    "a.f",
    "a.f * 2",
    "abs(a.x)",
    "-a.f",
    "toFloat(a.x)",
)
MORE_NUMBERS = (
    *(
        "coalesce(a.x, -1)",
        "coalesce(a.f, 0.0)",
        "size(a.s)",
        "a.x * $k",
        "toInteger(a.s)",
        "a.big",
    ),
    *("a.big + 0.0", "CASE WHEN a.x > 1 THEN a.x ELSE 7 END", "a.x * a.x", "a.x + a.f", "a.none"),
)
OTHERS = (
    *(
        "a.s",
        "toLower(a.s)",
        "toUpper(a.s)",
        "a.s + 'x'",
        "toString(a.x)",
        "a.x > 1",
        "a.s STARTS WITH 'a'",
    ),
    *(
        "[a.x]",
        "{k: a.x}",
        "a.d",
        "a.d.month",
        "a.x IN [1, 2]",
        "a.x IS NULL",
        "10 / a.x",
        "a.mixed",
    ),
)
VALUES: dict[str, tuple[object, ...]] = {
    "x": (0, 1, 2, 3, -1),
    "f": (0.0, -0.0, 1.0, 1.5, 2.0, math.nan, math.inf),
    "s": ("a", "A", "Ab", "ß", "1"),
    "big": (2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1),
    "mixed": (1, "1", 1.0, True),
}
PARTS = ("(a:A), (b:B)", "(a), (b)", "(a:A)-->(c), (b:B)", "(a:A), (b:A)", "(a:A), (b:B)<--(c)")
RETURNS = ("RETURN count(*)", "RETURN a.k, b.k", "RETURN DISTINCT b.k", "RETURN b.k, count(*)")


def random_store(draw: random.Random) -> Database:
    db = gdb.connect()
    count = draw.randrange(3, 12)
    for k in range(count):
        held = {key: draw.choice(some) for key, some in VALUES.items() if draw.random() < 0.7}
        day = draw.choice((", d: date('2020-01-02')", ", d: date('2020-02-02')", ""))
        text = ", ".join(f"{key}: ${key}" for key in held)
        label = draw.choice(("A", "B", "A:B"))
        db.execute(f"CREATE (n:{label} {{k: {k}{day}{', ' if text else ''}{text}}})", held)
    for _ in range(count):
        ends = {"a": draw.randrange(count), "b": draw.randrange(count)}
        db.execute("MATCH (a {k: $a}), (b {k: $b}) CREATE (a)-[:T]->(b)", ends)
    return db


def side(draw: random.Random, several: tuple[str, ...], name: str) -> str:
    return draw.choice(several).replace("a.", f"{name}.")


def result(db: Database, text: str, k: object) -> object:
    try:
        return sorted(map(repr, db.execute(text, {"k": k})))
    except errors.QueryError as error:
        return type(error)


@pytest.mark.parametrize("seed", range(share(16, least=4)))
def test_the_answers_are_those_of_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question, "soon_listed", lambda *_: False)
    monkeypatch.setattr(equal_values, "WORTH", -1.0 if seed % 2 else math.inf)
    draw = random.Random(seed)
    with random_store(draw) as db, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(30):
            several = draw.choice(
                (NUMBERS, (*NUMBERS, *MORE_NUMBERS), OTHERS, (*MORE_NUMBERS, *OTHERS))
            )
            equality = f"{side(draw, several, 'a')} = {side(draw, several, 'b')}"
            more = draw.choice(("", "", " AND a.k < b.k", " AND a.x = b.x", " AND b.x > $k"))
            if "10 /" in equality:
                more = ""  # which may leave out the pairs that fail, or not
            text = f"MATCH {draw.choice(PARTS)} WHERE {equality}{more} {draw.choice(RETURNS)}"
            for k in (1, 2, 1):
                found = result(db, text, k)
                with forced("rows"):
                    assert found == result(db, text, k), text


@pytest.mark.parametrize(
    ("equality", "pairs"),
    [
        ("a.v * 2 = b.w", 50_000),
        ("toString(a.v) = toString(b.w)", 100_000),
        ("coalesce(a.v, -1) = coalesce(b.w, -1)", 100_000),
        ("a.v * 0.5 = b.w", 50_000),
    ],
)
def test_a_large_product_is_not_made(equality: str, pairs: int) -> None:
    with gdb.connect() as db:
        ids = np.arange(100_000)
        with db.transaction() as tx:
            tx.add_nodes("P", ids, {"v": ids, "w": ids[::-1].copy()})
        text = f"MATCH (a:P), (b:P) WHERE {equality} RETURN count(*)"
        assert db.execute(text, timeout=30).scalar() == pairs
        assert "cross product" not in str(db.execute(f"EXPLAIN {text}"))


def test_values_of_a_parameter_are_computed_anew() -> None:
    with gdb.connect() as db:
        ids = np.arange(3_000)
        with db.transaction() as tx:
            tx.add_nodes("P", ids, {"v": ids})
        text = "MATCH (a:P), (b:P) WHERE a.v * $k = b.v RETURN count(*)"
        for k in (2, 3, 2, 1, 5):
            assert db.execute(text, {"k": k}).scalar() == -(-3_000 // k)
