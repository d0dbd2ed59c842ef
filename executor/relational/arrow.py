"""Arrow in and out: property columns to Arrow arrays without a copy, and DuckDB's Arrow answer to Python values.

The only module of this room that touches nanoarrow; everybody else passes `Array` objects around. They follow the Arrow
PyCapsule interface, so that DuckDB, polars, pandas and pyarrow read them without a copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar, cast

import nanoarrow as na
import numpy as np
import numpy.typing as npt

from gdb.base import once
from gdb.base.budget import ROWS, Budget
from gdb.storage.columns.model import Column, offsets_of_lengths
from gdb.storage.columns.slices import Slice
from gdb.storage.disk.arrays import Shelf

if TYPE_CHECKING:
    from .relational_tail import Value

I64: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)

once.unlock_properties("nanoarrow")

_OWN = 64  # bytes for each row: a longer buffer belongs to a larger array that contains the rows


class ArrowStream(Protocol):
    """Anything that hands out an Arrow stream (a DuckDB relation, a polars frame, an `Array` of ours)."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class Array(ArrowStream, Protocol):
    """The part of `nanoarrow.Array` that gdb uses: one or more chunks of one type."""

    @property
    def schema(self) -> object:
        """The type, as nanoarrow describes it."""
        ...

    def __len__(self) -> int: ...

    def iter_chunks(self) -> Iterator[Array]:
        """Its chunks, each as an array of one chunk."""
        ...

    def child(self, index: int) -> Array:
        """Field `index` of a struct."""
        ...

    def to_pylist(self) -> list[Value]:
        """All values as Python objects, None for null."""
        ...


# ---- making arrays --------------------------------------------------------------------------------


def int64_array(values: I64, valid: Flags | None = None) -> Array:
    """A BIGINT column; shares the memory of a contiguous i64[n]. valid : bool[n], None for all."""
    packed = np.ascontiguousarray(values, np.int64)
    nulls = 0 if valid is None else len(packed) - int(np.count_nonzero(valid))
    buffers = [_bits(valid), packed]
    return _array(na.c_array_from_buffers(na.int64(), len(packed), buffers, null_count=nulls))


def column_array(column: Column | Slice) -> Array:
    """A property column, or rows of one; booleans are packed into bits, all else is shared."""
    return _array(na.c_array(Slice.of(column) if isinstance(column, Column) else column))


def null_array(length: int) -> Array:
    """A column of Arrow's null type: what a property key gives that nothing has."""
    return _array(na.c_array_from_buffers(na.null(), length, []))


def times_array(microseconds: I64, valid: Flags | None, kind: Literal["time", "instant"]) -> Array:
    """A column of times of day, microseconds since midnight, or of instants, microseconds since 1970-01-01T00:00Z."""
    schema = na.time64("us") if kind == "time" else na.timestamp("us", "UTC")
    buffers = [_bits(valid), np.ascontiguousarray(microseconds, np.int64)]
    return _array(na.c_array_from_buffers(schema, len(microseconds), buffers))


def list_array(lengths: I64, items: Array, valid: Flags | None = None) -> Array:
    """A column of lists: row i holds the next lengths[i] items; lengths: i64[n], in all len(items), 0 for a null."""
    offsets = offsets_of_lengths(lengths)
    schema = na.large_list(na.Schema(items.schema))
    return _array(
        na.c_array_from_buffers(
            schema,
            len(lengths),
            [_bits(valid), offsets],
            null_count=0 if valid is None else -1,
            children=[na.c_array(items)],
        )
    )


def struct_array(
    names: Sequence[str], children: Sequence[Array], length: int, valid: Flags | None = None
) -> Array:
    """A table (or a column of structs) of equally long one-chunk arrays; valid: bool[length], None for no nulls."""
    fields = [
        na.c_schema(child.schema).modify(name=name)
        for name, child in zip(names, children, strict=True)
    ]
    return _array(
        na.c_array_from_buffers(
            na.struct(fields),
            length,
            [_bits(valid)],
            children=[na.c_array(child) for child in children],
        )
    )


def pieces(table: Array, size: int, begin: int = 0) -> Iterator[Array]:
    """The rows of a table, at most `size` at a time, in its memory. begin : the first row of its first chunk."""
    fields = names(table)
    for chunk in table.iter_chunks():
        columns = [na.c_array(chunk.child(index)) for index in range(len(fields))]
        for start in range(begin, len(chunk), size):
            stop = min(start + size, len(chunk))
            some = [_array(column[start:stop]) for column in columns]
            yield struct_array(fields, some, stop - start)
        begin = 0


