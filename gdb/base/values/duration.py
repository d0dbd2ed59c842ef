"""Durations: months, days and seconds, which have no fixed ratio to one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gdb.base.values.ordered import Ordered
from gdb.base.values.problems import OutOfRange, ValueProblem
from gdb.imports import deferred
from gdb.records import dataclass

if TYPE_CHECKING:
    import fractions
    from fractions import Fraction
else:
    fractions = deferred("fractions")

SECOND = 1_000_000_000  # in nanoseconds, as the next
DAY = 86_400 * SECOND
AVERAGE_MONTH = 2_629_746  # seconds: a twelfth of the 365.2425 days of a year
LONGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Duration(Ordered):
    """A length of time in three parts, each of any sign; equal where all parts are.

    nanoseconds : of a second, 0 to 999_999_999; more or fewer are carried into the seconds. Durations are ordered by
    their lengths with average months (30.436875 days) and days of 24 hours, then by their parts.
    """

    months: int = 0
    days: int = 0
    seconds: int = 0
    nanoseconds: int = 0

    def __post_init__(self) -> None:
        self.whole("months", "days", "seconds", "nanoseconds")
        carried, rest = divmod(self.nanoseconds, SECOND)
        object.__setattr__(self, "seconds", self.seconds + carried)
        object.__setattr__(self, "nanoseconds", rest)
        if max(abs(self.months), abs(self.days), abs(self.seconds)) > LONGEST:
            raise OutOfRange("A duration does not fit into 64 bits.")

    def key(self) -> tuple[int, ...]:
        """What durations are ordered by: average length in whole seconds, nanoseconds, then months and days."""
        length = self.months * AVERAGE_MONTH + self.days * 86_400 + self.seconds
        return length, self.nanoseconds, self.months, self.days

    @property
    def length(self) -> int:
        """Nanoseconds of the third part, months and days left out."""
        return self.seconds * SECOND + self.nanoseconds

    def __neg__(self) -> Duration:
        return Duration(-self.months, -self.days, 0, -self.length)

    def __str__(self) -> str:
        years, months = truncated(self.months, 12)
        seconds, nanoseconds = truncated(self.length, SECOND)
        minutes, seconds = truncated(seconds, 60)
        hours, minutes = truncated(minutes, 60)
        days = _written(((years, "Y"), (months, "M"), (self.days, "D")))
        time = _written(((hours, "H"), (minutes, "M")))
        if seconds or nanoseconds:
            sign = "-" if seconds < 0 or nanoseconds < 0 else ""
            fraction = f".{abs(nanoseconds):09}".rstrip("0") if nanoseconds else ""
            time += f"{sign}{abs(seconds)}{fraction}S"
        if not days and not time:
            return "PT0S"
        return f"P{days}T{time}" if time else f"P{days}"


def truncated(value: int, by: int) -> tuple[int, int]:
    """Quotient and rest, the quotient rounded towards zero, so that both have the sign of the value."""
    quotient, rest = divmod(abs(value), by)
    return (-quotient, -rest) if value < 0 else (quotient, rest)


def _written(parts: tuple[tuple[int, str], ...]) -> str:
    return "".join(f"{count}{unit}" for count, unit in parts if count)


def number_of(value: int | float) -> Fraction:
    """The number as it is written: 0.1 is a tenth. ValueProblem : it is infinite or not a number."""
    try:
        return (
            fractions.Fraction(value) if isinstance(value, int) else fractions.Fraction(repr(value))
        )
    except ValueError:
        raise ValueProblem("arithmetic", f"A duration cannot have {value} of a unit.") from None


def duration_of_parts(months: Fraction, days: Fraction, nanoseconds: Fraction) -> Duration:
    """A duration of parts that need not be whole: a part of a month becomes days of an average month, a part of a day
    seconds, and a part of a nanosecond is cut off."""
    whole_months = int(months)
    days += (months - whole_months) * fractions.Fraction(AVERAGE_MONTH, 86_400)
    whole_days = int(days)
    nanoseconds += (days - whole_days) * DAY
    return Duration(whole_months, whole_days, 0, int(nanoseconds))


_MONTHS = {"years": 12, "quarters": 3, "months": 1}
_DAYS = {"weeks": 7, "days": 1}
_LENGTHS = {
    "hours": 3600 * SECOND,
    "minutes": 60 * SECOND,
    "seconds": SECOND,
    "milliseconds": 1_000_000,
    "microseconds": 1_000,
    "nanoseconds": 1,
}
UNITS = (*_MONTHS, *_DAYS, *_LENGTHS)


def duration_of_units(counts: Mapping[str, Fraction]) -> Duration:
    """A duration of counts of units, named as in `UNITS`."""

    def total(units: Mapping[str, int]) -> Fraction:
        return sum(
            (counts[unit] * n for unit, n in units.items() if unit in counts), fractions.Fraction()
        )

    return duration_of_parts(total(_MONTHS), total(_DAYS), total(_LENGTHS))
