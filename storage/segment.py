"""Segment files: immutable, a header, a table of sections, and the sections (docs/FORMAT.md).

A file knows nothing of its own checksum; the manifest pins name, length and checksum
(`FileRecord`), and `open_segment` refuses any other bytes before the first of them is used.
"""

from __future__ import annotations

import io
import secrets
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from gdb.errors import CorruptStore, InternalError
from gdb.storage.checksum import Buffer, Hasher, digest
from gdb.storage.files import MANIFEST, Files
from gdb.storage.model import F64, I32, I64, U8, U32
from gdb.storage.pins import Pin

U64 = npt.NDArray[np.uint64]
Data = npt.NDArray[np.uint8 | np.uint32 | np.uint64 | np.int32 | np.int64 | np.float64]

MAGIC = b"gdb.seg\n"
SEGMENT_FORMAT = 2  # 1 where no section is packed
HEADER = struct.Struct("<8sIIQ40x")  # magic, format, sections, file length: 64 bytes
ENTRY = struct.Struct("<IIQQI4x")  # kind, bytes per item, offset, length in bytes, code: 32 bytes
SMALL_ALIGNMENT, PAGE, PAGE_FROM = 64, 4096, 65536
PACK_BYTES = 16 << 20  # small sections share a file until it has this size
_CHUNK = 16 << 20


class SectionKind(IntEnum):
    """What a section holds."""

    INTERVAL_FIRST = 1  # u32[k]
    INTERVAL_LENGTH = 2  # u32[k]
    ROW_LENGTHS = 3  # u8[rows], 255 = see LONG_ROWS
    LONG_ROWS = 4  # u32, the lengths of 255 and more
    NEIGHBOURS = 5  # u32[m]
    VALUES = 16  # i64[n], f64[n], i32[n], u8[n] or UTF-8 bytes
    STRING_OFFSETS = 17  # i64[n + 1]
    VALIDITY = 18  # bits, least significant first
    LIST_OFFSETS = 19  # i64[n + 1]
    ID_KEYS = 32  # i64[n] or u64[n], ascending
    ID_VIDS = 33  # u32[n]
    DEAD_VIDS = 48  # u32[n], ascending
    PATCHED_ROWS = 49  # i64[n], ascending
    ADDED_KEYS = 50  # u64[n], ascending
    REMOVED_RANKS = 51  # i64[n], ascending


class Code(IntEnum):
    """How a section's bytes tell its items."""

    PLAIN = 0  # one after the other
    NUMBERS = 1  # see `gdb.storage.frames`
    ROWS = 2  # see `gdb.storage.gaps`


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What the manifest pins of one file; `digest` is the BLAKE2b-128 of the whole file in hex."""

    name: str
    length: int
    digest: str


@dataclass(frozen=True, slots=True, eq=False)
class Streamed:
    """An array of `length` items that is not in memory as a whole: `blocks` gives it front to back, each time anew."""

    dtype: np.dtype[np.generic]
    length: int
    blocks: Callable[[], Iterator[Data]]

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * self.length


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """One array of a file to be written.

    counted : the manifest tells how many items there are, or at most, so that they may be packed. rows : offsets i64
    of neighbours, which may be packed by them. code : how `data` tells the items; of a packed section it is words, and
    `item` the bytes of an item.
    """

    kind: SectionKind
    data: Data | Streamed
    counted: bool = False
    rows: I64 | None = None
    code: Code = Code.PLAIN
    item: int = 0

    def blocks(self) -> Iterator[Data]:
        """Its data, front to back."""
        if isinstance(self.data, Streamed):
            yield from self.data.blocks()
        else:
            yield self.data


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run of sections went: number of the file in the manifest, of the first section; and their bytes."""

    file: int
    section: int
    bytes: int


