"""The temporal functions of the language, each for the kinds of temporal values that have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gdb.base.values.duration import Duration
from gdb.base.values.naming import type_phrase
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import DateTime, Instant, Temporal
from gdb.base.values.temporal_clock import real_instant, statement_instant, transaction_instant
from gdb.base.values.temporal_make import UTC, TemporalType, make, present
from gdb.base.values.temporal_truncate import truncate
from gdb.base.values.zones import zone_of

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value


CLOCKS: dict[str, Callable[[], int]] = {
    "transaction": transaction_instant,
    "statement": statement_instant,
    "realtime": real_instant,
}


def constructor(kind: TemporalType) -> Callable[..., Temporal]:
    """date() and its like: of the present, or of a value."""

    def apply(*arguments: Value) -> Temporal:
        return make(kind, arguments[0]) if arguments else present(kind, statement_instant())

    return apply


def clock(kind: TemporalType, read: Callable[[], int]) -> Callable[..., Temporal]:
    """date.statement() and its like, in a zone."""

    def apply(*arguments: Value) -> Temporal:
        zone = zone_of(_text(arguments[0], "A timezone")) if arguments else UTC
        return present(kind, read(), zone)

    return apply


def truncation(kind: TemporalType) -> Callable[..., Temporal]:
    """date.truncate() and its like: without a value, of the present; without a map, with no part changed."""

    def apply(*arguments: Value) -> Temporal:
        unit = _text(arguments[0], "A unit")
        value = _instant(arguments[1]) if len(arguments) > 1 else present(kind, statement_instant())
        changes = arguments[2] if len(arguments) > 2 else {}
        if not isinstance(changes, dict):
            raise ValueProblem(
                "argument", f"The parts to change are {type_phrase(changes)}, no map."
            )
        return truncate(kind, unit, value, changes)

    return apply


def distance(measure: Callable[[Instant, Instant], Duration]) -> Callable[..., Temporal]:
    """duration.between() and its like."""
    return lambda one, other: measure(_instant(one), _instant(other))


def from_epoch(*arguments: Value) -> Temporal:
    """datetime.fromepoch(seconds, nanoseconds): an instant in UTC, by whole seconds since 1970."""
    seconds, nanoseconds = map(_integer, (*arguments, 0)[:2])
    return DateTime.of_instant(seconds * 1_000_000_000 + nanoseconds, UTC)


def from_epoch_millis(*arguments: Value) -> Temporal:
    """datetime.fromepochmillis(milliseconds): an instant in UTC, by milliseconds since 1970."""
    return DateTime.of_instant(_integer(arguments[0]) * 1_000_000, UTC)


def _instant(value: Value) -> Instant:
    if isinstance(value, Instant):
        return value
    raise ValueProblem(
        "argument", f"This is {type_phrase(value)}.", "It must be a date, a time, or both."
    )


def _text(value: Value, what: str) -> str:
    if isinstance(value, str):
        return value
    raise ValueProblem("argument", f"{what} is {type_phrase(value)}.", "It must be a text.")


def _integer(value: Value) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueProblem(
        "argument", f"A time since 1970 is {type_phrase(value)}.", "Give an integer."
    )
