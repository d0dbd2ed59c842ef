"""Comparisons of two elements: what the loop nest compares is what the tail compares, and what the definition of the
language says, with nulls, NaN, numbers of any size, and parameters that change."""

from __future__ import annotations

import math
import os
import random
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, timedelta

import numpy as np
import pytest

import gdb
from gdb import Database
from gdb.errors import GdbError
from gdb.executor.relational.relational_tail import Value
from gdb.language import comparison_values, element_comparisons
from gdb.run import columns_or_rows
from gdb.run.query_cache import QueryCache
from gdb.storage.columns.model import Column, EdgeTable, Kind, PropertyValue, VertexTable
from gdb.storage.columns.python_columns import column_of
from tests.support.effort import share
from tests.support.graph_tables import GraphTables, write_graph

DEVICES = [
    {"cpu": "cpu", "gpu": "cuda"}[name]
    for name in os.environ.get("GDB_TEST_BACKENDS", "cpu").split(",")
]
VALUES: dict[str, list[PropertyValue]] = {
    "i": [0, 1, 2, 3, -1, None],
    "big": [2**63 - 1, -(2**63), 2**53 + 1, 2**53, 2**62, 2**63 - 513, 0, None],
    "f": [0.0, -0.0, 1.0, 1.5, math.nan, math.inf, -math.inf, 2.0**53, 2.0**63, 2.0**62, None],
    "g": [0.5, 1.0, 2.0, None],
    "s": ["", "a", "b", "ä", "a\0", "A", None],
    "b": [True, False, None],
    "d": [date(2000, 1, 1), date(2000, 1, 3), date(1999, 12, 31), None],
    "t": [
        *(datetime(2000, 1, 1, 12), datetime(2000, 1, 2, 12), datetime(2000, 1, 2, 12, 0, 0, 1)),
        *(datetime(1969, 12, 31, 23), datetime.max, None),
    ],
}
SIGNS = ("<", "<=", ">", ">=", "=", "<>")
SPANS = (
    "{hours: 24}",
    "{days: 1}",
    "{minutes: 90, days: -2}",
    "{microseconds: 1}",
    "{seconds: $w}",
)
NUMBERS: list[Value] = [0, 1, -2, 2**62, 2**63 - 1, -(2**63), 3]
FLOATS: list[Value] = [0.5, 1.0, -math.inf, math.inf, math.nan, -1e300]
LENGTHS: list[Value] = [timedelta(1), timedelta(0), timedelta(-1, microseconds=1)]


def columns(rng: random.Random, count: int) -> dict[str, Column]:
    kinds: dict[str, Kind] = {
        "i": "int64",
        "big": "int64",
        "f": "float64",
        "g": "float64",
        "b": "bool",
    }
    return {
        key: column_of([rng.choice(some) for _ in range(count)], kinds.get(key))
        for key, some in VALUES.items()
    }


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    """Fourteen nodes of two labels, one without some keys; two types of relationships, parallel and loops."""
    rng = random.Random(11)
    nodes = [("A",), ("B",)]
    tables = tuple(
        VertexTable(labels, "", np.arange(7) + 7 * k, columns(rng, 7))
        for k, labels in enumerate(nodes)
    )
    edges = []
    for name in ("R", "S"):
        ends = rng.choices(range(14), k=30), rng.choices(range(14), k=30)
        known = columns(rng, 30)
        if name == "S":
            del known["g"], known["s"]
        sources, targets = (np.array(end) for end in ends)
        edges.append(EdgeTable(name, True, sources, targets, known))
    with gdb.connect() as made:
        write_graph(made._store, GraphTables(tables, tuple(edges)))
        yield made


