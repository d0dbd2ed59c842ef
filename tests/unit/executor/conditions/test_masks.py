"""Conditions on one element mean the same to NumPy, to DuckDB and to the reference evaluator, whatever they are."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta

import numpy as np
import pytest

import gdb
from gdb.base.values.elements import NodeValue
from gdb.errors import NotSupported
from gdb.executor.conditions import masks, predicates
from gdb.executor.conditions.masks import Compared, Fixed, Test, Text, Within
from gdb.executor.relational.relational_tail import Value
from gdb.language import masking
from gdb.language.clauses import Match
from gdb.language.parser import parse
from gdb.physical.binder import BoundQuery
from gdb.physical.evaluator import Evaluator
from gdb.physical.rows.stored import from_store
from gdb.query_graph import DIFFERENT_EDGES
from gdb.storage.columns.model import Column, EdgeTable, PropertyValue, VertexTable, from_strings
from gdb.storage.columns.python_columns import column_of
from gdb.storage.graph.adjacency import U32
from gdb.storage.graph.snapshot import Snapshot
from tests.support.binding import bind
from tests.support.graph_tables import GraphTables, write_graph

NODES, CONDITIONS = 60, 150
BIG = 1 << 53
INTEGERS = [
    0,
    1,
    -1,
    7,
    BIG - 1,
    BIG,
    BIG + 1,
    -BIG - 1,
    (1 << 63) - 1,
    (1 << 63) - 512,
    -(1 << 63),
]
FLOATS = [
    0.0,
    -0.0,
    1.0,
    6.5,
    -1.5,
    float(BIG),
    float(BIG + 2),
    2.0**63,
    -(2.0**63),
    1e300,
    math.inf,
]
FLOATS += [-math.inf, math.nan]
TEXTS = ["", "a", "ab", "a\0", "a\0b", "é", "ab€", "abcdefgh", "abcdefghi", "abcdefgh\0", "zz" * 9]
TEXTS += ["\uffff", "\U00010000", "abcdefghabcdefghabc", "b" * 16, "xxabcdefghi"]
DAYS = [date(1970, 1, 1), date(1969, 12, 31), date(2020, 2, 29), date.max]
INSTANTS = [datetime(1970, 1, 1), datetime(2020, 2, 29, 1, 2, 3, 4), datetime.min]
LENGTHS = [timedelta(0), timedelta(days=3), timedelta(microseconds=-5)]
FLAGS = [True, False]
VALUES: Mapping[str, list[PropertyValue]] = {
    "i": list(INTEGERS),
    "f": list(FLOATS),
    "m": list(INTEGERS),  # and floats in another group, so that it has no one column
    "s": list(TEXTS),
    "b": list(FLAGS),
    "d": list(DAYS),
    "t": list(INSTANTS),
    "u": list(LENGTHS),
}
OF_NUMBERS, OF_ORDER = ["i", "f", "m"], ["=", "<>", "<", "<=", ">", ">="]


def column(chance: random.Random, values: list[PropertyValue], nulls: float) -> Column:
    picked = [None if chance.random() < nulls else chance.choice(values) for _ in range(NODES)]
    return column_of(picked if any(x is not None for x in picked) else [values[0]] * NODES)


def graph(chance: random.Random) -> GraphTables:
    """Two groups: `m` is whole numbers in one and floats in the other, and `b` only one has."""
    one = {key: column(chance, values, 0.2) for key, values in VALUES.items()}
    other = {key: column(chance, values, 0.0) for key, values in VALUES.items() if key != "b"}
    other["m"] = column(chance, list(FLOATS), 0.3)
    ids = np.arange(NODES)
    return GraphTables(
        (VertexTable(("N",), "", ids, one), VertexTable(("M", "N"), "", ids + NODES, other)),
        (EdgeTable("R", True, ids, ids[::-1].copy(), one),),
    )


class Conditions:
    """Random conditions that are booleans, and the parameters that they name."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.values: dict[str, Value] = {}

    def parameter(self, value: Value) -> str:
        self.values[name := f"p{len(self.values)}"] = value
        return f"${name}"

    def value(self, key: str) -> PropertyValue:
        pick = self.chance.choice
        if key in OF_NUMBERS:
            return pick([pick(INTEGERS), pick(FLOATS)])
        return pick(VALUES[key])

    def side(self, key: str) -> str:
        if self.chance.random() < 0.05:
            return "null"
        if self.chance.random() < 0.1:  # of another kind
            key = self.chance.choice(list(VALUES))
        return self.parameter(self.value(key))

    def simple(self) -> str:
        pick = self.chance.choice
        key = pick([*VALUES, *OF_NUMBERS, "s", "s", "z"])
        name = f"a.{key}"
        match self.chance.randrange(6 if key == "s" else 5):
            case 0:
                return f"{name} IS {pick(['', 'NOT '])}NULL"
            case 1 if key != "z":
                items = [self.value(key) for _ in range(self.chance.choice([0, 1, 2, 6]))]
                return f"{name} IN {self.parameter([*items, *pick([[], [None]])])}"
            case 2 if key in OF_NUMBERS:
                return f"{name} {pick(OF_ORDER)} a.{pick(OF_NUMBERS)}"
            case 3 if key == "b":
                return name
            case 5:
                test = pick(["STARTS WITH", "ENDS WITH", "CONTAINS"])
                return f"{name} {test} {self.side('s')}"
        sides = [name, self.side("i" if key == "z" else key)]
        self.chance.shuffle(sides)
        # durations, which the store has as microseconds, have an order there, and none in the standard
        return f"{sides[0]} {pick(OF_ORDER[:2] if key == 'u' else OF_ORDER)} {sides[1]}"

    def condition(self, depth: int) -> str:
        pick = self.chance.randrange(5 if depth else 1)
        if pick == 3:
            return f"NOT ({self.condition(depth - 1)})"
        if pick == 4:
            return self.chance.choice(["a:M", "a:N"])
        if pick:
            word = " AND " if pick == 1 else " OR "
            return f"({word.join(self.condition(depth - 1) for _ in range(2))})"
        return self.simple()


