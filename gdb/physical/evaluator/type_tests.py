"""Type tests: whether a value is of a type that a query names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.base.values.naming import kind

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value
    from gdb.language.value_types import OneType, ValueType

_NEVER_STORED = ("MAP", "NODE", "RELATIONSHIP", "PATH")


def is_of(value: Value, type_: ValueType) -> bool:
    """Whether the value is of the type; null is of every type that does not say NOT NULL."""
    return any(_is_of(value, one) for one in type_.alternatives)


def _is_of(value: Value, one: OneType) -> bool:
    if value is None:
        return one.nullable
    match one.name:
        case "ANY":
            return True
        case "NULL" | "NOTHING":
            return False
        case "PROPERTY VALUE":
            several = value if isinstance(value, list) else [value]
            known = [kind(item) for item in several]
            return not any(name in (*_NEVER_STORED, "LIST", "NULL") for name in known)
        case "LIST":
            items = one.items
            return (
                isinstance(value, list)
                and items is not None
                and all(is_of(item, items) for item in value)
            )
        case name:
            return kind(value) == name
