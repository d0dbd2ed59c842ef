"""Columns that come in pieces and are written whole, each array of them as one section."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from gdb.records import dataclass

from ..columns.model import DTYPES, I64, ITEM_OF, TEXT_KINDS, U8, Bools, Column, Kind
from ..format.manifest import ColumnRecord
from ..format.sections import Data, Section, Streamed
from ..graph.property_columns import sections_in_order
from .edge_runs import Pieces, Room, RunPiece

_NO_KEYS = np.zeros(0, np.uint64)
_I64 = np.dtype(np.int64)


class ColumnSpool:
    """Columns of some edges, that grow together.

    kinds : of each.
    """

    def __init__(self, kinds: Mapping[str, Kind], room: Room) -> None:
        self._columns = {key: _Growing(kind, Pieces(room)) for key, kind in kinds.items()}

    def add(self, columns: Mapping[str, Column]) -> None:
        """Take the values of some more edges."""
        for key, growing in self._columns.items():
            growing.add(columns[key])

    def sections(self) -> tuple[dict[str, ColumnRecord], list[Section]]:
        """The sections of all columns, and the records when the first section has the number 0."""
        records, sections = dict[str, ColumnRecord](), list[Section]()
        for key, growing in self._columns.items():
            records[key], added = growing.sections(len(sections))
            sections += added
        return records, sections

    def close(self) -> None:
        """Give back what it takes; sections that were placed must be written."""
        for growing in self._columns.values():
            growing.pieces.close()


@dataclass(slots=True, eq=False)
class _Growing:
    """A column. values, items: how many there are; nulls : whether there is any."""

    kind: Kind
    pieces: Pieces
    rows: int = 0
    items: int = 0
    values: int = 0
    nulls: bool = False

    def add(self, column: Column) -> None:
        self.pieces.add(RunPiece(_NO_KEYS, {"": column}))
        self.rows += len(column)
        self.items += 0 if column.inner is None else len(column.inner) - 1
        self.values += len(column.values)
        self.nulls = self.nulls or (column.valid is not None and not column.valid.all())

    def sections(self, first: int) -> tuple[ColumnRecord, list[Section]]:
        """As `gdb.storage.graph.property_columns.sections_of`."""
        item = ITEM_OF.get(self.kind)
        values = Streamed(np.dtype(DTYPES[item or self.kind]), self.values, self._values)
        offsets = inner = bits = None
        if item or self.kind in TEXT_KINDS:
            offsets = Streamed(_I64, self.rows + 1, lambda: self._offsets(lambda c: c.offsets))
        if item == "string":
            inner = Streamed(_I64, self.items + 1, lambda: self._offsets(lambda c: c.inner))
        if self.nulls:
            bits = Streamed(np.dtype(np.uint8), -(-self.rows // 8), self._bits)
        return sections_in_order(self.kind, first, values, offsets, inner, bits)

    def _each(self) -> Iterator[Column]:
        for piece in self.pieces:
            yield piece.columns[""]

    def _values(self) -> Iterator[Data]:
        dtype = DTYPES[ITEM_OF.get(self.kind, self.kind)]
        for column in self._each():
            yield column.values.astype(dtype, copy=False)

    def _offsets(self, of: Callable[[Column], I64 | None]) -> Iterator[Data]:
        end = 0
        yield np.zeros(1, np.int64)
        for column in self._each():
            offsets = of(column)
            assert offsets is not None
            yield offsets[1:] + end
            end += int(offsets[-1])

    def _bits(self) -> Iterator[U8]:
        rest: Bools = np.zeros(0, np.bool_)
        for column in self._each():
            flags = np.ones(len(column), np.bool_) if column.valid is None else column.valid
            flags = np.concatenate([rest, flags])
            whole = len(flags) // 8 * 8
            yield np.packbits(flags[:whole], bitorder="little")
            rest = flags[whole:]
        yield np.packbits(rest, bitorder="little")
