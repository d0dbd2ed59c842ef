"""Lists of dicts and lazy frames, loaded as tables."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gdb
from gdb.errors import ImportFailed

PEOPLE: list[dict[str, Any]] = [
    {"id": 1, "name": "Ada", "born": date(1815, 12, 10), "tags": ["x", "y"], "ok": True},
    {"id": 2, "name": None, "seen": datetime(2020, 1, 2, 3, 4, 5), "for": timedelta(hours=1)},
    {"name": "Bob", "id": 3, "score": 1.5},
]
KNOWS = [{"from": 1, "to": 2, "since": 2000}, {"from": 2, "to": 3}]


def test_lists_of_dicts() -> None:
    with gdb.connect() as db:
        report = db.load(nodes={"Person": PEOPLE}, edges={"KNOWS:Person:Person": KNOWS})
        assert (report.vertices, report.edges) == (3, 2)
        query = "MATCH (p:Person) RETURN properties(p) ORDER BY p.id"
        found = [row[0] for row in db.execute(query)]
        assert found == [{k: v for k, v in row.items() if v is not None} for row in PEOPLE]
        rows = db.execute("MATCH (a)-[r:KNOWS]->(b) RETURN a.id, r.since, b.id ORDER BY a.id")
        assert rows.fetchall() == [(1, 2000, 2), (2, None, 3)]


def test_values_of_numpy_and_pandas() -> None:
    frame = pd.DataFrame({"id": [1, 2], "at": pd.to_datetime(["2020-01-01", None])})
    made = [
        *frame.to_dict("records"),
        {"id": np.int64(3), "ok": np.bool_(True), "v": (1, 2), "w": np.array([0.5], "f2")},
    ]
    with gdb.connect() as db:
        db.load(nodes={"P": made})
        rows = db.execute("MATCH (p:P) RETURN p.id, p.at, p.ok, p.v, p.w ORDER BY p.id")
        assert rows.fetchall() == [
            (1, datetime(2020, 1, 1), None, None, None),
            (2, None, None, None, None),
            (3, None, True, [1, 2], [0.5]),
        ]


EMPTY = pd.DataFrame({"id": [], "x": []})  # of floats


@pytest.mark.parametrize(
    "tables",
    [
        {"nodes": {"P": []}},
        {"nodes": []},
        {"nodes": {"P": []}, "columns": ["a:ID", "b"]},
        {"edges": {"K": []}},
        {"nodes": {"P": EMPTY}},
        {"nodes": {"P": EMPTY}, "columns": ["a:ID", "b"]},
        {"edges": {"K": pd.DataFrame({"source": [], "target": [], "x": []})}},
        {"source": EMPTY},
    ],
)
def test_nothing_to_load(tables: Any) -> None:
    with gdb.connect() as db:
        report = db.load(**tables)
        assert (report.vertices, report.edges, report.rows) == (0, 0, 0)


@pytest.mark.parametrize("nodes", [[], EMPTY, EMPTY.astype({"id": "int64"})])
def test_nodes_that_are_none_are_known(nodes: Any) -> None:
    """Relationships name nodes that are missing then, as beside other tables of nodes."""
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match="there is no node with id 1"):
            db.load(nodes={"P": nodes}, edges={"K": [{"source": 1, "target": 2}]})
        db.load(nodes={"P": nodes}, edges={"K": KNOWS}, missing_ends="create")
        db.load(edges={"R": [(KNOWS[:1], "", "")]})
        assert db.execute("MATCH ()-[r]->() RETURN count(*)").scalar() == 3


def test_floats_of_16_bits() -> None:
    halves = pa.array([np.float16(1), None, np.float16(65504)], pa.float16())
    lists = pa.array([[np.float16(0.5)], None, []], pa.list_(pa.float16()))
    whole = pa.table({"id": [1, 2, 3], "x": halves, "y": lists, "z": ["a", None, "c"]})
    part = pa.Table.from_batches([whole.to_batches()[0].slice(1)])
    with gdb.connect() as db:
        db.load(nodes={"P": whole})
        rows = db.execute("MATCH (p:P) RETURN p.x, p.y, p.z ORDER BY p.id").fetchall()
        assert rows == [(1.0, [0.5], "a"), (None, None, None), (65504.0, [], "c")]
    with gdb.connect() as db:
        db.load(nodes={"P": part})
        rows = db.execute("MATCH (p:P) RETURN p.id, p.x, p.z ORDER BY p.id").fetchall()
        assert rows == [(2, None, None), (3, 65504.0, "c")]


@pytest.mark.parametrize("pack", [list, lambda rows: [rows], lambda rows: [(rows, "P", "P")]])
def test_ways_to_give_relationships(pack: Any) -> None:
    with gdb.connect() as db:
        db.load(nodes={"P": PEOPLE}, id_space="P")
        db.load(edges={"KNOWS": pack(KNOWS)}, id_space="P")
        assert db.execute("MATCH (:P)-[r:KNOWS]->(:P) RETURN count(*)").scalar() == 2


def test_a_list_of_dicts_tells_its_side_by_itself() -> None:
    with gdb.connect() as db:
        db.load(PEOPLE, label="P")
        db.load(KNOWS, type="KNOWS")
        assert db.execute("MATCH (:P)-[r:KNOWS]->(:P) RETURN count(*)").scalar() == 2


def test_lazy_frames() -> None:
    people = pl.LazyFrame({"id": [1, 2, 3], "v": ["a", "b", None]}).filter(pl.col("id") < 3)
    knows = pl.LazyFrame({"source": [1], "target": [2]})
    with gdb.connect() as db:
        db.load(nodes={"P": people}, edges={"K": knows})
        rows = db.execute("MATCH (a:P)-[:K]->(b:P) RETURN a.v, b.v").fetchall()
        assert rows == [("a", "b")]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([{"id": 1, "v": 1}, {"id": 2, "v": "x"}], "row 2: 'v'"),
        ([{"id": 1, "v": {"a": 1}}], "row 1: 'v'"),
        (
            [{"id": 1, "v": pd.Timestamp(1)}],
            "row 1: 'v' is 1970-01-01 00:00:00.000000001, which has",
        ),
        ([{"id": 1}, {"id": 2, "v": pd.Timedelta(1)}], "row 2: 'v' is .*parts of a microsecond"),
        ([{"id": 1, "v": [np.timedelta64(1, "M")]}], "row 1: 'v' is 1 months, which is a duration"),
        ([{"id": 1, 7: 1}], "7 is a key"),
        ([{"id": 1}, {"id": 1}], "occurs twice"),
        ([{"id": 1}, {"v": 1}], "id"),
    ],
)
def test_bad_rows_are_refused(rows: Any, reason: str) -> None:
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match=reason):
            db.load(nodes={"P": rows})
        assert db.execute("MATCH (n) RETURN count(*)").scalar() == 0


def test_a_lazy_frame_is_not_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its batches are taken one after the other."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it was collected")

    monkeypatch.setattr(pl.LazyFrame, "collect", refuse)
    with gdb.connect() as db:
        report = db.load(nodes={"P": pl.LazyFrame({"id": range(300_000)})})
    assert report.vertices == 300_000
    assert report.files[0].file == "polars.LazyFrame (P)"


def test_a_lazy_frame_that_fails_is_told(tmp_path: Path) -> None:
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match=r"polars.LazyFrame \(P\): cannot be read"):
            db.load(nodes={"P": pl.scan_parquet(tmp_path / "none.parquet")})
        assert db.stats().vertices == 0
