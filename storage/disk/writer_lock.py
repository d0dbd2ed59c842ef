"""The writer's lock: an exclusive `flock` on `writer.lock` in a store's folder, which holds one writer at a time.

The lock ends with its process, and a fork shares it: a child gives up its share by closing the file, which unlocks
nothing. docs/FORMAT.md, *Locks*, says how it meets the sweeper's lock (`pins`).
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

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
        self._folder = folder
        self._held: int | None = None

    def take(self, *, patient: bool) -> None:
        """Take the lock. patient : wait for a process that only sweeps, at most twice.

        Raises
        ------
        StoreLocked : another process writes. NotAStore : the store was removed meanwhile.
        """
        for again in (patient, patient, False):
            if self._take(again):
                return
            pins.wait_for_sweeper(self._folder)

    def _take(self, again: bool) -> bool:
        """Take the lock; where another process has it, False if it is to be tried `again`."""
        with translated(path := str(self._folder / WRITER_LOCK), self._folder):
            fd = opened(path, os.O_RDWR | os.O_CREAT)
            try:
                # flock, not lockf: a lockf lock drops when any descriptor of the file closes.
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not os.fstat(fd).st_nlink:  # the store was removed meanwhile: it locks nothing
                    raise gone(self._folder) or BlockingIOError
                own = str(os.getpid()).encode().ljust(_PID_BYTES)
                # what is written, the next sync waits for; and a file with other names may be anything's:
                # that of a copy made by hard links (`cp -al`), which shares this lock, or no lock at all
                if os.pread(fd, _PID_BYTES, 0) != own and os.fstat(fd).st_nlink == 1:
                    os.pwrite(fd, own, 0)
            except BlockingIOError:
                holder = pins.holder(os.pread(fd, _PID_BYTES, 0))
                os.close(fd)
                if again:
                    return False
                raise StoreLocked(
                    f"{holder} is writing to the store {self._folder}.",
                    "Wait until it has finished, or end it.",
                ) from None
            except BaseException:
                pins.unlock(fd)
                raise
        self._held = fd
        return True

    def free(self) -> None:
        """Release the lock, if it is held."""
        if self._held is not None:
            held, self._held = self._held, None
            pins.unlock(held)

    def forked(self) -> None:
        """In a child: give up its share, which leaves the parent's lock as it is."""
        if self._held is not None:
            os.close(self._held)
            self._held = None
