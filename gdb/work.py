"""What runs in a database now: it can be cancelled, and is waited for when the database is closed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from gdb import forks
from gdb.errors import ClosedError, GdbError, InternalError, OutOfBudget
from gdb.interrupt import run_interruptibly

T = TypeVar("T")


class Work:
    """The work of one database; threads may share it."""

    def __init__(self) -> None:
        self.closed = False
        self.forked()
        forks.watch(self)

    def forked(self) -> None:
        """What runs in the parent does not run in a child."""
        # of the next two; taken itself, it is quicker than its condition
        self._guard = threading.RLock()
        self._state = threading.Condition(self._guard)
        self._running: set[threading.Event] = set()

    def close(self) -> bool:
        """Cancel what runs, wait for it, and take no more; whether it was open."""
        with self._state:
            if self.closed:
                return False
            self.closed = True
            for cancel in self._running:
                cancel.set()
            self._state.wait_for(lambda: not self._running)
        return True

    def interrupt(self) -> None:
        """Cancel what runs now, in any thread."""
        with self._state:
            for cancel in self._running:
                cancel.set()

    def do(
        self,
        work: Callable[[], T],
        cancel: threading.Event | None = None,
        run: Callable[[Callable[[], T], threading.Event], T] = run_interruptibly,
    ) -> T:
        """Do some work that `interrupt` and `close` know of; faults that are not ours to tell become InternalError.

        run : holds Ctrl-C back meanwhile (`gdb.interrupt`), from before the work is known until it is known no more.
        """
        stop = cancel or threading.Event()
        return run(lambda: self._known(work, stop), stop)

    def _known(self, work: Callable[[], T], cancel: threading.Event) -> T:
        with self._guard:
            if self.closed:
                raise ClosedError("the database is closed.", "Open it again with gdb.connect().")
            outermost = cancel not in self._running  # COPY imports inside its query's work
            self._running.add(cancel)
        try:
            return work()
        except GdbError:
            raise
        except MemoryError:
            raise OutOfBudget(
                "the machine has no more memory for this.", "Ask for less at once."
            ) from None
        except Exception as error:
            raise InternalError(
                f"an unexpected {error.__class__.__name__}: {error}.",
                "This is a fault of gdb; please report it.",
            ) from error
        finally:
            with self._guard:
                if outermost:
                    self._running.discard(cancel)
                if self.closed:
                    self._state.notify_all()