def move_to_files(array: Array, shelf: Shelf) -> Array:
    """A table with its values in temporary files. What refers to a part of something larger, as rows of a column of the
    store do, stays as it is: that is mapped, or held anyway."""
    return chunks_array([_array(_filed(na.c_array(chunk), shelf)) for chunk in array.iter_chunks()])


def _filed(array: _CArray, shelf: Shelf) -> object:
    view = array.view()
    buffers: list[object] = []
    for index in range(view.n_buffers):
        data = _buffer(view, index, np.uint8)
        own = _is_own(view, index, data)
        found: object = shelf.put(data) if own else view.buffer(index)
        buffers.append(found if len(data) else None)
    return na.c_array_from_buffers(
        array.schema,
        view.length,
        buffers,
        null_count=array.null_count,
        offset=view.offset,
        children=[_filed(child, shelf) for child in array.children],
    )


def _is_own(view: _View, index: int, data: npt.NDArray[np.uint8]) -> bool:
    """Whether the rows of an array fill one of its buffers, so that it is no part of something larger."""
    if view.offset:
        return False
    if len(data) <= _OWN * (view.length + 1):
        return True
    texts = index == view.n_buffers - 1 == 2
    return texts and bool(_buffer(view, 1, np.int64)[view.length] == len(data))


def own_bytes(array: Array) -> int:
    """Bytes of a table that `move_to_files` moves."""
    return sum(_own_bytes(na.c_array(chunk)) for chunk in array.iter_chunks())


def _own_bytes(array: _CArray) -> int:
    view, size = array.view(), 0
    for index in range(view.n_buffers):
        data = _buffer(view, index, np.uint8)
        size += len(data) if _is_own(view, index, data) else 0
    return size + sum(map(_own_bytes, array.children))


def part(array: Array, begin: int, end: int) -> Array:
    """Rows of a one-chunk array, in its memory."""
    return _array(na.c_array(array)[begin:end])


def _bits(valid: Flags | None) -> npt.NDArray[np.uint8] | None:
    return None if valid is None else np.packbits(valid, bitorder="little")


def chunks_array(chunks: Sequence[Array]) -> Array:
    """The chunks (at least one, of one type) as one array."""
    made: Array = na.Array.from_chunks(chunks)
    return made


def as_durations(table: Array, columns: Sequence[bool]) -> Array:
    """A table in which the int64 columns (or lists) that `columns` picks are durations of so many microseconds; the
    memory is the same."""
    fields = [
        _duration_schema(field) if picked else field
        for field, picked in zip(na.c_schema(table.schema).children, columns, strict=True)
    ]
    schema = na.c_schema(na.struct(fields))
    chunks = [_array(na.c_array(_Called(chunk, schema))) for chunk in table.iter_chunks()]
    return chunks_array(chunks) if chunks else _array(na.c_array([], schema))


class _Called:
    """An array under another type of the same layout."""

    def __init__(self, array: Array, schema: _Schema) -> None:
        self._array, self._schema = array, schema

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        _, data = na.c_array(self._array).__arrow_c_array__()
        return self._schema.__arrow_c_schema__(), data


def _duration_schema(schema: _Schema) -> object:
    """Durations instead of int64, also in lists; nulls stay what they are."""
    called = na.c_schema(na.duration("us")).modify(name=schema.name)
    if schema.n_children:
        items = [_duration_schema(child) for child in schema.children]
        return na.c_schema(schema).modify(children=items)
    return called if schema.format == "l" else schema


def empty_chunk(array: Array) -> Array:
    """A chunk of no rows of the array's type."""
    return _array(na.c_array([], array.schema))


def read_stream(source: ArrowStream, budget: Budget | None = None) -> Array:
    """Read a stream to its end; an empty one gives an array without chunks.

    budget : which the rows are taken from, chunk by chunk; None for no bound. Raises OutOfBudget.
    """
    stream, chunks = na.ArrayStream(source), []
    if budget is not None and budget.limit is not None:
        for chunk in stream.iter_chunks():
            budget.take(_nbytes(na.c_array(chunk)), ROWS)
            chunks.append(chunk)
    made: Array = chunks_array(chunks) if chunks else stream.read_all()
    return made


def _nbytes(array: _CArray) -> int:
    """Bytes of the buffers of an array."""
    view = array.view()
    own = sum(memoryview(view.buffer(index)).nbytes for index in range(view.n_buffers))
    return own + sum(map(_nbytes, array.children))


def _array(c_array: object) -> Array:
    made: Array = na.Array(c_array)
    return made


# ---- reading arrays -------------------------------------------------------------------------------


