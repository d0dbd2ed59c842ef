"""Work units, the threads that take them, and the conditions under which a run stops before its end.

A work unit is a range of a stage's first loop. Workers take units from one queue, heavy ones first
in line because hubs have small vids; between launches they check `Watch` whether to go on (design.md
§5).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Protocol, cast

import numpy as np
import numpy.typing as npt

from gdb.base import usage, waiting
from gdb.base.budget import Budget as Budget
from gdb.base.once import PerProcess
from gdb.base.threads import Threads
from gdb.errors import Cancelled, QueryTimeout
from gdb.records import dataclass, field
from gdb.storage.disk.arrays import filed, filled
from gdb.storage.graph.adjacency import I64

if TYPE_CHECKING:
    from .place import Place

_helpers = PerProcess(lambda: Threads(os.cpu_count() or 1, thread_name_prefix="gdb"))
UNITS_PER_WORKER = 64
CANDIDATES = "candidates"  # what memory is for
_PIECE = 1 << 16  # weights that are summed up at once
LEAST_WEIGHT = 4096  # of a unit: to take one costs as much as some hundred neighbours


class Weights:
    """The weights of a stage's roots, each at least 1: how many neighbours one has in the views read from it, + 1.

    Of roots that are the vertices of rows one after another they follow from where the rows begin, so that no number is
    made for each of them until one is needed: of many millions that takes longer than to draw some.
    """

    __slots__ = ("_each", "_ends", "_offsets")

    def __init__(self, each: I64 | None, offsets: I64 | None = None) -> None:
        self._each, self._offsets = each, offsets
        self._ends: I64 | None = None

    @staticmethod
    def of_rows(offsets: I64) -> Weights:
        """Of the vertices of rows, by where these begin and the last ends, i64[rows + 1]."""
        return Weights(None, offsets)

    def __len__(self) -> int:
        return len(self._offsets) - 1 if self._offsets is not None else len(self.each)

    @property
    def total(self) -> int:
        """Their sum."""
        return self.upto(len(self))

    @property
    def nbytes(self) -> int:
        """Bytes of memory that they have of their own."""
        return 0 if self._each is None else self._each.nbytes

    @property
    def each(self) -> I64:
        """Of every root, i64[roots]; made once, within the budget of this thread's query."""
        if self._each is None:
            offsets = cast("I64", self._offsets)

            def lengths(begin: int, end: int) -> I64:
                found: I64 = offsets[begin + 1 : end + 1] - offsets[begin:end]
                found += 1
                return found

            self._each = filed(filled(len(self), np.int64, lengths), CANDIDATES, usage.room())
        return self._each

    def of(self, root: int) -> int:
        """That of one root."""
        return self.upto(root + 1) - self.upto(root)

    def upto(self, root: int) -> int:
        """The sum of those before a root."""
        if self._offsets is not None:
            return int(self._offsets[root] - self._offsets[0]) + root
        piece = root // _PIECE
        return int(self._piece_ends()[piece] + self.each[piece * _PIECE : root].sum())

    def roots_within(self, weight: float, *, less: bool = False) -> int:
        """How many of the first roots have a sum of at most `weight`, or `less`."""
        if self._offsets is None:
            side: Literal["left", "right"] = "left" if less else "right"
            ends = self._piece_ends()
            piece = int(np.searchsorted(ends[1:], weight, side))
            if piece == len(ends) - 1:
                return len(self)
            sums = np.cumsum(self.each[piece * _PIECE : (piece + 1) * _PIECE])
            return piece * _PIECE + int(np.searchsorted(sums, weight - ends[piece], side))
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            upto = self.upto(middle + 1)
            if upto < weight or (upto == weight and not less):
                low = middle + 1
            else:
                high = middle
        return low

    def cut(self, parts: int) -> list[tuple[int, int]]:
        """About so many ranges of roots of about equal weight, [begin, end) each, none of them empty; at least one,
        where there are roots."""
        n, parts = len(self), max(parts, 1)
        each = self.total / parts
        marks = self._roots_below([k * each for k in range(1, parts)])
        ends = sorted({0, *(min(mark + 1, n) for mark in marks), n})
        return [*pairwise(ends)]

    def _roots_below(self, weights: list[float]) -> list[int]:
        """As `roots_within` with `less`, for several weights, ascending; each piece is summed up once."""
        if self._offsets is not None:
            return [self.roots_within(weight, less=True) for weight in weights]
        ends, found = self._piece_ends(), list[int]()
        pieces = np.searchsorted(ends[1:], weights, "left")
        for piece in np.unique(pieces).tolist():
            own = np.array(weights)[pieces == piece]
            if piece == len(ends) - 1:
                found += [len(self)] * len(own)
                continue
            sums = np.cumsum(self.each[piece * _PIECE : (piece + 1) * _PIECE])
            found += (piece * _PIECE + np.searchsorted(sums, own - ends[piece], "left")).tolist()
        return found

    def part(self, which: slice | I64 | npt.NDArray[np.bool_]) -> Weights:
        """Of some of the roots, by their places, or a mark for each."""
        if self._offsets is not None and isinstance(which, slice):
            begin, end, step = which.indices(len(self))
            if step == 1 and begin < end:
                return Weights.of_rows(self._offsets[begin : end + 1])
        return Weights(self.each[which])

    def _piece_ends(self) -> I64:
        """The sums before each piece and at the end, i64[pieces + 1]. They are summed up in pieces, and only in the
        pieces that are looked at one by one: these are few of many millions."""
        if self._ends is None:
            begins = np.arange(0, len(self.each), _PIECE)
            sums = np.add.reduceat(self.each, begins) if len(begins) else begins
            self._ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sums)])
        return self._ends


