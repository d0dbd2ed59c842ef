"""Segment files: immutable, a header, a table of sections, and the sections (docs/FORMAT.md).

A file knows nothing of its own checksum; the manifest pins name, length and checksum
(`FileRecord`), and `segment_checksum` refuses any other bytes before anything is made of them that is given out.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from gdb.base import usage
from gdb.errors import CorruptStore, Fault, InternalError
from gdb.records import dataclass

from ..columns.model import F64, I32, I64, U8, U32
from ..disk import lost_pages
from ..disk.arrays import GRAPH, GRAPH_SHARE, copied, placed
from ..disk.checksum import Buffer, has_checksum, hasher_of
from ..disk.files import wrong_length
from ..disk.mapped_file import file_of
from .invariants import (
    CHECKSUMS,
    PACKED,
    SECTION_TABLES,
    SECTIONS,
    SEGMENT_ROWS,
    Compared,
    Contradiction,
    Invariant,
)
from .invariants import hold as invariants_hold
from .sections import Code, Section, SectionKind

if TYPE_CHECKING:
    from .segment_checksum import Comparison

U64 = npt.NDArray[np.uint64]
T = TypeVar("T")

MAGIC = b"gdb.seg\n"
SEGMENT_FORMAT = 2  # 1 where no section is packed
HEADER = struct.Struct("<8sIIQ40x")  # magic, format, sections, file length: 64 bytes
ENTRY = struct.Struct("<IIQQI4x")  # kind, bytes per item, offset, length in bytes, code: 32 bytes
_RESERVED, _ENTRY_RESERVED = 40, 4  # bytes of these that mean nothing
SMALL_ALIGNMENT, PAGE, PAGE_FROM = 64, 4096, 65536
_CHUNK = 16 << 20
_CODES = {int(code): code for code in Code}
_OVERWRITTEN = "was written to after it was opened: it does not hold the bytes that were committed"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What the manifest pins of one file; `digest` is the checksum of the whole file in hex."""

    name: str
    length: int
    digest: str


class Inside:
    """A few sections that lie inside another file, as the bytes of a segment file, which are made on first use.

    Parameters
    ----------
    sections, raw : one of both.
    """

    __slots__ = ("_raw", "_sections")

    def __init__(self, sections: Sequence[Section] = (), raw: bytes = b"") -> None:
        self._sections, self._raw = sections, raw

    @property
    def bytes(self) -> bytes:
        """The sections as a segment file has them, made on first use."""
        if not self._raw:
            out = io.BytesIO()
            write_sections(out.write, self._sections)
            self._raw = out.getvalue()
        return self._raw