def condition(rng: random.Random) -> tuple[str, list[Value]]:
    """Over two of the elements of the pattern, and values that its parameter may have."""
    x, y = rng.sample(["a", "b", "c", "e", "f"], 2)
    sign = rng.choice(SIGNS)
    whole = rng.choice(["i", "i", "big"])
    key = rng.choice(["i", "big", "f", "g", "s", "b", "d", "t"])
    plain = f"{x}.{key} {sign} {y}.{key}", list[Value]([None])
    mixed = f"{x}.{rng.choice(['i', 'big'])} {sign} {y}.{rng.choice('fg')}", list[Value]([None])
    linear = rng.choice(
        [
            *(f"{x}.{whole} - {y}.{whole} {sign} $w", f"{x}.{whole} {sign} {y}.{whole} + $w"),
            *(f"$w {sign} {x}.{whole} - {y}.i", f"-{x}.{whole} + 1 {sign} $w - {y}.{whole}"),
            *(f"{x}.i {sign} {y}.i + 2 * $w", f"{x}.i - $w {sign} {y}.big - $w - 1"),
        ]
    )
    floating = rng.choice([f"{x}.i - {y}.i {sign} $w", f"$w {sign} {x}.i - {y}.i"])
    span = f"duration({rng.choice(SPANS)})"
    later = rng.choice(
        [
            *(f"{x}.t {sign} {y}.t + {span}", f"{x}.t - {span} {sign} {y}.t"),
            *(f"{span} + {x}.t {sign} {y}.t - {span}", f"{x}.d {sign} {y}.d + {span}"),
        ]
    )
    spans = [0, 60, -1, 86_400] if "$w" in later else [None]
    ids = f"id({x}) {sign} id({y})" if {x, y} <= set("abc") else f"id({x}) {sign} {y}.i"
    choices: list[tuple[str, list[Value]]] = [
        *(plain, plain, mixed, (linear, NUMBERS), (linear, NUMBERS), (floating, FLOATS)),
        *((later, list[Value](spans)), (f"{x}.t {sign} {y}.t + $w", LENGTHS)),
        (ids, [None]),
    ]
    text, values = rng.choice(choices)
    return (f"NOT {text}" if rng.random() < 0.2 else text), values


def question(rng: random.Random) -> tuple[str, list[dict[str, Value]]]:
    """A query, and parameters for each of its runs."""
    found = [condition(rng) for _ in range(rng.choice([1, 1, 2]))]
    parts, every = [], [{}, {}, {}, {}]
    for k, (text, values) in enumerate(found):
        parts.append(text.replace("$w", f"$w{k}"))
        if "$w" in text:
            every = [{**one, f"w{k}": rng.choice(values)} for one in every]
    ends = rng.choice([("-[e:R]->", "-[f:R]->"), ("-[e]->", "<-[f]-"), ("-[e:S]-", "-[f:R]->")])
    labels = rng.choice(["", "", ":A"])
    returned = rng.choice(["count(*)", "id(a), id(b), id(c), id(e), id(f)", "count(DISTINCT a)"])
    pattern = f"(a{labels}){ends[0]}(b){ends[1]}(c)"
    return f"MATCH {pattern} WHERE {' AND '.join(parts)} RETURN {returned}", every


def answer(db: Database, text: str, parameters: dict[str, Value], device: str) -> object:
    """The rows, or that it is an error."""
    try:
        return Counter(tuple(row) for row in db.execute(text, parameters, device=device))
    except GdbError:
        return "an error"


def agree(got: object, want: object, text: str) -> None:
    """What one condition refuses, another need not test."""
    assert got == want or (" AND " in text and "an error" in (got, want)), text


def forget(db: Database) -> None:
    db._statements.clear()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(share(150)))
