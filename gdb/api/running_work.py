"""The operations that run in a database: they can be cancelled, and closing the database waits for them."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # see `gdb.run.interrupt`
import errno
import threading
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from gdb.base import forks, waiting
from gdb.base.threads import callers
from gdb.base.waiting import until
from gdb.errors import (
    ClosedError,
    GdbError,
    InternalError,
    LinesSkipped,
    QueryWarning,
    ReadOnlyError,
    no_more_memory,
)
from gdb.run.interrupt import Cancel, raised_by_handler, run_interruptibly
from gdb.run.late_interrupt import Outcome

if TYPE_CHECKING:
    from gdb.answer.result import Result
    from gdb.language.clauses import Query
    from gdb.run.request import QueryRun
    from gdb.storage.importer import LoadReport

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
_SIGINT = int(_signal.SIGINT)
_NO_THREAD = "can't start new thread"  # a RuntimeError of Python: its stack found no room


class faults:  # used in `with`, as a function would be
    """Turns what is no error of ours into one: OutOfBudget where there is no more memory, else InternalError, since it
    is our fault.

    foreign : code of the caller runs in the block, whose errors pass as they are.
    """

    __slots__ = ("_foreign",)

    def __init__(self, *, foreign: bool = False) -> None:
        self._foreign = foreign

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        if isinstance(error, Exception):
            _translated(error, foreign=self._foreign)


def _translated(error: Exception, *, foreign: bool = False) -> None:
    """Raise what `faults` makes of an error; nothing where it stays as it is, as that of a signal's handler does."""
    # a warning of ours that the program's filters make an error is none of ours
    if isinstance(error, (GdbError, LinesSkipped, QueryWarning)) or raised_by_handler(error):
        return
    if _no_memory(error):
        raise no_more_memory() from None
    if not foreign:
        raise InternalError(
            f"an unexpected {error.__class__.__name__}: {error}.",
            "This is a fault of gdb; please report it.",
        ) from error


def _no_memory(error: Exception) -> bool:
    """Whether an error says that the machine has no more memory."""
    full = isinstance(error, OSError) and error.errno == errno.ENOMEM  # of a map, for one
    return full or isinstance(error, MemoryError) or str(error) == _NO_THREAD


class _ThreadCancel(threading.local):
    """The cancel event of the work that this thread does."""

    cancel: threading.Event | None = None


class Work:
    """The work of one database; threads may share it."""

    def __init__(self) -> None:
        self.closed = False
        self.forked()
        forks.watch(self)

    def forked(self) -> None:
        """What runs in the parent does not run in a child."""
        self._guard = waiting.Lock()  # of `close` and its condition
        self._state = threading.Condition(self._guard)
        self._running: dict[threading.Event, threading.Thread] = {}
        self._at_end: Callable[[], None] | None = None
        self._here = _ThreadCancel()

    def close(self, at_end: Callable[[], None] = lambda: None) -> None:
        """Cancel what runs, take no more, wait for what runs, and call `at_end`.

        What waits for this thread is cancelled as well, and not waited for: the work in which a signal's handler, or a
        function of the program, closes the database. Then its end calls `at_end`.

        Raises
        ------
        KeyboardInterrupt : Ctrl-C came before all has stopped; closing again waits for the rest.
        """
        impatient, own = Cancel(), callers()

        def stop() -> None:
            with self._guard:
                self.closed = True
                self.interrupt()
                until(self._state, lambda: impatient.is_set() or self._only(own))
                if not impatient.is_set():
                    self._at_end = at_end
            self._after_all()

        run_interruptibly(stop, impatient)

    def _only(self, threads: Collection[threading.Thread]) -> bool:
        """Whether nothing runs but in some threads."""
        return all(thread in threads for thread in tuple(self._running.values()))

    def _after_all(self) -> None:
        """Wake `close` where it waits; where nothing runs any more, do what is to be done then."""
        with self._guard:
            self._state.notify_all()
            at_end = None if self._running else self._at_end
            if at_end is not None:
                self._at_end = None
        if at_end is not None:
            at_end()

    def interrupt(self) -> None:
        """Cancel what runs now, in any thread."""
        for cancel in tuple(self._running):
            cancel.set()

    def do(
        self,
        work: Callable[[], T],
        cancel: threading.Event | None = None,
        run: Callable[[Callable[[], T], threading.Event], T] = run_interruptibly,
    ) -> T:
        """Do some work that `interrupt` and `close` know of; exceptions that are no GdbError become InternalError.

        run : holds Ctrl-C back meanwhile (`gdb.run.interrupt`), from before the work is known until it is known no
        more.
        """
        stop = cancel or Cancel()
        return run(partial(self._known, work, stop), stop)

    def at_once(self, work: Callable[[A, B], T | None], first: A, second: B) -> T | None:
        """Do some work of a few microseconds that changes nothing: nothing waits for it, and a Ctrl-C strikes in it.
        None where it may only be done by `do`: where it gives None, or the program answers SIGINT itself.

        first, second : its arguments.

        Raises
        ------
        ClosedError, Cancelled, and as `do`.
        """
        if _signal.getsignal(_SIGINT) is not _signal.default_int_handler:
            return None
        try:
            return None if self.closed else work(first, second)
        except KeyboardInterrupt:
            raise Outcome().cancelled() from None
        except Exception as error:
            _translated(error)
            raise

    def _known(self, work: Callable[[], T], cancel: threading.Event) -> T:
        # without the guard: what `close` sees is either this, or it has closed before this looks
        running, thread, outer = self._running, threading.current_thread(), self._here.cancel
        outermost = cancel not in running  # COPY imports inside its query's work
        try:
            if outermost:
                running[cancel] = thread
            if self.closed:
                raise ClosedError("the database is closed.", "Open it again with gdb.connect().")
            self._here.cancel = cancel
            if (
                isinstance(cancel, Cancel) and cancel is not outer
            ):  # a procedure may query its database
                cancel.outer = outer
            return work()
        except Exception as error:
            _translated(error)
            raise
        finally:
            # before any call: at calls a signal's handler runs, whose exception leaves this block
            self._here.cancel = outer
            if outermost:
                running.pop(cancel, None)
            if self.closed:
                self._after_all()


def never_changes() -> ReadOnlyError:
    """What a snapshot says to a query that writes."""
    return ReadOnlyError(
        "a snapshot never changes, and this query writes.",
        "Run it on the Database that the snapshot is of, or in db.transaction().",
    )


def no_load(*_: object, **__: object) -> LoadReport:
    """What COPY does in a snapshot."""
    raise never_changes()


def run_copy(run: QueryRun, query: Query) -> Result:
    """The answer of COPY."""
    from gdb.run.copy_statement import run_copy  # most programs have none

    return run_copy(run, query)
