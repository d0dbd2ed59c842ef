"""Rows in memory, as lists of dicts or a LazyFrame of polars, as the tables of Arrow that an import reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeGuard

from gdb.errors import ImportFailed
from gdb.records import dataclass

from ..columns.arrow_arrays import ArrowStream, is_stream
from ..columns.model import Column
from ..columns.python_columns import columns_of
from ..columns.slices import struct_of

Records = Sequence[Mapping[str, Any]]


class LazyRows(Protocol):
    """What polars will give as a frame."""

    def collect_schema(self) -> object:
        """Names and types of the columns, found without running the query."""
        ...

    def sink_parquet(self, path: Any) -> object:
        """Run the query and write its rows to a Parquet file, piece by piece."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RecordTable:
    """Columns of equal length as a stream of Arrow."""

    columns: dict[str, Column]
    count: int

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        from nanoarrow.c_array_stream import CArrayStream  # only records in memory need it

        whole = struct_of(self.columns, self.columns.values(), self.count)
        stream = CArrayStream.from_c_arrays([whole], whole.schema)
        capsule: object = stream.__arrow_c_stream__(requested_schema)
        return capsule


@dataclass(frozen=True, slots=True, eq=False)
class LazyTable:
    """The batches of a LazyFrame as a stream of Arrow: no more of them than are wanted at a time are in memory."""

    batches: ArrowStream

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.batches.__arrow_c_stream__(requested_schema)


def table_of(source: object) -> object:
    """A list of dicts as a table, a key that one has not as null; a LazyFrame of polars as the stream of its batches,
    which its streaming engine makes one after the other; anything else as it is.

    Raises
    ------
    ImportFailed : a key is no text, or a value cannot be stored beside the others of its key.
    """
    if is_records(source):
        return _table(source)
    collect: Callable[..., object] | None = getattr(source, "collect", None)
    if (
        collect is not None
        and hasattr(source, "collect_schema")
        and hasattr(source, "sink_parquet")
    ):
        batches: Callable[..., object] | None = getattr(source, "collect_batches", None)
        if batches is not None:
            made = batches(engine="streaming")
            if is_stream(made):
                return LazyTable(made)
        # older ones have no batches, or none for other libraries
        return collect(engine="streaming")
    return source


def is_records(source: object) -> TypeGuard[Records]:
    """Whether it is rows: a list of dicts, one at least."""
    return isinstance(source, list) and bool(source) and all(isinstance(x, Mapping) for x in source)


def _table(rows: Records) -> RecordTable:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    for key in keys:
        if not isinstance(key, str):
            raise ImportFailed(f"{key!r} is a key of a dict, and no text", "Name columns by texts.")

    def wrong(row: int, reason: str, cure: str) -> ImportFailed:
        return ImportFailed(f"row {row + 1}: {reason}", cure)

    return RecordTable(columns_of(rows, keys, wrong), len(rows))
