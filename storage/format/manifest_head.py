"""The first bytes of a manifest file: its format, and how long it and the journal behind it are (docs/FORMAT.md)."""

from __future__ import annotations

import struct

from gdb.errors import StoreError
from gdb.records import dataclass, quick

FORMAT = 5
JOURNAL_FROM = 4  # the first whose manifests may have records behind them
MAGIC = b"gdb.man\n"
HEAD = struct.Struct("<8sIIQ")  # magic, format, sectors or 0, length of the body
# Of the file without records, and of records behind it: no more is read of a file that a stranger made.
MOST_BYTES, MOST_RECORDS = 1 << 27, 1 << 20
# Versions are below it: every store that can be opened can be committed to, and every commit can be read.
MOST_VERSION = 1 << 48
SECTOR = 512  # bytes of a file that a power cut leaves either written or not
# Seconds between looks at a sector that is not as its checksum says, before it is damage: the copy of a sector into the
# page that others read is not atomic, and the process that makes it may be suspended meanwhile.
PATIENCE = (0.0005, 0.005, 0.05, 0.3)


def format_in(raw: bytes) -> int:
    """The format that the bytes of a manifest file say they are of."""
    return int(HEAD.unpack_from(raw)[1])


def length_in(raw: bytes) -> int:
    """How many of the bytes of a manifest file are the manifest; behind them are records."""
    if len(raw) >= HEAD.size:
        _, version, sectors, _ = HEAD.unpack_from(raw)
        # also of a newer format, which is to be refused by its name
        if version >= JOURNAL_FROM and sectors:
            return min(int(sectors) * SECTOR, len(raw))
    return len(raw)


def most_bytes(head: bytes) -> int:
    """The most bytes that the file may have, by its first ones: a `gdb.storage.disk.files.Bound`."""
    if len(head) >= HEAD.size:
        magic, version, sectors, _ = HEAD.unpack_from(head)
        if magic == MAGIC and JOURNAL_FROM <= version <= FORMAT and sectors:
            return min(int(sectors) * SECTOR, MOST_BYTES) + MOST_RECORDS
    return MOST_BYTES


def next_version(version: int) -> int:
    """The version of the next commit.

    Raises
    ------
    StoreError : a store of that version could not be read.
    """
    if version + 1 >= MOST_VERSION - MOST_RECORDS:  # each record behind a manifest is a version too
        raise StoreError(
            f"The store has version {version}, the last that there can be: it takes no more commits.",
            "Export it and load it into a new store.",
        )
    return version + 1


@quick
@dataclass(frozen=True, slots=True)
class More:
    """How many files, and how many bytes they have."""

    files: int
    bytes: int
