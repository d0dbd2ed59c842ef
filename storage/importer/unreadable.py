"""The errors for a CSV file that DuckDB's reader gives up."""

from __future__ import annotations

import io
import re
from pathlib import Path

from gdb.errors import ImportFailed

from .compressed import damaged
from .detect import open_input
from .layout import Layout
from .places import RecordPlace, left_open

_WIDEST = 1 << 16  # characters of a line that are kept
_BARE_RETURN = re.compile("\r(?!\n)")


def no_room(path: Path) -> ImportFailed:
    """The error for a file that DuckDB cannot read within its memory."""
    return ImportFailed(
        "its rows have no room in the part of the memory that is DuckDB's",
        "Raise memory=; a quarter of it is for that.",
        file=str(path),
    )


def unreadable(path: Path, layout: Layout, error: Exception) -> ImportFailed:
    """A DuckDB message without its advice about its own options.

    Cost: reads the file up to its first carriage return without a line feed, where that may be the cause.
    """
    import duckdb

    message = str(error)
    if isinstance(error, duckdb.IOException):
        return damaged(path, "it ends early, or is damaged")
    if "invalid state" in message and (place := _bare_return(path, layout)) is not None:
        return ImportFailed(
            "a carriage return (CR) outside of quotes ends no line here",
            "Quote the field that holds it, or remove it; lines end with LF or CR LF.",
            file=str(path),
            line=place.line,
            text=place.text,
        )
    short = re.split(r"\n|Possible (fixes|solutions)", message)[0].strip().rstrip(".")
    line = re.search(r"[Ll]ine:? (\d+)", message)
    return ImportFailed(
        f"cannot be read as CSV ({short})",
        "Check delimiter=, header= and the file's encoding (UTF-8).",
        file=str(path),
        line=int(line[1]) if line else None,
    )


def _bare_return(path: Path, layout: Layout) -> RecordPlace | None:
    """The first line of a file that holds a CR outside of a quoted text and not before its LF."""
    how = layout.delimiter, layout.quote, layout.escape
    is_open = False
    with open_input(path) as stream:
        lines = io.TextIOWrapper(stream, "utf-8-sig", "replace", newline="\n")
        for number, line in enumerate(lines, 1):
            if "\r" in line:
                for found in _BARE_RETURN.finditer(line):
                    if not left_open(line[: found.start()], is_open, *how):
                        return RecordPlace(number, line[:_WIDEST].rstrip("\r\n"))
            is_open = left_open(line, is_open, *how)
    return None
