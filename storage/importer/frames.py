"""Tables in memory, of any library that hands out Arrow streams: columns of a CSV table by the same header names."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from gdb.base.sql import binary, exp, row_number, select, value_of
from gdb.base.threads import for_callers
from gdb.errors import ImportFailed

from ..columns.arrow_arrays import ArrowStream, without_halves
from ..columns.pandas_index import LEFT_OUT, column_names
from ..disk.duckdb_engine import Engine
from .layout import Layout
from .tables import TableInput
from .typed import TOO_FAR, Schema, TypedTable, duration_of, refuse_extension, typed_layout

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_CURE = "Give a table or data frame of plain columns."


_GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _CStream(ctypes.Structure):
    """`struct ArrowArrayStream` of Arrow's C stream interface."""

    _fields_ = (
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.c_void_p),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


def _read_for_callers(address: int) -> object:
    """Have the batches of a stream made for this thread (`gdb.base.threads`), whichever thread of DuckDB's takes them:
    a generator of the program may make them, and query the database. What comes back must be held with the stream."""
    stream = _CStream.from_address(address)
    called = _GET_NEXT(for_callers(_GET_NEXT(stream.get_next)))
    stream.get_next = ctypes.cast(called, ctypes.c_void_p).value
    return called


class Frame:
    """A table in memory, as a stream that can be read once; reading its schema does not consume it.

    name : by which errors call it.

    Raises
    ------
    ImportFailed : it is no table.
    """

    def __init__(self, source: ArrowStream, name: str) -> None:
        import nanoarrow as na

        self.name = name
        try:
            self._stream = without_halves(na.c_array_stream(source))
            self._schema = self._stream.get_schema()
            self._next = _read_for_callers(self._stream._addr())
        except Exception as error:  # whatever the library raises that makes the stream
            raise _unreadable(name, error) from error
        if self._schema.format != "+s":
            raise ImportFailed("is no table", _CURE, file=name)
        self.names = column_names(self._schema)
        for field, header in zip(self._schema.children, self.names, strict=True):
            if header == LEFT_OUT:
                continue
            # DuckDB would cut them without a word
            if duration_of(field).startswith("DURATION ns"):
                raise ImportFailed(
                    f"column {field.name!r} holds durations in nanoseconds",
                    "Cast them to microseconds.",
                    file=name,
                )
            refuse_extension(field, name)

    def take_as_text(self, columns: Sequence[int]) -> None:
        """Have some columns of a table without rows hold texts, whatever types they have."""
        import nanoarrow as na
        from nanoarrow.c_array_stream import CArrayStream

        fields = [
            na.c_schema(na.string()).modify(name=field.name) if k in columns else field
            for k, field in enumerate(self._schema.children)
        ]
        self._stream = CArrayStream.from_c_arrays([], na.c_schema(na.struct(fields)))
        self._schema = self._stream.get_schema()
        self._next = _read_for_callers(self._stream._addr())

    def __arrow_c_schema__(self) -> object:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._stream.__arrow_c_stream__()


def frame_layout(frame: Frame, columns: Sequence[str] | None, engine: Engine) -> Layout:
    """The layout of a table in memory; `columns` are its header fields instead of its names.

    Raises
    ------
    ImportFailed : it holds what cannot be stored.
    """
    with closing(engine.cursor()) as connection:
        schema = _schema(frame, connection)
    return typed_layout(schema, columns, frame.name)


def _schema(frame: Frame, connection: DuckDBPyConnection) -> Schema:
    import duckdb

    try:
        connection.register("frame", frame)
        types = connection.execute("SELECT column_type FROM (DESCRIBE SELECT * FROM frame)")
        # DuckDB's own names differ where two are alike
        return frame.names, [str(type) for (type,) in types.fetchall()]
    except duckdb.Error as error:
        raise _unreadable(frame.name, error) from None


def _is_too_far(error: Exception) -> bool:
    import duckdb

    return isinstance(error, duckdb.ConversionException)


def _unreadable(name: str, error: Exception) -> ImportFailed:
    short = str(error).strip().split("\n")[0].rstrip(".: ")
    if "no validity bitmap" in short:  # of polars, whose columns without a value have no type
        cure = "A column without any value needs a type, as by cast(pl.String); or leave it out."
        return ImportFailed(f"cannot be read as an Arrow stream ({short})", cure, file=name)
    cure = TOO_FAR if _is_too_far(error) else _CURE
    return ImportFailed(f"cannot be read as an Arrow stream ({short})", cure, file=name)


class FrameTable(TypedTable):
    """The rows of one table in memory."""

    def __init__(self, frame: Frame, given: TableInput) -> None:
        super().__init__(given)
        self._frame = frame

    def _schema(self) -> Schema:
        return _schema(self._frame, self.connection)

    def _make(self, of: Callable[[exp.Expr], exp.Expr]) -> None:
        import duckdb

        row = binary(exp.Sub, row_number(), value_of(1))
        try:
            self._fill(of(select([exp.Star(), row], "frame")))
        except duckdb.Error as error:
            raise _unreadable(self._frame.name, error) from None
