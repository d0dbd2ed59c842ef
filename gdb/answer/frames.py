"""The columns of an answer as arrays of NumPy and as a frame of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas

    from gdb.answer.entities import Cell
    from gdb.answer.rows import Answer

_DTYPES = {bool: "bool", int: "int64", float: "float64", datetime: "datetime64[us]"}
_DTYPES |= {timedelta: "timedelta64[us]", date: "datetime64[D]"}


def columns_of(answer: Answer) -> dict[str, list[Cell]]:
    """The values of each column, by its name."""
    columns: dict[str, list[Cell]] = {name: [] for name in answer.names}
    for chunk in answer.chunks():
        for column, cells in zip(columns.values(), chunk, strict=True):
            column += cells
    return columns


# ---- NumPy ---------------------------------------------------------------------------------------


def arrays_of(answer: Answer) -> Mapping[str, npt.NDArray[Any]]:
    """See `Result.numpy`."""
    return {name: array_of(cells) for name, cells in columns_of(answer).items()}


def array_of(cells: Sequence[Cell]) -> npt.NDArray[Any]:
    """A column as an array; where it has nulls and a dtype that has none, as a masked one.

    Examples
    --------
    >>> array_of([1, 2])
    array([1, 2])
    >>> array_of([1, None]).filled(0)
    array([1, 0])
    """
    kinds = {*map(type, cells)}
    nulls = type(None) in kinds
    dtype = _dtype(kinds - {type(None)}, cells)
    if dtype is None:
        return np.fromiter(cells, object, len(cells))
    if not nulls:
        return np.array(cells, dtype)
    missing = np.array([cell is None for cell in cells])
    filled = np.zeros(len(cells), dtype)
    filled[~missing] = [cell for cell in cells if cell is not None]
    return np.ma.MaskedArray(filled, missing)


def _dtype(kinds: set[type], cells: Sequence[Cell]) -> str | None:
    """What NumPy has for values of these types; None where that is objects alone."""
    if kinds == {int, float} and all(map(_is_float, cells)):
        return "float64"
    if len(kinds) != 1 or (kinds == {int} and not all(map(_is_int64, cells))):
        return None
    if kinds == {datetime} and any(isinstance(c, datetime) and c.tzinfo for c in cells):
        return None
    return _DTYPES.get(kinds.pop())


def _is_float(cell: Cell) -> bool:
    """Whether a float can be the number, exactly."""
    return not isinstance(cell, int) or -(2**53) <= cell <= 2**53


# ---- pandas --------------------------------------------------------------------------------------


def frame_of(answer: Answer) -> pandas.DataFrame:
    """See `Result.df`."""
    import pandas

    columns = columns_of(answer)
    series = [pandas.Series(cells, dtype=_pandas_dtype(cells)) for cells in columns.values()]
    frame = pandas.concat(series, axis=1) if series else pandas.DataFrame()
    frame.columns = [*columns]
    return frame


def _pandas_dtype(cells: Sequence[Cell]) -> str | None:
    """What a column is in pandas; None where pandas finds the same itself. "object" keeps the values as they are."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    nulls = any(cell is None for cell in cells)
    if kinds == {int}:
        return ("Int64" if nulls else "int64") if all(map(_is_int64, cells)) else "object"
    if kinds == {int, float}:  # as in Arrow and NumPy
        return "float64" if all(map(_is_float, cells)) else "object"
    if kinds == {bool}:
        return "boolean" if nulls else "bool"
    if kinds == {datetime}:  # pandas would have nanoseconds, and of the year 1 none
        zones = {cell.tzinfo for cell in cells if isinstance(cell, datetime)}
        return "datetime64[us]" if zones == {None} else "object"
    if kinds == {timedelta}:
        return "timedelta64[us]"
    return None if kinds in ({float}, {str}) else "object"


def _is_int64(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, int) and -(2**63) <= cell < 2**63)
