"""Files of a store that are mapped, and whether they are what they were when they were mapped."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
from collections.abc import Sequence
from typing import Self

import numpy as np

from gdb.base import forks

from ..columns.model import U8
from . import lost_pages

_THREAD: int | None = getattr(resource, "RUSAGE_THREAD", None)  # of Linux
_MOVE = 3  # MREMAP_MAYMOVE | MREMAP_FIXED


class MappedFile(mmap.mmap):
    """A file that is mapped to be read. path : where it was. state : what the system said of it when its bytes were
    verified last, or before."""

    path: str
    state: os.stat_result

    def __new__(cls, fd: int, length: int, path: str) -> Self:
        """Map so many bytes of an open file for reading. path : its name, for errors."""
        made = super().__new__(cls, fd, length, prot=mmap.PROT_READ)
        made.path, made.state = path, os.fstat(fd)
        return made

    def written(self) -> os.stat_result | None:
        """What the system says of the file where something was written to it since `state`, else None; also where
        another file, or none, has its place: nothing says what became of this one then.

        Cost: a microsecond.
        """
        try:
            now = os.stat(self.path, follow_symlinks=False)
        except OSError:
            return None
        before = self.state
        same = (now.st_ino, now.st_dev) == (before.st_ino, before.st_dev)
        return now if same and now.st_mtime_ns != before.st_mtime_ns else None


def file_of(content: U8) -> MappedFile | None:
    """The file that an array, or what it is a part of, is the bytes of; None where these are of memory."""
    found: object = content
    while isinstance(found, (np.ndarray, memoryview)):
        found = found.base if isinstance(found, np.ndarray) else found.obj
    return found if isinstance(found, MappedFile) else None


def pages_from_disk() -> int:
    """How often this thread has waited until a page of a map was read from the disk: what is in the page cache does not
    count. 0 where the system does not say.

    Cost: half a microsecond.
    """
    return resource.getrusage(_THREAD).ru_majflt if _THREAD is not None else 0


class _Row(mmap.mmap):
    """Pages of several maps, one behind the other. pieces : those of the maps, which stay as long."""

    pieces: Sequence[U8]


def in_a_row(pieces: Sequence[U8]) -> U8 | None:
    """Pieces of mapped files as one array, whose pages are those of the files: they are mapped once more, and take no
    memory of the process.

    None where that cannot be: a piece is not of a mapped file, does not begin with a page, or does not end with one and
    is not the last; or the system is not Linux.
    """
    maps = [file for piece in pieces if (file := file_of(piece)) is not None]
    begins = all(piece.ctypes.data % mmap.PAGESIZE == 0 for piece in pieces)
    ends = all(len(piece) % mmap.PAGESIZE == 0 for piece in pieces[:-1])
    known = len(maps) == len(pieces) > 0 and all(map(len, pieces))
    if not (lost_pages.WATCHES and known and begins and ends):
        return None
    row = _Row(-1, sum(map(len, pieces)), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ)
    row.pieces = pieces
    found, at = np.frombuffer(row, np.uint8), 0
    remap = ctypes.CDLL(None).mremap
    remap.restype = ctypes.c_void_p
    for piece, file in zip(pieces, maps, strict=True):
        old, new = piece.ctypes.data, found.ctypes.data + at
        # of the size 0: the old pages stay where they are as well, if a file has them
        sizes = ctypes.c_size_t(0), ctypes.c_size_t(len(piece))
        if remap(ctypes.c_void_p(old), *sizes, _MOVE, ctypes.c_void_p(new)) != new:
            forks.leak(row)  # what it had there may be gone, and be another's by now
            return None
        lost_pages.mapped_again(row, at, piece, file)
        begin = old - np.frombuffer(file, np.uint8).ctypes.data
        file.madvise(mmap.MADV_DONTNEED, begin, len(piece))  # else they count twice as resident
        at += len(piece)
    return found
