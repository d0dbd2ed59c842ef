"""Arrays and tables of Arrow as columns: the way in, as `gdb.storage.columns.slices` is the way out.

An Arrow array is its buffers (https://arrow.apache.org/docs/format/Columnar.html), and the format that its schema
names (https://arrow.apache.org/docs/format/CDataInterface.html). Buffers of numbers and times are NumPy arrays.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeGuard

import numpy as np

from gdb.records import replace

from . import temporal
from .model import I64, Bools, Column, Values, offsets_of_lengths, places
from .numpy_arrays import LOST, Array, Unfit, column_of_kind, lists, refuse, scaled, single
from .pandas_index import column_names
from .slices import Slice

if TYPE_CHECKING:
    from nanoarrow.c_array import CArray
    from nanoarrow.c_array_stream import CArrayStream
    from nanoarrow.c_schema import CSchema


class ArrowStream(Protocol):
    """A table or column of pyarrow, polars, pandas, DuckDB, ..., a result of gdb."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class ArrowArray(Protocol):
    """An array or record batch of pyarrow, nanoarrow, ..."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...


_NUMBERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
_FIXED = {  # Arrow's formats as NumPy's
    **dict(zip("csilCSILefg", _NUMBERS, strict=True)),
    **{f"ts{unit[0]}": f"M8[{unit}]" for unit in ("s", "ms", "us", "ns")},
    **{f"tD{unit[0]}": f"m8[{unit}]" for unit in ("s", "ms", "us", "ns")},
}
_DATES = {"tdD": ("i4", 1), "tdm": ("i8", 86_400_000)}  # and how many of them are a day
_TEXTS = {"u": "i4", "U": "i8"}
_EXTENSION = b"ARROW:extension:name"
PERIODS = "pandas.period"
"""The type by which pandas marks integers as periods, see `extension_of`."""
PERIODS_CURE = "Convert it: .dt.to_timestamp() gives the begin of each period, .astype(str) a text such as '2024-01'."
_LISTS = {"+l": "i4", "+L": "i8"}
_NULL_ROW = "a row that is null itself", "Leave such rows out."
_INLINE = 12  # bytes of a text that its view holds itself
_STRIPE = 1 << 18  # texts that are gathered at a time: bounds the memory beside their bytes


class Arrow:
    """What hands out arrays of Arrow, opened; its arrays can be taken once.

    is_table : whether it has columns, whose headers are `names`.

    Raises
    ------
    Unfit : it does not hand them out.
    """

    def __init__(self, source: ArrowStream | ArrowArray) -> None:
        import nanoarrow as na  # only inputs of Arrow need it

        self._chunks: Iterable[CArray]
        with _reading():
            if is_stream(source):
                stream = na.c_array_stream(source)
                self._chunks, self._schema = stream, stream.get_schema()
            else:
                array = na.c_array(source)
                self._chunks, self._schema = [array], array.schema
        self.is_table = self._schema.format == "+s"
        self.names = column_names(self._schema) if self.is_table else []

    def column(self) -> Column:
        """The values of what is no table.

        Raises
        ------
        Unfit : they are of a type that no property can be, or one is a value that its kind cannot hold.
        """
        found: list[Column] = []
        for base, chunk in self._each():
            found.append(_at(base, chunk, chunk.offset, chunk.length))
        return Column.concat(found) if found else Column.nulls("string", 0)

    def columns(self, wanted: Sequence[int]) -> list[Column]:
        """Columns of a table, by their numbers; an error has the name of the wrong column as `name`.

        Raises
        ------
        Unfit : as `column`.
        """
        found: list[list[Column]] = [[] for _ in wanted]
        for base, chunk in self._each():
            for number, parts in zip(wanted, found, strict=True):
                child = chunk.child(number)
                try:
                    parts.append(_at(base, child, child.offset + chunk.offset, chunk.length))
                except Unfit as problem:
                    problem.name = self.names[number]
                    raise
        return [Column.concat(parts) if parts else Column.nulls("string", 0) for parts in found]

    def _each(self) -> Iterator[tuple[int, CArray]]:
        """The arrays, and the row with which each begins."""
        base, chunks = 0, iter(self._chunks)
        while True:
            with _reading():
                chunk = next(chunks, None)
            if chunk is None:
                return
            if self.is_table and _valid(chunk, chunk.offset, chunk.length) is not None:
                raise Unfit(*_NULL_ROW)
            yield base, chunk
            base += chunk.length


def is_arrow(source: object) -> TypeGuard[ArrowStream | ArrowArray]:
    """Whether an object exports Arrow's PyCapsule interface, as a stream or as one array."""
    return is_stream(source) or hasattr(source, "__arrow_c_array__")


