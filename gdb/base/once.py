"""Values that are made once: in each process, of each object, in an object, or as long as they take few bytes."""

from __future__ import annotations

import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property as locked_property  # noqa: TID251 (it is taken from the libraries)
from typing import Generic, Protocol, TypeVar, overload

from gdb.base import forks, waiting

T = TypeVar("T")
S = TypeVar("S")
K = TypeVar("K")
V = TypeVar("V")


class Weighed(Protocol):
    """What says how much memory it takes."""

    @property
    def bytes(self) -> int:
        """Bytes of its own."""
        ...


W = TypeVar("W", bound=Weighed)


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


class cached_property(Generic[S, T]):
    """functools.cached_property without the lock that it has before Python 3.12: one for all objects of a class, in
    which threads would wait for each other, and which a forked child would find locked forever by a thread of its
    parent. Two threads may compute a value; both get the one that was there first."""

    def __init__(self, compute: Callable[[S], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type[S], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[S]) -> cached_property[S, T]: ...

    @overload
    def __get__(self, instance: S, owner: type[S]) -> T: ...

    def __get__(self, instance: S | None, owner: type[S]) -> cached_property[S, T] | T:
        if instance is None:
            return self
        value: T = vars(instance).setdefault(self._name, self._compute(instance))
        return value


def unlock_properties(package: str) -> None:
    """Take the lock from each functools.cached_property of the classes of a library, whose modules are imported: as
    `cached_property` has none, nor the library's own from Python 3.12 on."""
    modules = [one for name, one in sys.modules.items() if name.partition(".")[0] == package]
    classes = (one for module in modules for one in vars(module).values() if isinstance(one, type))
    for one in {*classes}:
        for value in vars(one).values():
            if isinstance(value, locked_property) and hasattr(value, "lock"):
                value.lock = nullcontext()


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


class MadeWithin(Generic[K, W]):
    """What is made once for each key; of more bytes than may be kept the longest unused is given up first, and never
    the last one."""

    def __init__(self) -> None:
        self._made: OrderedDict[K, W] = OrderedDict()
        self._lock = waiting.Lock()

    @property
    def bytes(self) -> int:
        """Of all that is kept."""
        return sum(one.bytes for one in self._made.values())

    def of(self, key: K, make: Callable[[], W], most: int) -> W:
        """What `make` makes, or has made for this key. most : bytes that may be kept."""
        with self._lock:  # a second thread waits for the first
            found = self._made.get(key)
            if found is None:
                found = self._made[key] = make()
            self._made.move_to_end(key)
            held = self.bytes
            while held > most and len(self._made) > 1:
                held -= self._made.popitem(last=False)[1].bytes
            return found
