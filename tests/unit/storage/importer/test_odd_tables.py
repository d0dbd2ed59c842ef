"""Tables without a row, labels in lists, names that are none, and what is said of them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import networkx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import gdb
from gdb.errors import ChangeRefused, ImportFailed


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_no_row_under_labels_and_types(tmp_path: Path) -> None:
    nodes = written(tmp_path, "n.csv", ":ID,:LABEL\n")
    edges = written(tmp_path, "e.csv", ":START_ID,:END_ID,:TYPE\n")
    bad = written(tmp_path, "b.csv", ":ID,a:int,:LABEL\n1,x,L\n")
    with gdb.connect() as db:
        (warning,) = db.load(nodes=nodes).warnings
        assert "holds a header and no rows" in warning
        assert db.load(edges=edges).edges == db.load(edges={"K": edges}).edges == 0
        assert db.load(nodes=bad, on_error="skip").vertices == 0


def test_labels_in_lists() -> None:
    with gdb.connect() as db:
        db.load(nodes=[{":ID": 1, ":LABEL": ["A", "B"]}, {":ID": 2, ":LABEL": []}])
        assert db.execute("MATCH (n) RETURN id(n), labels(n)").fetchall() == [
            (1, ["A", "B"]),
            (2, []),
        ]
        with pytest.raises(ImportFailed, match="the column of types holds lists"):
            db.load(edges=[{":START_ID": 1, ":END_ID": 2, ":TYPE": ["A", "B"]}])


def test_an_answer_of_gdb_with_its_labels() -> None:
    with gdb.connect() as db, gdb.connect() as other:
        db.execute("CREATE (:A:B {x: 1}), (:C {x: 2}), ({x: 3})")
        text = "MATCH (n) RETURN id(n) AS `:ID`, labels(n) AS `:LABEL`, n.x AS x"
        other.load(nodes=db.execute(text))
        shown = "MATCH (n) RETURN labels(n), n.x ORDER BY n.x"
        assert other.execute(shown).fetchall() == [(["A", "B"], 1), (["C"], 2), ([], 3)]


def test_a_property_without_a_name(tmp_path: Path) -> None:
    with gdb.connect() as db:
        for text in ("CREATE (n:Z) SET n[''] = 1", "CREATE ()-[r:R]->() SET r[''] = 1"):
            with pytest.raises(ChangeRefused, match="A property has no name"):
                db.execute(text)
        with pytest.raises(ChangeRefused, match="A property has no name"):
            db.execute("CREATE (n:Z) SET n = $m", {"m": {"": 1}})
        db.execute("CREATE (n:Z {x: 1}) REMOVE n[''] SET n += $m", {"m": {"": None}})
        assert db.execute("MATCH (n) RETURN properties(n)").fetchall() == [({"x": 1},)]
        lines = written(tmp_path, "j.jsonl", '{"id":1,"":5}\n{"id":2,"x":5}\n')
        with pytest.raises(ImportFailed, match="a key without a name"):
            db.load(lines)
        assert db.load(lines, on_error="skip").vertices == 1


def test_a_graph_of_gml_that_is_directed_late(tmp_path: Path) -> None:
    text = "graph [ node [ id 1 ] node [ id 2 ] edge [ source 2 target 1 ] directed {} ]"
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match="comes behind edges"):
            db.load(written(tmp_path, "g.gml", text.format(1)))
        assert db.load(written(tmp_path, "h.gml", text.format(0))).edges == 1


def test_lengths_of_months_are_none() -> None:
    graph = networkx.path_graph(2)
    graph.nodes[0]["d"] = np.timedelta64(1, "M")
    with gdb.connect() as db, pytest.raises(ImportFailed, match="is 1 months, which is a duration"):
        db.load(graph)


def test_relationships_between_texts_that_become_nodes(tmp_path: Path) -> None:
    path = written(tmp_path, "e.txt", "a b\nb c\nc a\n")
    with gdb.connect() as db:
        (warning,) = db.load(path).warnings
        assert "each line is a node" in warning
    with gdb.connect() as db:
        db.load(edges=path, delimiter=" ", columns=[":START_ID", ":END_ID"], header=False)
        assert db.execute("MATCH ()-->() RETURN count(*)").scalar() == 3


def test_ids_with_zeros_before_them_are_no_long_integers(tmp_path: Path) -> None:
    with gdb.connect() as db:
        assert db.load(nodes=written(tmp_path, "n.csv", "id,v\n007,a\n010,b\n")).warnings == []
        assert sorted(db.execute("MATCH (n) RETURN id(n)").fetchall()) == [("007",), ("010",)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_header_whose_names_hold_line_ends(tmp_path: Path, end: str) -> None:
    lines = ('id,"first', 'name",x:int', "1,Ada,2", "3,Bob,y", '5,"E', 'va",6')
    (tmp_path / "n.csv").write_text(end.join(lines) + end, newline="")
    with gdb.connect() as db:
        report = db.load(nodes=tmp_path / "n.csv", on_error="skip")
        found = db.execute("MATCH (n) RETURN properties(n) ORDER BY n.id").fetchall()
        name = "first\nname"
        assert found == [({"id": 1, name: "Ada", "x": 2},), ({"id": 5, name: f"E{end}va", "x": 6},)]
        (rejected,) = report.rejected
        assert (rejected.line, rejected.text) == (4, "3,Bob,y")


def test_a_first_record_without_a_header_holds_line_ends(tmp_path: Path) -> None:
    path = written(tmp_path, "n.csv", '1,"Ada\nB",2\n3,Bob,5\n')
    with gdb.connect() as db:
        db.load(nodes=path, columns=["id", "name", "x"])
        assert db.execute("MATCH (n) RETURN n.id, n.name, n.x").fetchall() == [
            (1, "Ada\nB", 2),
            (3, "Bob", 5),
        ]


def test_integers_of_json_beyond_64_bits(tmp_path: Path) -> None:
    text = (
        '{"id":1,"x":1}\n{"id":2,"x":9223372036854775808}\n{"id":3,"x":[1,9223372036854775808]}\n'
    )
    path = written(tmp_path, "j.jsonl", text)
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match="an integer beyond 64 bits as 'x'"):
            db.load(nodes={"A": path})
        report = db.load(nodes={"A": path}, on_error="skip")
        assert [one.line for one in report.rejected] == [2, 3]
        assert db.execute("MATCH (n) RETURN n.id, n.x").fetchall() == [(1, 1)]


@pytest.mark.parametrize(
    ("of", "file"), [(pd.Series, False), (pd.Categorical, False), (pd.Series, True)]
)
def test_periods_of_pandas_are_no_integers(of: Any, file: bool, tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [1, 2], "m": of(pd.period_range("2024-01", periods=2, freq="M"))})
    table: Any = frame
    if file:
        table = tmp_path / "p.parquet"
        frame.to_parquet(table)
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match="column 'm' holds periods of pandas") as failed:
            db.load(nodes={"P": table})
        assert ".dt.to_timestamp()" in failed.value.cure
        frame["m"] = frame["m"].astype(str)
        db.load(nodes={"P": frame})
        assert db.execute("MATCH (n) RETURN n.m ORDER BY n.m").fetchall() == [
            ("2024-01",),
            ("2024-02",),
        ]


def test_types_that_libraries_added_to_arrow() -> None:
    numbers = pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "money", "x"), pa.array([1]))
    lists = pa.ListArray.from_arrays([0, 1], numbers)
    for column in (numbers, lists):
        with gdb.connect() as db, pytest.raises(ImportFailed, match=r"'x' is of the type arrow\."):
            db.load(nodes={"P": pa.table({"id": [1], "x": column})})
    same = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8()))
    with gdb.connect() as db:
        db.load(nodes={"P": pa.table({"id": [1], "x": same})})
        assert db.execute("MATCH (n) RETURN n.x").scalar() is True
    with duckdb.connect(config={"arrow_lossless_conversion": True}) as other, gdb.connect() as db:
        report = db.load(nodes={"P": other.sql("SELECT 1 AS id, 12::HUGEINT AS x")})
        assert "type HUGEINT is stored as string" in "".join(report.warnings)
        assert db.execute("MATCH (n) RETURN n.x").scalar() == "12"


MATRIX = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    ("name", "text", "line", "said"),
    [
        ("a.jsonl", '{"id": 1}\n{"id": 2, "x": 1e999}\n', 2, "beyond the range of a float as 'x'"),
        ("a.jsonl", '{"id": 1}\n{"id": 2, "x": [1, -1e999]}\n', 2, "beyond the range of a float"),
        ("a.json", '[{"id": 1},\n{"id": 2, "x": -1e999}]', 2, "beyond the range of a float as 'x'"),
        (
            "a.mtx",
            f"{MATRIX}2 2 2\n1 2 1\n2 1 1e999\n",
            4,
            "'1e999' is beyond the range of a float",
        ),
        ("a.mtx", f"{MATRIX}2 2 2\n1 2 inf\n2 1 -1e999\n", 4, "'-1e999' is beyond the range"),
        ("a.gml", "graph [\nnode [ id 1 x 1e999 ] ]", 2, "1e999 is beyond the range of a float"),
        (
            "a.graphml",
            '<graphml><key id="x" attr.type="double"/><graph>\n'
            '<node id="a"><data key="x">1e999</data></node></graph></graphml>',
            2,
            "'1e999', which is no double",
        ),
    ],
)
def test_numbers_beyond_floats_are_no_infinities(
    name: str, text: str, line: int, said: str, tmp_path: Path
) -> None:
    with gdb.connect() as db, pytest.raises(ImportFailed) as failed:
        db.load(written(tmp_path, name, text))
    assert said in str(failed.value)
    assert (failed.value.line, bool(failed.value.cure)) == (line, True)


def test_infinities_that_are_written_as_such_are_read(tmp_path: Path) -> None:
    lines = "".join(
        f'{{"id": {i}, "x": {x}}}\n' for i, x in enumerate(["Infinity", "-Infinity", "1e308"])
    )
    with gdb.connect() as db:
        db.load(written(tmp_path, "a.jsonl", lines))
        found = db.execute("MATCH (n) RETURN n.x ORDER BY n.id").fetchall()
    assert found == [(math.inf,), (-math.inf,), (1e308,)]


def test_numbers_beyond_floats_are_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, "a.mtx", f"{MATRIX}2 2 2\n1 2 1\n2 1 1e999\n")
    with gdb.connect() as db, pytest.warns(gdb.errors.LinesSkipped):
        report = db.load(path, on_error="skip")
    assert [(one.line, one.column) for one in report.rejected] == [(4, 3)]


# ---- times beyond what a column holds --------------------------------------------------------------

LEAST = timedelta(microseconds=-(2**63))
TOO_LONG = pa.array([pa.MonthDayNano([0, 2**31 - 1, 2**62])])
FAR = [("s", 10**15), ("s", -(2**63) + 1), ("ms", 10**18), ("us", 2**62)]


@pytest.mark.parametrize(
    "rows",
    [
        [{"id": 1, "x": LEAST}],
        [{"id": 1, "x": [LEAST, timedelta(1)]}],
        pa.table({"id": [1], "x": pa.array([-(2**63)], pa.duration("us"))}),
        pa.table({"id": [1], "x": pa.array([[-(2**63)]], pa.list_(pa.duration("us")))}),
        pa.table({"id": [1], "x": TOO_LONG}),
        *(pa.table({"id": [1], "x": pa.array([n], pa.timestamp(unit))}) for unit, n in FAR),
        *(
            pa.table({"id": [1], "x": pa.array([[n]], pa.list_(pa.timestamp(unit)))})
            for unit, n in FAR
        ),
    ],
)
def test_times_beyond_a_column_are_bad_rows(rows: Any) -> None:
    with gdb.connect() as db:
        with pytest.raises(ImportFailed, match=r"1: 'x' (cannot be stored as|is )"):
            db.load(nodes={"P": rows})
        db.check()
    if isinstance(rows, pa.Table):
        both = pa.concat_tables([rows, pa.table({"id": [2], "x": pa.nulls(1, rows["x"].type)})])
        with gdb.connect() as db:
            with pytest.warns(gdb.errors.LinesSkipped):
                report = db.load(nodes={"P": both}, on_error="skip")
            assert len(report.rejected) == 1
            assert db.execute("MATCH (n) RETURN n.x").fetchall() == [(None,)]
            db.check()


@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_the_first_and_last_instants_of_coarse_types(unit: str, zone: str | None) -> None:
    a_second = {"s": 1, "ms": 1000}[unit]
    days = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    first, last = (int(day.timestamp()) * a_second for day in days)
    last += a_second - 1
    type = pa.timestamp(unit, zone)
    with gdb.connect() as db:
        table = pa.table({"id": [1, 2], "x": pa.array([first, last], type)})
        db.load(nodes={"P": table})
        (low,), (high,) = db.execute("MATCH (n) RETURN n.x ORDER BY n.x").fetchall()
        assert (low.year, high.year, high.second) == (1, 9999, 59)
        for beyond in (first - 1, last + 1):
            rows = pa.table({"id": [3], "x": pa.array([beyond], type)})
            with pytest.raises(ImportFailed, match="'x' cannot be stored as datetime"):
                db.load(nodes={"P": rows})


def test_times_that_no_reader_converts_name_the_cure(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"id": [1], "x": pa.array([10**18], pa.timestamp("ms"))}), file)
    zoned = pa.table({"id": [1], "x": pa.array([10**15], pa.timestamp("s", "UTC"))})
    with gdb.connect() as db:
        for rows in (file, zoned):
            with pytest.raises(ImportFailed, match="Years are 1 to 9999"):
                db.load(nodes={"P": rows})