def units(weights: Weights, workers: int) -> list[tuple[int, int]]:
    """Cut a first loop into half-open ranges of about equal estimated work, at least one root each;
    one worker shares with no other."""
    at_most = min(workers * UNITS_PER_WORKER, weights.total // LEAST_WEIGHT)
    return weights.cut(1 if workers == 1 else min(at_most, len(weights)))


def helpers_of_all() -> Threads:
    """The pool of this process, made when first needed; queries share it, and each also works on the
    thread that called it."""
    return _helpers.get()


@dataclass(slots=True, eq=False)
class Helpers:
    """The threads of one run, or of several beside one another.

    most : threads that there may be, the first included. beside : the threads of the runs that it is beside, where
        those with no run left may help; None for none. active : how many are at work or called; borrowed : of
        these, from `beside`. calls : of those beside the first.
    """

    most: int
    beside: Helpers | None = None
    active: int = 1
    borrowed: int = 0
    calls: list[Future[None]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def may_be_called(self) -> bool:
        """Whether there may be one more."""
        return self.active < self.most or (self.beside is not None and self.beside.may_be_called)

    def call(self, work: Callable[[], None]) -> bool:
        """Have one more thread work, if there may be one more; whether there may.

        work : calls `ended` at its end. It is not kept, for it holds the run.
        """
        if not self._begins():
            return False
        self.calls.append(helpers_of_all().submit(usage.carry_usage(work)))
        return True

    def _begins(self) -> bool:
        with self.lock:
            borrows = self.active >= self.most
            if borrows and (self.beside is None or not self.beside._begins()):
                return False
            self.active += 1
            self.borrowed += borrows
            return True

    def call_all(self, work: Callable[[], None], most: int | None = None) -> None:
        """As `call`, of as many threads as there may be, at most so many beside the first."""
        while (most is None or len(self.calls) < most) and self.call(work):
            pass

    def ended(self) -> None:
        """One thread less is at work."""
        with self.lock:
            self.active -= 1
            if self.borrowed and self.beside is not None:
                self.borrowed -= 1
                self.beside.ended()

    def finish(self) -> None:
        """Wait until all have ended, those as well that others call meanwhile. Raises what one of them raised."""
        for call in self.calls:
            if call.cancel():  # it has not begun, and found an empty queue
                self.ended()
            else:
                waiting.result(call)

    def give_up(self) -> None:
        """Wait until all that have begun have ended, whatever they raise."""
        for call in self.calls:
            if not call.cancel():
                waiting.wait_for_future(call)


class Cancelling(Protocol):
    """What says that a run was cancelled: an event, or for a task of another process the stop of its query."""

    def is_set(self) -> bool:
        """Whether the run is to stop."""
        ...


class Flag:
    """A boolean that threads set and look at, and none waits for: an Event is too dear for a small query."""

    __slots__ = ("_set",)

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        """Make it true; it never becomes false again."""
        self._set = True

    def is_set(self) -> bool:
        """Whether `set` was called."""
        return self._set


class Elsewhere(Exception):
    """A run was given up, because another device, or another plan, would be done sooner."""


@dataclass(slots=True, eq=False)
class Guard:
    """Gives a run up where another device, or another plan, is expected to do all of it sooner than this one does the
    rest.

    seconds : what the other takes for so many steps; None where there is none. Of steps and not of seconds here: a plan
        may be slow here because each of its steps is, and not because they are many.
    least : seconds until the first comparison; the next ones follow each time that half as much again has passed.
    whole : seconds that all of the run was found to take here.
    """

    seconds: Callable[[float], float | None]
    least: float
    begun: float = field(default_factory=time.monotonic)
    whole: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def leaves(self, progress: Callable[[], float], steps: int) -> bool:
        """Whether to give up. progress : the share of the work that is done, above 0. steps : of what is done."""
        passed = time.monotonic() - self.begun
        if passed < self.least or not self.lock.acquire(blocking=False):
            return False
        try:
            self.least = 1.5 * passed
            done = progress()
            self.whole = passed / done
            there = self.seconds(steps / done)
            if there is None:
                self.least = float("inf")
                return False
            return there < self.whole - passed
        finally:
            self.lock.release()


class Watch:
    """Decides between launches whether a run goes on: cancelled, out of time, failed elsewhere, given up for another
    device, or rows enough."""

    def __init__(self, timeout: float | None, cancel: Cancelling | None, limit: int | None) -> None:
        self.deadline = None if timeout is None else time.monotonic() + timeout
        self.timeout, self.cancel, self.limit = timeout, cancel, limit
        self.found = 0
        # what a GPU did for it: seconds in kernels, bytes copied to the device
        self.kernel_seconds, self.moved_bytes = 0.0, 0
        # how often each loop was bound, i64[loops], where that is wanted
        self.bound: I64 | None = None
        self.guards: tuple[Guard, ...] = ()
        self.left: Guard | None = None  # the one that gave it up
        self.steps = 0  # of all workers; counted where there is a guard
        # the share that is done of the plan that runs; while several run beside one another, of all of them (`beside`)
        self.progress: Callable[[], float] | None = None
        self.beside: Callable[[], float] | None = None
        # of several plans: the share of those that were run, and that of the one whose `progress` it is
        self.before, self.share = 0.0, 1.0
        # where a run of the CPU begins instead of before its roots; from when on, from how many rows on, or whether by
        # now it only ends what it cannot give away; and what it gave, for others to go on with
        self.start: Place | None = None
        self.until: float | None = None
        self.taken_back: Callable[[], bool] | None = None
        self.most_rows: int | None = None
        self.rest: list[Place] = []
        self.stopped = Flag()
        self.lock = threading.Lock()

    def going(self) -> bool:
        """Whether to launch again."""
        cancelled = self.cancel is not None and self.cancel.is_set()
        if cancelled or (self.deadline is not None and time.monotonic() > self.deadline):
            self.stopped.set()
        else:
            for guard in self.guards:
                if guard.leaves(self.share_done, self.steps):
                    self.left = guard
                    self.stopped.set()
        return not self.stopped.is_set()

    @property
    def may_give(self) -> bool:
        """Whether others may go on with what is left of the run, at places of the whole stage."""
        ends = self.until, self.taken_back, self.most_rows
        return any(end is not None for end in ends)

    def giving(self) -> bool:
        """Whether others go on with what is left."""
        if self.until is not None and time.monotonic() > self.until:
            return True
        if self.taken_back is not None and self.taken_back():
            return True
        return self.most_rows is not None and self.found >= self.most_rows

    def beginning(self) -> bool:
        """Whether to begin another work unit."""
        return not self.giving() and self.going()

    def share_done(self) -> float:
        """Of the work, that of all plans; above 0."""
        progress = self.progress if self.beside is None else self.beside
        own = 0.0 if progress is None else progress()
        return max(self.before + self.share * own, 1e-9)

    def took(self, steps: int) -> None:
        """Note that a launch took so many steps."""
        if self.guards:
            with self.lock:
                self.steps += steps

    def add_rows(self, n: int) -> None:
        """Count rows found; the run stops once the limit is reached."""
        with self.lock:
            self.found += n
            if self.limit is not None and self.found >= self.limit:
                self.stopped.set()

    def grant(self, n: int) -> int:
        """Count n rows found, and say how many of them are still wanted."""
        with self.lock:
            if self.limit is not None:
                n = max(min(n, self.limit - self.found), 0)
                if self.found + n >= self.limit:
                    self.stopped.set()
            self.found += n
            return n

    def check(self) -> None:
        """Raise what stopped the run, if it was not simply enough rows."""
        if self.cancel is not None and self.cancel.is_set():
            raise Cancelled("The query was cancelled.")
        if self.left is not None:
            raise Elsewhere
        enough = self.limit is not None and self.found >= self.limit
        late = self.deadline is not None and time.monotonic() > self.deadline
        if late and self.stopped.is_set() and not enough:
            # `timeout` is what was left of it when this run began: its setter names it (`gdb.run.request.Clock`)
            raise QueryTimeout(
                "The query ran longer than its timeout.", "Raise timeout= or query less."
            )
