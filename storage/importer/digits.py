"""CSV files that hold nothing but integers, as most edge lists do: read as numbers at once.

DuckDB's casts take more for an integer than is one (see `values`), so a column is read as text and looked at. Here it
is read as numbers, and then all of the file is compared with what these numbers look like: it must have as many
characters. Whatever else DuckDB takes for an integer is longer than the number's own text (a sign, a leading zero, a
fraction, an underscore, blanks, quotes), but for powers of ten and hexadecimal digits, which have letters.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from gdb.storage.importer.detect import GZIP
from gdb.storage.importer.layout import Layout
from gdb.storage.importer.tables import Table
from gdb.storage.model import I64, Column, Kind

_FEW = 1 << 16  # bytes that are looked at before a file is read
_LETTERS = (b"e", b"E", b"x", b"X")


def seems_of_digits(path: Path, layout: Layout) -> bool:
    """Whether a file's columns may be integers, and its first records are."""
    if any(field.kind not in (None, "int64") for field in layout.fields):
        return False
    if not re.fullmatch(r"[^-0-9\r\n]", layout.delimiter) or not layout.delimiter.isascii():
        return False
    with path.open("rb") as stream:
        if stream.read(2) == GZIP:
            return False
        stream.seek(0)
        for _ in range(layout.skipped):
            stream.readline()
        few = stream.read(_FEW)
    return bool(few) and not few.translate(None, b"0123456789-\r\n" + layout.delimiter.encode())


class DigitsTable(Table):
    """The rows of a file for which `seems_of_digits` holds: as `Table`, but its columns are numbers.

    Where the reader refuses a line (too few fields, a number beyond 64 bits), or a number is not written as such, all
    is read as text. As long as no row is rejected, rows have no numbers: they are in the order of the lines.
    """

    _numbers = _numbered = False  # its columns are numbers; its rows have them

    def _read(self) -> None:
        import duckdb

        try:
            self._read_file(self.path, "BIGINT", "")
            self._numbers = self._is_all()
        except duckdb.Error:
            self._numbers = False
        self._numbered = not self._numbers
        if not self._numbers:
            self._rows("DROP TABLE IF EXISTS reject_errors")  # why they are no numbers
            self._rows("DROP TABLE IF EXISTS reject_scans")
            super()._read()

    def _is_all(self) -> bool:
        """Whether the file holds these numbers and nothing else."""
        columns = range(len(self.layout.fields))
        lengths = " + ".join(f"coalesce(sum(strlen(CAST(c{i} AS VARCHAR))), 0)" for i in columns)
        (found,) = self._rows(f"SELECT count(*), {lengths} FROM t")
        rows, characters = int(found[0]), int(found[1])
        if len(columns) == 1 and self._scalar("SELECT count(*) FROM t WHERE c0 IS NULL"):
            return False  # a blank line is a record there
        with (
            self.path.open("rb") as stream,
            closing(mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ)) as text,
        ):
            for _ in range(self.layout.skipped):
                text.readline()
            begin, ends = text.tell(), 0
            if any(text.find(letter, begin) >= 0 for letter in _LETTERS):
                return False
            while chunk := text.read(1 << 24):
                ends += chunk.count(b"\n") + chunk.count(b"\r")
            return characters + rows * (len(columns) - 1) + ends == len(text) - begin

    def _number_rows(self) -> None:
        if not self._numbered:
            self._rows(
                "CREATE OR REPLACE TEMP TABLE t AS SELECT row_number() OVER () AS record, * FROM t"
            )
            self._numbered = True

    def reject(self, i: int, condition: str, what: str, cure: str = "") -> None:
        if self._numbered or self._scalar(f"SELECT count(*) FROM t WHERE {condition}"):
            self._number_rows()
            super().reject(i, condition, what, cure)

    def reject_misfits(self, i: int, kind: Kind, what: str, cure: str = "") -> None:
        if not self._numbers or kind != "int64":
            super().reject_misfits(i, kind, what, cure)

    def reject_rows(self, rows: I64, reasons: Sequence[str], cure: str = "") -> None:
        if len(rows):
            self._number_rows()
            super().reject_rows(rows, reasons, cure)

    def reject_missing(self, i: int, what: str) -> None:
        if not self._numbers or self._scalar(f"SELECT count(*) FROM t WHERE c{i} IS NULL"):
            super().reject_missing(i, what)

    def text(self, i: int) -> str:
        return f"CAST(c{i} AS VARCHAR)" if self._numbers else super().text(i)

    def value(self, i: int, kind: Kind) -> str:
        return f"c{i}" if self._numbers and kind == "int64" else super().value(i, kind)

    def all_fit(self, i: int, kind: Kind) -> bool:
        return (self._numbers and kind == "int64") or super().all_fit(i, kind)

    def column(self, i: int, kind: Kind) -> Column:
        if not self._numbers or kind != "int64":
            return super().column(i, kind)
        found = self._arrays(f"SELECT c{i} AS v FROM {self.ordered}")["v"]
        if isinstance(found, np.ma.MaskedArray):
            valid = ~np.ma.getmaskarray(found)
            numbers: I64 = np.ascontiguousarray(found.filled(0)).astype(np.int64, copy=False)
            return Column("int64", numbers, None, None if valid.all() else valid)
        return Column("int64", np.ascontiguousarray(found).astype(np.int64, copy=False))

    @property
    def ordered(self) -> str:
        return (
            super().ordered if self._numbered else "t"
        )  # a table is read in the order of its rows

    def groups(self, i: int) -> tuple[list[str], I64]:
        self._number_rows()
        return super().groups(i)

    def records(self) -> I64:
        return super().records() if self._numbered else np.arange(1, self.count() + 1)
