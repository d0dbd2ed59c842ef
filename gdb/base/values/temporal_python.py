"""Values of Python as values of the language, and back: what comes in as a parameter, and what goes out in a row."""

from __future__ import annotations

import datetime as python
from typing import TYPE_CHECKING, cast

from gdb.base.values.days import day_of, year_month_day
from gdb.base.values.duration import DAY, SECOND, Duration
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.base.values.map_columns import MapColumns
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import Date, DateTime, LocalDateTime, LocalTime, Temporal, Time
from gdb.base.values.zones import DAY_SECONDS, for_python, offsets_of_local

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value

_SAME = frozenset({type(None), bool, int, float, str})
_NAMES = frozenset({str})
_EPOCH = python.datetime(1970, 1, 1)
_FIRST, _AFTER = day_of(1, 1, 1), day_of(10_000, 1, 1)  # the days that Python has
_MICROSECOND, _SECOND = python.timedelta(microseconds=1), python.timedelta(seconds=1)


def from_python(value: object) -> Value:
    """A value of the language for a value of Python, also within lists, tuples and dicts.

    A date is a Date; a datetime a LocalDateTime, or a DateTime where it has a tzinfo; a time a LocalTime or a Time; a
    timedelta, which is a length, a Duration of seconds only. ValueProblem : the language has no such value.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case MapColumns():
            return cast("Value", value)
        case list() | tuple():
            return [item if type(item) in _SAME else from_python(item) for item in value]
        case dict() if _SAME.issuperset(map(type, value.values())) and _NAMES.issuperset(
            map(type, value)
        ):
            return value
        case dict():
            return {
                name if type(name) is str else _name(name): (
                    item if type(item) in _SAME else from_python(item)
                )
                for name, item in value.items()
            }
        case python.datetime():
            return _from_datetime(value)
        case python.date():
            return Date(value.toordinal() - _EPOCH.toordinal())
        case python.time():
            return _from_time(value)
        case python.timedelta():
            return Duration(0, 0, 0, value // _MICROSECOND * 1_000)
        case NodeValue() | RelationshipValue() | PathValue():
            return value
        case _ if isinstance(value, Temporal):
            return value
        case _:
            raise ValueProblem(
                "type", f"The language has no value for the Python type {type(value).__name__}."
            )


def to_python(value: Value) -> object:
    """The value of Python, also within lists and maps, where Python has one that is exactly the same: of microseconds
    and the years 1 to 9999, and of a Duration seconds alone, for a timedelta distinguishes them from neither days nor
    months. Otherwise the value itself."""
    match value:
        case list():
            return [to_python(item) for item in value]
        case dict() if _SAME.issuperset(map(type, value.values())) and _NAMES.issuperset(
            map(type, value)
        ):
            return value
        case dict():
            return {name: to_python(item) for name, item in value.items()}
        case Date(days) if _FIRST <= days < _AFTER:
            return python.date(*year_month_day(days))
        case LocalTime(nanoseconds) if nanoseconds % 1_000 == 0:
            return _clock_time(nanoseconds)
        case Time(nanoseconds, offset) if nanoseconds % 1_000 == 0:
            return _clock_time(nanoseconds).replace(tzinfo=_fixed(offset))
        case LocalDateTime(days, nanoseconds) if _fits(days, nanoseconds):
            return _local(days, nanoseconds)
        case DateTime(days, nanoseconds) if _fits(days, nanoseconds):
            return _to_datetime(value)
        case Duration(months=0, days=0, seconds=seconds, nanoseconds=rest) if rest % 1_000 == 0:
            try:
                return python.timedelta(0, seconds, rest // 1_000)
            except OverflowError:  # longer than Python has
                return value
        case _:
            return value


def moment_text(value: python.date | python.time | python.timedelta) -> str:
    """What toString() makes of a temporal value of Python.

    Examples
    --------
    >>> moment_text(python.timedelta(hours=-25)), moment_text(python.time(10, tzinfo=python.UTC))
    ('PT-25H', '10:00Z')
    """
    return str(from_python(value))


def _name(name: object) -> str:
    if isinstance(name, str):
        return name
    raise ValueProblem("type", f"{name!r} cannot be a key of a map.", "A key is a text.")


def _from_datetime(value: python.datetime) -> LocalDateTime | DateTime:
    days = value.toordinal() - _EPOCH.toordinal()
    nanoseconds = _time_of(value)
    offset = value.utcoffset()
    if offset is None:
        return LocalDateTime(days, nanoseconds)
    # a zoneinfo.ZoneInfo has one, unless read from a file
    name = getattr(value.tzinfo, "key", None)
    seconds = _offset(offset)
    if isinstance(name, str):
        return DateTime.of_local(days, nanoseconds, name, seconds)
    return DateTime(days, nanoseconds, seconds)


def _from_time(value: python.time) -> LocalTime | Time:
    if value.tzinfo is None:
        return LocalTime(_time_of(value))
    offset = value.utcoffset()
    if offset is None:
        raise ValueProblem(
            "type", "The offset of a time depends on its day.", "Give a time with a fixed offset."
        )
    return Time(_time_of(value), _offset(offset))


def _time_of(value: python.datetime | python.time) -> int:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * SECOND + value.microsecond * 1_000


def _offset(offset: python.timedelta) -> int:
    if offset % _SECOND:
        raise ValueProblem("type", "An offset from UTC has a part of a second.")
    return offset // _SECOND


def _fits(days: int, nanoseconds: int) -> bool:
    return nanoseconds % 1_000 == 0 and _FIRST <= days < _AFTER


def _local(days: int, nanoseconds: int) -> python.datetime:
    return _EPOCH + python.timedelta(days, 0, nanoseconds // 1_000)


def _clock_time(nanoseconds: int) -> python.time:
    return (_EPOCH + python.timedelta(0, 0, nanoseconds % DAY // 1_000)).time()


def _fixed(offset: int) -> python.timezone:
    return python.timezone(python.timedelta(seconds=offset)) if offset else python.UTC


def _to_datetime(value: DateTime) -> python.datetime:
    local = _local(value.days, value.nanoseconds)
    if not value.zone:
        return local.replace(tzinfo=_fixed(value.offset))
    offsets = offsets_of_local(value.zone, value.days * DAY_SECONDS + value.nanoseconds // SECOND)
    fold = int(offsets[0] != offsets[1] and value.offset == offsets[1])
    local = local.replace(fold=fold)
    return local.replace(tzinfo=for_python(value.zone, local))
