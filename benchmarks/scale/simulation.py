"""A query on workers that are not here: the rules of `gdb.executor.cluster.cluster`, played with measured costs of its
units.

Each unit is a range of roots, with the seconds that the planner expected of it and those that it took. A query of more
work has the same units, each as much longer; where there are more tasks than units, a unit is cut into equal tasks. The
caller sends one task after another, the longest first, and receives one answer after another; a worker takes the next
task when it has given back its last. A task that is late gives back what is left, and so do those that were sent first
when no task waits and workers are idle; it is divided among these, as in `gdb.executor.cluster.cluster`.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from gdb.executor.cluster.cluster import (
    AHEAD,
    GIVES_BACK,
    LATE,
    SHARE,
    SMALLEST,
    TAKES_BACK,
    TASK,
    most_taken_back,
    tasks_for,
    worth_dividing,
)


@dataclass(frozen=True, slots=True)
class Unit:
    """Seconds on one worker."""

    expected: float
    taken: float


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds. sent : of the caller, for each task. received : of the caller, for each answer. between : of a worker,
    from the end of one task to the begin of the next."""

    sent: float
    received: float
    between: float


@dataclass(frozen=True, slots=True)
class Simulated:
    """seconds : until the last answer. work : of all units. tasks : that were sent, what was given back included."""

    seconds: float
    work: float
    tasks: int
    workers: int

    @property
    def efficiency(self) -> float:
        """The share of the workers' time that is work."""
        return self.work / (self.seconds * self.workers)


def tasks_of(units: Sequence[Unit], number: int) -> list[Unit]:
    """About so many tasks, of neighbouring units or of equal shares of one, the longest expected first."""
    whole = sum(unit.expected for unit in units)
    found = []
    expected = taken = 0.0
    for unit in units:
        each = int(unit.expected / whole * number)
        if each > 1:
            found += [Unit(unit.expected / each, unit.taken / each)] * each
            continue
        expected, taken = expected + unit.expected, taken + unit.taken
        if expected >= whole / number:
            found.append(Unit(expected, taken))
            expected = taken = 0.0
    if taken:
        found.append(Unit(expected, taken))
    return sorted(found, key=lambda unit: -unit.expected)


@dataclass(slots=True)
class _Play:
    """A query under way: what the caller has still to send, what is sent, and what runs.

    queue : seconds that are left of a task, and that were expected of it, None where it was given back. waiting :
    seconds of a task, and its patience. running : when a task ends, its number, and what it leaves. taken : the numbers
    of those that were taken back, `last` when, and when each was begun.
    """

    workers: int
    costs: Costs
    queue: deque[tuple[float, float | None]]
    free: int
    caller: float = 0.0
    sent: int = 0
    waiting: deque[tuple[float, float]] = field(default_factory=deque)
    running: list[tuple[float, int, float]] = field(default_factory=list)
    order: Iterator[int] = field(default_factory=itertools.count)
    taken: set[int] = field(default_factory=set)
    last: float = 0.0
    begun: dict[int, float] = field(default_factory=dict)

    def send(self) -> None:
        """Send the next task."""
        self.caller += self.costs.sent
        left, hoped = self.queue.popleft()
        patience = self.caller / SHARE
        if hoped is not None:
            patience = min(LATE * hoped, max(LATE * TASK, patience))
        self.waiting.append((left, max(patience, GIVES_BACK)))
        self.sent += 1
        self.begin(self.caller)

    def begin(self, now: float) -> None:
        """Begin what waits on free workers."""
        while self.free and self.waiting:
            left, patience = self.waiting.popleft()
            self.free -= 1
            ran = min(left, patience)
            end = now + self.costs.between + ran
            number = next(self.order)
            self.begun[number] = now
            heapq.heappush(self.running, (end, number, left - ran))

    def take_back(self) -> bool:
        """Take tasks back for idle workers, where the caller does so before the next task ends; whether it did."""
        late = max(TAKES_BACK, self.caller / SHARE)
        now = max(self.caller, self.last + late, SMALLEST)
        worth = worth_dividing(self.workers, self.workers - self.free, now)
        if not worth or self.queue or self.waiting or now >= self.running[0][0]:
            return False
        late = max(TAKES_BACK, now / SHARE)
        kept = [
            task
            for task in sorted(self.running, key=itemgetter(1))
            if task[1] not in self.taken and self.begun[task[1]] < now - late
        ]
        for task in kept[: most_taken_back(now)]:
            end, number, left = task
            self.running.remove(task)
            self.running.append((now, number, left + end - now))
            self.taken.add(number)
        heapq.heapify(self.running)
        self.last = now
        return bool(kept)

    def receive(self) -> None:
        """Receive the next answer, and divide what it leaves."""
        end, _, left = heapq.heappop(self.running)
        self.free += 1
        self.begin(end)
        self.caller = max(self.caller, end) + self.costs.received
        if left > 0:
            pieces = max(self.free - len(self.queue) - len(self.waiting), 1)
            self.queue.extend((left / pieces, None) for _ in range(pieces))


def simulated(units: Sequence[Unit], work: float, workers: int, costs: Costs) -> Simulated:
    """Play a query of `work` seconds on so many workers."""
    factor = work / sum(unit.taken for unit in units)
    scaled = [Unit(unit.expected * factor, unit.taken * factor) for unit in units]
    expected = sum(unit.expected for unit in scaled)
    first = tasks_of(scaled, tasks_for(expected, workers))
    play = _Play(workers, costs, deque((unit.taken, unit.expected) for unit in first), workers)
    while play.queue or play.waiting or play.running:
        ahead = len(play.running) + len(play.waiting) < AHEAD * workers
        # the caller sends when it can
        if play.queue and ahead and not (play.running and play.caller > play.running[0][0]):
            play.send()
        elif not play.take_back():
            play.receive()
    return Simulated(play.caller, work, play.sent, workers)
