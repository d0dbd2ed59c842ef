"""Errors of the operating system, as a user of a store is told of them."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from gdb.errors import StoreError, StorePermissionError


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn errors of the operating system into ours; FileNotFoundError passes."""
    try:
        yield
    except (StoreError, FileNotFoundError):
        raise
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise StorePermissionError(
                f"The operating system refuses access to {what}: {error.strerror}.",
                "Check its owner and permissions, or open the store with read_only=True.",
            ) from error
        raise StoreError(
            f"The operating system failed on {what}: {error.strerror}.",
            "Check the disk and its free space.",
        ) from error
