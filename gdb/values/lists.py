"""The functions of lists, and those that take any value."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from gdb.values.comparison import equal
from gdb.values.function import Function, items, strict
from gdb.values.naming import refusal, value_type
from gdb.values.temporal_clock import statement_instant

if TYPE_CHECKING:
    from gdb.values.kinds import Value


def _size(value: Value) -> Value:
    if isinstance(value, (str, list)):
        return len(value)
    raise refusal("size()", "a list or a string", value)


def _is_empty(value: Value) -> Value:
    if isinstance(value, (str, list, dict)):
        return not value
    raise refusal("isEmpty()", "a list, a string or a map", value)


def _head(value: Value) -> Value:
    found = items("head", value)
    return found[0] if found else None


def _last(value: Value) -> Value:
    found = items("last", value)
    return found[-1] if found else None


def _tail(value: Value) -> Value:
    return items("tail", value)[1:]


def _reverse(value: Value) -> Value:
    if isinstance(value, (str, list)):
        return value[::-1]
    raise refusal("reverse()", "a list or a string", value)


def _coalesce(*values: Value) -> Value:
    for value in values:
        if value is not None:
            return value
    return None


def _null_if(value: Value, other: Value) -> Value:
    return None if equal(value, other) else value


def _timestamp() -> Value:
    """Milliseconds since 1970-01-01 UTC, the same in the whole statement."""
    return statement_instant() // 1_000_000


FUNCTIONS = (
    strict("size", 1, 1, _size),
    strict("isEmpty", 1, 1, _is_empty),
    strict("head", 1, 1, _head),
    strict("last", 1, 1, _last),
    strict("tail", 1, 1, _tail),
    strict("reverse", 1, 1, _reverse),
    Function("coalesce", 1, None, _coalesce),
    Function("nullIf", 2, 2, _null_if),
    Function("exists", 1, 1, lambda value: value is not None),
    Function("valueType", 1, 1, value_type),
    Function("timestamp", 0, 0, _timestamp),
    Function("randomUUID", 0, 0, lambda: str(uuid.uuid4())),
)