def is_stream(source: object) -> TypeGuard[ArrowStream]:
    """Whether an object exports Arrow's C stream (`__arrow_c_stream__`): tables, data frames, readers."""
    return hasattr(source, "__arrow_c_stream__")


def without_halves(stream: CArrayStream) -> CArrayStream:
    """The stream of a table with its floats of 16 bits, which DuckDB does not read, as floats of 64, also in lists. A
    table without any is not read; of another all batches are taken at once."""
    import nanoarrow as na
    from nanoarrow.c_array_stream import CArrayStream

    schema = stream.get_schema()
    halves = {k for k, field in enumerate(schema.children) if _has_halves(field)}
    if not halves:
        return stream
    kinds = [
        na.c_schema(na.float64() if field.format == "e" else na.large_list(na.float64()))
        for field in schema.children
    ]
    named = na.struct(
        [
            kinds[k].modify(name=field.name) if k in halves else field
            for k, field in enumerate(schema.children)
        ]
    )
    found = []
    for chunk in stream:
        whole = (
            chunk.offset + chunk.length
        )  # of a child, before the rows of a struct that begins later
        children = [
            na.c_array(Slice.of(_column(child, child.offset, whole))) if k in halves else child
            for k, child in enumerate(chunk.children)
        ]
        found.append(
            na.c_array_from_buffers(
                named, chunk.length, [None], offset=chunk.offset, children=children
            )
        )
    return CArrayStream.from_c_arrays(found, na.c_schema(named))


def _has_halves(field: CSchema) -> bool:
    """Whether it holds floats of 16 bits, or lists of them."""
    return field.format == "e" or (field.format in _LISTS and field.child(0).format == "e")


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except ImportError:
        raise  # pandas makes its arrays by pyarrow
    except Exception as error:  # whatever the library raises that makes them
        short = str(error).strip().split("\n")[0].rstrip(".: ")
        reason = f"what cannot be read as Arrow ({short})"
        raise Unfit(reason, "Give a table or array of plain columns.") from error


def _at(base: int, array: CArray, begin: int, count: int) -> Column:
    try:
        return _column(array, begin, count)
    except Unfit as problem:
        raise problem if problem.row is None else problem.moved(base + problem.row) from None


def _column(array: CArray, begin: int, count: int) -> Column:
    """The values of an array from one place of its buffers on."""
    format = array.schema.format
    if format == "n":
        return Column.nulls("string", count)
    if format.startswith("+") and format not in _LISTS and not format.startswith("+w:"):
        raise _no_property(array.schema)
    if format not in (*_TEXTS, "vu") and extension_of(array.schema):
        raise _no_property(array.schema)  # its numbers mean something else, as those of a period
    valid = _valid(array, begin, count)
    if array.dictionary is not None:
        codes = _buffer(array, 1, _FIXED[format], begin, count)
        return _of_dictionary(array.dictionary, codes, valid)
    if format == "b":
        return column_of_kind("bool", _bits(array, 1, begin, count), valid)
    if format == "tin":
        return _of_intervals(_buffer(array, 1, "u1", 16 * begin, 16 * count), valid)
    if format in _DATES:
        width, per_day = _DATES[format]
        days = (temporal.FIRST_DAY, temporal.LAST_DAY)
        numbers = _buffer(array, 1, width, begin, count).astype(np.int64)
        return scaled("date", numbers, valid, (1, per_day), days)
    if format in _TEXTS:
        ends = _buffer(array, 1, _TEXTS[format], begin, count + 1).astype(np.int64)
        data = _buffer(array, 2, "u1", 0, int(ends[-1]))
        return _of_texts(ends[:-1], np.diff(ends), valid, [(data, None)])
    if format == "vu":
        return _of_views(array, begin, count, valid)
    if format.startswith("+"):
        return _of_lists(array, begin, count, valid)
    plain = format.split(":")[0]  # a zone may follow; an instant does not depend on it
    if plain not in _FIXED:
        raise _no_property(array.schema)
    return single(_buffer(array, 1, _FIXED[plain], begin, count), valid)


