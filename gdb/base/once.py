"""Values that are made once: in each process, or of each object."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from gdb.base import forks, waiting

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class PerProcess(Generic[T]):
    """A value that is made once in each process, when it is first needed there. A parent's is left alone in the child:
    neither used nor destroyed."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = waiting.Lock()
        self._value: T | None = None
        forks.watch(self)

    def get(self) -> T:
        """The value of this process."""
        value = self._value
        if value is None:
            with self._lock:  # a second thread waits for the first
                if self._value is None:
                    self._value = self._make()
                value = self._value
        return value

    @property
    def made(self) -> T | None:
        """The value of this process, where it was made."""
        return self._value

    def forked(self) -> None:
        """Forget the parent's value without destroying it."""
        if self._value is not None:
            forks.leak(self._value)
            self._value = None


class MadeOnce(Generic[K, V]):
    """What is made once of each object, and kept as long as the object. It must be of memory alone: a child goes on
    with what its parent has made."""

    def __init__(self, make: Callable[[K], V]) -> None:
        self._make = make
        self._lock = waiting.Lock()
        self._made: weakref.WeakKeyDictionary[K, V] = weakref.WeakKeyDictionary()

    def of(self, key: K) -> V:
        """What is made of an object."""
        found = self._made.get(key)
        if found is None:
            with self._lock:  # a second thread waits for the first
                found = self._made.get(key)
                if found is None:
                    found = self._made[key] = self._make(key)
        return found
