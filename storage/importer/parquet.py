"""Parquet files: the columns of a CSV table by the same header names, with the types that they have."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gdb.base.sql import (
    call,
    described,
    everything,
    exp,
    named_rows,
    over_items,
    parameter_of,
    read_by,
    select,
    written,
)
from gdb.errors import ImportFailed

from ..columns.model import Kind
from ..columns.pandas_index import MADE_UP, headers
from ..disk.duckdb_engine import Engine, run, tell_progress
from ..disk.import_root import reopened
from ..disk.sandbox import literal
from .compressed import allowance, refusal
from .layout import Layout
from .typed import (
    TOO_FAR,
    Schema,
    TypedTable,
    duration_of,
    kinds_of,
    refuse_extension,
    typed_layout,
)
from .unreadable import no_room

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_OF_PANDAS = "SELECT value FROM parquet_kv_metadata(?) WHERE decode(key) = 'pandas'"
_METADATA = "SELECT value FROM parquet_kv_metadata(?) WHERE decode(key) = 'ARROW:schema'"
_NODES = "SELECT name, coalesce(num_children, 0) FROM parquet_schema(?)"
# Runs and dictionaries make few bytes of many equal values, which all the same take room when they are read; and each
# value of a text that is not written out may be the longest, which is no longer than all there is of them
_SIZE = """
    SELECT coalesce(sum(greatest(
            total_uncompressed_size,
            many * CASE type WHEN 'BOOLEAN' THEN 1 WHEN 'INT32' THEN 4 WHEN 'FLOAT' THEN 4 ELSE 8 END
        )), 0)::HUGEINT,
        coalesce(sum(
            many::HUGEINT * CASE WHEN type = 'BYTE_ARRAY' AND regexp_matches(encodings, 'DICTIONARY|DELTA')
                THEN total_uncompressed_size ELSE 0 END
        ), 0)::HUGEINT
    FROM (SELECT *, greatest(num_values, row_group_num_rows) AS many FROM parquet_metadata(?))"""
# for measuring, where the import has no bound; DuckDB takes a quarter, as large as any page
_MEMORY = 8 << 30
_KEPT = 20  # times its size that a file may unpack to whatever the memory: more than most do


def check(path: Path, most: int, memory: int | None, tick: Callable[[], None]) -> None:
    """Refuse a file that unpacks to more than `most` bytes and `RATIO` times its size, or more than the memory there is
    and `_KEPT` times its size, by what its footer says of each column of each row group: the bytes of its pages, or of
    that many values where these are more.

    tick : called now and then; what it raises ends the check.
    Cost: where the texts of a dictionary may be too much, they are measured: read once, not kept.

    Raises
    ------
    ImportFailed : it does, or it cannot be read.
    """
    import duckdb

    size = path.stat().st_size
    kept = allowance(size, 0) if memory is None else max(memory, _KEPT * size)
    allowed = max(most, min(allowance(size, 0), kept))
    with (
        closing(Engine(memory or _MEMORY, files=[path])) as engine,
        closing(engine.cursor()) as connection,
    ):
        try:
            with reopened(path) as place:
                length, texts = connection.execute(_SIZE, [literal(place)]).fetchall()[0]
                if length <= allowed < length + texts:
                    length += _length_of_texts(place, connection, tick)
        except duckdb.OutOfMemoryException:
            raise no_room(path) from None
        except duckdb.Error as error:
            raise _unreadable(path, error) from None
    if length > allowed:
        raise refusal(path, allowed)


def _length_of_texts(path: Path, connection: DuckDBPyConnection, tick: Callable[[], None]) -> int:
    """Bytes of all texts of a file."""
    types = [str(type) for _, type in connection.execute(_described(), [literal(path)]).fetchall()]
    names = [f"c{i}" for i in range(len(types))]
    found = [_length(name, type) for name, type in zip(names, types, strict=True)]
    lengths = [call("sum", each) for each in found if each is not None]
    if not lengths:
        return 0
    sql = written(select(lengths, named_rows(_file(), "p", names)))
    tell_progress(connection)
    rows = run(
        connection, lambda: connection.execute(sql, [literal(path)]).fetchall(), lambda _: tick()
    )
    return sum(int(each or 0) for each in rows[0])


def _length(column: str, type: str) -> exp.Expr | None:
    """Bytes of the texts of a value; None where it has none."""
    match type:
        case "VARCHAR":
            return call("strlen", column)
        case "VARCHAR[]":
            each = over_items("x", call("strlen", "x"))
            return call("list_sum", call("list_transform", column, each))
    return None


def _file(**more: bool) -> exp.Expr:
    """The rows of a file, which is a parameter."""
    # the names of folders are no columns, whatever they look like
    return read_by("read_parquet", parameter_of(), hive_partitioning=False, **more)


@cache
def _described() -> str:
    """The names and types of the columns of a file."""
    return written(select(["column_name", "column_type"], described(everything(_file()))))


def parquet_layout(path: Path, columns: Sequence[str] | None) -> Layout:
    """The layout of a Parquet file, from its schema; `columns` are its header fields instead of its names.

    Raises
    ------
    ImportFailed : it cannot be read, or holds what cannot be stored.
    """
    with closing(Engine(files=[path])) as engine, closing(engine.cursor()) as connection:
        schema = _schema(path, connection)
    return typed_layout(schema, columns, str(path))


def parquet_kinds(path: Path) -> list[tuple[Kind, str]]:
    """The kinds of a file's columns, see `kinds_of`. Raises ImportFailed: it cannot be read."""
    with closing(Engine(files=[path])) as engine, closing(engine.cursor()) as connection:
        return kinds_of(_schema(path, connection))


