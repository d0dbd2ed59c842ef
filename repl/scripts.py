"""Statements one after the other: of -c and -f, of standard input, of `.read` and the start-up file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from gdb.errors import ArgumentProblem, Cancelled, GdbError, PlacedError

from .commands import perform
from .session import Session
from .statements import Statement, streamed


def run(session: Session, statements: Iterable[Statement], source: str = "") -> None:
    """Run statements up to the first that fails, whose line is printed, or up to `.exit`.

    Raises
    ------
    GdbError : what the statement that fails raises; it is printed, but for Cancelled.
    """
    waiting = iter(statements)
    for number, statement in enumerate(waiting):
        try:
            perform(session, statement)
        except GdbError as error:
            if session.interactive or not isinstance(error, Cancelled):  # main reports it otherwise
                session.fail(error)
            if source or number or next(waiting, None) is not None:
                session.err.write(f"({where(statement, error, source)}; stopped there)\n")
            raise
        if session.leaving:
            break


def read(session: Session, path: str) -> None:
    """Run the statements of a file.

    Raises
    ------
    ArgumentProblem : it cannot be read, or is being read. GdbError : as `run`.
    """
    whole = os.path.realpath(path)
    if whole in session.reading:
        raise ArgumentProblem(f"{path} reads itself.", "Take the `.read` of it out of the file.")
    session.reading.append(whole)
    try:
        run(session, streamed(_lines(path)), path)
    finally:
        session.reading.pop()


def _lines(path: str) -> Iterator[str]:
    try:
        with Path(path).expanduser().open(encoding="utf-8") as file:
            yield from file
    except (OSError, RuntimeError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ArgumentProblem(f"{path} cannot be read: {why}.", "Name a UTF-8 text file.") from None


def where(statement: Statement, error: GdbError, source: str) -> str:
    """The line of a statement, and that of its error where it is another one."""
    where = f"in the statement at line {statement.line}"
    if isinstance(error, PlacedError) and error.line is not None and error.line > 1:
        where += f", the error at line {statement.line + error.line - 1}"
    return f"{where} of {source}" if source else where


def start_file() -> Path | None:
    """The file whose statements a shell of a person begins with: gdb/gdbshrc by the XDG Base Directory Specification,
    else ~/.gdbshrc; None where neither is."""
    stated = os.environ.get("XDG_CONFIG_HOME", "")
    try:
        home = Path.home()
    except RuntimeError:
        return None
    base = Path(stated) if os.path.isabs(stated) else home / ".config"
    return next(
        (path for path in (base / "gdb" / "gdbshrc", home / ".gdbshrc") if path.is_file()), None
    )
