"""The blocks of device memory that warps work in.

Large ones are allocated beside CuPy's pool. What the pool is given back it cuts for small arrays, and as long as one of
these is there the block is neither free nor large: seen with one of 87 GB, on a GPU of 140.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from gdb.base import forks, waiting

from . import device
from .device import free_bytes

if TYPE_CHECKING:
    from .memory import DeviceArray

ALONE = 64 << 20  # bytes of a block from which it is allocated beside the pool
MOST_KEPT = 256 << 20
"""Bytes of blocks that wait on a device beside the last, and as many of stages (`memory.Kept`)."""


def new_block(size: int) -> DeviceArray:
    """Memory of the current device; its content is whatever lay there.

    Raises
    ------
    DeviceFull : there is not so much.
    """
    import cupy

    alone = size >= ALONE
    if alone and cupy.cuda.runtime.memGetInfo()[0] < size:
        cupy.get_default_memory_pool().free_all_blocks()
    with device.allocating(), cupy.cuda.using_allocator() if alone else nullcontext():
        block: DeviceArray = cupy.empty(size, np.uint8)
    return block


class Arenas:
    """Device memory that the warps of a stage work in while it runs: a block for each run. What one run has left the
    next one takes over, of whatever stage; so a stage that waits holds little.

    `MOST_KEPT` bytes of blocks wait on a device, the last one in any case.
    """

    def __init__(self) -> None:
        # of each device, the one that was left last at the end, with the number of the stage that left it
        self._waiting: dict[int, list[tuple[DeviceArray, int]]] = {}
        self._lock = waiting.Lock()
        forks.watch(self)

    def forked(self) -> None:
        """Forget the parent's blocks without freeing them: a child has no CUDA context."""
        forks.leak(self._waiting)
        self._waiting = {}

    def take(self, size: int, user: int, ordinal: int) -> tuple[DeviceArray, bool]:
        """A block of at least `size` bytes of device `ordinal`, which must be current; and whether it is as the same
        stage, `user`, has left it."""
        found = self._fitting(size, user, ordinal)
        if found is not None:
            return found[0], found[1] == user
        if free_bytes(ordinal) < size:
            self.forget(ordinal)
        return new_block(size), False

    def _fitting(self, size: int, user: int, ordinal: int) -> tuple[DeviceArray, int] | None:
        """Take out the best block that is large enough. A function of its own, since a reference to the list keeps the
        blocks that are let go of."""
        with self._lock:
            blocks = self._waiting.get(ordinal, [])
            large = [one for one in blocks if one[0].nbytes >= size]
            found = min(large, key=lambda one: (one[1] != user, one[0].nbytes), default=None)
            if found is not None:
                blocks[:] = [one for one in blocks if one is not found]
            return found

    def give(self, block: DeviceArray, user: int, ordinal: int) -> None:
        """A block in which nothing runs any more."""
        with self._lock:
            blocks = self._waiting.setdefault(ordinal, [])
            blocks.append((block, user))
            while len(blocks) > 1 and sum(one.nbytes for one, _ in blocks) > MOST_KEPT:
                del blocks[0]

    def forget(self, ordinal: int) -> None:
        """Let go of all blocks of a device that wait."""
        with self._lock:
            self._waiting.pop(ordinal, None)

    def bytes(self, ordinal: int) -> int:
        """Bytes that wait on a device."""
        return sum(one.nbytes for one, _ in self._waiting.get(ordinal, []))
