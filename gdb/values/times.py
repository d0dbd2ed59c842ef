"""The seam between the general operations on values and the temporal ones (`gdb.values.temporal`)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, TypeGuard

from gdb.values import temporal, temporal_between, temporal_components
from gdb.values.duration import Duration
from gdb.values.ordered import Ordered

if TYPE_CHECKING:
    from gdb.values.kinds import Value
    from gdb.values.temporal import Temporal


def is_temporal(value: Value) -> TypeGuard[Temporal]:
    """Whether it is a date, a time, a moment or a duration."""
    return isinstance(value, Ordered)


def kind(value: Value) -> str:
    """The name of the type of a temporal value, as `valueType` and messages say it."""
    return temporal.TYPE_NAMES[type(value)].upper()


def text(value: Value) -> str:
    """A temporal value as text, as ISO 8601 has it."""
    return str(value)


add = temporal_between.add
subtract = temporal_between.subtract
multiply = temporal_between.multiply
divide = temporal_between.divide


def component(value: Value, key: str) -> Value:
    """value.key"""
    assert is_temporal(value)
    return temporal_components.component(value, key)


def less(a: Value, b: Value) -> bool | None:
    """a < b of two temporal values; None where they cannot be compared, as durations, which have no fixed length."""
    if type(a) is not type(b) or isinstance(a, Duration):
        return None
    assert isinstance(a, Ordered)
    return a < b


def order_key(value: Value) -> tuple[object, ...]:
    """A key that puts all temporal values into one order: by type, then by time."""
    assert is_temporal(value)
    return temporal.sort_key(value)


def group_key(value: Value) -> Hashable:
    """A key that equal temporal values share."""
    assert is_temporal(value)
    return value
