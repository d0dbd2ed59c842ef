"""New values of properties as the kinds that the properties have."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gdb.errors import ChangeRefused, ImportFailed
from gdb.storage.model import ITEM_OF, SINGLE_KINDS, Column, Kind, PropertyValue

EXACT = 1 << 53  # integers up to this are floats without loss
_NAMES: dict[Kind, str] = {
    "int64": "integers",
    "float64": "floats",
    "bool": "booleans",
    "any": "values of any type",
}


def named(kind: Kind) -> str:
    """The values of a kind."""
    return _NAMES.get(kind, f"{kind}s" if kind in SINGLE_KINDS else f"lists ({kind})")


def fitted(
    columns: Mapping[str, Column],
    kinds: Mapping[str, Kind],
    present: Callable[[str], Column | None],
    *,
    widens: bool,
) -> dict[str, Column]:
    """Columns of new values as the kinds that the properties have; one of nulls alone makes no property.

    present : gives the values that a property has; asked for only where they would become floats.
    widens : a property that is given values of another kind becomes one of the kind "any", instead of refusing them.
    """
    found: dict[str, Column] = {}
    for name, column in columns.items():
        if name in kinds:
            kind = kinds[name]
            found[name] = (
                _widened(column, kind) if widens else _as_kind(name, column, kind, present)
            )
        elif not _is_empty(column):
            found[name] = column
    return found


def _widened(column: Column, kind: Kind) -> Column:
    """The column as a kind if it is that or holds nothing, else as one of the kind "any"."""
    if kind == column.kind:
        return column
    if _is_empty(column):
        return Column.nulls(kind, len(column))
    items = column.items
    if kind in ITEM_OF and items is not None and column.offsets is not None and not len(items):
        return Column.of_lists(Column.nulls(ITEM_OF[kind], 0), column.offsets, column.valid)
    return column.as_any()


def _is_empty(column: Column) -> bool:
    """Whether it has no value."""
    return not len(column) or (column.valid is not None and not bool(column.valid.any()))


def _as_kind(
    name: str, column: Column, kind: Kind, present: Callable[[str], Column | None]
) -> Column:
    """int64 and float64 become float64 where that loses nothing."""
    if _is_empty(column):
        return Column.nulls(kind, len(column))
    if kind == "any":
        return column.as_any()
    column = _typed(column)
    if kind == column.kind:
        return column
    if {kind, column.kind} == {"int64", "float64"}:
        whole = column if column.kind == "int64" else present(name)
        if whole is not None and _are_floats(whole):
            return Column("float64", column.values.astype(np.float64), None, column.valid)
    values = enumerate(column.to_list())
    row, value = next((k, v) for k, v in values if v is not None and _is_other(v, column, kind))
    raise ChangeRefused(
        f"the property {name!r} holds {named(kind)}, and the value {value!r} (row {row}) is none of these",
        "Give values of that type, or another name.",
    )


def _typed(column: Column) -> Column:
    """A column of values of any type as one of the type that all of them have, where they have one: such are the
    values of nodes that get other labels, under which the property is of one type."""
    if column.kind != "any":
        return column
    try:
        return Column.from_list(column.to_list())
    except ImportFailed:
        return column


def _is_other(value: PropertyValue, column: Column, kind: Kind) -> bool:
    """Whether a value of the column is one of those that are not of a kind."""
    return column.kind != "any" or _typed(Column.from_list([value], "any")).kind != kind


def _are_floats(column: Column) -> bool:
    """Whether all integers of a column are floats without loss."""
    known = column.values if column.valid is None else column.values[column.valid]
    return not len(known) or -EXACT <= int(known.min()) <= int(known.max()) <= EXACT
