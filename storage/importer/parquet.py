"""Parquet files: the columns of a CSV table by the same header names, with the types that they have."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from gdb.errors import ImportFailed
from gdb.storage.engine import Engine
from gdb.storage.importer.compressed import literal, refuse_above
from gdb.storage.importer.layout import Layout
from gdb.storage.importer.rooted import reopened
from gdb.storage.importer.typed import Schema, TypedTable, duration_of, typed_layout

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# the names of folders are no columns, whatever they look like
_READ = "read_parquet(?, hive_partitioning=false"
_METADATA = "SELECT value FROM parquet_kv_metadata(?) WHERE decode(key) = 'ARROW:schema'"
_NODES = "SELECT name, coalesce(num_children, 0) FROM parquet_schema(?)"
_DESCRIBE = f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {_READ}))"
# Runs and dictionaries make few bytes of many equal values, which all the same take room when they are read
_VALUE_BYTES = "CASE type WHEN 'BOOLEAN' THEN 1 WHEN 'INT32' THEN 4 WHEN 'FLOAT' THEN 4 ELSE 8 END"
_SIZE = (
    f"SELECT coalesce(sum(greatest(total_uncompressed_size, num_values * {_VALUE_BYTES})), 0)::HUGEINT "
    "FROM parquet_metadata(?)"
)


def check(path: Path, most: int) -> None:
    """Refuse a file that unpacks to more than `most` bytes and `RATIO` times its size, by what its footer says of each
    column of each row group: the bytes of its pages, or of that many values where these are more.

    Raises
    ------
    ImportFailed : it does, or it cannot be read.
    """
    import duckdb

    with closing(Engine()) as engine, closing(engine.cursor()) as connection:
        try:
            with reopened(path) as place:
                found = connection.execute(_SIZE, [literal(place)]).fetchone()
        except duckdb.Error as error:
            raise _unreadable(path, error) from None
    refuse_above(path, most, int(found[0]) if found else 0)


def parquet_layout(path: Path, columns: Sequence[str] | None) -> Layout:
    """The layout of a Parquet file, from its schema; `columns` are its header fields instead of its names.

    Raises
    ------
    ImportFailed : it cannot be read, or holds what cannot be stored.
    """
    with closing(Engine()) as engine, closing(engine.cursor()) as connection:
        schema = _schema(path, connection)
    return typed_layout(
        schema, columns, lambda reason, cure: ImportFailed(reason, cure, file=str(path))
    )


def _schema(path: Path, connection: DuckDBPyConnection) -> Schema:
    """Names and DuckDB types of a file's columns."""
    import duckdb

    try:
        with reopened(path) as place:
            told = connection.execute(_DESCRIBE, [literal(place)]).fetchall()
            nodes = connection.execute(_NODES, [literal(place)]).fetchall()
    except duckdb.Error as error:
        raise _unreadable(path, error) from None
    # DuckDB's own names differ where two are alike but for their case
    names, types = _columns(nodes), [str(type) for _, type in told]
    if {"BIGINT", "BIGINT[]"} & set(types):
        with reopened(path) as place:
            found = connection.execute(_METADATA, [literal(place)]).fetchone()
        durations = _arrow_durations(found[0]) if found else {}
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


def _arrow_durations(schema: bytes) -> dict[tuple[int, str], str]:
    """The columns that an Arrow schema, in base64, says to be durations: (number, name) -> how we call the type."""
    import nanoarrow as na
    from nanoarrow.ipc import InputStream

    try:
        source = InputStream.from_readable(io.BytesIO(base64.b64decode(schema)))
        fields = list(na.c_schema(na.ArrayStream(source).schema).children)
        told = [(str(field.name), duration_of(field)) for field in fields]
    except (ValueError, RuntimeError):  # it is for other readers; without it they are integers
        return {}
    return {(k, name): type for k, (name, type) in enumerate(told) if type}


def _unreadable(path: Path, error: Exception) -> ImportFailed:
    short = str(error).split("\n")[0].strip().rstrip(".")
    return ImportFailed(
        f"cannot be read as Parquet ({short})", "Write the file again.", file=str(path)
    )


class ParquetTable(TypedTable):
    """The rows of one Parquet file."""

    def _schema(self) -> Schema:
        return _schema(self.path, self.connection)

    def _make(self, statement: str) -> None:
        import duckdb

        try:
            with reopened(self.path) as place:
                self._fill(statement.format(f"{_READ}, file_row_number=true)"), [literal(place)])
        except duckdb.Error as error:
            raise _unreadable(self.path, error) from None
