"""The ends of a text file's lines: whether any is far from the one before, and a copy in which all are alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gdb.base import forks

from ..disk.import_root import open_bytes
from .detect import open_input

_CHUNK = 1 << 22
_END = 1 << 16  # bytes that are looked through for the end of a line at once


def has_longer_line(path: Path, most: int) -> bool:
    """Whether a line of a file that is not compressed has more than `most` bytes, its end included.

    Cost: reads of the file a line's length in so many bytes.
    """
    size, begin = path.stat().st_size, 0
    with open_bytes(path) as file:
        while size - begin > most:
            end = begin + most
            while end > begin:
                start = max(begin, end - _END)
                file.seek(start)
                data = file.read(end - start)
                at = max(data.rfind(b"\n"), data.rfind(b"\r"))
                end = start
                if at >= 0:
                    begin = start + at + 1
                    break
            else:
                return True
    return False


def has_endless_line(path: Path, most: int) -> bool:
    """Whether what is behind the last line end of a file that is not compressed has more than `most` bytes."""
    with open_bytes(path) as file:
        file.seek(max(path.stat().st_size - most - 1, 0))
        end = file.read()
        return len(end) > most and b"\n" not in end and b"\r" not in end


@contextmanager
def unify_line_ends(path: Path, folder: Path) -> Iterator[Path]:
    """A decompressed copy in a folder, in which every CR LF is LF, and the last line ends; deleted afterwards. Line
    numbers stay."""
    copy, born = folder / "lines.csv", forks.generation()
    try:
        with open_input(path) as stream, copy.open("wb") as out:
            rest, ended = b"", True
            while data := stream.read(_CHUNK):
                data = rest + data
                rest = b"\r" if data.endswith(b"\r") else b""  # its LF may come next
                out.write(data[: len(data) - len(rest)].replace(b"\r\n", b"\n"))
                ended = data.endswith(b"\n")
            out.write(rest if ended else rest + b"\n")
        yield copy
    finally:
        if born == forks.generation():  # else it is the parent's
            copy.unlink(missing_ok=True)