@pytest.fixture(scope="module", params=range(3))
def snapshot(request: pytest.FixtureRequest) -> Iterator[tuple[random.Random, Snapshot]]:
    chance = random.Random(request.param)
    with gdb.connect() as db:
        write_graph(db._store, graph(chance))
        yield chance, db._store.snapshot()


def bound(text: str, snapshot: Snapshot, values: Mapping[str, Value]) -> BoundQuery:
    return bind(parse(text), snapshot, values, DIFFERENT_EDGES)


def nodes(snapshot: Snapshot) -> list[NodeValue]:
    """By vid."""
    found: dict[int, NodeValue] = {}
    for number, group in enumerate(snapshot.groups):
        columns = {key: snapshot.vertex_column(number, key) for key in group.keys}
        lists = {key: c.to_list() for key, c in columns.items() if c is not None}
        for row, vid in enumerate(snapshot.group_vids(number).tolist()):
            known = {key: from_store(values[row]) for key, values in lists.items()}
            found[vid] = NodeValue(vid, frozenset(group.labels), known)
    return [found[vid] for vid in sorted(found)]


def allowed(text: str, graph: Snapshot, values: Mapping[str, Value]) -> U32 | None:
    try:
        return bound(text, graph, values).graph.vertices[0].allowed
    except NotSupported:
        return None


