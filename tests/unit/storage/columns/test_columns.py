"""Columns: Python values in and out, taking, joining, Arrow, and the sections on disk."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import cast

import duckdb
import nanoarrow as na
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.errors import CorruptStore, ImportFailed
from gdb.storage.columns.model import Column, Kind, PropertyValue, VertexTable
from gdb.storage.columns.python_columns import column_of
from gdb.storage.columns.slices import Slice
from gdb.storage.write.store import Store
from tests.oracles.dict_graph import VALUES
from tests.support.graph_tables import GraphTables, write_graph

COLUMNS = st.one_of(
    *(st.tuples(st.just(kind), st.lists(st.none() | value)) for kind, value in VALUES.items())
)


@given(COLUMNS)
def test_values_come_back(given_column: tuple[Kind, list[PropertyValue]]) -> None:
    kind, values = given_column
    column = column_of(values, kind)
    assert len(column) == len(values)
    assert column.kind == kind
    assert column.to_list() == values
    if kind != "any":  # which Arrow has not
        assert na.Array(Slice.of(column)).to_pylist() == values


@given(COLUMNS, st.data())
def test_taking_rows(given_column: tuple[Kind, list[PropertyValue]], data: st.DataObject) -> None:
    kind, values = given_column
    rows = data.draw(st.lists(st.integers(0, len(values) - 1))) if values else []
    taken = column_of(values, kind).take(np.array(rows, np.int64))
    assert taken.to_list() == [values[row] for row in rows]


@given(COLUMNS, st.integers(0, 3))
def test_joining_with_nulls(given_column: tuple[Kind, list[PropertyValue]], count: int) -> None:
    kind, values = given_column
    joined = Column.concat([Column.nulls(kind, count), column_of(values, kind)])
    assert joined.to_list() == [None] * count + values


def test_ints_and_floats_widen() -> None:
    assert column_of([1, 2.5]).kind == "float64"
    both = Column.concat([column_of([1]), column_of([0.5])])
    assert both.to_list() == [1.0, 0.5]


UNLIKE: list[list[object]] = [
    *([1, "x"], [True, 1], [b"x"], [2**63]),
    *([[1], 1], [[1, None]], [[[1]]], [[1], ["x"]], [[b"x"]]),
    *([date.min, datetime.min], [timedelta(1), 1], [timedelta.max], [date.max, "2000-01-01"]),
]


@pytest.mark.parametrize("values", UNLIKE)
def test_other_mixtures_are_refused(values: list[object]) -> None:
    with pytest.raises(ImportFailed):
        column_of(cast(list[PropertyValue], values))


def test_a_datetime_with_a_zone_is_kept_in_utc() -> None:
    there = datetime(2000, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert column_of([there]).to_list() == [datetime(1999, 12, 31, 23, 30)]


def test_times_go_to_arrow_without_a_copy() -> None:
    for values in ([date.min, None], [datetime.max, None], [timedelta(-1), None]):
        column = column_of(values)
        shared = np.frombuffer(na.c_array(Slice.of(column)).view().buffer(1), column.values.dtype)
        assert np.shares_memory(shared, column.values)


def test_duckdb_reads_a_column_in_place() -> None:
    strings = column_of(["a", None, "é"])
    column = na.c_array(Slice.of(strings))
    batch = na.c_array_from_buffers(
        na.struct({"s": na.large_string()}), 3, [None], children=[column]
    )
    stream = na.ArrayStream(na.c_array_stream(batch))
    rows = duckdb.connect().sql("SELECT s FROM stream").fetchall()
    assert stream is not None
    assert rows == [("a",), (None,), ("é",)]


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (Column("int64[]", np.zeros(2, np.int64), np.array([0, 2, 1, 2])), "lists that end before"),
        (Column("date[]", np.array([10**8], np.int32), np.array([0, 1])), "what is no date"),
        (
            Column("string[]", np.array([255], np.uint8), np.array([0, 1]), None, np.array([0, 1])),
            "strings that are not UTF-8",
        ),
        (Column("int64[]", np.zeros(2, np.int64), np.array([0, 1])), "lists of another length"),
        (
            Column("string[]", np.zeros(2, np.uint8), np.array([0, 1]), None, np.array([0, 1])),
            "strings of another",
        ),
    ],
)
def test_a_check_finds_damaged_lists(
    column: Column, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Column, "take", lambda self, rows: self)  # which would mend it
    store = Store.open(None, create=True)
    ids = np.arange(len(column))
    with pytest.raises(CorruptStore, match=says):
        write_graph(store, GraphTables((VertexTable((), "", ids, {"x": column}),))).check()


def test_lists_go_to_arrow_without_a_copy() -> None:
    for values in ([[1, 2], None], [["a"], ["é", "b"]], [[date.min], []]):
        column = column_of(cast(list[PropertyValue], values))
        items = na.c_array(Slice.of(column)).view().child(0)
        held = np.frombuffer(items.buffer(items.n_buffers - 1), column.values.dtype)
        assert np.shares_memory(held, column.values)
