"""Sizes of values in bytes: exact for small values, estimated from a sample for long ones.

A node or relationship is counted where it is read (`gdb.physical.rows.object_graph`), not where a value mentions it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gdb.base.allowance import Allowance
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value

LARGE = 1024
"""Bytes from which on a value that occurs in several places is recognised, so that it counts once."""
POINTER = 8


class _Flat(dict[type, "int | None"]):
    """Bytes of a value by its type; None where they are not the same for all of its values."""

    def __missing__(self, kind: type) -> int | None:
        size = 0 if issubclass(kind, (NodeValue, RelationshipValue)) else None
        self[kind] = size
        return size


_FLAT = _Flat({type(None): 0, bool: 0, int: 32, float: 24})
_TEMPORAL = 160
_LIST, _MAP, _PATH = 56, 232, 160
_SAMPLED = 32  # items of a list; of one inside it a quarter, and so on
_SMALL_ROW = 512  # bytes of a row of small values
_SLACK = 1 << 20  # bytes that a loop may make before its value is looked at
_TURNS = 64  # after which the clock is looked at


def size_of(value: Value | Sequence[object]) -> int:
    """Bytes of a value and of what is in it. Of a long list or map some items are sampled; what occurs in several
    places counts once.

    Examples
    --------
    >>> size_of(True), size_of("a" * 1000) > 1000, size_of([1] * 1000) > 8000
    (0, True, True)
    """
    flat = _FLAT[type(value)]
    if flat is not None:
        return flat
    if isinstance(value, str):
        return sys.getsizeof(value)
    large: dict[int, _Large] = {}
    small = _walk(value, _SAMPLED, 1, large)
    for one in large.values():
        small += one.size * one.times
    return small


@dataclass(slots=True)
class _Large:
    """Something large. times : how often there may be one like it; 1 once it was seen in two places."""

    value: object
    size: int
    times: int


def _walk(value: object, sampled: int, times: int, large: dict[int, _Large]) -> int:
    """Bytes of what is small in `times` values like this one; what is large is noted, by id."""
    flat = _FLAT[type(value)]
    if flat is not None:
        return flat * times
    if isinstance(value, str):
        size = sys.getsizeof(value)
        if size < LARGE:
            return size * times
        _known(value, large, size, times)
        return 0
    if isinstance(value, (list, tuple)):
        if len(value) > _SAMPLED and _known(value, large, POINTER * len(value), times):
            return 0
        own = _LIST + (POINTER * len(value) if len(value) <= _SAMPLED else 0)
        return own * times + _items(value, sampled, times, large)
    if isinstance(value, dict):
        if len(value) > _SAMPLED and _known(value, large, 2 * POINTER * len(value), times):
            return 0
        own = (_MAP + 40 * len(value)) * times
        return own + _items(list(value.values()), sampled, times, large)
    if isinstance(value, PathValue):
        return (_PATH + 2 * POINTER * len(value.nodes)) * times
    return _TEMPORAL * times


def _flat_row(row: Row | tuple[object, ...]) -> int | None:
    """What `_walk` gives for a short row, where it is the sum over its values; else None."""
    if len(row) > _SAMPLED:
        return None
    named = isinstance(row, dict)
    size = _MAP + 40 * len(row) if named else _LIST + POINTER * len(row)
    for value in row.values() if isinstance(row, dict) else row:
        own = _FLAT[type(value)]
        if own is None:
            return None
        size += own
    return size


def _known(value: object, large: dict[int, _Large], size: int, times: int) -> bool:
    """Note something large; whether it was noted before."""
    one = large.get(id(value))
    if one is None:
        large[id(value)] = _Large(value, size, times)
        return False
    one.times = 1
    return True


def _items(items: Sequence[object], sampled: int, times: int, large: dict[int, _Large]) -> int:
    count = len(items)
    if sampled == 0 or count == 0:
        return count * 32 * times
    if count > sampled:
        items = items[:: count // sampled]
        times = -(-times * count // len(items))
    size = 0
    for item in items:
        own = _FLAT[type(item)]
        size += _walk(item, sampled // 4, times, large) if own is None else own * times
    return size


class Pile:
    """What values take that are kept together; it counts until it is cleared. The same large value counts once.

    what : for the message of OutOfBudget.
    """

    __slots__ = ("_allowance", "_large", "_what", "size")

    def __init__(self, allowance: Allowance, what: str) -> None:
        self._allowance, self._what = allowance, what
        self._large: dict[int, object] = {}  # by id, which lasts as long as the object is held
        self.size = 0

    def add(self, value: Value | Sequence[object], more: int = POINTER) -> None:
        """Count a value, and `more` for its place. Raises OutOfBudget."""
        size = _FLAT[type(value)]
        self.count((sum(self._new(value)) if size is None else size) + more)

    def _new(self, value: Value | Sequence[object]) -> tuple[int, int]:
        """Bytes of what is small in a value, and of what is large and was not counted before."""
        if isinstance(value, str) and len(value) < LARGE // 4:
            return sys.getsizeof(value), 0
        large: dict[int, _Large] = {}
        small, found = _walk(value, _SAMPLED, 1, large), 0
        for key, one in large.items():
            if key in self._large:
                continue
            found += one.size * one.times
            if one.times == 1:
                self._large[key] = one.value
        return small, found

    def row(self, row: Row) -> None:
        """Count a row and its values. Raises OutOfBudget."""
        self.several(row.values(), _MAP)

    def batch(self, rows: list[Row] | Sequence[tuple[object, ...]], made: int) -> None:
        """Count rows. Of their small values some are looked at; what is large was made for these rows, or is counted
        where it is kept. Raises OutOfBudget.

        made : bytes that were made for these rows; where that is more than rows of small values take, all of them are
            looked at.
        """
        count = len(rows)
        usual = made <= _SLACK + _SMALL_ROW * count
        some = rows[:: max(1, count // _SAMPLED)] if usual else rows
        if some:
            small = large = 0
            for row in some:
                one = _flat_row(row)
                if one is None:
                    one, other = self._new(row)
                    large += other
                small += one
            self.count(small * count // len(some) + large + POINTER * count)

    def several(self, values: Iterable[Value], more: int) -> None:
        """Count some values, and `more` for their container. Raises OutOfBudget."""
        size = more
        for value in values:
            one = _FLAT[type(value)]
            if one is None:
                self.add(value)
            else:
                size += one
        self.size += size
        self._allowance.keep(size, self._what)

    def count(self, size: int) -> None:
        """Count bytes. Raises OutOfBudget."""
        self.size += size
        self._allowance.keep(size, self._what)

    def clear(self) -> None:
        """Count nothing any more."""
        self._allowance.kept -= self.size
        self.size = 0
        self._large.clear()


class Growing:
    """A value that a loop builds: what each turn leaves behind is forgotten, what the value takes counts.

    The loop calls `turn` after each item; it costs a comparison unless much was made.
    """

    __slots__ = ("_allowance", "_begun", "_count", "_estimate", "_mark", "_next", "_what")

    def __init__(self, allowance: Allowance, what: str) -> None:
        self._allowance, self._what = allowance, what
        self._begun = allowance.made
        self._mark = self._begun + _SLACK
        self._count = 0
        self._next = self._estimate = _TURNS

    def turn(self, value: Value | Sequence[object]) -> None:
        """After an item; `value` is what was built so far. Raises OutOfBudget, Cancelled, QueryTimeout."""
        self._count += 1
        if self._allowance.made > self._mark or self._count >= self._next:
            self._look(value)

    def _look(self, value: Value | Sequence[object]) -> None:
        allowance = self._allowance
        allowance.pulse()
        self._next = self._count + _TURNS
        if allowance.made > self._mark or self._count >= self._estimate:
            allowance.made = self._begun
            allowance.make(size_of(value), self._what)
            self._mark = allowance.made + _SLACK
            self._estimate = self._count * 5 // 4 + _TURNS
