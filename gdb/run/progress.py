"""A progress bar on a terminal, and nothing elsewhere."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, TextIO, TypeAlias, TypeVar

from gdb.errors import Cancelled

T = TypeVar("T")
Progress: TypeAlias = Callable[[str, float], None]

_PATIENCE_SECONDS = 0.3  # what is over by then needs no bar
_PERIOD_SECONDS = 0.1


@contextmanager
def terminal_progress(stream: TextIO | None) -> Iterator[Progress | None]:
    """A function to report progress to: name of the step, and the part of it done, 0 to 1.

    None where the stream is not a terminal, so that progress is not computed needlessly. The bar is wiped at the end.
    """
    if stream is None or not stream.isatty():
        yield None
        return
    bar = _Bar(stream)
    try:
        yield bar
    finally:
        bar.wipe()


class ProgressCallback(Generic[T]):
    """A callback for progress, given by the caller; what it raises ends the work and is kept here."""

    def __init__(self, function: Callable[[T], object]) -> None:
        self._function = function
        self.raised: Exception | None = None

    def __call__(self, at: T) -> None:
        """Call the function. Cancelled where it raises: the exception is in `raised`."""
        try:
            self._function(at)
        except Exception as error:
            self.raised = error
            raise Cancelled("progress= has raised an exception; nothing was stored.") from error


class _Bar:
    """One line that is written over and over; may be called from any thread, one at a time."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun = time.monotonic()
        self._next = self._begun + _PATIENCE_SECONDS
        self._width = 0

    def __call__(self, step: str, done: float) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _PERIOD_SECONDS
            room = shutil.get_terminal_size().columns - 1
            self._write(line(step, done, now - self._begun, room))

    def wipe(self) -> None:
        if self._width:
            self._write("")

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # a terminal that went away must not end an import
            self._stream.write("\r" + text + " " * (self._width - len(text)) + "\r" * (not text))
            self._stream.flush()
        self._width = len(text)


def line(step: str, done: float, seconds: float, room: int) -> str:
    """One state of the bar in at most `room` characters.

    >>> line("reading a.txt", 0.5, 61, 60)
    'reading a.txt            [##########----------]  50 %  1:01'
    """
    part = min(max(done, 0.0), 1.0)
    filled = int(part * 20)
    bar = f"[{'#' * filled}{'-' * (20 - filled)}] {part * 100:3.0f} %"
    shown_step = step if len(step) <= 24 else step[:21] + "..."
    return f"{shown_step:<24} {bar}  {int(seconds) // 60}:{int(seconds) % 60:02d}"[: max(room, 0)]
