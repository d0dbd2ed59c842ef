"""Parquet files as tables of nodes and relationships: names as in CSV headers, types as they are."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pytest

import gdb
from gdb.errors import ImportFailed
from gdb.storage.columns.model import VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.copies.exporter import export
from gdb.storage.disk.steps import Steps
from gdb.storage.write.store import Store
from tests.support.graph_tables import GraphTables, write_graph
from tests.support.loading import load
from tests.unit.storage.importer.test_csv import edges_of, nodes_of


@pytest.fixture
def store() -> Store:
    return Store.open(None, create=True)


def written(folder: Path, select: str, name: str = "input.parquet") -> Path:
    path = folder / name
    duckdb.connect().execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return path


def test_types_are_taken_as_they_are(store: Store, tmp_path: Path) -> None:
    select = """SELECT * FROM (VALUES
        (1::SMALLINT, 5::UINTEGER, 0.5::FLOAT, true, '01'), (2, NULL, NULL, NULL, NULL),
        (3, 7, 'inf', false, '')) AS t(id, i, f, b, s)"""
    report = load(store, nodes={"A": written(tmp_path, select)})
    assert store.snapshot().groups[0].keys == {
        "b": "bool",
        "f": "float64",
        "i": "int64",
        "id": "int64",
        "s": "string",
    }
    assert nodes_of(store) == {
        1: (("A",), {"id": 1, "i": 5, "f": 0.5, "b": True, "s": "01"}),
        2: (("A",), {"id": 2}),
        3: (("A",), {"id": 3, "i": 7, "f": float("inf"), "b": False, "s": ""}),
    }
    assert report.warnings == []
    assert [(f.format, f.rows) for f in report.files] == [("Parquet nodes", 3)]


def test_names_as_in_neo4j_headers(store: Store, tmp_path: Path) -> None:
    nodes = written(
        tmp_path,
        """SELECT 7 AS ":ID(P)", 'B;A' AS ":LABEL", 'x' AS name, 1.5 AS "w:float", 9 AS "z:IGNORE"
           UNION ALL SELECT 8, NULL, 'y', NULL, 9""".replace("1.5", "1.5::DOUBLE"),
    )
    edges = written(
        tmp_path,
        """SELECT 7 AS ":START_ID(P)", 8 AS ":END_ID(P)", 'T' AS ":TYPE", 2001 AS since""",
        "e.parquet",
    )
    report = load(store, [edges, nodes])  # found from their content, in any order
    assert [f.format for f in report.files] == ["Parquet nodes", "Parquet relationships"]
    assert nodes_of(store) == {7: (("A", "B"), {"name": "x", "w": 1.5}), 8: ((), {"name": "y"})}
    assert edges_of(store) == [("T", 7, 8, {"since": 2001})]


def test_columns_and_ends_named_by_the_caller(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, "SELECT 'a' AS x, 'b' AS y, 1 AS n")
    load(store, edges={"T": path}, columns=["from", "to", "m"])
    assert edges_of(store) == [("T", "a", "b", {"m": 1})]
    with pytest.raises(ImportFailed, match="has 3 columns, 2 are named"):
        load(store, edges=path, columns=["from", "to"])


def test_other_types_are_stored_as_text_with_a_warning(store: Store, tmp_path: Path) -> None:
    select = "SELECT 1 AS id, TIME '10:20:30' AS d, 2.50::DECIMAL(9, 2) AS m, 5::UBIGINT AS u"
    report = load(store, nodes=written(tmp_path, select))
    assert nodes_of(store) == {1: ((), {"id": 1, "d": "10:20:30", "m": "2.50", "u": "5"})}
    assert [w.split(": ", 1)[1] for w in report.warnings] == [
        "column 'd': type TIME is stored as string",
        "column 'm': type DECIMAL(9,2) is stored as string",
        "column 'u': type UBIGINT is stored as string",
    ]


def test_numbers_and_texts_meet_in_one_id_space(store: Store, tmp_path: Path) -> None:
    load(store, nodes=written(tmp_path, "SELECT 'x' AS id UNION ALL SELECT '1'"))
    load(store, edges=written(tmp_path, "SELECT 1 AS source, 'x' AS target", "e.parquet"))
    assert edges_of(store) == [("EDGE", "1", "x", {})]


@pytest.mark.parametrize(
    ("select", "says"),
    [
        ("SELECT [[1]] AS a, 1 AS id", r"column 'a' is of type INTEGER\[\]\[\], which no property"),
        ("SELECT {'x': 1} AS a, 1 AS id", "column 'a' is of type STRUCT"),
        ("SELECT 1 AS id, '\\xFF'::BLOB AS a", "column 'a' is of type BLOB"),
        ("SELECT 1.5::DOUBLE AS id", "column of ids 'id' holds DOUBLE. Cast it to BIGINT"),
        ("SELECT 1 AS id, 'a' AS \"x:int\"", "'x:int' is declared int64 and holds VARCHAR"),
        ('SELECT 1 AS id, 2 AS x, 3 AS "x:int"', "names the column 'x' twice"),
        ("SELECT 1 AS id UNION ALL SELECT 1", "node id 1 occurs twice"),
        ("SELECT 1 AS id UNION ALL SELECT NULL", r"parquet:2: the id is empty"),
    ],
)
def test_what_cannot_be_stored_is_told(
    store: Store, tmp_path: Path, select: str, says: str
) -> None:
    with pytest.raises(ImportFailed, match=says):
        load(store, nodes=written(tmp_path, select))
    assert store.snapshot().version == 0


def test_names_that_differ_in_case_only(store: Store, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"id": [1], "a": [2], "A": [3]}), tmp_path / "a*.parquet")
    load(store, nodes=tmp_path / "a*.parquet")
    assert nodes_of(store) == {1: ((), {"id": 1, "a": 2, "A": 3})}


def test_bad_rows_are_skipped_when_asked(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, "SELECT * FROM (VALUES (1), (NULL), (1), (2)) AS t(id)")
    report = load(store, nodes=path, on_error="skip")
    assert list(nodes_of(store)) == [1, 2]
    assert [(r.line, r.reason) for r in report.rejected] == [
        (2, "the id is empty"),
        (3, "node id 1 occurs twice"),
    ]


def test_a_damaged_file(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, "SELECT 1 AS id")
    raw = path.read_bytes()
    for wrong in (raw[:-3], b"PAR1", raw[:4] + raw[40:]):
        path.write_bytes(wrong)
        with pytest.raises(ImportFailed, match="cannot be read as Parquet"):
            load(store, nodes=path)


def test_format_parquet(tmp_path: Path) -> None:
    with gdb.connect() as db:
        db.load(written(tmp_path, "SELECT 1 AS id"), format="parquet", label="A")
        assert db.stats().vertices == 1
        (tmp_path / "x.csv").write_text("id\n1\n")
        with pytest.raises(ImportFailed, match="is no Parquet file"):
            db.load(tmp_path / "x.csv", format="parquet")


def test_dates_times_and_durations_of_duckdb(store: Store, tmp_path: Path) -> None:
    select = """SELECT 1 AS id, DATE '0001-01-01' AS d, TIMESTAMP '9999-12-31 23:59:59.999999' AS t,
        TIMESTAMPTZ '2000-01-01 01:30:00+02' AS z, INTERVAL '1 day 500 ms' AS l
        UNION ALL SELECT 2, NULL, NULL, NULL, NULL"""
    report = load(store, nodes=written(tmp_path, select))
    assert nodes_of(store) == {
        1: (
            (),
            {
                "id": 1,
                "d": date.min,
                "t": datetime.max,
                "z": datetime(1999, 12, 31, 23, 30),
                "l": timedelta(1, milliseconds=500),
            },
        ),
        2: ((), {"id": 2}),
    }
    assert report.warnings == []


def test_times_of_arrow_in_every_unit(store: Store, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"id": pa.array([1, 2, 3])}
    units = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
    for unit, per_second in units.items():
        numbers = [-3 * per_second, None, 86_400 * per_second]
        columns[f"l{unit}"] = pa.array(numbers, pa.duration(unit))
        columns[f"t{unit}"] = pa.array(numbers, pa.timestamp(unit))
        columns[f"z{unit}"] = pa.array(numbers, pa.timestamp(unit, "America/New_York"))
    parquet.write_table(pa.table(columns), tmp_path / "times.parquet")
    load(store, nodes=tmp_path / "times.parquet")
    epoch, found = datetime(1970, 1, 1), nodes_of(store)
    for number, length in {1: timedelta(seconds=-3), 3: timedelta(1)}.items():
        expected = {f"l{unit}": length for unit in units}
        expected_times = {f"{key}{unit}": epoch + length for unit in units for key in "tz"}
        assert found[number][1] == {"id": number, **expected, **expected_times}
    assert found[2][1] == {"id": 2}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("DATE '10000-01-01'", "'x' cannot be stored as date: '10000-01-01'"),
        ("DATE 'infinity'", "'x' cannot be stored as date: 'infinity'"),
        ("TIMESTAMP '10000-01-01'", "'x' cannot be stored as datetime: '10000-01-01"),
        ("TIMESTAMP '-infinity'", "'x' cannot be stored as datetime: '-infinity'"),
        ("TIMESTAMPTZ 'infinity'", "'x' cannot be stored as datetime: 'infinity'"),
        ("TIMESTAMP_NS '2000-01-01 00:00:00.000000001'", "'x' cannot be stored as datetime: '2000"),
        ("INTERVAL '1 month'", "'x' cannot be stored as duration: '1 month'"),
        ("INTERVAL '12 month'", "'x' cannot be stored as duration: '1 year'"),
    ],
)
def test_times_that_cannot_be_kept_are_told_with_their_row(
    store: Store, tmp_path: Path, value: str, says: str
) -> None:
    path = written(tmp_path, f"SELECT 1 AS id, NULL AS x UNION ALL SELECT 2, {value}")
    with pytest.raises(ImportFailed, match=f"parquet:2: {says}"):
        load(store, nodes=path)
    load(store, nodes=path, on_error="skip")
    assert list(nodes_of(store)) == [1]


def test_integers_declared_as_durations_are_microseconds(store: Store, tmp_path: Path) -> None:
    load(store, nodes=written(tmp_path, """SELECT 1 AS id, -5::BIGINT AS "x:duration" """))
    assert nodes_of(store) == {1: ((), {"id": 1, "x": timedelta(microseconds=-5)})}


def test_an_export_tells_arrow_of_its_durations(tmp_path: Path) -> None:
    from pyarrow import parquet

    columns = {"l": column_of([timedelta(1), None]), "s": column_of(["a", "é"])}
    snapshot = write_graph(
        Store.open(None, create=True),
        GraphTables((VertexTable(("A",), "", np.arange(2), columns),)),
    )
    export(snapshot, tmp_path / "e", "parquet", Steps("export"))
    table = parquet.read_table(tmp_path / "e" / "nodes-0-A.parquet")
    assert table.column("l:duration").to_pylist() == [timedelta(1), None]
    assert table.column("s:string").to_pylist() == ["a", "é"]


def test_lists(store: Store, tmp_path: Path) -> None:
    select = """SELECT 1 AS id, [1, 2]::SMALLINT[] AS i, ['a', ''] AS s, [true] AS b, [0.5::FLOAT] AS f,
        [DATE '2000-01-01'] AS d, [TIMESTAMPTZ '2000-01-01 01:00+01'] AS t, [INTERVAL '1 day'] AS l
        UNION ALL SELECT 2, [], NULL, [], [], [], [], []"""
    report = load(store, nodes=written(tmp_path, select))
    assert nodes_of(store) == {
        1: (
            (),
            {
                "id": 1,
                "i": [1, 2],
                "s": ["a", ""],
                "b": [True],
                "f": [0.5],
                "d": [date(2000, 1, 1)],
                "t": [datetime(2000, 1, 1)],
                "l": [timedelta(1)],
            },
        ),
        2: ((), {"id": 2, **{key: [] for key in "ibfdtl"}}),
    }
    assert report.warnings == []


def test_lists_of_arrows_durations(store: Store, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    lists = pa.array([[1, 2], None], pa.list_(pa.duration("s")))
    parquet.write_table(pa.table({"id": [1, 2], "x": lists}), tmp_path / "a.parquet")
    load(store, nodes=tmp_path / "a.parquet")
    assert nodes_of(store)[1][1]["x"] == [timedelta(seconds=1), timedelta(seconds=2)]


def test_a_null_in_a_list_is_a_bad_row(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, "SELECT 1 AS id, [1] AS x UNION ALL SELECT 2, [1, NULL]")
    with pytest.raises(
        ImportFailed, match=r"parquet:2: 'x' cannot be stored as int64\[\]: '\[1, NULL\]'"
    ):
        load(store, nodes=path)


# ---- what it unpacks to --------------------------------------------------------------------------


def bombs(folder: Path) -> dict[str, Path]:
    """Files of some kilobytes that unpack to 64 MB and more: long texts, and runs of one value."""
    texts = folder / "texts.parquet"
    duckdb.connect().execute(
        f"COPY (SELECT i AS id, repeat('x', 1000000) || i AS s FROM range(64) t(i)) TO '{texts}' "
        "(FORMAT parquet, COMPRESSION zstd, DICTIONARY_SIZE_LIMIT 1)"
    )
    runs = written(
        folder, "SELECT 7::BIGINT AS id, 1::BIGINT AS x FROM range(10000000)", "runs.parquet"
    )
    return {"texts": texts, "runs": runs}


@pytest.mark.parametrize("name", ["texts", "runs"])
def test_a_file_that_unpacks_to_too_much_is_refused(
    store: Store, tmp_path: Path, name: str
) -> None:
    path = bombs(tmp_path)[name]
    assert path.stat().st_size < 64_000
    for given in ({"nodes": {"A": path}}, {"source": path}):
        with pytest.raises(ImportFailed, match=r"unpacks to more than .* its size") as caught:
            load(store, **given, max_unpacked=1 << 20)
        assert caught.value.file == str(path)
        assert "max_unpacked" in caught.value.cure
    assert store.snapshot().vertex_count == 0


def test_a_file_that_may_unpack_to_so_much_is_read(store: Store, tmp_path: Path) -> None:
    path = bombs(tmp_path)["texts"]
    report = load(store, nodes={"A": path}, max_unpacked=1 << 27)
    assert report.vertices == 64
    plain = written(tmp_path, "SELECT i + 64 AS id FROM range(200000) t(i)", "plain.parquet")
    load(store, nodes={"B": plain}, max_unpacked=1)  # not a thousand times its size


def test_a_cut_file_is_refused_before_it_is_read(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, "SELECT 1 AS id")
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ImportFailed, match="cannot be read as Parquet"):
        load(store, nodes={"A": path})
