"""Dates, datetimes and durations: the numbers they are stored as, and their ISO 8601 texts.

A datetime has no zone; one that comes with a zone is turned into UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gdb.base.sql import (
    between,
    binary,
    call,
    cast,
    chosen,
    column_of,
    equal,
    exp,
    joined,
    over_items,
    pasted,
    unequal,
    value_of,
)

if TYPE_CHECKING:
    from gdb.base.sql import Part

    from .model import Kind

Temporal: TypeAlias = date | timedelta
"""A date, a datetime (a subclass of it) or a timedelta."""

EPOCH = datetime(1970, 1, 1)
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # of the years 1 and 9999, in days since the epoch
DAY = 86_400_000_000  # in microseconds, as all below
_HOUR, _MINUTE, _SECOND = 3_600_000_000, 60_000_000, 1_000_000
FIRST_INSTANT, LAST_INSTANT = FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1
LONGEST = (1 << 63) - 1
_MICROSECOND = timedelta(microseconds=1)

KINDS: tuple[Kind, ...] = ("date", "datetime", "duration")
CURES: dict[Kind, str] = {
    "date": "Write it as 2000-12-31; years are 0001 to 9999.",
    "datetime": "Write it as 2000-12-31T23:59:59.999999, with Z or +01:00 where it has a zone.",
    "duration": "Write it as P1DT2H30M1.5S; months and years have no fixed length.",
}

# for DuckDB's RE2, and alike for Python's re
_DATE = r"\s*([0-9]{4}-[0-9]{2}-[0-9]{2})\s*"
_DATETIME = (
    r"\s*([0-9]{4}-[0-9]{2}-[0-9]{2})"
    # more digits would be lost, so that only zeros may follow the microseconds
    r"(?:[T ]((?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6}0*)?)?)"
    # the name of a zone behind its offset says nothing more
    r"(?:(?:Z|([+-])(0[0-9]|1[0-8])(?::?([0-5][0-9]))?)(?:\[[A-Za-z0-9_+/-]+\])?)?)?\s*"
)
_COUNT = r"([+-]?[0-9]{1,18})"
_DURATION = (
    rf"\s*([+-]?)P(?:{_COUNT}W)?(?:{_COUNT}D)?"
    rf"(?:T(?:{_COUNT}H)?(?:{_COUNT}M)?(?:([+-]?)([0-9]{{1,18}})(?:\.([0-9]{{1,6}})0*)?S)?)?\s*"
)
_ENDS = r".*[WDHMS]\s*"  # a duration has at least one part, and one after its T


# ---- Python ----------------------------------------------------------------------------------------


def day_of(value: date) -> int:
    """Days since 1970-01-01."""
    return value.toordinal() - EPOCH.toordinal()


def instant_of(value: datetime) -> int:
    """Microseconds since 1970-01-01T00:00, UTC where the value has a zone."""
    epoch = EPOCH if value.tzinfo is None else EPOCH.replace(tzinfo=UTC)
    return (value - epoch) // _MICROSECOND


def stored_instant(value: datetime) -> int:
    """The same for a column, whose datetimes are of the years 1 to 9999: one with a zone may leave them in UTC.

    Raises
    ------
    ValueError : it does.
    """
    instant = instant_of(value)
    if not FIRST_INSTANT <= instant <= LAST_INSTANT:
        raise ValueError("in UTC it is not of the years 1 to 9999")
    return instant


def stored_length(value: timedelta) -> int:
    """Microseconds of a duration for a column, in which -2**63 is none.

    Raises
    ------
    ValueError : it is beyond `LONGEST`.
    """
    length = length_of(value)
    if abs(length) > LONGEST:
        raise ValueError("it is not between -2**63 + 1 and 2**63 - 1 microseconds")
    return length


def length_of(value: timedelta) -> int:
    """Microseconds of a duration; may exceed 64 bits."""
    return value // _MICROSECOND


def of_numpy(value: np.datetime64 | np.timedelta64) -> object:
    """A date (of whole days), datetime or timedelta, parts of a microsecond cut off; None for NaT, an integer where
    Python has no such value."""
    if isinstance(value, np.timedelta64):
        return value.astype("timedelta64[us]").item()
    whole_days = np.datetime_data(value)[0] in ("Y", "M", "W", "D")
    return value.astype("datetime64[D]" if whole_days else "datetime64[us]").item()


def is_exact(value: np.datetime64 | np.timedelta64) -> bool:
    """Whether a time of NumPy is a whole number of microseconds that 64 bits hold; False for NaT.

    value : no length of months or years.
    """
    there = value.astype(f"{type(value).__name__}[us]")
    return bool(
        there.astype(value.dtype) == value
    )  # there and back: NumPy does not say that it overflows


def text_of(value: Temporal | time) -> str:
    """The ISO 8601 text that files have: 2000-12-31, 2000-12-31T23:59:59.5, PT26H30M1.5S; behind a time with a zone its
    offset, and the zone's name where it has one: 23:59:59Z, 2000-12-31T23:59:59+01:00[Europe/Stockholm]. A duration is
    written as toString() does: it is seconds alone, which are never written as days.

    Examples
    --------
    >>> text_of(datetime(2000, 12, 31, 23, 59, 59, 500_000))
    '2000-12-31T23:59:59.5'
    >>> text_of(-timedelta(days=1, hours=2))
    'PT-26H'
    """
    if isinstance(value, timedelta):
        from gdb.base.values.duration import Duration  # here: only their texts need it

        return str(Duration(0, 0, 0, length_of(value) * 1_000))
    if not isinstance(value, (datetime, time)):
        return value.isoformat()
    local = value.replace(tzinfo=None).isoformat()
    text = local.rstrip("0") if "." in local else local
    if value.tzinfo is None:
        return text
    offset = value.isoformat()[len(local) :]
    name = getattr(value.tzinfo, "key", None)  # of a zoneinfo.ZoneInfo
    return text + ("Z" if offset == "+00:00" else offset) + (f"[{name}]" if name else "")


# ---- SQL -------------------------------------------------------------------------------------------


def read_sql(text: Part, kind: Kind) -> exp.Expr:
    """The value of a text in SQL (DATE, TIMESTAMP, BIGINT of microseconds); NULL where it writes none."""
    match kind:
        case "date":
            found = call("regexp_extract", text, value_of(f"^{_DATE}$"), value_of(1))
            value = chosen((is_day("day"), column_of("day")))
            return _with("day", cast(found, "DATE", attempt=True), value)
        case "datetime":
            parts = _parts(text, _DATETIME, ("day", "time", "sign", "hours", "minutes"))
            inside = between("instant", value_of(FIRST_INSTANT), value_of(LAST_INSTANT))
            value = chosen((inside, call("make_timestamp", "instant")))
            return _with("parts", parts, _with("instant", _instant(), value))
        case _:
            parts = _parts(text, _DURATION, ("sign", "w", "d", "h", "m", "minus", "s", "fraction"))
            is_one = [call("regexp_full_match", text, value_of(x)) for x in (_DURATION, _ENDS)]
            # the least BIGINT is what NumPy takes for no duration
            least = binary(exp.Sub, value_of(-LONGEST), value_of(1))
            length = call("nullif", cast(_length(), "BIGINT", attempt=True), least)
            return chosen((joined(exp.And, is_one), _with("parts", parts, length)))


def written_sql(value: Part, kind: Kind) -> exp.Expr:
    """The text of a value in SQL, as `text_of` writes it."""
    match kind:
        case "datetime":
            return call("replace", cast(value, "VARCHAR"), value_of(" "), value_of("T"))
        case "duration":
            return _written_duration(value)
        case _:
            return cast(value, "VARCHAR")


def is_day(value: Part) -> exp.Expr:
    """Where a DATE is of the years 1 to 9999."""
    first, last = (cast(value_of(day), "DATE") for day in ("0001-01-01", "9999-12-31"))
    return between(value, first, last)


def is_instant(value: Part) -> exp.Expr:
    """Where a TIMESTAMP is of the years 1 to 9999."""
    bounds = "0001-01-01", "9999-12-31 23:59:59.999999"
    first, last = (cast(value_of(instant), "TIMESTAMP") for instant in bounds)
    return between(value, first, last)


def _with(name: str, value: exp.Expr, body: exp.Expr) -> exp.Expr:
    """SQL that binds a name to a value: DuckDB would evaluate the value wherever it is written."""
    one = exp.Array(expressions=[value])
    return call("list_extract", call("list_transform", one, over_items(name, body)), value_of(1))


def _parts(text: Part, pattern: str, names: Sequence[str]) -> exp.Expr:
    """The groups of a pattern as a struct of texts, empty where one is missing."""
    return call("regexp_extract", text, value_of(f"^{pattern}$"), value_of(names))


def _part(name: str) -> exp.Expr:
    return column_of(name, "parts")


def _number(text: exp.Expr, kind: str = "HUGEINT") -> exp.Expr:
    return call("coalesce", cast(text, kind, attempt=True), value_of(0))


def _if_minus(name: str, minus: int, plus: int) -> exp.Expr:
    """A number by the sign in a part."""
    is_minus = equal(_part(name), value_of("-"))
    return chosen((is_minus, value_of(minus)), default=value_of(plus))


def _times(value: Part, factor: int) -> exp.Expr:
    return binary(exp.Mul, value, value_of(factor))


def _instant() -> exp.Expr:
    """Microseconds since 1970 of the parts of a datetime."""
    time = call("coalesce", call("nullif", _part("time"), value_of("")), value_of("00:00"))
    local = cast(pasted(_part("day"), value_of(" "), time), "TIMESTAMP", attempt=True)
    hours, minutes = (_number(_part(name), "BIGINT") for name in ("hours", "minutes"))
    offset = _times(binary(exp.Add, _times(hours, 60), minutes), _MINUTE)
    signed = binary(exp.Mul, _if_minus("sign", 1, -1), offset)
    return binary(exp.Add, call("epoch_us", local), signed)


def _length() -> exp.Expr:
    """Microseconds of the parts of a duration."""
    fraction = _number(call("rpad", _part("fraction"), value_of(6), value_of("0")))
    seconds = binary(exp.Add, _times(_number(_part("s")), _SECOND), fraction)
    units = {"w": 7 * DAY, "d": DAY, "h": _HOUR, "m": _MINUTE}
    whole = [_times(_number(_part(name)), unit) for name, unit in units.items()]
    total = binary(exp.Add, *whole, binary(exp.Mul, _if_minus("minus", -1, 1), seconds))
    return binary(exp.Mul, _if_minus("sign", -1, 1), total)


def _written_duration(value: Part) -> exp.Expr:
    none, nothing = value_of(0), value_of("")
    length = call("abs", cast(value, "HUGEINT"))

    def rest(of: int) -> exp.Expr:
        return binary(exp.Mod, length, value_of(of))

    def whole(many: exp.Expr, unit: int) -> exp.Expr:
        return binary(exp.IntDiv, many, value_of(unit))

    def shown(many: exp.Expr, text: exp.Expr) -> exp.Expr:
        return chosen((binary(exp.GT, many, none), text), default=nothing)

    sign = chosen((binary(exp.LT, value, none), value_of("-")), default=nothing)
    parts = {"H": whole(length, _HOUR), "M": whole(rest(_HOUR), _MINUTE)}
    seconds, below = whole(rest(_MINUTE), _SECOND), rest(_SECOND)
    counts = [cast(many, "BIGINT") for many in (seconds, below)]
    fraction = call("printf", value_of("%d.%06d"), *counts)
    for zero in ("0", "."):
        fraction = call("rtrim", fraction, value_of(zero))
    texts = [shown(many, pasted(sign, many, value_of(unit))) for unit, many in parts.items()]
    texts.append(shown(rest(_MINUTE), pasted(sign, fraction, value_of("S"))))
    return chosen(
        (equal(value, none), value_of("PT0S")),
        (unequal(value, none), pasted(value_of("PT"), *texts)),
    )
