"""Errors that point into the query: from a place in the text to line, column and the underlined token."""

from __future__ import annotations

from typing import TypeVar

from gdb.errors import ChangeRefused, NotSupported, QueryError, TypeProblem
from gdb.language.syntax import Place

Kind = TypeVar("Kind", bound=QueryError)
_LONGEST = 500


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column of a character, both from 1; lines end where str.splitlines ends them.

    Examples
    --------
    >>> position("MATCH (a)" + chr(10) + "RETRUN a", 10)
    (2, 1)
    """
    before = text[:offset]
    lines = before.splitlines(keepends=True)
    if not lines:
        return 1, 1
    ended = lines[-1].splitlines()[0] != lines[-1]
    if ended and offset < len(text):
        return len(lines) + 1, 1
    return len(lines), len(lines[-1].splitlines()[0]) + 1


def problem(
    kind: type[Kind], text: str, place: Place, message: str, cure: str = "", *, detail: str = ""
) -> Kind:
    """An error of class `kind` that shows the place in the query's text; `detail` is the standard's name of it."""
    line, column = position(text, place.start)
    length = max(1, place.end - place.start)
    return kind(
        short(message),
        short(cure),
        text=text,
        line=line,
        column=column,
        length=length,
        detail=detail,
    )


def beyond_pattern(text: str, place: Place, what: str) -> NotSupported:
    """Why a query is not one compiled pattern and its tail; it runs operator by operator then."""
    return problem(NotSupported, text, place, f"{what} no part of one compiled pattern.")


def change_problem(text: str, place: Place, reason: str, cure: str = "") -> ChangeRefused:
    """A refused change, at its place in the query."""
    line, column = position(text, place.start)
    length = max(1, place.end - place.start)
    reason, cure = short(reason), short(cure)
    return ChangeRefused(reason, cure, text=text, line=line, column=column, length=length)


def short(message: str) -> str:
    """A message that a name of the user's has made too long to read, cut in the middle."""
    return message if len(message) <= _LONGEST else f"{message[:200]} ... {message[-200:]}"


def located_message(text: str, place: Place, message: str) -> str:
    """The message of a warning, with its line and column."""
    line, column = position(text, place.start)
    return f"line {line}, column {column}: {short(message)}"


def row_count(value: object, text: str, place: Place, clause: str) -> int:
    """The value of SKIP or LIMIT, checked. Raises TypeProblem: it is no whole number from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        message = f"{clause} takes a whole number, 0 or more, and this is {str(value)[:40]!r}."
        detail = "NegativeIntegerArgument" if type(value) is int else "InvalidArgumentType"
        raise problem(TypeProblem, text, place, message, detail=detail)
    return value
