"""Arrays of NumPy as columns: one table of what becomes of each type, which the buffers of Arrow go by as well
(`gdb.storage.columns.arrow_arrays`), and which is that of imports (`gdb.storage.importer.typed`).

What a kind cannot hold is refused with its row. All is copied: the caller may change its arrays, or let them go.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from gdb.records import replace

from . import temporal
from .model import DTYPES, I64, LIST_OF, Bools, Column, Kind, Values, offsets_of_lengths, places

Array: TypeAlias = "npt.NDArray[np.generic]"

_CAST = "Cast it first."
LOST = "Years are 1 to 9999; parts of a microsecond, and months of a duration, are not kept."
# ---- units of NumPy's times, in microseconds: as many, or as many of them make one -----------------
_UP = {"h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}
_UP_DAYS = {"W": 7 * temporal.DAY, "D": temporal.DAY}
_DOWN = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}
_FIRST_MONTH, _LAST_MONTH = -1969 * 12, 8030 * 12 - 1  # of the years 1 and 9999, since 1970-01


class Unfit(Exception):
    """What no column can hold.

    reason : what is wrong; of a value, a verb first. row : of the value, from 0, and its text where it is known; None
    where it is the whole that is wrong. name : of the column, in a table.
    """

    def __init__(self, reason: str, cure: str, row: int | None = None, value: str = "") -> None:
        self.reason, self.cure, self.row, self.value = reason, cure, row, value
        self.name = ""
        super().__init__(reason)

    def moved(self, row: int | None) -> Unfit:
        """The same in another row."""
        return Unfit(self.reason, self.cure, row, self.value)


def is_numeric(array: Array) -> bool:
    """Whether `of_numpy` takes it: numbers, booleans and times; texts and objects are no numbers."""
    return array.dtype.kind in "biufMm"


def of_numpy(array: Array) -> Column:
    """A column of an array of one dimension; of one of two, the lists that are its rows. NaT and what is masked is
    null.

    Raises
    ------
    Unfit : a value is one that its kind cannot hold; the array has other dimensions.
    """
    if array.ndim == 2:
        count, width = array.shape
        starts = np.arange(count, dtype=np.int64) * width
        flat = array.reshape(-1)
        lengths = np.full(count, width)
        return lists(lambda first, last: of_numpy(flat[first:last]), starts, lengths, None)
    if array.ndim != 1:
        raise Unfit(f"an array of {array.ndim} dimensions", "Give it one, or two for lists.")
    valid: Bools | None = None
    if isinstance(array, np.ma.MaskedArray):
        valid, array = ~np.ma.getmaskarray(array), np.asarray(array.data)
    if array.dtype.kind in "Mm":
        known = ~np.isnat(_native(array))
        valid = known if valid is None else known & valid
    return single(array, valid)


def single(array: Array, valid: Bools | None) -> Column:
    """The column of numbers, booleans or times, which are null where they are not valid."""
    match array.dtype.kind:
        case "b":
            return column_of_kind("bool", array, valid)
        case "i":
            return column_of_kind("int64", array, valid)
        case "u":
            large = array.astype(np.uint64) > np.iinfo(np.int64).max
            refuse(large, array, valid, "is beyond 2**63 - 1", "Make texts of them.")
            return column_of_kind("int64", array, valid)
        case "f" if array.dtype.itemsize <= 8:
            return column_of_kind("float64", array, valid)
        case "M":
            return _instants(array, valid)
        case "m":
            unit, count = np.datetime_data(array.dtype.str)
            if unit in ("Y", "M", "generic"):
                raise Unfit("durations without a fixed unit", "Cast them to microseconds.")
            up, down = {**_UP, **_UP_DAYS}.get(unit, 1) * count, _DOWN.get(unit, 1)
            bounds = (-temporal.LONGEST, temporal.LONGEST)
            return scaled("duration", array, valid, (up, down), bounds)
    raise Unfit(f"the type {array.dtype}, which no property can be", _CAST)


def _instants(array: Array, valid: Bools | None) -> Column:
    """Dates where the unit is whole days, else datetimes."""
    unit, count = np.datetime_data(array.dtype.str)
    days = (temporal.FIRST_DAY, temporal.LAST_DAY)
    match unit:
        case "generic":  # nothing but NaT
            return Column.nulls("datetime", len(array))
        case "Y" | "M":
            up, months = (12 if unit == "Y" else 1) * count, (_FIRST_MONTH, _LAST_MONTH)
            whole = scaled("int64", array, valid, (up, 1), months).values
            return column_of_kind("date", whole.view("M8[M]").astype("M8[D]").view(np.int64), valid)
        case "W" | "D":
            return scaled("date", array, valid, ((7 if unit == "W" else 1) * count, 1), days)
    bounds = (temporal.FIRST_INSTANT, temporal.LAST_INSTANT)
    scale = _UP.get(unit, 1) * count, _DOWN.get(unit, 1)
    return scaled("datetime", array, valid, scale, bounds)


def _native(array: Array) -> npt.NDArray[np.datetime64]:
    """Times in this machine's order of bytes."""
    return cast(
        "npt.NDArray[np.datetime64]", array.astype(array.dtype.newbyteorder("="), copy=False)
    )


