"""Pins: locks on the files of a store's folder that open snapshots need; a lock ends with its process.

The files of one version come and go together: those of a base are written by one commit and named by every manifest
until another base takes its place, and a delta has one file, alone of its version. So the first file of a version,
number 0, represents all of them. A snapshot *pins* it: a shared `flock` on it, through a read-only descriptor, so that
a folder without write permission is read as safely as another. The sweeper removes files that the manifest does not
name, and only after it got an exclusive lock on the first of their version (`gdb.storage.write.sweep`).

The races, and why nothing is lost:

- A file is swept between the reading of the manifest that names it and the lock. The reader looks once it has the lock
  whether the name is there still, and if not reads the manifest again: a newer one has taken its place before. (Not
  the count of links: the folder may have been copied by hard links.)
- The sweeper is killed halfway. It removes the first file before the others. So while a first file is there, all of
  its version are; and files whose first one is gone cannot be opened as a version, and are removed without a lock.
- A killed writer left files of the version that the next one committed. Then the version has two first files; its
  files go when neither is pinned.
- A fork shares the descriptor, and with it the lock, which lasts until the last of both closes it: as long as either
  needs the file. So a pin is given up by closing alone, never by unlocking, which would be for both, nor is it ever
  made exclusive. (A child that took a lock of its own and closed the inherited file would gain nothing by it.) The
  sweeper and the writer unlock what they locked, so that no process waits for a child that was forked meanwhile.
- A manifest that was switched may not have reached the disk: then a power cut brings back the one before. So the
  folder is synced before anything goes.
- A writer's new files are named by no manifest yet. So only the holder of the writer's lock sweeps. A store that is
  opened or closed without a writer sweeps too, and a writer may start at that moment: the sweeper holds `readers.lock`
  exclusively meanwhile, and a writer that finds the writer's lock taken waits for it before it looks again.

A gdb before pins held `readers.lock` shared as long as it had a store open; while a process does, nothing is swept.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from gdb.base import waiting
from gdb.base.closing import destructor

from .opening import opened
from .os_errors import NO_LOCKS, translated

READERS_LOCK = "readers.lock"

_log = logging.getLogger("gdb")
_said: set[Path] = set()  # folders that a warning was logged for


class Pin(Protocol):
    """Keeps a file, and those of its version, from being swept as long as it is referred to."""

    @property
    def name(self) -> str:
        """The name of the pinned file."""
        ...


class PosixPin:
    """A pin of a file in a folder; it lasts as long as the object.

    Raises
    ------
    FileNotFoundError : there is no such file any more.
    """

    __slots__ = ("_fd", "name")

    def __init__(self, folder: Path, name: str) -> None:
        self._fd, self.name = -1, name
        path = folder / name
        with translated(str(path), folder):
            self._fd = opened(path, os.O_RDONLY)
            _shared(self._fd, folder)  # waits while it is being removed, no longer
            os.lstat(path)  # is it there still?

    @property
    def file(self) -> int:
        """Its descriptor, to read."""
        return self._fd

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    __del__ = destructor(_close)


@contextmanager
def unpinned(folder: Path, names: Sequence[str]) -> Iterator[bool]:
    """True while no process pins one of these files, nor can; never waits. A file that is absent is not pinned."""
    descriptors: list[int] = []
    try:
        free = True
        for name in names:
            with suppress(FileNotFoundError), translated(str(folder / name), folder):
                descriptors.append(_lockable(folder / name))
                if not _exclusive(descriptors[-1], folder):
                    free = False
                    break
        yield free
    finally:
        _release(descriptors)


@contextmanager
def sweeping(folder: Path) -> Iterator[bool]:
    """True while no other process sweeps the folder, nor can, and no gdb before pins has it open; never waits."""
    path = folder / READERS_LOCK
    descriptors: list[int] = []
    try:
        with translated(str(path), folder):
            descriptors.append(opened(path, os.O_RDWR | os.O_CREAT))
            alone = _exclusive(descriptors[-1], folder)
        yield alone
    finally:
        _release(descriptors)


def wait_for_sweeper(folder: Path) -> None:
    """Return when no process sweeps the folder."""
    path = folder / READERS_LOCK
    with suppress(FileNotFoundError), translated(str(path), folder):
        fd = opened(path, os.O_RDONLY)
        try:
            waiting.flock(fd, fcntl.LOCK_SH)
        finally:
            unlock(fd)


def _lockable(path: Path) -> int:
    """A descriptor for an exclusive lock: on NFS only one that may write gets it. Nothing is written to it."""
    try:
        return opened(path, os.O_RDWR)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ETXTBSY):
            raise
        return opened(path, os.O_RDONLY)


def _shared(fd: int, folder: Path) -> None:
    """Take a shared lock; where there are none, say once that nothing is kept from being swept, and go on."""
    try:
        waiting.flock(fd, fcntl.LOCK_SH)
    except OSError as error:
        if error.errno not in (*NO_LOCKS, errno.EBADF):
            raise
        _say(
            folder,
            "its file system has no locks (%s): a writer on another machine may remove files that are read here",
            error,
        )


def _exclusive(fd: int, folder: Path) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (*NO_LOCKS, errno.EBADF):
            raise
        _say(folder, "old files stay in it, since its file system locks none of them (%s)", error)
        return False
    return True


def _say(folder: Path, what: str, error: OSError) -> None:
    """Warn of the locks of a store's folder, once in a process."""
    if folder not in _said:
        _said.add(folder)
        where = "Copy the store to a local disk, or use it by one program at a time."
        _log.warning(f"the store %s: {what}. {where}", folder, error.strerror)


def _release(descriptors: list[int]) -> None:
    for fd in descriptors:
        unlock(fd)


def unlock(fd: int) -> None:
    """Give up the lock of a file that this process has locked, and close it. Closing alone would leave it locked for as
    long as a child lives that was forked meanwhile: the lock is of the open file, which both have."""
    with suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)


def holder(content: bytes) -> str:
    """The holder of a lock, by what it holds."""
    text = content.decode("ascii", "replace").strip()
    if text == str(os.getpid()):
        return "Another Database of this process"
    return f"Process {text}" if text.isdigit() else "Another process"
