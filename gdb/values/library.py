"""All functions of the language that take values and give one. Aggregates are in `gdb.values.aggregates`."""

from __future__ import annotations

from collections.abc import Mapping

from gdb.values import conversion, graph, lists, numbers, strings
from gdb.values.function import Function

FUNCTIONS: Mapping[str, Function] = {
    function.name.lower(): function
    for room in (conversion, graph, lists, numbers, strings)
    for function in room.FUNCTIONS
}
"""By name in lower case: the language does not tell ABS from abs."""
