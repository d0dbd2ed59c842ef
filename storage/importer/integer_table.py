"""CSV files that hold nothing but integers, as most edge lists do: parsed as numbers at once.

DuckDB reads every other file, as text that is looked at. Here there is nothing to look at: a text is a plain integer or
it is not, and where one is not, DuckDB reads the file as any other and says what is wrong with it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gdb.storage.engine import Engine
from gdb.storage.importer.compressed import compression_of
from gdb.storage.importer.layout import Layout
from gdb.storage.importer.report import FileReport, Rejects
from gdb.storage.importer.tables import Table
from gdb.storage.model import I64, Column, Kind, from_strings

_FEW = 1 << 16  # bytes that are looked at before a file is read
_BLOCK = 1 << 25  # bytes that are read at a time


def read_integers(path: Path, layout: Layout, cancel: threading.Event | None) -> I64 | None:
    """All numbers of a file, i64[columns, rows]; None where something is no plain integer, which is known from the
    first records of most files.

    Raises
    ------
    Cancelled
    """
    if any(f.kind not in (None, "int64") or f.role in ("LABEL", "TYPE") for f in layout.fields):
        return None
    if not re.fullmatch(r"[^-0-9\r\n]", layout.delimiter) or not layout.delimiter.isascii():
        return None
    columns, delimiter = len(layout.fields), ord(layout.delimiter)
    pieces = list[I64]()
    with path.open(
        "rb"
    ) as stream:  # not mapped: whoever cuts it short meanwhile would kill the process
        if compression_of(stream.read(4)) != "none":
            return None
        stream.seek(0)
        for _ in range(layout.skipped):
            stream.readline()
        few = stream.read(_FEW)
        if not few or few.translate(None, b"0123456789-\r\n" + layout.delimiter.encode()):
            return None
        from gdb.storage.importer.integers import parsed  # brings the compiler

        rest = few
        while True:
            data = stream.read(_BLOCK)
            block = rest + data
            cut = block.rfind(b"\n") + 1 if data else len(block)
            found = parsed(np.frombuffer(block, np.uint8)[:cut], delimiter, columns, cancel)
            if found is None:
                return None
            pieces.append(found)
            rest = block[cut:]
            if not data:
                return np.concatenate(pieces, axis=1)


class IntegerTable(Table):
    """The rows of a file that `read_integers` has read: as `Table`, without DuckDB."""

    def __init__(
        self,
        numbers: I64,
        path: Path,
        layout: Layout,
        report: FileReport,
        rejects: Rejects,
        cancel: threading.Event | None,
        engine: Engine,
    ) -> None:
        """numbers : i64[columns, rows]."""
        super().__init__(path, layout, report, rejects, cancel, engine)
        self._numbers = numbers
        self._records = np.arange(1, numbers.shape[1] + 1)  # of the rows that were not rejected

    def _read(self) -> None:
        pass  # done, and every text is an integer

    def reject_misfits(self, i: int, kind: Kind, what: str, cure: str = "") -> None:
        pass

    def reject_missing(self, i: int, what: str) -> None:
        pass

    def reject_rows(self, rows: I64, reasons: Sequence[str], cure: str, i: int) -> None:
        if len(rows):
            found = self._records[rows].tolist()
            self._reject_records(list(zip(found, reasons, strict=True)), cure, i)
            self._records = np.delete(self._records, rows)
            self._numbers = np.delete(self._numbers, rows, axis=1)

    def count(self) -> int:
        return len(self._records)

    def is_empty(self, i: int) -> bool:
        return not self.count()

    def all_fit(self, i: int, kind: Kind) -> bool:
        return kind == "int64"

    def kind(self, i: int) -> Kind:
        return "int64"

    def column(self, i: int, kind: Kind) -> Column:
        if kind == "string":
            return from_strings([str(value) for value in self._numbers[i].tolist()])
        return Column("int64", self._numbers[i])

    def records(self) -> I64:
        return self._records
