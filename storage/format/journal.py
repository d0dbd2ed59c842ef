"""The journal: records behind the manifest, in the same file, one for each small commit (docs/FORMAT.md).

A record is what a commit changed of the delta's sections, so that its size does not grow with the delta, and costs one
wait for the disk. The idea is that of every write-ahead log (C. Mohan et al., "ARIES", TODS 1992, redo of physical
changes), with two differences: the log is short, since a manifest takes its place when it has grown; and no writer
appends where another one stopped (`gdb.storage.write.store`), so that at most the last record can be torn.

Behind the records are zeros, made in advance, which the next ones take the place of: then neither the file's length nor
its blocks change, and the disk has one thing to write instead of two.

A record fills whole sectors of 512 bytes; a power cut leaves each sector either written or not. Each sector ends in the
checksum of all bytes of the file before it, so that a record of another file, or of another time, is never accepted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from gdb.errors import CorruptStore, InternalError
from gdb.records import dataclass, quick, replace

from ..columns.model import U8
from ..disk.checksum import DIGEST_BYTES, Hasher
from ..disk.files import MANIFEST, Files
from . import manifest_checks
from .delta_parts import DeltaParts
from .manifest import DeltaRecord, Manifest, delta_of
from .manifest_head import SECTOR, More
from .sections import Section, SectionKind
from .segment import FileRecord, Inside, damaged
from .segments import Segments

Items: TypeAlias = "npt.NDArray[np.uint8 | np.uint32 | np.uint64]"

# Of all records behind one manifest: opening the store reads them.
MOST_BYTES = 1 << 18
# Zeros that are written behind a record, at least, where there are none: to write in their place changes no length, and
# a wait for bytes alone is two thirds of one for bytes and length. As many again as there are, each time.
LEAST_AHEAD = 1 << 13
_NUMBER = struct.Struct("<I")  # of the record, in the first bytes of each of its sectors
_PAYLOAD = SECTOR - _NUMBER.size - DIGEST_BYTES
_HEAD = struct.Struct("<IIQ")  # sectors of the record, sections of the delta, bytes of its text
# kind, bytes of an item; bytes that are kept in front and at the end, and new ones between
_PIECE = struct.Struct("<IIQQQ")
_ITEMS = {1: np.uint8, 4: np.uint32, 8: np.uint64}
_KINDS = frozenset(map(int, SectionKind))
_NO_SEAL = bytes(DIGEST_BYTES)
_NOTHING = np.zeros(0, np.uint8)


class Unsealed(CorruptStore):
    """A sector is not as its checksum says, or not there and others behind it are: the journal is damaged, or being
    written this very moment."""


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A record, and what holds after it: sections of the delta, and what is said of them, as text. parts : the same, of
    one that was not read."""

    number: int
    raw: bytes
    hasher: Hasher
    sections: Sequence[Section]
    text: bytes
    parts: DeltaParts | None = None
    zeros: int = 0  # bytes to make room for behind it


