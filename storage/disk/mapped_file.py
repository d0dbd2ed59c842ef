"""Files of a store that are mapped, and whether they are what they were when they were mapped."""

from __future__ import annotations

import mmap
import os
from typing import Self

import numpy as np

from ..columns.model import U8


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

    def read_anywhere(self, begin: int, size: int) -> None:
        """Pages of some bytes are read in any order from now on: where there is no room for all, the system reads a
        page, instead of many around it."""
        if hasattr(mmap, "MADV_RANDOM") and size:
            first = begin // mmap.PAGESIZE * mmap.PAGESIZE
            self.madvise(mmap.MADV_RANDOM, first, begin + size - first)

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
