"""Durations between temporal values, and arithmetic with durations."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeGuard

from gdb.base.values.days import plus_months, year_month_day
from gdb.base.values.duration import DAY, Duration, duration_of_parts, number_of, truncated
from gdb.base.values.naming import type_phrase
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import (
    TEMPORAL_TYPES,
    Date,
    DateTime,
    Instant,
    LocalDateTime,
    LocalTime,
    Temporal,
    Time,
)
from gdb.base.values.temporal_make import TemporalParts, parts_of
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value


# ---- between ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Ends:
    """Two values as instants, the second shown where the first is. dated : both had a day."""

    first: DateTime
    second: DateTime
    dated: bool


def between(first: Instant, second: Instant) -> Duration:
    """Whole months, then whole days, then the rest, from one value to another."""
    ends = _ends(first, second)
    if not ends.dated:
        return Duration(0, 0, 0, ends.second.instant - ends.first.instant)
    months = _months(ends)
    begin = _plus(ends.first, months, 0)
    days = truncated(_local(ends.second) - _local(begin), DAY)[0]
    begin = _plus(begin, 0, days)
    return Duration(months, days, 0, ends.second.instant - begin.instant)


def in_months(first: Instant, second: Instant) -> Duration:
    """Whole months from one value to another; none where one has no day."""
    ends = _ends(first, second)
    return Duration(_months(ends) if ends.dated else 0)


def in_days(first: Instant, second: Instant) -> Duration:
    """Whole days from one value to another; none where one has no day."""
    ends = _ends(first, second)
    length = _local(ends.second) - _local(ends.first)
    return Duration(0, truncated(length, DAY)[0] if ends.dated else 0)


def in_seconds(first: Instant, second: Instant) -> Duration:
    """Hours, minutes and seconds from one value to another."""
    ends = _ends(first, second)
    return Duration(0, 0, 0, ends.second.instant - ends.first.instant)


def _ends(first: Instant, second: Instant) -> _Ends:
    """What one value lacks, a day or a zone, it has from the other; a time that is missing is midnight."""
    a, b = parts_of(first), parts_of(second)
    left = _instant(a, b)
    right = DateTime.of_instant(_instant(b, a).instant, left.place)
    return _Ends(left, right, a.day is not None and b.day is not None)


def _instant(parts: TemporalParts, other: TemporalParts) -> DateTime:
    day = parts.day if parts.day is not None else other.day
    zone = parts.zone if parts.zone is not None else other.zone
    return DateTime.of_local(
        0 if day is None else day, parts.time or 0, 0 if zone is None else zone, parts.offset
    )


def _local(value: DateTime) -> int:
    return value.days * DAY + value.nanoseconds


def _months(ends: _Ends) -> int:
    first, second = ends.first, ends.second
    last = second.days  # of the days that are whole, as java.time counts them
    if last > first.days and second.nanoseconds < first.nanoseconds:
        last -= 1
    elif last < first.days and second.nanoseconds > first.nanoseconds:
        last += 1
    begin_year, begin_month, begin_day = year_month_day(first.days)
    end_year, end_month, end_day = year_month_day(last)
    months = 12 * (end_year - begin_year) + end_month - begin_month
    if months > 0 and end_day < begin_day:
        return months - 1
    return months + 1 if months < 0 and end_day > begin_day else months


def _plus(value: DateTime, months: int, days: int) -> DateTime:
    """The same time of a later day, by the clocks of the place."""
    day = plus_months(value.days, months) + days
    return DateTime.of_local(day, value.nanoseconds, value.place, value.offset)


# ---- arithmetic -------------------------------------------------------------------------------------


def add(left: Value, right: Value) -> Temporal:
    """The sum of a temporal value and a duration, in either order, or of two durations.

    ValueProblem : of anything else, or out of range.
    """
    if isinstance(left, Duration) and isinstance(right, Duration):
        return _sum(left, right)
    if isinstance(left, TEMPORAL_TYPES) and isinstance(right, Duration):
        return _later(left, right)
    if isinstance(left, Duration) and isinstance(right, TEMPORAL_TYPES):
        return _later(right, left)
    raise _unfit("added", left, right, "A duration can be added to a temporal value.")


def subtract(left: Value, right: Value) -> Temporal:
    """A temporal value or a duration, less a duration. ValueProblem : of anything else, or out of range."""
    if isinstance(right, Duration) and isinstance(left, TEMPORAL_TYPES):
        return add(left, -right)
    cure = "A duration can be subtracted; duration.between(a, b) is what lies between two values."
    raise _unfit("subtracted", left, right, cure)


def multiply(left: Value, right: Value) -> Duration:
    """A duration times a number, in either order. ValueProblem : of anything else, or out of range."""
    if isinstance(left, Duration) and _is_number(right):
        return _scaled(left, number_of(right))
    if isinstance(right, Duration) and _is_number(left):
        return _scaled(right, number_of(left))
    raise _unfit("multiplied", left, right, "A duration can be multiplied by a number.")


def divide(left: Value, right: Value) -> Duration:
    """A duration by a number. ValueProblem : of anything else, by zero, or out of range."""
    if isinstance(left, Duration) and _is_number(right):
        if not right:
            raise ValueProblem("arithmetic", "A duration is divided by zero.")
        return _scaled(left, 1 / number_of(right))
    raise _unfit("divided", left, right, "A duration can be divided by a number.")


def _later(value: Temporal, duration: Duration) -> Temporal:
    """Months first, then days, then the rest: 31 January and a month is the end of February."""
    match value:
        case Duration():
            return _sum(value, duration)
        case Date():
            days = duration.days + truncated(duration.length, DAY)[0]
            return Date(plus_months(value.days, duration.months) + days)
        case LocalTime():
            return LocalTime((value.nanoseconds + duration.length) % DAY)
        case Time():
            return Time((value.nanoseconds + duration.length) % DAY, value.offset)
        case LocalDateTime():
            carried, time = divmod(value.nanoseconds + duration.length, DAY)
            days = plus_months(value.days, duration.months) + duration.days
            return LocalDateTime(days + carried, time)
        case DateTime():
            # each is a time of the place by itself, as in `between`: it may not be there, when the clocks are put on
            begin = _plus(_plus(value, duration.months, 0), 0, duration.days)
            return DateTime.of_instant(begin.instant + duration.length, value.place)


def _sum(left: Duration, right: Duration) -> Duration:
    length = left.length + right.length
    return Duration(left.months + right.months, left.days + right.days, 0, length)


def _scaled(value: Duration, by: Fraction) -> Duration:
    return duration_of_parts(value.months * by, value.days * by, value.length * by)


def _is_number(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _unfit(done: str, left: Value, right: Value, cure: str) -> ValueProblem:
    message = f"{type_phrase(left).capitalize()} and {type_phrase(right)} cannot be {done}."
    return ValueProblem("type", message, cure)
