"""The checksums of the store: BLAKE3 of large files, BLAKE2b of all else.

Both are pinned in the manifest, never kept inside the file that they cover: a checksum inside the file
cannot distinguish an old but valid copy from the committed one, and a CRC over "body + its own CRC" is a
constant (design.md §2, *Known traps*). Both are cryptographic, so that a checksum is as good as the bytes: a cache of
files names them by it (`content_cache`).

BLAKE3 computes its blocks side by side, 3.2 GB/s on a core that computes 0.8 of BLAKE2b: that took half of the time
before the first answer from a store of a gigabyte. Small files would gain nothing that could be seen, and keep a
checksum that an older gdb knows.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from gdb.base import usage
from gdb.base.digests import blake2b

DIGEST_BYTES = 16
LARGE = 1 << 20
"""Bytes from which on a file is large: 0.3 ms instead of 1.3."""
LARGE_DIGITS, SMALL_DIGITS = 64, 32
"""Hexadecimal digits of the checksum of a large file and of others, which distinguish them."""
PINNED = f"[0-9a-f]{{{SMALL_DIGITS}}}(?:[0-9a-f]{{{LARGE_DIGITS - SMALL_DIGITS}}})?"
"""The texts that may be a file's checksum, as a regular expression."""
_PIECE = 8 << 20  # bytes between two looks at whether the query goes on: 10 ms

Buffer: TypeAlias = "bytes | bytearray | memoryview"  # an array gives its `.data`


def bytes_of(data: Buffer) -> memoryview:
    """A buffer of items of any size, as its bytes."""
    view = memoryview(data)
    return view.cast("B") if view.nbytes else memoryview(b"")


class Hasher:
    """A running checksum of BLAKE2b."""

    __slots__ = ("_hash",)

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=DIGEST_BYTES)

    def update(self, data: Buffer) -> None:
        """Add the bytes that follow those before."""
        self._hash.update(data)

    def digest(self) -> bytes:
        """Of what it was given so far, 16 bytes; more may follow."""
        return self._hash.digest()

    def hexdigest(self) -> str:
        """The same as a text."""
        return self._hash.hexdigest()

    def copy(self) -> Hasher:
        """Another that has been given the same."""
        other = Hasher.__new__(Hasher)
        other._hash = self._hash.copy()
        return other


class FileHasher(Protocol):
    """A running checksum of a file, which the manifest pins as a text."""

    def update(self, data: Buffer, /) -> object:
        """Add the bytes that follow those before."""
        ...

    def hexdigest(self) -> str:
        """Of what it was given so far, as a text."""
        ...


def is_of_large(pinned: str) -> bool:
    """Whether a checksum, as a text, is that of a large file."""
    return len(pinned) == LARGE_DIGITS


def hasher_of(length: int) -> FileHasher:
    """For a new file of so many bytes."""
    return _large() if length >= LARGE else Hasher()


def hasher_like(pinned: str) -> FileHasher:
    """For a file whose checksum is to be compared with a text."""
    return _large() if is_of_large(pinned) else Hasher()


def has_checksum(data: Buffer, pinned: str) -> bool:
    """Whether bytes have the checksum that a text pins. Other threads run meanwhile.

    Raises
    ------
    Cancelled, QueryTimeout : the query of this thread is to go no further.
    """
    hasher = hasher_like(pinned)
    _add(hasher, data)
    return hasher.hexdigest() == pinned


def digest(data: Buffer) -> bytes:
    """The checksum of a manifest, 16 bytes. Raises as `has_checksum`."""
    hasher = Hasher()
    _add(hasher, data)
    return hasher.digest()


def _add(hasher: FileHasher, data: Buffer) -> None:
    """Add all of some bytes, and look in between whether the query goes on."""
    view = memoryview(data).cast("B")
    for begin, end in usage.paced(len(view), _PIECE):
        hasher.update(view[begin:end])


def _large() -> FileHasher:
    from blake3 import blake3  # no store of small files needs it

    return blake3()
