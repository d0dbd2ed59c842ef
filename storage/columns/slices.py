"""Rows of a column that follow one another, left where they lie: what Arrow is given of a store without a copy."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdb.records import dataclass, quick

from .model import I64, Column, Kind, PropertyValue

if TYPE_CHECKING:
    import nanoarrow
    from nanoarrow.c_array import CArray

LEAST = 1024
"""Rows that are worth a slice: fewer are copied at once, so that a holder of them keeps no whole file mapped."""

Numbers = npt.NDArray[np.int64 | np.uint32]


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """The rows from `begin` to before `end` of a column."""

    column: Column
    begin: int
    end: int

    @classmethod
    def of(cls, column: Column) -> Slice:
        """All rows of a column."""
        return cls(column, 0, len(column))

    def __len__(self) -> int:
        return self.end - self.begin

    @property
    def kind(self) -> Kind:
        """The type of the column's values."""
        return self.column.kind

    def taken(self) -> Column:
        """The rows as a column of their own; values are not copied."""
        if len(self) == len(self.column):
            return self.column
        return self.column.part(self.begin, self.end)

    def to_list(self) -> list[PropertyValue]:
        """See `Column.to_list`."""
        return self.taken().to_list()

    def in_sql(self) -> Slice:
        """See `Column.in_sql`."""
        return Slice(self.column.in_sql(), self.begin, self.end)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Arrow's PyCapsule interface: a bool becomes a bit, all else is the column's memory, its validity where the
        column has it as bits.

        Bits have no addresses, so the buffers begin up to 7 rows before the slice, which Arrow calls its offset.
        """
        import nanoarrow as na  # only exports need it

        column, skip = self.column, self.begin % 8
        if column.kind == "bool[]" and len(self) < len(column):
            return Slice.of(self.taken()).__arrow_c_array__(requested_schema)
        first, end = self.begin - skip, self.end
        valid = _validity(column, first, end)
        buffers: list[npt.NDArray[np.generic] | None]
        if column.items is not None and column.offsets is not None:
            items = na.c_array(Slice.of(column.items))
            schema, children = na.large_list(na.c_schema(items.schema)), [items]
            buffers = [valid, column.offsets[first : end + 1]]
        else:
            schema, children = _schema(column.kind), []
            if column.offsets is not None:
                buffers = [valid, column.offsets[first : end + 1], column.values]
            elif column.kind == "bool":
                buffers = [valid, _bits(column.values[first:end].astype(np.bool_))]
            else:
                buffers = [valid, column.values[first:end]]
        array = na.c_array_from_buffers(schema, len(self), buffers, offset=skip, children=children)
        capsules: tuple[object, object] = array.__arrow_c_array__(requested_schema)
        return capsules


def struct_of(names: Iterable[str], columns: Iterable[Column], count: int) -> CArray:
    """Columns under their names, each of `count` rows, as one struct of Arrow."""
    import nanoarrow as na  # only what hands columns out needs it

    parts = [na.c_array(Slice.of(column)) for column in columns]
    fields = [
        na.c_schema(part.schema).modify(name=name) for name, part in zip(names, parts, strict=True)
    ]
    return na.c_array_from_buffers(na.struct(fields), count, [None], children=parts)


def follow_one_another(numbers: Numbers) -> bool:
    """Whether numbers, i64[n] or u32[n], are worth a slice: each one more than that before."""
    count = len(numbers)
    if count < LEAST or int(numbers[-1]) - int(numbers[0]) != count - 1:
        return False
    return bool((numbers[1:] - numbers[:-1] == 1).all())


def breaks(numbers: Numbers) -> I64:
    """Where a number is not one more than that before, i64[k] ascending."""
    return np.flatnonzero(numbers[1:] - numbers[:-1] != 1) + 1


@cache
def _schema(kind: Kind) -> nanoarrow.Schema:
    """What a single kind is in Arrow."""
    import nanoarrow as na

    return {
        "int64": na.int64(),
        "float64": na.float64(),
        "bool": na.bool_(),
        "string": na.large_string(),
        "date": na.date32(),
        "datetime": na.timestamp("us"),
        "duration": na.duration("us"),
        "any": na.large_string(),
    }[kind]


def _validity(column: Column, first: int, end: int) -> npt.NDArray[np.uint8] | None:
    """The validity of rows as bits; first : a multiple of 8."""
    if column.bits is not None:
        return column.bits[first // 8 : (end + 7) // 8]
    return None if column.valid is None else _bits(column.valid[first:end])


def _bits(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    return np.packbits(flags, bitorder="little")
