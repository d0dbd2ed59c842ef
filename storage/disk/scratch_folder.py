"""Folders of files that have names while work is in hand: what DuckDB lays down, copies of inputs.

A process that is killed leaves its folder behind. Each holds a file that its process keeps locked (`flock`, which ends
with the process, so that no process id has to be trusted), and a process that makes a folder removes those beside it
that are not locked.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from gdb.base import digests, forks
from gdb.base.closing import Closing, destructor
from gdb.base.once import PerProcess
from gdb.errors import CorruptStore, StoreError

from .opening import opened
from .os_errors import translated
from .pins import unlock

_PREFIX = "gdb-scratch-"
_LOCK = "lock"


class ScratchFolder(Closing):
    """A new folder inside another one, for this process alone; it goes with `close`.

    parent : None for the system's folder of temporary files.
    left : how many folders of processes that ended without removing theirs were beside it; they are gone.

    Raises
    ------
    StorePermissionError, StoreError : it cannot be made; the disk is full, for one.
    """

    def __init__(self, parent: Path | None = None) -> None:
        self._lock = -1
        forks.watch(self)
        parent = parent or Path(tempfile.gettempdir())
        self.left = _swept(parent)
        with translated(f"a temporary folder in {parent}"):
            while self._lock < 0:
                self.path = parent / f"{_PREFIX}{digests.token_hex(8)}"
                try:
                    self.path.mkdir(mode=0o700)
                except FileExistsError:
                    continue  # another process has drawn the same name
                self._lock = _locked(self.path)

    def close(self) -> None:
        """Remove it, with all that it holds. In a child that was forked it stays: it is its parent's."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            lock, self._lock = self._lock, -1
            unlock(lock)

    def forked(self) -> None:
        """A child must not remove the parent's folder, nor keep it locked."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    __del__ = destructor(close)


def _make_scratch() -> ScratchFolder | None:
    try:
        made = ScratchFolder()
    except (OSError, StoreError):  # OSError: the system has no such folder
        return None
    atexit.register(made.close)
    return made


_own = PerProcess(_make_scratch)


def of_process() -> Path | None:
    """A folder for this process and no other user, among the temporary files of the system; it goes with the process.
    None where none can be made."""
    found = _own.get()
    return None if found is None else found.path


def _swept(parent: Path) -> int:
    """Remove the folders in another one that no process holds; how many these were."""
    found = 0
    # what cannot be listed is not ours to clear
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if not entry.name.startswith(_PREFIX) or not entry.is_dir(follow_symlinks=False):
                continue
            if entry.stat(follow_symlinks=False).st_uid != os.geteuid():
                continue
            folder, lock = Path(entry.path), -1
            # a link or a pipe in the place of its lock: it is none of ours
            with suppress(CorruptStore):
                lock = _locked(folder)
            if lock >= 0:
                shutil.rmtree(folder, ignore_errors=True)
                unlock(lock)
                found += 1
    return found


def _locked(folder: Path) -> int:
    """The lock of a folder, as an open file; -1 where another process holds it, or has removed it meanwhile."""
    path = folder / _LOCK
    try:
        lock = opened(path, os.O_RDWR | os.O_CREAT, 0o600)
    except FileNotFoundError:
        return -1
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.lstat(path)):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        unlock(lock)
        raise
    unlock(lock)
    return -1
