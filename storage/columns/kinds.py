"""The kind of a property that is given values of several kinds, in transactions and imports alike.

Integers beside floats become floats, and so do lists of them, where every integer is a float exactly; the language
alone makes properties of the kind "any".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gdb.errors import ChangeRefused, ImportFailed

from .model import EXACT, I64, ITEM_OF, ROUNDED, WIDER, Column, Kind, named
from .python_columns import column_of


def inexact(column: Column) -> int | None:
    """The first row of a column of integers, or lists of them, that holds one which is no float without loss; None
    where there is none.

    Cost: two passes over the integers.
    """
    values = column.values
    if column.kind not in WIDER or not len(values):
        return None
    if int(values.min()) >= -EXACT and int(values.max()) <= EXACT:
        return None
    rows = np.flatnonzero((values < -EXACT) | (values > EXACT))
    if column.offsets is not None:
        rows = np.searchsorted(column.offsets, rows, side="right") - 1
    if column.valid is not None:  # the value at a null means nothing
        rows = rows[column.valid[rows]]
    return int(rows[0]) if len(rows) else None


def joined(one: Kind, other: Kind) -> Kind | None:
    """The kind of a property that has values of both, if every integer among them is exact as a float; None where there
    is none."""
    if one == other or WIDER.get(other) == one:
        return one
    return other if WIDER.get(one) == other else None


def is_empty(column: Column) -> bool:
    """Whether a column holds no value at all."""
    return not len(column) or (column.valid is not None and not bool(column.valid.any()))


def fitted(
    columns: Mapping[str, Column],
    kinds: Mapping[str, Kind],
    present: Callable[[str], Column | None],
    *,
    widens: bool,
    rows: I64 | None = None,
) -> dict[str, Column]:
    """Columns of new values as the kinds that the properties have; one of nulls alone makes no property. One of floats
    for a property of integers stays, and makes the property one of floats.

    present : returns the values that a property has; called only where they would become floats, or are empty
    lists.
    widens : a property that is given values of another kind becomes one of the kind "any", instead of refusing them.
    rows : i64[n], by which errors call the rows of the columns; None as they are.

    Raises
    ------
    ChangeRefused : with the first value that does not fit, and its row.
    """
    found: dict[str, Column] = {}
    if "" in columns and not is_empty(columns[""]):
        raise ChangeRefused("a property has no name", "Name its key.")
    for name, column in columns.items():
        if name in kinds:
            if not widens and kinds[name] != "any":
                column = _typed(column)
            same = same_kind(column, kinds[name])
            if same is not None:
                found[name] = same
            elif widens or _holds_no_item(present, name, kinds[name], column.kind):
                found[name] = column.as_any()
            else:
                found[name] = _Fit(name, column, kinds[name], rows).fitted(present)
        elif not is_empty(column):
            found[name] = column
    return found


def _holds_no_item(
    present: Callable[[str], Column | None], name: str, kind: Kind, new: Kind
) -> bool:
    """Whether a property has been given nothing but empty lists, and is given other lists."""
    if kind not in ITEM_OF or new not in ITEM_OF:
        return False
    items = None if (column := present(name)) is None else column.items
    return items is not None and not len(items)


def same_kind(column: Column, kind: Kind) -> Column | None:
    """The column as a kind if it is that, or holds nothing that is of a kind; else None."""
    if kind == column.kind:
        return column
    if is_empty(column):
        return Column.nulls(kind, len(column))
    items = column.items
    if kind in ITEM_OF and items is not None and column.offsets is not None and not len(items):
        return Column.of_lists(Column.nulls(ITEM_OF[kind], 0), column.offsets, column.valid)
    return None


def _typed(column: Column) -> Column:
    """A column of values of any type as one of the type that all of them have, where they have one: such are the
    values of nodes that get other labels, under which the property is of one type."""
    if column.kind != "any":
        return column
    try:
        return column_of(column.to_list())
    except ImportFailed:
        return column


class _Fit:
    """Values for a property of another kind: int64 and float64 become float64 where that loses nothing, and so do
    lists."""

    def __init__(self, name: str, column: Column, kind: Kind, rows: I64 | None) -> None:
        self._name, self._column, self._kind, self._rows = name, column, kind, rows

    def fitted(self, present: Callable[[str], Column | None]) -> Column:
        column, kind = self._column, self._kind
        if kind == "any":
            return column.as_any()
        if joined(column.kind, kind) is None:
            raise self._refused(self._first_other(), "is none of these")
        if column.kind in WIDER:
            if (row := inexact(column)) is not None:
                raise self._refused(row, f"is {ROUNDED}")
            return column.as_floats()
        stored = present(self._name)
        if stored is not None and (lost := inexact(stored)) is not None:
            value = stored.part(lost, lost + 1).to_list()[0]
            raise self._refused(self._first(), f"is none of these; {value!r} there is {ROUNDED}")
        return column

    def _first(self) -> int:
        """The first row that has a value."""
        return 0 if self._column.valid is None else int(np.flatnonzero(self._column.valid)[0])

    def _first_other(self) -> int:
        """The first row whose value does not go with the kind."""
        rows = range(self._first(), len(self._column))
        kinds = (_typed(self._column.part(row, row + 1)) for row in rows)
        others = (
            row
            for row, one in zip(rows, kinds, strict=True)
            if not is_empty(one) and joined(one.kind, self._kind) is None
        )
        return next(others, self._first())

    def _refused(self, row: int, why: str) -> ChangeRefused:
        value = self._column.part(row, row + 1).to_list()[0]
        number = row if self._rows is None else int(self._rows[row])
        return ChangeRefused(
            f"the property {self._name!r} holds {named(self._kind)}, and the value {value!r} "
            f"(row {number}) {why}",
            "Give values of that type, or another name.",
        )
