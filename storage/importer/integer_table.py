"""CSV files that hold nothing but integers, as most edge lists do: parsed as numbers at once.

DuckDB reads every other file, as text that is looked at. Here there is nothing to look at: a text is a plain integer or
it is not, and where one is not, DuckDB reads the file as any other and says what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gdb.storage.importer.compressed import compression_of
from gdb.storage.importer.layout import Layout
from gdb.storage.importer.tables import Table
from gdb.storage.model import I64, Column, Kind, from_strings

_FEW = 1 << 16  # bytes that are looked at before a file is read
_BLOCK = 1 << 25  # bytes that are read at a time


def seems_of_integers(path: Path, layout: Layout) -> bool:
    """Whether a file's columns may be integers, and its first records are."""
    if any(f.kind not in (None, "int64") or f.role in ("LABEL", "TYPE") for f in layout.fields):
        return False
    if not re.fullmatch(r"[^-0-9\r\n]", layout.delimiter) or not layout.delimiter.isascii():
        return False
    with path.open("rb") as stream:
        if compression_of(stream.read(4)) != "none":
            return False
        stream.seek(0)
        for _ in range(layout.skipped):
            stream.readline()
        few = stream.read(_FEW)
    return bool(few) and not few.translate(None, b"0123456789-\r\n" + layout.delimiter.encode())


class IntegerTable(Table):
    """The rows of a file for which `seems_of_integers` holds: as `Table`. Where it is not so, they are read as text."""

    _found: I64 | None = None  # i64[columns, rows]
    _kept: I64 | None = None  # the rows that were not rejected; None: all

    def _read(self) -> None:
        self._found = self._parsed()
        if self._found is None:
            super()._read()

    def _parsed(self) -> I64 | None:
        """All numbers, i64[columns, rows], or None. The file is read, not mapped: whoever cuts it short meanwhile would
        kill the process."""
        from gdb.storage.importer.integers import parsed  # brings the compiler

        columns, delimiter = len(self.layout.fields), ord(self.layout.delimiter)
        pieces, rest = list[I64](), b""
        with self.path.open("rb") as stream:
            for _ in range(self.layout.skipped):
                stream.readline()
            while True:
                data = stream.read(_BLOCK)
                block = rest + data
                cut = block.rfind(b"\n") + 1 if data else len(block)
                found = parsed(
                    np.frombuffer(block, np.uint8)[:cut], delimiter, columns, self._cancel
                )
                if found is None:
                    return None
                pieces.append(found)
                rest = block[cut:]
                if not data:
                    return np.concatenate(pieces, axis=1)

    def _values(self, i: int) -> I64:
        assert self._found is not None
        values: I64 = self._found[i] if self._kept is None else self._found[i, self._kept]
        return values

    def reject_misfits(self, i: int, kind: Kind, what: str, cure: str = "") -> None:
        if self._found is None:
            super().reject_misfits(i, kind, what, cure)

    def reject_missing(self, i: int, what: str) -> None:
        if self._found is None:
            super().reject_missing(i, what)

    def reject_rows(self, rows: I64, reasons: Sequence[str], cure: str, i: int) -> None:
        if self._found is None:
            super().reject_rows(rows, reasons, cure, i)
        elif len(rows):
            records = self.records()
            self._reject_records(list(zip(records[rows].tolist(), reasons, strict=True)), cure, i)
            self._kept = np.delete(records, rows) - 1

    def count(self) -> int:
        return super().count() if self._found is None else len(self._values(0))

    def is_empty(self, i: int) -> bool:
        return super().is_empty(i) if self._found is None else not self.count()

    def all_fit(self, i: int, kind: Kind) -> bool:
        return (self._found is not None and kind == "int64") or super().all_fit(i, kind)

    def kind(self, i: int) -> Kind:
        return super().kind(i) if self._found is None else "int64"

    def column(self, i: int, kind: Kind) -> Column:
        if self._found is None:
            return super().column(i, kind)
        if kind == "string":
            return from_strings([str(value) for value in self._values(i).tolist()])
        return Column("int64", self._values(i))

    def records(self) -> I64:
        if self._found is None:
            return super().records()
        return np.arange(1, self._found.shape[1] + 1) if self._kept is None else self._kept + 1
