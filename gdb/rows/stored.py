"""Values of properties: what the store keeps, and what a query has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, cast

from gdb.errors import ChangeRefused, ImportFailed
from gdb.storage.kinds import EXACT
from gdb.storage.model import Column
from gdb.values.duration import Duration
from gdb.values.temporal import Date, LocalDateTime
from gdb.values.temporal_python import from_python, to_python
from gdb.values.times import is_temporal

if TYPE_CHECKING:
    from gdb.storage.model import PropertyValue
    from gdb.values.kinds import Value


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
    """The properties of several elements as columns, null where one has none.

    Raises
    ------
    ChangeRefused : a value cannot be stored, or two of one key are of types that no column holds.
    """
    wanted = sorted({key for record in records for key in record} if keys is None else set(keys))
    return {key: _column(key, [record.get(key) for record in records]) for key in wanted}


def _column(key: str, values: Sequence[Value]) -> Column:
    plain = [_to_store(key, value) for value in values]
    kinds = {type(value) for value in plain}
    if {int, float} <= kinds and any(type(v) is int and abs(v) > EXACT for v in plain):
        raise ChangeRefused(
            f"the property {key!r} has integers that are no floats, beside floats",
            "Give all of them one type.",
        )
    try:
        return Column.from_list(plain, None)
    except (ImportFailed, UnicodeEncodeError) as error:
        raise ChangeRefused(f"the property {key!r}: {error}") from None


def _to_store(key: str, value: Value) -> PropertyValue:
    if isinstance(value, list):
        return cast("PropertyValue", [_to_store(key, item) for item in value])
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if is_temporal(value):
        kept = _kept(value)
        if kept is not None:
            return kept
        raise ChangeRefused(
            f"the property {key!r} is {value}, which a store cannot keep",
            "Store dates, datetimes without a zone and durations without months; or its text.",
        )
    raise ChangeRefused(
        f"the property {key!r} is a map, a node, a relationship or a path",
        "Store numbers, strings, booleans, times, or lists of one of these.",
    )


def _kept(value: Value) -> date | timedelta | None:
    """A temporal value as a store keeps it; None where it has no such column."""
    match value:
        case Date() | LocalDateTime():
            found = to_python(value)
            return found if isinstance(found, date) else None
        case Duration(months=0, days=days, seconds=seconds, nanoseconds=nanoseconds):
            if nanoseconds % 1000 == 0:
                return timedelta(days, seconds, nanoseconds // 1000)
    return None
