"""The types of properties after `compact`: those of the values that are left."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

import gdb
from gdb.storage.write import narrowing

DAY = date(2024, 2, 29)
MOMENT = datetime(2024, 2, 29, 12, 30, 1, 5)
VALUES: dict[str, list[object]] = {
    "int64": [1, -(2**63), 2**63 - 1],
    "float64": [0.5, -0.0, math.nan, math.inf, 1e308],
    "bool": [True, False],
    "string": ["", "é", "i1", "l"],
    "date": [DAY],
    "datetime": [MOMENT],
    "duration": [timedelta(seconds=1, microseconds=3)],
    "int64[]": [[1], [2, 3]],
    "float64[]": [[1.0], [math.nan, -0.0]],
    "string[]": [["a", ""], ["é"]],
    "date[]": [[DAY, DAY]],
    "any": [
        gdb.Date(10**8),
        gdb.LocalDateTime(5, 1),
        MOMENT.replace(tzinfo=UTC),
        gdb.Duration(months=1),
        [gdb.Duration(days=2)],
        [1, 1.5],
        [1, "a"],
    ],
}
SHORT = {"int": "int64", "float": "float64", "int[]": "int64[]", "float[]": "float64[]"}


def kinds(db: gdb.Database) -> dict[str, str]:
    """The properties of the nodes and of the relationships, which are the same."""
    schema = db.schema()
    (nodes,), (edges,) = schema.nodes, schema.relationships
    assert dict(nodes.properties) == dict(edges.properties)
    return {key: SHORT.get(kind, kind) for key, kind in nodes.properties.items()}


def values(db: gdb.Database, key: str) -> list[str]:
    """Of the nodes, then of the relationships, with their types."""
    found = db.execute(f"MATCH (n:N) RETURN n.{key} ORDER BY n.i").fetchall()
    found += db.execute(f"MATCH ()-[r:R]->() RETURN r.{key} ORDER BY r.i").fetchall()
    return [repr(row[0]) for row in found]


def filled(db: gdb.Database, count: int) -> None:
    db.execute(
        "UNWIND range(1, $n) AS i CREATE (a:N {i: i})-[:R {i: i}]->(a)", {"n": count}
    ).fetchall()


def given(db: gdb.Database, key: str, several: list[object]) -> None:
    rows = [{"i": i, "v": value} for i, value in enumerate(several, 1)]
    text = f"UNWIND $rows AS row MATCH (a:N {{i: row.i}})-[r:R]->() SET a.{key} = row.v, r.{key} = row.v"
    db.execute(text, {"rows": rows})


@pytest.mark.parametrize("kind", VALUES)
def test_a_property_of_any_type(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its values become those of one type, among nulls, in several parts."""
    monkeypatch.setattr(narrowing, "_AT_ONCE", 3)
    several = [None, *VALUES[kind], None, *VALUES[kind], None]
    with gdb.connect() as db:
        filled(db, len(several))
        given(db, "x", ["text", 5, True, [1.5]])
        given(db, "x", several)
        before = values(db, "x")
        assert kinds(db)["x"] == "any"
        db.compact()
        assert kinds(db)["x"] == kind
        assert values(db, "x") == before
        assert not db.check().faults


@pytest.mark.parametrize("seed", range(12))
def test_random_properties(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "_AT_ONCE", 4)
    draw = random.Random(seed)
    of_kind = {id(value): kind for kind, own in VALUES.items() for value in own}
    pool = [value for own in VALUES.values() for value in own]
    with gdb.connect() as db:
        filled(db, 12)
        chosen: dict[str, list[object]] = {}
        for key in "abcdef":
            few = draw.sample(pool, draw.choice([1, 2, 30]))
            several = [draw.choice([None, *few, *few]) for _ in range(12)]
            given(db, key, [draw.choice(pool) for _ in range(12)])
            given(db, key, several)
            chosen[key] = several
        before = {key: values(db, key) for key in chosen}
        db.compact()
        assert {key: values(db, key) for key in chosen} == before
        found = kinds(db)
        for key, several in chosen.items():
            types = {of_kind[id(value)] for value in several if value is not None}
            expected = None if not types else types.pop() if len(types) == 1 else "any"
            assert found.get(key) == expected
        assert not db.check().faults


def test_a_property_without_values_is_gone(tmp_path: Path) -> None:
    with gdb.connect(tmp_path / "s") as db:
        filled(db, 5)
        given(db, "x", [1, 2, 3])
        given(db, "y", [[], [], []])
        given(db, "y", [[], [1], []])
        given(db, "x", [None] * 5)
        assert kinds(db) == {"i": "int64", "x": "int64", "y": "any"}
        db.compact()
        assert kinds(db) == {"i": "int64", "y": "int64[]"}
        version = db.compact().version
        given(db, "x", ["text"])
        db.compact()
        assert db.compact().version == version + 2  # the last one had nothing to do
        assert kinds(db) == {"i": "int64", "x": "string", "y": "int64[]"}
    with gdb.connect(tmp_path / "s") as db:
        assert kinds(db) == {"i": "int64", "x": "string", "y": "int64[]"}
        assert values(db, "y") == 2 * ["[]", "[1]", "[]", "None", "None"]


def test_relationships_that_are_gone_have_no_properties() -> None:
    with gdb.connect() as db:
        filled(db, 2)
        db.execute("MATCH ()-[r]->() DELETE r")
        db.compact()
        assert [dict(one.properties) for one in db.schema().relationships] in ([], [{}])
        db.execute("MATCH (a:N {i: 1}), (b:N {i: 2}) CREATE (a)-[:R {i: 'text'}]->(b)")
        assert dict(db.schema().relationships[0].properties) == {"i": "string"}


def test_other_lists_after_empty_ones() -> None:
    """Also of a transaction, which refuses other types."""
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("N", [1, 2], {"x": [[], None]})
            tx.add_nodes("N", [3, 4], {"x": [[1], [2, 3]]})
            tx.add_nodes("N", [5], {"x": [[]]})
            tx.add_relationships("R", [1, 2], [2, 3], {"x": [[], []]})
            tx.set_relationships("R", [1], [2], {"x": [[0.5]]})
        assert db.execute("MATCH (n) RETURN n.x ORDER BY id(n)").fetchall() == [
            (one,) for one in ([], None, [1], [2, 3], [])
        ]
        db.compact()
        schema = db.schema()
        assert dict(schema.nodes[0].properties) == {"x": "int[]"}
        assert dict(schema.relationships[0].properties) == {"x": "float[]"}
        with db.transaction() as tx, pytest.raises(gdb.ChangeRefused, match="lists"):
            tx.set_nodes([1], {"x": [["text"]]})
        assert db.execute("MATCH (n) RETURN n.x ORDER BY id(n)").fetchall() == [
            (one,) for one in ([], None, [1], [2, 3], [])
        ]


def test_a_commit_that_writes_the_graph_anew_keeps_types(monkeypatch: pytest.MonkeyPatch) -> None:
    from gdb.storage.write import compaction

    monkeypatch.setattr(compaction, "MOST_CHANGES", 0)
    with gdb.connect() as db:
        filled(db, 3)
        given(db, "x", [1, "a"])
        given(db, "x", [1, 2])
        given(db, "y", [1])
        given(db, "y", [None])
        assert kinds(db) == {"i": "int64", "x": "any", "y": "int64"}
        db.compact()
        assert kinds(db) == {"i": "int64", "x": "int64"}