class Journal:
    """The records behind one manifest, up to `end`. Not thread-safe: the store holds a lock around it.

    Parameters
    ----------
    files : of the store.
    manifest : one with a journal. raw : its bytes.
    parts : of its delta, where they are known.
    """

    def __init__(
        self,
        files: Files,
        manifest: Manifest,
        raw: bytes,
        parts: DeltaParts | None = None,
    ) -> None:
        self._files, self._manifest, self._parts = files, manifest, parts
        self._sections: Sequence[Section] | None = None if parts is None else parts.sections
        self._base = replace(manifest, files=manifest.base_files)
        self._begin = self.end = self._length = len(raw)  # of the file, zeros included
        self._hasher = Hasher()
        self._hasher.update(raw)
        left = manifest.files[len(self._base.files) :]
        self._more = More(1 + len(left), sum(record.length for record in left))
        self._number = 0  # of the last record
        self._last: Record | None = None

    # ---- writing ---------------------------------------------------------------------------------

    def record(self, parts: DeltaParts) -> Record | None:
        """The next record: the delta that holds after it; None where there is no room for it."""
        pieces, fresh, sections = list[bytes](), list[bytes](), list[Section]()
        known = self._delta_sections()
        before = [] if self._parts is None else self._parts.every
        for at, part in enumerate(parts.every):
            sections += part.sections
            if at < len(before) and before[at] is part:
                if not part.words:
                    part.words = b"".join(map(_as_before, part.sections))
                pieces.append(part.words)
                continue
            for number, section in enumerate(part.sections, part.first):
                old = known[number] if number < len(known) else None
                if old is not None and old.data is section.data and old.kind is section.kind:
                    pieces.append(_as_before(section))
                    continue
                head, tail, new = _difference(old, section)
                item = section.data.dtype.itemsize
                pieces.append(_PIECE.pack(section.kind, item, head, tail, len(new)))
                fresh.append(new)
        text = parts.text
        size = _HEAD.size + len(text) + sum(map(len, (*pieces, *fresh)))
        sectors = -(-size // _PAYLOAD)
        if self.end - self._begin + sectors * SECTOR > MOST_BYTES:
            return None
        payload = b"".join((_HEAD.pack(sectors, len(sections), len(text)), *pieces, text, *fresh))
        hasher = self._hasher.copy()
        raw = _sealed(payload, _NUMBER.pack(self._number + 1), hasher)
        used, zeros = self.end + len(raw) - self._begin, 0
        if self.end + len(raw) > self._length:
            zeros = min(max(LEAST_AHEAD, used), MOST_BYTES - used)
        return Record(self._number + 1, raw, hasher, sections, text, parts, zeros)

    def accept(self, record: Record) -> None:
        """The record has been written at the end, or read from there."""
        self._hasher, self._sections, self._last = record.hasher, record.sections, record
        self._parts = record.parts
        self.end += len(record.raw)
        self._length = max(self._length, self.end + record.zeros)
        self._number = record.number

    # ---- reading ---------------------------------------------------------------------------------

    def follow(self, content: bytearray) -> bool:
        """Read the records from `end` on; whether there was any. content : of the whole file.

        A record that was torn by a power cut, or is being written, is none yet: some of its sectors are not there, or
        are zeros, and nothing is behind it.

        Raises
        ------
        CorruptStore : it was damaged after it was written, as far as that can be distinguished from a torn record.
        """
        before = self._number
        self._length = max(self._length, len(content))
        while (raw := self._whole(content)) is not None:
            self.accept(self._read(raw))
        return self._number > before

    def ends_in_zeros(self, content: bytes) -> bool:
        """Whether nothing is behind `end` but zeros and sectors of the next record, which was torn. Opening a store
        does not compare this: it looks for the checksums of sectors alone. content : of the whole file.

        Of a sector that a power cut left in part the first bytes are there, so its number.
        """
        number = _NUMBER.pack(self._number + 1)
        for at in range(self.end, len(content), SECTOR):
            sector = content[at : at + SECTOR]
            body = sector.rstrip(b"\0")
            torn = body.startswith(number) or number.startswith(body)
            if not torn and not _arrived(sector):
                return False
        return True

    @property
    def manifest(self) -> Manifest:
        """What the store consists of after the last record, as one manifest.

        Raises
        ------
        CorruptStore : the record cannot be understood.
        """
        last = self._last
        if last is None:
            return self._manifest
        version, inline = self._manifest.version + self._number, Inside(last.sections)
        if last.parts is not None:
            return _with_delta(self._base, version, last.parts.record, inline)
        try:
            found = _with_delta(self._base, version, delta_of(last.text), inline)
            manifest_checks.in_manifest(found)
        except (ValueError, RecursionError) as error:
            self._damaged(f"cannot be understood ({error})")
        return found

    @property
    def files(self) -> tuple[FileRecord, ...]:
        """What the manifest on disk names."""
        return self._manifest.files

    @property
    def more(self) -> More:
        """What there is on disk beside the files that `manifest` names."""
        if not self._number:
            return More(1, self._length)
        return More(self._more.files, self._more.bytes + self._length)

    def _whole(self, content: bytearray) -> bytes | None:
        """The bytes of the next record; None where it has not been written, or not wholly."""
        at, number = self.end, _NUMBER.pack(self._number + 1)
        first = bytes(content[at : at + SECTOR])
        if not _arrived(first):  # then its length is not known, but each sector says whose it is
            if any(content[k : k + _NUMBER.size] != number for k in _there(content, at)):
                raise self._unsealed("is damaged")
            return None
        hasher = self._hasher.copy()
        self._verify(first, number, hasher)
        sectors, *_ = _HEAD.unpack_from(first, _NUMBER.size)
        end = at + sectors * SECTOR
        if not sectors:
            self._damaged("contradicts itself")
        raw = bytes(content[at:end])
        if len(raw) < sectors * SECTOR or sum(1 for _ in _there(raw, 0)) < sectors:
            if any(True for _ in _there(content, end)):
                raise self._unsealed("is damaged")
            return None
        for k in range(SECTOR, len(raw), SECTOR):
            self._verify(raw[k : k + SECTOR], number, hasher)
        return raw

    def _verify(self, sector: bytes, number: bytes, hasher: Hasher) -> None:
        hasher.update(sector[:-DIGEST_BYTES])
        if not sector.startswith(number) or hasher.digest() != sector[-DIGEST_BYTES:]:
            raise self._unsealed("does not hold the bytes that were committed")
        hasher.update(sector[-DIGEST_BYTES:])

    def _read(self, raw: bytes) -> Record:
        """A record that was verified."""
        inside = range(_NUMBER.size, len(raw), SECTOR)
        payload = b"".join(raw[at : at + _PAYLOAD] for at in inside)
        _, count, length = _HEAD.unpack_from(payload)
        begin = _HEAD.size + count * _PIECE.size
        if begin + length > len(payload):
            self._damaged("contradicts itself")
        known, sections, at = self._delta_sections(), [], begin + length
        for number in range(count):
            kind, item, head, tail, new = _PIECE.unpack_from(
                payload, _HEAD.size + number * _PIECE.size
            )
            old = known[number] if number < len(known) else None
            kept = old is not None and (old.kind, old.data.dtype.itemsize) == (kind, item)
            had = _bytes(old) if kept and old is not None else _NOTHING
            if (
                at + new > len(payload)
                or head + tail > len(had)
                or item not in _ITEMS
                or kind not in _KINDS
                or (head + new + tail) % item
            ):
                self._damaged("contradicts itself")
            if old is not None and head == len(had) and not new and kept:
                sections.append(old)
                continue
            middle = np.frombuffer(payload, np.uint8, new, at)
            data = np.concatenate([had[:head], middle, had[len(had) - tail :]])
            sections.append(Section(SectionKind(kind), data.view(_ITEMS[item])))
            at += new
        if payload[at:].strip(b"\0") or len(raw) != -(-at // _PAYLOAD) * SECTOR:
            self._damaged("contradicts itself")
        hasher = self._hasher.copy()
        hasher.update(raw)
        text = payload[begin : begin + length]
        return Record(self._number + 1, raw, hasher, sections, text)

    def _delta_sections(self) -> Sequence[Section]:
        """The sections of the delta after the last record."""
        if self._sections is None:
            manifest = self._manifest
            found: list[Section] = []
            if manifest.delta is not None:
                file = Segments(self._files, manifest.files, manifest.inline)[manifest.delta.file]
                for kind, item, data in file.contents():
                    if item not in _ITEMS or kind not in _KINDS or len(data) % item:
                        self._damaged("follows what is no delta")
                    found.append(Section(SectionKind(kind), data.view(_ITEMS[item])))
            self._sections = found
        return self._sections

    def _damaged(self, how: str) -> NoReturn:
        raise self._error(how)

    def _unsealed(self, how: str) -> Unsealed:
        found = self._error(how)
        return Unsealed(found.message, found.cure)

    def _error(self, how: str) -> CorruptStore:
        return damaged(self._files.where, MANIFEST, f"has a record {self._number + 1} that {how}")


def _with_delta(base: Manifest, version: int, delta: DeltaRecord, inline: Inside) -> Manifest:
    """The base with a delta that lies in the manifest. (`dataclasses.replace` takes 5 us.)"""
    return Manifest(
        version,
        base.vertex_count,
        base.edge_count,
        base.files,
        base.groups,
        base.types,
        base.spaces,
        delta,
        inline,
        base.journal,
        base.packed,
    )


def _arrived(sector: bytes | bytearray) -> bool:
    """Whether a sector was written to its end, where its checksum is; else there are zeros, or the file ends."""
    return len(sector) == SECTOR and sector[-DIGEST_BYTES:] != _NO_SEAL


def _there(content: bytes | bytearray, at: int) -> Iterator[int]:
    """Where sectors that were written begin, from `at` on."""
    if not np.frombuffer(content, np.uint8)[at:].any():
        return
    for k in range(at, len(content), SECTOR):
        if _arrived(content[k : k + SECTOR]):
            yield k


def _sealed(payload: bytes, number: bytes, hasher: Hasher) -> bytes:
    """The sectors of a record; the hasher then knows them too."""
    found: list[bytes] = []
    for at in range(0, len(payload), _PAYLOAD):
        body = number + payload[at : at + _PAYLOAD].ljust(_PAYLOAD, b"\0")
        hasher.update(body)
        seal = hasher.digest()
        hasher.update(seal)
        found += (body, seal)
    return b"".join(found)


def _as_before(section: Section) -> bytes:
    """What a record says of a section that is the one before."""
    data = section.data
    return _PIECE.pack(section.kind, data.dtype.itemsize, data.nbytes, 0, 0)


def _difference(old: Section | None, new: Section) -> tuple[int, int, bytes]:
    """How many bytes of the old section begin and end the new one, and what is between."""
    ours, item = _items(new), new.data.dtype.itemsize
    if old is None or old.kind != new.kind or old.data.dtype.itemsize != item:
        return 0, 0, ours.tobytes()
    if (edit := new.edit) is not None and edit.data is old.data:  # nothing has to be compared
        between = ours[edit.head : len(ours) - edit.tail]
        return edit.head * item, edit.tail * item, between.tobytes()
    theirs = _items(old)
    count, before = len(ours), len(theirs)
    if count == before:
        differ = (theirs != ours).nonzero()[0]
        if not len(differ):
            return count * item, 0, b""
        head, end = differ.item(0), differ.item(-1) + 1
        return head * item, (count - end) * item, ours[head:end].tobytes()
    most = min(count, before)
    differ = (theirs[:most] != ours[:most]).nonzero()[0]
    head = differ.item(0) if len(differ) else most
    left = most - head
    differ = (theirs[before - left :] != ours[count - left :]).nonzero()[0]
    tail = left - 1 - differ.item(-1) if len(differ) else left
    return head * item, tail * item, ours[head : count - tail].tobytes()


def _items(section: Section) -> Items:
    """The items of a section that is in memory."""
    data = section.data
    if not isinstance(data, np.ndarray):
        raise InternalError("a delta is streamed.")
    found: Items = data.view(_ITEMS[data.dtype.itemsize])
    return found


def _bytes(section: Section) -> U8:
    """The bytes of a section that is in memory."""
    return np.ascontiguousarray(_items(section)).view(np.uint8)
