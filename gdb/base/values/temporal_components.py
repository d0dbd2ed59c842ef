"""The components of temporal values: d.year, t.offsetMinutes, length.minutesOfHour."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from gdb.base.values.days import day_of, week_of, year_month_day
from gdb.base.values.duration import SECOND, Duration, truncated
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import TYPE_NAMES, DateTime, Temporal, Time
from gdb.base.values.temporal_make import parts_of
from gdb.base.values.temporal_parts import quarter_of
from gdb.base.values.zones import offset_text

_Numbers: TypeAlias = Mapping[str, Callable[[int], int]]

_OF_DAY: _Numbers = {
    "year": lambda day: year_month_day(day)[0],
    "quarter": lambda day: quarter_of(day)[0],
    "month": lambda day: year_month_day(day)[1],
    "week": lambda day: week_of(day)[1],
    "weekYear": lambda day: week_of(day)[0],
    "dayOfQuarter": lambda day: quarter_of(day)[1],
    "quarterDay": lambda day: quarter_of(day)[1],
    "day": lambda day: year_month_day(day)[2],
    "ordinalDay": lambda day: day - day_of(year_month_day(day)[0], 1, 1) + 1,
    "dayOfWeek": lambda day: week_of(day)[2],
    "weekDay": lambda day: week_of(day)[2],
}
_OF_TIME: _Numbers = {
    "hour": lambda time: time // (3600 * SECOND),
    "minute": lambda time: time // (60 * SECOND) % 60,
    "second": lambda time: time // SECOND % 60,
    "millisecond": lambda time: time % SECOND // 1_000_000,
    "microsecond": lambda time: time % SECOND // 1_000,
    "nanosecond": lambda time: time % SECOND,
}
_OF_OFFSET: _Numbers = {
    "offsetMinutes": lambda offset: truncated(offset, 60)[0],
    "offsetSeconds": lambda offset: offset,
}
_OF_INSTANT: _Numbers = {
    "epochSeconds": lambda instant: instant // SECOND,
    "epochMillis": lambda instant: instant // 1_000_000,
}
_OF_MONTHS: _Numbers = {
    "years": lambda months: truncated(months, 12)[0],
    "quarters": lambda months: truncated(months, 3)[0],
    "months": lambda months: months,
    "quartersOfYear": lambda months: truncated(truncated(months, 12)[1], 3)[0],
    "monthsOfYear": lambda months: truncated(months, 12)[1],
    "monthsOfQuarter": lambda months: truncated(months, 3)[1],
}
_OF_DAYS: _Numbers = {
    "weeks": lambda days: truncated(days, 7)[0],
    "days": lambda days: days,
    "daysOfWeek": lambda days: truncated(days, 7)[1],
}
# the seconds are as they are stored, rounded down, so that the parts of a second are never negative
_OF_SECONDS: _Numbers = {
    "hours": lambda seconds: truncated(seconds, 3600)[0],
    "minutes": lambda seconds: truncated(seconds, 60)[0],
    "seconds": lambda seconds: seconds,
    "minutesOfHour": lambda seconds: truncated(truncated(seconds, 60)[0], 60)[1],
    "secondsOfMinute": lambda seconds: truncated(seconds, 60)[1],
}
_OF_LENGTH: _Numbers = {
    "milliseconds": lambda length: length // 1_000_000,
    "microseconds": lambda length: length // 1_000,
    "nanoseconds": lambda length: length,
    "millisecondsOfSecond": lambda length: length % SECOND // 1_000_000,
    "microsecondsOfSecond": lambda length: length % SECOND // 1_000,
    "nanosecondsOfSecond": lambda length: length % SECOND,
}
_TABLES = (
    _OF_DAY,
    _OF_TIME,
    _OF_OFFSET,
    _OF_INSTANT,
    _OF_MONTHS,
    _OF_DAYS,
    _OF_SECONDS,
    _OF_LENGTH,
)
PARTS = frozenset(name for table in _TABLES for name in table) | {"timezone", "offset"}
"""Names of components, after the dot of a value of some temporal type."""


def component(value: Temporal, key: str) -> int | str:
    """A component of a value by its name. ValueProblem : a value of this type has none of the name."""
    tables = list(_tables(value))
    for number, table in tables:
        if key in table:
            return table[key](number)
    if isinstance(value, DateTime | Time):
        if key == "offset":
            return offset_text(value.offset)
        if key == "timezone":
            return (isinstance(value, DateTime) and value.zone) or offset_text(value.offset)
    texts = ["timezone", "offset"] if isinstance(value, DateTime | Time) else []
    known = ", ".join([name for _, table in tables for name in table] + texts)
    raise ValueProblem("type", f"A {TYPE_NAMES[type(value)]} has no {key!r}.", f"It has {known}.")


def _tables(value: Temporal) -> list[tuple[int, _Numbers]]:
    """The numbers that a value consists of, each with its components."""
    if isinstance(value, Duration):
        return [
            (value.months, _OF_MONTHS),
            (value.days, _OF_DAYS),
            (value.seconds, _OF_SECONDS),
            (value.length, _OF_LENGTH),
        ]
    parts, tables = parts_of(value), []
    if parts.day is not None:
        tables.append((parts.day, _OF_DAY))
    if parts.time is not None:
        tables.append((parts.time, _OF_TIME))
    if parts.offset is not None:
        tables.append((parts.offset, _OF_OFFSET))
    if isinstance(value, DateTime):
        tables.append((value.instant, _OF_INSTANT))
    return tables
