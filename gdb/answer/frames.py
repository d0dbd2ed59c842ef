"""The columns of an answer as arrays of NumPy and as a frame of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdb.answer.rows import ColumnAnswer

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from gdb.answer.entities import Cell
    from gdb.answer.rows import Answer

_DTYPES = {bool: "bool", int: "int64", float: "float64", datetime: "datetime64[us]"}
_DTYPES |= {timedelta: "timedelta64[us]", date: "datetime64[D]"}


def columns_of(answer: Answer, places: Sequence[int]) -> list[list[Cell]]:
    """The values of some columns."""
    columns: list[list[Cell]] = [[] for _ in places]
    for chunk in answer.chunks():
        for column, place in zip(columns, places, strict=True):
            column += chunk[place]
    return columns


# ---- NumPy ---------------------------------------------------------------------------------------


def arrays_of(answer: Answer) -> Mapping[str, npt.NDArray[Any]]:
    """See `Result.numpy`."""
    names = answer.names
    columns = columns_of(answer, range(len(names)))
    return {name: array_of(cells) for name, cells in zip(names, columns, strict=True)}


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

    plain = _plain_series(answer)
    rest = [k for k in range(len(answer.names)) if k not in plain]
    cells = columns_of(answer, rest) if rest else []
    made = {
        k: pandas.Series(of, dtype=_pandas_dtype(of)) for k, of in zip(rest, cells, strict=True)
    }
    series = [one for _, one in sorted((plain | made).items())]
    frame = pandas.concat(series, axis=1) if series else pandas.DataFrame()
    frame.columns = [*answer.names]
    return frame


def _plain_series(answer: Answer) -> dict[int, pandas.Series[Any]]:
    """The columns that Arrow gives to pandas without Python's making each value, by their places: all but those of
    elements, lists and times with a zone, of nulls alone, and of what is not in Arrow."""
    if not isinstance(answer, ColumnAnswer) or not len(answer):
        return {}
    try:
        import pyarrow
    except ImportError:  # pandas does without it
        return {}
    found: dict[int, pandas.Series[Any]] = {}
    for place in range(len(answer.names)):
        chunks = answer.plain_column(place)
        if chunks is None:
            continue
        column = pyarrow.chunked_array([pyarrow.array(chunk) for chunk in chunks])
        series = None if column.null_count == len(column) else _series_of(column)
        if series is not None:
            found[place] = series
    return found


def _series_of(column: pyarrow.ChunkedArray) -> pandas.Series[Any] | None:
    """A column of Arrow as what pandas has for its values (`_pandas_dtype`); None where it takes objects."""
    import pandas
    import pyarrow

    kinds, type_ = pyarrow.types, column.type
    if kinds.is_string(type_) or kinds.is_large_string(type_):
        texts = column.to_pandas()
        return texts if texts.dtype == pandas.Series(["text"]).dtype else None
    if kinds.is_date32(type_):
        return column.to_pandas()
    if kinds.is_int64(type_) and column.null_count:
        values, missing = column.fill_null(0).to_numpy(), column.is_null().to_numpy()
        return pandas.Series(pandas.arrays.IntegerArray(values.copy(), missing.copy()))
    is_plain = kinds.is_int64(type_) or (kinds.is_boolean(type_) and not column.null_count)
    is_time = type_ in (pyarrow.timestamp("us"), pyarrow.duration("us"))
    if is_plain or is_time or kinds.is_float64(type_):
        return pandas.Series(column.to_numpy(), copy=True)  # not the memory of the graph
    return None


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
