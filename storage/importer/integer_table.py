"""CSV files that hold nothing but integers, as most edge lists do: parsed as numbers at once.

DuckDB reads every other file, as text that is looked at. Here there is nothing to look at: a text is a plain integer or
it is not, and where one is not, DuckDB reads the file as any other and says what is wrong with it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ..columns.model import I64, Column, Kind, from_strings
from ..disk.import_root import open_bytes
from ..write.edge_runs import Pieces, Room, RunPiece
from .compressed import compression_of
from .layout import Layout
from .tables import Table, TableInput

_FEW = 1 << 16  # bytes that are looked at before a file is read
_NO_KEYS = np.zeros(0, np.uint64)


def read_integers(
    path: Path,
    layout: Layout,
    room: Room,
    cancel: threading.Event | None,
    tick: Callable[[int], None],
) -> Pieces | None:
    """All numbers of a file, one column for each of its own, named by its place; None where something is no plain
    integer, which is known from the first records of most files. tick : called with the bytes read so far.

    Raises
    ------
    Cancelled
    """
    if any(f.kind not in (None, "int64") or f.role in ("LABEL", "TYPE") for f in layout.fields):
        return None
    if not re.fullmatch(r"[^-0-9\r\n]", layout.delimiter) or not layout.delimiter.isascii():
        return None
    columns, delimiter = len(layout.fields), ord(layout.delimiter)
    pieces = Pieces(room)
    with open_bytes(path) as stream:
        if compression_of(stream.read(4)) != "none":
            return None
        stream.seek(0)
        for _ in range(layout.skipped):
            stream.readline()
        begin = stream.tell()
        few = stream.read(_FEW)
        if not few or few.translate(None, b"0123456789-\r\n" + layout.delimiter.encode()):
            return None
    from .integers import parsed_file  # brings the compiler

    for found in parsed_file(path, begin, delimiter, columns, cancel):
        if found is None:
            pieces.close()
            return None
        numbers, done = found
        named = {str(k): Column("int64", column) for k, column in enumerate(numbers)}
        pieces.add(RunPiece(_NO_KEYS, named))
        tick(done)
    return pieces


class IntegerTable(Table):
    """The rows of a file that `read_integers` has read: as `Table`, without DuckDB."""

    def __init__(self, numbers: Pieces, given: TableInput) -> None:
        super().__init__(given)
        self._pieces: Pieces | None = numbers  # None once rows are chosen
        # records, which follow one another while none is rejected
        self._first, self._count = 1, len(numbers)
        self._records: I64 | None = None  # of the rows in hand, once one is
        self._chosen: list[I64] = []  # the columns of the rows in hand

    def close(self) -> None:
        """Close the connection, if one was made, and the pieces of numbers."""
        super().close()
        if self._pieces is not None:
            self._pieces.close()

    def _read(self) -> None:
        pass  # done, and every text is an integer

    def reject_misfits(self, i: int, kind: Kind, what: str, cure: str = "") -> None:
        """Does nothing: `read_integers` has refused a file with other texts than integers."""

    def reject_missing(self, i: int, what: str) -> None:
        """Does nothing: no field is empty."""

    def reject_rows(self, rows: I64, reasons: Sequence[str], cure: str, i: int) -> None:
        """Reject rows by their places in the columns (i64[k] ascending), and drop them from the rows in hand."""
        if len(rows):
            records = self.records()
            self._reject_records(list(zip(records[rows].tolist(), reasons, strict=True)), cure, i)
            self._chosen = [np.delete(c, rows) for c in self._numbers()]
            self._records = np.delete(records, rows)

    def count(self) -> int:
        """Number of rows in hand."""
        return self._count if self._records is None else len(self._records)

    def parts(self) -> Iterator[None]:
        """Go through the rows piece by piece, each once: a piece is freed when the next is read."""
        if self._pieces is None:
            yield
            return
        count = self._count
        for piece in self._pieces:
            self._chosen, self._count = _numbers(piece), len(piece)
            yield
            self._first += len(piece)
        self._chosen, self._first, self._count = [], 1, count

    def is_empty(self, i: int) -> bool:
        """Whether there are no rows: each row has a value in each column."""
        return not self.count()

    def all_fit(self, i: int, kind: Kind) -> bool:
        """Whether the kind is int64: no other is inferred here."""
        return kind == "int64"

    def kind(self, i: int) -> Kind:
        """Always int64."""
        return "int64"

    def column(self, i: int, kind: Kind) -> Column:
        """The values of column i of the rows in hand, i64[n]; as decimal texts for the kind "string"."""
        numbers = self._numbers()[i]
        if kind == "string":
            return from_strings([str(value) for value in numbers.tolist()])
        return Column("int64", numbers)

    def records(self) -> I64:
        """The number of each row in the file, i64[n] ascending, from 1."""
        if self._records is None:
            return np.arange(self._first, self._first + self._count)
        return self._records

    def _numbers(self) -> list[I64]:
        """The columns of the rows in hand."""
        if not self._chosen:
            width = len(self.layout.fields)
            found = [_numbers(piece) for piece in self._pieces or ()]
            none = np.zeros(0, np.int64)
            self._chosen = [np.concatenate([none, *(f[k] for f in found)]) for k in range(width)]
            if self._pieces is not None:
                self._pieces.close()
                self._pieces = None
        return self._chosen


def _numbers(piece: RunPiece) -> list[I64]:
    return [
        piece.columns[str(k)].values.astype(np.int64, copy=False) for k in range(len(piece.columns))
    ]
