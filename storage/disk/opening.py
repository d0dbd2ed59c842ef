"""The one way in which a file of a store is opened: a plain file under its own name, and nothing else.

A store may come from elsewhere, an archive or a shared folder. A symbolic link in it, under the name of a file that gdb
writes, would make it write to any file of the user; under a name that it reads, copy any file into a backup. A pipe
would block forever. The folder of a store may be named by a link: that is how the user names it.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from gdb.base import forks
from gdb.base.closing import destructor
from gdb.errors import CorruptStore, Fault

_ALWAYS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# a link; a folder that is to be written; a pipe without a reader, a socket; a device without a driver
_NO_FILE = (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENODEV)
_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)


def opened(path: Path | str, flags: int, mode: int = 0o644) -> int:
    """Open a file in the folder of a store, as `os.open`; it is closed in programs that are started.

    Raises
    ------
    CorruptStore : it is no plain file.
    OSError : as `os.open`.
    """
    try:
        fd = os.open(path, flags | _ALWAYS, mode)
    except OSError as error:
        if error.errno in _NO_FILE:
            raise _no_file(path, os.lstat(path).st_mode) from None
        raise
    try:
        found = os.fstat(fd).st_mode
        if not stat.S_ISREG(found):
            raise _no_file(path, found)
    except BaseException:
        os.close(fd)
        raise
    return fd


class Descriptor:
    """An open file of this process: a child must not write at its place, nor keep the file from going."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        forks.watch(self)

    def forked(self) -> None:
        """Close it in the child."""
        self.close()

    def close(self) -> None:
        """Close it; a second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    __del__ = destructor(close)


def _no_file(path: Path | str, mode: int) -> CorruptStore:
    what = next((what for is_one, what in _KINDS if is_one(mode)), "no plain file")
    cure = "Restore the file from a copy of the store; if it is a lock, remove it."
    if stat.S_ISLNK(mode):
        cure = (
            "gdb opens nothing in a store through a link. Copy the file that it leads to into its place, if that "
            "belongs to the store; else remove the link."
        )
    name = os.path.basename(path)
    return CorruptStore(f"{path} is {what}, not a file.", cure, (Fault("", name, f"is {what}"),))


def opened_below(root: Path, path: Path) -> int:
    """Open a plain file below a folder, to read; no name on the way from the folder to it may be a link.

    Raises
    ------
    OSError : as `os.open`; ELOOP or ENOTDIR for a link.
    """
    *folders, name = path.relative_to(root).parts
    passing = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
    folder = os.open(root, passing)
    try:
        for each in folders:
            inner = os.open(each, passing | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        fd = os.open(name, os.O_RDONLY | _ALWAYS, dir_fd=folder)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    return fd
