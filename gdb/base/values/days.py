"""Days of the Gregorian calendar as numbers since 1970-01-01, also of years that Python's own dates do not reach.

The calendar repeats every 400 years, weekdays included, so that Python's `datetime` computes a day in the cycle that
begins with the year 2000.
"""

from __future__ import annotations

from datetime import date as PythonDate

FIRST_YEAR, LAST_YEAR = -999_999_999, 999_999_999
CYCLE = 146_097  # days of 400 years
_EPOCH = PythonDate(1970, 1, 1).toordinal()
_START = PythonDate(2000, 1, 1).toordinal()


def year_month_day(day: int) -> tuple[int, int, int]:
    """The year, month and day of month of a day."""
    years, python = _in_cycle(day)
    return python.year + years, python.month, python.day


def week_of(day: int) -> tuple[int, int, int]:
    """The ISO 8601 week of a day: the year that the week counts for, the week, the weekday from Monday, 1."""
    years, python = _in_cycle(day)
    year, week, weekday = python.isocalendar()
    return year + years, week, weekday


def day_of(year: int, month: int, day: int) -> int:
    """The day of a year, month and day of month. ValueError : there is none."""
    cycles, rest = divmod(year, 400)
    return PythonDate(2000 + rest, month, day).toordinal() - _EPOCH + (cycles - 5) * CYCLE


def day_of_week(year: int, week: int, weekday: int) -> int:
    """The day of an ISO 8601 week. ValueError : there is none."""
    cycles, rest = divmod(year, 400)
    python = PythonDate.fromisocalendar(2000 + rest, week, weekday)
    return python.toordinal() - _EPOCH + (cycles - 5) * CYCLE


def month_length(year: int, month: int) -> int:
    """The days of a month."""
    after = (year, month + 1) if month < 12 else (year + 1, 1)
    return day_of(*after, 1) - day_of(year, month, 1)


def plus_months(day: int, months: int) -> int:
    """The same day of another month, or the last one where that month is shorter."""
    year, month, of_month = year_month_day(day)
    years, index = divmod(month - 1 + months, 12)
    year, month = year + years, index + 1
    return day_of(year, month, min(of_month, month_length(year, month)))


def _in_cycle(day: int) -> tuple[int, PythonDate]:
    """The day in the years 2000 to 2399, and the years between it and the day."""
    cycles, rest = divmod(day + _EPOCH - _START, CYCLE)
    return 400 * cycles, PythonDate.fromordinal(_START + rest)


FIRST_DAY, LAST_DAY = day_of(FIRST_YEAR, 1, 1), day_of(LAST_YEAR, 12, 31)
