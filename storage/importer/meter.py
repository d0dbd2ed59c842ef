"""The progress of an import, by the bytes that it has read, and its cancellation."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from gdb.errors import Cancelled
from gdb.records import dataclass


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far `Database.load` is.

    step : "reading people.csv", "numbering vertices", "writing edges", ... part : of the step that is done, 0 to 1; of
    reading, of all files together. bytes_read, bytes_total : of the files, as they lie on disk (compressed ones so).
    Tables and graphs in memory have none. Of a table that DuckDB reads, half of the bytes count as they are read, half
    as its columns are taken in.
    """

    step: str
    part: float
    bytes_read: int
    bytes_total: int


Progress: TypeAlias = Callable[[LoadProgress], None]


class Meter:
    """Bytes read of all files, and whether to go on.

    progress : called at each step; what it raises ends the import. cancel : when set, the import stops.
    """

    def __init__(self, progress: Progress | None, cancel: threading.Event | None) -> None:
        self.sizes: dict[Path, int] = {}
        self.total, self.finished, self.read = 0, 0.0, 0
        self.progress, self.cancel = progress, cancel

    def measure(self, paths: list[Path]) -> None:
        """Take in what is to be read."""
        self.sizes = {p: p.stat().st_size for p in paths}
        self.total = sum(self.sizes[p] for p in paths)

    def check(self) -> None:
        """Raise Cancelled if the import was cancelled."""
        if self.cancel is not None and self.cancel.is_set():
            raise Cancelled("The import was cancelled; nothing was stored.")

    def at(self, path: Path, done: float) -> None:
        """`done` bytes of a file are read; fewer than before count as no more: what DuckDB reports may go back."""
        now = int(self.finished + min(done, self.sizes.get(path, 0)))
        self.read = max(self.read, now)
        self.step(f"reading {path.name}", self.read / max(self.total, 1))

    def part(self, path: Path, done: float) -> None:
        """A part of a file is read, 0 to 1."""
        self.at(path, done * self.sizes.get(path, 0))

    def done(self, path: Path, share: float = 1.0) -> None:
        """A file is read; share : of the work on it, where there is more to come."""
        self.part(path, share)
        self.finished += share * self.sizes.get(path, 0)

    def step(self, name: str, done: float) -> None:
        """Show a step, and stop here if the import was cancelled."""
        self.check()
        if self.progress is not None:
            self.progress(LoadProgress(name, done, self.read, self.total))


@dataclass(slots=True)
class Share:
    """How much of a file is taken in, 0 to 1, as statements on its rows are done. The number of statements is unknown,
    so each does a fixed part of what is left up to `goal`.

    tick : called with how much. columns : of the file; there are some statements for each.
    """

    tick: Callable[[float], None]
    columns: int
    done: float = 0.0
    goal: float = 1.0

    def at(self, part: float) -> None:
        """A part of the statement is done."""
        self.tick(self._after(part))

    def end(self) -> None:
        """The statement is done."""
        self.done = self._after(1.0)

    def reach(self, goal: float) -> None:
        """All statements up to there are done."""
        self.done = goal
        self.tick(goal)

    def _after(self, part: float) -> float:
        return self.done + (self.goal - self.done) * part / (4 * (self.columns + 1))
