"""Limits on the sizes of a query and of its result, so that no text can exhaust the stack, the planner, or a program
that runs queries written by others.

Plain numbers of this module: a program may set them (`gdb.limits.MAX_DEPTH = 50`), and they are read at each query. A
database may have others of its own: `gdb.connect(limits={"MAX_DEPTH": 50})`, `gdbsh --limit MAX_DEPTH=50`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from gdb.errors import LimitExceeded

MAX_QUERY_CHARACTERS = 1_000_000
MAX_DEPTH = 100
"""Nesting of one expression: parentheses, function calls, operands of operators."""
MAX_EXPRESSION_SIZE = 10_000
"""Parts (names, values, operators) of one expression; the values of a list do not count."""
MAX_PATTERN_VERTICES = 64
MAX_PATTERN_EDGES = 256
MAX_RETURN_ITEMS = 1000
MAX_VALUE_BYTES = 1 << 28
"""Of one text or list that +, ||, replace() or split() makes over rows, with 8 for an item of a list. To make one of
this size takes up to about a second, in which neither a timeout nor Ctrl-C can stop it."""
MAX_ROWS: int | None = None
"""Rows of one result, None for any number. Of rows that are embeddings no more are found than it takes to refuse them;
what a query that writes did is undone."""
MAX_SECONDS: float | None = None
"""Seconds that a query may take which is given no `timeout=` of its own, None for any time."""

Size: TypeAlias = Literal[
    "MAX_QUERY_CHARACTERS",
    "MAX_DEPTH",
    "MAX_EXPRESSION_SIZE",
    "MAX_PATTERN_VERTICES",
    "MAX_PATTERN_EDGES",
    "MAX_RETURN_ITEMS",
    "MAX_VALUE_BYTES",
]
NAMES: tuple[str, ...] = (*get_args(Size), "MAX_ROWS", "MAX_SECONDS")
NONE: Mapping[str, float] = MappingProxyType({})
OF_DATABASE: ContextVar[Mapping[str, float]] = ContextVar("limits of a database", default=NONE)
"""Those that the database of the query that runs has of its own (`gdb.run.request.Clock` sets it)."""


def size(name: Size) -> int:
    """The limit that holds for the query that runs."""
    found = OF_DATABASE.get().get(name)
    return globals()[name] if found is None else int(found)


def rows() -> int | None:
    """MAX_ROWS of the query that runs."""
    found = OF_DATABASE.get().get("MAX_ROWS")
    return MAX_ROWS if found is None else int(found)


def cure(instead: str, name: str) -> str:
    """What to do about a limit: something else, or raising it."""
    return f"{instead}, or raise {name}: gdb.limits.{name}, connect(limits=), gdbsh --limit."


def check_value(bytes_: int, what: str) -> None:
    """Refuse a text or list of so many bytes. what : makes it.

    Raises
    ------
    LimitExceeded : there are more than MAX_VALUE_BYTES.
    """
    most = size("MAX_VALUE_BYTES")
    if bytes_ > most:
        raise LimitExceeded(
            f"{what} would take {bytes_:,} bytes, and a value has at most {most:,}.",
            cure("Make a smaller text or list", "MAX_VALUE_BYTES"),
        )


def check_rows(count: int, most: int | None = None) -> None:
    """Refuse a result of so many rows. most : the limit, where another thread knows it; None for that of this query.

    Raises
    ------
    LimitExceeded : there are more than MAX_ROWS.
    """
    most = rows() if most is None else most
    if most is not None and count > most:
        raise LimitExceeded(
            f"the result has more than {most:,} rows.",
            cure("Use LIMIT, aggregate in the query", "MAX_ROWS"),
        )
