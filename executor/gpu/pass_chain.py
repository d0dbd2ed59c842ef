"""The passes of a stage's runs: which of them are under way, and what of the graph lies on the device for each.

Short passes are sent one behind another, and the host waits once for all of them: each begins only if the one before
has ended, which it sees by that one's counters. Where a pass stops in the middle, those behind it do nothing, and the
next launch goes on with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import layout, memory
from .layout import Header, Job
from .memory import Buffer, DeviceArray, HostArray
from .pinned import Ring
from .placing import Turn


class PassChain:
    """turns : the passes over parts of the graph; none where a run goes over it once. headers, idle : of each pass, and
    of one that counts what they found, its counters, u64[passes, HEADER_WORDS], and a bit for each warp that waits,
    u32[passes, warps / 32]. streamed_bytes : that were copied to the device since it was set to zero. late : ns that
    launches by this kernel took at most after their time was over, because their last units did.
    """

    def __init__(self, turns: Sequence[Turn], headers: DeviceArray, idle: DeviceArray) -> None:
        self.turns, self.streamed_bytes, self.late = list(turns), 0, 0
        self._headers, self._idle = headers, idle
        self._there: Turn | None = None  # whose rows are resident
        self._ring: Ring | None = None
        self._kernel: object = None
        self._behind = 1  # passes that are sent at once
        self._count = self._at = self._sent = 0
        self._fresh = True

    def run_by(self, kernel: object) -> None:
        """What is sent from now on is launches of this kernel."""
        if kernel is not self._kernel:  # a stage's own is late by less than the generic one
            self._kernel, self.late = kernel, 0

    def forget(self) -> None:
        """What lies on the device of the last pass's rows is overwritten."""
        self._there = None

    def begin(self, *, counts: bool) -> None:
        """A run begins. counts : a last pass counts what the others found."""
        if self.turns and self._there is self.turns[-1]:
            self.turns.reverse()  # its rows need not be copied
        self._count, self._at, self._sent, self._fresh = (
            max(len(self.turns), 1) + counts,
            0,
            0,
            True,
        )
        self._headers.data.memset_async(0, self._headers.nbytes)
        self._idle.data.memset_async(0, self._idle.nbytes)

    def send(self, numbers: HostArray, launch: Callable[[bool], None]) -> int:
        """Send the pass that is under way, and some behind it; how many have been sent in this run.

        numbers : the job. launch : sends the kernel; it is given whether a pass begins.
        """
        stop = min(self._at + self._behind, self._count)
        for k in range(self._at, min(stop, self._sent)):
            self._header(k, Header.UNFINISHED).memset_async(0, 8)
        for k in range(self._at, stop):
            numbers[Job.HEADER] = self._header(k).ptr
            numbers[Job.AFTER] = self._header(k - 1).ptr if k > self._at else 0
            numbers[Job.IDLE] = self._idle.data.ptr + k * (self._idle.nbytes // self._idle.shape[0])
            self._bring(numbers, k)
            launch(k > self._at or self._fresh)
        self._sent = stop
        return stop

    def sent(self, unfinished: int, spent: int, allowed: int) -> bool:
        """What was sent has come to its end; whether the run has.

        unfinished : passes of the run that have not. spent : ns that they took together. allowed : and each was to take
            at most.
        """
        over = spent - allowed * (self._sent - self._at)
        self.late = max(over, self.late)
        self._at, self._fresh = self._sent - unfinished, not unfinished
        if unfinished:
            self._behind = 1
        elif 2 * spent < allowed:
            self._behind = min(2 * self._behind, self._count)
        elif spent > allowed:
            self._behind = max(self._behind // 2, 1)
        if self._at == self._count and self._ring is not None:
            self._ring.give()
            self._ring = None
        return self._at == self._count

    def _stream(self, turn: Turn) -> None:
        """Send what is in memory of the host that is not page-locked."""
        if not turn.sends:
            return
        if self._ring is None:
            self._ring = Ring()
        for to, array in turn.sends:
            self._ring.send(to, array)

    def _header(self, k: int, field: int = 0) -> Buffer:
        """Where a counter of pass k lies."""
        return self._headers.data + 8 * (k * layout.HEADER_WORDS + field)

    def _bring(self, numbers: HostArray, k: int) -> None:
        """Have the part of the graph on the device that pass k is about."""
        if k >= len(self.turns):
            numbers[Job.PASS] = -1
            return
        turn = self.turns[k]
        if turn is not self._there:
            self._there = None  # until it is
            for to, source, size in turn.copies:
                memory.to_device(to, source, size)
            self._stream(turn)
            self.streamed_bytes += turn.bytes
        self._there = turn
        numbers[Job.PASS] = turn.number
        numbers[Job.PASS_START], numbers[Job.PASS_END] = turn.lo, turn.hi
        numbers[len(Job) : len(Job) + turn.views.size] = turn.views.ravel()
