"""Work units in turn: a run that ends at its LIMIT does not finish a barren unit before it tries the others.

A unit gets a turn of so many steps. One that does not end by then is cut: the elements that are left of the outermost
loop that has any left become a unit of their own, which comes next, and the element under way is put aside behind all
others, for a turn of twice as many steps. So each root gets one turn before any gets its second (a restart strategy
that loses nothing: what is put aside goes on where it stopped).

In a run to its end turns are not limited, but a worker that takes longer than a launch for a unit gives half of what
is left of it to an idle thread (`gdb.executor.cpu.launch`), or all of it to another process that will go on.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from gdb.records import dataclass, field, replace

from ..work.place import Place
from ..work.scheduler import Budget

NEVER = 1 << 62  # steps of a turn that does not end before its unit
MOST_ASIDE = 4096  # units that wait; when there are more, turns do not end before their units
TRIES = 16  # cuts of a unit below its roots after which the others have their turns
_PAUSE = 0.001  # seconds between two looks for work


@dataclass(slots=True, eq=False)
class Unit:
    """The roots [start, end), or what is left of them from `place` on.

    steps : of its next turn. cuts : how often it was cut below its roots.
    """

    start: int
    end: int
    steps: int
    place: Place | None = None
    cuts: int = 0


@dataclass(slots=True, eq=False)
class Turns:
    """The units of a run in the order of their turns.

    steps : of the first turn of each, `NEVER` where turns are not limited.
    busy : workers that have a unit, and may put back a part. most : units that waited at once and are
        accounted for in `budget`.
    """

    waiting: deque[Unit]
    steps: int
    budget: Budget
    busy: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int]], steps: int, budget: Budget) -> Turns:
        """The first turns of ranges of roots."""
        return cls(deque([Unit(start, end, steps) for start, end in ranges]), steps, budget)

    def take(self, going: Callable[[], bool]) -> Unit | None:
        """The next unit, None when there will be none. While other workers may put something back, this waits for it
        as long as the run is `going`."""
        if self.steps == NEVER:  # nothing is put back
            try:  # another worker may take the last one meanwhile
                return self.waiting.popleft() if self.waiting and going() else None
            except IndexError:
                return None
        while going():
            with self.lock:
                if self.waiting:
                    self.busy += 1
                    return self.waiting.popleft()
                if self.busy == 0:
                    return None
            time.sleep(_PAUSE)
        return None

    def rest(self, loops: int) -> list[Place]:
        """What waits of a run whose turns are not limited, of so many loops; ranges that lie side by side as one."""
        found: list[Place] = []
        start = end = 0
        for unit in [*self.waiting, Unit(0, 0, NEVER)]:
            if unit.place is not None:
                found.append(unit.place)
            elif unit.start == end:
                end = unit.end
            else:
                found += [Place.of_roots(start, end, loops)] if end > start else []
                start, end = unit.start, unit.end
        return found

    def give(self, place: Place) -> None:
        """Let another worker have a part of a unit, in a run whose turns are not limited."""
        self.waiting.append(Unit(0, 0, NEVER, place))

    def end(self) -> None:
        """A unit that was taken has come to its end."""
        if self.steps == NEVER:
            return
        with self.lock:
            self.busy -= 1

    def room(self, size: int) -> bool:
        """Whether what comes back from the units that are worked on, two of `size` bytes each, may wait."""
        with self.lock:
            wait = len(self.waiting) + 2 * self.busy
            more = wait - self.most
            if more > 0 and (wait > MOST_ASIDE or not self.budget.fits(more * size)):
                return False
            self.most = max(self.most, wait)
            return True

    def put_back(self, unit: Unit, place: Place) -> None:
        """Let others have their turns before a unit that was taken, and is at `place` now."""
        rest = place.cut()
        aside = replace(unit, steps=2 * unit.steps, place=place)
        with self.lock:
            self.busy -= 1
            self.waiting.append(aside)
            if rest is None:
                return
            cuts = unit.cuts + (rest.depth > 0)
            others = replace(unit, place=rest, cuts=cuts)
            if rest.depth > 0 and cuts % TRIES == 0:
                self.waiting.append(others)
            else:
                self.waiting.appendleft(others)