def _start(at: int, size: int) -> int:
    """Where a section of `size` bytes begins when the one before it ends at `at`."""
    alignment = PAGE if size >= PAGE_FROM else SMALL_ALIGNMENT
    return -(-at // alignment) * alignment


def write_sections(
    write: Callable[[Buffer], object], sections: Sequence[Section]
) -> tuple[int, str]:
    """Write a segment file of these sections; its length and checksum."""
    at = HEADER.size + ENTRY.size * len(sections)
    entries: list[bytes] = []
    pads: list[int] = []
    for section in sections:
        start = _start(at, section.data.nbytes)
        pads.append(start - at)
        item = section.item or section.data.dtype.itemsize
        code = int(section.code)
        entries.append(ENTRY.pack(int(section.kind), item, start, section.data.nbytes, code))
        at = start + section.data.nbytes
    hasher = hasher_of(at)

    def emit(data: Buffer) -> None:
        hasher.update(data)
        write(data)

    is_plain = all(section.code is Code.PLAIN for section in sections)
    version = 1 if is_plain else SEGMENT_FORMAT
    emit(HEADER.pack(MAGIC, version, len(sections), at) + b"".join(entries))
    for section, pad in zip(sections, pads, strict=True):
        emit(bytes(pad))
        left = section.data.nbytes
        for block in section.blocks():
            little = block.astype(section.data.dtype.newbyteorder("<"), copy=False)
            raw = np.ascontiguousarray(little).view(np.uint8).reshape(-1)
            left -= raw.shape[0]
            for begin in range(0, raw.shape[0], _CHUNK):
                emit(raw[begin : begin + _CHUNK].data)
        need(not left, "a section of another length than was said")
    return at, hasher.hexdigest()


class SegmentFile:
    """A mapped segment file. own : this process wrote it, so that nothing in it is a surprise. pinned : the checksum
    that the manifest has of it, "" where it is no file of its own. comparison : with that; None where it is verified.
    """

    __slots__ = (
        "_bytes",
        "_entries",
        "_file",
        "_pinned",
        "_where",
        "_wrong",
        "comparison",
        "name",
        "own",
    )

    def __init__(
        self,
        where: str,
        name: str,
        content: U8,
        *,
        own: bool = False,
        pinned: str = "",
        comparison: Comparison | None = None,
    ) -> None:
        self._where, self.name, self._bytes, self.own = where, name, content, own
        self._pinned, self._file, self.comparison = pinned, file_of(content), comparison
        self._wrong = False  # once other bytes were found in it
        if content.shape[0] < HEADER.size:
            raise self._damaged("is too short for its header", SECTION_TABLES)
        magic, version, count, length = HEADER.unpack_from(content.data)
        known = magic == MAGIC and 1 <= version <= SEGMENT_FORMAT
        if not known or length != content.shape[0]:
            raise self._damaged("has no segment header", SECTION_TABLES)
        if HEADER.size + count * ENTRY.size > length:
            raise self._damaged("is too short for its table of sections", SECTION_TABLES)
        self._entries: list[tuple[int, int, int, int, int]] = [
            ENTRY.unpack_from(content.data, HEADER.size + i * ENTRY.size) for i in range(count)
        ]
        at = HEADER.size + count * ENTRY.size
        for _, _, offset, size, code in self._entries:
            if offset != _start(at, size):  # nor can sections overlap
                raise self._damaged("has sections that do not follow one another", SECTION_TABLES)
            if code and version == 1:
                raise self._damaged("has packed sections, which its format has not", SECTION_TABLES)
            at = offset + size
        if at != length:
            raise self._damaged("has sections that do not fill it", SECTION_TABLES)

    # `most`: items that the section may have, by the manifest. A packed one with more is refused before
    # memory is allocated; one that no count bounds is never packed. The size of a plain one follows from its length.

    def u8(self, section: int, kind: SectionKind, most: int = 0) -> U8:
        """A section of u8, at most so many where `most` is given. Raises CorruptStore, as the others."""
        return self._items(section, kind, 1, most)

    def u32(self, section: int, kind: SectionKind, most: int = 0) -> U32:
        """A section of little-endian u32."""
        return self._items(section, kind, 4, most).view("<u4")

    def u64(self, section: int, kind: SectionKind, most: int = 0) -> U64:
        """A section of little-endian u64."""
        return self._items(section, kind, 8, most).view("<u8")

    def i32(self, section: int, kind: SectionKind, most: int = 0) -> I32:
        """A section of little-endian i32."""
        return self._items(section, kind, 4, most).view("<i4")

    def i64(self, section: int, kind: SectionKind, most: int = 0) -> I64:
        """A section of little-endian i64."""
        return self._items(section, kind, 8, most).view("<i8")

    def f64(self, section: int, kind: SectionKind) -> F64:
        """A section of little-endian f64."""
        return self._items(section, kind, 8, 0).view("<f8")

    def neighbours(self, section: int, offsets: I64, out: U32 | None = None) -> U32:
        """The neighbours of rows at offsets i64[rows + 1], none empty, u32[offsets[-1]]: written to `out` where that is
        given, else a view of the map where they lie there as they are."""
        found, code = self._section(section, SectionKind.NEIGHBOURS, 4)
        if code is Code.PLAIN:
            plain = found.view("<u4")
            if plain.shape[0] != offsets[-1]:
                how = f"holds another segment than the manifest says, in section {section}"
                raise self._damaged(how, SEGMENT_ROWS)
            return plain if out is None else copied(plain, out)
        own = out
        if own is None:
            own = placed(int(offsets[-1]), np.uint32, GRAPH, usage.room(), most=GRAPH_SHARE)
        from . import packing  # brings the compiler

        try:
            if code is not Code.ROWS:
                raise packing.Unreadable
            packing.unpack_rows(found.view("<u8"), offsets, own)
        except packing.Unreadable:
            how = f"holds packed neighbours in section {section} that are none"
            raise self._damaged(how, PACKED) from None
        if out is None:
            own.flags.writeable = False
        return own

    def settle(self) -> None:
        """Have it verified where it is not yet. Raises as `Comparison.settle`, again and again."""
        if (comparison := self.comparison) is not None:
            self.look()
            comparison.settle()
            self.comparison = None

    def look(self) -> None:
        """Raise CorruptStore where the file was cut short since it was mapped, or pages of it could not be read.

        Cost: half a microsecond.
        """
        wanted = self._bytes.shape[0]
        if self._file is not None and (found := self._file.size()) < wanted:
            raise wrong_length(self._where, self.name, found, wanted, self._section_at(found))
        if self._wrong:
            raise self._damaged(_OVERWRITTEN, CHECKSUMS)
        if (begin := lost_pages.lost(self._bytes)) is not None:
            how = f"cannot be read from byte {begin:,} on, in {self._section_at(begin)}"
            raise damaged(self._where, self.name, how)

    def look_at_bytes(self) -> None:
        """As `look`; where something was written to the file since it was mapped, also at all of its bytes.

        Cost: two microseconds, of a file that nothing was written to.
        """
        self.look()
        if self._pinned and self._file is not None and (state := self._file.written()) is not None:
            self._wrong = not has_checksum(self._bytes.data, self._pinned)
            self.look()
            self._file.state = state

    def _section_at(self, byte: int) -> str:
        """What a byte of the file is a part of, in words."""
        for number, (kind, _, offset, length, _) in enumerate(self._entries):
            if byte < offset + length:
                known = kind in SectionKind.__members__.values()
                words = SectionKind(kind).name.lower().replace("_", " ") if known else "unknown"
                return f"section {number} ({words})"
        return "its end"

    @property
    def sections(self) -> int:
        """How many sections the file has."""
        return len(self._entries)

    @property
    def format(self) -> int:
        """The number of its format."""
        return int(HEADER.unpack_from(self._bytes.data)[1])

    @property
    def packs(self) -> bool:
        """Whether a section is packed."""
        return any(code for *_, code in self._entries)

    def neighbours_in_place(self, section: int) -> U8 | None:
        """The bytes of neighbours that lie there as they are; None of packed ones."""
        found, code = self._section(section, SectionKind.NEIGHBOURS, 4)
        return found if code is Code.PLAIN else None

    def packed_rows(self, section: int) -> U64 | None:
        """The words of packed neighbours; None where they lie there as they are."""
        found, code = self._section(section, SectionKind.NEIGHBOURS, 4)
        return None if code is Code.PLAIN else found.view("<u8")

    def unused(self) -> Iterator[U8]:
        """The bytes that mean nothing: in the header, in the table, and between the sections."""
        yield self._bytes[HEADER.size - _RESERVED : HEADER.size]
        at = HEADER.size + len(self._entries) * ENTRY.size
        yield self._bytes[HEADER.size : at].reshape(-1, ENTRY.size)[:, -_ENTRY_RESERVED:]
        for _, _, offset, size, _ in self._entries:
            yield self._bytes[at:offset]
            at = offset + size

    def contents(self) -> Iterator[tuple[int, int, U8]]:
        """Of each section its kind, the bytes of one item, and all its bytes; none may be packed."""
        for number, (kind, item, offset, length, code) in enumerate(self._entries):
            if code:
                raise self._damaged(f"has a packed section {number} where none may be")
            yield kind, item, self._bytes[offset : offset + length]

    def extent(self, section: int) -> tuple[int, int]:
        """Where a section begins in the file, and its length in bytes."""
        return self._entries[section][2:4]

    def _items(self, number: int, kind: SectionKind, item: int, most: int) -> U8:
        """The bytes of a section's items: of the map, or unpacked."""
        found, code = self._section(number, kind, item)
        if code is Code.PLAIN:
            return found
        from . import packing  # brings the compiler

        try:
            if code is not Code.NUMBERS:
                raise packing.Unreadable
            own = packing.unpacked_numbers(found.view("<u8"), item, most)
        except packing.Unreadable:
            how = f"holds packed numbers in section {number} that are none"
            raise self._damaged(how, PACKED) from None
        own.flags.writeable = False
        return own

    def _section(self, number: int, kind: SectionKind, item: int) -> tuple[U8, Code]:
        if not 0 <= number < len(self._entries):
            raise self._damaged(f"has no section {number}")
        found, size, offset, length, code = self._entries[number]
        unit = 8 if code else item  # of packed ones: words
        if found != kind or size != item or length % unit or offset % SMALL_ALIGNMENT:
            raise self._damaged(f"has another section {number} than the manifest says")
        if code not in _CODES:
            raise self._damaged(f"has a section {number} of a code that there is not")
        if offset + length > self._bytes.shape[0]:
            raise self._damaged(f"ends inside section {number}")
        return self._bytes[offset : offset + length], _CODES[code]

    def _damaged(self, how: str, invariant: Invariant = SECTIONS) -> CorruptStore:
        return damaged(self._where, self.name, how, invariant.name)


def damaged(where: str, name: str, how: str, invariant: str = "") -> CorruptStore:
    """The error for a file whose bytes are wrong. invariant : the name of that which does not hold."""
    return CorruptStore(
        f"The store {where} is damaged: its file {name} {how}.",
        "Restore the folder from a copy, or import the data again.",
        (Fault(invariant, name, how),),
    )


def compare(where: str, name: str, invariants: Iterable[Compared[T]], thing: T) -> None:
    """Raise CorruptStore unless the invariants hold of a thing that was read from a file."""
    try:
        invariants_hold(invariants, thing)
    except Contradiction as wrong:
        raise damaged(where, name, str(wrong), wrong.invariant) from None


def need(condition: bool, what: str) -> None:
    """Raise InternalError unless an invariant of the storage room holds."""
    if not condition:
        raise InternalError(f"Storage: {what}.", "Please report this.")
