"""Matrix Market files: a sparse matrix as the relationships between its rows and columns.

The exchange format of R. F. Boisvert, R. Pozo, K. Remington: The Matrix Market Exchange Formats, NISTIR 5935 (1996),
https://math.nist.gov/MatrixMarket/formats.html. Of its `coordinate` matrices: `pattern`, `integer` and `real`, which
are `general` or `symmetric`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gdb.errors import ImportFailed
from gdb.records import dataclass

from ..columns.model import I64, Column
from . import number_lines
from .detect import MATRIX_MARKET, open_input
from .number_lines import (
    BOM,
    Lines,
    integer_fault,
    is_beyond_floats,
    read_numbers,
    shown_line,
)
from .report import Fault, FileReport, Rejects

VALUE = "value"
"""The property that a matrix' values become."""
_FIELDS = ("pattern", "integer", "real", "double")
_REAL = re.compile(
    rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE
)
_CONVERT = "Convert it, for example with scipy.io.mmread and mmwrite."
_LONGEST = 1 << 24  # bytes of a line above the entries
_MOST = 1 << 53  # ids beside floats are read as floats


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """A matrix: its size, and of each entry its row, its column (both from 1) and its value."""

    rows: int
    columns: int
    symmetric: bool
    sources: I64
    targets: I64
    values: Column | None


@dataclass(frozen=True, slots=True)
class _Header:
    """The head above the entries: banner, size line, and the number of the first line below it."""

    field: str
    symmetric: bool
    rows: int
    columns: int
    entries: int
    line: int

    def lines(self) -> Lines:
        width = 2 if self.field == "pattern" else 3
        return Lines(width, b"%", self.fault, reals=self.field in ("real", "double"))

    def fault(self, words: list[bytes]) -> Fault | None:
        """What is wrong with the words of an entry."""
        width = 2 if self.field == "pattern" else 3
        cure = f"A row from 1 to {self.rows}, a column from 1 to {self.columns}"
        cure += f" and a value ({self.field}) are wanted." if width == 3 else " are wanted."
        if len(words) != width:
            return Fault(f"{len(words)} columns instead of {width}", cure)
        for column, (word, name, most) in enumerate(
            zip(words, ("row", "column"), (self.rows, self.columns), strict=False), 1
        ):
            wrong = integer_fault(word)
            if wrong:
                return Fault(wrong, cure, column)
            if not 1 <= int(word) <= most:
                return Fault(f"{name} {int(word)} is not between 1 and {most}", cure, column)
        if self.field == "integer" and integer_fault(words[2]):
            return Fault(integer_fault(words[2]), cure, 3)
        if width == 3 and not _REAL.fullmatch(words[2]):
            shown_word = repr(words[2].decode("utf-8", "replace")[:40])
            return Fault(f"{shown_word} is not a number", cure, 3)
        if width == 3 and self.field != "integer" and is_beyond_floats(words[2].decode()):
            return Fault(f"{words[2].decode()[:40]!r} is beyond the range of a float", cure, 3)
        return None


def read_matrix(
    path: Path,
    report: FileReport,
    rejects: Rejects,
    tick: Callable[[int], None],
    most: int | None = None,
) -> Matrix:
    """Read a Matrix Market file; `tick` is called with the bytes read so far after each chunk.

    Raises
    ------
    ImportFailed : it is another kind of matrix, a line is no entry (unless skipped), or there are more or fewer
        entries than its size line says.
    """
    with open_input(path, most) as stream:
        header = _header(stream, path)
        how = header.lines()
        found = read_numbers(stream, path, header.line, how, report, rejects, tick)
    inside = (found[:, :2] >= 1).all(1) & (found[:, :2] <= (header.rows, header.columns)).all(1)
    if not inside.all():
        _reject_outside(path, header, np.flatnonzero(~inside), report, rejects)
        found = found[inside]
    if len(found) != header.entries and not report.rejected:
        raise ImportFailed(
            f"its size line says {header.entries:,} entries, it has {len(found):,}",
            "Fetch the file again, or correct its size line.",
            file=str(path),
        )
    ends = np.ascontiguousarray(found[:, :2].T).astype(np.int64, copy=False)
    values: Column | None = None
    if how.reals:
        values = Column("float64", np.ascontiguousarray(found[:, 2]))
    elif how.width == 3:
        values = Column("int64", np.ascontiguousarray(found[:, 2]))
    return Matrix(header.rows, header.columns, header.symmetric, ends[0], ends[1], values)


def _reject_outside(
    path: Path, header: _Header, rows: I64, report: FileReport, rejects: Rejects
) -> None:
    """Reject entries that lie outside of the matrix, by their numbers."""
    few = rows[: rejects.shown].tolist()
    for line, text in places_of(path, few, {r.line for r in report.rejected}):
        fault = header.fault(text.encode().split())
        assert fault is not None
        rejects.add(report, line, text, fault)
    report.rows -= len(rows)


def places_of(path: Path, rows: list[int], refused: set[int]) -> list[tuple[int, str]]:
    """Line and text of entries, see `number_lines.places_of`."""
    with open_input(path) as stream:
        header = _header(stream, path)
        lines = enumerate(stream, header.line)
        return number_lines.places_of(lines, b"%", rows, refused)


def _header(stream: BinaryIO, path: Path) -> _Header:
    """Read the lines above the entries."""
    number, banner = 1, stream.readline(_LONGEST).removeprefix(BOM)

    def wrong(reason: str, cure: str, text: bytes) -> ImportFailed:
        return ImportFailed(reason, cure, file=str(path), line=number, text=shown_line(text))

    words = banner.decode("utf-8", "replace").lower().split()
    if words[:1] != [MATRIX_MARKET] or len(words) != 5:
        cure = "Begin it with: %%MatrixMarket matrix coordinate pattern general (or what it is)."
        raise wrong("is no banner of a Matrix Market file", cure, banner)
    _, thing, layout, field, symmetry = words
    for word, known, what in (
        (thing, ("matrix",), "object"),
        (layout, ("coordinate",), "layout"),
        (field, _FIELDS, "field"),
        (symmetry, ("general", "symmetric"), "symmetry"),
    ):
        if word not in known:
            reason = f"its {what} is {word!r}; only {' and '.join(known)} can be imported"
            raise wrong(reason, _CONVERT, banner)
    while True:
        number, raw = number + 1, stream.readline(_LONGEST)
        if raw and (not raw.strip() or raw.lstrip().startswith(b"%")):
            continue
        sizes = raw.split()
        if len(sizes) != 3 or any(integer_fault(word) or int(word) < 0 for word in sizes):
            raise wrong("is no size line", "Write: rows columns entries.", raw)
        rows, columns, entries = map(int, sizes)
        if max(rows, columns) >= _MOST:
            raise wrong("is larger than any graph", "Correct its size line.", raw)
        if symmetry == "symmetric" and rows != columns:
            raise wrong("is symmetric and not square", "Correct its size line.", raw)
        return _Header(field, symmetry == "symmetric", rows, columns, entries, number + 1)
