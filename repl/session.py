"""One use of the shell: the open database, where answers and errors go, and how they look."""

from __future__ import annotations

import shutil
import time
import warnings
from typing import TYPE_CHECKING, TextIO

from gdb.answer.summary import sentence
from gdb.errors import InternalError, QueryWarning
from gdb.records import dataclass
from gdb.repl.format import Format, lines

if TYPE_CHECKING:
    from gdb.answer.summary import Summary
    from gdb.api.database import Database
    from gdb.run.stream import Stream


@dataclass(slots=True)
class Session:
    """What the dot-commands change.

    guard_formulas : CSV has an apostrophe before texts that would be formulas in a spreadsheet.
    interactive : a person reads along, so the number of rows is told.
    leaving : set by `.exit`.
    last : the last query that has only read, "" where there is none, or the last one wrote.
    """

    db: Database
    out: TextIO
    err: TextIO
    format: Format = Format.TABLE
    guard_formulas: bool = False
    timer: bool = False
    interactive: bool = False
    leaving: bool = False
    last: str = ""

    def query(self, text: str) -> None:
        """Run a query and print its rows as they are found; warnings and the time go to `err`.

        Raises
        ------
        GdbError : the query cannot be understood or finished.
        BrokenPipeError : nobody reads `out` any more.
        """
        begun, self.last = time.perf_counter(), ""
        with self._stream(text) as rows:
            for warning in rows.warnings:
                self.warn(warning)
            try:
                how = (self.format, rows.columns, rows, self.width())
                for line in lines(*how, guard=self.guard_formulas):
                    if rows.columns:
                        self.out.write(line + "\n")
            except KeyboardInterrupt:  # while a row was printed
                raise rows.cancelled() from None
            summary = rows.summary
        if summary is None:
            raise InternalError("a query ended without a summary.", "Please report it.")
        self.last = text if summary.effects is None else ""
        if rows.columns and self.interactive and self.format is Format.TABLE:
            self.out.write(f"({summary.rows:,} {'row' if summary.rows == 1 else 'rows'})\n")
        self._tell_changes(summary)
        self.out.flush()
        if self.timer:
            self.err.write(_timing(summary, time.perf_counter() - begun) + "\n")

    def _stream(self, text: str) -> Stream:
        """The answer of a query; its warnings are printed here, and not by Python as well."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QueryWarning)
            return self.db.stream(text)

    def _tell_changes(self, summary: Summary) -> None:
        """What a query that writes did: to people, for in the other formats `out` is for a program."""
        if summary.effects is not None:
            if self.format is Format.TABLE:
                self.out.write(sentence(summary.effects) + "\n")
            elif self.interactive:
                self.err.write(sentence(summary.effects) + "\n")

    def say(self, text: str) -> None:
        """Print something that is not an answer but was asked for."""
        self.out.write(text + "\n")
        self.out.flush()

    def warn(self, text: str) -> None:
        self.err.write(f"warning: {text}\n")
        self.err.flush()

    def fail(self, error: Exception) -> None:
        """Print an error; a query's has its picture, the place underlined."""
        self.out.flush()  # so that the two streams are in order on a terminal
        self.err.write(f"error: {error}\n")
        self.err.flush()

    def width(self) -> int | None:
        """Places of the terminal; None where the output is none, and is not cut."""
        return shutil.get_terminal_size().columns if self.out.isatty() else None


def _timing(summary: Summary, seconds: float) -> str:
    steps = ", ".join(f"{step} {spent:.4f}" for step, spent in summary.seconds.items())
    where = f" on {summary.device}" if summary.device else ""
    read = f"; read {summary.bytes_read:,} bytes" if summary.bytes_read else ""
    return f"time: {seconds:.4f} s{where}" + (f" ({steps})" if steps else "") + read
