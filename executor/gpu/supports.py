"""Supports on a device: where the triangles are noted that the kernel of a sum over edges finds
(`gdb.executor.nest.by_edge`), and what they come to in the end.

Where the view is resident, each position has a counter beside it. Where it runs in passes, a list in page-locked memory
of the host has the positions of each triangle's edges; when all are found, memory as large as that of a pass's rows, or
this itself, takes the counters of one range of positions after another, and the list is gone through once for each
range. Where the list has no room for all triangles they are counted on, the run is done in the other way, and the next
one has a longer list.
"""

from __future__ import annotations

import numpy as np

from gdb.errors import OutOfBudget
from gdb.storage.graph.adjacency import I64

from ..nest.by_edge import ByEdge
from ..work.scheduler import Budget, Watch
from . import compiler, device, layout, memory, render
from .layout import Job, Sum
from .local import LocalGraph
from .memory import DeviceArray
from .own_arrays import Own, Shared
from .pass_chain import PassChain
from .placing import Placed
from .residency import Room

LEAST = 5e-4  # seconds that the other way takes at least; a count that is shorter would be kept up by what is added
POSITIONS = 4
"""Positions of the view for each triangle that a first list has room for: three quarters of the bytes of the rows."""
SPARED = 4  # of what is left to the query memory beside the rows takes at most this part
LONGEST = 48  # bytes of a longer list for each position at most; where more are needed, rows are intersected
MOST = 1 << 32  # positions that the numbers of a list can name
_EACH = 12  # bytes of a triangle
_BLOCKS = 16  # of a multiprocessor
_WHAT = "the triangles of its edges"


class Supports:
    """The supports of a stage's edges. counted : what the stage counts."""

    def __init__(self, counted: ByEdge, ordinal: int) -> None:
        self.counted, self._ordinal = counted, ordinal
        # of each position where the view is resident, else of a range of them, None: the memory of the rows is used
        self._counters: DeviceArray | None = None
        self._list: Shared | None = None
        self._room = 0  # triangles that the list has room for

    def place(
        self,
        local: LocalGraph | None,
        graph: Placed,
        own: Own,
        budget: Budget,
        room: Room,
        job: I64,
    ) -> None:
        """Get memory for them. local : in which triangles are found; without it they are not.

        Raises
        ------
        OutOfBudget : they would take more than half of what is left to the query, or the list would be too long, or the
            graph is in two memories and does not run in passes, or there is no local graph.
        """
        self._positions = positions = len(graph.split.views[0].neighbours)
        if graph.cold:
            self._room = max(self.counted.found, positions // POSITIONS)
            size, most = self._room * _EACH, max(LONGEST * positions, _EACH)
            most = most if budget.left is None else min(most, budget.left // 2)
            most = most if graph.split.passes and positions < MOST else 0
        else:
            size, most = 4 * positions, room.left // 2
        if local is None or size > most:
            raise OutOfBudget(
                f"The supports of edges need {size:,} bytes, and at most {most:,} can be had for them.",
                "Raise memory= or gpu_memory=.",
            )
        self._sums = memory.empty((len(Sum),), np.uint64)
        self._found = memory.empty((1,), np.uint64)  # triangles in the list
        if not graph.cold:
            self._counters = self._taken(positions, room)
            job[Job.SUPPORTS] = self._counters.data.ptr
            return
        rows = max(one.extent.end - one.extent.start for one in graph.split.passes)
        # where these are used themselves, the next run has to copy them again
        if 4 * rows <= room.left // SPARED:
            self._counters = self._taken(rows, room)
        self._list = own.locked(size, _WHAT)
        job[Job.TRIANGLES], job[Job.TRIANGLES_MOST] = self._list.address, self._room
        job[Job.TRIANGLES_FOUND] = self._found.data.ptr

    @staticmethod
    def _taken(positions: int, room: Room) -> DeviceArray:
        room.take(4 * positions, _WHAT)
        return memory.empty((max(positions, 1),), np.uint32)

    def clear(self) -> None:
        """There are no triangles yet, when the device's stream comes to it."""
        array = self._counters if self._list is None else self._found
        assert array is not None
        array.data.memset_async(0, array.nbytes)

    def total(
        self, graph: Placed, passes: PassChain, watch: Watch
    ) -> tuple[int | None, bool, float]:
        """What the stage counts, all triangles being found; None where there are more than the list has room for. And
        whether a count was too large, and seconds on the device."""
        clock = memory.Clock()
        if self._list is None:
            assert self._counters is not None
            self._sums.data.memset_async(0, self._sums.nbytes)
            self._add_up(self._counters, self._positions, halves=False)
        else:
            found = int(memory.download(self._found)[0])
            if found > self._room:
                self.counted.found = found
                clock.stop()
                return None, False, clock.seconds()
            if self._counters is None:
                passes.forget()
            counters = graph.rows_of_a_pass if self._counters is None else self._counters
            if self._counted(self._list, counters, found, watch, halves=True):
                self._counted(self._list, counters, found, watch, halves=False)
        sums = memory.download(self._sums).tolist()
        clock.stop()
        total = sums[Sum.LOW] + (sums[Sum.HIGH] << 32)
        return self.counted.times * total, bool(sums[Sum.LARGE]), clock.seconds()

    def _counted(
        self, triangles: Shared, counters: DeviceArray, found: int, watch: Watch, *, halves: bool
    ) -> bool:
        """Count a list's triangles for one range of positions after another; whether a support passed what its
        counter holds. found : so many. halves : a counter is half a word, and not a whole one."""
        self._sums.data.memset_async(0, self._sums.nbytes)
        most = counters.shape[0] * (1 + halves)
        for start in range(0, self._positions if found else 0, most):
            if not watch.going():
                break
            size = min(most, self._positions - start)
            counters.data.memset_async(0, 4 * -(-size // (1 + halves)))
            numbers = (np.int64(n) for n in (triangles.address, 3 * found, start, size, halves))
            self._run(render.ADD_SUPPORTS, (*numbers, counters, self._sums))
            self._add_up(counters, size, halves=halves)
            memory.settle()
            with watch.lock:
                watch.moved_bytes += _EACH * found
        return halves and bool(memory.download(self._sums)[Sum.CARRIED])

    def _add_up(self, counters: DeviceArray, positions: int, *, halves: bool) -> None:
        """Add what so many counters come to."""
        counted = self.counted
        numbers = (np.int64(n) for n in (positions, halves, counted.size, counted.formula))
        self._run(render.SUM_SUPPORTS, (counters, *numbers, self._sums))

    def _run(self, name: str, arguments: tuple[object, ...]) -> None:
        kernel = compiler.generic(self._ordinal, name)
        blocks = _BLOCKS * device.multiprocessors(self._ordinal)
        kernel((blocks,), (layout.BLOCK_THREADS,), arguments)
