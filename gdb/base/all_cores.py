"""Work that is done on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from gdb.base import usage, waiting
from gdb.base.machine.cores import cores

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 4  # items in work for each core


def in_order(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """The results of some work, in the order of the items; few are there at a time. One item is done in this thread.

    Raises
    ------
    Cancelled, QueryTimeout : the query of this thread is to go no further; what has not begun never begins.
    """
    following = iter(items)
    some = [item for _, item in zip(range(2), following, strict=False)]
    if len(some) < 2:
        yield from map(work, some)
        return
    with waiting.Pool(cores()) as pool:
        ahead = [pool.submit(work, item) for item in some]
        for item in following:
            ahead.append(pool.submit(work, item))
            if len(ahead) >= _AHEAD * cores():
                yield waiting.result(ahead.pop(0), usage.pulse)
        while ahead:
            yield waiting.result(ahead.pop(0), usage.pulse)
