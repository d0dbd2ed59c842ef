"""Large arrays that are gone from memory when they are dropped.

What NumPy gives back stays with malloc, in pieces between what is still used, and one heap for each thread: of an
import with a budget that was a third of its memory. Such an array is a map of its own instead; that costs page faults,
so it is for what stays a while.
"""

from __future__ import annotations

import mmap
from contextlib import suppress
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Item = TypeVar("Item", bound=np.generic)

_LARGE = 1 << 20  # bytes that are worth a map
_HUGE = 1 << 21  # bytes that fill a large page


def unset(count: int, dtype: type[Item]) -> npt.NDArray[Item]:
    """As `np.empty`."""
    size = count * np.dtype(dtype).itemsize
    if size < _LARGE:
        return np.empty(count, dtype)
    huge = size >= 2 * _HUGE and hasattr(mmap, "MADV_HUGEPAGE")
    whole = (
        -(-size // _HUGE) * _HUGE if huge else size
    )  # else Linux would not begin it where a large page does
    block = mmap.mmap(-1, whole, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if huge:
        with suppress(OSError):  # a kernel without them
            block.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(block, dtype, count)


def joined(arrays: list[npt.NDArray[Item]], dtype: type[Item]) -> npt.NDArray[Item]:
    """As `np.concatenate`, of one dimension."""
    out = unset(sum(map(len, arrays)), dtype)
    return np.concatenate(arrays, out=out) if arrays else out
