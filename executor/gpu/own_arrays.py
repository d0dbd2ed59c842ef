"""Arrays of one stage alone, in the device's memory or in page-locked memory of the host."""

from __future__ import annotations

import weakref

import numpy as np

from ..work.scheduler import Budget
from . import memory, pinned, residency
from .memory import Block, DeviceArray, HostArray
from .residency import Room


class Borrowed:
    """Page-locked memory of one stage, which others have when that is gone; accounted for as `what`."""

    def __init__(self, size: int, budget: Budget, what: str) -> None:
        budget.take(memory.locked_bytes(size), what)
        self.block = memory.LOCKED.take(size)
        self._used = 0
        weakref.finalize(self, memory.LOCKED.give, self.block).atexit = False

    def put(self, array: HostArray) -> int:
        """Address of a copy of an array, behind what was put before; first those of larger items."""
        at = self._used
        pinned.fill(self.block, array, at)
        self._used += array.nbytes
        return self.block.address + at


class Own:
    """Arrays of one stage alone: on its device where its account has room for them, else in page-locked memory, which
    the kernels read in place."""

    def __init__(self, budget: Budget, room: Room) -> None:
        self._budget, self._room = budget, room
        self.kept: list[DeviceArray | Borrowed] = []
        self.moved_bytes = self.device_bytes = 0

    def put(self, array: HostArray, what: str) -> int:
        """Address of a copy of a host array."""
        if array.nbytes <= self._most():
            self._take(array.nbytes, what)
            self.moved_bytes += array.nbytes
            copy = pinned.upload(array)
            self.kept.append(copy)
            return copy.data.ptr
        return self._borrow(array.nbytes, what).put(array)

    def zeros(self, count: int, dtype: type[np.generic], what: str) -> Shared:
        """An array that kernels write; its content is whatever lay there."""
        size = count * np.dtype(dtype).itemsize
        if size <= self._most():
            self._take(size, what)
            array = memory.empty((count,), dtype)
            self.kept.append(array)
            return Shared(array.data.ptr, size, array, None)
        return self.locked(size, what)

    def locked(self, size: int, what: str) -> Shared:
        """The same in page-locked memory."""
        block = self._borrow(size, what).block
        return Shared(block.address, size, None, block)

    def _most(self) -> int:
        """Bytes of one array on the device."""
        return self._room.left // (2 * residency.OWN_SHARE)

    def _take(self, size: int, what: str) -> None:
        self._room.take(size, what)
        self.device_bytes += size

    def _borrow(self, size: int, what: str) -> Borrowed:
        found = Borrowed(size, self._budget, f"{what} in page-locked memory")
        self.kept.append(found)
        return found


class Shared:
    """An array that kernels write and the host reads when they have ended, in one memory or the other."""

    __slots__ = ("_array", "_block", "address", "nbytes")

    def __init__(
        self, address: int, nbytes: int, array: DeviceArray | None, block: Block | None
    ) -> None:
        self.address, self.nbytes = address, nbytes
        self._array, self._block = array, block

    def clear(self) -> None:
        """Fill it with zeros, when the device's stream comes to it."""
        if self._array is not None:
            self._array.data.memset_async(0, self.nbytes)
        elif (
            self._block is not None
        ):  # nothing runs that writes it: launches begin one after another
            self._block.array((self.nbytes,), np.uint8)[:] = 0

    def read(self, dtype: type[np.generic]) -> HostArray:
        """Its content, a copy."""
        if self._array is not None:
            return memory.download(self._array).view(dtype)
        assert self._block is not None
        size = self.nbytes // np.dtype(dtype).itemsize
        return self._block.array((size,), dtype).copy()
