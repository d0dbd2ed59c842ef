"""CSV files through DuckDB's reader, which names line, column and reason of what it rejects."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gdb.errors import ImportFailed
from gdb.storage.importer.detect import GZIP, delimiter_of
from gdb.storage.importer.header import Field, looks_like_header, parse_header
from gdb.storage.importer.report import FileReport, Rejects
from gdb.storage.model import I64, Column, Kind, from_strings

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TESTS: tuple[tuple[Kind, str], ...] = (
    ("int64", "BIGINT"),
    ("float64", "DOUBLE"),
    ("bool", "BOOLEAN"),
)
_SQL = {"int64": "BIGINT", "float64": "DOUBLE", "bool": "BOOLEAN"}
_CURES = {
    "MISSING COLUMNS": "Every line must have as many fields as the header.",
    "TOO MANY COLUMNS": "Every line must have as many fields as the header; quote a field that holds the delimiter.",
    "UNQUOTED VALUE": "Close the quote, or double a quote inside a quoted field.",
    "INVALID ENCODING": "Convert the file to UTF-8.",
}


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """How a CSV file is written: its delimiter, whether its first line is a header, and its fields."""

    delimiter: str
    header: bool
    fields: list[Field]
    warnings: list[str]


def layout_of(
    path: Path,
    lines: list[str],
    delimiter: str | None,
    header: bool | None,
    columns: Sequence[str] | None,
) -> Layout:
    """The layout of a file from its first lines and what the caller says.

    Raises
    ------
    ImportFailed : a file without header whose columns are not named, or names that do not fit it.
    """
    first = next(x for x in lines if x.strip())
    delimiter = delimiter or delimiter_of(first)
    cells = next(csv.reader([first], delimiter=delimiter))
    has_header = header if header is not None else columns is None and looks_like_header(cells)
    if columns is not None:
        names = list(columns)
    elif has_header:
        names = cells
    else:
        raise ImportFailed(
            "has no header line",
            "Name its columns: columns=[...].",
            file=str(path),
            line=1,
            text=first,
        )
    if len(names) != len(cells):
        raise ImportFailed(
            f"has {len(cells)} columns, {len(names)} are named",
            "Name every column, or pass delimiter=.",
            file=str(path),
            line=1,
            text=first,
        )
    fields, warnings = parse_header(names)
    return Layout(delimiter, has_header, fields, warnings)


class Table:
    """The rows of one CSV file as text columns c0, c1, ... inside a private DuckDB connection."""

    def __init__(self, path: Path, layout: Layout, report: FileReport, rejects: Rejects) -> None:
        import duckdb  # a heavy import that only files need

        self.path, self.layout, self.report, self.rejects = path, layout, report, rejects
        self.connection: DuckDBPyConnection = duckdb.connect()
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(layout.fields)))
        with path.open("rb") as stream:
            compression = "gzip" if stream.read(2) == GZIP else "none"
        sql = (
            f"CREATE TABLE t AS SELECT row_number() OVER () AS line, * FROM read_csv(?, columns={{{columns}}}, "
            f"delim=?, header={str(layout.header).lower()}, quote='\"', escape='\"', nullstr='', auto_detect=false, "
            f"compression='{compression}', store_rejects=true)"
        )
        try:
            self.connection.execute(sql, [str(path), layout.delimiter])
        except duckdb.Error as error:
            raise _readable(path, str(error)) from None
        self._collect_rejects()
        self._reject_bad_values()
        self.count = self._scalar("SELECT count(*) FROM t")
        report.rows += self.count

    def close(self) -> None:
        self.connection.close()

    def _scalar(self, sql: str) -> int:
        row = self.connection.execute(sql).fetchone()
        return int(row[0]) if row else 0

    def _collect_rejects(self) -> None:
        found = self.connection.execute(
            "SELECT line, error_type, any_value(csv_line), any_value(error_message) FROM reject_errors "
            "GROUP BY line, error_type ORDER BY line"
        ).fetchall()
        for line, kind, text, message in found:
            cure = _CURES.get(str(kind), "")
            self.rejects.add(
                self.report,
                int(line),
                str(text or "").strip()[:200],
                str(message).rstrip("."),
                cure,
            )

    def _reject_bad_values(self) -> None:
        """Lines whose value is not of the type that the header declares."""
        for i, field in enumerate(self.layout.fields):
            if field.kind in _SQL and not field.role:
                self._reject_casts(
                    i, _SQL[field.kind], f"{field.name!r} is declared {field.kind}, not"
                )

    def _reject_casts(self, i: int, sql_type: str, what: str) -> None:
        bad = f"c{i} IS NOT NULL AND TRY_CAST(c{i} AS {sql_type}) IS NULL"
        found = self.connection.execute(
            f"SELECT line, c{i} FROM t WHERE {bad} LIMIT {self.rejects.most + 1}"
        ).fetchall()
        for line, text in found:
            self.rejects.add(
                self.report, int(line) + self.layout.header, str(text), f"{what} {str(text)!r}"
            )
        if found:
            self.connection.execute(f"DELETE FROM t WHERE {bad}")
            self.count = self._scalar("SELECT count(*) FROM t")

    def reject_nulls(self, i: int, what: str) -> None:
        """Reject lines without a value in a column that needs one."""
        found = self.connection.execute(f"SELECT line FROM t WHERE c{i} IS NULL").fetchall()
        for (line,) in found:
            self.rejects.add(self.report, int(line) + self.layout.header, "", f"{what} is empty")
        if found:
            self.connection.execute(f"DELETE FROM t WHERE c{i} IS NULL")
            self.report.rows -= len(found)
            self.count -= len(found)

    def kind(self, i: int) -> Kind:
        """The declared kind of a column, or the narrowest that holds all its values."""
        declared = self.layout.fields[i].kind
        if declared is not None:
            return declared
        if not self._scalar(f"SELECT count(c{i}) FROM t"):
            return "string"
        for kind, sql_type in _TESTS:
            # a leading zero (a postcode, a phone number) is text that must come back as it was
            text = f" OR regexp_matches(c{i}, '^[+-]?0[0-9]')" if kind == "int64" else ""
            text = f" OR lower(c{i}) NOT IN ('true', 'false')" if kind == "bool" else text
            text = (
                f" OR regexp_matches(c{i}, '^[+-]?0[0-9]|[^0-9.eE+-]')"
                if kind == "float64"
                else text
            )
            misfit = f"c{i} IS NOT NULL AND (TRY_CAST(c{i} AS {sql_type}) IS NULL{text})"
            if not self._scalar(f"SELECT count(*) FROM t WHERE {misfit}"):
                return kind
        return "string"

    def column(self, i: int, kind: Kind) -> Column:
        """A column's values, in the order of the lines."""
        sql_type = _SQL.get(kind)
        value = f"CAST(c{i} AS {sql_type})" if sql_type else f"coalesce(c{i}, '')"
        filled = f"coalesce({value}, {'false' if kind == 'bool' else '0'})" if sql_type else value
        sql = f"SELECT {filled} AS v, c{i} IS NOT NULL AS ok FROM t ORDER BY line"
        found = self.connection.execute(sql).fetchnumpy()
        valid = np.asarray(found["ok"], np.bool_)
        nulls = None if valid.all() else valid
        if kind == "string":
            return from_strings([str(x) for x in found["v"].tolist()], nulls)
        dtype = {"int64": np.int64, "float64": np.float64, "bool": np.uint8}[kind]
        return Column(kind, np.ascontiguousarray(found["v"]).astype(dtype), None, nulls)

    def texts(self, i: int) -> list[str]:
        """A column as text, "" where it is empty."""
        return [
            str(row[0])
            for row in self.connection.execute(
                f"SELECT coalesce(c{i}, '') FROM t ORDER BY line"
            ).fetchall()
        ]

    def lines(self) -> I64:
        """The file's line of every row, i64[count]."""
        found = self.connection.execute("SELECT line FROM t ORDER BY line").fetchnumpy()
        return np.asarray(found["line"], np.int64) + int(self.layout.header)


def _readable(path: Path, message: str) -> ImportFailed:
    """A DuckDB message without its advice about its own options."""
    short = re.split(r"\n|Possible (fixes|solutions)", message)[0].strip().rstrip(".")
    line = re.search(r"[Ll]ine:? (\d+)", message)
    return ImportFailed(
        f"cannot be read as CSV ({short})",
        "Check delimiter=, header= and the file's encoding (UTF-8).",
        file=str(path),
        line=int(line[1]) if line else None,
    )
