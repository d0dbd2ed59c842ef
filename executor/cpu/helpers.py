"""Threads that help the one that began a run: as many as the run may have, and those that other runs have left idle."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from gdb.base import usage, waiting
from gdb.records import dataclass, field

from ..work.scheduler import helpers_of_all


@dataclass(slots=True, eq=False)
class IdleThreads:
    """Threads of runs beside one another that have no run left: one that goes on may have them."""

    number: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self) -> None:
        """One thread more has nothing to do."""
        with self.lock:
            self.number += 1

    def take(self) -> bool:
        """Have one of them, where there is any; whether there was."""
        with self.lock:
            found = self.number > 0
            self.number -= found
            return found


@dataclass(slots=True, eq=False)
class Helpers:
    """The threads of one run beside the first.

    most : threads that there may be, the first included. work : what each of them does. idle : those that there may be
        besides; None for none. active : how many are at work or called; borrowed : of these, from `idle`. calls : of
        those beside the first.
    """

    most: int
    work: Callable[[], None]
    idle: IdleThreads | None = None
    active: int = 1
    borrowed: int = 0
    calls: list[Future[None]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def may_be_called(self) -> bool:
        """Whether there may be one more."""
        return self.active < self.most or (self.idle is not None and self.idle.number > 0)

    def call(self) -> bool:
        """Have one more thread work, if there may be one more; whether there may."""
        with self.lock:
            borrows = self.active >= self.most
            if borrows and (self.idle is None or not self.idle.take()):
                return False
            self.active += 1
            self.borrowed += borrows
        self.calls.append(helpers_of_all().submit(usage.carry_usage(self.work)))
        return True

    def call_all(self, most: int | None = None) -> None:
        """Have as many threads work as there may be, at most so many beside the first."""
        while (most is None or len(self.calls) < most) and self.call():
            pass

    def ended(self) -> None:
        """One thread less is at work."""
        with self.lock:
            self.active -= 1
            if self.borrowed and self.idle is not None:
                self.borrowed -= 1
                self.idle.add()

    def wait(self) -> None:
        """Wait until all have ended, those as well that others call meanwhile. Raises what one of them raised."""
        for call in self.calls:
            if call.cancel():  # it has not begun, and found an empty queue
                self.ended()
            else:
                waiting.result(call)

    def give_up(self) -> None:
        """Wait until all that have begun have ended, whatever they raise."""
        for call in self.calls:
            if not call.cancel():
                waiting.wait_for_future(call)
