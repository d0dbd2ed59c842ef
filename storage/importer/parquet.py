"""Parquet files: the columns of a CSV table by the same header names, with the types that they have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gdb.errors import ImportFailed
from gdb.storage.engine import SQL_TYPES, Engine
from gdb.storage.importer.header import Field, parse_header, repeated
from gdb.storage.importer.layout import Layout
from gdb.storage.importer.places import Place, Places
from gdb.storage.importer.tables import Table, literal
from gdb.storage.model import Kind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), "int64"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER"), "int64"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float64"),
    "BOOLEAN": "bool",
    "VARCHAR": "string",
}
_NO_PROPERTY = ("STRUCT", "MAP", "UNION", "BLOB", "BIT", "GEOMETRY", "VARIANT")
# the names of folders are no columns, whatever they look like
_READ = "read_parquet(?, hive_partitioning=false"
_NAMES = "SELECT name FROM parquet_schema(?)"
_DESCRIBE = f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {_READ}))"


def parquet_layout(path: Path, columns: Sequence[str] | None) -> Layout:
    """The layout of a Parquet file, from its schema; `columns` are its header fields instead of its names.

    Raises
    ------
    ImportFailed : it cannot be read, or holds what cannot be stored.
    """
    with closing(Engine()) as engine, closing(engine.cursor()) as connection:
        names, types = _schema(path, connection)

    def wrong(reason: str, cure: str) -> ImportFailed:
        return ImportFailed(reason, cure, file=str(path))

    if columns is not None:
        if len(columns) != len(names):
            raise wrong(f"has {len(names)} columns, {len(columns)} are named", "Name every column.")
        names = list(columns)
    fields, warnings = parse_header(names)
    double = repeated(fields)
    if double:
        raise wrong(f"names the column {double!r} twice", "Give each column its own name.")
    typed: list[Field] = []
    for name, type, field in zip(names, types, fields, strict=True):
        kind = _KINDS.get(type, "string")
        if type not in _KINDS and field.role != "IGNORE":
            warnings.append(f"column {name!r}: type {type} is stored as string")
        if field.kind not in (None, kind):
            raise wrong(
                f"column {name!r} is declared {field.kind} and holds {type}",
                f"Name it without a type, or cast it to {SQL_TYPES[field.kind or kind]}.",
            )
        typed.append(replace(field, kind=kind))
    return Layout("", 0, typed, warnings, True)


def _schema(path: Path, connection: DuckDBPyConnection) -> tuple[list[str], list[str]]:
    """Names and DuckDB types of a file's columns."""
    import duckdb

    try:
        told = connection.execute(_DESCRIBE, [literal(path)]).fetchall()
        nodes = connection.execute(_NAMES, [literal(path)]).fetchall()
    except duckdb.Error as error:
        raise _unreadable(path, error) from None
    for name, type in told:
        if type.endswith("]") or type.startswith(_NO_PROPERTY):
            raise ImportFailed(
                f"column {name!r} is of type {type}, which no property can be",
                "Use numbers, booleans and strings, one in each field.",
                file=str(path),
            )
    # the first is the root; DuckDB's own names differ where two are alike but for their case
    return [str(name) for (name,) in nodes[1:]], [str(type) for _, type in told]


def _unreadable(path: Path, error: Exception) -> ImportFailed:
    short = str(error).split("\n")[0].strip().rstrip(".")
    return ImportFailed(
        f"cannot be read as Parquet ({short})", "Write the file again.", file=str(path)
    )


class ParquetTable(Table):
    """The rows of one Parquet file: as `Table`, but its columns have types. A row is told by its number."""

    def _read(self) -> None:
        import duckdb

        self.places = _Rows(self.path, "", 0, False)
        _, types = _schema(self.path, self.connection)
        fields = self.layout.fields
        if len(types) != len(fields):
            raise self._wrong(f"has {len(types)} columns instead of {len(fields)}")
        for field, type in zip(fields, types, strict=True):
            kind = _KINDS.get(type, "string")
            if field.role != "IGNORE" and field.kind != kind:
                raise self._wrong(
                    f"column {field.name or field.role!r} is {kind}, not {field.kind}"
                )
            if field.role in ("ID", "START_ID", "END_ID") and kind not in ("int64", "string"):
                raise ImportFailed(
                    f"the column of ids {field.name or field.role!r} holds {type}",
                    "Cast it to BIGINT or VARCHAR.",
                    file=str(self.path),
                )
        numbers = range(len(fields))
        cast = "".join(
            f", CAST(c{i} AS {SQL_TYPES[field.kind or 'string']}) AS c{i}"
            for i, field in enumerate(fields)
        )
        named = ", ".join([*(f"c{i}" for i in numbers), "row"])
        try:
            self._rows(
                f"CREATE TEMP TABLE t AS SELECT row + 1 AS record{cast} "
                f"FROM {_READ}, file_row_number=true) AS p({named})",
                [literal(self.path)],
            )
        except duckdb.Error as error:
            raise _unreadable(self.path, error) from None

    def text(self, i: int) -> str:
        return f"CAST(c{i} AS VARCHAR)"

    def value(self, i: int, kind: Kind) -> str:
        return f"c{i}" if self.layout.fields[i].kind == kind else super().value(i, kind)

    def _wrong(self, reason: str) -> ImportFailed:
        return ImportFailed(reason, "Take the whole export anew.", file=str(self.path))


@dataclass(slots=True)
class _Rows(Places):
    """The rows of a Parquet file: their numbers, from 1; they have no text."""

    def of_rows(self, wanted: Collection[int]) -> dict[int, Place]:
        return {row: Place(row, "") for row in wanted}
