"""Values of the kind "any", each as a text that contains its type (docs/FORMAT.md, *Values of any type*)."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gdb.base.values.duration import LONGEST, SECOND, Duration
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import Date, DateTime, LocalDateTime, LocalTime, Time
from gdb.base.values.temporal_python import from_python

if TYPE_CHECKING:
    from .model import Item

Coded: TypeAlias = "Item | list[Item]"
"""A value of the language, as a property has it."""

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_FLOAT = re.compile(r"[0-9a-f]{16}")
_ZONE = re.compile(r"(?:[A-Za-z][A-Za-z0-9_+/-]*)?")


def text_of(value: object) -> str:
    """The text of a value of the language, or of a value of Python that is one.

    Raises
    ------
    ValueError : it is none, or a list that holds a list or nothing.

    Examples
    --------
    >>> text_of([1, "é", True])
    'l2:i13:sé2:b1'
    """
    write = _WRITERS.get(type(value))
    if write is not None:
        return write(value)
    if isinstance(value, (list, tuple)):
        return "l" + "".join(map(_item, value))
    try:
        plain = from_python(value)
    except ValueProblem as problem:
        raise ValueError(problem.message) from None
    write = _WRITERS.get(type(plain))
    if write is None:
        raise ValueError(f"{value!r} is no value of a property")
    return write(plain)


def _item(value: object) -> str:
    if isinstance(value, (list, tuple)):
        raise ValueError("a list holds lists")
    text = text_of(value)
    return f"{len(text.encode())}:{text}"


_WRITERS: dict[type, Callable[..., str]] = {
    bool: lambda value: f"b{value:d}",
    int: lambda value: f"i{value}",
    float: lambda value: "f" + struct.pack(">d", value).hex(),
    str: lambda value: "s" + value,
    Date: lambda value: f"D{value.days}",
    LocalTime: lambda value: f"t{value.nanoseconds}",
    Time: lambda value: f"T{value.nanoseconds},{value.offset}",
    LocalDateTime: lambda value: f"n{value.days},{value.nanoseconds}",
    DateTime: lambda value: f"N{value.days},{value.nanoseconds},{value.offset},{value.zone}",
    Duration: lambda value: f"P{value.months},{value.days},{value.seconds},{value.nanoseconds}",
}


def value_of(text: str) -> Coded:
    """The value of a text.

    Raises
    ------
    ValueError : it is not what `text_of` writes.
    """
    read = _READERS.get(text[:1])
    if read is None:
        raise ValueError(f"{text[:60]!r} is of no type")
    try:
        return read(text[1:])
    except ValueProblem as problem:
        raise ValueError(problem.message) from None


def _boolean(rest: str) -> bool:
    if rest not in ("0", "1"):
        raise ValueError("a boolean is neither true nor false")
    return rest == "1"


def _integer(rest: str) -> int:
    if _INTEGER.fullmatch(rest) is None or not -LONGEST - 1 <= (value := int(rest)) <= LONGEST:
        raise ValueError(f"{rest[:60]!r} is no integer of 64 bits")
    return value


def _float(rest: str) -> float:
    if _FLOAT.fullmatch(rest) is None:
        raise ValueError(f"{rest[:60]!r} is no float")
    value: float = struct.unpack(">d", bytes.fromhex(rest))[0]
    return value


def _numbers(rest: str, count: int) -> list[int]:
    parts = rest.split(",")
    if len(parts) != count:
        raise ValueError(f"{rest[:60]!r} has other parts")
    return [_integer(part) for part in parts]


def _datetime(rest: str) -> DateTime:
    local, _, zone = rest.rpartition(",")
    if _ZONE.fullmatch(zone) is None:
        raise ValueError(f"{zone[:60]!r} is no name of a zone")
    days, nanoseconds, offset = _numbers(local, 3)
    return DateTime(days, nanoseconds, offset, zone)


def _duration(rest: str) -> Duration:
    months, days, seconds, nanoseconds = _numbers(rest, 4)
    if not 0 <= nanoseconds < SECOND:
        raise ValueError("a duration has nanoseconds of more than a second")
    return Duration(months, days, seconds, nanoseconds)


def _list(rest: str) -> list[Item]:
    data, at = rest.encode(), 0
    found: list[Item] = []
    while at < len(data):
        colon = data.index(b":", at, at + 20)
        begin = colon + 1
        at = begin + _integer(data[at:colon].decode("ascii"))
        if not begin < at <= len(data):
            raise ValueError("an item of a list ends elsewhere")
        # before it is read: it may hold thousands, one in the other
        if data[begin : begin + 1] == b"l":
            raise ValueError("a list holds lists")
        item = value_of(data[begin:at].decode())
        assert not isinstance(item, list)
        found.append(item)
    return found


_READERS: dict[str, Callable[[str], Coded]] = {
    "b": _boolean,
    "i": _integer,
    "f": _float,
    "s": str,
    "D": lambda rest: Date(*_numbers(rest, 1)),
    "t": lambda rest: LocalTime(*_numbers(rest, 1)),
    "T": lambda rest: Time(*_numbers(rest, 2)),
    "n": lambda rest: LocalDateTime(*_numbers(rest, 2)),
    "N": _datetime,
    "P": _duration,
    "l": _list,
}


def misread(texts: Sequence[object]) -> dict[int, str]:
    """Which texts are of no value, and why; None is a null."""
    found: dict[int, str] = {}
    for place, text in enumerate(texts):
        try:
            if text is not None:
                value_of(str(text))
        except ValueError as error:
            found[place] = str(error)
    return found