def test_vertices(
    snapshot: tuple[random.Random, Snapshot], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, graph = snapshot
    every, compiled = nodes(graph), masking.mask_test
    tests: list[Test | None] = []
    for _ in range(CONDITIONS):
        made = Conditions(chance)
        text = f"MATCH (a) WHERE {made.condition(chance.randrange(3))} RETURN count(*)"
        monkeypatch.setattr(
            masking, "mask_test", lambda *given: tests.append(compiled(*given)) or tests[-1]
        )
        by_numpy = allowed(text, graph, made.values)
        monkeypatch.setattr(masking, "mask_test", lambda *_: None)
        by_duckdb = allowed(text, graph, made.values)
        (where, _), *_ = parse(text).parts
        assert isinstance(where, Match)
        assert where.where is not None
        values = {key: from_store(value) for key, value in made.values.items()}  # type: ignore[arg-type]
        evaluated = Evaluator(text, values, None).compiled(where.where)
        by_evaluator = [vid for vid, node in enumerate(every) if evaluated({"a": node}) is True]
        # a label alone is no condition on properties, and a.m has no column
        assert by_numpy is None or by_numpy.tolist() == by_evaluator, (text, made.values)
        assert by_duckdb is None or by_duckdb.tolist() == by_evaluator, (text, made.values)
    assert sum(test is None for test in tests) < len(tests) / 20


WAYS = [
    ("a.i > -2 AND a.s STARTS WITH 'a'", True),
    ("a.d = date('2020-02-29') OR a.t < localdatetime('2020-02-29T01:02:03')", True),
    ("a.u = duration('PT72H') AND a.b", True),
    ("a.i IN [1, null, 1.0] OR a.nothing = 1", True),
    ("a.f + 1 > 2", False),
    ("size(a.s) = 2", False),
    ("a.s < a.s", False),
    ("a.i > 0 XOR a.b", False),
]


@pytest.mark.parametrize(("condition", "simple"), WAYS)
def test_what_numpy_does(
    snapshot: tuple[random.Random, Snapshot],
    condition: str,
    simple: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, graph = snapshot
    text = f"MATCH (a:M) WHERE {condition.replace('a.b', 'a.i = 1')} RETURN count(*)"
    asked: list[str] = []

    def seen(*given: object) -> object:
        asked.append("duckdb")
        return by_duckdb(*given)  # type: ignore[arg-type]

    by_duckdb = predicates.matching_vertices
    monkeypatch.setattr(predicates, "matching_vertices", seen)
    first = bound(text, graph, {}).graph.vertices[0].allowed
    assert asked == ([] if simple else ["duckdb"])
    monkeypatch.setattr(masking, "mask_test", lambda *_: None)
    again = bound(text, graph, {}).graph.vertices[0].allowed
    assert first is not None
    assert again is not None
    assert first.tolist() == again.tolist()


@pytest.mark.parametrize(
    "condition", ["r.i >= 0 AND r.s <> 'a'", "type(r) = 'R' AND r.i = 1", "r:R AND r.b"]
)
def test_edges(
    snapshot: tuple[random.Random, Snapshot], condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, graph = snapshot
    text = f"MATCH ()-[r]->() WHERE {condition} RETURN count(*)"
    first = bound(text, graph, {}).graph.edges[0].allowed
    monkeypatch.setattr(masking, "mask_test", lambda *_: None)
    again = bound(text, graph, {}).graph.edges[0].allowed
    assert first is not None
    assert again is not None
    assert 0 < len(first) < NODES
    assert first.tolist() == again.tolist()


CASES: list[tuple[Test, str]] = [
    (Compared("<", "x", Fixed("int64", 3)), "x"),
    (Compared("<=", "x", Fixed("float64", 2.5)), "x"),
    (Within("x", tuple(Fixed("int64", k * 3) for k in range(9)), False), "x"),
    (Within("x", tuple(Fixed("int64", k << 40) for k in range(9)), False), "x"),
    (Compared("<", "s", Fixed("string", b"text number 5")), "s"),
    (Text("CONTAINS", "s", b"r 12 of the"), "s"),
    (Text("ENDS WITH", "s", b"1 of them"), "s"),
]


@pytest.mark.parametrize(("test", "key"), CASES)
@pytest.mark.parametrize("several", [False, True])
def test_parts_of_a_column(
    test: Test, key: str, several: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column is read in parts, by several threads where it is long, with the same answer."""
    count = 1003
    columns = {
        "x": Column("int64", np.arange(count) % 31, None, np.arange(count) % 7 > 0),
        "s": from_strings([f"text number {k % 50} of them" for k in range(count)]),
    }
    some: dict[str, Column | None] = {key: columns[key]}
    whole = np.flatnonzero(masks.evaluate(test, some, count).true)
    monkeypatch.setattr(masks, "CHUNK", 64)
    monkeypatch.setattr(masks, "_SEVERAL_FROM", 1 if several else 1 << 20)
    assert len(whole)
    assert masks.passing(test, some, count).tolist() == whole.tolist()
