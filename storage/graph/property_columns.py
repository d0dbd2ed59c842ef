"""Columns in segment files: Arrow's memory layout, read in place (design.md §2, *Properties*)."""

from __future__ import annotations

import numpy as np

from ..columns.model import DTYPES, I64, ITEM_OF, TEXT_KINDS, Column, Kind, Values
from ..format.invariants import COLUMN_LENGTHS, VALIDITY
from ..format.manifest import ColumnRecord
from ..format.sections import Data, Section, SectionKind, Streamed
from ..format.segment import SegmentFile, compare, damaged
from . import section_checks

# columns whose values may be packed: for the others the manifest has no count of the items, except for floats, which
# have no bits to spare
PACKED_KINDS: frozenset[Kind] = frozenset({"int64", "bool", "date", "datetime", "duration"})


def sections_of(column: Column, first: int) -> tuple[ColumnRecord, list[Section]]:
    """The sections of a column, and its record when the first of them has the number `first`."""
    values: Values = column.values.astype(DTYPES[ITEM_OF.get(column.kind, column.kind)], copy=False)
    valid = None if column.valid is None or column.valid.all() else column.valid
    bits = None if valid is None else np.packbits(valid, bitorder="little")
    return sections_in_order(column.kind, first, values, column.offsets, column.inner, bits)


def sections_in_order(
    kind: Kind,
    first: int,
    values: Data | Streamed,
    offsets: Data | Streamed | None,
    inner: Data | Streamed | None,
    bits: Data | Streamed | None,
) -> tuple[ColumnRecord, list[Section]]:
    """As `sections_of`, for the arrays of a column; bits : of its validity, None where nothing is null."""
    sections = [Section(SectionKind.VALUES, values, counted=kind in PACKED_KINDS)]
    of_offsets = of_bits = -1
    if offsets is not None:
        of_offsets = first + len(sections)
        own = SectionKind.LIST_OFFSETS if kind in ITEM_OF else SectionKind.STRING_OFFSETS
        sections.append(Section(own, offsets, counted=True))
    if inner is not None:  # right behind those of the lists
        sections.append(Section(SectionKind.STRING_OFFSETS, inner))
    if bits is not None:
        of_bits = first + len(sections)
        sections.append(Section(SectionKind.VALIDITY, bits))
    return ColumnRecord(kind, first, of_offsets, of_bits), sections


def move_record(record: ColumnRecord, by: int) -> ColumnRecord:
    """The record of sections that begin `by` numbers later."""
    return ColumnRecord(
        record.kind,
        record.values + by,
        record.offsets + by if record.offsets >= 0 else -1,
        record.valid + by if record.valid >= 0 else -1,
    )


def read(record: ColumnRecord, file: SegmentFile, count: int, where: str) -> Column:
    """A column of `count` values, in place but for a byte for each validity bit, and for what is packed.

    Raises
    ------
    CorruptStore : the sections are not there, or could not be used without harm.
    """
    offsets = inner = None
    item = ITEM_OF.get(record.kind)
    values: Values
    most = count if record.kind in PACKED_KINDS else 0
    match item or record.kind:
        case "int64" | "datetime" | "duration":
            values = file.i64(record.values, SectionKind.VALUES, most)
        case "float64":
            values = file.f64(record.values, SectionKind.VALUES)
        case "date":
            values = file.i32(record.values, SectionKind.VALUES, most)
        case _:  # bools and texts
            values = file.u8(record.values, SectionKind.VALUES, most)
    length = values.shape[0]

    def offsets_of(section: int, kind: SectionKind, most: int) -> I64:
        """Offsets into `length` things."""
        found = file.i64(section, kind, most)
        if not found.shape[0] or found[0] != 0 or found[-1] != length:
            what = "lists" if kind is SectionKind.LIST_OFFSETS else "strings"
            raise damaged(where, file.name, f"holds {what} of another length", COLUMN_LENGTHS.name)
        return found

    if record.kind in TEXT_KINDS:
        offsets = offsets_of(record.offsets, SectionKind.STRING_OFFSETS, count + 1)
        length = offsets.shape[0] - 1
    if item == "string":
        inner = offsets_of(record.offsets + 1, SectionKind.STRING_OFFSETS, 0)
        length = inner.shape[0] - 1
    if item is not None:
        offsets = offsets_of(record.offsets, SectionKind.LIST_OFFSETS, count + 1)
        length = offsets.shape[0] - 1
    valid = bits = None
    if record.valid >= 0:
        bits = file.u8(record.valid, SectionKind.VALIDITY)
        unpacked = np.unpackbits(bits, bitorder="little").view(np.bool_)
        valid = unpacked[:count]
        if len(bits) != -(-count // 8) or unpacked[count:].any():
            how = "holds validity of other rows"
            raise damaged(where, file.name, how, VALIDITY.name)
    if length != count:
        how = "holds a column of another length"
        raise damaged(where, file.name, how, COLUMN_LENGTHS.name)
    column = Column(record.kind, values, offsets, valid, inner, bits)
    compare(where, file.name, section_checks.COLUMN, column)
    return column
