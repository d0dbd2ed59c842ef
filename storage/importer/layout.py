"""The layout of a CSV file: delimiter, header, and the meaning of its columns."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from gdb.errors import ImportFailed
from gdb.records import dataclass

from .detect import delimiter_of, other_kind
from .header import Field, looks_like_header, parse_header


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """What is known of a file that gdb wrote: its rows, and bytes that no line of it exceeds."""

    rows: int
    widest: int


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """How a table is written: its delimiter, the lines before the first record, and its fields.

    guessed : the first line was taken for a header because it looks like one.
    written : None where gdb did not write the file.
    quote, escape : of texts. bracketed : lists are written `[a,b]`, as Kuzu does, and not `a;b`.
    """

    delimiter: str
    skipped: int
    fields: list[Field]
    warnings: list[str]
    guessed: bool
    written: WrittenFile | None = None
    quote: str = '"'
    escape: str = '"'
    bracketed: bool = False

    @property
    def escaped(self) -> bool:
        """Whether the items of lists of texts are as `values.escaped` writes them, once the lists are `a;b`."""
        return self.written is not None or self.bracketed


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
    ImportFailed : a file without header whose columns are not named, names that do not fit it, or
        a name that occurs twice.
    """
    at = next((k for k, x in enumerate(lines) if x.strip()), None)
    if at is None:
        raise ImportFailed("holds no data", "Remove it from the import.", file=str(path))
    first = lines[at]

    def wrong(reason: str, cure: str) -> ImportFailed:
        return ImportFailed(reason, cure, file=str(path), line=at + 1, text=first)

    other = other_kind(first) if header is None and columns is None else None
    if other is not None:
        raise wrong(
            f"looks like {other[0]}; expected is an edge list, a table (CSV, Parquet), .graph or Matrix Market",
            f"{other[1]} If it is a table all the same, pass header=True, or columns=[...].",
        )
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise wrong(f"delimiter={delimiter!r} is not one character", "Pass delimiter=',' or so.")
    likely = delimiter_of(first)
    delimiter = delimiter or likely
    try:
        cells = _first_record(lines[at:], delimiter)
        if len(cells) == 1 and columns is None and (others := len(cells_of(first, likely))) > 1:
            raise wrong(
                f"is one column with the delimiter {delimiter!r}, and {others} with {likely!r}",
                f"Pass delimiter={likely!r}, or none: it is found. A single column wants columns=[...].",
            )
    except csv.Error as error:  # a lone CR, or a field beyond csv's limit
        raise wrong(f"is no CSV line ({error})", "End every line with LF or CR LF.") from None
    looks = looks_like_header(cells)
    has_header = header if header is not None else columns is None and looks
    if columns is not None:
        names = list(columns)
    elif has_header:
        names = cells
    else:
        raise wrong("has no header line", "Name its columns: columns=[...].")
    spare = len(cells) - len(names)
    if spare and not (spare == 1 and not cells[-1].strip()):  # one delimiter more at the end
        raise wrong(
            f"has {len(cells)} columns, {len(names)} are named",
            "Name every column, or pass delimiter=.",
        )
    fields, warnings = parse_header(names, wrong)
    guessed = header is None and columns is None
    return Layout(delimiter, at + int(has_header), fields, warnings, guessed)


def _first_record(lines: list[str], delimiter: str) -> list[str]:
    """The cells of the first record: a quoted name may hold line ends, which are LF then. Raises as `cells_of`."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    try:
        return next(reader, [])
    except csv.Error:  # a quote that is never closed, for one
        return cells_of(lines[0], delimiter)


def cells_of(line: str, delimiter: str) -> list[str]:
    """The cells of a line. Raises csv.Error where it is none."""
    return next(csv.reader([line], delimiter=delimiter), [])
