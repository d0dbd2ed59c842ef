"""The number of workers of a run under a budget, and the size of each.

Their scratch is a byte or some for each vertex, rows of bits, and caches of counts. What of it does not fit the budget
lies in temporary files (`gdb.storage.disk.arrays.placed`), so one worker always runs; beyond twice the budget (at least
`FILED` more) there are rather fewer workers, with less room, than files that push the graph out of the page cache.
"""

from __future__ import annotations

from gdb.base.budget import Budget
from gdb.records import dataclass

from ..nest.prepare import Prepared
from ..plan.embeddings import Wanted
from . import workers

CACHES_SHARE = 16  # caches of counts take at most one part in so many of a budget
ROWS_SHARE = 8  # and the buffers of rows
FEWEST_ROWS = 64  # of a buffer
FILED = 64 << 20  # bytes that may lie in temporary files whatever the budget
_HALVINGS = 4  # of the room for rows of bits, before there are fewer workers


@dataclass(frozen=True, slots=True)
class Size:
    """threads : workers. slots : of each cache of counts. room : i64 for rows of bits. capacity : rows of a buffer.
    bytes : that one worker takes.
    """

    threads: int
    slots: int
    room: int
    capacity: int
    bytes: int = 0


def fit_workers(
    prepared: Prepared, wanted: Wanted, threads: int, capacity: int, budget: Budget
) -> Size:
    """The size of the workers of a run that would like to have so many, with buffers of so many rows."""
    if budget.limit is None:
        slots = workers.slots_within(prepared, workers.CACHES_BYTES)
        return Size(threads, slots, workers.ROOM, capacity)
    slots = workers.slots_within(prepared, min(workers.CACHES_BYTES, budget.limit // CACHES_SHARE))
    shared = workers.slot_bytes(prepared, slots) // threads  # the caches are those of all
    each = 0 if prepared.tables.counting else 4 * len(wanted.vertices) + 8 * len(wanted.edges)
    if each:
        fits = budget.limit // (ROWS_SHARE * threads * each)
        capacity = max(min(capacity, fits), min(capacity, FEWEST_ROWS))
    once = prepared.vids // 8 if wanted.once is not None else 0
    most = budget.limit + max(budget.limit, FILED)
    for halving in range(_HALVINGS):
        room = workers.ROOM >> halving
        size = workers.scratch_bytes(prepared, room) + shared + once + each * capacity
        if size * threads <= most:
            break
    return Size(max(min(threads, most // max(size, 1)), 1), slots, room, capacity, size)
