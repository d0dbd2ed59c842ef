"""Shortest paths between the two ends of each row, and the k shortest.

How far vertices are from the goal is found breadth first: from both ends at once where a row is alone with its ends,
else once for all rows that share one. A walker then follows only steps that bring it nearer, so that it takes no longer
than its paths are. The paths between two ends in order of length come from walkers that give paths of one length, for
each length in turn, and leave what is too far from the goal to come to it in time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from gdb.records import replace
from gdb.storage.graph.adjacency import I64, U32

from ..walk import Conditions, Paths, Question, Taken, together
from . import paths, reach, walk_memory
from .walkers import STEPS, Walker, _question, address, joined

FAR = 3  # from this length on it is worth knowing what is near a goal


class Side:
    """A breadth-first search from one vertex, level by level.

    distances : see `paths.steps_of`, u32[vids]. queue : what it has reached, level k from levels[k] to levels[k + 1].
    """

    def __init__(self, question: Question, conditions: Conditions) -> None:
        """Along the question's steps."""
        self.question, self.look = question, conditions.look
        self.row = _question(question, paths.LENGTHS, None)
        self._marks = walk_memory.marks(question.vids, conditions.budget)
        self.distances, self.queue = self._marks.distances, self._marks.queue
        self.levels = [0, 0]
        self.state = np.zeros(reach.SE.N, np.int64)
        self.state[reach.SE.DISTANCE] = address(self.distances)
        self.state[reach.SE.QUEUE] = address(self.queue)

    def leave(self) -> None:
        """Leave its memory to another search; it is not used any more."""
        self._clear()
        self._marks.leave()
        del self._marks, self.distances, self.queue

    def _clear(self) -> None:
        self.distances[self.queue[: self.levels[-1]]] = 0

    def begin(self, vid: int, row: int) -> None:
        """Begin at a vertex. row : whose used edges are left out."""
        self._clear()
        self.distances[vid] = paths.UNKNOWN
        self.queue[0] = vid
        self.levels = [0, 1]
        self.state[[paths.WK.ROW, reach.SE.OTHER]] = row, 0

    @property
    def frontier(self) -> int:
        """The vertices of the last level."""
        return self.levels[-1] - self.levels[-2]

    @property
    def depth(self) -> int:
        """The number of the last level that was reached; 0 with the start alone."""
        return len(self.levels) - 2

    def steps_to(self, vid: int) -> int:
        """How far a vertex is, UNKNOWN where that is not known."""
        return paths.UNKNOWN - int(self.distances[vid])

    def spread(self, other: Side | None = None) -> bool:
        """One level more; whether it met what the other side knows."""
        state = self.state
        state[reach.SE.HEAD], state[reach.SE.STOP] = self.levels[-2:]
        state[reach.SE.TAIL], state[reach.SE.MET] = self.levels[-1], 0
        state[reach.SE.OTHER] = 0 if other is None else address(other.distances)
        self._run(reach.spread)
        self.levels.append(int(state[reach.SE.TAIL]))
        return bool(state[reach.SE.MET])

    def exhaust(self, most: int | None) -> None:
        """All levels, or that many."""
        while self.frontier and (most is None or self.depth < most):
            self.spread()

    def settle(self, other: Side) -> None:
        """After this side met the other: give the other the distances from this side's start of its vertices on a
        shortest path."""
        state = self.state
        state[reach.SE.OTHER] = address(other.distances)
        state[reach.SE.AGAIN] = address(other.queue)
        state[reach.SE.TAIL] = other.levels[-1]
        for level in reversed(range(self.depth)):
            state[reach.SE.HEAD], state[reach.SE.STOP] = self.levels[level], self.levels[level + 1]
            state[reach.SE.MET] = other.depth + self.depth - level - 1
            self._run(reach.settle)
        other.levels[-1] = int(state[reach.SE.TAIL])
        state[reach.SE.AGAIN] = 0

    def _run(self, kernel: Callable[[int, int, int], int]) -> None:
        while True:
            self.look()
            if kernel(self.row.ctypes.data, self.state.ctypes.data, STEPS) == paths.DONE:
                return


