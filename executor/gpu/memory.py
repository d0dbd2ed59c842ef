"""Memory of the device: copies of host arrays, the long-lived ones kept from query to query; and page-locked memory of
the host, through which rows come back.

On the device everything is a plain allocation from CuPy's pool. Managed memory is never used: a program that allocates
more of it than the card has can hang the GPU.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from gdb.base import forks, waiting
from gdb.base.once import PerProcess
from gdb.errors import DeviceError
from gdb.records import dataclass

from . import device, locked_pages
from .arenas import MOST_KEPT as MOST_KEPT
from .arenas import Arenas as Arenas
from .device import free_bytes

HostArray = npt.NDArray[np.generic]
Scalar = TypeVar("Scalar", bound=np.generic)
_Key = tuple[int, int, str]  # device, host array, what was made of it ("": a copy)
MOST_LOCKED = 512 << 20  # bytes of page-locked memory that wait for the next query
LARGER = 4  # a block is used for what is smaller by up to one part in so many
_LEAST_LOCKED = 4096


class Buffer(Protocol):
    """What is used of a device array's memory."""

    ptr: int

    def __add__(self, offset: int) -> Buffer: ...

    def memset_async(self, value: int, size: int) -> None:
        """Set `size` bytes to a value, on the current stream."""
        ...


class DeviceArray(Protocol):
    """What is used of a `cupy.ndarray`."""

    data: Buffer
    nbytes: int
    shape: tuple[int, ...]

    @property
    def __cuda_array_interface__(self) -> Mapping[str, object]: ...

    def __dlpack__(self, *, stream: int | None = None) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


def upload(array: HostArray) -> DeviceArray:
    """A copy of a host array on the current device."""
    import cupy

    with device.allocating():
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

    with device.allocating():
        array: DeviceArray = (cupy.zeros if zero else cupy.empty)(shape, dtype)
    return array


def copy_between(to: int, source: int, size: int) -> None:
    """Copy bytes on the current device, when its stream comes to it."""
    from cupy.cuda import get_current_stream, runtime

    kind, stream = runtime.memcpyDeviceToDevice, get_current_stream().ptr
    runtime.memcpyAsync(to, source, size, kind, stream)


def to_device(to: int, source: int, size: int) -> Event:
    """Begin to copy bytes of page-locked memory to the current device, in its stream; the event of their end."""
    from cupy import cuda

    return _begin_copy(to, source, size, cuda.runtime.memcpyHostToDevice, cuda.get_current_stream())


def _begin_copy(to: int, source: int, size: int, kind: int, stream: CudaStream) -> Event:
    from cupy import cuda

    cuda.runtime.memcpyAsync(to, source, size, kind, stream.ptr)
    copied: Event = cuda.Event(block=True, disable_timing=True)
    copied.record(stream)
    return copied


class Link:
    """The current device, its stream and its link to the host, for any thread."""

    def __init__(self) -> None:
        from cupy import cuda

        self._ordinal, self._stream = cuda.Device().id, cuda.get_current_stream()

    def to_device(self, to: int, source: int, size: int) -> Event:
        """Begin to copy bytes of page-locked memory to the device; the event of their end."""
        from cupy.cuda import runtime

        return self._begin(to, source, size, runtime.memcpyHostToDevice)

    def to_host(self, to: int, source: int, size: int) -> Event:
        """As `to_device`, from the device to page-locked memory."""
        from cupy.cuda import runtime

        return self._begin(to, source, size, runtime.memcpyDeviceToHost)

    def _begin(self, to: int, source: int, size: int, kind: int) -> Event:
        from cupy import cuda

        with cuda.Device(self._ordinal):  # of this thread
            return _begin_copy(to, source, size, kind, self._stream)


def settle() -> None:
    """Wait until the current device's stream has come to its end."""
    from cupy.cuda import get_current_stream

    get_current_stream().synchronize()


class CudaStream(Protocol):
    """What is used of a `cupy.cuda.Stream`."""

    ptr: int


