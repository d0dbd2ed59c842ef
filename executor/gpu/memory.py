"""Device memory: copies of host arrays, the long-lived ones kept from query to query.

Everything is a plain allocation from CuPy's pool. Managed memory is never used: a program that asks for more of it than
the card has can hang the GPU.
"""

from __future__ import annotations

import threading
import weakref
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gdb.errors import DeviceError
from gdb.executor.gpu.device import free_bytes

HostArray = npt.NDArray[np.generic]


class Buffer(Protocol):
    """What is used of a device array's memory."""

    ptr: int


class DeviceArray(Protocol):
    """What is used of a `cupy.ndarray`."""

    data: Buffer
    nbytes: int

    def set(self, values: HostArray) -> None: ...


def upload(array: HostArray) -> DeviceArray:
    """A copy of a host array on the current device."""
    import cupy

    copy: DeviceArray = cupy.asarray(np.ascontiguousarray(array))
    return copy


def download(array: DeviceArray, rows: int | None = None) -> HostArray:
    """A device array, or its first rows, as a host array."""
    import cupy

    found: HostArray = cupy.asnumpy(array if rows is None else array[:rows])  # type: ignore[index]
    return found


def empty(shape: tuple[int, ...], dtype: type[np.generic]) -> DeviceArray:
    """An array on the current device; its content is whatever lay there."""
    import cupy

    array: DeviceArray = cupy.empty(shape, dtype)
    return array


class Residents:
    """Device copies of host arrays, each kept as long as its host array lives.

    The host arrays of a partition belong to its `Adjacency`, which the snapshot keeps; when that goes, they go, and
    their copies with them. A slotted dataclass cannot be watched by a weak reference, an array can.
    """

    def __init__(self) -> None:
        self._copies: dict[tuple[int, int], tuple[weakref.ref[HostArray], DeviceArray]] = {}
        self._lock = threading.RLock()  # a collection inside may call `_drop`

    def copy_of(self, array: HostArray, ordinal: int) -> DeviceArray:
        """The copy of `array` on device `ordinal`, which must be current."""
        key = (ordinal, id(array))
        with self._lock:
            known = self._copies.get(key)
            if known is not None and known[0]() is array:
                return known[1]
            copy = upload(array)
            self._copies[key] = (weakref.ref(array, lambda _: self._drop(key)), copy)
            return copy

    def has(self, array: HostArray, ordinal: int) -> bool:
        known = self._copies.get((ordinal, id(array)))
        return known is not None and known[0]() is array

    def forget(self, ordinal: int) -> None:
        """Drop all copies on a device; queries that run keep theirs until they end."""
        with self._lock:
            for key in [k for k in self._copies if k[0] == ordinal]:
                del self._copies[key]

    def _drop(self, key: tuple[int, int]) -> None:
        with self._lock:
            known = self._copies.get(key)
            if known is not None and known[0]() is None:
                del self._copies[key]


RESIDENTS = Residents()


def make_room(needed: int, lasting: list[HostArray], ordinal: int) -> int:
    """Free bytes of device `ordinal` beside the `needed` bytes of a query; `lasting` of them may be there already.

    Raises
    ------
    DeviceError : not even dropping the copies of other queries' partitions makes room.
    """
    missing = needed - sum(a.nbytes for a in lasting if RESIDENTS.has(a, ordinal))
    free = free_bytes(ordinal)
    if missing > free:
        RESIDENTS.forget(ordinal)
        missing, free = needed, free_bytes(ordinal)
    if missing > free:
        raise DeviceError(
            f"The query needs {needed:,} bytes on GPU {ordinal}, which has {free:,} free.",
            'Use device="cpu".',
        )
    return free - missing
