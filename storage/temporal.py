"""Dates, datetimes and durations: the numbers they are stored as, and their ISO 8601 texts.

A text means the same to the importer (in SQL) and to a query (in Python): both go by the patterns here. A datetime has
no zone; one that comes with a zone is turned into UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from gdb.storage.model import Kind

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

# for Python's re and for DuckDB's RE2 alike
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


def parse(text: str, kind: Kind) -> Temporal:
    """The date, datetime or duration that a text writes.

    Raises
    ------
    ValueError : it writes none.
    """
    return _PARSERS[kind](text)


def _parse_date(text: str) -> date:
    found = _matched(_DATE, text)
    return date.fromisoformat(found[1])


def _parse_datetime(text: str) -> datetime:
    found = _matched(_DATETIME, text)
    try:
        local = datetime.fromisoformat(f"{found[1]}T{found[2] or '00:00'}")
        offset = timedelta(hours=int(found[4] or 0), minutes=int(found[5] or 0))
        return local + offset if found[3] == "-" else local - offset
    except OverflowError:
        raise ValueError(f"{text!r} is before the year 1 or after 9999") from None


def _parse_duration(text: str) -> timedelta:
    found = _matched(_DURATION, text)
    if not re.fullmatch(_ENDS, text, re.ASCII):
        raise ValueError(f"{text!r} has no parts")
    weeks, days, hours, minutes = (int(found[k] or 0) for k in range(2, 6))
    seconds = int(found[7] or 0) * _SECOND + int((found[8] or "0").ljust(6, "0"))
    total = (7 * weeks + days) * DAY + hours * _HOUR + minutes * _MINUTE
    total += -seconds if found[6] == "-" else seconds
    if abs(total) > LONGEST:
        raise ValueError(f"{text!r} is too long")
    return timedelta(microseconds=-total if found[1] == "-" else total)


def _matched(pattern: str, text: str) -> re.Match[str]:
    found = re.fullmatch(pattern, text, re.ASCII)
    if found is None:
        raise ValueError(f"{text!r} is written otherwise")
    return found


_PARSERS: dict[Kind, Callable[[str], Temporal]] = {
    "date": _parse_date,
    "datetime": _parse_datetime,
    "duration": _parse_duration,
}


def text_of(value: Temporal | time) -> str:
    """The ISO 8601 text: 2000-12-31, 2000-12-31T23:59:59.5, -P1DT2H30M1.5S; behind a time with a zone its offset, and
    the zone's name where it has one: 23:59:59Z, 2000-12-31T23:59:59+01:00[Europe/Stockholm].

    Examples
    --------
    >>> text_of(datetime(2000, 12, 31, 23, 59, 59, 500_000))
    '2000-12-31T23:59:59.5'
    >>> text_of(-timedelta(days=1, hours=2))
    '-P1DT2H'
    """
    if isinstance(value, timedelta):
        return _duration_text(length_of(value))
    if not isinstance(value, (datetime, time)):
        return value.isoformat()
    local = value.replace(tzinfo=None).isoformat()
    text = local.rstrip("0") if "." in local else local
    if value.tzinfo is None:
        return text
    offset = value.isoformat()[len(local) :]
    name = getattr(value.tzinfo, "key", None)  # of a zoneinfo.ZoneInfo
    return text + ("Z" if offset == "+00:00" else offset) + (f"[{name}]" if name else "")


def _duration_text(length: int) -> str:
    days, rest = divmod(abs(length), DAY)
    hours, rest = divmod(rest, _HOUR)
    minutes, rest = divmod(rest, _MINUTE)
    seconds = f"{rest // _SECOND}.{rest % _SECOND:06}".rstrip("0").rstrip(".")
    time = f"{hours}H" * bool(hours) + f"{minutes}M" * bool(minutes) + f"{seconds}S" * bool(rest)
    if not days and not time:
        return "PT0S"
    return "-" * (length < 0) + "P" + f"{days}D" * bool(days) + f"T{time}" * bool(time)


# ---- SQL -------------------------------------------------------------------------------------------


def read_sql(text: str, kind: Kind) -> str:
    """The value of a text in SQL (DATE, TIMESTAMP, BIGINT of microseconds); NULL where it writes none."""
    match kind:
        case "date":
            day = f"TRY_CAST(regexp_extract({text}, '^{_DATE}$', 1) AS DATE)"
            return _with("day", day, f"CASE WHEN {is_day('day')} THEN day END")
        case "datetime":
            parts = _parts(text, _DATETIME, ("day", "time", "sign", "hours", "minutes"))
            inside = f"instant BETWEEN {FIRST_INSTANT} AND {LAST_INSTANT}"
            value = f"CASE WHEN {inside} THEN make_timestamp(instant) END"
            return _with("parts", parts, _with("instant", _INSTANT, value))
        case _:
            parts = _parts(text, _DURATION, ("sign", "w", "d", "h", "m", "minus", "s", "fraction"))
            is_one = (
                f"regexp_full_match({text}, '{_DURATION}') AND regexp_full_match({text}, '{_ENDS}')"
            )
            # the least BIGINT is what NumPy takes for no duration
            length = f"nullif(TRY_CAST({_LENGTH} AS BIGINT), {-LONGEST} - 1)"
            return f"CASE WHEN {is_one} THEN {_with('parts', parts, length)} END"


def written_sql(value: str, kind: Kind) -> str:
    """The text of a value in SQL, as `text_of` writes it."""
    match kind:
        case "datetime":
            return f"replace(CAST({value} AS VARCHAR), ' ', 'T')"
        case "duration":
            return _written_duration(value)
        case _:
            return f"CAST({value} AS VARCHAR)"


def is_day(value: str) -> str:
    """Where a DATE is of the years 1 to 9999."""
    return f"{value} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"


def is_instant(value: str) -> str:
    """Where a TIMESTAMP is of the years 1 to 9999."""
    return f"{value} BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'"


def _with(name: str, value: str, body: str) -> str:
    """SQL in which a name stands for a value: DuckDB would evaluate it wherever it is written."""
    return f"list_transform([{value}], lambda {name}: {body})[1]"


def _parts(text: str, pattern: str, names: Sequence[str]) -> str:
    """The groups of a pattern as a struct of texts, empty where one is missing."""
    return f"regexp_extract({text}, '^{pattern}$', {list(names)})"


def _number(part: str) -> str:
    return f"coalesce(TRY_CAST(parts.{part} AS HUGEINT), 0)"


_INSTANT = (
    "epoch_us(TRY_CAST(parts.day || ' ' || coalesce(nullif(parts.time, ''), '00:00') AS TIMESTAMP))"
    " + CASE parts.sign WHEN '-' THEN 1 ELSE -1 END"
    " * (coalesce(TRY_CAST(parts.hours AS BIGINT), 0) * 60"
    f" + coalesce(TRY_CAST(parts.minutes AS BIGINT), 0)) * {_MINUTE}"
)
_LENGTH = (
    "CASE parts.sign WHEN '-' THEN -1 ELSE 1 END"
    f" * ({_number('w')} * {7 * DAY} + {_number('d')} * {DAY} + {_number('h')} * {_HOUR}"
    f" + {_number('m')} * {_MINUTE} + CASE parts.minus WHEN '-' THEN -1 ELSE 1 END"
    f" * ({_number('s')} * {_SECOND}"
    " + coalesce(TRY_CAST(rpad(parts.fraction, 6, '0') AS HUGEINT), 0)))"
)


def _written_duration(value: str) -> str:
    length = f"abs(CAST({value} AS HUGEINT))"
    rest = f"({length} % {_MINUTE})"
    parts = {
        "H": f"({length} % {DAY} // {_HOUR})",
        "M": f"({length} % {_HOUR} // {_MINUTE})",
    }
    counts = f"CAST({rest} // {_SECOND} AS BIGINT), CAST({rest} % {_SECOND} AS BIGINT)"
    fraction = f"rtrim(rtrim(printf('%d.%06d', {counts}), '0'), '.')"
    shown = [f"CASE WHEN {n} > 0 THEN {n} || '{unit}' ELSE '' END" for unit, n in parts.items()]
    shown.append(f"CASE WHEN {rest} > 0 THEN {fraction} || 'S' ELSE '' END")
    days = f"CASE WHEN {length} >= {DAY} THEN ({length} // {DAY}) || 'D' ELSE '' END"
    time = f"CASE WHEN {length} % {DAY} > 0 THEN 'T' || {' || '.join(shown)} ELSE '' END"
    sign = f"CASE WHEN {value} < 0 THEN '-P' ELSE 'P' END"
    return (
        f"CASE WHEN {value} = 0 THEN 'PT0S' WHEN {value} <> 0 THEN {sign} || {days} || {time} END"
    )
