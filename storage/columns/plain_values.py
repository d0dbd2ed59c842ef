"""Values that NumPy and pandas make, as Python has them: the same for lists in changes, lists of dicts and networkx."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from types import NoneType

import numpy as np

from .numpy_arrays import Unfit, of_numpy

# what is stored as it is; of other types the values are looked at one by one
_SCALARS = {NoneType, bool, int, float, str, date, datetime, timedelta}
_PLAIN = {*_SCALARS, list}
_MISSING = ("NaTType", "NAType")  # of pandas
_BELOW = (
    "nanosecond",
    "nanoseconds",
)  # of pandas.Timestamp, which is a datetime, and of pandas.Timedelta


def plain_values(values: Sequence[object]) -> Sequence[object]:
    """The values, each as `plain` makes it: those given, where all are plain already.

    Raises
    ------
    Unfit : see `plain`; `row` is the place of the value, from 0.
    """
    if _types(values) <= _PLAIN:
        return values
    return [plain(value, row) for row, value in enumerate(values)]


def _types(values: Sequence[object]) -> set[type]:
    """The types of values, and of the items of lists."""
    kinds = set(map(type, values))
    if list in kinds:
        kinds |= {type(item) for value in values if isinstance(value, list) for item in value}
    return kinds


def plain(value: object, row: int = 0) -> object:
    """A value that a library made, as Python has it: scalars and arrays of NumPy as numbers, texts, times and lists of
    them, NaT and `pandas.NA` as None, tuples as lists. What it does not know is given back as it is.

    Raises
    ------
    Unfit : a time has parts of a microsecond or is outside of the years 1 to 9999, a duration is in months or years;
        `row` is the one given.
    """
    if type(value) in _SCALARS:  # most often, and quickest
        return value
    match value:
        case np.datetime64() | np.timedelta64():
            try:
                return of_numpy(np.asarray([value])).to_list()[0]
            except Unfit as problem:
                if problem.row is not None:
                    raise problem.moved(row) from None
                reason = "is a duration without a fixed unit"
                raise Unfit(reason, problem.cure, row, str(value)) from None
        case np.generic():
            return value.item()
        case np.ndarray(ndim=0):
            return plain(value[()], row)
        case np.ndarray():
            return plain(value.tolist() if value.dtype.kind not in "Mm" else list(value), row)
        case list() | tuple():
            return [plain(item, row) for item in value]
        case str():
            return str.__str__(value)
    kind = type(value)
    if kind.__name__ in _MISSING and kind.__module__.startswith("pandas."):
        return None
    if isinstance(value, (datetime, timedelta)) and any(getattr(value, x, 0) for x in _BELOW):
        why = "has parts of a microsecond, which are not kept"
        raise Unfit(why, "Round them first.", row, str(value))
    return value
