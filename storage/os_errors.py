"""Errors of the operating system, as a user of a store is told of them."""

from __future__ import annotations

import errno
from types import TracebackType

from gdb.errors import StoreError, StorePermissionError


class translated:  # stands behind `with`, where a function would
    """Turns errors of the operating system into ours; FileNotFoundError passes.

    what : the file, for the message.
    """

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not isinstance(error, OSError) or isinstance(error, (StoreError, FileNotFoundError)):
            return
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise StorePermissionError(
                f"The operating system refuses access to {self._what}: {error.strerror}.",
                "Check its owner and permissions, or open the store with read_only=True.",
            ) from error
        raise StoreError(
            f"The operating system failed on {self._what}: {error.strerror}.",
            "Check the disk and its free space.",
        ) from error
