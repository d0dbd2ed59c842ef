"""Verification of checksums: a segment file holds the bytes that the manifest committed, or is refused.

A file that this process wrote itself is not read again for that.
"""

from __future__ import annotations

import weakref

from ..columns.model import U8
from ..disk.checksum import digest
from ..disk.files import Files
from .invariants import CHECKSUMS
from .segment import FileRecord, SegmentFile, damaged

_written: weakref.WeakKeyDictionary[Files, set[FileRecord]] = weakref.WeakKeyDictionary()


def note_written(files: Files, record: FileRecord) -> None:
    """Note that this process wrote and synced a file through `files`."""
    _written.setdefault(files, set()).add(record)


def open_segment(files: Files, record: FileRecord, *, anew: bool = True) -> SegmentFile:
    """Map a file and verify that it is the one that the manifest committed.

    anew : also where this process wrote it itself through `files`, and so knows its bytes (without, it is `own`), or
        `files` has compared them with the checksum.

    Raises
    ------
    CorruptStore : it is missing, of another length, or of other bytes.
    """
    content = files.map(record.name, record.length, record.digest)
    own = not anew and record in _written.get(files, ())
    if anew or not (own or files.remote):
        verify(files, record, content)
    return SegmentFile(files.where, record.name, content, own=own, pinned=record.digest)


def verify(files: Files, record: FileRecord, content: U8) -> None:
    """Raise CorruptStore unless the bytes have the checksum that the manifest pinned."""
    if digest(content.data).hex() != record.digest:
        how = "does not hold the bytes that were committed"
        raise damaged(files.where, record.name, how, CHECKSUMS.name)
