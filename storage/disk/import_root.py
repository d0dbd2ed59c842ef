"""Opening input files where they must lie below an import root: each time from the root on, and never through a link.

What was checked once may be another thing when it is opened: a user who may write below the root puts a link in its
place meanwhile. So a path that was found to lie inside, its links resolved, carries its root, and each opening of it
walks the folders below the root by their descriptors. DuckDB, which opens by name, gets the name of a descriptor.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PosixPath
from typing import BinaryIO

from gdb.errors import ImportFailed

from .opening import opened_below

_CHANGED = (errno.ELOOP, errno.ENOTDIR, errno.EINVAL)
DESCRIPTORS = Path("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd")


class Rooted(PosixPath):
    """A resolved path below a root."""

    import_root: Path


def rooted(path: Path, root: Path) -> Path:
    """A path without links, to be opened from the root on only."""
    found = Rooted(path)
    found.import_root = root
    return found


def open_bytes(path: Path, buffering: int = -1) -> BinaryIO:
    """The bytes of a file.

    Raises
    ------
    ImportFailed : below a root, a link has taken its place.
    OSError : as `open`.
    """
    if isinstance(path, Rooted):
        return os.fdopen(_descriptor(path), "rb", buffering)
    return open(path, "rb", buffering)


def _descriptor(path: Rooted) -> int:
    try:
        return opened_below(path.import_root, path)
    except OSError as error:
        if error.errno not in _CHANGED:
            raise
        raise ImportFailed(
            "has changed since it was found inside of the import root: a link, or no plain file, is in its place",
            "Give write access to the import root only to users whom you trust.",
            file=str(path),
        ) from None


@contextmanager
def reopened(path: Path) -> Iterator[Path]:
    """A path for a reader that opens by name, in the block.

    Raises
    ------
    ImportFailed, OSError : as `open_bytes`.
    """
    if not isinstance(path, Rooted):
        yield path
        return
    fd = _descriptor(path)
    try:
        yield DESCRIPTORS / str(fd)
    finally:
        os.close(fd)