class SegmentWriter:
    """Writes sections into new segment files, small ones together.

    Parameters
    ----------
    files : the folder.
    version : of the manifest that will commit the files; part of their names.
    on_bytes : called with the number of bytes after each chunk written.
    packed : pack sections where that makes them smaller.
    """

    def __init__(
        self,
        files: Files,
        version: int,
        on_bytes: Callable[[int], None] | None = None,
        *,
        packed: bool = False,
    ) -> None:
        self._files, self._version, self._on_bytes = files, version, on_bytes
        self._packed = packed
        self._pending: list[Section] = []
        self._bytes = 0
        self._begun = 0  # files
        self._pool: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None
        self.records: list[FileRecord] = []  # of the files that are written
        self.created: list[str] = []  # also those that were begun only

    def place(self, sections: Sequence[Section]) -> Place:
        """Put the sections, in this order, into one file."""
        if self._packed:
            from gdb.storage.packing import packed_section  # brings the compiler

            sections = [packed_section(section) for section in sections]
        size = sum(s.data.nbytes for s in sections)
        if self._pending and self._bytes + size > PACK_BYTES:
            self.flush()
        place = Place(self._begun, len(self._pending), size)
        self._pending.extend(sections)
        self._bytes += size
        if self._bytes > PACK_BYTES:
            self.flush()
        return place

    @property
    def pending(self) -> bool:
        """Whether sections that were placed are not written yet."""
        return bool(self._pending)

    def flush(self) -> None:
        """Begin to write and sync the file in hand, in a thread; what comes next is made meanwhile. Files are written
        one after the other. What is streamed is written before this returns, for its blocks may not last."""
        if not self._pending:
            return
        sections, self._pending, self._bytes = self._pending, [], 0
        self._begun += 1
        self._wait()
        if any(isinstance(section.data, Streamed) for section in sections):
            self._write_file(sections)
            return
        self._pool = self._pool or ThreadPoolExecutor(1)
        self._writing = self._pool.submit(self._write_file, sections)

    def finish(self) -> None:
        """Write and sync all that was placed, the last file in this thread."""
        self._wait()
        if self._pending:
            sections, self._pending = self._pending, []
            self._write_file(sections)
        self.close()

    def close(self) -> None:
        """Wait until nothing is written any more, well or not."""
        if self._pool is not None:
            self._pool.shutdown()

    def _wait(self) -> None:
        """Wait for the file that is written in a thread, and raise what stopped it."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def _write_file(self, sections: list[Section]) -> None:
        # The random part keeps a stray of a killed writer from having the name of a new file.
        name = f"seg-{self._version:08d}-{len(self.records):04d}-{secrets.token_hex(4)}.gdb"
        self.created.append(name)
        out = self._files.create(name)
        try:
            length, digest_hex = _write(out.write, sections, self._on_bytes)
            out.fsync()  # protects the segment's bytes: the manifest must never point at less
        finally:
            out.close()
        self.records.append(FileRecord(name, length, digest_hex))


class Inside:
    """A few sections that lie inside another file, as the bytes of a segment file; these are made when they are first
    asked for.

    Parameters
    ----------
    sections, raw : one of both.
    """

    __slots__ = ("_raw", "_sections")

    def __init__(self, sections: Sequence[Section] = (), raw: bytes = b"") -> None:
        self._sections, self._raw = sections, raw

    @property
    def bytes(self) -> bytes:
        if not self._raw:
            out = io.BytesIO()
            _write(out.write, self._sections, None)
            self._raw = out.getvalue()
        return self._raw


def _start(at: int, size: int) -> int:
    """Where a section of `size` bytes begins when the one before it ends at `at`."""
    alignment = PAGE if size >= PAGE_FROM else SMALL_ALIGNMENT
    return -(-at // alignment) * alignment


def _write(
    write: Callable[[Buffer], object],
    sections: Sequence[Section],
    on_bytes: Callable[[int], None] | None,
) -> tuple[int, str]:
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
    hasher = Hasher()

    def emit(data: Buffer) -> None:
        hasher.update(data)
        write(data)
        if on_bytes:
            on_bytes(memoryview(data).nbytes)

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
    return at, hasher.digest().hex()


class SegmentFile:
    """A verified, mapped segment file."""

    __slots__ = ("_bytes", "_entries", "_where", "name")

    def __init__(self, where: str, name: str, content: U8) -> None:
        self._where, self.name, self._bytes = where, name, content
        if content.shape[0] < HEADER.size:
            raise self._damaged("is too short for its header")
        magic, version, count, length = HEADER.unpack_from(content.data)
        known = magic == MAGIC and 1 <= version <= SEGMENT_FORMAT
        if not known or length != content.shape[0]:
            raise self._damaged("has no segment header")
        if HEADER.size + count * ENTRY.size > length:
            raise self._damaged("is too short for its table of sections")
        self._entries: list[tuple[int, int, int, int, int]] = [
            ENTRY.unpack_from(content.data, HEADER.size + i * ENTRY.size) for i in range(count)
        ]
        at = HEADER.size + count * ENTRY.size
        for _, _, offset, size, code in self._entries:
            if offset != _start(at, size):  # nor can sections overlap
                raise self._damaged("has sections that do not follow one another")
            if code and version == 1:
                raise self._damaged("has packed sections, which its format has not")
            at = offset + size
        if at != length:
            raise self._damaged("has sections that do not fill it")

    # `most`: items that the section may have, by the manifest. A packed one with more is refused before
    # memory is asked for; one that no count bounds is never packed. The length of a plain one speaks for itself.

    def u8(self, section: int, kind: SectionKind, most: int = 0) -> U8:
        return self._items(section, kind, 1, most)

    def u32(self, section: int, kind: SectionKind, most: int = 0) -> U32:
        return self._items(section, kind, 4, most).view("<u4")

    def u64(self, section: int, kind: SectionKind, most: int = 0) -> U64:
        return self._items(section, kind, 8, most).view("<u8")

    def i32(self, section: int, kind: SectionKind, most: int = 0) -> I32:
        return self._items(section, kind, 4, most).view("<i4")

    def i64(self, section: int, kind: SectionKind, most: int = 0) -> I64:
        return self._items(section, kind, 8, most).view("<i8")

    def f64(self, section: int, kind: SectionKind) -> F64:
        return self._items(section, kind, 8, 0).view("<f8")

    def neighbours(self, section: int, offsets: I64, out: U32 | None = None) -> U32:
        """The neighbours of rows at offsets i64[rows + 1], none empty, u32[offsets[-1]]: written to `out` where that is
        given, else a view of the map where they lie there as they are."""
        found, code = self._section(section, SectionKind.NEIGHBOURS, 4)
        if code is Code.PLAIN:
            plain = found.view("<u4")
            if plain.shape[0] != offsets[-1]:
                raise self._damaged("holds another segment than the manifest says")
            if out is None:
                return plain
            out[:] = plain
            return out
        own = np.empty(int(offsets[-1]), np.uint32) if out is None else out
        from gdb.storage import packing  # brings the compiler

        try:
            if code is not Code.ROWS:
                raise packing.Unreadable
            packing.unpack_rows(found.view("<u8"), offsets, own)
        except packing.Unreadable:
            raise self._damaged("holds packed neighbours that are none") from None
        if out is None:
            own.flags.writeable = False
        return own

    @property
    def sections(self) -> int:
        """How many sections the file has."""
        return len(self._entries)

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
        from gdb.storage import packing  # brings the compiler

        try:
            if code is not Code.NUMBERS:
                raise packing.Unreadable
            own = packing.unpacked_numbers(found.view("<u8"), item, most)
        except packing.Unreadable:
            raise self._damaged("holds packed numbers that are none") from None
        own.flags.writeable = False
        return own

    def _section(self, number: int, kind: SectionKind, item: int) -> tuple[U8, Code]:
        if not 0 <= number < len(self._entries):
            raise self._damaged(f"has no section {number}")
        found, size, offset, length, code = self._entries[number]
        unit = 8 if code else item  # of packed ones: words
        if found != kind or size != item or length % unit or offset % SMALL_ALIGNMENT:
            raise self._damaged(f"has another section {number} than the manifest says")
        if code not in (Code.PLAIN, Code.NUMBERS, Code.ROWS):
            raise self._damaged(f"has a section {number} of a code that there is not")
        if offset + length > self._bytes.shape[0]:
            raise self._damaged(f"ends inside section {number}")
        return self._bytes[offset : offset + length], Code(code)

    def _damaged(self, how: str) -> CorruptStore:
        return damaged(self._where, self.name, how)


def open_segment(files: Files, record: FileRecord) -> SegmentFile:
    """Map a file and verify that it is the one that the manifest committed.

    Raises
    ------
    CorruptStore : it is missing, of another length, or of other bytes.
    """
    content = files.map(record.name, record.length)
    verify(files, record, content)
    return SegmentFile(files.where, record.name, content)


class Segments:
    """The segment files of one manifest, opened and verified when first asked for; thread-safe."""

    __slots__ = ("_lock", "_opened", "files", "inline", "pins", "records")

    def __init__(
        self,
        files: Files,
        records: tuple[FileRecord, ...],
        inline: Inside | None,
        before: Segments | None = None,
        pins: Sequence[Pin] | None = None,
    ) -> None:
        """inline : the segment that lies in the manifest itself. before : those of an earlier manifest; what
        both name is not verified again. pins : what keeps the files on disk; None: what keeps those of `before`."""
        self.files, self.records, self.inline = files, records, inline
        if pins is None:
            pins = () if before is None else before.pins
        self.pins: Sequence[Pin] = pins
        opened: dict[FileRecord, SegmentFile] = {}
        if before is not None:
            known = dict(before._opened).items()
            opened = {before.records[n]: f for n, f in known if n < len(before.records)}
        self._opened: dict[int, SegmentFile] = {
            n: opened[record] for n, record in enumerate(records) if record in opened
        }
        self._lock = threading.Lock()

    def shares(self, before: Segments, numbers: Iterable[int]) -> bool:
        """Whether these numbers are the same files in an earlier manifest."""
        return all(
            n < len(self.records)
            and n < len(before.records)
            and self.records[n] == before.records[n]
            for n in numbers
        )

    def __getitem__(self, number: int) -> SegmentFile:
        """The file of that number in the manifest; CorruptStore where it is not what was committed."""
        with self._lock:
            if number not in self._opened:
                self._opened[number] = self._open(number)
            return self._opened[number]

    def _open(self, number: int) -> SegmentFile:
        if number == len(self.records) and self.inline is not None:
            content = np.frombuffer(bytearray(self.inline.bytes), np.uint8)  # numbers are aligned
            content.flags.writeable = False
            return SegmentFile(self.files.where, MANIFEST, content)
        if not 0 <= number < len(self.records):
            raise damaged(self.files.where, MANIFEST, f"names no file {number}")
        return open_segment(self.files, self.records[number])


def verify(files: Files, record: FileRecord, content: U8) -> None:
    """Raise CorruptStore unless the bytes have the checksum that the manifest pinned."""
    if digest(content.data).hex() != record.digest:
        raise damaged(files.where, record.name, "does not hold the bytes that were committed")


def damaged(where: str, name: str, how: str) -> CorruptStore:
    """The error for a file whose bytes are wrong."""
    return CorruptStore(
        f"The store {where} is damaged: its file {name} {how}.",
        "Restore the folder from a copy, or import the data again.",
    )


def need(condition: bool, what: str) -> None:
    """Raise InternalError unless an invariant of the storage room holds."""
    if not condition:
        raise InternalError(f"Storage: {what}.", "Please report this.")
