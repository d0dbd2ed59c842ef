"""The ISO 8601 texts that the language reads: dates, times, both, and durations (CIP2015-08-06).

How they are written is `str` of a value.
"""

from __future__ import annotations

import re
from fractions import Fraction

from gdb.base.values.duration import SECOND, Duration, duration_of_units
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import Date, DateTime, LocalDateTime, LocalTime, Time
from gdb.base.values.temporal_parts import day_from, time_from
from gdb.base.values.zones import DAY_SECONDS, Zone, offsets_of_local, zone_named, zone_of

# the digits of a signed year are taken whole: no month may begin among them
_YEAR = r"(?P<year>\d{4}|[+-]\d{1,9}(?!\d))"
_DATES = tuple(
    re.compile(_YEAR + rest, re.ASCII)
    for rest in (
        r"(?:(?P<dash>-?)(?P<month>\d\d)(?:(?P=dash)(?P<day>\d\d))?)?",
        r"(?P<dash>-?)W(?P<week>\d\d)(?:(?P=dash)(?P<dayOfWeek>\d))?",
        r"(?P<dash>-?)Q(?P<quarter>\d)(?:(?P=dash)(?P<dayOfQuarter>\d\d))?",
        r"-?(?P<ordinalDay>\d{3})",
    )
)
_TIME = (
    r"(?P<hour>\d\d)"
    r"(?:(?P<colon>:?)(?P<minute>\d\d)(?:(?P=colon)(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?)?"
)
_LOCAL_TIME = re.compile(_TIME, re.ASCII)
_TIME_AND_OFFSET = re.compile(_TIME + r"(?P<offset>[Zz]|[+-][\d:]+)?", re.ASCII)
_ZONE_NAME = re.compile(r"(.*)\[([^\[\]]*)\]", re.ASCII)

_COUNT = r"([+-]?\d+(?:[.,]\d+)?)"
_DURATION = re.compile(
    rf"(?P<sign>[+-]?)P(?:{_COUNT}Y)?(?:{_COUNT}M)?(?:{_COUNT}W)?(?:{_COUNT}D)?"
    rf"(?:T(?:{_COUNT}H)?(?:{_COUNT}M)?(?:{_COUNT}S)?)?",
    re.ASCII,
)
_UNITS = ("years", "months", "weeks", "days", "hours", "minutes", "seconds")
_DURATION_AS_DATE = re.compile(
    r"P(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d(?:[.,]\d{1,9})?)", re.ASCII
)
_AS_DATE_UNITS = ("years", "months", "days", "hours", "minutes", "seconds")
_MOST_DIGITS = 40  # a text of more is no number that fits, and Python takes long over it

_CURES = {
    "date": "Write it as 2015-07-21, 2015-W30-2, 2015-202 or 2015-Q3-21.",
    "localtime": "Write it as 21:40:32.142.",
    "time": "Write it as 21:40:32.142+01:00.",
    "localdatetime": "Write it as 2015-07-21T21:40:32.142.",
    "datetime": "Write it as 2015-07-21T21:40:32.142+01:00 or 2015-07-21T21:40[Europe/Stockholm].",
    "duration": "Write it as P1Y2M3DT4H5M6.7S.",
}


def parse_date(text: str) -> Date:
    """The date that a text writes, as do the next for the other types. ValueProblem : it writes none."""
    return Date(_day(text, text, "date"))


def parse_local_time(text: str) -> LocalTime:
    """A time of day without an offset, as ISO 8601 writes it. Raises ValueProblem, as the next ones."""
    return LocalTime(_time(_matched(_LOCAL_TIME, text, text, "localtime")))


def parse_time(text: str) -> Time:
    """A time of day with its offset from UTC."""
    found = _matched(_TIME_AND_OFFSET, text, text, "time")
    offset = zone_of(found["offset"] or "Z")
    assert isinstance(offset, int)  # the pattern lets no name through
    return Time(_time(found), offset)


def parse_local_datetime(text: str) -> LocalDateTime:
    """A day and a time of day without an offset."""
    day, separator, time = text.partition("T")
    days = _day(day, text, "localdatetime")
    if not separator:
        return LocalDateTime(days)
    return LocalDateTime(days, _time(_matched(_LOCAL_TIME, time, text, "localdatetime")))


def parse_datetime(text: str) -> DateTime:
    """Without an offset or the name of a zone, at UTC. An offset beside a name must be one that the zone has then."""
    named_zone = _ZONE_NAME.fullmatch(text)
    local, name = (text, "") if named_zone is None else (named_zone[1], named_zone[2])
    day, separator, time = local.partition("T")
    days, nanoseconds, offset = _day(day, text, "datetime"), 0, None
    if separator:
        found = _matched(_TIME_AND_OFFSET, time, text, "datetime")
        nanoseconds = _time(found)
        offset = zone_of(found["offset"]) if found["offset"] else None
    if named_zone is None:
        return DateTime.of_local(days, nanoseconds, offset or 0)
    zone_named(name)
    return _in_named(text, days, nanoseconds, name, offset)


def _in_named(text: str, days: int, nanoseconds: int, name: str, offset: Zone | None) -> DateTime:
    seconds = days * DAY_SECONDS + nanoseconds // SECOND
    if offset is not None and offset not in offsets_of_local(name, seconds):
        raise ValueProblem(
            "argument",
            f"{text!r} has an offset that {name} has not then.",
            "Leave one of them out.",
        )
    return DateTime.of_local(days, nanoseconds, name, offset if isinstance(offset, int) else None)


def parse_duration(text: str) -> Duration:
    """The duration that a text writes: P1Y2M3W4DT5H6M7.8S, each part with a sign and a fraction if need be, or
    P2012-02-02T14:37:21.545. ValueProblem : it writes none."""
    if (as_date := _DURATION_AS_DATE.fullmatch(text)) is not None:
        return _of_counts(_AS_DATE_UNITS, as_date.groups(), 1)
    found = _DURATION.fullmatch(text)
    digits = max((len(part) for part in re.findall(r"[\d.,]+", text)), default=0)
    if found is None or text[-1] in "PT" or digits > _MOST_DIGITS:
        raise _misread(text, "duration")
    return _of_counts(_UNITS, found.groups()[1:], -1 if found["sign"] == "-" else 1)


def _of_counts(units: tuple[str, ...], counts: tuple[str | None, ...], sign: int) -> Duration:
    return duration_of_units(
        {
            unit: sign * Fraction(count.replace(",", "."))
            for unit, count in zip(units, counts, strict=True)
            if count is not None
        }
    )


def _day(text: str, whole: str, kind: str) -> int:
    for pattern in _DATES:
        if (found := pattern.fullmatch(text)) is not None:
            parts = found.groupdict()
            parts.pop("dash", None)
            return day_from({part: int(digits) for part, digits in parts.items() if digits})
    raise _misread(whole, kind)


def _time(found: re.Match[str]) -> int:
    parts = {part: int(found[part]) for part in ("hour", "minute", "second") if found[part]}
    if found["fraction"]:
        parts["nanosecond"] = int(found["fraction"].ljust(9, "0"))
    return time_from(parts)


def _matched(pattern: re.Pattern[str], text: str, whole: str, kind: str) -> re.Match[str]:
    if (found := pattern.fullmatch(text)) is None:
        raise _misread(whole, kind)
    return found


def _misread(text: str, kind: str) -> ValueProblem:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return ValueProblem("argument", f"{shown!r} is no {kind}.", _CURES[kind])
