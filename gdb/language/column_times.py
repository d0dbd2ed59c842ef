"""date(), localdatetime() and duration() of columns, fields of what no column holds, and times more or less a duration.
Those of texts are known before the query runs (`constants.py`); a datetime with a zone has no column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gdb.base.sql import cast
from gdb.functions.types import DATE, DATETIME, DURATION, Type, Typed, TypeName, sql_type
from gdb.imports import deferred
from gdb.language import syntax
from gdb.language.syntax import Expression

if TYPE_CHECKING:
    from gdb.base.values.duration import Duration
    from gdb.functions import sql_times
else:
    sql_times = deferred("gdb.functions.sql_times")

_MADE: dict[str, tuple[Type, tuple[TypeName, ...]]] = {
    "date": (DATE, (TypeName.DATE, TypeName.DATETIME)),
    "localdatetime": (DATETIME, (TypeName.DATE, TypeName.DATETIME)),
    "duration": (DURATION, (TypeName.DURATION,)),
}
"""Name -> the value that it makes, and the kinds of its arguments."""


def temporal_of_column(name: str, arguments: Sequence[Typed]) -> Typed | None:
    """date(x), localdatetime(x) or duration(x) of a column; None for anything else."""
    known = _MADE.get(name)
    if known is None or len(arguments) != 1:
        return None
    type_, takes = known
    (value,) = arguments
    if value.kind not in takes:
        return None
    return value if value.kind is type_.kind else Typed(cast(value.sql, sql_type(type_)), type_)


def field_of_call(
    subject: syntax.Call, key: str, translate: Callable[[Expression], Typed]
) -> Typed | None:
    """A field of duration.between(a, b) and its like, or of localtime(x), whose values no column holds; None for
    anything else."""
    name, arguments = subject.function.text.lower(), subject.arguments
    if name == "localtime" and len(arguments) == 1:
        value = translate(arguments[0])
        return sql_times.time_field(value, key)
    if name.startswith("duration.") and len(arguments) == 2:
        first, second = (translate(argument) for argument in arguments)
        found = sql_times.distance(name, first, second)
        return None if found is None else found.field(key)
    return None


def moved(left: Typed | Duration, operator: str, right: Typed | Duration) -> Typed | None:
    """A date or a datetime more or less a duration, in the order that is written; None of anything else."""
    if operator == "+" and _lasts(left) and not _lasts(right):
        left, right = right, left
    if operator not in ("+", "-") or not _lasts(right) or not isinstance(left, Typed):
        return None
    if left.kind not in sql_times.DATED:
        return None
    return sql_times.later(left, right, 1 if operator == "+" else -1)


def _lasts(value: Typed | Duration) -> bool:
    return not isinstance(value, Typed) or value.kind is TypeName.DURATION
