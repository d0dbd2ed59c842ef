"""Page-locked memory of the host as a cache over the graph's arrays, and the way of large arrays to a device.

To lock pages costs 0.7 s a gigabyte, so what is locked is kept for the next query. It is filled by several threads, for
one reads 7 GB/s from the page cache and four 27; the link takes 55 from page-locked memory and 10 from any other.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gdb.base import forks, usage, waiting
from gdb.records import dataclass
from gdb.storage.disk.arrays import unset

from ..work.scheduler import Budget
from . import memory
from .memory import Block, DeviceArray, HostArray, Scalar

READERS = 4  # threads that fill page-locked memory
PIECE = 16 << 20  # bytes of a block of the ring through which arrays go to a device,
RING = 2  # and blocks of it: one is filled while the other is copied
LARGE = 4 << 20  # bytes from which an array goes through the ring
SHARE = 4  # of the machine's memory at most this part is kept locked


@dataclass(slots=True, eq=False)
class LockedCopy:
    """A page-locked copy of an array of the graph, or what was made of one. block : where it lies; used : by number of
    the query that used it last."""

    source: weakref.ref[HostArray]
    block: Block
    used: int = 0

    @property
    def address(self) -> int:
        """The same on the host and on the devices."""
        return self.block.address


class LockedCopies:
    """Page-locked copies of host arrays, each kept as long as its array lives and there is room; least recently used
    ones go first. A user of one holds it, so that it may leave the cache meanwhile."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], LockedCopy] = {}
        self._lock = waiting.Lock()  # a collection inside may call `_drop`
        self._turn = self.bytes = 0
        forks.watch(self)

    def forked(self) -> None:
        """Forget the parent's copies without freeing them: a child has no CUDA context."""
        forks.leak(self._known)
        self._known, self.bytes = {}, 0

    def copy_of(self, array: HostArray, budget: Budget) -> LockedCopy:
        """The page-locked copy of an array. Raises OutOfBudget."""
        return self.made_of(array, "", array.nbytes, lambda block: fill(block, array), budget)

    def made_of(
        self,
        array: HostArray,
        what: str,
        size: int,
        make: Callable[[Block], None],
        budget: Budget,
    ) -> LockedCopy:
        """`size` bytes that `make` writes from an array; made once. They count as host memory of the query.

        Raises
        ------
        OutOfBudget : the query may not hold so much.
        """
        budget.take(size, "the part of its graph that stays in page-locked memory")
        key = id(array), what
        with self._lock:
            self._turn += 1
            known = self._known.get(key)
            if known is None or known.source() is not array:
                self._make_room(size)
                block = Block(max(size, 1))
                make(block)
                known = LockedCopy(weakref.ref(array, lambda _: self._drop(key)), block)
                self._known[key] = known
                self.bytes += block.size
            known.used = self._turn
            return known

    def has(self, array: HostArray, what: str = "") -> bool:
        """Whether an array has a copy, or what was made of it."""
        known = self._known.get((id(array), what))
        return known is not None and known.source() is array

    def forget(self) -> None:
        """Drop all; queries that run keep theirs until they end."""
        with self._lock:
            self._known, self.bytes = {}, 0

    def _make_room(self, size: int) -> None:
        known = list(self._known.items())
        for key, _ in sorted(known, key=lambda item: item[1].used):
            if self.bytes + size <= _most():
                return
            gone = self._known.pop(key, None)  # a collection may have dropped it meanwhile
            self.bytes -= 0 if gone is None else gone.block.size

    def _drop(self, key: tuple[int, str]) -> None:
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.source() is None:
                self.bytes -= self._known.pop(key).block.size


