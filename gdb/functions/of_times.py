"""The functions of dates, times and durations. Of their constructors `gdb.language.column_times` has what columns can
hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gdb.base.values import temporal_functions
from gdb.base.values.temporal_between import between, in_days, in_months, in_seconds
from gdb.base.values.temporal_make import KINDS, TemporalType, make_duration
from gdb.functions.function import Function, Made, ToSql, function
from gdb.imports import deferred

if TYPE_CHECKING:
    from gdb.functions import sql_times
    from gdb.functions.types import Typed
else:
    sql_times = deferred("gdb.functions.sql_times")

_SHOWN = {
    "date": "a date",
    "time": "a time with an offset",
    "localtime": "a time of no zone",
    "localdatetime": "a date and time of no zone",
    "datetime": "a date and time of a zone",
}
_DISTANCES = (
    ("between", between, "in months, days and seconds"),
    ("inMonths", in_months, "in whole months"),
    ("inDays", in_days, "in whole days"),
    ("inSeconds", in_seconds, "in seconds"),
)


_WITH_COLUMNS = ("date", "localdatetime")


def _truncated(kind: str) -> ToSql:
    return lambda unit, *values: sql_times.truncated(kind, unit, *values)


def _in_seconds(first: Typed, second: Typed) -> Made:
    return sql_times.in_seconds(first, second)


def _of_kind(kind: TemporalType) -> Iterator[Function]:
    """A constructor, with its dotted forms."""
    name, shown = kind.name, _SHOWN[kind.name]
    yield function(
        f"{name}(value? :: ANY) :: TEMPORAL",
        temporal_functions.constructor(kind),
        f"{shown}: of a text, a map of its parts, another time, or of the present",
    )
    for clock, read in temporal_functions.CLOCKS.items():
        yield function(
            f"{name}.{clock}(zone? :: STRING) :: TEMPORAL",
            temporal_functions.clock(kind, read),
            f"the present as {shown}, by the clock of the {clock}",
        )
    yield function(
        f"{name}.truncate(unit :: STRING, value? :: TEMPORAL, parts? :: MAP) :: TEMPORAL",
        temporal_functions.truncation(kind),
        f"the begin of the unit as {shown}, with some parts changed",
        _truncated(name) if name in _WITH_COLUMNS else None,
    )


ROWS = (
    *(row for kind in KINDS for row in _of_kind(kind)),
    function(
        "datetime.fromepoch(seconds :: INTEGER, nanoseconds? :: INTEGER) :: TEMPORAL",
        temporal_functions.from_epoch,
        "so long after 1970-01-01",
    ),
    function(
        "datetime.fromepochmillis(milliseconds :: INTEGER) :: TEMPORAL",
        temporal_functions.from_epoch_millis,
        "so long after 1970-01-01",
    ),
    function(
        "duration(value :: ANY) :: DURATION", make_duration, "of a text or a map of its parts"
    ),
    *(
        function(
            f"duration.{name}(from :: TEMPORAL, to :: TEMPORAL) :: DURATION",
            *(temporal_functions.distance(measure), f"from one time to another, {unit}"),
            _in_seconds if name == "inSeconds" else None,
        )
        for name, measure, unit in _DISTANCES
    ),
)
"""One row a function."""
