"""A copy of a text file whose lines all end alike."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gdb.storage.importer.detect import open_input

_CHUNK = 1 << 22


@contextmanager
def unified(path: Path) -> Iterator[Path]:
    """A decompressed copy in which every CR LF is LF, deleted afterwards; line numbers stay."""
    with tempfile.TemporaryDirectory(prefix="gdb-import-") as folder:
        copy = Path(folder) / "lines.csv"
        with open_input(path) as stream, copy.open("wb") as out:
            rest = b""
            while data := stream.read(_CHUNK):
                data = rest + data
                rest = b"\r" if data.endswith(b"\r") else b""  # its LF may come next
                out.write(data[: len(data) - len(rest)].replace(b"\r\n", b"\n"))
            out.write(rest)
        yield copy