def _most() -> int:
    """Bytes that the cache keeps at most."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // SHARE


CACHE = LockedCopies()


def fill(block: Block, array: HostArray, at: int = 0) -> None:
    """Copy an array into a block, from a byte on, by several threads where it is large.

    Raises
    ------
    Cancelled, QueryTimeout : the query of this thread is to go no further.
    """
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    target = block.array((flat.size,), np.uint8, at)
    if flat.size < LARGE:
        np.copyto(target, flat)
        return
    with waiting.Pool(READERS, thread_name_prefix="gdb-read") as pool:
        for begin, end in usage.paced(flat.size, PIECE):
            _fill(pool, target[begin:end], flat[begin:end])


def _fill(pool: waiting.Pool, target: HostArray, source: HostArray) -> None:
    ends = np.linspace(0, source.size, READERS + 1).astype(np.int64).tolist()
    list(
        pool.map(
            lambda a, b: np.copyto(target[a:b], source[a:b]), *zip(*pairwise(ends), strict=True)
        )
    )


def download(array: DeviceArray, dtype: type[Scalar]) -> npt.NDArray[Scalar]:
    """A copy of an array of one dimension of the current device; a large one comes through a ring of page-locked
    blocks. Raises as `fill`."""
    if array.nbytes < LARGE:
        return memory.download(array).view(dtype)
    found = unset(array.nbytes // np.dtype(dtype).itemsize, dtype)
    flat, ring = found.view(np.uint8), [memory.LOCKED.take(PIECE) for _ in range(RING)]
    pieces = [(begin, min(begin + PIECE, flat.size)) for begin in range(0, flat.size, PIECE)]

    def begin(k: int) -> memory.Event:
        start, end = pieces[k]
        return memory.to_host(ring[k % RING].address, array.data.ptr + start, end - start)

    try:
        with waiting.Pool(READERS, thread_name_prefix="gdb-read") as pool:
            coming = [begin(k) for k in range(min(RING, len(pieces)))]
            for k, (start, end) in enumerate(pieces):
                usage.pulse()
                coming[k].synchronize()
                _fill(pool, flat[start:end], ring[k % RING].array((end - start,), np.uint8))
                if k + RING < len(pieces):
                    coming.append(begin(k + RING))
    finally:
        memory.settle()  # nothing is copied to the blocks any more
    for block in ring:
        memory.LOCKED.give(block)
    return found


def upload(array: HostArray) -> DeviceArray:
    """A copy of a host array on the current device; a large one goes through a ring of page-locked blocks. Raises as
    `fill`."""
    if array.nbytes < LARGE:
        return memory.upload(array)
    copy = memory.empty(array.shape, array.dtype.type)
    ring = Ring()
    try:
        ring.send(copy.data.ptr, array)
    finally:
        memory.settle()  # nothing is copied from the blocks any more
    ring.give()
    return copy


class Ring:
    """Page-locked blocks through which host arrays go to the current device, in its stream: one is filled while the
    other is copied, and while what was sent before runs."""

    def __init__(self) -> None:
        self._blocks = [memory.LOCKED.take(PIECE) for _ in range(RING)]
        self._copied: list[memory.Event | None] = [None] * RING
        self._at = 0

    def send(self, address: int, array: HostArray) -> None:
        """Copy a host array to memory of the device; its last blocks may still be under way. Raises as `fill`."""
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        several = flat.size > PIECE  # for less, threads take longer to start than they spare
        pool = waiting.Pool(READERS, thread_name_prefix="gdb-read") if several else None
        with pool or nullcontext():
            for start, end in usage.paced(flat.size, PIECE):
                k = self._at % RING
                event, target = self._copied[k], self._blocks[k].array((end - start,), np.uint8)
                if event is not None:
                    event.synchronize()
                if pool is None:
                    np.copyto(target, flat[start:end])
                else:
                    _fill(pool, target, flat[start:end])
                source = self._blocks[k].address
                self._copied[k] = memory.to_device(address + start, source, end - start)
                self._at += 1

    def give(self) -> None:
        """Let others have the blocks, from which nothing is copied any more."""
        for block in self._blocks:
            memory.LOCKED.give(block)