def select_paths(question: Question, taken: Taken, count: int, conditions: Conditions) -> Paths:
    """Of the paths of each row, those that are taken; the question has goals.

    Raises
    ------
    OutOfBudget; what `conditions.look` raises.
    """
    assert question.goals is not None
    if question.impossible:
        return together([])
    starts, goals = question.starts, question.goals
    turned = len(np.unique(starts)) < len(np.unique(goals))
    if turned:
        question = question.flipped
    selecting = _Selecting(question, taken, count, conditions)
    found = joined(selecting.found(), conditions)
    for part in (selecting.walker, selecting.onward, selecting.back):
        part.leave()
    return found.turned(goals[found.rows]) if turned else found


def shortest_lengths(question: Question, conditions: Conditions) -> tuple[I64, I64]:
    """The rows that have a path, i64[n], and how long their shortest ones are, i64[n]. One search finds the lengths to
    all ends that rows have with one vertex, and no path is walked, but where one of these ends is that vertex.

    question : with goals, a lower bound of at most 1, and no edges that rows may not use. Raises as `select_paths`.
    """
    assert question.goals is not None
    assert question.low <= 1
    assert question.used_at is None
    none = np.zeros(0, np.int64)
    if question.impossible or not question.rows:
        return none, none
    if len(np.unique(question.starts)) < len(np.unique(question.goals)):
        question = question.flipped
    assert question.goals is not None
    starts, goals = question.starts, question.goals
    closed = (starts == goals) if question.low else np.zeros(len(starts), np.bool_)
    order = np.argsort(goals, kind="stable").astype(np.int64)
    order = order[~closed[order]]
    cuts = np.flatnonzero(np.diff(goals[order])) + 1
    back = Side(replace(question, steps=question.steps.flipped), conditions)
    lengths = np.full(len(starts), paths.UNKNOWN, np.int64)
    for rows in np.split(order, cuts) if len(order) else ():
        back.begin(int(goals[rows[0]]), 0)
        back.exhaust(question.high)
        lengths[rows] = paths.UNKNOWN - back.distances[starts[rows]].astype(np.int64)
    back.leave()
    rest = np.flatnonzero(closed).astype(np.int64)
    if len(rest):
        found = select_paths(question.of_rows(rest), Taken.FIRST, 1, conditions)
        lengths[rest[found.rows]] = found.lengths
    there = np.flatnonzero(lengths != paths.UNKNOWN).astype(np.int64)
    return there, lengths[there]


