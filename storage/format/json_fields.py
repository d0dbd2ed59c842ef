"""A reader of JSON that gdb wrote: members are read by name and type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypeAlias, TypeVar

from ..columns.model import KINDS, Kind

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
T = TypeVar("T")


class Fields:
    """A JSON object whose members are read by name and type; ValueError where they differ."""

    __slots__ = ("_members",)

    def __init__(self, value: Json) -> None:
        if not isinstance(value, dict):
            raise ValueError("an object is missing")
        self._members = value

    def get(self, key: str, wanted: type[T]) -> T:
        """A member of exactly this type. Raises ValueError where there is none."""
        value = self._members.get(key)
        if type(value) is not wanted:
            raise ValueError(f"{key} is missing or of another type")
        return value

    def number(self, key: str, least: int = 0, below: int = 1 << 62) -> int:
        """An integer in [least, below)."""
        value = self.get(key, int)
        if not least <= value < below:
            raise ValueError(f"{key} is out of range")
        return value

    def text(self, key: str) -> str:
        """A text that is valid Unicode."""
        return _valid(self.get(key, str), key)

    def flag(self, key: str) -> bool:
        """A boolean."""
        return self.get(key, bool)

    def kind(self, key: str) -> Kind:
        """A kind of property."""
        for kind in KINDS:
            if kind == self._members.get(key):
                return kind
        raise ValueError(f"{key} is no kind of property")

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(_valid(value, key) for value in self.get(key, list))

    def each(self, key: str, read_one: Callable[[Self], T]) -> tuple[T, ...]:
        """What is read from each member of a list."""
        return tuple(read_one(type(self)(value)) for value in self.get(key, list))

    def has(self, key: str) -> bool:
        """Whether there is a member of this name."""
        return key in self._members

    def all(self) -> dict[str, Self]:
        """Every member, as an object."""
        return {key: type(self)(value) for key, value in self._members.items()}

    def named(self, key: str) -> dict[str, Self]:
        """The members of an object, as objects."""
        return self.one(key).all()

    def one(self, key: str) -> Self:
        """A member that has members of its own."""
        return type(self)(self._members.get(key))


def _valid(value: Json, key: str) -> str:
    """A text that can be written: JSON's escapes can spell halves of characters."""
    if not isinstance(value, str):
        raise ValueError(f"{key} holds what is no text")
    value.encode("utf-8")
    return value
