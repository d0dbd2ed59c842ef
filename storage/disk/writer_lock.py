"""The writer's lock: an exclusive `flock` on `writer.lock` in a store's folder, which holds one writer at a time.

The lock ends with its process, and a fork shares it: a child gives up its share by closing the file, which unlocks
nothing. The file stays open between two writes, as long as it is the one under its name: to open and close it costs as
much as all else of the lock. docs/FORMAT.md, *Locks*, says how it meets the sweeper's lock (`pins`).
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from gdb.base import waiting
from gdb.errors import StoreLocked

from . import pins
from .opening import opened
from .os_errors import gone, translated

WRITER_LOCK = "writer.lock"
_PID_BYTES = 20


class WriterLock:
    """The writer's lock of one folder, as one process takes it.

    Parameters
    ----------
    folder : of the store.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, str(folder / WRITER_LOCK)
        self._file = -1  # the open file, its identity, and the process that opened it
        self._identity, self._opener = (0, 0), 0
        self._held = False
        self._translated = translated(self._path, folder)
        # of the file's number, which is another file's as soon as it is closed: one thread may close a store in which
        # another begins to write
        self._guard = waiting.Lock()

    def take(self, *, patient: bool) -> None:
        """Take the lock. patient : wait for a process that only sweeps, at most twice.

        Raises
        ------
        StoreLocked : another process writes. NotAStore : the store was removed meanwhile.
        """
        for again in (patient, patient, False):
            with self._guard:
                if self._take(again):
                    return
            pins.wait_for_sweeper(self._folder)

    def _take(self, again: bool) -> bool:
        """Take the lock; where another process has it, False if it is to be tried `again`."""
        with self._translated:
            kept, own = self._file >= 0, os.getpid()
            if (
                kept and own != self._opener
            ):  # of a fork that went past Python: it would share the lock
                self.forked()
                kept = False
            if not kept:
                self._file, self._opener = opened(self._path, os.O_RDWR | os.O_CREAT), own
            fd = self._file
            try:
                if not kept:
                    found = os.fstat(fd)
                    self._identity = found.st_dev, found.st_ino
                # flock, not lockf: a lockf lock drops when any descriptor of the file closes.
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                names = self._names()
                if names:
                    text = b"%-*d" % (_PID_BYTES, own)
                    # what is written, the next sync waits for; and a file with other names may be anything's:
                    # that of a copy made by hard links (`cp -al`), which shares this lock, or no lock at all
                    if os.pread(fd, _PID_BYTES, 0) != text and names == 1:
                        os.pwrite(fd, text, 0)
                elif not kept:  # the store was removed meanwhile
                    raise gone(self._folder) or BlockingIOError
            except BlockingIOError:
                holder = pins.holder(os.pread(fd, _PID_BYTES, 0))
                self._let_go()
                if again:
                    return False
                raise StoreLocked(
                    f"{holder} is writing to the store {self._folder}.",
                    "Wait until it has finished, or end it.",
                ) from None
            except BaseException:
                self._let_go()
                raise
            if not names:  # another file has taken its place since the last write
                self._let_go()
                return self._take(again)
        self._held = True
        return True

    def _names(self) -> int:
        """How many names the open file has; 0 where the lock's is not one of them: then it locks nothing."""
        try:
            found = os.stat(self._path, follow_symlinks=False)
        except FileNotFoundError:
            return 0
        return found.st_nlink if (found.st_dev, found.st_ino) == self._identity else 0

    def free(self) -> None:
        """Release the lock, if it is held."""
        with self._guard:
            if self._held:
                self._held = False
                with suppress(OSError):
                    fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Release the lock, and close its file."""
        with self._guard:
            self._let_go()

    def _let_go(self) -> None:
        self._held = False
        if self._file >= 0:
            file, self._file = self._file, -1
            pins.unlock(file)

    def forked(self) -> None:
        """In a child: give up its share, which leaves the parent's lock as it is."""
        self._held = False
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
