"""Walkers over a graph, each with its stack and buffers, and their work on a pool of threads.

A work unit is a range of rows; between launches of about 10 ms a walker looks whether it may go on, and hands over what
it has found.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gdb.base import waiting
from gdb.base.budget import Budget
from gdb.base.machine.cores import cores
from gdb.storage.disk.arrays import placed
from gdb.storage.graph.adjacency import I64, U32

from ..walk import Conditions, Differ, Paths, Question, Steps, together
from ..work.scheduler import Weights, helpers_of_all, units
from . import paths, reach, walk_memory
from .walk_memory import MARKS
from .workers import view_row

STEPS = 2_000_000  # of a launch: about 10 ms
SEARCHED = 12  # edges of a path that are looked through; longer ones mark what they have
WORTH_A_THREAD = 20_000  # expected steps
FOUND = "the paths that it found"
"""What memory is for."""
_FEW = 1024  # tables of paths that are made one
_NOTHING = (0,) * (paths.WK.CAPACITY - 3)  # of a state, behind ROW, LAST and DEPTH
Part = TypeVar("Part")


def address(array: npt.NDArray[np.generic] | None) -> int:
    """Where an array lies; 0 for none."""
    return 0 if array is None or not array.size else int(array.ctypes.data)


class Walker:
    """One thread's place in the paths of a question; what it is given stays its own until it is done.

    keeps : what of the paths is kept (`paths.LIST`, ...). most : paths of a row after which it is left.
    budget : by which what it has for each vertex is placed; None: in memory.
    """

    def __init__(
        self,
        question: Question,
        keeps: int,
        most: int | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.question, self.keeps = question, keeps
        self.row = _question(question, keeps, most)
        self._own: list[npt.NDArray[np.generic]] = []  # which is held as long as it may be used
        self._room = walk_memory.buffers()
        self.state = self._room.state
        self.state[paths.WK.TALLY : paths.WK.N] = 0
        self.state[paths.WK.NUMBER] = self.state[paths.WK.TOUCHED] = 0
        if keeps == paths.TALLIES:
            self._give(paths.WK.TALLY, placed(question.vids, np.int64, MARKS, budget))
            self._give(paths.WK.TOUCHED_VIDS, placed(question.vids, np.uint32, MARKS, budget))
        high = question.high
        if question.differ is not Differ.NOTHING and (high is None or high > SEARCHED):
            size = question.edges if question.differ is Differ.EDGES else question.vids
            self._give(paths.WK.BITS, placed(size // 8 + 1, np.uint8, MARKS, budget))

    def leave(self) -> None:
        """Leave its stack and its buffers to another walker; it is not used any more."""
        self._room.leave()
        del self._room, self.state

    def _give(self, place: int, array: npt.NDArray[np.generic]) -> None:
        self._own.append(array)
        self.state[place] = array.ctypes.data

    def near(self, distances: U32 | None, far: int) -> None:
        """Go only where the goal is near enough; far : at least so many steps are what distances do not know."""
        self.row[paths.QU.NEAR], self.row[paths.QU.FAR] = address(distances), far

    def exactly(self, length: int, most: int | None) -> None:
        """Give only paths of that length, and no more than so many of a row."""
        self.row[paths.QU.LOW] = self.row[paths.QU.HIGH] = length
        self.row[paths.QU.MOST] = -1 if most is None else most

    def run(self, begin: int, end: int, conditions: Conditions) -> list[Paths]:
        """Walk from the rows [begin, end)."""
        state, room, bound = self.state, self._room, conditions.bound
        state[: paths.WK.CAPACITY] = begin, end, -1, *_NOTHING
        most = walk_memory.CAPACITY
        state[paths.WK.CAPACITY] = most if bound is None else min(bound.most + 1, most)
        found: list[Paths] = []
        q, s = self.row.ctypes.data, state.ctypes.data
        while True:
            conditions.look()
            status = paths.walk(q, s, STEPS)
            left = bound is not None and bound.short and status == paths.YIELDED
            if status == paths.DEEP:
                room.make_stack(2 * int(state[paths.WK.ROOM]))
            elif status == paths.FULL and not state[paths.WK.COUNT]:
                room.make_edges(2 * int(state[paths.WK.EDGE_CAPACITY]))
            elif left or status in (paths.FULL, paths.DONE):
                found.append(self._taken(conditions))
                if bound is not None:
                    bound.found += len(found[-1].rows)
                    bound.cut = bound.cut or left or bound.found > bound.most
                    left = bound.cut
            if status == paths.DONE or left:
                return found

    def _taken(self, conditions: Conditions) -> Paths:
        """What is in the buffers, which are empty then. Where no edges are kept, offsets are the numbers instead."""
        state, room = self.state, self._room
        n, m = int(state[paths.WK.COUNT]), int(state[paths.WK.EDGES])
        conditions.budget.take(20 * n + 8 * m, FOUND)
        state[paths.WK.COUNT] = state[paths.WK.EDGES] = 0
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum(room.numbers[:n], out=offsets[1:])
        eids = room.eids[:m].copy() if self.keeps == paths.LIST else offsets[:0]
        return Paths(room.rows[:n].copy(), room.ends[:n].copy(), offsets, eids)

    @property
    def pruned(self) -> bool:
        """Whether the last run left something out because the goal was too far from it."""
        return bool(self.state[paths.WK.PRUNED])

    @property
    def longest(self) -> int:
        """How many edges it went in the last run."""
        return int(self.state[paths.WK.LONGEST])


def _question(question: Question, keeps: int, most: int | None) -> I64:
    """The question as the kernel reads it, i64; the addresses are the question's own arrays."""
    row = np.zeros(paths.QU.N + 16, np.int64)
    row[paths.QU.LOW] = question.low
    row[paths.QU.HIGH] = -1 if question.high is None else question.high
    row[paths.QU.DIFFER], row[paths.QU.SIDES] = question.differ, question.steps.sides
    row[paths.QU.STARTS], row[paths.QU.GOALS] = address(question.starts), address(question.goals)
    row[paths.QU.USED_AT], row[paths.QU.USED] = address(question.used_at), address(question.used)
    row[paths.QU.ALLOWED], row[paths.QU.ENDS] = (
        address(question.steps.allowed),
        address(question.ends),
    )
    row[paths.QU.KEEPS], row[paths.QU.MOST] = keeps, -1 if most is None else most
    view = view_row(question.steps.view, question.steps.eids, restricted=False)
    row[paths.QU.N : paths.QU.N + len(view)] = view
    row[paths.QU.VIEW] = row.ctypes.data + 8 * paths.QU.N
    return row


