"""Resource usage of the query that runs in this thread: the lower layers record it here, `Result.summary` reports it.

A helper's thread notes for the query that called it (`carry_usage`). Where no query runs, nothing is noted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from operator import attrgetter
from typing import Any, ParamSpec, Protocol, TypeVar

from gdb.base.budget import Budget

P = ParamSpec("P")
T = TypeVar("T")


class Sized(Protocol):
    """An array."""

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        ...


_NBYTES: Callable[[Sized], int] = attrgetter("nbytes")


class Usage:
    """What one query used so far; in a `with` block the query of this thread.

    compile_seconds : for which its own thread waited for machine code, to be made or to be loaded from the cache.
    budget : the memory that it may hold (`memory=`).
    check : raises where the query is to go no further; None where nothing can stop it.
    blocks : around this moment, at whose ends what was read of files is compared with their checksums.
    opened : is called with each part of the graph that the query is the first to read; None where nothing is to.
    """

    __slots__ = (
        "_before",
        "_owner",
        "_quiet",
        "_read",
        "_read_all",
        "blocks",
        "budget",
        "check",
        "compile_seconds",
        "opened",
    )

    def __init__(self, memory: int | None = None) -> None:
        self.budget = Budget(memory)
        self.check: Callable[[], object] | None = None
        self.compile_seconds = 0.0
        self.blocks = 0
        self.opened: Callable[[Any], object] | None = None
        self._read: dict[int, Sized] = {}  # by id, which lasts as long as the object is held
        self._read_all: dict[int, Iterable[Sized | None]] = {}
        self._quiet = False
        self._owner = threading.get_ident()
        self._before: list[Usage | None] = []

    @property
    def bytes_read(self) -> int:
        """Bytes of the arrays given to `read` and `read_all`, each once."""
        if not self._read and not self._read_all:
            return 0
        every = {
            id(one): one
            for some in list(self._read_all.values())
            for one in some
            if one is not None
        }
        return sum(map(_NBYTES, (every | self._read).values()))

    def __enter__(self) -> Usage:
        self._before.append(_here.usage)
        _here.usage = self
        return self

    def __exit__(self, *_: object) -> None:
        _here.usage = self._before.pop()


class _ThreadUsage(threading.local):
    usage: Usage | None = None


_here = _ThreadUsage()


def is_noted() -> bool:
    """Whether a query runs in this thread."""
    return _here.usage is not None


def current() -> Usage | None:
    """That of the query of this thread; None where no query runs."""
    return _here.usage


def budget(limit: int | None) -> Budget:
    """The memory that the query of this thread may hold; of a limit of its own, in bytes, where no query runs."""
    usage = _here.usage
    return Budget(limit) if usage is None or usage.budget.limit != limit else usage.budget


def pulse() -> None:
    """To be called in work that takes long before anything runs, as planning does.

    Raises
    ------
    Cancelled, QueryTimeout : the query of this thread is to go no further.
    """
    usage = _here.usage
    if usage is not None and usage.check is not None:
        usage.check()


def paced(count: int, step: int) -> Iterator[tuple[int, int]]:
    """Ranges of at most `step` of `count` items, one behind the other, with a `pulse` before each: for work that goes
    through a large array."""
    for begin in range(0, count, step):
        pulse()
        yield begin, min(begin + step, count)


class unstopped:  # used in `with`, as a function would be
    """Around work of the query of this thread that goes on to its end: nothing stops it in `pulse`."""

    __slots__ = ("_check", "_usage")

    def __enter__(self) -> None:
        self._usage = usage = _here.usage
        if usage is not None:
            self._check, usage.check = usage.check, None

    def __exit__(self, *_: object) -> None:
        if self._usage is not None:
            self._usage.check = self._check


def room() -> Budget | None:
    """The budget by which arrays of the graph are placed that the query of this thread is the first to need; None where
    it has no bound."""
    usage = _here.usage
    return None if usage is None or usage.budget.limit is None else usage.budget


def read(*arrays: Sized | None) -> None:
    """Note that the query reads from arrays of the graph; None is nothing."""
    usage = _here.usage
    if usage is not None and not usage._quiet:
        for one in arrays:
            if one is not None:
                usage._read[id(one)] = one


def opened(part: object) -> None:
    """Note that the query is the first to read a part of the graph. Its locks are held."""
    usage = _here.usage
    if usage is not None and usage.opened is not None:
        usage.opened(part)


def read_all(arrays: tuple[Sized | None, ...]) -> None:
    """As `read`, of arrays that one tuple holds again and again."""
    usage = _here.usage
    if usage is not None and not usage._quiet:
        usage._read_all[id(arrays)] = arrays


@contextmanager
def compiling() -> Iterator[None]:
    """Around what makes or loads machine code, or waits until another thread has done so."""
    usage, begun = _here.usage, time.monotonic()
    try:
        yield
    finally:
        if usage is not None and usage._owner == threading.get_ident():
            usage.compile_seconds += time.monotonic() - begun


def unread(function: Callable[P, T]) -> Callable[P, T]:
    """The function, whose reads do not count: it looks at the graph in order to plan."""

    @wraps(function)
    def quiet(*args: P.args, **kwargs: P.kwargs) -> T:
        usage = _here.usage
        if usage is None or usage._quiet:
            return function(*args, **kwargs)
        usage._quiet = True
        try:
            return function(*args, **kwargs)
        finally:
            usage._quiet = False

    return quiet


def carry_usage(function: Callable[P, T]) -> Callable[P, T]:
    """The function, to be called by a helper's thread for the query of this one."""
    usage = _here.usage
    if usage is None:
        return function

    def helping(*args: P.args, **kwargs: P.kwargs) -> T:
        before, _here.usage = _here.usage, usage
        try:
            return function(*args, **kwargs)
        finally:
            _here.usage = before

    return helping
