"""Arrays of a store that end where their memory ends: whatever reads beyond one gets a signal.

Each section of a file is copied to the end of pages of its own, behind which lies one that cannot be read. What is
made of sections in memory (unpacked numbers, offsets of rows) is NumPy's own and not guarded, nor is what is before a
section.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from unittest.mock import patch

import numpy as np

from gdb.storage.columns.model import U8
from gdb.storage.format.sections import Code, SectionKind
from gdb.storage.format.segment import SegmentFile

_PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def guarded(content: U8) -> U8:
    """A copy that ends where a page ends that cannot be read behind; to 8 bytes, as kernels need their arrays."""
    size = len(content)
    pages = -(-max(size, 1) // _PAGE)
    memory = mmap.mmap(-1, (pages + 1) * _PAGE)
    whole = np.frombuffer(memory, np.uint8)
    begin = (pages * _PAGE - size) & ~7
    whole[begin : begin + size] = content
    if _libc.mprotect(whole.ctypes.data + pages * _PAGE, _PAGE, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    found = whole[begin : begin + size]
    found.flags.writeable = False
    return found


def install() -> None:
    """Guard the sections of all files that this process opens from now on."""
    plain = SegmentFile._section
    known: dict[int, tuple[SegmentFile, dict[int, U8]]] = {}

    def section(file: SegmentFile, number: int, kind: SectionKind, item: int) -> tuple[U8, Code]:
        found, code = plain(file, number, kind, item)
        _, sections = known.setdefault(id(file), (file, {}))
        if number not in sections:
            sections[number] = guarded(found)
        if len(known) > 50:
            known.clear()
            known[id(file)] = (file, sections)
        return sections[number], code

    patch.object(SegmentFile, "_section", section).start()