def test_every_way_gives_the_same(
    db: Database, seed: int, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, asked = question(random.Random(seed))
    forget(db)
    found = [answer(db, text, one, device) for one in asked]
    with monkeypatch.context() as patch:
        patch.setattr(
            element_comparisons,
            "split_comparisons",
            lambda scope, conditions: ((), list(conditions)),
        )
        for one, got in zip(asked, found, strict=True):
            forget(db)
            agree(got, answer(db, text, one, "cpu"), text)
        patch.setattr(QueryCache, "one_pattern", lambda *_: None)
        patch.setattr(columns_or_rows, "WAY", "rows")
        for one, got in zip(asked, found, strict=True):
            forget(db)
            agree(got, answer(db, text, one, "cpu"), text)
    with (
        monkeypatch.context() as patch
    ):  # operator by operator, over columns and over rows, in the nest as well
        patch.setattr(QueryCache, "one_pattern", lambda *_: None)
        for columns_ in (True, False):
            patch.setattr(columns_or_rows, "WAY", "columns" if columns_ else "rows")
            for one, got in zip(asked, found, strict=True):
                agree(got, answer(db, text, one, device), text)
    forget(db)


IN_THE_NEST = [
    "a.i < b.i",
    "a.i <> b.i",
    "NOT a.i = b.i",
    "NOT a.f = b.f",
    "e.i - f.i <= $w",
    "e.i <= f.i + 2 * $w",
    "a.i - b.i < 0.5",
    "a.big < b.big",
    "a.f <= b.f",
    "a.f <> b.f",
    "a.big = b.f",
    "a.s = b.s",
    "a.s < b.s",
    "a.b <> b.b",
    "a.d < b.d",
    "e.t < f.t + duration({hours: $w})",
    "e.t - duration('P1DT2H') < f.t",
    "a.d < b.d + duration({days: 2})",
    "id(a) < id(b)",
    "id(a) < b.i",
]
IN_THE_TAIL = [
    "a.i - b.i < c.i",
    "a.i * 2 < b.i",
    "a.big < b.big + $w",  # might overflow
    "a.f - b.f < 1",
    "NOT a.f < b.f",  # true of NaN
    "e.t < f.t + duration({months: 1})",
    "a.d < b.d + duration({hours: 30})",
    "a.i < b.i + $none",
    "a.i < b.s",
]


@pytest.mark.parametrize("text", IN_THE_NEST)
def test_what_the_nest_compares(db: Database, text: str) -> None:
    query = f"MATCH (a)-[e:R]->(b)-[f:R]->(c) WHERE {text} RETURN count(*)"
    assert f"compare {text}" in db.explain(query, parameters={"w": 3})


@pytest.mark.parametrize("text", IN_THE_TAIL)
def test_what_the_tail_compares(db: Database, text: str) -> None:
    query = f"MATCH (a)-[e:R]->(b)-[f:R]->(c) WHERE {text} RETURN count(*)"
    assert "compare " not in db.explain(query, parameters={"w": 3, "none": None})


def test_one_plan_serves_all_windows(db: Database) -> None:
    """A comparison that occurs twice as well; and not one that the plan cannot hold."""
    text = "MATCH (a)-[e]->(b)-[f]->(c) WHERE f.i - e.i <= $w AND f.i - e.i <= $w RETURN count(*)"
    found = {}
    for w in (1, 0, 5, -3, 1, 2**63 - 1, 1):
        result = db.execute(text, {"w": w}, device="cpu")
        assert "plan" not in result.summary.seconds or not found
        found[w] = result.scalar()
    assert found[-3] < found[0] < found[1] < found[5] == found[2**63 - 1]
    text = "MATCH (a)-[e]->(b)-[f]->(c) WHERE f.i <= e.i + $w RETURN count(*)"
    assert db.execute(text, {"w": 1}, device="cpu").scalar() == found[1]
    with pytest.raises(GdbError):
        db.execute(text, {"w": 2**63 - 1}, device="cpu").scalar()
    assert db.execute(text, {"w": 5}, device="cpu").scalar() == found[5]


def test_values_are_read_once(db: Database) -> None:
    forget(db)
    for returned in ("count(*)", "id(a)", "id(b)"):
        text = f"MATCH (a)-[e:R]->(b)-[f:R]->(c) WHERE e.i < f.i RETURN {returned}"
        db.execute(text, device="cpu").fetchall()
    kept = [one.plan.compares[0] for one in db._statements._kept.values()]
    assert len({id(one.left_values) for one in kept}) == 1
    assert all(one.left_values is one.right_values for one in kept)


def test_values_that_are_no_longer_used_are_let_go(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison_values, "MOST_KEPT", 1000)
    for key in "ifgsbdt":
        db.execute(f"MATCH (a)-[e]->(b) WHERE a.{key} < b.{key} RETURN count(*)", device="cpu")
    kept = comparison_values._of_snapshots
    assert all(some.bytes <= 1000 for some in kept._made.values())
