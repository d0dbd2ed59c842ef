"""The temporal functions of the language by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gdb.values.duration import Duration
from gdb.values.problems import ValueProblem
from gdb.values.temporal import (
    Date,
    DateTime,
    Instant,
    LocalDateTime,
    LocalTime,
    Temporal,
    Time,
)
from gdb.values.temporal_between import between, in_days, in_months, in_seconds
from gdb.values.temporal_clock import real_instant, statement_instant, transaction_instant
from gdb.values.temporal_make import KINDS, UTC, Kind, described, make, make_duration, present
from gdb.values.temporal_truncate import truncate
from gdb.values.zones import zone_of

if TYPE_CHECKING:
    from gdb.values.kinds import Value


@dataclass(frozen=True, slots=True)
class TemporalFunction:
    """name : as the language writes it. least, most : how many arguments it takes. apply : to that many; null where an
    argument is. Raises ValueProblem."""

    name: str
    least: int
    most: int
    apply: Callable[..., Value]


_CLOCKS: dict[str, Callable[[], int]] = {
    "transaction": transaction_instant,
    "statement": statement_instant,
    "realtime": real_instant,
}


def _constructor(kind: Kind) -> TemporalFunction:
    def apply(*given: Value) -> Temporal:
        return make(kind, given[0]) if given else present(kind, statement_instant())

    return _function(kind.name, 0, 1, apply)


def _clock(kind: Kind, name: str, clock: Callable[[], int]) -> TemporalFunction:
    def apply(*given: Value) -> Temporal:
        zone = zone_of(_text(given[0], "A timezone")) if given else UTC
        return present(kind, clock(), zone)

    return _function(f"{kind.name}.{name}", 0, 1, apply)


def _truncation(kind: Kind) -> TemporalFunction:
    """Without a value, of the present; without a map, with no part changed."""

    def apply(*given: Value) -> Temporal:
        unit = _text(given[0], "A unit")
        value = _instant(given[1]) if len(given) > 1 else present(kind, statement_instant())
        changes = given[2] if len(given) > 2 else {}
        if not isinstance(changes, dict):
            raise ValueProblem("argument", f"The parts to change are {described(changes)}, no map.")
        return truncate(kind, unit, value, changes)

    return _function(f"{kind.name}.truncate", 1, 3, apply)


def _distance(name: str, measure: Callable[[Instant, Instant], Duration]) -> TemporalFunction:
    def apply(*given: Value) -> Temporal:
        return measure(_instant(given[0]), _instant(given[1]))

    return _function(f"duration.{name}", 2, 2, apply)


def _duration(*given: Value) -> Temporal:
    return make_duration(given[0])


def _from_epoch(*given: Value) -> Temporal:
    seconds, nanoseconds = _integer(given[0]), _integer(given[1]) if len(given) > 1 else 0
    return DateTime.of_instant(seconds * 1_000_000_000 + nanoseconds, UTC)


def _from_epoch_millis(*given: Value) -> Temporal:
    return DateTime.of_instant(_integer(given[0]) * 1_000_000, UTC)


def _function(name: str, least: int, most: int, apply: Callable[..., Temporal]) -> TemporalFunction:
    def of_null(*given: Value) -> Value:
        return None if any(value is None for value in given) else apply(*given)

    return TemporalFunction(name, least, most, of_null)


def _instant(value: Value) -> Instant:
    if isinstance(value, Date | LocalTime | Time | LocalDateTime | DateTime):
        return value
    raise ValueProblem(
        "argument", f"This is {described(value)}.", "It must be a date, a time, or both."
    )


def _text(value: Value, what: str) -> str:
    if isinstance(value, str):
        return value
    raise ValueProblem("argument", f"{what} is {described(value)}.", "It must be a text.")


def _integer(value: Value) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueProblem("argument", f"A time since 1970 is {described(value)}.", "Give an integer.")


_FUNCTIONS = (
    *(_constructor(kind) for kind in KINDS),
    *(_clock(kind, name, clock) for kind in KINDS for name, clock in _CLOCKS.items()),
    *(_truncation(kind) for kind in KINDS),
    _function("duration", 1, 1, _duration),
    _distance("between", between),
    _distance("inMonths", in_months),
    _distance("inDays", in_days),
    _distance("inSeconds", in_seconds),
    _function("datetime.fromepoch", 1, 2, _from_epoch),
    _function("datetime.fromepochmillis", 1, 1, _from_epoch_millis),
)
TEMPORAL_FUNCTIONS: Mapping[str, TemporalFunction] = {
    function.name.lower(): function for function in _FUNCTIONS
}
"""By their names in lower case: the language does not tell the cases of a function's name apart."""