class _Selecting:
    def __init__(
        self, question: Question, taken: Taken, count: int, conditions: Conditions
    ) -> None:
        self.taken, self.count, self.conditions = taken, count, conditions
        assert question.goals is not None
        self.order = np.argsort(question.goals, kind="stable").astype(np.int64)
        self.question = question = question.of_rows(self.order)
        assert question.goals is not None
        self.goals: U32 = question.goals
        self.walker = Walker(question, paths.LIST)
        self.onward = Side(question, conditions)
        back = replace(question, steps=question.steps.flipped)
        self.back = Side(back, conditions)

    def found(self) -> Iterator[Paths]:
        question, goals = self.question, self.goals
        cuts = np.flatnonzero(np.diff(goals)) + 1
        bounds = [0, *cuts.tolist(), question.rows] if question.rows else [0]
        for begin, end in pairwise(bounds):
            if question.used_at is not None:  # each row has edges of its own
                for row in range(begin, end):
                    yield from self._group(row, row + 1)
            else:
                yield from self._group(begin, end)

    def _group(self, begin: int, end: int) -> Iterator[Paths]:
        """The paths of rows that end at one vertex."""
        question, starts = self.question, self.question.starts
        goal = int(self.goals[begin])
        simple = question.low <= 1 and (self.count == 1 or self.taken is Taken.SHORTEST)
        lone = [row for row in range(begin, end) if self._straight(row) and simple]
        alone = end == begin + 1 and bool(lone) and int(starts[begin]) != goal
        if alone:
            self._from_both(begin)
        else:
            self.back.begin(goal, begin)
            self.back.exhaust(question.high)
        every = self.taken is Taken.SHORTEST
        for row in range(begin, end):
            steps = self.back.steps_to(int(starts[row]))
            if steps == paths.UNKNOWN:
                continue
            if simple and self._straight(row):
                if question.high is None or steps <= question.high:
                    yield from self._walked(row, steps, None if every else 1)
            else:
                yield from self._deepening(row, max(steps, question.low))

    def _straight(self, row: int) -> bool:
        """Whether a shortest walk of a row is a path as the question wants it."""
        return self.question.low == 0 or self.question.starts[row] != self.goals[row]

    def _from_both(self, row: int) -> None:
        """Search from both ends of a row, always from where there is less to do, until they meet; the way back then
        knows all that lies on a shortest path."""
        onward, back, high = self.onward, self.back, self.question.high
        onward.begin(int(self.question.starts[row]), row)
        back.begin(int(self.goals[row]), row)
        while onward.frontier and back.frontier:
            if high is not None and onward.depth + back.depth >= high:
                return
            if onward.frontier <= back.frontier:
                met = onward.spread(back)
            else:
                met = back.spread(onward)
            if met:
                onward.settle(back)
                return

    def _walked(self, row: int, length: int, most: int | None) -> Iterator[Paths]:
        """The paths of a row that have a length, as many as are wanted."""
        self.walker.near(self.back.distances, paths.UNKNOWN)
        self.walker.exactly(length, most)
        for part in self.walker.run(row, row + 1, self.conditions):
            yield part.renumbered(self.order)

    def _deepening(self, row: int, length: int) -> Iterator[Paths]:
        """The paths of a row, shorter ones first."""
        high, missing = self.question.high, self.count
        every = self.taken is Taken.SHORTEST
        while high is None or length <= high:
            new = 0
            for part in self._walked(row, length, None if every else missing):
                new += len(part.rows)
                yield part
            missing -= new
            bound = self.conditions.bound
            if bound is not None and bound.cut:
                return
            if (new if every else missing <= 0) or self._at_end(length):
                return
            length += 1

    def _at_end(self, length: int) -> bool:
        """Whether no longer path can be there."""
        return self.walker.longest < length and not self.walker.pruned


def near_goals(question: Question, conditions: Conditions) -> Iterator[tuple[I64, U32 | None, int]]:
    """The rows of each goal, with what is near it: distances, and how far all else is at least; None where it is not
    worth knowing."""
    assert question.goals is not None
    high = question.high
    order = np.argsort(question.goals, kind="stable").astype(np.int64)
    goals = question.goals[order]
    if not len(goals) or (high is not None and high < FAR):
        yield order, None, 0
        return
    back = Side(
        replace(question, steps=question.steps.flipped, used_at=None, used=None), conditions
    )
    cuts = (np.flatnonzero(np.diff(goals)) + 1).tolist()
    for begin, end in zip([0, *cuts], [*cuts, len(goals)], strict=True):
        back.begin(int(goals[begin]), 0)
        most = None if high is None else high // 2
        back.exhaust(most)
        reached = back.frontier == 0  # there is nothing beyond
        yield (
            order[begin:end],
            back.distances,
            paths.UNKNOWN if reached or most is None else most + 1,
        )
    back.leave()


def to_goals(question: Question, conditions: Conditions) -> Paths:
    """All paths of a question that has goals, with their edges. Raises as `walkers.list_paths`."""
    if question.impossible:
        return together([])
    return joined(_to_goals(question, conditions), conditions)


def _to_goals(question: Question, conditions: Conditions) -> Iterator[Paths]:
    walker_of: Walker | None = None
    order = np.argsort(question.goals if question.goals is not None else [], kind="stable")
    question = question.of_rows(order.astype(np.int64))
    for rows, distances, far in near_goals(question, conditions):
        walker_of = walker_of or Walker(question, paths.LIST)
        walker_of.near(distances, far)
        if not len(rows):
            continue
        for part in walker_of.run(int(rows[0]), int(rows[-1]) + 1, conditions):
            yield part.renumbered(order)
        if conditions.bound is not None and conditions.bound.cut:
            break
    if walker_of is not None:
        walker_of.leave()
