"""Writing new segment files: sections are gathered, and small ones share a file (docs/FORMAT.md)."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from gdb.base import digests, waiting
from gdb.records import dataclass

from ..disk.files import Files
from .sections import Section, Streamed
from .segment import FileRecord, write_sections
from .segment_checksum import note_written

PACK_BYTES = 16 << 20  # small sections share a file until it has this size


@dataclass(frozen=True, slots=True)
class SectionPlace:
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
    packed : pack sections where that makes them smaller.
    """

    def __init__(self, files: Files, version: int, *, packed: bool = False) -> None:
        self._files, self._version = files, version
        self._packed = packed
        self._pending: list[Section] = []
        self._bytes = 0
        self._begun = 0  # files
        self._pool: waiting.Pool | None = None
        self._writing: Future[None] | None = None
        self.records: list[FileRecord] = []  # of the files that are written
        self.created: list[str] = []  # also those that were begun only

    def place(self, sections: Sequence[Section]) -> SectionPlace:
        """Put the sections, in this order, into one file."""
        if self._packed:
            from .packing import packed_section  # brings the compiler

            sections = [packed_section(section) for section in sections]
        size = sum(s.data.nbytes for s in sections)
        if self._pending and self._bytes + size > PACK_BYTES:
            self.flush()
        place = SectionPlace(self._begun, len(self._pending), size)
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
        self._pool = self._pool or waiting.Pool(1)
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
            waiting.result(writing)

    def _write_file(self, sections: list[Section]) -> None:
        # The random part keeps a stray of a killed writer from having the name of a new file.
        name = f"seg-{self._version:08d}-{len(self.records):04d}-{digests.token_hex(4)}.gdb"
        self.created.append(name)
        out = self._files.create(name)
        try:
            length, digest_hex = write_sections(out.write, sections)
            out.fsync()  # protects the segment's bytes: the manifest must never point at less
        finally:
            out.close()
        self.records.append(FileRecord(name, length, digest_hex))
        note_written(self._files, self.records[-1])
