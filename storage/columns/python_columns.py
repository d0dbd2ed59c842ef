"""Columns of Python values: their kind, and the first value that is incompatible with the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import cast

import numpy as np

from gdb.errors import ImportFailed

from . import temporal
from .model import (
    DTYPES,
    ITEM_OF,
    LIST_OF,
    ROUNDED,
    WIDER,
    Bools,
    Column,
    Item,
    Kind,
    PropertyValue,
    coded,
    from_strings,
    is_exact,
    named,
    offsets_of_lengths,
)
from .numpy_arrays import Unfit
from .plain_values import plain_values

_KINDS: dict[type, Kind] = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    datetime: "datetime",
    date: "date",
    timedelta: "duration",
}
_ONE_TYPE = "Give values of one type, for example texts, or give some of them another name."
_NO_NULL = "A list holds values of one type, none of them null and none a list: leave it out."


class Misfit(ImportFailed):
    """Of values that are to be one column, one that cannot be in it.

    row : its place, from 0. why : what is wrong with it; a verb first.
    """

    def __init__(self, row: int, value: object, why: str, cure: str) -> None:
        self.row, self.why = row, why
        super().__init__(f"the value {shown(value)} (row {row}) {why}", cure)


def shown(value: object) -> str:
    """A value in an error."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def column_of(values: Sequence[PropertyValue], kind: Kind | None = None) -> Column:
    """A column of Python values; ints beside floats widen to float64 where that loses nothing, also in lists.

    Without `kind` it is found from the values (nothing but nulls: string).

    Raises
    ------
    Misfit (an ImportFailed) : the kinds have no common type, or a value does not fit its type.
    """
    if kind in (None, "int64") and set(map(type, values)) == {int}:  # most often, and quickest
        try:
            return Column("int64", np.array(values, np.int64))
        except OverflowError:
            raise _misfit(values, "int64") from None
    kind = kind or _kind_of(values)
    nulls = np.fromiter((v is None for v in values), np.bool_, len(values))
    valid = ~nulls if nulls.any() else None
    try:
        return _column_of(values, kind, valid)
    except (OverflowError, ValueError, TypeError):
        raise _misfit(values, kind) from None


def _column_of(values: Sequence[PropertyValue], kind: Kind, valid: Bools | None) -> Column:
    """The column; a value that does not fit raises what NumPy and Python raise."""
    if kind in ITEM_OF:
        lists = [value if isinstance(value, list) else [] for value in values]
        items = [item for value in lists for item in value]
        if any(item is None or isinstance(item, list) for item in items):
            raise ValueError("an item of a list is null or a list")
        offsets = offsets_of_lengths(np.fromiter(map(len, lists), np.int64, len(lists)))
        return Column.of_lists(_column_of(items, ITEM_OF[kind], None), offsets, valid)
    if kind == "any":
        return coded(values, valid)
    if kind == "string":
        return from_strings(["" if v is None else str(v) for v in values], valid)
    return Column(kind, np.array([_number(v) for v in values], DTYPES[kind]), None, valid)


def _number(value: PropertyValue) -> int | float | str:
    """A value that is no list as its column has it."""
    match value:
        case None:
            return 0
        case list():
            raise ValueError("a list")
        case datetime():
            return temporal.stored_instant(value)
        case date():
            return temporal.day_of(value)
        case timedelta():
            return temporal.stored_length(value)
        case int() | float() | str():
            return value
    raise ValueError(f"{value} is of the kind any")


# ---- the kind of several values --------------------------------------------------------------------


def _kind_of(values: Sequence[PropertyValue]) -> Kind:
    """The kind that holds all values. Raises Misfit."""
    present = [value for value in values if value is not None]
    if any(issubclass(seen, list) for seen in set(map(type, present))):
        lists = [value for value in present if isinstance(value, list)]
        item = _alike([item for value in lists for item in value])
        if item is not None and len(lists) == len(present):
            return LIST_OF[item]
    elif (kind := _alike(present)) is not None:
        return kind
    return _kind_one_by_one(values)


def _alike(values: Sequence[Item | PropertyValue]) -> Kind | None:
    """The kind of values of one Python type, or of integers and floats that are all floats; nothing: string. None
    where one value has to be compared with the others."""
    kinds = {_single(seen) for seen in set(map(type, values))}
    if kinds == {"int64", "float64"}:
        return "float64" if all(is_exact(v) for v in values if isinstance(v, int)) else None
    return "string" if not kinds else kinds.pop() if len(kinds) == 1 else None


