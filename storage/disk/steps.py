"""Steps of long work that writes something new: it reports its progress, and stops when it is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gdb.errors import Cancelled
from gdb.records import dataclass


@dataclass(frozen=True, slots=True)
class Steps:
    """The progress report and the cancel test of a piece of work, between two steps.

    work : its name, for the message. progress : called with the name of the step and the part of
    the whole done, 0 to 1. cancel : when set, the work stops.
    """

    work: str
    progress: Callable[[str, float], None] | None = None
    cancel: threading.Event | None = None

    def at(self, step: str, done: int, total: int) -> None:
        """`done` of `total` units are done.

        Raises
        ------
        Cancelled : the work was cancelled.
        """
        self.check()
        if self.progress is not None:
            self.progress(step, done / max(total, 1))

    def part(self, step: str, done: float) -> None:
        """A part of the whole is done, 0 to 1. Raises as `at`."""
        self.at(step, round(1000 * done), 1000)

    def check(self) -> None:
        """Raise Cancelled if the work was cancelled."""
        if self.cancel is not None and self.cancel.is_set():
            raise Cancelled(f"The {self.work} was cancelled; nothing of it was kept.")
