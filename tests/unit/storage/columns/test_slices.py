"""Rows of a column that follow one another, as Arrow gets them: equal, and in the column's memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow
import pytest

from gdb.executor.relational import arrow
from gdb.storage.columns import slices
from gdb.storage.columns.model import Column, Kind, PropertyValue
from gdb.storage.columns.python_columns import column_of
from gdb.storage.columns.slices import Slice, breaks, follow_one_another

COUNT = 37
PLAIN: dict[Kind, list[PropertyValue]] = {
    "int64": [k * 7 - 100 for k in range(COUNT)],
    "float64": [k / 4 for k in range(COUNT)],
    "bool": [k % 3 == 0 for k in range(COUNT)],
    "string": ["é" * (k % 5) + str(k) for k in range(COUNT)],
    "date": [date(2000 + k, 1, 1) for k in range(COUNT)],
    "datetime": [datetime(1950 + 3 * k, 2, 3, 4) for k in range(COUNT)],
    "duration": [timedelta(k, k) for k in range(COUNT)],
    "int64[]": [[*range(k % 4)] for k in range(COUNT)],
    "bool[]": [[k % 2 == 0] * (k % 3) for k in range(COUNT)],
    "string[]": [list((str(k), "ü")[: k % 3]) for k in range(COUNT)],
}
RANGES = [(b, e) for b in (0, 1, 7, 8, 9, 16, 23) for e in (b, b + 1, 24, 25, COUNT)]


def with_bits(column: Column) -> Column:
    """As it is read from a file."""
    if column.valid is None:
        return column
    return replace(column, bits=np.packbits(column.valid, bitorder="little"))


def made(kind: Kind, nulls: str) -> tuple[list[PropertyValue], Column]:
    values = list(PLAIN[kind])
    if nulls != "none":
        values = [None if k % 3 == 1 else value for k, value in enumerate(values)]
    column = column_of(values, kind)
    return values, with_bits(column) if nulls == "bits" else column


@pytest.mark.parametrize("nulls", ["none", "flags", "bits"])
@pytest.mark.parametrize("kind", PLAIN)
def test_equal_wherever_it_begins(kind: Kind, nulls: str) -> None:
    values, column = made(kind, nulls)
    for begin, end in RANGES:
        one = Slice(column, begin, end)
        assert len(one) == end - begin
        assert one.kind == kind
        assert one.to_list() == one.taken().to_list() == values[begin:end]
        found = pyarrow.array(one)
        found.validate(full=True)
        assert found.to_pylist() == values[begin:end]
        assert found.null_count == values[begin:end].count(None)
        assert arrow.to_list(arrow.column_array(one)) == values[begin:end]


@pytest.mark.parametrize("kind", PLAIN)
def test_duckdb_and_batches_read_it(kind: Kind) -> None:
    values, column = made(kind, "bits")
    connection = duckdb.connect()
    for begin, end in RANGES:
        children = [arrow.column_array(Slice(column, begin, end)) for _ in range(2)]
        children.append(arrow.column_array(Slice(column, COUNT - (end - begin), COUNT)))
        three = arrow.struct_array(["a", "b", "c"], children, end - begin)
        rows = connection.sql("SELECT a, b, c FROM three").fetchall()
        shifted = values[COUNT - (end - begin) :]
        assert rows == [*zip(values[begin:end], values[begin:end], shifted, strict=True)]
        pieces = [pyarrow.record_batch(piece) for piece in arrow.pieces(three, 5)]
        assert [x for piece in pieces for x in piece.column(2).to_pylist()] == shifted


def inside(buffer: pyarrow.Buffer, array: npt.NDArray[np.generic]) -> bool:
    begin = array.__array_interface__["data"][0]
    held: bool = begin <= buffer.address and buffer.address + buffer.size <= begin + array.nbytes
    return held


@pytest.mark.parametrize("kind", ["int64", "float64", "date", "datetime", "string", "string[]"])
def test_in_the_memory_of_the_column(kind: Kind) -> None:
    _, column = made(kind, "bits")
    assert column.bits is not None
    for begin, end in ((3, 30), (8, 9), (0, COUNT)):
        valid, *others = pyarrow.array(Slice(column, begin, end)).buffers()
        assert inside(valid, column.bits)
        owners = [
            array for array in (column.offsets, column.inner, column.values) if array is not None
        ]
        there = [buffer for buffer in others if buffer is not None]
        assert len(there) == len(owners)
        assert all(inside(*both) for both in zip(there, owners, strict=True))


def test_as_sql_has_it() -> None:
    values, column = made("duration", "bits")
    one = Slice(column, 5, 29).in_sql()
    assert one.kind == "int64"
    microseconds = [None if v is None else v // timedelta(microseconds=1) for v in values[5:29]]
    assert pyarrow.array(one).to_pylist() == microseconds


def test_what_follows_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not follow_one_another(np.arange(slices.LEAST - 1))  # not worth it
    assert follow_one_another(np.arange(slices.LEAST))
    monkeypatch.setattr(slices, "LEAST", 2)
    for dtype in (np.uint32, np.int64):
        for numbers, expected in (
            ([4, 5, 6], True),
            ([6, 5, 4], False),
            ([4, 6, 5, 7], False),  # both ends are right
            ([4, 4, 6], False),
            ([4, 6, 8], False),
            ([4], False),
            ([], False),
        ):
            assert follow_one_another(np.array(numbers, dtype)) is expected
        assert breaks(np.array([4, 5, 7, 8, 9, 2, 3, 3], dtype)).tolist() == [2, 5, 7]
    assert not follow_one_another(np.array([2**32 - 1, 0], np.uint32))
