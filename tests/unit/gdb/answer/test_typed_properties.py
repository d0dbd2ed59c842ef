"""Whole nodes and relationships as Arrow: properties that the store keeps with their types have these, by every way."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

import gdb
from gdb.answer import export
from gdb.run import columns_or_rows

MADE = """CREATE (a:N {t: localtime('12:00'), z: datetime('2020-01-01T00:00:00+01:00'), s: 1, d: duration('P1D'),
    h: duration('PT24H'), m: 1, x: [localtime('10:00')]})-[:R {z: datetime('2020-01-01T00:00:00Z')}]->
    (:N {m: 2.5, s: 'a', u: time('10:00Z')})"""
INSTANT = datetime(2019, 12, 31, 23, tzinfo=UTC)
NODES: list[dict[str, Any]] = [
    {"t": time(12), "z": INSTANT, "s": "1", "d": "P1D", "h": timedelta(days=1), "m": 1.0, "x": [time(10)], "u": None},
    {"t": None, "z": None, "s": "a", "d": None, "h": None, "m": 2.5, "x": None, "u": "10:00Z"},
]  # fmt: skip


@pytest.fixture
def db() -> gdb.Database:
    found = gdb.connect()
    found.execute(MADE)
    return found


@pytest.mark.parametrize("way", [None, "rows"])
@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:N) RETURN n",
        "MATCH (n:N) RETURN [n][0] AS n",
        "MATCH (n:N) WITH n LIMIT 9 RETURN n",
    ],
)
def test_nodes(
    db: gdb.Database, text: str, way: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(columns_or_rows, "WAY", way or columns_or_rows.WAY)
    found = [one["n"]["properties"] for one in db.execute(text).arrow().to_pylist()]
    assert found == NODES


def test_relationships(db: gdb.Database) -> None:
    pytest.importorskip("pyarrow")
    for text in ("MATCH ()-[r]->() RETURN r", "MATCH ()-[r]->() RETURN [r][0] AS r"):
        (one,) = db.execute(text).arrow().to_pylist()
        assert one["r"]["properties"] == {"z": datetime(2020, 1, 1, tzinfo=UTC)}


def test_batches_of_an_answer_and_of_a_stream_have_the_same_types(db: gdb.Database) -> None:
    pa = pytest.importorskip("pyarrow")
    db.execute("UNWIND range(1, 50) AS i CREATE (:N {q: i})")  # none of the typed ones
    whole = db.execute("MATCH (n:N) RETURN n").arrow().schema
    batches = [pa.record_batch(one) for one in db.execute("MATCH (n:N) RETURN n").batches(7)]
    assert len(batches) > 4
    with db.stream("MATCH (n:N) RETURN n") as rows:
        batches += [pa.record_batch(one) for one in rows.batches(7)]
    assert all(one.schema == whole for one in batches)


def test_a_type_is_found_piece_by_piece(db: gdb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(export, "_PIECE", 1)
    found = [
        one["n"]["properties"] for one in db.execute("MATCH (n:N) RETURN n").arrow().to_pylist()
    ]
    assert found == NODES
    db.execute("CREATE (:N {m: $m})", {"m": 2**53 + 1})  # no float
    found = [
        one["n"]["properties"]["m"]
        for one in db.execute("MATCH (n:N) RETURN n").arrow().to_pylist()
    ]
    assert found == ["1", "2.5", str(2**53 + 1)]


def test_a_duration_of_days_is_one_in_nodes_of_lists_and_paths(db: gdb.Database) -> None:
    whole = db.execute("MATCH (n:N) WHERE n.d IS NOT NULL RETURN n.d").scalar()
    assert whole == gdb.Duration(days=1)
    for text in ("RETURN [n]", "RETURN {n: n}", "WITH [n] AS l RETURN l", "RETURN n"):
        ((cell,),) = db.execute(f"MATCH (n:N) WHERE n.d IS NOT NULL {text}").fetchall()
        node = cell[0] if isinstance(cell, list) else cell["n"] if isinstance(cell, dict) else cell
        assert node["d"] == whole
        assert node["h"] == timedelta(days=1)
    ((path,),) = db.execute("MATCH p = (n:N)-->() RETURN p").fetchall()
    assert path.nodes[0]["d"] == whole
