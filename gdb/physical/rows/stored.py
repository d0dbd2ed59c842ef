"""Values of properties: what the store keeps, and what a query has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, cast

from gdb.base.values.duration import LONGEST, Duration
from gdb.base.values.temporal import Date, LocalDateTime
from gdb.base.values.temporal_python import from_python, to_python
from gdb.base.values.times import is_temporal
from gdb.errors import ChangeRefused, ImportFailed
from gdb.storage.columns.model import ITEM_OF, LIST_OF, Column
from gdb.storage.columns.python_columns import column_of

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value
    from gdb.storage.columns.model import Kind, PropertyValue


def from_store(value: PropertyValue) -> Value:
    """A stored value as a query has it."""
    if isinstance(value, (date, timedelta)):
        return from_python(value)
    if isinstance(value, list):
        return [from_store(item) for item in value]
    return value


def columns_of(
    records: Sequence[Mapping[str, Value]], keys: Iterable[str] | None = None
) -> dict[str, Column]:
    """The properties of several elements as columns, null where one has none: of one type where that keeps each value
    exactly as it is, else of the kind "any".

    Raises
    ------
    ChangeRefused : a value cannot be stored.
    """
    wanted = sorted({key for record in records for key in record} if keys is None else set(keys))
    return {key: column_of_values(key, [record.get(key) for record in records]) for key in wanted}


_PLAIN: Mapping[type, Kind] = {bool: "bool", int: "int64", float: "float64", str: "string"}


def column_of_values(key: str, values: Sequence[Value]) -> Column:
    """The values of one property as a column; see `columns_of`."""
    classes = set(map(type, values))
    if len(classes) == 1 and (known := _PLAIN.get(classes.pop())) is not None:  # most often
        return column_of(cast("Sequence[PropertyValue]", values), known)
    kinds = {_kind(key, value) for value in values if value is not None}
    if "empty" in kinds:  # an empty list fits all lists
        kinds.discard("empty")
        if not any(kind in ITEM_OF for kind in kinds):
            kinds.add("string[]")
    kind: Kind = "any" if len(kinds) > 1 else cast("Kind", kinds.pop()) if kinds else "string"
    plain = values if kind == "any" else [_in_python(value) for value in values]
    try:
        return column_of(cast("Sequence[PropertyValue]", plain), kind)
    except ImportFailed as error:
        raise ChangeRefused(f"the property {key!r}: {error.reason}", error.cure) from None


def _kind(key: str, value: Value) -> str:
    """The kind of the column that keeps a value exactly, "empty" for a list of nothing."""
    if isinstance(value, list):
        if any(item is None or isinstance(item, list) for item in value):
            raise ChangeRefused(
                f"the property {key!r} is a list that holds null or a list",
                "Store lists of numbers, strings, booleans and times.",
            )
        kinds = {_kind(key, item) for item in value}
        if len(kinds) > 1 or "any" in kinds:
            return "any"
        return LIST_OF[cast("Kind", kinds.pop())] if kinds else "empty"
    match value:
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float64"
        case str():
            return "string"
    if is_temporal(value):
        return _kind_of_time(value)
    raise ChangeRefused(
        f"the property {key!r} is a map, a node, a relationship or a path",
        "Store numbers, strings, booleans, times, or lists of one of these.",
    )


def _kind_of_time(value: Value) -> str:
    match value:
        case Date() if to_python(value) is not value:
            return "date"
        case LocalDateTime() if to_python(value) is not value:
            return "datetime"
        case Duration(months=0, days=0, nanoseconds=nanoseconds):
            if nanoseconds % 1000 == 0 and abs(value.length) <= 1000 * LONGEST:
                return "duration"
    return "any"


def _in_python(value: Value) -> object:
    """A value as its column of one type is given it."""
    if isinstance(value, list):
        return [_in_python(item) for item in value]
    if isinstance(value, Duration):
        return timedelta(microseconds=value.length // 1000)
    return to_python(value)
