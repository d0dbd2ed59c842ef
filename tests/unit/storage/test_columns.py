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

from gdb.errors import ImportFailed
from gdb.storage.model import Column, Kind, Scalar
from tests.unit.storage.naive import VALUES

COLUMNS = st.one_of(
    *(st.tuples(st.just(kind), st.lists(st.none() | value)) for kind, value in VALUES.items())
)


@given(COLUMNS)
def test_values_come_back(given_column: tuple[Kind, list[Scalar]]) -> None:
    kind, values = given_column
    column = Column.from_list(values, kind)
    assert len(column) == len(values)
    assert column.kind == kind
    assert column.to_list() == values
    assert na.Array(column).to_pylist() == values


@given(COLUMNS, st.data())
def test_taking_rows(given_column: tuple[Kind, list[Scalar]], data: st.DataObject) -> None:
    kind, values = given_column
    rows = data.draw(st.lists(st.integers(0, len(values) - 1))) if values else []
    taken = Column.from_list(values, kind).take(np.array(rows, np.int64))
    assert taken.to_list() == [values[row] for row in rows]


@given(COLUMNS, st.integers(0, 3))
def test_joining_with_nulls(given_column: tuple[Kind, list[Scalar]], count: int) -> None:
    kind, values = given_column
    joined = Column.concat([Column.nulls(kind, count), Column.from_list(values, kind)])
    assert joined.to_list() == [None] * count + values


def test_ints_and_floats_widen() -> None:
    assert Column.from_list([1, 2.5]).kind == "float64"
    both = Column.concat([Column.from_list([1]), Column.from_list([0.5])])
    assert both.to_list() == [1.0, 0.5]


UNLIKE: list[list[object]] = [
    *([1, "x"], [True, 1], [b"x"], [2**63], [[1]]),
    *([date.min, datetime.min], [timedelta(1), 1], [timedelta.max], [date.max, "2000-01-01"]),
]


@pytest.mark.parametrize("values", UNLIKE)
def test_other_mixtures_are_refused(values: list[object]) -> None:
    with pytest.raises(ImportFailed):
        Column.from_list(cast(list[Scalar], values))


def test_a_datetime_with_a_zone_is_kept_in_utc() -> None:
    there = datetime(2000, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert Column.from_list([there]).to_list() == [datetime(1999, 12, 31, 23, 30)]


def test_times_go_to_arrow_without_a_copy() -> None:
    for values in ([date.min, None], [datetime.max, None], [timedelta(-1), None]):
        column = Column.from_list(values)
        shared = np.frombuffer(na.c_array(column).view().buffer(1), column.values.dtype)
        assert np.shares_memory(shared, column.values)


def test_duckdb_reads_a_column_in_place() -> None:
    strings = Column.from_list(["a", None, "é"])
    column = na.c_array(strings)
    batch = na.c_array_from_buffers(
        na.struct({"s": na.large_string()}), 3, [None], children=[column]
    )
    stream = na.ArrayStream(na.c_array_stream(batch))
    rows = duckdb.connect().sql("SELECT s FROM stream").fetchall()
    assert stream is not None
    assert rows == [("a",), (None,), ("é",)]
