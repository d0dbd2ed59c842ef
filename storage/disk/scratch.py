"""Scratch files: what work in hand lays down that has no room in memory (see `gdb.storage.write.edge_runs`).

A scratch file loses its name as soon as it is made, so that it goes with the process, however that ends. What a kill
between the two leaves is a stray (`gdb.storage.disk.file_names.strays`), which the next sweep removes. Nothing is
synced.
"""

from __future__ import annotations

import errno
import mmap
import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from gdb.base import digests
from gdb.errors import OutOfBudget

from ..columns.model import U8
from . import scratch_folder
from .checksum import Buffer, bytes_of
from .opening import Descriptor, opened
from .os_errors import translated

KEPT_FREE = 20  # one part in so many of a disk is left free by queries


class Scratch(Protocol):
    """Bytes of work in hand: they have no name, and are gone when it is closed or the process ends."""

    def append(self, data: Buffer) -> int:
        """Add bytes behind those that are there; where they begin."""
        ...

    def read(self, at: int, out: U8) -> None:
        """Fill an array with the bytes from there on."""
        ...

    def close(self) -> None:
        """Give the bytes back to the disk; a second call does nothing."""
        ...


class PosixScratch(Descriptor):
    """A scratch file in a folder.

    Raises
    ------
    StorePermissionError, StoreError : here and below; the disk is full, for one.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(-1)
        self._length, self._what = 0, f"a temporary file in {folder}"
        with translated(self._what, folder):
            self._fd = _nameless(folder)

    def append(self, data: Buffer) -> int:
        """Write bytes at the end of the file; the position of the first."""
        rest, at = bytes_of(data), self._length
        with translated(self._what):
            while rest:
                done = os.write(self._fd, rest)
                self._length += done
                rest = rest[done:]
        return at

    def read(self, at: int, out: U8) -> None:
        """Fill an array from position `at` on; StoreError where the file ends before."""
        rest = out.data
        with translated(self._what):
            while rest:
                done = os.preadv(self._fd, [rest], at)
                if not done:
                    raise OSError(errno.EIO, "it is shorter than what was written")
                at, rest = at + done, rest[done:]


def _nameless(folder: Path) -> int:
    """A new file that is open for reading and writing, and has no name."""
    path = folder / f"scratch-{digests.token_hex(8)}.tmp"
    fd = opened(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with suppress(FileNotFoundError):  # a sweeper was quicker: it has no name any more
            os.unlink(path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def mapped(size: int, what: str, folder: Path | None = None) -> mmap.mmap:
    """So many zeros in a temporary file of this process, mapped to be written; they go when nothing refers to the map.
    After a fork both processes have them: what a child may change must not lie here.

    folder : None for the one of this process, which queries use.

    Raises
    ------
    OutOfBudget : the system has no folder for temporary files. StorePermissionError, StoreError : the disk is full, for
    one.
    """
    folder = folder or scratch_folder.of_process()
    if folder is None:
        raise OutOfBudget(
            f"{size:,} bytes are needed for {what} in a temporary file, and there is no folder for one.",
            "Raise memory=, or name a folder in the environment variable TMPDIR.",
        )
    disk = os.statvfs(folder)
    free, whole = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
    if size > free - whole // KEPT_FREE:
        raise OutOfBudget(
            f"{size:,} bytes are needed for {what} in a temporary file in {folder}, whose disk has {free:,} free.",
            "Raise memory=, query less, or name a folder on another disk in the environment variable TMPDIR.",
        )
    with translated(f"a temporary file in {folder}"):
        fd = _nameless(folder)
        try:
            # not a hole: where the disk is full, the first write to a page of one would end the process
            os.posix_fallocate(fd, 0, size)
            return mmap.mmap(fd, size)
        finally:
            os.close(fd)
