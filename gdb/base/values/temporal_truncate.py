"""Truncation: the first moment of the unit that a value is in, with some parts changed after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gdb.base.values import temporal_make
from gdb.base.values.days import FIRST_YEAR, day_of, day_of_week, week_of, year_month_day
from gdb.base.values.duration import DAY, SECOND
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import TYPE_NAMES, Instant
from gdb.base.values.temporal_make import TemporalParts, TemporalType, parts_of
from gdb.records import replace

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value

_YEARS = {"millennium": 1000, "century": 100, "decade": 10, "year": 1}
_DATE_UNITS = (*_YEARS, "weekYear", "quarter", "month", "week")
_TIME_UNITS = {
    "day": DAY,
    "hour": 3600 * SECOND,
    "minute": 60 * SECOND,
    "second": SECOND,
    "millisecond": 1_000_000,
    "microsecond": 1_000,
}


def truncate(
    kind: TemporalType, unit: str, value: Instant, changes: Mapping[str, Value]
) -> Instant:
    """The beginning of the unit that a value is in, as another type perhaps, with the parts of `changes`.

    A timezone among the changes is where the result is, whatever the value's was. ValueProblem : the type has no such
    unit, or cannot be made of the value.
    """
    if unit not in _units(kind):
        raise ValueProblem(
            "argument",
            f"A {kind.name} cannot be truncated to {unit!r}.",
            f"It can to {', '.join(_units(kind))}.",
        )
    parts = parts_of(value)
    if kind.lacks(parts):
        raise ValueProblem(
            "argument", f"A {TYPE_NAMES[type(value)]} cannot be truncated to a {kind.name}."
        )
    base, counts, zone = (
        _begin(unit, parts),
        temporal_make.counts_in(kind, changes),
        temporal_make.zone_in(changes),
    )
    if zone is not None and not kind.has_zone:
        raise ValueProblem("argument", f"A {kind.name} has no timezone.")
    if zone is not None:
        base = replace(base, zone=zone, offset=None)
    return temporal_make.assemble_temporal(kind, _beside(unit, counts, base.time or 0), base)


def _units(kind: TemporalType) -> tuple[str, ...]:
    return (*_DATE_UNITS * kind.has_day, *(tuple(_TIME_UNITS) if kind.has_time else ("day",)))


def _begin(unit: str, parts: TemporalParts) -> TemporalParts:
    if unit in _TIME_UNITS:
        length, time = _TIME_UNITS[unit], parts.time or 0  # a date begins at midnight
        return replace(parts, time=time // length * length)
    if parts.day is None:
        return parts
    return replace(parts, day=_first_day(unit, parts.day), time=0)


def _first_day(unit: str, day: int) -> int:
    year, month, _ = year_month_day(day)
    if unit in _YEARS:
        return day_of(max(year // _YEARS[unit] * _YEARS[unit], FIRST_YEAR), 1, 1)
    week_year, week, _ = week_of(day)
    match unit:
        case "weekYear":
            return day_of_week(week_year, 1, 1)
        case "quarter":
            return day_of(year, (month - 1) // 3 * 3 + 1, 1)
        case "month":
            return day_of(year, month, 1)
        case _:
            return day_of_week(week_year, week, 1)


def _beside(unit: str, counts: dict[str, int], time: int) -> dict[str, int]:
    """The changes, and the part of the second that a finer one counts within: after truncation to milliseconds,
    {nanosecond: 2} leaves those."""
    if unit == "millisecond" and ("microsecond" in counts or "nanosecond" in counts):
        return {"millisecond": time // 1_000_000 % 1_000, **counts}
    if unit == "microsecond" and "nanosecond" in counts and "millisecond" not in counts:
        return {"microsecond": time // 1_000 % 1_000_000, **counts}
    return counts
