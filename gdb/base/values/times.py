"""The seam between the general operations on values and the temporal ones (`gdb.base.values.temporal`).

Other rooms need not know the temporal types to compare, add and show values.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, TypeGuard

from gdb.base.values.duration import Duration
from gdb.base.values.problems import ValueProblem
from gdb.base.values.temporal import TEMPORAL_TYPES, Temporal, sort_key
from gdb.imports import deferred

if TYPE_CHECKING:
    from gdb.base.values import temporal_components
    from gdb.base.values.kinds import Value
else:
    temporal_components = deferred("gdb.base.values.temporal_components")


def is_temporal(value: Value) -> TypeGuard[Temporal]:
    """Whether it is a date, a time, a moment or a duration."""
    return isinstance(value, TEMPORAL_TYPES)


def is_duration(value: Value) -> bool:
    """Whether it is a duration, the one kind that can be summed up."""
    return isinstance(value, Duration)


def component(value: Value, key: str) -> Value:
    """value.key

    Raises
    ------
    ValueProblem : "type", a value of this type has no such component.
    """
    if is_temporal(value):
        return temporal_components.component(value, key)
    raise ValueProblem("type", f"this has no .{key}.")


def less(a: Value, b: Value) -> bool | None:
    """a < b of two temporal values; None where they cannot be compared: of two types, or durations, since a month is
    no number of days."""
    if not is_temporal(a) or type(a) is not type(b) or isinstance(a, Duration):
        return None
    return sort_key(a) < sort_key(b)


def order_key(value: Value) -> tuple[int, ...]:
    """A key that puts all temporal values into one order: by type, then by time."""
    assert is_temporal(value)
    return sort_key(value)


def group_key(value: Value) -> Hashable:
    """A key that equal temporal values share."""
    assert is_temporal(value)
    return value