class Event(Protocol):
    """What is used of a `cupy.cuda.Event`."""

    def synchronize(self) -> None:
        """Wait until the device has reached the event."""
        ...

    def record(self, stream: object = None) -> None:
        """Put the event into a stream, by default the current one."""
        ...


class Copies:
    """A stream of device `ordinal` beside the one that kernels run on: what it copies goes on while they do."""

    def __init__(self, ordinal: int) -> None:
        import cupy

        with cupy.cuda.Device(ordinal):
            self._stream = cupy.cuda.Stream(non_blocking=True)

    def to_host(self, pieces: Iterator[tuple[int, int, int]]) -> Event:
        """Begin to copy pieces: address in page-locked memory, address on the device, bytes. The event of their end."""
        from cupy import cuda

        kind = cuda.runtime.memcpyDeviceToHost
        for to, source, size in pieces:
            cuda.runtime.memcpyAsync(to, source, size, kind, self._stream.ptr)
        # a waiting thread sleeps: others hand rows over meanwhile
        ended: Event = cuda.Event(block=True, disable_timing=True)
        self._stream.record(ended)
        return ended

    def settle(self) -> None:
        """Wait for all that was begun."""
        self._stream.synchronize()


def copies(ordinal: int) -> Copies:
    """The copying stream of a device; queries share it."""
    return _copies.get()(ordinal)


_copies = PerProcess(lambda: cache(Copies))


def wait_for(event: Event) -> None:
    """Have the current device's stream wait for an event of another; the host goes on."""
    from cupy.cuda import get_current_stream

    get_current_stream().wait_event(event)


class Block:
    """Page-locked memory of the host: copies to it run at the link's speed, and kernels write to it.

    address : the same on the host and on the devices. size : bytes.
    """

    __slots__ = ("_memory", "address", "size")

    def __init__(self, size: int) -> None:
        self._memory, self.address = locked_pages.locked(size)
        self.size = size

    def array(
        self, shape: tuple[int, ...], dtype: type[Scalar], offset: int = 0
    ) -> npt.NDArray[Scalar]:
        """An array that lies in it from a byte on."""
        return np.ndarray(shape, dtype, self._memory, offset)


