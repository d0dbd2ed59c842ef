"""Dates, times and durations of the language (openCypher 9, CIP2015-08-06), to the nanosecond."""

from __future__ import annotations

from typing import TypeAlias

from gdb.base.values.days import FIRST_DAY, LAST_DAY, year_month_day
from gdb.base.values.duration import DAY, SECOND, Duration
from gdb.base.values.ordered import Ordered
from gdb.base.values.problems import OutOfRange, WrongField
from gdb.base.values.zones import (
    DAY_SECONDS,
    Zone,
    checked_offset,
    offset_at,
    offset_text,
    offsets_of_local,
)
from gdb.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Date(Ordered):
    """A day. days : since 1970-01-01; years are -999999999 to 999999999."""

    days: int

    def __post_init__(self) -> None:
        self.whole("days")
        _check_day(self.days)

    def key(self) -> tuple[int, ...]:
        """Days since 1970-01-01."""
        return (self.days,)

    def __str__(self) -> str:
        return _date_text(self.days)


@dataclass(frozen=True, slots=True, eq=False)
class LocalTime(Ordered):
    """A time of day. nanoseconds : since midnight."""

    nanoseconds: int

    def __post_init__(self) -> None:
        self.whole("nanoseconds")
        _check_time(self.nanoseconds)

    def key(self) -> tuple[int, ...]:
        """Nanoseconds since midnight."""
        return (self.nanoseconds,)

    def __str__(self) -> str:
        return _time_text(self.nanoseconds)


@dataclass(frozen=True, slots=True, eq=False)
class Time(Ordered):
    """A time of day somewhere. nanoseconds : since midnight there. offset : of the place, in seconds east of UTC.

    Compared by what a clock at UTC shows on the same day.
    """

    nanoseconds: int
    offset: int = 0

    def __post_init__(self) -> None:
        self.whole("nanoseconds", "offset")
        _check_time(self.nanoseconds)
        checked_offset(self.offset)

    def key(self) -> tuple[int, ...]:
        """Nanoseconds since midnight UTC."""
        return (self.nanoseconds - self.offset * SECOND,)

    def __str__(self) -> str:
        return _time_text(self.nanoseconds) + offset_text(self.offset)


@dataclass(frozen=True, slots=True, eq=False)
class LocalDateTime(Ordered):
    """A time of a day. days : since 1970-01-01. nanoseconds : since midnight."""

    days: int
    nanoseconds: int = 0

    def __post_init__(self) -> None:
        self.whole("days", "nanoseconds")
        _check_day(self.days)
        _check_time(self.nanoseconds)

    def key(self) -> tuple[int, ...]:
        """Days since 1970-01-01, and nanoseconds of the day."""
        return self.days, self.nanoseconds

    def __str__(self) -> str:
        return f"{_date_text(self.days)}T{_time_text(self.nanoseconds)}"


@dataclass(frozen=True, slots=True, eq=False)
class DateTime(Ordered):
    """An instant as a clock somewhere shows it; compared by the instant alone.

    days, nanoseconds : as the clock shows them. offset : of that clock, in seconds east of UTC. zone : its name, empty
    where only the offset is known. `of_local` and `of_instant` find the offset of a named zone.
    """

    days: int
    nanoseconds: int = 0
    offset: int = 0
    zone: str = ""

    def __post_init__(self) -> None:
        self.whole("days", "nanoseconds", "offset")
        if not isinstance(self.zone, str):
            raise WrongField(f"DateTime() takes the name of a zone, not {self.zone!r}.")
        _check_day(self.days)
        _check_time(self.nanoseconds)
        checked_offset(self.offset)

    @classmethod
    def of_local(
        cls, days: int, nanoseconds: int, zone: Zone, preferred: int | None = None
    ) -> DateTime:
        """The instant when a clock of the zone shows a time.

        Where it shows it twice, the first, unless the second has the preferred offset; where the clock was put forward
        over it, as much later as it was put forward.
        """
        offsets = offsets_of_local(zone, days * DAY_SECONDS + nanoseconds // SECOND)
        twice = offsets[0] > offsets[1]
        offset = offsets[1] if twice and preferred == offsets[1] else offsets[0]
        return cls.of_instant(days * DAY + nanoseconds - offset * SECOND, zone)

    @classmethod
    def of_instant(cls, instant: int, zone: Zone) -> DateTime:
        """What a clock of the zone shows at an instant, in nanoseconds since 1970-01-01T00:00Z."""
        offset = offset_at(zone, instant // SECOND)
        days, nanoseconds = divmod(instant + offset * SECOND, DAY)
        return cls(days, nanoseconds, offset, zone if isinstance(zone, str) else "")

    @property
    def instant(self) -> int:
        """Nanoseconds since 1970-01-01T00:00Z."""
        return self.days * DAY + self.nanoseconds - self.offset * SECOND

    @property
    def place(self) -> Zone:
        """The zone's name, or the offset where it has none."""
        return self.zone or self.offset

    def key(self) -> tuple[int, ...]:
        """Nanoseconds since 1970-01-01 UTC."""
        return (self.instant,)

    def __str__(self) -> str:
        local = f"{_date_text(self.days)}T{_time_text(self.nanoseconds)}"
        name = f"[{self.zone}]" if self.zone else ""
        return f"{local}{offset_text(self.offset)}{name}"


Temporal: TypeAlias = Date | LocalTime | Time | LocalDateTime | DateTime | Duration
Instant: TypeAlias = Date | LocalTime | Time | LocalDateTime | DateTime
"""A temporal value that is no length: some or all of a day, a time and a place."""
TEMPORAL_TYPES = (Date, LocalTime, Time, LocalDateTime, DateTime, Duration)
TYPE_NAMES: dict[type, str] = {
    Date: "date",
    LocalTime: "localtime",
    Time: "time",
    LocalDateTime: "localdatetime",
    DateTime: "datetime",
    Duration: "duration",
}
_KINDS = {
    "Date": "DATE",
    "LocalTime": "LOCAL TIME",
    "Time": "ZONED TIME",
    "LocalDateTime": "LOCAL DATETIME",
    "DateTime": "ZONED DATETIME",
    "Duration": "DURATION",
}
# the order of the types where values of several are sorted
_RANKS: dict[type, int] = {
    kind: rank
    for rank, kind in enumerate((DateTime, LocalDateTime, Date, Time, LocalTime, Duration))
}


def sort_key(value: Temporal) -> tuple[int, ...]:
    """What orders temporal values of all types: by type, then as `<` does. Equal for equal values only."""
    return _RANKS[type(value)], *value.key()


def _check_day(day: int) -> None:
    if not FIRST_DAY <= day <= LAST_DAY:
        raise OutOfRange("A date is not in the years -999999999 to 999999999.")


def _check_time(nanoseconds: int) -> None:
    if not 0 <= nanoseconds < DAY:
        raise OutOfRange("A time of day is not between 00:00 and 24:00.")


def _date_text(day: int) -> str:
    year, month, of_month = year_month_day(day)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{of_month:02}"


def _time_text(nanoseconds: int) -> str:
    seconds, fraction = divmod(nanoseconds, SECOND)
    minutes, seconds = divmod(seconds, 60)
    text = f"{minutes // 60:02}:{minutes % 60:02}"
    if fraction:
        return f"{text}:{seconds:02}." + f"{fraction:09}".rstrip("0")
    return f"{text}:{seconds:02}" if seconds else text


def kind(value: object) -> str:
    """The name of the type of a temporal value, as `valueType` and messages say it."""
    return _KINDS[type(value).__name__]
