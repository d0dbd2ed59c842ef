"""One use of the shell: the open database, where answers and errors go, and how they look."""

from __future__ import annotations

import re
import shutil
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, islice
from typing import TYPE_CHECKING, TextIO

from gdb.answer.summary import counted, sentence
from gdb.answer.table import printable
from gdb.errors import ArgumentProblem, Cancelled, InternalError, QueryWarning
from gdb.records import dataclass, field

from .format import Format, lines
from .ticker import Ticker
from .wording import in_words

if TYPE_CHECKING:
    from gdb.answer.result import Result
    from gdb.answer.summary import Summary
    from gdb.api.database import Database
    from gdb.api.transaction import Transaction
    from gdb.run.stream import Stream

_PLAN = re.compile(r"(?:EXPLAIN|PROFILE)\b", re.IGNORECASE)


@dataclass(slots=True)
class Session:
    """What the dot-commands change; `gdb.repl.settings` names its options.

    rows : of an answer that are shown at a terminal; None for all.
    width : places of a table; None for those of the terminal.
    interactive : a person reads along, so the number of rows is printed.
    leaving : set by `.exit`.
    last : the last query that has only read, "" where there is none, or the last one wrote.
    typed : the last query, whatever it does.
    parameters : values of $name in queries.
    transaction : that BEGIN has opened.
    terminal : where answers go when `.output` sends them nowhere else. once : where they go again after the next query,
        which `.once` sends into a file; None where it sends none.
    reading : the files that are being read, the innermost last. reported : the error that was printed last.
    import_root : the folder that files to import must lie in, None for any.
    """

    db: Database
    out: TextIO
    err: TextIO
    format: Format = Format.TABLE
    guard_formulas: bool = False
    timer: bool = False
    quiet: bool = False
    echo: bool = False
    pager: bool = False
    rows: int | None = 40
    width: int | None = None
    interactive: bool = False
    leaving: bool = False
    last: str = ""
    typed: str = ""
    parameters: dict[str, object] = field(default_factory=dict)
    transaction: Transaction | None = None
    terminal: TextIO | None = None
    once: TextIO | None = None
    reading: list[str] = field(default_factory=list)
    reported: Exception | None = None
    import_root: str | None = None

    def query(self, text: str) -> None:
        """Run a query and print its rows as they are found; warnings and the time go to `err`.

        Raises
        ------
        GdbError : the query cannot be understood or finished.
        BrokenPipeError : the reader of `out` has closed it.
        """
        try:
            self._query(text)
        finally:
            self._end_once()

    def _query(self, text: str) -> None:
        begun, self.last, self.typed = time.perf_counter(), "", text
        ticker = Ticker(self.err if self.interactive and self.err.isatty() else None, begun)
        with ticker:
            answer = self._answer(text)
        with answer as rows:
            for warning in rows.warnings:
                self.warn(warning)
            try:
                hidden = self._print(rows, text, ticker)
            except KeyboardInterrupt:  # while a row was printed
                raise _cancelled(rows) from None
            summary = rows.summary
        if summary is None:
            raise InternalError("a query ended without a summary.", "Please report it.")
        self.last = text if summary.effects is None else ""
        if rows.columns and self.interactive and self.format.for_people:
            self.out.write(f"({_counted(summary.rows, hidden)})\n")
        self._tell_changes(summary)
        self.out.flush()
        if self.timer:
            self.err.write(_timing(summary, time.perf_counter() - begun) + "\n")

    def _answer(self, text: str) -> AbstractContextManager[Stream | Result]:
        if self.transaction is None:
            return self._stream(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QueryWarning)
            return nullcontext(self.transaction.execute(text, self.parameters))

    def _print(self, rows: Stream | Result, text: str, ticker: Ticker) -> int:
        """Print an answer; how many of its rows are left out."""
        if not rows.columns:
            _drained(rows)
            return 0
        if self.format.for_people and rows.columns == ["plan"] and _PLAN.match(text):
            self._write((printable(str(row[0])) for row in rows), ticker)
            return 0
        most = self.rows if self._is_capped() else None
        source: Iterator[Sequence[object]] = _told_to(ticker, rows)
        how = (self.format, rows.columns, islice(source, most), self.places())
        self._write(lines(*how, guard=self.guard_formulas), ticker)
        self.out.flush()
        with ticker:
            return 0 if most is None else _drained(source)

    def _is_capped(self) -> bool:
        return (
            self.interactive
            and not self.pager
            and self.format.for_people
            and self.terminal is None
            and self.once is None
        )

    def _write(self, shown: Iterator[str], ticker: Ticker) -> None:
        with ticker:
            shown = chain([*islice(shown, 1)], shown)
        if self.pager and self.out.isatty():
            from .pager import page_lines  # here: only for long answers at a terminal

            page_lines(shown)
            return
        for line in shown:
            self.out.write(line + "\n")

    def _stream(self, text: str) -> Stream:
        """The answer of a query; its warnings are printed here, and not by Python as well."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QueryWarning)
            return self.db.stream(text, self.parameters)

    def _tell_changes(self, summary: Summary) -> None:
        """What a query that writes did: to people, for in the other formats `out` is for a program."""
        if summary.effects is not None and not self.quiet:
            if self.format.for_people:
                self.out.write(sentence(summary.effects) + "\n")
            elif self.interactive:
                self.err.write(sentence(summary.effects) + "\n")

    def say(self, text: str) -> None:
        """Print the output of a command, which is not the answer of a query."""
        self.out.write(text + "\n")
        self.out.flush()

    def warn(self, text: str) -> None:
        """Write a warning to the error stream."""
        self.err.write(f"warning: {text}\n")
        self.err.flush()

    def fail(self, error: Exception) -> None:
        """Print an error, once, however many scripts it ends; a query's has its picture, the place underlined."""
        if error is self.reported:
            return
        self.reported = error
        self.out.flush()  # so that the two streams are in order on a terminal
        self.err.write(f"error: {in_words(error)}\n")
        self.err.flush()

    def places(self) -> int | None:
        """Places of a table; None where the output is no terminal, and is not cut."""
        if self.width is not None:
            return self.width
        return shutil.get_terminal_size().columns if self.out.isatty() else None

    # ---- where answers go ------------------------------------------------------------------------

    def send_to(self, path: str | None) -> None:
        """Write answers into a file, which is made anew; None: to the terminal again.

        Raises
        ------
        ArgumentProblem : the file cannot be written.
        """
        opened = None if path is None else _opened(path)
        self._end_once()
        if self.terminal is not None:
            self.out.close()
            self.out, self.terminal = self.terminal, None
        if opened is not None:
            self.terminal, self.out = self.out, opened

    def send_next_to(self, path: str) -> None:
        """Write the answer of the next query into a file, which is made anew, and those after it where they go now.

        Raises
        ------
        ArgumentProblem : the file cannot be written.
        """
        opened = _opened(path)
        self._end_once()
        self.once, self.out = self.out, opened

    def _end_once(self) -> None:
        if self.once is not None:
            self.out.close()
            self.out, self.once = self.once, None

    # ---- transactions ----------------------------------------------------------------------------

    def begin(self) -> None:
        """Open a transaction, which the queries that follow belong to.

        Raises
        ------
        ArgumentProblem : one is open. ReadOnlyError, StoreLocked : nothing can be written.
        """
        if self.transaction is not None:
            raise ArgumentProblem(
                "a transaction is open already.", "End it first: COMMIT or ROLLBACK."
            )
        opened = self.db.transaction()
        opened.__enter__()
        self.transaction = opened

    def commit(self) -> None:
        """Keep what the open transaction has changed; ArgumentProblem where none is open."""
        self._ended("COMMIT").__exit__(None, None, None)

    def rollback(self) -> None:
        """Drop what the open transaction has changed; ArgumentProblem where none is open."""
        self._ended("ROLLBACK").rollback()

    def _ended(self, word: str) -> Transaction:
        opened, self.transaction = self.transaction, None
        if opened is None:
            raise ArgumentProblem(
                f"there is no transaction for {word}.",
                "BEGIN opens one; else each statement commits.",
            )
        return opened

    def close(self) -> bool:
        """Close the file of `.output`, and roll back a transaction that is open; whether there was one."""
        self.send_to(None)
        if self.transaction is None:
            return False
        self.rollback()
        self.warn("the transaction was open, so it was rolled back; COMMIT keeps one.")
        return True


