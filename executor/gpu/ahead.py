"""The way of a graph to a device while the first query over it is planned, which would wait for it afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.util import find_spec

from gdb.base import threads, usage
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import Adjacency

from . import device, memory, pinned, residency

LEAST = 64 << 20  # bytes that take so long, 5 ms, that they are worth a thread and its locks
PART = 2  # of what is free on a device at most this part is filled ahead


def copying_ahead(
    ordinals: tuple[int, ...], direction: Direction, edges: int
) -> Callable[[Adjacency], None]:
    """What begins to copy an adjacency of a direction to devices, and nothing else. edges : of the graph; where they
    are many, page-locked memory for it is made while they are read, unless some waits."""
    if 4 * edges >= LEAST and not memory.LOCKED.bytes and find_spec("cupy") is not None:
        with suppress(MemoryError):  # no room for a thread
            work = threading.Thread(
                target=_lock, args=(ordinals[0],), name="gdb-ahead", daemon=True
            )
            threads.start(work)
    return partial(copy_ahead, ordinals, direction)


def _lock(ordinal: int) -> None:
    with suppress(Exception), device.on(ordinal):
        pinned.Ring().give()


def copy_ahead(ordinals: tuple[int, ...], direction: Direction, adjacency: Adjacency) -> None:
    """Begin to copy an adjacency to devices, if it is of this direction, in a thread. What goes wrong is left to the
    query, and what has no room to spare."""
    size = sum(array.nbytes for array in adjacency.arrays)
    if adjacency.direction is not direction or size < LEAST or find_spec("cupy") is None:
        return

    @usage.carry_usage
    def copy() -> None:
        for ordinal in ordinals:
            with suppress(Exception):
                _copy(adjacency, ordinal, size)

    with suppress(MemoryError):  # no room for a thread
        threads.start(threading.Thread(target=copy, name="gdb-ahead", daemon=True))


def _copy(adjacency: Adjacency, ordinal: int, size: int) -> None:
    presence = device.PRESENCE
    # a query that places its graph waits for the end of it
    with device.on(ordinal), presence.query(ordinal), presence.placing(ordinal):
        if PART * size <= min(device.free_bytes(ordinal), residency.MOST):
            for array in (adjacency.offsets, adjacency.neighbours):
                memory.RESIDENTS.made_ahead(array, ordinal, partial(pinned.upload, array))
