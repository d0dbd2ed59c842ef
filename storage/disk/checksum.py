"""The one checksum of the store: BLAKE2b with 128 bits over a whole file.

It is pinned in the manifest, never kept inside the file that it covers: a checksum inside the file
cannot distinguish an old but valid copy from the committed one, and a CRC over "body + its own CRC" is a
constant (design.md §2, *Known traps*).
"""

from __future__ import annotations

from typing import TypeAlias

from gdb.base import usage
from gdb.base.digests import blake2b

DIGEST_BYTES = 16
_PIECE = 8 << 20  # bytes between two looks at whether the query goes on: 10 ms

Buffer: TypeAlias = "bytes | bytearray | memoryview"  # an array gives its `.data`


def bytes_of(data: Buffer) -> memoryview:
    """A buffer of items of any size, as its bytes."""
    view = memoryview(data)
    return view.cast("B") if view.nbytes else memoryview(b"")


class Hasher:
    """A running checksum of a file that is being written."""

    __slots__ = ("_hash",)

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=DIGEST_BYTES)

    def update(self, data: Buffer) -> None:
        """Add the bytes that follow those before."""
        self._hash.update(data)

    def digest(self) -> bytes:
        """Of what it was given so far, 16 bytes; more may follow."""
        return self._hash.digest()

    def copy(self) -> Hasher:
        """Another that has been given the same."""
        other = Hasher.__new__(Hasher)
        other._hash = self._hash.copy()
        return other


def digest(data: Buffer) -> bytes:
    """The checksum of `data`, 16 bytes. About 1 GB/s, and other threads run meanwhile.

    Raises
    ------
    Cancelled, QueryTimeout : the query of this thread is to go no further.
    """
    hasher, view = Hasher(), memoryview(data).cast("B")
    for begin, end in usage.paced(len(view), _PIECE):
        hasher.update(view[begin:end])
    return hasher.digest()
