"""A copy of a text file whose lines all end alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gdb.base import forks

from .detect import open_input

_CHUNK = 1 << 22


@contextmanager
def unify_line_ends(path: Path, folder: Path) -> Iterator[Path]:
    """A decompressed copy in a folder, in which every CR LF is LF, deleted afterwards; line numbers stay."""
    copy, born = folder / "lines.csv", forks.generation()
    try:
        with open_input(path) as stream, copy.open("wb") as out:
            rest = b""
            while data := stream.read(_CHUNK):
                data = rest + data
                rest = b"\r" if data.endswith(b"\r") else b""  # its LF may come next
                out.write(data[: len(data) - len(rest)].replace(b"\r\n", b"\n"))
            out.write(rest)
        yield copy
    finally:
        if born == forks.generation():  # else it is the parent's
            copy.unlink(missing_ok=True)
