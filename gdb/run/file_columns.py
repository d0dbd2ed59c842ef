"""Columns of the files of COPY (query) TO that DuckDB would write otherwise: durations, and empty maps in Parquet.

DuckDB holds durations as intervals: its CSV writes 24:00:00 where the language has PT24H, and its Parquet has neither
microseconds nor negative ones. In CSV they are the texts of toString(). In Parquet they are INT64 microseconds, which
the Arrow schema in the file declares as durations, as in the files of `Database.export`. Parquet has no struct without
fields: there a column of maps without keys is one of texts, {}.
"""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from gdb.base import sql
from gdb.storage.columns.temporal import written_sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb.sqltypes import DuckDBPyType

    from gdb.base.sql import Part
    from gdb.executor.relational.arrow import Array

Format: TypeAlias = Literal["parquet", "csv"]


def _holds(type_: DuckDBPyType, what: str) -> bool:
    """Whether values of a type are of another one, or hold such. what : "interval", or "empty" for a struct without
    fields."""
    match type_.id:
        case "list":
            return _holds(_parts(type_)[0][1], what)
        case "struct":
            parts = _parts(type_)
            return any(_holds(of, what) for _, of in parts) or (what == "empty" and not parts)
        case other:
            return other == what


def as_written(value: Part, type_: DuckDBPyType, format_: Format, depth: int = 0) -> sql.exp.Expr:
    """A value as the file has it. depth : of lists around it."""
    empty = format_ == "parquet" and _holds(type_, "empty")
    if not empty and not _holds(type_, "interval"):
        return sql.part_of(value)
    match type_.id:
        case "interval":
            length = sql.call("epoch_us", value)
            return written_sql(length, "duration") if format_ == "csv" else length
        case "list":
            ((_, of),) = _parts(type_)
            item = f"item{depth}"
            body = as_written(item, of, format_, depth + 1)
            return sql.call("list_transform", value, sql.over_items(item, body))
        case "struct" if not _parts(type_):
            return sql.chosen((sql.is_there(value), sql.value_of("{}")))
        case "struct":
            fields = [
                sql.exp.PropertyEQ(
                    this=sql.exp.Identifier(this=name, quoted=True),
                    expression=as_written(
                        sql.call("struct_extract", value, sql.value_of(name)), of, format_, depth
                    ),
                )
                for name, of in _parts(type_)
            ]
            made = sql.exp.Struct(expressions=fields)
            return sql.chosen((sql.is_there(value), made))
        case _:
            return sql.part_of(value)


def _parts(type_: DuckDBPyType) -> list[tuple[str, DuckDBPyType]]:
    """The fields of a struct, or what the items of a list are."""
    return cast("list[tuple[str, DuckDBPyType]]", type_.children)


def arrow_schema(batch: Array, types: Sequence[DuckDBPyType]) -> dict[str, sql.Value]:
    """Options of COPY that write the Arrow schema of a batch into a Parquet file; none without durations."""
    if not any(_holds(type_, "interval") for type_ in types):
        return {}
    from nanoarrow.ipc import StreamWriter  # here: only Parquet with durations needs it

    from gdb.executor.relational.arrow import empty_chunk

    out = io.BytesIO()
    with StreamWriter.from_writable(out) as writer:
        writer.write_stream(empty_chunk(batch))
    encoded = base64.b64encode(out.getvalue()).decode()
    return {"KV_METADATA": {"ARROW:schema": encoded}}