class Searcher:
    """One thread's place in the breadth-first searches of a question.

    width : rows that are searched from together, as if they were one. most : ends of a row after which it is left.
    """

    def __init__(
        self, question: Question, width: int, most: int | None, budget: Budget | None
    ) -> None:
        self.question = question
        self.row = _question(question, paths.LENGTHS, most)
        self.state = np.zeros(reach.SE.N, np.int64)
        self._room, self._marks = walk_memory.buffers(), walk_memory.marks(question.vids, budget)
        self.state[: paths.WK.N] = self._room.state
        self._marks.put(self.state)
        self.state[paths.WK.COUNT], self.state[paths.WK.CAPACITY] = 0, walk_memory.CAPACITY
        self.state[reach.SE.WIDTH] = width
        self.state[reach.SE.CLOSED] = _closed(question.steps, question.differ)

    def run(self, begin: int, end: int, conditions: Conditions) -> list[tuple[I64, U32]]:
        """Search from the rows [begin, end)."""
        state, room = self.state, self._room
        state[paths.WK.ROW], state[paths.WK.LAST] = begin, end
        found: list[tuple[I64, U32]] = []
        while True:
            conditions.look()
            status = reach.reach(self.row.ctypes.data, state.ctypes.data, STEPS)
            if status in (paths.FULL, paths.DONE):
                n = int(state[paths.WK.COUNT])
                conditions.budget.take(12 * n, "what it reached")
                state[paths.WK.COUNT] = 0
                found.append((room.rows[:n].copy(), room.ends[:n].copy()))
            if status == paths.DONE:
                return found

    def leave(self) -> None:
        """As a walker's. Its last run was not interrupted."""
        self._room.leave()
        self._marks.leave()
        del self._room, self._marks


def _closed(steps: Steps, differ: Differ) -> int:
    if differ is Differ.VERTICES:
        return reach.NEVER
    both = differ is Differ.EDGES and steps.sides == paths.BOTH_SIDES
    return reach.BRANCHES if both else reach.ANY_EDGE


# ---- on all threads ----------------------------------------------------------------------------------


def list_paths(question: Question, conditions: Conditions) -> Paths:
    """All paths, with their edges.

    Raises
    ------
    OutOfBudget; what `conditions.look` raises.
    """
    return joined(_walked(question, paths.LIST, conditions), conditions)


def joined(parts: Iterable[Paths], conditions: Conditions) -> Paths:
    """Several tables of paths as one. Those of single rows are small: a few are made one as they come, for an array is
    larger than a path. Raises OutOfBudget."""
    large: list[Paths] = []
    few: list[Paths] = []
    for part in parts:
        few.append(part)
        if len(few) == _FEW:
            large.append(_copied(few, conditions))
            few = []
    return _copied([*large, *few], conditions)


def _copied(parts: list[Paths], conditions: Conditions) -> Paths:
    """Several tables of paths as one; for a moment there are both. Raises OutOfBudget."""
    size = sum(part.nbytes for part in parts) if len(parts) > 1 else 0
    conditions.budget.take(size, FOUND)
    found = together(parts)
    conditions.budget.give_back(size, FOUND)
    return found


def measure_paths(question: Question, conditions: Conditions) -> tuple[I64, U32, I64]:
    """Of all paths the row, the end and the length; i64[n], u32[n], i64[n]. Raises as `list_paths`."""
    return _numbers(_walked(question, paths.LENGTHS, conditions), conditions)


