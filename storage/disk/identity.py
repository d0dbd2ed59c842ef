"""The identity of the file that a path names, read without its times.

Since Linux 6.13 a file whose times were read gets finer ones at its next change, and that change of the inode is one
more thing that a sync waits for: on ext4 a third of a small commit. `os.stat` always reads the times; `statx` reads
only the fields in its mask.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

_AT_FDCWD = -100
_NOFOLLOW, _EMPTY_PATH = 0x100, 0x1000  # AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH
_WANTED = 0x100 | 0x200  # STATX_INO, STATX_SIZE
_LINKS = 0x4  # STATX_NLINK
_BYTES = 256  # of struct statx
_NUMBERS = struct.Struct("<32xQQ88xII")  # inode, size; major and minor number of the device
_COUNT = struct.Struct("<16xI")  # of links


Identity: TypeAlias = tuple[int, int, int]
"""Major and minor number of the device, inode: of two files that are there at once they differ."""


def _statx() -> Callable[..., int] | None:
    """The function of the C library; None where it has none."""
    try:
        found = ctypes.CDLL(None, use_errno=True).statx
    except (OSError, AttributeError):
        return None
    return (
        found  # without the types of its arguments: those that come again are objects of C already
    )


_call = _statx()


class _Answers(threading.local):
    """What `statx` writes into, in each thread, and the arguments for the path that it looked at last: to make them
    takes a third as long as the call."""

    def __init__(self) -> None:
        self.buffer = ctypes.create_string_buffer(_BYTES)
        self.latest: tuple[str | bytes, Sequence[object]] = b"", ()

    def arguments(self, path: str | bytes) -> Sequence[object]:
        """The arguments for a path."""
        named, flags = ctypes.c_char_p(os.fsencode(path)), ctypes.c_int(_NOFOLLOW)
        made = ctypes.c_int(_AT_FDCWD), named, flags, ctypes.c_uint(_WANTED), self.buffer
        self.latest = path, made
        return made


_answers = _Answers()


def identity(path: str | bytes) -> tuple[Identity, int]:
    """Which file, or symbolic link, a path names, and its length in bytes.

    Raises
    ------
    OSError : as `os.lstat`.
    """
    if _call is None:
        found = os.lstat(path)
        return identity_in(found), found.st_size
    answers = _answers
    known, arguments = answers.latest
    if known is not path:
        arguments = answers.arguments(path)
    if _call(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    inode, size, major, minor = _NUMBERS.unpack_from(answers.buffer)
    return (major, minor, inode), size


def links(fd: int) -> int:
    """How many names an open file has.

    Raises
    ------
    OSError : as `os.fstat`.
    """
    if _call is None:
        return os.fstat(fd).st_nlink
    answer = _answers.buffer
    if _call(fd, b"", _EMPTY_PATH, _LINKS, answer):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    count: int = _COUNT.unpack_from(answer)[0]
    return count


def identity_in(status: os.stat_result) -> Identity:
    """The same, of a file whose status is known."""
    return os.major(status.st_dev), os.minor(status.st_dev), status.st_ino
