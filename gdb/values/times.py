"""The seam between the general operations on values and the temporal ones (`gdb.values.temporal`)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NoReturn

from gdb.values.problems import ValueProblem
from gdb.values.temporal import Date

if TYPE_CHECKING:
    from gdb.values.kinds import Value


def is_temporal(value: Value) -> bool:
    """Whether it is a date, a time, a moment or a duration."""
    return isinstance(value, Date)


def kind(value: Value) -> str:
    """The name of the type of a temporal value, as `valueType` and messages say it."""
    return type(value).__name__.upper()


def text(value: Value) -> str:
    """A temporal value as text, as ISO 8601 has it."""
    return str(value)


def add(a: Value, b: Value) -> Value:
    """a + b, where one of them is temporal."""
    _refuse("+")


def subtract(a: Value, b: Value) -> Value:
    """a - b, where one of them is temporal."""
    _refuse("-")


def multiply(a: Value, b: Value) -> Value:
    """a * b, where one of them is temporal."""
    _refuse("*")


def divide(a: Value, b: Value) -> Value:
    """a / b, where one of them is temporal."""
    _refuse("/")


def component(value: Value, key: str) -> Value:
    """value.key"""
    _refuse(f".{key}")


def less(a: Value, b: Value) -> bool | None:
    """a < b of two temporal values; None where they cannot be compared."""
    if isinstance(a, Date) and isinstance(b, Date):
        return a.days < b.days
    return None


def order_key(value: Value) -> tuple[object, ...]:
    """A key that puts all temporal values into one order: by type, then by time."""
    return (2, value.days) if isinstance(value, Date) else (9,)


def group_key(value: Value) -> Hashable:
    """A key that equal temporal values share."""
    return value if isinstance(value, Date) else id(value)


def _refuse(operator: str) -> NoReturn:
    raise ValueProblem("type", f"dates, times and durations do not take {operator} yet.")
