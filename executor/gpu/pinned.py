"""Page-locked memory of the host as a cache over the graph's arrays, and the way of large arrays to a device.

To lock pages costs 0.7 s a gigabyte, so what is locked is kept for the next query. It is filled by several threads, for
one reads 7 GB/s from the page cache and four 27; the link takes 55 from page-locked memory and 10 from any other.
"""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
PIECE = 16 << 20  # bytes that they fill at once
BLOCK = 4 << 20  # bytes of a block of the ring through which arrays go to a device,
BLOCKS = 8  # and blocks of it: some are filled while others are copied
SEVERAL = 2  # blocks up to which one thread fills them: for less, others take longer to start than they spare
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
    with _through_ring() as ring:
        ring.fetch(array.data.ptr, found)
    return found


def upload(array: HostArray) -> DeviceArray:
    """A copy of a host array on the current device; a large one goes through a ring of page-locked blocks. Raises as
    `fill`."""
    if array.nbytes < LARGE:
        return memory.upload(array)
    copy = memory.empty(array.shape, array.dtype.type)
    with _through_ring() as ring:
        ring.send(copy.data.ptr, array)
    return copy


@contextmanager
def _through_ring() -> Iterator[Ring]:
    """A ring, until nothing of it is under way any more."""
    ring = Ring()
    try:
        yield ring
    finally:
        memory.settle()
    ring.give()


class Ring:
    """Page-locked blocks through which arrays go between the host and the current device, in its stream: some are
    filled while others are copied, and while what was sent before runs. Each thread fills blocks of its own."""

    def __init__(self) -> None:
        self._link = memory.Link()
        self._free = deque[tuple[Block, memory.Event | None]]()
        self._free += ((memory.LOCKED.take(BLOCK), None) for _ in range(BLOCKS))

    def send(self, address: int, array: HostArray) -> None:
        """Copy a host array to memory of the device; its last blocks may still be under way. Raises as `fill`."""
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)

        def piece(begin: int, end: int) -> None:
            block = self._next()
            np.copyto(block.array((end - begin,), np.uint8), flat[begin:end])
            copied = self._link.to_device(address + begin, block.address, end - begin)
            self._free.append((block, copied))

        _in_pieces(flat.size, piece)

    def fetch(self, address: int, array: HostArray) -> None:
        """Fill a host array from memory of the device. Raises as `fill`."""
        flat = array.reshape(-1).view(np.uint8)

        def piece(begin: int, end: int) -> None:
            block = self._next()
            self._link.to_host(block.address, address + begin, end - begin).synchronize()
            np.copyto(flat[begin:end], block.array((end - begin,), np.uint8))
            self._free.append((block, None))

        _in_pieces(flat.size, piece)

    def _next(self) -> Block:
        """The block that was used longest ago, when nothing is copied from it any more: there are more than threads."""
        block, copied = self._free.popleft()
        if copied is not None:
            copied.synchronize()
        return block

    def give(self) -> None:
        """Let others have the blocks, from which nothing is copied any more."""
        for block, _ in self._free:
            memory.LOCKED.give(block)


def _in_pieces(size: int, piece: Callable[[int, int], None]) -> None:
    """Do something with each piece of so many bytes, by several threads where there are many. Raises as `fill`."""
    pieces = usage.paced(size, BLOCK)
    if size <= SEVERAL * BLOCK:
        for begin, end in pieces:
            piece(begin, end)
        return
    with waiting.Pool(READERS, thread_name_prefix="gdb-read") as pool:
        for _ in pool.map(piece, *zip(*pieces, strict=True)):
            pass
