"""Large arrays that are gone from memory when they are dropped.

What NumPy gives back stays with malloc, in pieces between what is still used, and one heap for each thread: of an
import with a budget that was a third of its memory. Such an array is a map of its own instead; that costs page faults,
so it is for what stays a while.

An array for which a query's budget has no room lies in a temporary file that is mapped (`placed`). Its pages are page
cache: they are in memory as long as there is room in the machine, and cost the process none of its own. Those of rows
(`Shelf`) are unmapped again, as they are written and while they are read (`let_go`): as long as a process maps pages,
they count as its resident memory, also where a container limits that.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from gdb.base import usage, waiting
from gdb.base.budget import Budget

Item = TypeVar("Item", bound=np.generic)

LAZY = 1 << 15  # bytes that are worth a map where only the first items are touched, if any
LARGE = 1 << 20  # bytes that are worth a map
PIECE = 1 << 17  # items that a core makes at once
_HUGE = 1 << 21  # bytes that fill a large page
GRAPH = "arrays of the graph"
GRAPH_SHARE = 0.25  # of what is left of a budget, that one array of the graph may take
_BLOCKS = (1 << 24, 1 << 30)  # bytes of the first temporary file of a shelf, and of any at most
_ALIGNED = 64  # bytes; an array begins there at a multiple of these
_MAPPED = 1 << 24  # bytes of a shelf that are written before they are unmapped
COPIED = 1 << 21  # items between two looks at whether the query goes on
LEAST_FILED = 1 << 16  # bytes that are worth a temporary file; smaller arrays are never in the way


def unset(count: int, dtype: type[Item]) -> npt.NDArray[Item]:
    """As `np.empty`."""
    size = count * np.dtype(dtype).itemsize
    if size < LARGE:
        return np.empty(count, dtype)
    huge = size >= 2 * _HUGE and hasattr(mmap, "MADV_HUGEPAGE")
    # else Linux would not begin it where a large page does
    whole = -(-size // _HUGE) * _HUGE if huge else size
    block = mmap.mmap(-1, whole, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if huge:
        with suppress(OSError):  # a kernel without them
            block.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(block, dtype, count)


def sparse(count: int, dtype: type[Item], least: int) -> npt.NDArray[Item]:
    """As `np.zeros`, where few items will be touched: from `least` bytes on in small pages, each made when it is."""
    size = count * np.dtype(dtype).itemsize
    if size < least:
        return np.zeros(count, dtype)
    return np.frombuffer(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), dtype, count)


def joined(arrays: list[npt.NDArray[Item]], dtype: type[Item]) -> npt.NDArray[Item]:
    """As `np.concatenate`, of one dimension."""
    out = unset(sum(map(len, arrays)), dtype)
    return np.concatenate(arrays, out=out) if arrays else out


def filled(
    count: int, dtype: type[Item], make: Callable[[int, int], npt.NDArray[Item]]
) -> npt.NDArray[Item]:
    """An array that is made piece by piece, each small enough for a core's cache; on all cores, or few where a
    budget bounds what is read at once. make : the items [begin, end), where what comes before does not matter."""
    found = unset(count, dtype)

    def fill(piece: tuple[int, int]) -> None:
        found[slice(*piece)] = make(*piece)

    pieces = ((begin, min(begin + PIECE, count)) for begin in range(0, count, PIECE))
    for _ in waiting.within_budget(fill, pieces):
        pass
    return found


def placed(
    count: int, dtype: type[Item], what: str, budget: Budget | None, *, most: float = 1.0
) -> npt.NDArray[Item]:
    """As `np.zeros`, in memory that a budget has room for, else in a temporary file.

    budget : None, as one without a limit, has room for all. most : the part of what is left of it that this array may
    take, where others will be needed more often.

    Raises
    ------
    OutOfBudget : there is no folder for temporary files. StorePermissionError, StoreError : the disk is full, for one.
    """
    size = count * np.dtype(dtype).itemsize
    if budget is None or budget.limit is None:
        return np.zeros(count, dtype)
    if size < LEAST_FILED:
        budget.fits(size, what)
        return np.zeros(count, dtype)
    if size <= most * (budget.left or 0) and budget.fits(size, what):
        return unset(count, dtype) if size >= LARGE else np.zeros(count, dtype)
    return read_anywhere(np.frombuffer(_in_file(size, what, budget), dtype))


def read_anywhere(array: npt.NDArray[Item]) -> npt.NDArray[Item]:
    """An array whose pages, where it lies in a mapped file, are read in any order from now on: where there is no room
    for all, the system reads a page, instead of many around it."""
    _advise(array, 0, len(array), "MADV_RANDOM")
    return array


def read_ahead(array: npt.NDArray[np.generic], begin: int, end: int) -> None:
    """Have the system read items [begin, end) of an array that lies in a mapped file, without waiting for it; also
    where the file is read in any order, so that it would read page by page. In memory there is nothing to do."""
    _advise(array, begin, end, "MADV_WILLNEED")


@contextmanager
def read_in_order(*arrays: npt.NDArray[np.generic]) -> Iterator[None]:
    """A block that reads whole arrays from front to back. Under a budget those in mapped files are read in any order
    else, page by page."""
    if usage.room() is None:
        yield
        return
    for array in arrays:
        _advise(array, 0, len(array), "MADV_SEQUENTIAL")
    try:
        yield
    finally:
        for array in arrays:
            read_anywhere(array)


def _advise(array: npt.NDArray[np.generic], begin: int, end: int, advice: str) -> None:
    found: object = array
    while isinstance(found, (np.ndarray, memoryview)):
        found = found.base if isinstance(found, np.ndarray) else found.obj
    if end <= begin or not isinstance(found, mmap.mmap) or not hasattr(mmap, advice):
        return
    start = array.ctypes.data - np.frombuffer(found, np.uint8).ctypes.data
    first = (start + begin * array.itemsize) // mmap.PAGESIZE * mmap.PAGESIZE
    until = min(start + end * array.itemsize, len(found))
    with suppress(OSError):  # a hint
        found.madvise(getattr(mmap, advice), first, until - first)


def filed(array: npt.NDArray[Item], what: str, budget: Budget | None) -> npt.NDArray[Item]:
    """An array of one dimension that stays: itself where a budget has room for it, else a copy in a temporary file.
    Raises as `placed`."""
    if budget is None or budget.limit is None or array.nbytes < LEAST_FILED:
        return array
    if array.nbytes <= GRAPH_SHARE * (budget.left or 0) and budget.fits(array.nbytes, what):
        return array
    file = np.frombuffer(_in_file(array.nbytes, what, budget), array.dtype.type)
    return copied(array, read_anywhere(file))


def copied(array: npt.NDArray[Item], out: npt.NDArray[Item]) -> npt.NDArray[Item]:
    """Copy an array of one dimension to another, which is given back.

    Raises
    ------
    Cancelled, QueryTimeout : the query of this thread is to go no further.
    """

    def part(ends: tuple[int, int]) -> None:
        out[slice(*ends)] = array[slice(*ends)]

    for _ in waiting.within_budget(part, usage.paced(len(array), COPIED)):
        pass
    return out


class Shelf:
    """Bytes that stay, one array behind the other in temporary files.

    budget : where they are noted, as `what`. folder : of the files, None for that of the process.
    """

    def __init__(self, budget: Budget, what: str, folder: Path | None = None) -> None:
        self._budget, self._what, self._folder = budget, what, folder
        self._block, self._used = np.zeros(0, np.uint8), 0
        self._maps: list[mmap.mmap] = []
        self._mapped = 0  # from where on bytes of the last one were written and not unmapped since

    def put(self, data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """A copy of the bytes. Raises as `placed`."""
        if self._used + len(data) > len(self._block):
            for last in self._maps[-1:]:
                _unmap(last)
            # twice as large each time: a map holds its file open
            size = max(len(data), min(2 * len(self._block) or _BLOCKS[0], _BLOCKS[1]))
            made = _in_file(size, self._what, self._budget, self._folder)
            self._maps.append(made)
            with _lock:
                _shelved.add(made)
            self._block, self._used, self._mapped = np.frombuffer(made, np.uint8), 0, 0
        begin, end = self._used, self._used + len(data)
        self._used = -(-end // _ALIGNED) * _ALIGNED
        self._block[begin:end] = data
        if end - self._mapped > _MAPPED:
            first, until = (at // mmap.PAGESIZE * mmap.PAGESIZE for at in (self._mapped, end))
            _unmap(self._maps[-1], first, until - first)
            self._mapped = until
        return self._block[begin:end]

    def cool(self) -> None:
        """Let go of the pages that the process has of what lies here: they are page cache, and come back when they are
        read."""
        for block in self._maps:
            _unmap(block)

    def holds(self, array: npt.NDArray[np.generic]) -> bool:
        """Whether an array lies here."""
        return any(np.may_share_memory(array, np.frombuffer(one, np.uint8)) for one in self._maps)


_shelved: WeakSet[mmap.mmap] = WeakSet()
_lock = waiting.Lock()


def let_go() -> None:
    """Unmap what shelves hold, so that it is page cache alone; reading it maps it again, a page at a time."""
    if _shelved:
        with _lock:
            maps = list(_shelved)
        for each in maps:
            _unmap(each)


def _unmap(block: mmap.mmap, begin: int = 0, size: int | None = None) -> None:
    """Take pages out of the process. They are of a file, shared: what was written stays in the page cache."""
    if hasattr(mmap, "MADV_DONTNEED"):
        block.madvise(mmap.MADV_DONTNEED, begin, len(block) - begin if size is None else size)


def _in_file(size: int, what: str, budget: Budget, folder: Path | None = None) -> mmap.mmap:
    from . import scratch  # of large graphs and small budgets alone

    found = scratch.mapped(size, what, folder)
    budget.file(size, what)
    return found
