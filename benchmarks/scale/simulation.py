"""A query on workers that are not here: the rules of `gdb.executor.cluster.cluster`, played with measured costs of its
units.

Each unit is a range of roots, with the seconds that the planner expected of it and those that it took. A query of more
work has the same units, each as much longer; where there are more tasks than units, a unit is cut into equal tasks. The
caller sends one task after another, the longest first, and receives one answer after another; a worker takes the next
task when it has given back its last. A task that is late gives back what is left, which is divided among those who have
nothing to do, as in `gdb.executor.cluster.cluster`.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from gdb.executor.cluster.cluster import AHEAD, GIVES_BACK, LATE, SHARE, TASK, tasks_for


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


def simulated(units: Sequence[Unit], work: float, workers: int, costs: Costs) -> Simulated:
    """Play a query of `work` seconds on so many workers."""
    factor = work / sum(unit.taken for unit in units)
    scaled = [Unit(unit.expected * factor, unit.taken * factor) for unit in units]
    expected = sum(unit.expected for unit in scaled)
    first = tasks_of(scaled, tasks_for(expected, workers))
    # tasks to send: what is left of each, and what was expected of it, None where it was given back
    queue = deque[tuple[float, float | None]]((unit.taken, unit.expected) for unit in first)
    waiting: deque[tuple[float, float]] = deque()  # sent, not begun
    free, caller, sent = workers, 0.0, 0
    order = itertools.count()
    events: list[tuple[float, int, float]] = []  # when a task ends, and what it leaves

    def begin(now: float) -> None:
        nonlocal free
        while free and waiting:
            left, patience = waiting.popleft()
            free -= 1
            ran = min(left, patience)
            heapq.heappush(events, (now + costs.between + ran, next(order), left - ran))

    while queue or waiting or events:
        ahead = len(events) + len(waiting) < AHEAD * workers
        if (
            queue and ahead and (not events or caller <= events[0][0])
        ):  # the caller sends when it can
            caller += costs.sent
            left, hoped = queue.popleft()
            patience = caller / SHARE
            if hoped is not None:
                patience = min(LATE * hoped, max(LATE * TASK, patience))
            waiting.append((left, max(patience, GIVES_BACK)))
            sent += 1
            begin(caller)
            continue
        end, _, left = heapq.heappop(events)
        free += 1
        begin(end)
        caller = max(caller, end) + costs.received
        if left > 0:
            pieces = max(free - len(queue) - len(waiting), 1)
            queue.extend((left / pieces, None) for _ in range(pieces))
    return Simulated(caller, work, sent, workers)
