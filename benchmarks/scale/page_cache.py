"""The page cache of a store's files: dropped, so that a query reads them from the disk; and how fast that disk is."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

READERS = 4
PIECE = 8 << 20  # bytes that a reader takes at once


def drop(store: Path) -> None:
    """Take the pages of a store's files out of the page cache; no process may map them."""
    for file in _files(store):
        fd = os.open(file, os.O_RDONLY)
        try:
            os.fsync(fd)  # pages that are not on disk yet stay
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


def warm(store: Path) -> None:
    """Read all of a store's files, so that they are in the page cache."""
    for file in _files(store):
        _read(file)


def disk_rate(store: Path) -> float:
    """Bytes a second at which several threads read a store's files from the disk, with an empty page cache."""
    drop(store)
    begin = time.perf_counter()
    size = sum(_read(file) for file in _files(store))
    return size / (time.perf_counter() - begin)


def bytes_from_disk() -> int:
    """Bytes that this process had read from disks so far."""
    for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines():
        if line.startswith("read_bytes:"):
            return int(line.split()[1])
    return 0


def size(store: Path) -> int:
    """Bytes of a store's files."""
    return sum(file.stat().st_size for file in _files(store))


def _files(store: Path) -> Iterator[Path]:
    return (file for file in sorted(store.iterdir()) if file.is_file())


def _read(file: Path) -> int:
    """Read a file by several threads; how long it is."""
    length = file.stat().st_size
    fd = os.open(file, os.O_RDONLY)
    try:
        with ThreadPoolExecutor(READERS) as pool:
            return sum(pool.map(lambda at: len(os.pread(fd, PIECE, at)), range(0, length, PIECE)))
    finally:
        os.close(fd)
