"""Some rows of an answer as the columns they were gathered in; they are converted to Arrow on demand.

A few rows become Python objects in less time than Arrow's structs take to be made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from gdb.storage.columns.slices import Slice

if TYPE_CHECKING:
    from .arrow import I64, Array, Flags
    from .relational_tail import Value


Gathered: TypeAlias = "Slice | Array"
"""A column of a batch: rows of a column of the store or of one gathered from it, or Arrow."""


class Batch:
    """Equally long columns, fields o0, o1, ... to Arrow: an `Array` of one chunk."""

    __slots__ = ("_array", "_columns", "_length")

    def __init__(self, columns: Sequence[Gathered], length: int) -> None:
        self._columns, self._length = columns, length
        self._array: Array | None = None

    def __len__(self) -> int:
        return self._length

    def nbytes(self, counted: Sequence[bool]) -> int:
        """Bytes of some of its columns. counted : for each column, whether it is one of these."""
        return sum(
            column.column.nbytes
            for column, one in zip(self._columns, counted, strict=True)
            if one and isinstance(column, Slice)
        )

    def values(self, index: int) -> list[Value]:
        """One column as Python objects."""
        column = self._columns[index]
        if isinstance(column, Slice):
            return cast("list[Value]", column.to_list())
        from . import arrow  # here: it imports nanoarrow

        return arrow.to_list(column)

    def numbers(self, index: int) -> tuple[I64, Flags | None]:
        """One int64 column as (i64[n], validity bool[n] or None)."""
        column = self._columns[index]
        if isinstance(column, Slice):
            taken = column.taken()
            return cast("I64", taken.values), taken.valid
        from . import arrow  # here: it imports nanoarrow

        return arrow.int64_values(column)

    def pieces(self, size: int) -> Iterator[Batch]:
        """The rows, at most `size` at a time."""
        for begin in range(0, self._length, size):
            end = min(begin + size, self._length)
            yield Batch([_part(column, begin, end) for column in self._columns], end - begin)

    @property
    def array(self) -> Array:
        """The batch in Arrow."""
        if self._array is None:
            from . import arrow  # here: it imports nanoarrow

            columns = [arrow.column_array(c) if isinstance(c, Slice) else c for c in self._columns]
            names = [f"o{k}" for k in range(len(columns))]
            self._array = arrow.struct_array(names, columns, self._length)
        return self._array

    @property
    def bytes(self) -> int:
        """Bytes of the values that are no Arrow yet."""
        return sum(column.taken().nbytes for column in self._columns if isinstance(column, Slice))

    @property
    def schema(self) -> object:
        """The Arrow schema."""
        return self.array.schema

    def iter_chunks(self) -> Iterator[Array]:
        """Its chunks as arrays of their own."""
        return self.array.iter_chunks()

    def child(self, index: int) -> Array:
        """A column by its number."""
        return self.array.child(index)

    def to_pylist(self) -> list[Value]:
        """The rows as Python values."""
        return self.array.to_pylist()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.array.__arrow_c_stream__(requested_schema)


def _part(column: Gathered, begin: int, end: int) -> Gathered:
    if isinstance(column, Slice):
        return Slice(column.column, column.begin + begin, column.begin + end)
    from . import arrow  # here: it imports nanoarrow

    return arrow.part(column, begin, end)
