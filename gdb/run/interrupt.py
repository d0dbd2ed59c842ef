"""Ctrl-C during long work: it becomes a cancel event, which the work looks at, and never strikes in the middle.

A KeyboardInterrupt strikes between any two bytecodes of the main thread, also in the middle of handing out
work units. So while gdb works on the main thread, SIGINT is answered by a handler of ours that only sets the event;
the work stops where it is safe. Work that stays outside of Python for long (DuckDB reading a file) runs on a helper
thread instead, because a handler runs only between two bytecodes of the main thread, which waits in steps
(`gdb.base.waiting`).

What raises here is either the work or, once it has ended well, the handler that was there before: an error of the work
is never replaced by a Ctrl-C, for it may say what is committed. So nothing is called between the moment when the
handler before is back and the caller's next line: CPython looks for signals at calls and at the ends of loops.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` wraps, without its enums: 8 us less a call
import contextvars
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from gdb.base import forks
from gdb.base.waiting import beside

T = TypeVar("T")
_SIGINT = int(_signal.SIGINT)


class Cancel(threading.Event):
    """A cancel event that a signal handler may set at any moment: it has no lock, which the thread that the handler
    interrupts might hold. No thread waits for it; the work polls it.

    outer : the event of the work that this one's is a part of, which stops this one too.
    """

    def __init__(self) -> None:  # not that of Event, which makes a lock and a condition
        self._pressed = False
        self.outer: threading.Event | None = None

    def set(self) -> None:
        """Set it; safe in a signal handler."""
        self._pressed = True

    def is_set(self) -> bool:
        """Whether it or an outer event was set."""
        return self._pressed or (self.outer is not None and self.outer.is_set())


class _Noticed:
    """A SIGINT handler that lets the one before it answer, keeps what that raises, and sets `cancel`."""

    __slots__ = ("before", "born", "cancel", "over", "pressed", "raised")

    def __init__(self, cancel: threading.Event, before: Callable[[int, FrameType | None], object]):
        self.cancel, self.before = cancel, before
        self.born = forks.generation()
        self.raised: BaseException | None = None
        self.pressed = False  # whether that is a KeyboardInterrupt
        self.over = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        # put back by code that took it for the program's own, or in a child that another thread of the parent forked
        if self.over or self.born != forks.generation():
            self.before(number, frame)
            return
        try:
            self.before(number, frame)
        except BaseException as error:
            self.keep(error)

    def keep(self, error: BaseException) -> None:
        """Note what the handler before has raised."""
        first = self.raised is None
        self.raised, self.pressed = error, isinstance(error, KeyboardInterrupt)
        if first:  # a second signal may come while `set` of a program's own event holds its lock
            self.cancel.set()

    def begin(self) -> bool:
        """Answer SIGINT; False where this is not the main thread, the only one that signals reach."""
        try:
            _signal.signal(_SIGINT, self)
        except ValueError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is None:
                return False
            raise  # not `signal`, but the handler before, for a signal that came just now
        return True

    def end(self) -> None:
        """Let the handler before answer again, unless the program has set another one meanwhile."""
        try:
            if _signal.getsignal(_SIGINT) is self:
                _signal.signal(_SIGINT, self.before)
        except BaseException as late:  # of a signal that came just now
            self.keep(late)
        self.over = True


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
    if not noticed.begin():
        return work()
    try:
        value = work()
    except BaseException:
        noticed.end()
        if noticed.raised is not None and not noticed.pressed:
            raise noticed.raised from None
        raise
    noticed.end()
    if noticed.raised is not None:
        raise noticed.raised
    return value


def run_beside(work: Callable[[], T], cancel: threading.Event) -> T:
    """As `run_interruptibly`, on a helper thread, for work that leaves Python for long; the main thread waits."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    context = contextvars.copy_context()

    def wait() -> T:
        return beside(lambda: context.run(work), "gdb-work")

    return run_interruptibly(wait, cancel)
