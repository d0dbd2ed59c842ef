"""Ctrl-C during long work: it becomes a cancel event, which the work looks at, and never strikes in the middle.

A KeyboardInterrupt strikes between any two bytecodes of the main thread, also in the middle of handing out
work units. So while gdb works on the main thread, SIGINT is answered by a handler of ours that only sets the event;
the work stops where it is safe. Work that stays outside of Python for long (DuckDB reading a file) runs on a helper
thread instead, because a handler runs only between two bytecodes of the main thread, which waits in steps
(`gdb.base.waiting`).

The handlers that a program has set for other signals (an alarm, SIGTERM) run at once as well, and the exception of one
is held back in the same way: it would leave a lock taken, or what is half changed.

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
from typing import TypeAlias, TypeVar

from gdb.base import forks
from gdb.base.waiting import beside

T = TypeVar("T")
Handler: TypeAlias = "Callable[[int, FrameType | None], object]"
_SIGINT = int(_signal.SIGINT)
_VARARGS = 0x04  # `inspect.CO_VARARGS`, whose import takes 4 ms
_OTHERS = tuple(
    int(getattr(_signal, f"SIG{name}"))
    for name in ("ALRM", "TERM", "HUP", "QUIT", "USR1", "USR2", "VTALRM", "PROF", "XCPU")
)
"""Signals by which a program, or what runs it, ends work that takes too long: their handlers raise exceptions."""


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


class CancelOrOver(Cancel):
    """A cancel event that is set as well where the time of a query is over, for work that looks at an event alone.

    over : whether it is.
    """

    def __init__(self, over: Callable[[], bool]) -> None:
        super().__init__()
        self._over = over

    def is_set(self) -> bool:
        """Whether it or an outer event was set, or the time is over."""
        return super().is_set() or self._over()


class _Noticed:
    """A handler of signals that lets the one before it answer, keeps what that raises, and sets `cancel`.

    before : by signal, of each that it answers.
    """

    __slots__ = ("before", "born", "cancel", "over", "pressed", "raised")

    def __init__(self, cancel: threading.Event, before: dict[int, Handler]):
        self.cancel, self.before = cancel, before
        self.born = forks.generation()
        self.raised: BaseException | None = None
        self.pressed = False  # whether that is a KeyboardInterrupt
        self.over = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        before = self.before[number]
        # put back by code that took it for the program's own, or in a child that another thread of the parent forked
        if self.over or self.born != forks.generation():
            before(number, frame)
            return
        try:
            before(number, frame)
        except BaseException as error:
            self.keep(error)

    def keep(self, error: BaseException) -> None:
        """Note what the handler before has raised."""
        first = self.raised is None
        self.raised, self.pressed = error, isinstance(error, KeyboardInterrupt)
        if first:  # a second signal may come while `set` of a program's own event holds its lock
            self.cancel.set()

    def begin(self) -> bool:
        """Answer the signals; False where this is not the main thread, the only one that signals reach."""
        try:
            for number in self.before:
                _signal.signal(number, self)
        except ValueError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is None:
                return False
            raise  # not `signal`, but the handler before, for a signal that came just now
        return True

    def end(self) -> None:
        """Let the handlers before answer again, unless the program has set other ones meanwhile."""
        left = [*self.before]
        try:
            while left:
                if _signal.getsignal(left[-1]) is self:
                    _signal.signal(left[-1], self.before[left[-1]])
                left.pop()
        except BaseException as late:  # of a signal that came just now
            self.keep(late)
            self.end()  # `signal` may have raised before it did anything
        self.over = True


def _answering() -> dict[int, Handler]:
    """The program's handlers by signal."""
    get = _signal.getsignal
    found = {_SIGINT: get(_SIGINT)}
    if any(
        map(get, _OTHERS)
    ):  # seldom: that of a signal which the program leaves alone is 0, or None
        found.update((number, get(number)) for number in _OTHERS)
    elif callable(found[_SIGINT]):
        return found
    # the others are ignored, or deadly, or not Python's: not for us to answer
    return {number: handler for number, handler in found.items() if callable(handler)}


def raised_by_handler(error: BaseException) -> bool:
    """Whether a signal's handler of the program has raised an error, wherever it struck: a frame of its traceback was
    called with the frame before it, which it interrupted; or it was held back."""
    trace, before = error.__traceback__, None
    while trace is not None:
        frame = trace.tb_frame
        kept = frame.f_code is _Noticed.__call__.__code__
        if kept or (before is not None and _interrupts(frame, before)):
            return True
        trace, before = trace.tb_next, frame
    return False


def _interrupts(frame: FrameType, before: FrameType) -> bool:
    """Whether the frame before is an argument of a frame's function."""
    code = frame.f_code
    count = code.co_argcount + bool(code.co_flags & _VARARGS)
    values = frame.f_locals
    given = (values.get(name) for name in code.co_varnames[:count])
    return any(
        one is before or (type(one) is tuple and any(part is before for part in one))
        for one in given
    )


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
    before = _answering()
    if not before:
        return work()
    noticed = _Noticed(cancel, before)
    try:
        if not noticed.begin():
            return work()
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
