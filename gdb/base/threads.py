"""The start of a thread, where there may be no memory for it; and the threads for which a thread works.

`threading.Thread.start` waits until the new thread has begun. One that finds no memory for its first steps ends before
it says so, and the wait never ends. So room for its stack and for what it makes first is looked for before.

The thread of a helper works for others, which wait for what it does (`callers`). It must wait for none of them: that
wait would never end. So what waits for other threads, for the writer's turn or until a database is closed, looks there.
"""

from __future__ import annotations

import mmap
import resource
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_MOST = 8 << 20  # bytes of a stack where the system names none
_FIRST = 4 << 20  # bytes that a thread makes until it works: it needs less than one


def _stack() -> int:
    named = threading.stack_size() or resource.getrlimit(resource.RLIMIT_STACK)[0]
    return named if 0 < named < 1 << 40 else _MOST


def look_for_room() -> None:
    """To be called before a thread is started. Cost: two system calls.

    Raises
    ------
    MemoryError : there may be no room for one.
    """
    try:
        mmap.mmap(-1, _stack() + _FIRST, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError as error:
        raise MemoryError("no room for a new thread") from error


def start(thread: threading.Thread) -> None:
    """Start a thread. Raises MemoryError where there is no room for it."""
    look_for_room()
    thread.start()


def import_beside(module: str) -> None:
    """Begin to import a module, by its full name, unless it is there: for who will need it after a wait for something
    else. What goes wrong is raised where it is imported again."""
    if module in sys.modules:
        return

    def bring() -> None:
        with suppress(Exception):
            import_module(module)

    with suppress(MemoryError):
        start(threading.Thread(target=bring, name="gdb-import", daemon=True))


class _Here(threading.local):
    waiting: tuple[threading.Thread, ...] = ()


_here = _Here()


def callers() -> tuple[threading.Thread, ...]:
    """This thread, and those that wait for what it does."""
    return (threading.current_thread(), *_here.waiting)


def for_callers(function: Callable[P, T]) -> Callable[P, T]:
    """The function, to be called by another thread, for which this one and its callers wait."""
    waiting = callers()

    def helping(*args: P.args, **kwargs: P.kwargs) -> T:
        before, _here.waiting = _here.waiting, waiting
        try:
            return function(*args, **kwargs)
        finally:
            _here.waiting = before

    return helping


class Threads(ThreadPoolExecutor):
    """A ThreadPoolExecutor that raises MemoryError where there is no room for its first thread, and goes on with those
    that it has where there is none for another."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """As ThreadPoolExecutor.submit."""
        if not self._idle_semaphore._value and len(self._threads) < self._max_workers:
            try:
                look_for_room()
            except MemoryError:
                if not self._threads:
                    raise
                self._max_workers = len(self._threads)
        return super().submit(fn, *args, **kwargs)
