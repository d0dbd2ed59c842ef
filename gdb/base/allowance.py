"""The memory and time that a query may still use while it runs in Python.

The compiled executors and DuckDB have budgets of their own; this one is for values, expressions and rows. Every loop
and every function whose result may be large reports to it: `pulse` and `tick` look at the clock, `make` accounts for a
value before it exists, `keep` for what is held beyond a row. What a row leaves behind needs no report: who makes the
next row sets `made` back to what it was (a mark, as of a stack). Sizes are estimates by type (`gdb.base.values.sizes`).

The allowance of a thread's query is found by `here`, so that functions of values need not hand it on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from gdb.base import budget, waiting
from gdb.errors import Cancelled, OutOfBudget, QueryTimeout
from gdb.limits import check_value

T = TypeVar("T")
OFTEN = 20_000
"""Steps between two looks at the clock; one takes 0.1 to 1 us."""
_UNBOUNDED = 1 << 62
_PLAIN = 256  # bytes of a value that no limit refuses
_SHORT = 128  # items of a loop that needs no look at the clock


class Remembered(NamedTuple):
    """value : itself, so that no other value gets its identity. made : of it. size : of that, in bytes."""

    value: object
    made: object
    size: int


class Allowance:
    """The allowance of one query.

    limit : bytes. deadline : of time.monotonic(). cancel : the query's. None bounds nothing.
    made : bytes of temporary values that may be alive. kept : bytes that are held until they are
        dropped. cure : what OutOfBudget recommends.
    remembered : what was made of values that may come again, by `id` of each, until the work ends; None where the
        thread works for no query.
    """

    __slots__ = (
        *("_before", "_left", "cancel", "cure", "deadline", "kept", "limit", "made", "remembered"),
    )

    def __init__(
        self,
        limit: int | None = None,
        deadline: float | None = None,
        cancel: threading.Event | None = None,
        cure: str = budget.READS,
    ) -> None:
        self.limit = _UNBOUNDED if limit is None else limit
        self.deadline, self.cancel = deadline, cancel
        self.cure = cure
        self.made = self.kept = 0
        self._left = OFTEN
        self._before: list[Allowance] = []
        self.remembered: dict[int, Remembered] | None = None

    def __enter__(self) -> Allowance:
        """Be the allowance of this thread's work. Not to be held over a `yield`."""
        if self.remembered is None:
            self.remembered = {}
        self._before.append(_here.allowance)
        _here.allowance = self
        return self

    def __exit__(self, *_: object) -> None:
        _here.allowance = self._before.pop()
        if not self._before and self.remembered is not None:
            self.kept -= sum(one.size for one in self.remembered.values())
            self.remembered = None

    def forget(self, value: int) -> None:
        """Drop what is remembered of a value. value : its `id`."""
        if self.remembered is not None:
            self.kept -= self.remembered.pop(value).size

    def pulse(self) -> None:
        """To be called between two pieces of work.

        Raises
        ------
        Cancelled, QueryTimeout.
        """
        if self.cancel is not None and self.cancel.is_set():
            raise Cancelled("the query was cancelled.")
        if self.deadline is not None and time.monotonic() > self.deadline:
            # who set the timeout names it: `gdb.run.request.Clock`
            raise QueryTimeout(
                "the query ran longer than its timeout.",
                "Raise timeout=, or make the query do less.",
            )

    def tick(self, steps: int = 1) -> None:
        """Count steps of work; every `OFTEN` of them `pulse` is called, and raises what it raises."""
        self._left -= steps
        if self._left < 0:
            self._left = OFTEN
            self.pulse()

    def make(self, size: int, what: str) -> None:
        """Account for `size` bytes of a value that is about to be made.

        Raises
        ------
        OutOfBudget, Cancelled, QueryTimeout.
        """
        self.made += size
        if self.made + self.kept > self.limit:
            raise self._over(what)
        self.tick(size >> 7)

    def make_value(self, size: int, what: str) -> None:
        """As `make`, of one text or list, whose size has a limit: nothing stops what copies it.

        Raises
        ------
        LimitExceeded : and what `make` raises.
        """
        self.make(size, what)
        if size > _PLAIN:
            check_value(size, what)

    def keep(self, size: int, what: str) -> None:
        """Account for `size` bytes that are held until they are dropped (`kept -= size`). Raises OutOfBudget."""
        self.kept += size
        if self.made + self.kept > self.limit:
            raise self._over(what)

    def _over(self, what: str) -> OutOfBudget:
        return OutOfBudget(
            f"the query needs {self.made + self.kept:,} bytes with {what}, over its budget of "
            f"{self.limit:,}.",
            self.cure,
        )

    def beside(self, work: Callable[[], T]) -> T:
        """Do some work that stays outside of Python for long on a helper thread, and look at the clock meanwhile. Where
        this raises, the work goes on until it ends by itself.

        Raises
        ------
        Cancelled, QueryTimeout : and what the work raises.
        """
        return waiting.beside(work, "gdb-value", self.pulse)


class _ThreadAllowance(threading.local):
    allowance = Allowance()


_here = _ThreadAllowance()


def paced(items: Iterable[T], count: int) -> Iterable[T]:
    """The items of a loop that may be long; between them the clock is looked at. count : how many there are.

    A short loop counts as one step: lists in lists may be few, and hold one another so often that what goes through all
    of them never ends.
    """
    if count > _SHORT:
        return _paced(items)
    _here.allowance.tick()
    return items


def _paced(items: Iterable[T]) -> Iterator[T]:
    pulse = here().pulse
    for number, item in enumerate(items):
        if not number & 127:
            pulse()
        yield item


def here() -> Allowance:
    """The allowance of the query that this thread works for; one without bounds where it works for none."""
    return _here.allowance
