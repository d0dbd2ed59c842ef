"""What Python has no operator for, of the bits of 64-bit numbers and of doubles: in compiled functions each is one
instruction."""

from __future__ import annotations

import math
from collections.abc import Callable

_ALL = (1 << 64) - 1


def trailing_zeros(value: int) -> int:
    """How many bits below the lowest 1; 64 of a 0."""
    value &= _ALL
    return (value & -value).bit_length() - 1 if value else 64


def bit_length(value: int) -> int:
    """The bits that a number needs, taken as unsigned: 0 .. 64."""
    return (value & _ALL).bit_length()


def shifted(value: int, by: int) -> int:
    """The number, taken as unsigned, shifted right by 0 .. 63 bits."""
    found = (value & _ALL) >> by
    return found - (1 << 64) if found >> 63 else found


def ones(value: int) -> int:
    """How many of its 64 bits are 1."""
    return (value & _ALL).bit_count()


def square_root(value: float) -> float:
    """Of a double that is not negative."""
    return math.sqrt(value)


BITS: set[Callable[..., object]] = {trailing_zeros, bit_length, shifted, ones}