class _View(Protocol):
    """The part of nanoarrow's CArrayView that is read here."""

    storage_type: str
    offset: int
    length: int
    n_buffers: int

    def child(self, index: int) -> _View: ...

    def buffer(self, index: int) -> bytes: ...


class _CArray(Protocol):
    """The part of nanoarrow's CArray that is read here."""

    schema: _Schema
    null_count: int

    @property
    def children(self) -> Iterator[_CArray]: ...

    def view(self) -> _View: ...


class _Schema(Protocol):
    """The part of nanoarrow's CSchema that is read here."""

    name: str
    format: str
    n_children: int

    @property
    def children(self) -> Iterator[_Schema]: ...

    def child(self, index: int) -> _Schema: ...

    def __arrow_c_schema__(self) -> object: ...


def names(table: Array) -> list[str]:
    """The fields of a struct array."""
    return [field.name for field in na.c_schema(table.schema).children]


def child(array: Array, index: int) -> Array:
    """One column of a one-chunk struct array."""
    return array.child(index)


def to_list(array: Array) -> list[Value]:
    """The values of a one-chunk array as Python objects; whole columns at a time wherever the type allows."""
    held = na.c_array(array)
    view: _View = held.view()
    return _values(view, held.schema, 0, view.length) if _known(view) else array.to_pylist()


def int64_values(array: Array) -> tuple[I64, Flags | None]:
    """A one-chunk BIGINT array as (i64[n], validity bool[n] or None), without a copy."""
    view = _view(array)
    return _buffer(view, 1, np.int64)[view.offset : view.offset + view.length], _valid(
        view, 0, view.length
    )


def _view(array: Array) -> _View:
    view: _View = na.c_array(array).view()
    return view


_DTYPES: dict[str, type[np.generic]] = {
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "float": np.float32,
    "double": np.float64,
}


# the formats (Arrow's C data interface) of what is an integer to a view, and what NumPy makes Python objects of
_TIMES = {"tdD": "datetime64[D]", "tsu:": "datetime64[us]", "tDu": "timedelta64[us]"}


def _known(view: _View) -> bool:
    kind = view.storage_type
    if kind in ("list", "large_list"):
        return _known(view.child(0))
    return kind in _DTYPES or kind in ("bool", "string", "large_string", "na")


def _buffer(view: _View, index: int, dtype: type[Scalar]) -> npt.NDArray[Scalar]:
    return np.frombuffer(view.buffer(index), dtype)


def _valid(view: _View, start: int, stop: int) -> Flags | None:
    bits = _buffer(view, 0, np.uint8)
    return _flags(bits, view.offset + start, view.offset + stop) if len(bits) else None


def _flags(bits: npt.NDArray[np.uint8], start: int, stop: int) -> Flags:
    whole = np.unpackbits(bits[start // 8 : (stop + 7) // 8], bitorder="little").view(np.bool_)
    return whole[start % 8 : start % 8 + stop - start]


def _values(view: _View, schema: _Schema, start: int, stop: int) -> list[Value]:
    """Rows start..stop of a view as Python objects, None where null."""
    kind = view.storage_type
    if kind == "na":
        return [None] * (stop - start)
    if start == stop:  # also: an empty array may have no offsets at all
        return []
    values: list[Value]
    first, last = view.offset + start, view.offset + stop
    if schema.format in _TIMES:
        numbers = _buffer(view, 1, _DTYPES[kind])[first:last].astype(np.int64, copy=False)
        values = numbers.view(_TIMES[schema.format]).tolist()
    elif kind in _DTYPES:
        values = _buffer(view, 1, _DTYPES[kind])[first:last].tolist()
    elif kind == "bool":
        values = _flags(_buffer(view, 1, np.uint8), first, last).tolist()
    else:
        wide = kind.startswith("large_")
        cuts = _buffer(view, 1, np.int64 if wide else np.int32)[first : last + 1].astype(np.int64)
        values = _strings(view, cuts) if kind.endswith("string") else _lists(view, schema, cuts)
    valid = _valid(view, start, stop)
    if valid is not None:
        for row in np.flatnonzero(~valid).tolist():
            values[row] = None
    return values


def _strings(view: _View, cuts: I64) -> list[Value]:
    data = _buffer(view, 2, np.uint8)[cuts[0] : cuts[-1]]
    return cast("list[Value]", Column("string", data, cuts - cuts[0]).to_list())


def _lists(view: _View, schema: _Schema, cuts: I64) -> list[Value]:
    items = _values(view.child(0), schema.child(0), int(cuts[0]), int(cuts[-1]))
    return [items[a:b] for a, b in pairwise((cuts - cuts[0]).tolist())]
