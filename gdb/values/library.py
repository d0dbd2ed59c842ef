"""All functions of the language that take values and give one. Aggregates are in `gdb.values.aggregates`."""

from __future__ import annotations

from collections.abc import Mapping

from gdb.values import conversion, graph, lists, numbers, strings
from gdb.values.function import Function
from gdb.values.temporal_functions import TEMPORAL_FUNCTIONS

_TEMPORAL = tuple(
    Function(one.name, one.least, one.most, one.apply) for one in TEMPORAL_FUNCTIONS.values()
)
FUNCTIONS: Mapping[str, Function] = {
    function.name.lower(): function
    for room in (conversion, graph, lists, numbers, strings)
    for function in room.FUNCTIONS
} | {function.name.lower(): function for function in _TEMPORAL}
"""By name in lower case: the language does not tell ABS from abs."""