def tally_ends(question: Question, conditions: Conditions) -> tuple[I64, U32, I64]:
    """How many paths of each row end at each vertex where any does: row, end, number; i64[n], u32[n], i64[n]. Raises as
    `list_paths`."""
    return _numbers(_walked(question, paths.TALLIES, conditions), conditions)


def count_paths(question: Question, conditions: Conditions) -> tuple[I64, I64]:
    """How many paths each row has that has any: row, number; i64[n] each. Raises as `list_paths`."""
    rows, _, numbers = _numbers(_walked(question, paths.NUMBERS, conditions), conditions)
    return rows, numbers


def reach_ends(
    question: Question,
    conditions: Conditions,
    *,
    as_one: bool = False,
    most: int | None = None,
) -> tuple[I64, U32]:
    """Where the paths of each row end, each vertex once: row, end; i64[n], u32[n]. Raises as `list_paths`.

    as_one : where those of any row end; the row is 0. most : no more than so many ends are needed.
    The question must be `reachable`, and have no goals.
    """
    assert question.reachable
    assert question.goals is None
    # a start is reached from another start by a path that the search from all takes for one from itself
    alone = question.differ is Differ.VERTICES and question.low > 0
    width = question.rows if as_one and not alone else 1
    assert width == 1 or question.used_at is None
    with conditions.budget.part() as own:

        def work() -> Callable[[int, int], list[tuple[I64, U32]]]:
            searcher = Searcher(question, max(width, 1), most, own)
            return lambda begin, end: searcher.run(begin, end, conditions)

        if question.rows == 1 and not question.impossible:
            searcher = Searcher(question, 1, most, own)
            parts = searcher.run(0, 1, conditions)
            searcher.leave()
        else:
            parts = _on_threads(question, work, conditions, whole=width > 1)
    if len(parts) == 1 and question.rows == 1:
        return parts[0]
    none = np.zeros(0, np.int64), np.zeros(0, np.uint32)
    rows = np.concatenate([none[0], *(part[0] for part in parts)])
    ends = np.concatenate([none[1], *(part[1] for part in parts)])
    if as_one and width == 1 and question.rows > 1:
        ends = np.unique(ends)
        rows = np.zeros(len(ends), np.int64)
    return rows, ends


def _numbers(parts: list[Paths], conditions: Conditions) -> tuple[I64, U32, I64]:
    if len(parts) == 1:
        return parts[0].rows, parts[0].ends, parts[0].lengths
    conditions.budget.take(sum(part.nbytes for part in parts), FOUND)
    rows = np.concatenate([np.zeros(0, np.int64), *(part.rows for part in parts)])
    ends = np.concatenate([np.zeros(0, np.uint32), *(part.ends for part in parts)])
    return rows, ends, np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])


def _walked(question: Question, keeps: int, conditions: Conditions) -> list[Paths]:
    with conditions.budget.part() as own:
        if question.rows == 1 and not question.impossible:
            walker = Walker(question, keeps, budget=own)
            found = walker.run(0, 1, conditions)
            walker.leave()
            return found

        def work() -> Callable[[int, int], list[Paths]]:
            walker = Walker(question, keeps, budget=own)
            return lambda begin, end: walker.run(begin, end, conditions)

        return _on_threads(question, work, conditions, whole=conditions.bound is not None)


def _on_threads(
    question: Question,
    work: Callable[[], Callable[[int, int], list[Part]]],
    conditions: Conditions,
    *,
    whole: bool = False,
) -> list[Part]:
    """What workers make of all rows. work : makes a worker, which takes a range of rows. whole : of all at once."""
    if question.impossible:
        return []
    weights = Weights(_weights(question))
    threads = conditions.threads or cores()
    if whole or weights.total < WORTH_A_THREAD:
        threads = 1
    queue = deque(units(weights, threads))
    threads = min(threads, len(queue))
    found: list[Part] = []
    lock = threading.Lock()
    failed = threading.Event()

    def run() -> None:
        worker = work()
        while not failed.is_set():
            try:
                begin, end = queue.popleft()
            except IndexError:
                return
            try:
                parts = worker(begin, end)
            except BaseException:
                failed.set()
                raise
            with lock:
                found.extend(parts)

    helpers: list[Future[None]] = [helpers_of_all().submit(run) for _ in range(threads - 1)]
    try:
        run()
    finally:
        for helper in helpers:
            if not helper.cancel():
                waiting.wait_for_future(helper)
    for helper in helpers:
        if not helper.cancelled():
            waiting.result(helper)
    return found


def _weights(question: Question) -> I64:
    """About how many steps each row takes, i64[rows]."""
    view = question.steps.view
    degrees = view.degrees_of(question.starts)
    mean = max(view.shape.mean_degree, 1.0)
    deeper = 3 if question.high is None else max(min(question.high, 4) - 1, 0)
    return (degrees * min(mean**deeper, 1e6)).astype(np.int64) + 1
