"""The warps of a stage, and the memory that they work in while it runs: their states, what others give them,
their sets, and the scratch of a nest's tail."""

from __future__ import annotations

import itertools

import numpy as np

from ..work.scheduler import Budget
from . import device, layout, memory, own_arrays, residency
from .layout import Job
from .memory import DeviceArray, HostArray
from .residency import Room

IN_BLOCK = layout.BLOCK_THREADS // layout.WARP_LANES
ALIGNED = 256  # bytes; where arrays begin
NOBODY = -1  # no stage: memory that it left is not as a run leaves it
_WHAT = "the candidate sets of its warps"
_numbers = itertools.count()


class Warps:
    """The warps of one stage.

    state, task, buffer, scratch : bytes of each for one warp; the last two grow with the graph. number : of warps.
    far : whether these two are in page-locked memory of the host, which kernels write in place.
    """

    def __init__(self, ordinal: int, *, state: int, task: int, buffer: int, scratch: int) -> None:
        self._ordinal, self._user = ordinal, next(_numbers)
        self._near = {Job.TASKS: task, Job.STATES: state}
        self._grown = {Job.SCRATCH: max(scratch, 1), Job.BUFFERS: buffer}
        self.number, self.far = 0, False
        self._own: dict[Job, own_arrays.Shared] = {}
        self._arena: DeviceArray | None = None

    def add_windows(self, longest: int) -> int:
        """Give each a window over the rows of roots, for passes; how many vids it has. longest : of a row."""
        room = self._grown[Job.SCRATCH] // layout.WINDOW_SHARE // 4
        vids = max(layout.LEAST_WINDOW, min(longest, room) + 1 & ~1)
        self._near[Job.WINDOWS] = 8 * len(layout.Window) * layout.WARP_LANES + 4 * vids
        return vids

    @property
    def bytes(self) -> int:
        """Of one warp."""
        return sum(self._near.values()) + sum(self._grown.values())

    @property
    def resident(self) -> int:
        """Warps that the device holds at once."""
        blocks = device.multiprocessors(self._ordinal) * layout.BLOCKS_PER_MULTIPROCESSOR
        return blocks * IN_BLOCK

    def place(self, units: int, budget: Budget, room: Room, own: own_arrays.Own) -> None:
        """As many warps as the device holds at once, if there are so many units (those of other devices count: warps
        split what they have) and memory for them; at least one. Where not even one has room, what grows with the graph
        is in page-locked memory for all.

        Raises
        ------
        OutOfBudget : not even the state of one has room.
        """
        free = memory.evict(self.bytes, self._ordinal) + memory.ARENAS.bytes(self._ordinal)
        most = free // 2  # the rest is for what other queries and the pool's rounding need
        most = min(most, room.left // 2 if room.requested is None else room.left)
        each, wanted = self.bytes, min(self.resident, units)
        self.far = each > most
        if self.far:
            host = residency.FAR if budget.left is None else min(residency.FAR, budget.left // 2)
            near = sum(self._near.values())
            each, wanted = near, min(wanted, max(host // (each - near), 1))
        self.number = max(1, min(wanted, most // each))
        room.take(self.number * each, _WHAT)
        if self.far:
            self._own = {
                job: own.zeros(self.number * size, np.uint8, _WHAT)
                for job, size in self._grown.items()
            }
        self._lay_out()

    def _lay_out(self) -> None:
        """Where in a block of memory the warps have what. Tasks and scratch must be zero where a run begins, and are
        again where it has ended."""
        zeroed = {Job.TASKS: self._near[Job.TASKS]}
        others = {job: size for job, size in self._near.items() if job is not Job.TASKS}
        if not self.far:
            zeroed[Job.SCRATCH] = self._grown[Job.SCRATCH]
            others[Job.BUFFERS] = self._grown[Job.BUFFERS]
        sizes = [self.number * size for size in (*zeroed.values(), *others.values())]
        rounded = [-(-size // ALIGNED) * ALIGNED for size in sizes]
        *starts, self._size = itertools.accumulate(rounded, initial=0)
        self._at = dict(zip((*zeroed, *others), starts, strict=True))
        self._cleared = self._at[Job.STATES]

    def enter(self, numbers: HostArray) -> None:
        """Get memory, until `leave`, and write where it is into a job."""
        arena, as_left = memory.ARENAS.take(self._size, self._user, self._ordinal)
        if not as_left:
            arena.data.memset_async(0, self._cleared)
            if self.far:
                self._own[Job.SCRATCH].clear()
        self._arena, address = arena, arena.data.ptr
        for job, at in self._at.items():
            numbers[job] = address + at
        for job, shared in self._own.items():
            numbers[job] = shared.address

    def leave(self, *, done: bool) -> None:
        """Let others have the memory. done : the run came to its end."""
        assert self._arena is not None
        memory.ARENAS.give(self._arena, self._user if done else NOBODY, self._ordinal)
        self._arena = None