def _opened(path: str) -> TextIO:
    try:
        return open(path, "w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise ArgumentProblem(
            f"{path} cannot be written: {error.strerror}.", "Name a file in a folder of yours."
        ) from None


def _told_to(ticker: Ticker, rows: Iterable[Sequence[object]]) -> Iterator[Sequence[object]]:
    for row in rows:
        ticker.rows += 1
        yield row


def _drained(rows: Iterable[object]) -> int:
    """Take the rows that are left without keeping them; how many there were."""
    return sum(1 for _ in rows)


def _counted(count: int, hidden: int) -> str:
    text = counted(count, "row")
    return f"{text}; {hidden:,} more, which `.rows all` or `.pager on` shows" if hidden else text


def _cancelled(rows: Stream | Result) -> Cancelled:
    from gdb.run.stream import Stream  # here: only on Ctrl-C

    if isinstance(rows, Stream):
        return rows.cancelled()
    return Cancelled("the rest of the rows was cancelled; the transaction is still open.")


def _timing(summary: Summary, seconds: float) -> str:
    steps = ", ".join(f"{step} {spent:.4f}" for step, spent in summary.seconds.items())
    where = f" on {summary.device}" if summary.device else ""
    read = f"; read {summary.bytes_read:,} bytes" if summary.bytes_read else ""
    return f"time: {seconds:.4f} s{where}" + (f" ({steps})" if steps else "") + read
