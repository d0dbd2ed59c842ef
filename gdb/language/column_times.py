"""date(), localdatetime() and duration() of columns. Those of texts are known before the query runs (`constants.py`);
a datetime with a zone has no column."""

from __future__ import annotations

from collections.abc import Sequence

from gdb.base.sql import cast
from gdb.functions.types import DATE, DATETIME, DURATION, Type, Typed, TypeName, sql_type

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
