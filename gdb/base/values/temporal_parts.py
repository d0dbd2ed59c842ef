"""The day and the time of day that named parts make: {year: 1984, week: 10, dayOfWeek: 3}, {hour: 12, minute: 31}.

What is not named comes from a base, a value that the parts change, or is the first there is. A date is written in one
of four ways, by month, week, quarter or day of the year.
"""

from __future__ import annotations

from collections.abc import Mapping

from gdb.base.values.days import (
    FIRST_YEAR,
    LAST_YEAR,
    day_of,
    day_of_week,
    month_length,
    week_of,
    year_month_day,
)
from gdb.base.values.duration import SECOND
from gdb.base.values.problems import ValueProblem

_WAYS = (
    ("month", "day"),
    ("week", "dayOfWeek"),
    ("quarter", "dayOfQuarter"),
    ("ordinalDay",),
)
DATE_PARTS = ("year", *(part for way in _WAYS for part in way))
TIME_PARTS = ("hour", "minute", "second", "millisecond", "microsecond", "nanosecond")
_CLOCK = {"hour": (23, 3600 * SECOND), "minute": (59, 60 * SECOND), "second": (59, SECOND)}
_FRACTIONS = {"millisecond": 1_000_000, "microsecond": 1_000, "nanosecond": 1}


def day_from(parts: Mapping[str, int], base: int | None = None) -> int:
    """The day of `DATE_PARTS`, since 1970-01-01. ValueProblem : there is none, or a part is missing."""
    used = [way for way in _WAYS if any(part in parts for part in way)]
    if len(used) > 1:
        named = " and ".join(next(part for part in way if part in parts) for way in used[:2])
        raise ValueProblem("argument", f"A date cannot have {named}.")
    if "year" in parts:
        _check("year", parts["year"], FIRST_YEAR, LAST_YEAR)
    elif base is None:
        raise ValueProblem("argument", "A date needs a year.", "Give it, or a date that has one.")
    match used:
        case [("week", _)]:
            return _of_week(parts, base)
        case [("quarter", _)]:
            return _of_quarter(parts, base)
        case [("ordinalDay",)]:
            first = day_of(_year(parts, base), 1, 1)
            length = day_of(_year(parts, base) + 1, 1, 1) - first
            return first + _check("ordinalDay", parts["ordinalDay"], 1, length) - 1
        case _:
            return _of_month(parts, base)


def _of_month(parts: Mapping[str, int], base: int | None) -> int:
    year, month, day = (0, 1, 1) if base is None else year_month_day(base)
    if base is None and "day" in parts:
        _needs(parts, "month", "day")
    year, month = parts.get("year", year), _check("month", parts.get("month", month), 1, 12)
    length = month_length(year, month)
    if "day" in parts:
        return day_of(year, month, _check("day", parts["day"], 1, length))
    return day_of(year, month, min(day, length))


def _of_week(parts: Mapping[str, int], base: int | None) -> int:
    year, week, weekday = (0, 1, 1) if base is None else week_of(base)
    if base is None:
        _needs(parts, "week", "dayOfWeek")
    year = parts.get("year", year)
    last = week_of(day_of(year, 12, 28))[1]  # that day is always of the last week
    week = _check("week", parts["week"], 1, last) if "week" in parts else min(week, last)
    return day_of_week(year, week, _check("dayOfWeek", parts.get("dayOfWeek", weekday), 1, 7))


def _of_quarter(parts: Mapping[str, int], base: int | None) -> int:
    if base is None:
        _needs(parts, "quarter", "dayOfQuarter")
    quarter, day = (1, 1) if base is None else quarter_of(base)
    quarter = _check("quarter", parts.get("quarter", quarter), 1, 4)
    year = _year(parts, base)
    first = day_of(year, 3 * quarter - 2, 1)
    length = day_of(year, 3 * quarter, month_length(year, 3 * quarter)) - first + 1
    if "dayOfQuarter" in parts:
        return first + _check("dayOfQuarter", parts["dayOfQuarter"], 1, length) - 1
    return first + min(day, length) - 1


def quarter_of(day: int) -> tuple[int, int]:
    """The quarter of a day, and the day of the quarter, both from 1."""
    year, month, _ = year_month_day(day)
    quarter = (month + 2) // 3
    return quarter, day - day_of(year, 3 * quarter - 2, 1) + 1


def _year(parts: Mapping[str, int], base: int | None) -> int:
    return parts["year"] if base is None else parts.get("year", year_month_day(base)[0])


def time_from(parts: Mapping[str, int], base: int | None = None) -> int:
    """Nanoseconds since midnight of `TIME_PARTS`. ValueProblem : there is no such time, or a part is missing."""
    if base is None:
        _need_coarser(parts)
    time = base or 0
    total = 0
    for part, (most, unit) in _CLOCK.items():
        count = _check(part, parts[part], 0, most) if part in parts else time // unit % (most + 1)
        total += count * unit
    return total + _fraction(parts, time % SECOND)


def _need_coarser(parts: Mapping[str, int]) -> None:
    """An hour, and each unit above the finest: 12:31 has an hour, and :31 is no time."""
    finest = [part for part in TIME_PARTS if part in parts][-1:]
    for part in _CLOCK:
        if part not in parts and (part == "hour" or (finest != [] and _above(part, finest[0]))):
            raise ValueProblem(
                "argument", f"A time needs {_article(part)}.", "Give it, or a time that has one."
            )


def _above(part: str, finest: str) -> bool:
    return TIME_PARTS.index(part) < TIME_PARTS.index(finest)


def _article(part: str) -> str:
    return f"an {part}" if part == "hour" else f"a {part}"


def _fraction(parts: Mapping[str, int], base: int) -> int:
    """Nanoseconds of the second: each unit counts within the coarser one that is given beside it."""
    if not any(part in parts for part in _FRACTIONS):
        return base
    above, total = SECOND, 0
    for part, unit in _FRACTIONS.items():
        if part in parts:
            total += _check(part, parts[part], 0, above // unit - 1) * unit
            above = unit
    return total


def _needs(parts: Mapping[str, int], part: str, beside: str) -> None:
    if part not in parts:
        raise ValueProblem("argument", f"A date with a {beside} needs a {part}.")


def _check(part: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise ValueProblem("argument", f"{part} is {value}.", f"It must be {least} to {most} here.")
    return value
