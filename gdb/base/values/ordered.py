"""The base class of temporal values: those of one type are compared by a key."""

from __future__ import annotations

from operator import index
from typing import SupportsIndex

from gdb.base.values.problems import WrongField


class Ordered:
    """Equal and ordered by `key()`, among values of the same type only; > and >= are < and <= of the other value."""

    __slots__ = ()

    def key(self) -> tuple[int, ...]:
        """What the value is compared by."""
        raise NotImplementedError

    def whole(self, *names: str) -> None:
        """Make plain integers of fields, which may be those of NumPy.

        Raises
        ------
        WrongField : one is no integer.
        """
        for name in names:
            value: SupportsIndex = getattr(self, name)
            if type(value) is not int:
                if isinstance(value, bool) or not hasattr(value, "__index__"):
                    kind = type(self).__name__
                    raise WrongField(f"{kind}() takes an integer of {name}, not {value!r}.")
                object.__setattr__(self, name, index(value))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Ordered) and type(other) is type(self) and self.key() == other.key()
        )

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.key()))

    def __lt__(self, other: object) -> bool:
        if isinstance(other, Ordered) and type(other) is type(self):
            return self.key() < other.key()
        return NotImplemented

    def __le__(self, other: object) -> bool:
        if isinstance(other, Ordered) and type(other) is type(self):
            return self.key() <= other.key()
        return NotImplemented
