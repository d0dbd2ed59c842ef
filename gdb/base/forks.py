"""fork(): what a child makes anew, and what of its parent it leaves alone.

In a forked child only the thread that called fork() goes on. All others are gone, and with them the worker threads of
pools and of DuckDB; a lock that one of them had stays locked forever; and what is open is open in both processes. So
in the child nothing of the parent is used that needs a thread, a lock or an open file of its own, and nothing is
destroyed: a destructor would wait for threads that are gone, or remove files that the parent needs.

- `watch` has an object's `forked` called in the child, `watch_before` its `forking` in the parent before.
- `generation` identifies the process, to test whether this is still the one in which something began.
- `renew` has a lock freed in the child where a thread has it that is gone; each `gdb.base.waiting.Lock` is such a lock.
- `undivided` makes fork() wait for a lock: one around calls of libraries that have locks of their own.

`gdb.base.once` holds what is made once in each process: pools, a DuckDB.

What calls fork() of the C library from outside of Python goes past all this, as it goes past Python's own locks.
"""

from __future__ import annotations

import _imp
import ctypes
import importlib
import logging
import os
import sys
import threading
import weakref
from contextlib import suppress
from importlib import _bootstrap
from typing import Protocol, TypeVar

L = TypeVar("L", bound="ReentrantLock")

_log = logging.getLogger("gdb")


class ReentrantLock(Protocol):
    """A reentrant lock."""

    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool:
        """As `threading.RLock.acquire`. timeout : seconds."""
        ...

    def release(self) -> None:
        """As `threading.RLock.release`."""
        ...

    def forked(self) -> None:
        """Called in the child: be free where a thread has it that is gone."""
        ...


class Watched(Protocol):
    """What has something to do in a forked child. It can be referred to weakly, and is equal to itself only."""

    def forked(self) -> None:
        """Called in the child, before fork() returns there; no other thread runs."""
        ...


class WatchedBefore(Protocol):
    """What can make a fork cheaper or safer beforehand."""

    def forking(self) -> None:
        """Called in the thread that forks; others run, and may undo it before the fork."""
        ...


_watched_before: weakref.WeakSet[WatchedBefore] = weakref.WeakSet()
_watched: weakref.WeakSet[Watched] = weakref.WeakSet()
_renewed: weakref.WeakSet[ReentrantLock] = weakref.WeakSet()
_forking = threading.RLock()  # one thread at a time forks
_undivided: list[ReentrantLock] = []
# by name: their locks, while they are needed
_importing: dict[str, object] = getattr(_bootstrap, "_module_locks", {})
_held: list[ReentrantLock] = []  # those of them that the thread which forks has
_generation = 0
_STEP = 0.05  # seconds of one wait at most, as in `gdb.base.waiting`


def watch(thing: Watched) -> None:
    """Have `thing.forked()` called in each forked child, as long as the thing lives."""
    _watched.add(thing)


def watch_before(thing: WatchedBefore) -> None:
    """Have `thing.forking()` called before each fork, as long as the thing lives."""
    _watched_before.add(thing)


def generation() -> int:
    """The number of forks that lead to this process: another one in a child than in its parent."""
    return _generation


def leak(thing: object) -> None:
    """Keep an object forever, also when the process ends: its destructor is never called.

    A reference from a module would not do: modules are cleared when a process ends in Python's usual way.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def renew(lock: ReentrantLock) -> None:
    """Have `lock.forked()` called in each forked child, before that of anything that is watched."""
    _renewed.add(lock)


def undivided(lock: L) -> L:
    """Have fork() wait until a lock is free, for as long as the process lives: what it guards, a fork must not cut."""
    _undivided.append(lock)
    return lock


# ---- around fork() ---------------------------------------------------------------------------------

# What gdb imports when it is first needed, in whichever thread that is. (The import of a program's own module may never
# end: one whose body is a server.)
_IMPORTED_LATE = sys.stdlib_module_names | {
    *("gdb", "duckdb", "llvmlite", "nanoarrow", "numpy", "sqlglot", "cupy", "pyarrow", "networkx")
}


def _hold_imports() -> None:
    """Wait until no other thread imports what gdb needs, and let none begin: in the child that import would never end,
    and Python's lock of the module would stay locked. To import it too is to wait for it; a module that this thread
    imports itself, or that waits for one of these, is given at once."""
    tried = set[str]()
    while True:
        _imp.acquire_lock()  # the start of an import takes it for a moment; fork() itself does, too
        some = [name for name in list(_importing) if _is_late(name) and name not in tried]
        if not some:
            return
        _imp.release_lock()
        for name in some:
            tried.add(name)
            with suppress(Exception):  # raised where it is needed
                importlib.import_module(name)


def _is_late(name: str) -> bool:
    return name.partition(".")[0] in _IMPORTED_LATE


def _before() -> None:
    for thing in list(_watched_before):
        thing.forking()
    while not _forking.acquire(timeout=_STEP):
        pass
    while True:
        for lock in _undivided[len(_held) :]:
            while not lock.acquire(timeout=_STEP):
                pass
            _held.append(lock)
        _hold_imports()
        if len(_held) == len(_undivided):
            return
        _imp.release_lock()  # a module that was waited for has brought another lock


def _release() -> None:
    with suppress(RuntimeError):  # Python has given it up in the child
        _imp.release_lock()
    while _held:
        _held.pop().release()
    _forking.release()


def _in_child() -> None:
    global _generation
    _generation += 1
    _release()
    for lock in list(_renewed):
        lock.forked()
    for thing in list(_watched):
        try:
            thing.forked()
        except Exception:  # the others must be called all the same
            _log.exception("a forked child could not renew %r", thing)


os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
