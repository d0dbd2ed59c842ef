"""Control of Python's collector of reference cycles while a query makes many objects that stay, or none in a cycle.

By default it looks at the youngest objects after every 700 that are made, and again and again at all of them: a third
of the time of a statement over 30,000 rows, and 27 ms of a first answer that loads DuckDB and sqlglot (16 ms with one
pass after it). During such a query it only runs less often, so that the garbage of other threads is still collected.
"""

from __future__ import annotations

import gc
import sys

from gdb.base import forks, waiting

RARELY = 250_000, 20, 20
"""The thresholds of `gc.set_threshold` meanwhile: the rows and elements of a batch of 10,000 are not gone through, and
what other threads leave behind takes some ten megabytes before it is collected."""


class _Rare:
    """How many queries run, and the thresholds and the number of modules before."""

    def __init__(self) -> None:
        self.lock, self.running, self.modules = waiting.Lock(), 0, 0
        self.before = gc.get_threshold()
        forks.watch(self)

    def forked(self) -> None:
        """The queries of other threads do not go on in the child."""
        if self.running:
            gc.set_threshold(*self.before)
        self.running = 0

    def begin(self) -> None:
        with self.lock:
            self.running += 1
            if self.running == 1:
                self.before, self.modules = gc.get_threshold(), len(sys.modules)
                if 0 < self.before[0] < RARELY[0]:
                    gc.set_threshold(*RARELY)

    def end(self) -> None:
        with self.lock:
            self.running = max(self.running - 1, 0)
            if not self.running and gc.get_threshold() == RARELY:
                if len(sys.modules) > self.modules:  # no more often: it puts off full collections
                    _age()
                gc.set_threshold(*self.before)


def _age() -> None:
    """Put all objects into the oldest generation without going through them, as modules stay for good: collections of
    the younger ones would, for 4 ms in a later query. Not where a program froze objects, which stay frozen."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


_rare = _Rare()


class rarely:  # used in `with`, as a function would be
    """Has the collector run more rarely inside the block."""

    __slots__ = ()

    def __enter__(self) -> None:
        _rare.begin()

    def __exit__(self, *_: object) -> None:
        _rare.end()