def _kind_one_by_one(values: Sequence[PropertyValue]) -> Kind:
    """The same as `_kind_of`; the error names the first value that is incompatible with those before it."""
    kind: Kind | None = None  # of the values, or of their items
    lists: bool | None = None
    for row, value in enumerate(values):
        if value is None:
            continue
        if lists not in (None, isinstance(value, list)):
            why = "is no list as those before it" if lists else "is a list, and none is before it"
            raise Misfit(row, value, why, "Make lists of all of them.")
        lists = isinstance(value, list)
        for item in value if isinstance(value, list) else [value]:
            own = _kind_of_item(row, value, item)
            if kind is None or WIDER.get(kind) == own:
                kind = own
            elif own != kind and WIDER.get(own) != kind:
                raise _unlike(row, value, item, f"is none of the {named(kind)} before it")
    if kind == "float64":
        _refuse_rounding(values)
    return LIST_OF[kind or "string"] if lists else kind or "string"


def _refuse_rounding(values: Sequence[PropertyValue]) -> None:
    for row, value in enumerate(values):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, int) and not is_exact(item):
                raise _unlike(row, value, item, f"is {ROUNDED}, beside floats")


def _unlike(row: int, value: object, item: object, why: str) -> Misfit:
    return Misfit(
        row, value, why if item is value else f"holds {shown(item)}, which {why}", _ONE_TYPE
    )


def _kind_of_item(row: int, value: object, item: object) -> Kind:
    """The kind of a value, or of an item of a value that is a list."""
    if isinstance(item, list) or item is None:
        what = "null" if item is None else "a list"
        raise Misfit(row, value, f"is a list that holds {what}", _NO_NULL)
    kind = _single(type(item))
    if kind is None:
        why = f"is of the Python type {type(item).__name__}, which cannot be stored"
        cure = (
            "Use int, float, bool, str, date, datetime, timedelta, lists of one of these, or None."
        )
        if item is not value:
            why = f"holds {shown(item)}, which {why}"
        raise Misfit(row, value, why, cure)
    return kind


def _single(type_: type) -> Kind | None:
    """The kind of values of a Python type, None for lists and for what cannot be stored."""
    return next((_KINDS[base] for base in type_.__mro__ if base in _KINDS), None)


# ---- the value that does not fit -------------------------------------------------------------------


def _misfit(values: Sequence[PropertyValue], kind: Kind) -> Misfit:
    """The error for the first of the values that `_column_of` cannot take."""
    low, high = 0, len(values)
    while high - low > 1:  # the values before `low` can be made, those before `high` cannot
        middle = (low + high) // 2
        if _why_not(values[low:middle], kind):
            high = middle
        else:
            low = middle
    value = values[low]
    if isinstance(value, list) and kind in ITEM_OF:
        if None in value or any(isinstance(item, list) for item in value):
            return Misfit(low, value, "is a list that holds null or a list", _NO_NULL)
        inner = _misfit(value, ITEM_OF[kind])
        why = f"holds {shown(value[inner.row])}, which {inner.why}"
        return Misfit(low, value, why, inner.cure)
    cure = "Repair it." if kind == "string" else "Give it as a text, or leave it out."
    return Misfit(low, value, _why_not([value], kind), cure)


def _why_not(values: Sequence[PropertyValue], kind: Kind) -> str:
    """Why no column can be made of values, "" where it can."""
    try:
        _column_of(values, kind, None)
    except OverflowError:
        return "does not fit 64 bits"
    except UnicodeEncodeError:
        return "is not valid Unicode"
    except (ValueError, TypeError) as error:
        return f"does not fit the type {kind} ({error})"
    return ""


def keys_of(rows: Iterable[Mapping[str, PropertyValue]]) -> list[str]:
    """The keys that any of the rows has, ascending."""
    return sorted({key for row in rows for key in row})


def columns_of(
    rows: Sequence[Mapping[str, object]],
    keys: Iterable[str],
    wrong: Callable[[int, str, str], ImportFailed],
) -> dict[str, Column]:
    """A column for each key of some rows; values of NumPy and pandas as `plain_values` makes them. wrong : makes the
    error of a row, a reason and its cure, where a value is of no column."""
    found: dict[str, Column] = {}
    for key in keys:
        given = [row.get(key) for row in rows]
        try:
            cells = cast("Sequence[PropertyValue]", plain_values(given))
        except Unfit as problem:
            row = problem.row or 0
            value = problem.value or shown(given[row])
            raise wrong(row, f"{key!r} is {value}, which {problem.reason}", problem.cure) from None
        try:
            found[key] = column_of(cells)
        except Misfit as error:
            reason = f"{key!r} is {shown(cells[error.row])}, which {error.why}"
            raise wrong(error.row, reason, error.cure) from None
    return found
