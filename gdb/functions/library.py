"""All functions and aggregates of the language, by name in lower case: the language does not tell ABS from abs."""

from __future__ import annotations

from collections.abc import Mapping

from gdb.functions import aggregates, of_elements, of_numbers, of_strings, of_times, of_values
from gdb.functions.function import AggregateFunction, Function

SECTIONS: tuple[tuple[str, tuple[Function, ...]], ...] = (
    ("Of nodes, relationships and paths", of_elements.ROWS),
    ("Of any value and of lists", of_values.ROWS),
    ("Of strings", of_strings.ROWS),
    ("Of numbers", of_numbers.ROWS),
    ("Of dates and times", of_times.ROWS),
)
"""As the handbook has them."""
FUNCTIONS: Mapping[str, Function] = {row.name.lower(): row for _, rows in SECTIONS for row in rows}
AGGREGATES: Mapping[str, AggregateFunction] = {row.name.lower(): row for row in aggregates.ROWS}
RANDOM = frozenset(name for name, row in FUNCTIONS.items() if row.varies)
"""Of those that give another value each time."""
NAMES = (*(row.name for row in AGGREGATES.values()), *(row.name for row in FUNCTIONS.values()))
"""As messages write them."""
