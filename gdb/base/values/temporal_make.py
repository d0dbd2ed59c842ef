"""Temporal values made of maps, of texts, of one another and of the present: what date(), time() and the others do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gdb.base.values.duration import DAY, SECOND, UNITS, Duration, duration_of_units, number_of
from gdb.base.values.naming import type_phrase
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import (
    TYPE_NAMES,
    Date,
    DateTime,
    Instant,
    LocalDateTime,
    LocalTime,
    Time,
)
from gdb.base.values.temporal_clock import statement_instant
from gdb.base.values.temporal_parts import DATE_PARTS, TIME_PARTS, day_from, time_from
from gdb.base.values.temporal_text import (
    parse_date,
    parse_datetime,
    parse_duration,
    parse_local_datetime,
    parse_local_time,
    parse_time,
)
from gdb.base.values.zones import Zone, offset_at, zone_of
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value


@dataclass(frozen=True, slots=True)
class TemporalParts:
    """What a value says, None where it does not: a day since 1970-01-01, nanoseconds since midnight, a place and its
    offset then."""

    day: int | None = None
    time: int | None = None
    zone: Zone | None = None
    offset: int | None = None


def parts_of(value: Instant) -> TemporalParts:
    """The parts that a temporal value has, None for each that it lacks."""
    match value:
        case Date():
            return TemporalParts(value.days)
        case LocalTime():
            return TemporalParts(None, value.nanoseconds)
        case Time():
            return TemporalParts(None, value.nanoseconds, value.offset, value.offset)
        case LocalDateTime():
            return TemporalParts(value.days, value.nanoseconds)
        case DateTime():
            return TemporalParts(value.days, value.nanoseconds, value.place, value.offset)


@dataclass(frozen=True, slots=True)
class TemporalType:
    """One of the five types. has_* : what its values say. parse : of a text. of_local : of a day, a time, the zone
    where a clock shows them, and the offset to prefer where it does so twice."""

    name: str
    has_day: bool
    has_time: bool
    has_zone: bool
    parse: Callable[[str], Instant]
    of_local: Callable[[int, int, Zone, int | None], Instant]

    def lacks(self, parts: TemporalParts) -> bool:
        """Whether no value can be made: what has a day has midnight too, but no time has a day."""
        return (parts.day if self.has_day else parts.time) is None


def _time_of_local(_: int, time: int, zone: Zone, preferred: int | None) -> Time:
    """A time has no day to find the offset of a named zone by, so that it goes by today's."""
    if isinstance(zone, int):
        return Time(time, zone)
    if preferred is not None:
        return Time(time, preferred)
    return Time(time, offset_at(zone, statement_instant() // SECOND))


DATE = TemporalType("date", True, False, False, parse_date, lambda day, *_: Date(day))
LOCAL_TIME = TemporalType(
    "localtime", False, True, False, parse_local_time, lambda _, time, *__: LocalTime(time)
)
TIME = TemporalType("time", False, True, True, parse_time, _time_of_local)
LOCAL_DATETIME = TemporalType(
    "localdatetime",
    True,
    True,
    False,
    parse_local_datetime,
    lambda day, time, *_: LocalDateTime(day, time),
)
DATETIME = TemporalType("datetime", True, True, True, parse_datetime, DateTime.of_local)
KINDS = (DATE, LOCAL_TIME, TIME, LOCAL_DATETIME, DATETIME)
UTC: Zone = 0

_ALIASES = {"weekDay": "dayOfWeek", "quarterDay": "dayOfQuarter"}
_EPOCHS = {"epochSeconds": SECOND, "epochMillis": 1_000_000}


def make(kind: TemporalType, value: Value) -> Instant:
    """The value that a text, a map or another temporal value gives. ValueProblem : it gives none."""
    match value:
        case str():
            return kind.parse(value)
        case dict():
            return of_map(kind, value)
        case _ if isinstance(value, Instant):
            return convert_temporal(kind, value)
        case _:
            raise ValueProblem(
                "argument",
                f"{kind.name}() does not take {type_phrase(value)}.",
                "It takes a text, a map, or another temporal value.",
            )


def make_duration(value: Value) -> Duration:
    """The duration that a text or a map gives. ValueProblem : it gives none."""
    match value:
        case Duration():
            return value
        case str():
            return parse_duration(value)
        case dict():
            return _duration_of_map(value)
        case _:
            raise ValueProblem(
                "argument",
                f"duration() does not take {type_phrase(value)}.",
                "It takes a text or a map.",
            )


def present(kind: TemporalType, instant: int, zone: Zone = UTC) -> Instant:
    """What a clock of the zone shows at an instant."""
    return convert_temporal(kind, DateTime.of_instant(instant, zone))


def convert_temporal(kind: TemporalType, value: Instant) -> Instant:
    """The value as another type: what that has not is left out, midnight and UTC are put in."""
    parts = parts_of(value)
    if kind.lacks(parts):
        raise ValueProblem(
            "argument", f"{kind.name}() cannot be made of a {TYPE_NAMES[type(value)]}."
        )
    return assemble_temporal(kind, {}, parts)


def of_map(kind: TemporalType, parts: Mapping[str, Value]) -> Instant:
    """The value of a map of parts, as {year: 1984, month: 10} or {date: other, hour: 12, timezone: '+01:00'}."""
    zone = zone_in(parts)
    if zone is not None and len(parts) == 1:
        return present(kind, statement_instant(), zone)
    if zone is not None and not kind.has_zone:
        raise ValueProblem("argument", f"A {kind.name} has no timezone.")
    counts, sources = _counts(kind, parts), _sources(kind, parts)
    base = _base(parts, sources)
    if "epochMillis" in parts and "nanosecond" in counts and base.time is not None:
        counts.setdefault("millisecond", base.time // 1_000_000 % 1_000)
    return assemble_temporal(kind, counts, base, zone)


def assemble_temporal(
    kind: TemporalType, counts: Mapping[str, int], base: TemporalParts, zone: Zone | None = None
) -> Instant:
    """The value of a base with some parts changed. zone : where its instant is to be shown, if it has a zone already;
    otherwise where it is."""
    day = _day(counts, base) if kind.has_day else 0
    time = _time(kind, counts, base) if kind.has_time else 0
    if base.zone is None or zone is None:
        place = base.zone if base.zone is not None else zone if zone is not None else UTC
        return kind.of_local(day, time, place, base.offset)
    return _shown_in(kind.of_local(day, time, base.zone, base.offset), zone)


def _day(counts: Mapping[str, int], base: TemporalParts) -> int:
    return day_from({part: n for part, n in counts.items() if part in DATE_PARTS}, base.day)


def _time(kind: TemporalType, counts: Mapping[str, int], base: TemporalParts) -> int:
    named = {part: n for part, n in counts.items() if part in TIME_PARTS}
    if kind.has_day and not named and base.time is None:
        return 0
    return time_from(named, base.time)


def _shown_in(value: Instant, zone: Zone) -> Instant:
    if isinstance(value, DateTime):
        return DateTime.of_instant(value.instant, zone)
    assert isinstance(value, Time)  # the only other type with a zone
    offset = zone if isinstance(zone, int) else offset_at(zone, statement_instant() // SECOND)
    return Time((value.nanoseconds + (offset - value.offset) * SECOND) % DAY, offset)


def zone_in(parts: Mapping[str, Value]) -> Zone | None:
    """The timezone of a map, None where it has none."""
    if "timezone" not in parts:
        return None
    text = parts["timezone"]
    if not isinstance(text, str):
        raise ValueProblem("argument", f"timezone is {type_phrase(text)}.", "It must be a text.")
    return zone_of(text)


def counts_in(kind: TemporalType, parts: Mapping[str, Value]) -> dict[str, int]:
    """The numbers of a map that has no other parts than numbers and a timezone."""
    return _counts(kind, parts, sources=False)


def _counts(
    kind: TemporalType, entries: Mapping[str, Value], sources: bool = True
) -> dict[str, int]:
    parts = DATE_PARTS * kind.has_day + TIME_PARTS * kind.has_time
    others = ("timezone", *(_source_names(kind) if sources else ()))
    counts = {}
    for name, value in entries.items():
        part = _ALIASES.get(name, name)
        if part in parts:
            counts[part] = _integer(name, value)
        elif name not in others:
            known = ", ".join((*parts, *others))
            raise ValueProblem(
                "argument", f"A {kind.name} has no {name!r} to be made of.", f"It has {known}."
            )
    return counts


def _source_names(kind: TemporalType) -> tuple[str, ...]:
    whole = ("datetime",) if kind.has_day and kind.has_time else ()
    epochs = tuple(_EPOCHS) if kind is DATETIME else ()
    return (*("date",) * kind.has_day, *("time",) * kind.has_time, *whole, *epochs)


def _sources(kind: TemporalType, parts: Mapping[str, Value]) -> dict[str, Value]:
    """The other values that a map names; no two of them may give the same part."""
    found = {name: parts[name] for name in _source_names(kind) if name in parts}
    if len(found) > 1 and set(found) != {"date", "time"}:
        raise ValueProblem("argument", f"A {kind.name} cannot have {' and '.join(found)}.")
    return found


def _base(entries: Mapping[str, Value], sources: Mapping[str, Value]) -> TemporalParts:
    for name, unit in _EPOCHS.items():
        if name in sources:
            count = _integer(name, entries[name])
            return parts_of(DateTime.of_instant(count * unit, UTC))
    parts = {name: _source(name, value) for name, value in sources.items()}
    if "datetime" in parts:
        return parts["datetime"]
    date, time = parts.get("date", TemporalParts()), parts.get("time", TemporalParts())
    return TemporalParts(date.day, time.time, time.zone, time.offset)


def _source(name: str, value: Value) -> TemporalParts:
    if isinstance(value, Instant):
        parts = parts_of(value)
        missing = {"date": parts.day is None, "time": parts.time is None}
        if not missing.get(name, parts.day is None or parts.time is None):
            return parts
    raise ValueProblem("argument", f"{type_phrase(value)} cannot be the {name} of a value.")


def _duration_of_map(parts: Mapping[str, Value]) -> Duration:
    counts = {}
    for unit, count in parts.items():
        if unit not in UNITS:
            raise ValueProblem(
                "argument", f"A duration has no {unit!r}.", f"It has {', '.join(UNITS)}."
            )
        if isinstance(count, bool) or not isinstance(count, int | float):
            raise ValueProblem("argument", f"{unit} is {type_phrase(count)}.", "Give a number.")
        counts[unit] = number_of(count)
    if not counts:
        raise ValueProblem("argument", "A duration of nothing.", "Give {seconds: 0} for none.")
    return duration_of_units(counts)


def _integer(name: str, value: Value) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueProblem("argument", f"{name} is {type_phrase(value)}.", "Give an integer.")
    return value
