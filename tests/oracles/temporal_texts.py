"""Texts of dates, datetimes and durations read by Python's datetime, where the importer reads them in SQL."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

from gdb.storage.columns.model import Kind
from gdb.storage.columns.temporal import (
    _DATE,
    _DATETIME,
    _DURATION,
    _ENDS,
    _HOUR,
    _MINUTE,
    _SECOND,
    DAY,
    LONGEST,
    Temporal,
)


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
