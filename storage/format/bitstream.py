"""Streams of bits in arrays of 64-bit words, least significant bits first, for compiled packers and unpackers.

An unpacker never believes the bits: it reads a word only where `at < end`, and one word more lies behind every end.
If the bits lead it beyond that, it gives up (-1), and `gdb.storage.format.segment` reports that the file is damaged.
"""

from __future__ import annotations

from gdb.base.machine.bits import bit_length, shifted, trailing_zeros
from gdb.base.machine.compile import compiled, inlined
from gdb.base.machine.memory import load_i64, store_i64

__all__ = ["bit_length", "bits", "put", "rice", "shifted", "window"]


@inlined
def window(words: int, at: int) -> int:
    """The 64 bits from bit `at` on; reads two words."""
    word, shift = at >> 6, at & 63
    return shifted(load_i64(words, word), shift) | (load_i64(words, word + 1) << 1 << (63 - shift))


@inlined
def bits(words: int, at: int, count: int) -> int:
    """The number in `count` bits, 0 .. 64."""
    if count == 0:
        return 0
    return window(words, at) & shifted(-1, 64 - count)


@compiled
def _long_rice(words: int, at: int, end: int, width: int) -> tuple[int, int]:
    """As `rice`, for a number that is not within one window."""
    zeros = 0
    while at < end:
        seen = window(words, at)
        if seen != 0:
            here = trailing_zeros(seen)
            at += here + 1
            zeros += here
            if zeros >> (62 - width) != 0 or at + width > end:
                return 0, -1
            if width == 0:
                return zeros, at
            return zeros << width | bits(words, at, width), at + width
        at += 64
        zeros += 64
    return 0, -1


@inlined
def rice(words: int, at: int, end: int, width: int) -> tuple[int, int]:
    """A number of Golomb and Rice with 0 .. 56 low bits, below 2^62, and where the next one begins; (0, -1) where the
    stream does not hold one.

    So many zeros as the number >> width, a one, and the low bits.
    Source: Rice, Some practical universal noiseless coding techniques, JPL Publication 79-22, 1979.
    """
    if at >= end:
        return 0, -1
    seen = window(words, at)
    zeros = trailing_zeros(seen)
    if zeros + width < 62:
        low = shifted(seen, zeros + 1) & ((1 << width) - 1)
        return zeros << width | low, at + zeros + 1 + width
    return _long_rice(words, at, end, width)


@inlined
def put(words: int, at: int, value: int, count: int) -> int:
    """Write a number into `count` bits, 0 .. 64, that are 0 so far; where the next one begins."""
    if count == 0:
        return at
    word, shift = at >> 6, at & 63
    store_i64(words, word, load_i64(words, word) | value << shift)
    if shift + count > 64:
        store_i64(words, word + 1, load_i64(words, word + 1) | shifted(value, 64 - shift))
    return at + count
