"""The threads for which a thread works: each of them waits for what it does.

A helper's thread must wait for none of them: that wait would never end. So what waits for other threads (the writer's
turn, closing a database) looks here first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


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
