"""The checksums of files: which a file has, and that one of either kind differs from that of all other bytes."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from blake3 import blake3

from gdb.storage.disk import checksum
from gdb.storage.disk.checksum import LARGE, FileHasher, has_checksum, hasher_like, hasher_of


def content(length: int) -> bytes:
    return np.random.default_rng(length).bytes(length)


def whole(hasher: FileHasher, data: bytes) -> str:
    for begin in range(0, len(data), 300_001):
        hasher.update(data[begin : begin + 300_001])
    return hasher.hexdigest()


@pytest.mark.parametrize("length", [0, 1, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE])
def test_a_file_has_the_checksum_of_its_length(length: int) -> None:
    data = content(length)
    small = hashlib.blake2b(data, digest_size=16).hexdigest()
    wanted = blake3(data).hexdigest() if length >= LARGE else small
    assert whole(hasher_of(length), data) == whole(hasher_like(wanted), data) == wanted
    assert has_checksum(data, wanted)
    assert has_checksum(data, small)  # as an older gdb wrote it, whatever its length
    assert has_checksum(data, blake3(data).hexdigest())


def test_the_test_vectors() -> None:
    """The first bytes of those of BLAKE3's authors, of 0 and 1 bytes (0x00), and RFC 7693's way to write BLAKE2b."""
    large = checksum.LARGE_DIGITS
    for data, begins in ((b"", "af1349b9f5f9a1a6"), (b"\0", "2d3adedff11b61f1")):
        assert whole(hasher_like("0" * large), data).startswith(begins)
    assert whole(hasher_like("0" * 32), b"") == "cae66941d9efbd404e4d88758ea67670"


@pytest.mark.parametrize("length", [5, LARGE + 5])
def test_any_other_byte_is_another_checksum(length: int) -> None:
    data = bytearray(content(length))
    pinned = whole(hasher_of(length), bytes(data))
    for at in (0, length // 2, length - 1):
        data[at] ^= 1
        assert not has_checksum(data, pinned)
        data[at] ^= 1
    assert has_checksum(data, pinned)
    assert not has_checksum(data[:-1], pinned)
    assert not has_checksum(data, pinned[:-1] + ("0" if pinned[-1] != "0" else "1"))
