"""Ctrl-C during long work: it becomes a cancel event, which the work looks at, and never strikes in the middle.

A KeyboardInterrupt strikes between any two bytecodes of the main thread, also in the middle of handing out
work units. So while gdb works on the main thread, SIGINT is answered by a handler of ours that only sets the event;
the work stops where it is safe. Work that stays outside of Python for long (DuckDB reading a file) runs on a helper
thread instead, because a handler runs only between two bytecodes of the main thread.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` wraps, without its enums: 8 us less a call
import contextvars
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from gdb import forks

T = TypeVar("T")
_SIGINT = int(_signal.SIGINT)


class _Noticed:
    """A SIGINT handler that lets the one before it answer, keeps what that raises, and sets `cancel`."""

    def __init__(self, cancel: threading.Event, before: Callable[[int, FrameType | None], object]):
        self.cancel, self.before = cancel, before
        self.born = forks.generation()
        self.raised: BaseException | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if (
            self.born != forks.generation()
        ):  # another thread of the parent forked: its work is not here
            self.before(number, frame)
            return
        try:
            self.before(number, frame)
        except BaseException as error:
            first = self.raised is None
            self.raised = error
            if first:  # a second signal may come while `set` holds the event's lock
                self.cancel.set()


def _listens(noticed: _Noticed) -> bool:
    """Put a handler in place, where this is the main thread, the only one that signals reach."""
    try:
        _signal.signal(_SIGINT, noticed)
    except ValueError:
        return False
    return True


def held_back(work: Callable[[], T], _: threading.Event) -> T:
    """As `run_interruptibly`, inside of it."""
    return work()


def run_interruptibly(work: Callable[[], T], cancel: threading.Event) -> T:
    """Call `work` and give what it gives or raises; on Ctrl-C set `cancel` and go on until it has stopped.

    Starts no thread. `work` must come back to Python's bytecode every few milliseconds.

    Raises
    ------
    KeyboardInterrupt : Ctrl-C came, but the work finished without looking at `cancel` again.
    """
    before = _signal.getsignal(_SIGINT)
    if not callable(before):
        return work()  # ignored, or deadly, or not Python's: not for us to answer
    noticed = _Noticed(cancel, before)
    if not _listens(noticed):
        return work()
    try:
        value = work()
    except BaseException:
        if noticed.raised is not None and not isinstance(noticed.raised, KeyboardInterrupt):
            raise noticed.raised from None
        raise
    finally:
        _signal.signal(_SIGINT, before)
    if noticed.raised is not None:
        raise noticed.raised
    return value


def run_beside(work: Callable[[], T], cancel: threading.Event) -> T:
    """As `run_interruptibly`, on a helper thread, for work that leaves Python for long; the main thread waits."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    values: list[T] = []
    errors: list[BaseException] = []
    finished = threading.Event()
    context = contextvars.copy_context()

    def perform() -> None:
        try:
            values.append(context.run(work))
        except BaseException as error:
            errors.append(error)
        finally:
            finished.set()

    def wait() -> None:
        threading.Thread(target=perform, name="gdb-work", daemon=True).start()
        finished.wait()

    try:
        run_interruptibly(wait, cancel)
    except KeyboardInterrupt:
        if not errors:
            raise
    if errors:
        raise errors.pop()
    return values.pop()
