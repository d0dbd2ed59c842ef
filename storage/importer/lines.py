"""The lines of a text file, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .compressed import bytes_read
from .detect import open_input
from .number_lines import BOM, LONGEST, too_long


def lines_of(path: Path, most: int | None) -> Iterator[tuple[int, bytes, float]]:
    """The lines without their ends, with their numbers from 1 and the part of the file that is read, 0 to 1; none is
    held longer than it is needed.

    most : bytes that the file may unpack to, as in `compressed.unpack`.

    Raises
    ------
    ImportFailed : it cannot be opened or unpacked, or a line has no end.
    """
    size = max(path.stat().st_size, 1)
    with open_input(path, most) as stream:
        number = 0
        while raw := stream.readline(LONGEST):
            number += 1
            if len(raw) >= LONGEST and not raw.endswith(b"\n"):
                raise too_long(path, number)
            raw = raw.removeprefix(BOM) if number == 1 else raw
            yield number, raw.removesuffix(b"\n"), min(bytes_read(stream) / size, 1.0)
