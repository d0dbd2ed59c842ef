"""Times as SQL: fields of dates, local datetimes and durations, truncation, and arithmetic with durations.

Columns have the years 1 to 9999, microseconds, and durations of seconds alone (as microseconds). What leaves these is
an error of SQL that sends the query to rows (`NOT_IN_COLUMNS`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gdb.base.sql import binary, call, cast, chosen, exp
from gdb.executor.relational.python_functions import NOT_IN_COLUMNS
from gdb.functions.function import Made
from gdb.functions.sql_pieces import compared, number, string
from gdb.functions.types import DATE, DATETIME, DURATION, INTEGER, Type, Typed, TypeName, sql_type
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.base.values.duration import Duration

_SECOND, _DAY = 1_000_000, 86_400_000_000  # microseconds
_DAY_NANOSECONDS = 1_000 * _DAY
_FARTHEST = 4_000_000  # days: more than there are from the year 1 to 9999
DATED = (TypeName.DATE, TypeName.DATETIME)
_Field = Callable[[exp.Expr], exp.Expr]


def _whole(value: exp.Expr) -> exp.Expr:
    return cast(value, "BIGINT")


def _add(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=binary(exp.Add, left, right))


def _sub(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=binary(exp.Sub, left, right))


def _div(value: exp.Expr, by: int) -> exp.Expr:
    """Rounded towards zero."""
    return exp.Paren(this=binary(exp.IntDiv, value, number(by)))


def _mod(value: exp.Expr, by: int) -> exp.Expr:
    """With the sign of the value."""
    return exp.Paren(this=binary(exp.Mod, value, number(by)))


def _rest(value: exp.Expr, by: int) -> exp.Expr:
    """From 0 to below `by`."""
    return _mod(_add(_mod(value, by), number(by)), by)


def _floored(value: exp.Expr, by: int) -> exp.Expr:
    return _div(_sub(value, _rest(value, by)), by)


# ---- fields ----------------------------------------------------------------------------------------


def _called(name: str) -> _Field:
    return lambda value: _whole(call(name, value))


def _of_quarter(value: exp.Expr) -> exp.Expr:
    begin = cast(call("date_trunc", string("quarter"), value), "DATE")
    return _whole(_add(_sub(cast(value, "DATE"), begin), number(1)))


def _of_second(value: exp.Expr) -> exp.Expr:
    """Microseconds; DuckDB counts those of the minute."""
    return _mod(_whole(call("microsecond", value)), _SECOND)


_OF_DAY: Mapping[str, _Field] = {
    "year": _called("year"),
    "quarter": _called("quarter"),
    "month": _called("month"),
    "week": _called("week"),
    "weekYear": _called("isoyear"),
    "dayOfQuarter": _of_quarter,
    "quarterDay": _of_quarter,
    "day": _called("day"),
    "ordinalDay": _called("dayofyear"),
    "dayOfWeek": _called("isodow"),
    "weekDay": _called("isodow"),
}
_OF_TIME: Mapping[str, _Field] = {
    "hour": _called("hour"),
    "minute": _called("minute"),
    "second": _called("second"),
    "millisecond": lambda value: _div(_of_second(value), 1_000),
    "microsecond": _of_second,
    "nanosecond": lambda value: binary(exp.Mul, _of_second(value), number(1_000)),
}
_OF_MONTHS: Mapping[str, _Field] = {
    "years": lambda months: _div(months, 12),
    "quarters": lambda months: _div(months, 3),
    "months": lambda months: months,
    "quartersOfYear": lambda months: _div(_mod(months, 12), 3),
    "monthsOfYear": lambda months: _mod(months, 12),
    "monthsOfQuarter": lambda months: _mod(months, 3),
}
_OF_DAYS: Mapping[str, _Field] = {
    "weeks": lambda days: _div(days, 7),
    "days": lambda days: days,
    "daysOfWeek": lambda days: _mod(days, 7),
}


def _seconds(length: exp.Expr) -> exp.Expr:
    return _floored(length, _SECOND)


# nanoseconds of a whole length may leave 64 bits
_OF_LENGTH: Mapping[str, _Field] = {
    "hours": lambda length: _div(_seconds(length), 3600),
    "minutes": lambda length: _div(_seconds(length), 60),
    "seconds": _seconds,
    "minutesOfHour": lambda length: _mod(_div(_seconds(length), 60), 60),
    "secondsOfMinute": lambda length: _mod(_seconds(length), 60),
    "milliseconds": lambda length: _floored(length, 1_000),
    "microseconds": lambda length: length,
    "millisecondsOfSecond": lambda length: _div(_rest(length, _SECOND), 1_000),
    "microsecondsOfSecond": lambda length: _rest(length, _SECOND),
    "nanosecondsOfSecond": lambda length: binary(exp.Mul, _rest(length, _SECOND), number(1_000)),
}


def field_of(value: Typed, key: str) -> Typed | None:
    """A field of a date, a datetime or a duration, an integer; None where the value has none of the name."""
    match value.kind:
        case TypeName.DATE:
            return _field(_OF_DAY, key, value.sql)
        case TypeName.DATETIME:
            return _field({**_OF_DAY, **_OF_TIME}, key, value.sql)
        case TypeName.DURATION:
            nothing = binary(exp.Mul, value.sql, number(0))  # which is null of null
            return Distance(nothing, nothing, value.sql).field(key)
    return None


def time_field(value: Typed, key: str) -> Typed | None:
    """A field of the time of day of a datetime; None where there is none of the name, or for another value."""
    return _field(_OF_TIME, key, value.sql) if value.kind is TypeName.DATETIME else None


def _field(table: Mapping[str, _Field], key: str, value: exp.Expr) -> Typed | None:
    return Typed(table[key](value), INTEGER) if key in table else None


# ---- distances -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Distance:
    """A duration whose parts are SQL: months, days, and a length in microseconds. A column has it where the first two
    are nothing."""

    months: exp.Expr
    days: exp.Expr
    length: exp.Expr

    def field(self, key: str) -> Typed | None:
        """A field, an integer; None where a duration has none of the name."""
        for table, part in (
            (_OF_MONTHS, self.months),
            (_OF_DAYS, self.days),
            (_OF_LENGTH, self.length),
        ):
            if key in table:
                return _field(table, key, part)
        return None


def distance(name: str, first: Typed, second: Typed) -> Distance | None:
    """duration.between() and its like of two dates or datetimes; None for others."""
    if not {first.kind, second.kind} <= {*DATED}:
        return None
    begin, end = (cast(one.sql, "TIMESTAMP") for one in (first, second))
    length = _sub(call("epoch_us", end), call("epoch_us", begin))
    nothing = binary(exp.Mul, length, number(0))  # which is null of null
    match name:
        case "duration.inseconds":
            return Distance(nothing, nothing, length)
        case "duration.indays":
            return Distance(nothing, _div(length, _DAY), nothing)
        case "duration.inmonths":
            return Distance(_months(begin, end), nothing, nothing)
        case "duration.between":
            months = _months(begin, end)
            later = call("epoch_us", _add(begin, call("to_months", cast(months, "INTEGER"))))
            length = _sub(call("epoch_us", end), later)
            return Distance(months, _div(length, _DAY), _mod(length, _DAY))
    return None


def _months(begin: exp.Expr, end: exp.Expr) -> exp.Expr:
    """Whole months, of whole days, as java.time counts them."""
    first, last = cast(begin, "DATE"), cast(end, "DATE")
    early, late = (
        compared(node, cast(end, "TIME"), cast(begin, "TIME")) for node in (exp.LT, exp.GT)
    )
    last = chosen(
        (exp.And(this=compared(exp.GT, last, first), expression=early), _sub(last, number(1))),
        (exp.And(this=compared(exp.LT, last, first), expression=late), _add(last, number(1))),
        default=last,
    )
    years = _sub(_OF_DAY["year"](last), _OF_DAY["year"](first))
    months = _add(
        binary(exp.Mul, years, number(12)),
        _sub(_OF_DAY["month"](last), _OF_DAY["month"](first)),
    )
    of_last, of_first = _OF_DAY["day"](last), _OF_DAY["day"](first)
    none = number(0)
    return chosen(
        (
            exp.And(
                this=compared(exp.GT, months, none),
                expression=compared(exp.LT, of_last, of_first),
            ),
            _sub(months, number(1)),
        ),
        (
            exp.And(
                this=compared(exp.LT, months, none),
                expression=compared(exp.GT, of_last, of_first),
            ),
            _add(months, number(1)),
        ),
        default=months,
    )


def in_seconds(first: Typed, second: Typed) -> Made:
    """The SQL of duration.inSeconds(), which a column has."""
    found = distance("duration.inseconds", first, second)
    return None if found is None else Typed(found.length, DURATION)


# ---- truncation ------------------------------------------------------------------------------------

_YEARS = {"millennium": 1000, "century": 100, "decade": 10}
_UNITS = {"year": "year", "weekYear": "isoyear", "quarter": "quarter", "month": "month"}
_UNITS |= {"week": "week", "day": "day"}
_SHORT = ("hour", "minute", "second", "millisecond", "microsecond")
_MADE: Mapping[str, Type] = {"date": DATE, "localdatetime": DATETIME}


def truncated(kind: str, unit: Typed, *values: Typed) -> Made:
    """The SQL of date.truncate() and localdatetime.truncate() to a unit that is known before the query runs. kind :
    "date" or "localdatetime"."""
    if unit.constant is None or len(values) != 1 or values[0].kind not in DATED:
        return None
    type_, name, value = _MADE[kind], unit.constant.value, values[0].sql
    if name in _YEARS:
        by = _YEARS[str(name)]
        year = _OF_DAY["year"](value)
        first = call("make_date", _sub(year, _mod(year, by)), number(1), number(1))
        early = compared(exp.LT, year, number(by))  # the year 0
        return Typed(chosen((early, _leaves()), default=cast(first, sql_type(type_))), type_)
    if type_ is DATETIME and name in _SHORT:
        value = cast(value, "TIMESTAMP")
        return Typed(call("date_trunc", string(str(name)), value), type_)
    if name not in _UNITS:
        return None
    begin = call("date_trunc", string(_UNITS[str(name)]), value)
    return Typed(cast(begin, sql_type(type_)), type_)


def _leaves() -> exp.Expr:
    """The error that a value leaves what columns have."""
    return call("error", string(NOT_IN_COLUMNS))


# ---- arithmetic ------------------------------------------------------------------------------------


def later(value: Typed, by: Typed | Duration, sign: int) -> Typed | None:
    """A date or a datetime, more or less a duration of a column, or one that is known; None where that one has
    nanoseconds, or is longer than the years of columns. sign : 1 or -1."""
    if not isinstance(by, Typed):
        return _later_by(value, by if sign > 0 else -by)
    length = by.sql if sign > 0 else exp.Paren(this=exp.Neg(this=exp.Paren(this=by.sql)))
    if value.kind is TypeName.DATE:
        made = binary(exp.Add, value.sql, cast(_div(length, _DAY), "INTEGER"))
    else:
        made = binary(exp.Add, value.sql, call("to_microseconds", length))
    far = exp.Not(
        this=exp.Between(this=by.sql, low=number(-_FARTHEST * _DAY), high=number(_FARTHEST * _DAY))
    )
    return Typed(chosen((far, _leaves()), default=_within(made, value.type)), value.type)


def _later_by(value: Typed, by: Duration) -> Typed | None:
    if (
        by.nanoseconds % 1_000
        or max(abs(by.months) * 28, abs(by.days), abs(by.length) // _DAY_NANOSECONDS) > _FARTHEST
    ):
        return None
    made = value.sql
    if by.months:
        made = _add(made, call("to_months", number(by.months)))
    if value.kind is TypeName.DATE:
        days = by.days + _whole_days(by.length)
        made = _add(cast(made, "DATE"), number(days))
    else:
        made = _add(made, call("to_days", number(by.days)))
        made = _add(made, call("to_microseconds", number(by.length // 1_000)))
    return Typed(_within(made, value.type), value.type)


def _whole_days(length: int) -> int:
    """Rounded towards zero."""
    days = abs(length) // _DAY_NANOSECONDS
    return days if length >= 0 else -days


def _within(made: exp.Expr, type_: Type) -> exp.Expr:
    """The value, in the years that columns have."""
    of = sql_type(type_)
    ends = ("0001-01-01", "9999-12-31" + " 23:59:59.999999" * (type_ == DATETIME))
    low, high = (cast(string(end), of) for end in ends)
    made = cast(made, of)
    outside = exp.Not(this=exp.Between(this=exp.Paren(this=made), low=low, high=high))
    return chosen((outside, _leaves()), default=made)
