"""The functions of lists, and those that take any value."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from gdb.base.values.arguments import items
from gdb.base.values.comparison import equal
from gdb.base.values.naming import refusal
from gdb.base.values.temporal_clock import statement_instant

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value


def size(value: Value) -> Value:
    """size(): elements of a list, or characters of a string."""
    if isinstance(value, (str, list)):
        return len(value)
    raise refusal("size()", "a list or a string", value)


def is_empty(value: Value) -> Value:
    """isEmpty(): whether a list, a string or a map has nothing in it."""
    if isinstance(value, (str, list, dict)):
        return not value
    raise refusal("isEmpty()", "a list, a string or a map", value)


def head(value: Value) -> Value:
    """head(): the first element of a list, null for an empty one."""
    found = items("head", value)
    return found[0] if found else None


def last(value: Value) -> Value:
    """last(): the last element of a list, null for an empty one."""
    found = items("last", value)
    return found[-1] if found else None


def tail(value: Value) -> Value:
    """tail(): all elements of a list but the first."""
    return items("tail", value)[1:]


def reversed_(value: Value) -> Value:
    """reverse(): a list or a string from its end to its beginning."""
    if isinstance(value, (str, list)):
        return value[::-1]
    raise refusal("reverse()", "a list or a string", value)


def coalesce(*values: Value) -> Value:
    """coalesce(): the first of the values that is not null; null where all are."""
    for value in values:
        if value is not None:
            return value
    return None


def null_if(value: Value, other: Value) -> Value:
    """nullIf(): the first value, null where it equals the second."""
    return None if equal(value, other) else value


def timestamp() -> Value:
    """Milliseconds since 1970-01-01 UTC, the same in the whole statement."""
    return statement_instant() // 1_000_000


def random_uuid() -> Value:
    """randomUUID(): a new random identifier (version 4) as text."""
    return str(uuid.uuid4())
