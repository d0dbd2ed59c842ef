"""The places of a CSV file's records: their line and text, looked up only for an error."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from gdb.records import dataclass, field

from .detect import open_input
from .layout import Layout

_WIDEST = 1 << 16  # characters of a record that are kept: an open quote can swallow the file


class RecordPlace(NamedTuple):
    """A record: 1-based number of its first line, and its text."""

    line: int
    text: str


@dataclass(slots=True)
class Places:
    """The records of a CSV file, numbered as DuckDB's reader numbers them.

    The reader counts records and blank lines as one each, so its numbers are not those of lines
    where a quoted field holds a line end. A *row* is the number of a record, from 1, among those
    that the reader accepted.

    skipped : records before the first row. blanks : whether blank lines are records. quotes : the quote, and what
    precedes one inside of a text.
    refused : the reader's numbers of the records that it did not accept.
    """

    path: Path
    delimiter: str
    skipped: int
    blanks: bool
    quotes: tuple[str, str] = ('"', '"')
    refused: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, path: Path, layout: Layout) -> Places:
        """The records of a file that is written so."""
        quotes = layout.quote, layout.escape
        return cls(path, layout.delimiter, layout.skipped, len(layout.fields) == 1, quotes)

    def of_numbers(self, wanted: Collection[int]) -> dict[int, RecordPlace]:
        """The places of records by the reader's numbers. Cost: reads the file up to the last one."""
        last = max(wanted, default=0)
        found: dict[int, RecordPlace] = {}
        for number, place, _ in self._records():
            if number > last:
                break
            if number in wanted:
                found[number] = place
        return found

    def of_rows(self, wanted: Collection[int]) -> dict[int, RecordPlace]:
        """The places of accepted records by their rows. Cost: reads the file up to the last one."""
        last, row = max(wanted, default=0), 0
        found: dict[int, RecordPlace] = {}
        for number, place, blank in self._records():
            if row >= last:
                break
            if number in self.refused or (blank and not self.blanks):
                continue
            row += 1
            if row in wanted:
                found[row] = place
        return found

    def listed(self, rows: list[int]) -> list[RecordPlace]:
        """As `of_rows`, in the order of the rows."""
        found = self.of_rows(set(rows))
        return [found[row] for row in rows]

    def _records(self) -> Iterator[tuple[int, RecordPlace, bool]]:
        """The reader's number, the place, and whether the line is blank, of every record."""
        number = 0
        with open_input(self.path) as stream:
            lines = enumerate(io.TextIOWrapper(stream, "utf-8", "replace", newline="\n"), 1)
            for line, first in lines:
                number += 1
                how = (self.delimiter, *self.quotes)
                text, is_open = first, left_open(first, False, *how)
                while is_open:
                    _, more = next(lines, (0, ""))
                    if not more:
                        break
                    text = text + more if len(text) < _WIDEST else text
                    is_open = left_open(more, True, *how)
                if number <= self.skipped:  # a header's names may hold line ends, too
                    continue
                shown = text.strip("\r\n").removeprefix("\ufeff" if line == 1 else "")
                yield number, RecordPlace(line, shown), not shown


def left_open(line: str, is_open: bool, delimiter: str, quote: str, escape: str) -> bool:
    """Whether a quoted field goes on after this line; `is_open` if it began before it.

    A quote counts only at the beginning of a field (5" pipe is a plain value), as for the reader.
    """
    if quote not in line:
        return is_open
    at = 0
    while True:
        if is_open:
            at = line.find(quote, at) + 1
            if not at:
                return True
            if escape == quote and line.startswith(quote, at):
                at += 1  # a doubled quote is a character
                continue
            if escape != quote and _repeated(line, escape, at - 1) % 2:
                continue
            is_open = False
        elif line.startswith(quote, at):
            is_open, at = True, at + 1
            continue
        at = line.find(delimiter, at) + 1
        if not at:
            return False


def _repeated(line: str, character: str, end: int) -> int:
    """The length of the run of a character in a line before place `end`."""
    at = end
    while at and line[at - 1] == character:
        at -= 1
    return end - at
