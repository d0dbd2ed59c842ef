"""SNAP edge lists: two integers a line, tabs or spaces between, `#` comments, ids with gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from ..columns.model import I64
from . import number_lines
from .detect import open_input
from .number_lines import Lines, integer_fault, number_blocks
from .report import Fault, FileReport, Rejects

_CURE = 'Two integers a line are wanted; for other columns or text ids use format="csv".'


def _fault(words: list[bytes]) -> Fault | None:
    if len(words) != 2:
        return Fault(f"{len(words)} columns instead of 2", _CURE)
    faults = ((integer_fault(word), column) for column, word in enumerate(words, 1))
    return next((Fault(reason, _CURE, column) for reason, column in faults if reason), None)


_LINES = Lines(2, b"#", _fault)


def read_snap(
    path: Path,
    report: FileReport,
    rejects: Rejects,
    tick: Callable[[int], None],
    most: int | None = None,
) -> Iterator[tuple[I64, I64]]:
    """Source and target ids of the lines, some millions of them at a time; `tick` is called with the bytes read so far
    after each chunk.

    Raises
    ------
    ImportFailed : a line is not two integers (unless skipped), or the file is cut.
    """
    with open_input(path, most) as stream:
        for numbers in number_blocks(stream, path, 1, _LINES, report, rejects, tick):
            pairs = numbers.astype(np.int64, copy=False)
            yield np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def places_of(path: Path, rows: list[int], refused: set[int]) -> list[tuple[int, str]]:
    """Line and text of edges, see `number_lines.places_of`."""
    with open_input(path) as stream:
        return number_lines.places_of(enumerate(stream, 1), _LINES.comment, rows, refused)