def extension_of(schema: CSchema) -> str:
    """The name of the type that a library added to Arrow, whose values are stored as another type; "" for none."""
    metadata = schema.metadata or {}
    return metadata[_EXTENSION].decode("utf-8", "replace") if _EXTENSION in metadata else ""


def is_numeric(format: str) -> bool:
    """Whether a format is of numbers, or of dates and times, which are numbers as well."""
    return format in _DATES or format.split(":")[0] in _FIXED


def _no_property(schema: CSchema) -> Unfit:
    import nanoarrow as na

    if extension_of(schema) == PERIODS:
        return Unfit("periods of pandas, which no property can be", PERIODS_CURE)

    try:
        text = str(na.Schema(schema)).split("\n")[0]
        name = re.sub("^<Schema> ('.*?': )?(non-nullable )?", "", text)
    except Exception:  # a format of one library alone, as polars has
        name = schema.format
    return Unfit(
        f"the type {name}, which no property can be",
        "Cast it to integers, floats, booleans, texts, dates, timestamps, durations, or lists of one of these.",
    )


def _buffer(array: CArray, number: int, dtype: str, begin: int, count: int) -> Array:
    """Values of a buffer from one place on, in place; the buffer's length follows from its format.

    nanoarrow's own views of buffers refuse lists of nothing but nulls, as polars lays them out.
    """
    address, width = array.buffers[number], np.dtype(dtype).itemsize
    if not address or not count:  # an empty one may lie nowhere
        return np.zeros(count, dtype)
    memory = (ctypes.c_uint8 * (count * width)).from_address(address + begin * width)
    return np.ctypeslib.as_array(memory).view(dtype)


def _bits(array: CArray, number: int, begin: int, count: int) -> Bools:
    first, last = begin // 8, (begin + count + 7) // 8
    packed = _buffer(array, number, "u1", first, last - first).view(np.uint8)
    return np.unpackbits(packed, bitorder="little")[begin - 8 * first :][:count].astype(np.bool_)


def _valid(array: CArray, begin: int, count: int) -> Bools | None:
    """Which values are not null; None for all."""
    if not array.buffers[0]:
        return None
    valid = _bits(array, 0, begin, count)
    return None if valid.all() else valid


def _of_dictionary(dictionary: CArray, codes: Array, valid: Bools | None) -> Column:
    values = _column(dictionary, dictionary.offset, dictionary.length)
    rows = codes.astype(np.int64)
    if valid is None:
        return values.take(rows)
    found = Column.nulls(values.kind, 1) if not len(values) else values
    taken = found.take(np.where(valid, rows, 0))
    known = valid if taken.valid is None else valid & taken.valid
    return replace(taken, valid=known)


