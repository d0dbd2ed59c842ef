"""All functions and aggregates of the language, by name in lower case: names of functions are case-insensitive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from gdb.base.once import cached_property

if TYPE_CHECKING:
    from gdb.functions.function import AggregateFunction, Function

Row = TypeVar("Row", "Function", "AggregateFunction")


class FunctionRows(Mapping[str, Row]):
    """Rows by name. What they are made of is a third of all modules: it is imported when one is looked up first."""

    def __init__(self, all_rows: Callable[[], Iterable[Row]]) -> None:
        self._all: Callable[[], Iterable[Row]] = all_rows

    @cached_property
    def _by_name(self) -> dict[str, Row]:
        return {row.name.lower(): row for row in self._all()}

    def __getitem__(self, name: str) -> Row:
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


def sections() -> tuple[tuple[str, tuple[Function, ...]], ...]:
    """The functions as the handbook has them."""
    # here: see the class: rows are imported on first look-up
    from gdb.functions import of_elements, of_numbers, of_strings, of_times, of_values

    return (
        ("Of nodes, relationships and paths", of_elements.ROWS),
        ("Of any value and of lists", of_values.ROWS),
        ("Of strings", of_strings.ROWS),
        ("Of numbers", of_numbers.ROWS),
        ("Of dates and times", of_times.ROWS),
    )


def _functions() -> Iterator[Function]:
    return (row for _, rows in sections() for row in rows)


def _aggregates() -> tuple[AggregateFunction, ...]:
    from gdb.functions import aggregate_functions  # here: as the sections

    return aggregate_functions.ROWS


FUNCTIONS: Mapping[str, Function] = FunctionRows(_functions)
AGGREGATES: Mapping[str, AggregateFunction] = FunctionRows(_aggregates)


def varies(name: str) -> bool:
    """Whether a call of this name gives another value each time. name : in lower case."""
    row = None if name in AGGREGATES else FUNCTIONS.get(name)
    return row is not None and row.varies


def names() -> tuple[str, ...]:
    """Those of all, as messages write them."""
    return tuple(row.name for rows in (AGGREGATES, FUNCTIONS) for row in rows.values())