def scaled(
    kind: Kind, array: Array, valid: Bools | None, scale: tuple[int, int], bounds: tuple[int, int]
) -> Column:
    """The numbers of an array times scale[0] / scale[1]; each product is whole and within the bounds."""
    common = math.gcd(*scale)
    up, down = scale[0] // common, scale[1] // common
    numbers = _native(array).view(np.int64)
    whole, rest = np.divmod(numbers, down)
    # compared before it is multiplied, which could go beyond 64 bits
    wrong = (rest != 0) | (whole < -(-bounds[0] // up)) | (whole > bounds[1] // up)
    refuse(wrong, array, valid, f"cannot be stored as {kind}", LOST)
    return column_of_kind(kind, np.where(wrong, 0, whole) * up, valid)


def refuse(wrong: Bools, array: Array, valid: Bools | None, reason: str, cure: str) -> None:
    """Raise for the first value that is wrong and not null."""
    rows = np.flatnonzero(wrong if valid is None else wrong & valid)
    if len(rows):
        row = int(rows[0])
        raise Unfit(reason, cure, row, _shown(array[row]))


def _shown(value: np.generic) -> str:
    """A value for an error. NumPy 2.5 refuses to write times that are too far away; then it is their number."""
    try:
        return str(value)
    except OverflowError:
        unit, many = np.datetime_data(cast("np.dtype[np.datetime64]", value.dtype))
        return f"{value.view(np.int64)} times {many} {unit}"


def column_of_kind(kind: Kind, values: Array, valid: Bools | None) -> Column:
    """A column of numbers of its own; zero where it is null."""
    if valid is not None and valid.all():
        valid = None
    made: Values = values.astype(DTYPES[kind])
    if valid is not None:
        made[~valid] = 0
    return Column(kind, made, None, valid)


def lists(
    items: Callable[[int, int], Column], starts: I64, lengths: I64, valid: Bools | None
) -> Column:
    """Lists whose items are `lengths` ones from `starts` on, i64[n]; `items(a, b)` gives the items from a to b."""
    if valid is not None:
        lengths = np.where(valid, lengths, 0)  # behind a null there may be anything
    filled = lengths > 0
    first = int(starts[filled].min()) if filled.any() else 0
    last = int((starts + lengths)[filled].max()) if filled.any() else 0

    try:
        found = items(first, last)
    except Unfit as problem:
        if problem.row is None:
            raise
        item = first + problem.row
        inside = np.flatnonzero(filled & (starts <= item) & (item < starts + lengths)).tolist()
        raise problem.moved(inside[0] if inside else None) from None
    if found.kind not in LIST_OF:
        raise Unfit("lists of lists", "Use one list for each value.")
    offsets = offsets_of_lengths(lengths)
    found = found.take(places(starts - first, lengths, offsets))
    if found.valid is not None and not found.valid.all():
        row = int(np.searchsorted(offsets, np.flatnonzero(~found.valid)[0], "right")) - 1
        raise Unfit("is a list that holds null", "Leave nulls out of lists.", row)
    return Column.of_lists(replace(found, valid=None), offsets, valid)