def _of_intervals(intervals: Array, valid: Bools | None) -> Column:
    """Durations of months, days of 24 hours and nanoseconds."""
    words, rest = intervals.view("<i4").reshape(-1, 4), intervals.view("<i8")[1::2]
    refuse(
        words[:, 0] != 0,
        words[:, 0],
        valid,
        "is a number of months, which have no fixed length",
        LOST,
    )
    refuse(
        rest % 1000 != 0, rest, valid, "is a number of nanoseconds that are no microseconds", LOST
    )
    days = words[:, 1].astype(np.int64)
    return column_of_kind("duration", days * temporal.DAY + rest // 1000, valid)


def _of_lists(array: CArray, begin: int, count: int, valid: Bools | None) -> Column:
    format, child = array.schema.format, array.child(0)
    if format in _LISTS:
        ends = _buffer(array, 1, _LISTS[format], begin, count + 1).astype(np.int64)
        starts, lengths = ends[:-1], np.diff(ends)
    else:
        width = int(format.removeprefix("+w:"))
        starts = np.arange(begin, begin + count, dtype=np.int64) * width
        lengths = np.full(count, width)
    return lists(
        lambda first, last: _column(child, child.offset + first, last - first),
        starts,
        lengths,
        valid,
    )


def _of_views(array: CArray, begin: int, count: int, valid: Bools | None) -> Column:
    """Texts that lie in their views, or that these name by buffer and place."""
    views = _buffer(array, 1, "u1", 16 * begin, 16 * count).view(np.uint8)
    words = views.view("<i4").reshape(-1, 4)
    lengths = words[:, 0] if valid is None else np.where(valid, words[:, 0], 0)
    inline = lengths <= _INLINE
    starts = np.where(inline, np.arange(count) * 16 + 4, words[:, 3]).astype(np.int64)
    sources: list[tuple[Array, Bools | None]] = [(views, inline)]
    sizes = _buffer(array, -1, "i8", 0, len(array.buffers) - 3).astype(np.int64)
    for number in np.unique(words[~inline, 2]).tolist():
        data = _buffer(array, 2 + number, "u1", 0, int(sizes[number]))
        sources.append((data, ~inline & (words[:, 2] == number)))
    return _of_texts(starts, lengths.astype(np.int64), valid, sources)


def _of_texts(
    starts: I64, lengths: I64, valid: Bools | None, sources: Sequence[tuple[Array, Bools | None]]
) -> Column:
    """Texts of `lengths` bytes from `starts` on, i64[n], in the source that holds their row (bool[n], None for all)."""
    if valid is not None:
        lengths = np.where(valid, lengths, 0)
    offsets = offsets_of_lengths(lengths)
    values = np.empty(offsets[-1], np.uint8)
    for begin in range(0, len(starts), _STRIPE):
        part = slice(begin, begin + _STRIPE)
        for data, mine in sources:
            own = np.where(mine[part], lengths[part], 0) if mine is not None else lengths[part]
            _gather(values, offsets[:-1][part], data, starts[part], own)
    column = Column("string", values, offsets, valid)
    _check_texts(column)
    return column


def _gather(values: Values, into: I64, data: Array, starts: I64, lengths: I64) -> None:
    """Copy the pieces of `data` from `starts` on to places of `values`."""
    filled = np.flatnonzero(lengths)
    if not len(filled):
        return
    into, starts, lengths = into[filled], starts[filled], lengths[filled]
    if all(np.array_equal(at[1:], at[:-1] + lengths[:-1]) for at in (into, starts)):
        first, begin, count = int(into[0]), int(starts[0]), int(lengths.sum())
        values[first : first + count] = data[begin : begin + count]
        return
    ends = offsets_of_lengths(lengths)
    values[places(into, lengths, ends)] = data[places(starts, lengths, ends)]


def _check_texts(column: Column) -> None:
    """Raise for the first text that is no UTF-8."""
    offsets, data = column.offsets, column.values.tobytes()
    if offsets is None or data.isascii():
        return
    begins = column.values[offsets[:-1][np.diff(offsets) > 0]]
    try:
        data.decode()
        if not np.any(begins.view(np.uint8) & 0xC0 == 0x80):  # no text begins within a character
            return
    except UnicodeDecodeError:
        pass
    for row, (begin, end) in enumerate(pairwise(offsets.tolist())):
        try:
            data[begin:end].decode()
        except UnicodeDecodeError as error:
            raise Unfit("is not valid UTF-8", "Repair it.", row, repr(error.object)) from None