def _schema(path: Path, connection: DuckDBPyConnection) -> Schema:
    """Names and DuckDB types of a file's columns."""
    import duckdb

    try:
        with reopened(path) as place:
            described = connection.execute(_described(), [literal(place)]).fetchall()
            nodes = connection.execute(_NODES, [literal(place)]).fetchall()
    except duckdb.Error as error:
        raise _unreadable(path, error) from None
    # DuckDB's own names differ where two are alike but for their case
    names, types = _columns(nodes), [str(type) for _, type in described]
    if any(name.startswith(MADE_UP) for name in names):
        with reopened(path) as place:
            said = connection.execute(_OF_PANDAS, [literal(place)]).fetchone()
        names = headers(names, said[0]) if said else names
    if {"BIGINT", "BIGINT[]"} & set(types):
        with reopened(path) as place:
            found = connection.execute(_METADATA, [literal(place)]).fetchone()
        durations = _arrow_durations(found[0], path) if found else {}
        types = [
            durations.get((k, name), type)
            for k, (name, type) in enumerate(zip(names, types, strict=True))
        ]
    return names, types


def _columns(nodes: Sequence[tuple[str, int]]) -> list[str]:
    """The names of the columns, from a schema's nodes: the root, and each node before its children (of a list)."""
    found: list[str] = []
    below = 0  # nodes that are still to come below the column
    for name, children in nodes[1:]:
        if not below:
            found.append(str(name))
            below = 1
        below += children - 1
    return found


def _arrow_durations(schema: bytes, path: Path) -> dict[tuple[int, str], str]:
    """The columns that an Arrow schema, in base64, says to be durations: (number, name) -> how we call the type.

    Raises
    ------
    ImportFailed : a column is of a type that `refuse_extension` refuses.
    """
    import nanoarrow as na
    from nanoarrow.ipc import InputStream

    try:
        source = InputStream.from_readable(io.BytesIO(base64.b64decode(schema)))
        fields = list(na.c_schema(na.ArrayStream(source).schema).children)
        durations = [(str(field.name), duration_of(field)) for field in fields]
    except (ValueError, RuntimeError):  # it is for other readers; without it they are integers
        return {}
    for field in fields:
        refuse_extension(field, str(path))
    return {(k, name): type for k, (name, type) in enumerate(durations) if type}


def _unreadable(path: Path, error: Exception) -> ImportFailed:
    import duckdb

    short = str(error).split("\n")[0].strip().rstrip(".")
    cure = TOO_FAR if isinstance(error, duckdb.ConversionException) else "Write the file again."
    return ImportFailed(f"cannot be read as Parquet ({short})", cure, file=str(path))


class ParquetTable(TypedTable):
    """The rows of one Parquet file."""

    def _schema(self) -> Schema:
        return _schema(self.path, self.connection)

    def _make(self, of: Callable[[exp.Expr], exp.Expr]) -> None:
        import duckdb

        try:
            with reopened(self.path) as place:
                self._fill(of(_file(file_row_number=True)), [literal(place)])
        except duckdb.Error as error:
            raise _unreadable(self.path, error) from None
