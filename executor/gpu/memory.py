"""Device memory: copies of host arrays, the long-lived ones kept from query to query.

Everything is a plain allocation from CuPy's pool. Managed memory is never used: a program that asks for more of it than
the card has can hang the GPU.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gdb.errors import DeviceError
from gdb.executor.gpu.device import free_bytes

HostArray = npt.NDArray[np.generic]
_Key = tuple[int, int, str]  # device, host array, what was made of it ("": a copy)


class Buffer(Protocol):
    """What is used of a device array's memory."""

    ptr: int

    def memset_async(self, value: int, size: int) -> None: ...


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


def empty(shape: tuple[int, ...], dtype: type[np.generic], *, zero: bool = False) -> DeviceArray:
    """An array on the current device; unless `zero`, its content is whatever lay there."""
    import cupy

    array: DeviceArray = (cupy.zeros if zero else cupy.empty)(shape, dtype)
    return array


class Clock:
    """Measures the device's time from here to `stop`, by events of the current stream."""

    def __init__(self) -> None:
        import cupy

        self._elapsed = cupy.cuda.get_elapsed_time
        self._begin, self._end = cupy.cuda.Event(), cupy.cuda.Event()
        self._begin.record()

    def stop(self) -> None:
        self._end.record()

    def seconds(self) -> float:
        """Seconds between the two; waits for the end."""
        self._end.synchronize()
        return float(self._elapsed(self._begin, self._end)) / 1e3


class Residents:
    """Device copies of host arrays, each kept as long as its host array lives.

    The host arrays of a partition belong to its `Adjacency`, which the snapshot keeps; when that goes, they go, and
    their copies with them. A slotted dataclass cannot be watched by a weak reference, an array can.
    """

    def __init__(self) -> None:
        self._copies: dict[_Key, tuple[weakref.ref[HostArray], DeviceArray]] = {}
        self._lock = threading.RLock()  # a collection inside may call `_drop`

    def copy_of(self, array: HostArray, ordinal: int) -> DeviceArray:
        """The copy of `array` on device `ordinal`, which must be current."""
        return self.made_of(array, ordinal, "", lambda: upload(array))

    def made_of(
        self, array: HostArray, ordinal: int, what: str, make: Callable[[], DeviceArray]
    ) -> DeviceArray:
        """What `make` makes of `array` on device `ordinal`, which must be current; made once."""
        key = (ordinal, id(array), what)
        with self._lock:
            known = self._copies.get(key)
            if known is not None and known[0]() is array:
                return known[1]
            made = make()
            self._copies[key] = (weakref.ref(array, lambda _: self._drop(key)), made)
            return made

    def has(self, array: HostArray, ordinal: int) -> bool:
        known = self._copies.get((ordinal, id(array), ""))
        return known is not None and known[0]() is array

    def forget(self, ordinal: int) -> None:
        """Drop all copies on a device; queries that run keep theirs until they end."""
        with self._lock:
            for key in [k for k in self._copies if k[0] == ordinal]:
                del self._copies[key]

    def _drop(self, key: _Key) -> None:
        with self._lock:
            known = self._copies.get(key)
            if known is not None and known[0]() is None:
                del self._copies[key]


class Kept:
    """Stages that wait on a device to run again, each in the list of its prepared stage; all can be let go."""

    def __init__(self) -> None:
        self._lists: weakref.WeakValueDictionary[int, _Waiting] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def keep(self, idle: list[object], stage: object) -> None:
        """Put a stage that has ended into a list."""
        waiting = _Waiting(stage)
        with self._lock:
            self._lists[id(waiting)] = waiting
        idle.append(waiting)

    def taken(self, idle: list[object]) -> Iterator[object]:
        """Stages of a list, which are in it no longer."""
        while idle:
            try:
                waiting = idle.pop()
            except IndexError:  # another thread took it
                return
            if isinstance(waiting, _Waiting):
                with self._lock:
                    stage, waiting.stage = waiting.stage, None
                if stage is not None:
                    yield stage

    def forget(self) -> None:
        """Let all waiting stages go."""
        with self._lock:
            for waiting in list(self._lists.values()):
                waiting.stage = None


class _Waiting:
    def __init__(self, stage: object) -> None:
        self.stage: object | None = stage


RESIDENTS = Residents()
KEPT = Kept()


def make_room(needed: int, lasting: list[HostArray], ordinal: int) -> int:
    """Free bytes of device `ordinal` beside the `needed` bytes of a query; `lasting` of them may be there already.

    Raises
    ------
    DeviceError : not even dropping the copies of other queries' partitions makes room.
    """
    missing = needed - sum(a.nbytes for a in lasting if RESIDENTS.has(a, ordinal))
    free = free_bytes(ordinal)
    if missing > free:
        KEPT.forget()
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