def locked_bytes(size: int) -> int:
    """How large a page-locked block of at least `size` bytes is: the next power of two, or of seven sizes between that
    and the one before."""
    step = max(1 << max((size - 1).bit_length() - 4, 0), _LEAST_LOCKED)
    return max(-(-size // step) * step, _LEAST_LOCKED)


class LockedBlocks:
    """Unused page-locked blocks, kept because making one takes as long as filling it several times."""

    def __init__(self) -> None:
        self._waiting: dict[int, list[Block]] = {}
        self._lock = waiting.Lock()
        self.bytes = 0
        forks.watch(self)

    def forked(self) -> None:
        """Forget the parent's blocks without freeing them: a child has no CUDA context."""
        forks.leak(self._waiting)
        self._waiting, self.bytes = {}, 0

    def take(self, size: int) -> Block:
        """A block of at least `size` bytes: of `locked_bytes` of them, or one that waits and is little larger."""
        size = locked_bytes(size)
        with self._lock:
            for known in sorted(self._waiting):
                if size <= known <= size + size // LARGER and self._waiting[known]:
                    self.bytes -= known
                    return self._waiting[known].pop()
        return Block(size)

    def give(self, block: Block) -> None:
        """A block that nothing is copied to any more; above `MOST_LOCKED` bytes it is let go."""
        with self._lock:
            if self.bytes + block.size <= MOST_LOCKED:
                self.bytes += block.size
                self._waiting.setdefault(block.size, []).append(block)


class Clock:
    """Measures the device's time from here to `stop`, by events of the current stream."""

    def __init__(self) -> None:
        import cupy

        self._elapsed = cupy.cuda.get_elapsed_time
        self._begin, self._end = cupy.cuda.Event(), cupy.cuda.Event()
        self._begin.record()

    def stop(self) -> None:
        """Record the end; does not wait for it."""
        self._end.record()

    def seconds(self) -> float:
        """Seconds between the two; waits for the end."""
        self._end.synchronize()
        return float(self._elapsed(self._begin, self._end)) / 1e3


@dataclass(slots=True, eq=False)
class _Resident:
    """A device copy. used : by number of the use of all copies that was its last."""

    source: weakref.ref[HostArray]
    copy: DeviceArray
    used: int = 0


class Residents:
    """Device copies of host arrays or of parts of them, each kept as long as its host array lives and its room is not
    needed; least recently used ones go first.

    The host arrays of a partition belong to its `Adjacency`, which the snapshot keeps; when that goes, they go, and
    their copies with them. A slotted dataclass cannot be watched by a weak reference, an array can.
    """

    def __init__(self) -> None:
        self._copies: dict[_Key, _Resident] = {}
        self._ending = sys.is_finalizing  # then modules are gone before the arrays of some others
        self._turn = 0
        self._lock = waiting.Lock()  # a collection inside may call `_drop`
        forks.watch(self)

    def forked(self) -> None:
        """Forget the parent's copies without freeing them: a child has no CUDA context."""
        forks.leak(self._copies)
        self._copies = {}

    def copy_of(self, array: HostArray, ordinal: int) -> DeviceArray:
        """The copy of `array` on device `ordinal`, which must be current."""
        return self.made_of(array, ordinal, "", lambda: upload(array))

    def made_of(
        self, array: HostArray, ordinal: int, what: str, make: Callable[[], DeviceArray]
    ) -> DeviceArray:
        """What `make` makes of `array` on device `ordinal`, which must be current; made once."""
        key = (ordinal, id(array), what)
        with self._lock:
            self._turn += 1
            known = self._copies.get(key)
            if known is None or known.source() is not array:
                known = _Resident(weakref.ref(array, lambda _: self._drop(key)), make())
                self._copies[key] = known
            known.used = self._turn
            return known.copy

    def made_ahead(self, array: HostArray, ordinal: int, make: Callable[[], DeviceArray]) -> None:
        """Have a copy of `array` made on device `ordinal`, which must be current, where none is there: no query uses it
        yet."""
        key = (ordinal, id(array), "")
        with self._lock:
            known = self._copies.get(key)
            if known is None or known.source() is not array:
                source = weakref.ref(array, lambda _: self._drop(key))
                self._copies[key] = _Resident(source, make())

    def was_used(self, array: HostArray, ordinal: int) -> bool:
        """Whether a query has used a copy of the array on device `ordinal`."""
        known = self._copies.get((ordinal, id(array), ""))
        return known is not None and known.source() is array and known.used > 0

    def has(self, array: HostArray, ordinal: int, what: str = "") -> bool:
        """Whether device `ordinal` holds a copy of the array. what : the name of one of several copies."""
        known = self._copies.get((ordinal, id(array), what))
        return known is not None and known.source() is array

    def bytes(self, ordinal: int) -> int:
        """Bytes of all copies on a device."""
        return sum(one.copy.nbytes for key, one in list(self._copies.items()) if key[0] == ordinal)

    def forget(
        self, ordinal: int, size: int | None = None, but: frozenset[int] = frozenset()
    ) -> None:
        """Drop copies on a device, `size` bytes of those used least recently, or all; queries that run keep theirs
        until they end. but : `id`s of arrays whose copies stay."""
        dropped = 0
        with self._lock:
            known = list(self._copies.items())
            here = [(key, one) for key, one in known if key[0] == ordinal]
            for key, one in sorted(here, key=lambda item: item[1].used):
                if size is not None and dropped >= size:
                    break
                if key[1] not in but and self._copies.pop(key, None) is not None:
                    dropped += one.copy.nbytes

    def _drop(self, key: _Key) -> None:
        with self._lock:
            known = self._copies.get(key)
            if known is not None and known.source() is None:
                del self._copies[key]
        del known
        if not self._ending():
            device.PRESENCE.trim(key[0])


class Kept:
    """Stages that wait on a device to run again, each in the list of its prepared stage; all can be let go.

    Of those that wait on one device, `MOST_KEPT` bytes stay, the last in any case: as many queries as run at once leave
    a stage each, and most of them are not used again.
    """

    def __init__(self) -> None:
        self._lists: weakref.WeakValueDictionary[int, _Waiting] = weakref.WeakValueDictionary()
        self._lock = waiting.Lock()
        forks.watch(self)

    def forked(self) -> None:
        """Forget the parent's stages without freeing them: a child has no CUDA context."""
        for one in list(self._lists.values()):
            forks.leak(one.stage)
        self.forget()

    def keep(self, idle: list[object], stage: object, size: int = 0, ordinal: int = 0) -> None:
        """Put a stage that has ended into a list. size : bytes that it holds on its device, `ordinal`."""
        one = _Waiting(stage, size, ordinal)
        with self._lock:
            self._lists[id(one)] = one
            held = [w for w in self._lists.values() if w.stage is not None and w is not one]
            held = [w for w in held if w.ordinal == ordinal]
            held.sort(key=lambda w: -w.number)  # the youngest first
            for other in held:
                size += other.size
                if size > MOST_KEPT:
                    other.stage = None
            idle[:] = [w for w in idle if not isinstance(w, _Waiting) or w.stage is not None]
            idle.append(one)

    def take(self, idle: list[object], fits: Callable[[object], bool]) -> object | None:
        """A stage of a list that fits, which is in it no longer; None where there is none."""
        for one in list(idle):
            if isinstance(one, _Waiting):
                with self._lock:
                    stage = one.stage
                    found = stage is not None and fits(stage)
                    if found or stage is None:
                        one.stage = None
                        if one in idle:
                            idle.remove(one)
                if found:
                    return stage
        return None

    def forget(self) -> None:
        """Let all waiting stages go."""
        with self._lock:
            for waiting in list(self._lists.values()):
                waiting.stage = None

    def bytes(self, ordinal: int) -> int:
        """Bytes that the waiting stages of a device hold."""
        known = [one for one in list(self._lists.values()) if one.ordinal == ordinal]
        return sum(one.size for one in known if one.stage is not None)


class _Waiting:
    numbers = itertools.count()

    def __init__(self, stage: object, size: int = 0, ordinal: int = 0) -> None:
        self.stage: object | None = stage
        self.size = size
        self.ordinal = ordinal
        self.number = next(self.numbers)


RESIDENTS = Residents()
KEPT = Kept()
ARENAS = Arenas()
LOCKED = LockedBlocks()


def available(ordinal: int) -> int:
    """Bytes of a device that a query may have: what is free, and what can be let go for it."""
    waiting_bytes = KEPT.bytes(ordinal) + ARENAS.bytes(ordinal)
    return free_bytes(ordinal) + RESIDENTS.bytes(ordinal) + waiting_bytes


def evict(needed: int, ordinal: int, but: frozenset[int] = frozenset()) -> int:
    """Free bytes of device `ordinal`, after the least valuable there has been let go where they are fewer than
    `needed`: stages that wait, then copies of arrays, the least recently used first. but : `id`s of arrays whose copies
    stay."""
    free = free_bytes(ordinal)
    if free < needed:
        KEPT.forget()
        ARENAS.forget(ordinal)
        free = free_bytes(ordinal)
    if free < needed:
        RESIDENTS.forget(ordinal, needed - free, but)
        free = free_bytes(ordinal)
    return free


def make_room(needed: int, ordinal: int, cure: str = 'Use device="cpu".') -> int:
    """Free bytes of device `ordinal` beside the `needed` bytes of a query.

    Raises
    ------
    DeviceError : not even letting go of what other queries left makes room.
    """
    free = evict(needed, ordinal)
    if needed > free:
        raise DeviceError(
            f"The query needs {needed:,} bytes on GPU {ordinal}, which has {free:,} free.",
            cure,
        )
    return free - needed
