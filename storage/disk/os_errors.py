"""Errors of the operating system, as they are reported to a user of a store."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from gdb.errors import GdbError, StoreError, StorePermissionError, no_more_memory

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)  # of a file system that has none
DISK = "Check the disk and its free space."
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ESTALE)


def gone(folder: Path) -> StoreError | None:
    """The error for a store's folder that is there no more; None where it is."""
    if os.path.isdir(folder):
        return None
    return StoreError(
        f"The folder {folder} of the store is gone: it was deleted, renamed or unmounted.",
        "Put it back, or close the store and open it where it is now.",
    )


class translated:  # lower case because it is used in `with`, like a function
    """Turns errors of the operating system into ours; FileNotFoundError passes, unless the store's folder is gone.

    what : the file, for the message. folder : that of the store, where the file is in one. One may be used again.
    """

    __slots__ = ("_folder", "_what")

    def __init__(self, what: str, folder: Path | None = None) -> None:
        self._what, self._folder = what, folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        if error is not None and isinstance(error, OSError):
            self.raised(error)

    def raised(self, error: OSError) -> None:
        """Raise what an error is turned into; nothing where it passes. For what is called at each commit, where `with`
        takes as long as the system call."""
        if isinstance(error, GdbError):  # of ours, as QueryTimeout
            return
        if error.errno in _GONE and self._folder is not None and (lost := gone(self._folder)):
            raise lost from error
        if isinstance(error, FileNotFoundError):
            return
        if error.errno in NO_LOCKS:
            raise StoreError(
                f"The file system of {self._what} has no locks ({error.strerror}): nothing keeps two writers apart.",
                "Copy the store to a local disk to write to it; here it can be read.",
            ) from error
        if error.errno == errno.ENOMEM:
            raise no_more_memory() from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise StorePermissionError(
                f"The operating system refuses access to {self._what}: {error.strerror}.",
                "Check its owner and permissions, or open the store with read_only=True.",
            ) from error
        raise StoreError(
            f"The operating system failed on {self._what}: {error.strerror}.",
            DISK,
        ) from error
