"""Columns of Python values in Arrow: what polars, pyarrow, pandas and DuckDB read is what the rows say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gdb
from gdb import Database
from gdb.answer.cells import table_of
from gdb.answer.entities import Node, Path, Relationship
from gdb.answer.result import Result
from gdb.answer.rows import RowAnswer
from gdb.base.values.duration import Duration
from gdb.base.values.temporal import Date, LocalTime
from tests.support.effort import share
from tests.support.ways import forced

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

ADA = Node(1, ("Person",), {"name": "Ada", "age": 36})
BOB = Node(2, (), {"name": "Bob"})
KNOWS = Relationship(0, "KNOWS", 1, 2, {"since": 1833})
PATH = Path((ADA, BOB), (KNOWS,))


def result_of(*columns: Sequence[object]) -> Result:
    names = [f"c{k}" for k in range(len(columns))]
    return Result(RowAnswer(names, list(zip(*columns, strict=True))))


def in_arrow(*cells: object) -> tuple[str, list[object]]:
    """The type and the values of a column."""
    table = pyarrow.table(result_of(cells))
    table.validate(full=True)
    return str(table.schema.field(0).type), table.column(0).to_pylist()


# ---- one column -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        ([None, None], "null", [None, None]),
        ([True, None, False], "bool", [True, None, False]),
        ([1, None, -(2**63)], "int64", [1, None, -(2**63)]),
        ([1.5, None], "double", [1.5, None]),
        ([1, 1.5, 2**60], "double", [1.0, 1.5, 2.0**60]),
        ([2**53 + 1, 1.5], "large_string", ["9007199254740993", "1.5"]),
        (["é", None, ""], "large_string", ["é", None, ""]),
        (["\ud800x"], "large_string", ["?x"]),
        ([date.min, None, date.max], "date32[day]", [date.min, None, date.max]),
        ([datetime.min, None], "timestamp[us]", [datetime.min, None]),
        ([time(1, 2, 3, 4), None], "time64[us]", [time(1, 2, 3, 4), None]),
        ([time(1, tzinfo=UTC)], "large_string", ["01:00Z"]),
        ([timedelta(microseconds=-1), None], "duration[us]", [timedelta(microseconds=-1), None]),
        ([Duration(1, 2, 3), None], "large_string", ["P1M2DT3S", None]),
        ([Date(10**7), LocalTime(1)], "large_string", ["+29349-01-26", "00:00:00.000000001"]),
        ([1, "a", True, None], "large_string", ["1", "a", "true", None]),
        ([date(2000, 1, 1), datetime(2000, 1, 1)], "large_string", ["2000-01-01", "2000-01-01T00:00"]),
        ([[1], None, [], [None, 2]], "large_list<item: int64>", [[1], None, [], [None, 2]]),
        ([[1], ["a", [2]]], "large_list<item: large_string>", [["1"], ["a", "[2]"]]),
        ([[1], 2], "large_string", ["[1]", "2"]),
        ([{"a": 1}, {"b": "x"}, None], "struct<a: int64, b: large_string>",
         [{"a": 1, "b": None}, {"a": None, "b": "x"}, None]),
        ([{}, None, {}], "struct<>", [{}, None, {}]),
        ([{"a": {}}], "struct<a: struct<>>", [{"a": {}}]),
        ([[{}], []], "large_list<item: struct<>>", [[{}], []]),
    ],
)  # fmt: skip
def test_a_column_has_the_type_of_its_values(
    cells: list[object], kind: str, values: list[object]
) -> None:
    assert in_arrow(*cells) == (kind, values)


def test_a_datetime_with_a_zone_is_its_instant() -> None:
    east = datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    kind, values = in_arrow(east, None)
    assert (kind, values) == ("timestamp[us, tz=UTC]", [east, None])
    assert in_arrow(east, datetime(2020, 1, 1))[0] == "large_string"


def test_elements_are_structs() -> None:
    ada = {"id": 1, "labels": ["Person"], "properties": {"name": "Ada", "age": 36}}
    bob = {"id": 2, "labels": [], "properties": {"name": "Bob", "age": None}}
    knows = {"type": "KNOWS", "start": 1, "end": 2, "properties": {"since": 1833}}
    assert in_arrow(ADA, None, BOB)[1] == [ada, None, bob]
    assert in_arrow(KNOWS)[1] == [knows]
    assert in_arrow(PATH)[1] == [{"nodes": [ada, bob], "relationships": [knows]}]
    assert in_arrow([ADA], [])[1] == [[{**ada, "properties": {"name": "Ada", "age": 36}}], []]


def test_ids_of_numbers_and_texts_are_texts() -> None:
    assert [node["id"] for node in in_arrow(ADA, Node("x"))[1]] == ["1", "x"]  # type: ignore[index]


def test_a_path_without_relationships_has_their_type() -> None:
    kind, values = in_arrow(Path((BOB,), ()))
    assert "type: large_string" in kind
    assert values[0]["relationships"] == []  # type: ignore[index]


def test_elements_beside_other_values_are_texts() -> None:
    assert in_arrow(ADA, KNOWS, PATH, 1)[1] == [str(ADA), str(KNOWS), str(PATH), "1"]


def test_no_rows_keep_the_names() -> None:
    result = Result(RowAnswer(["a", "b"], []))
    assert result.arrow().column_names == result.pl().columns == list(result.df().columns)
    assert duckdb.connect().from_arrow(result).columns == ["a", "b"]


def test_no_columns_are_no_columns() -> None:
    result = Result(RowAnswer([], []))
    assert result.arrow().num_columns == result.pl().width == len(result.df().columns) == 0


# ---- any column -------------------------------------------------------------------------------------

SINGLE = [
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(timedelta(days=-(10**6)), timedelta(days=10**6)),
]
KEYS = ["a", "b", "c d"]


def cells(depth: int) -> st.SearchStrategy[st.SearchStrategy[object]]:
    """Values of one type, null among them."""
    single = st.sampled_from(SINGLE).map(lambda kind: st.none() | kind)
    if not depth:
        return single
    lists = cells(depth - 1).map(lambda inner: st.none() | st.lists(inner, max_size=3))
    maps = st.fixed_dictionaries({key: cells(depth - 1) for key in KEYS}).map(
        lambda kinds: st.none() | st.fixed_dictionaries({}, optional=kinds)
    )
    return single | lists | maps


def plain(value: object) -> object:
    """A value without the difference between a key that is missing and one that is null."""
    match value:
        case Mapping():
            return {k: plain(v) for k, v in value.items() if plain(v) is not None} or None
        case list():
            return [plain(item) for item in value]
    return value


@st.composite
def columns(draw: st.DrawFn) -> list[list[object]]:
    count = draw(st.integers(0, 6))
    kinds = draw(st.lists(cells(2), min_size=1, max_size=3))
    return [draw(st.lists(kind, min_size=count, max_size=count)) for kind in kinds]


@settings(deadline=None)
@given(columns())
def test_every_reader_sees_the_rows(given_columns: list[list[object]]) -> None:
    result = result_of(*given_columns)
    rows = [tuple(map(plain, row)) for row in result]
    table = result.arrow()
    table.validate(full=True)
    for names in (result.columns, table.column_names, result.pl().columns):
        assert names == [f"c{k}" for k in range(len(given_columns))]
    read = zip(*(column.to_pylist() for column in table.columns), strict=True)
    assert [tuple(map(plain, row)) for row in read] == rows
    assert [tuple(map(plain, row)) for row in result.pl().rows()] == rows
    pieces = [pyarrow.record_batch(batch) for batch in result.batches(2)]
    again = [tuple(map(plain, row.values())) for piece in pieces for row in piece.to_pylist()]
    assert again == rows


@settings(deadline=None)
@given(columns())
def test_a_frame_of_pandas_has_the_cells(given_columns: list[list[object]]) -> None:
    frame = result_of(*given_columns).df()
    found = [[of_pandas(value) for value in frame[name].tolist()] for name in frame.columns]
    assert found == given_columns


def test_integers_beside_floats_are_floats_in_every_frame() -> None:
    mixed, wide, nulls = [1, 2.5], [2**53 + 1, 2.5], [1, 2.5, None]
    result = result_of(mixed, wide)
    assert [str(dtype) for dtype in result.df().dtypes] == ["float64", "object"]
    assert [str(array.dtype) for array in result.numpy().values()] == ["float64", "object"]
    assert result.pl().dtypes[0] == polars.Float64
    found = result_of(nulls).df()["c0"]
    assert (str(found.dtype), found.isna().tolist()) == ("float64", [False, False, True])


def of_pandas(value: object) -> object:
    """None for what pandas has for null."""
    missing = value is pandas.NA or value is pandas.NaT
    return None if missing or (isinstance(value, float) and math.isnan(value)) else value


ANY = st.recursive(
    st.none() | st.one_of(SINGLE) | st.sampled_from([ADA, KNOWS, PATH, Duration(1), Date(0)]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
    ),
    max_leaves=8,
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(ANY, max_size=5))
def test_values_of_unlike_types_have_a_column_too(column: list[object]) -> None:
    table = pyarrow.table(table_of(["x"], [column], len(column)))
    table.validate(full=True)
    values = table.column(0).to_pylist()
    assert [plain(value) is None for value in values] == [plain(c) is None for c in column] or (
        "string" in str(table.schema)  # where an empty map is the text {}
    )
    assert len(polars.DataFrame(table_of(["x"], [column], len(column)))) == len(column)


# ---- both ways --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "returned",
    [
        "a.name AS name, a.age AS age, r.weight AS weight",
        "a, r",
        "labels(a) AS l, type(r) AS t, id(b) AS i",
        "count(*) AS n",
        "a.age + 1 AS x, a.name = 'Ada' AS y",
    ],
)
def test_both_ways_give_the_same_table(db: Database, returned: str) -> None:
    with forced("selects"):
        by_columns = db.execute(f"MATCH (a)-[r]->(b) RETURN {returned}")
    by_rows = db.execute(f"UNWIND [1] AS one MATCH (a)-[r]->(b) RETURN {returned}")
    assert (by_columns.summary.evaluator, by_rows.summary.evaluator) == ("duckdb", "rows")
    tables = [pyarrow.table(result) for result in (by_columns, by_rows)]
    first, second = (sorted(repr(plain(row)) for row in table.to_pylist()) for table in tables)
    assert first == second
    if "a, r" not in returned:  # structs of the graph's keys, and of the answer's
        assert tables[0].schema.names == tables[1].schema.names


STORED = st.sampled_from(
    [
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),
        st.text(max_size=5),
        st.dates(),
        st.datetimes(),
        st.lists(st.integers(0, 9), max_size=3),
    ]
).flatmap(lambda kind: st.lists(st.none() | kind, min_size=1, max_size=5))


@settings(deadline=None, max_examples=share(15))
@given(STORED)
def test_what_is_stored_comes_out_in_frames_both_ways(values: list[object]) -> None:
    with gdb.connect() as db:
        with db.transaction() as tx:
            tx.add_nodes("A", list(range(len(values))), {"x": values})
        for way in ("", "WITH a "):
            result = db.execute(f"MATCH (a:A) {way}RETURN id(a) AS i, a.x AS x, a")
            rows = sorted(result, key=lambda row: row[0])
            assert [row[1] for row in rows] == values
            frame = result.df().sort_values("i")
            assert [of_pandas(value) for value in frame["x"].tolist()] == values
            assert frame["a"].tolist() == [row[2] for row in rows]
            for table in (
                result.pl().sort("i").to_dicts(),
                result.arrow().sort_by("i").to_pylist(),
            ):
                assert [row["x"] for row in table] == values
                nodes = [row["a"] for row in table]
                assert [(node["properties"] or {}).get("x") for node in nodes] == values


def test_duckdb_reads_both_ways(db: Database) -> None:
    by_columns = db.execute("MATCH (a:Person) RETURN a, a.age AS age")
    by_rows = db.execute(
        "MATCH (a:Person) WITH a RETURN a, a.age AS age, {x: [1, {y: a.age}]} AS m"
    )
    sql = "SELECT a.properties.name, age FROM r ORDER BY ALL"
    connection = duckdb.connect()
    found = [connection.from_arrow(result).query("r", sql) for result in (by_columns, by_rows)]
    first, second = (one.fetchall() for one in found if one is not None)
    assert len(first) == 4
    assert first == second
