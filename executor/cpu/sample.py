"""The work of a stage, estimated by walking a random part of it.

An unbiased estimate in the manner of Horvitz and Thompson (thesis §2.4: sampled walks through a
plan): roots are drawn with a probability proportional to their weight, below each one element of
the second loop, and the kernel runs everything under that pair. The steps of a pair, divided by the
probability with which it was drawn, have the steps of the whole stage as their expectation. Steps
are what the kernel counts for its budget (one for an element that is looked at, one for four of a
set operation, four for the operation itself), so the same question always gets the same estimate.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator, default_rng  # here: a thread imports this module ahead

from gdb.base import usage
from gdb.records import dataclass
from gdb.storage.graph.adjacency import I64

from ..nest.prepare import Prepared
from ..table_fields import LevelField
from . import address
from .workers import Worker

SECONDS_A_STEP = 1.5e-8  # on one thread, about
CAPACITY = 1 << 12
AT_ONCE = 1 << 20  # steps between two looks at whether the query goes on, some 15 ms


@dataclass(frozen=True, slots=True)
class Estimate:
    """steps : expected steps of the stage. bound : of each loop the expected number of times that it is bound.
    exact : no pair was cut short; else it takes more than that. drawn : pairs. walked : steps of drawing them.
    least : steps that the estimate of all pairs would have at least.
    """

    steps: float
    bound: tuple[float, ...]
    exact: bool
    drawn: int
    walked: int
    least: float

    @property
    def seconds(self) -> float:
        """On one thread, about."""
        return self.steps * SECONDS_A_STEP


def estimate(
    prepared: Prepared, draws: int, most: int, seed: int = 0, beyond: float = float("inf")
) -> Estimate:
    """Draw `draws` pairs, fewer if that takes `most` steps, or once the stage is sure to be estimated to take more than
    `beyond`; a pair is cut short after a third of `most`.

    Cost: the stage's own, times the share that is drawn; and the memory that a worker touches for the first time.
    """
    roots = len(prepared.roots)
    loops = prepared.tables.loops
    if loops == 0 or roots == 0:
        return Estimate(0.0, (0.0,) * loops, True, 0, 0, 0.0)
    random = default_rng(seed)
    weights = prepared.weights
    places = random.integers(weights.total, size=draws).tolist()
    worker = Worker(prepared, CAPACITY, sample=True)
    steps: list[float] = []
    bound = np.zeros(loops)
    exact, walked = True, 0
    for place in places:
        root = weights.roots_within(place)
        one = _pair(worker, root, random, most // 3)
        scale = weights.total / weights.of(root)
        steps.append((one.above + one.below * one.length) * scale)
        bound[0] += scale
        bound[1:] += one.bound[1:loops] * (one.length * scale)
        walked += one.above + one.below
        exact &= one.whole
        if walked > most or sum(steps) > beyond * draws:
            break
    mean = tuple((bound / len(steps)).tolist())
    return Estimate(float(np.mean(steps)), mean, exact, len(steps), walked, sum(steps) / draws)


@dataclass(frozen=True, slots=True)
class _Pair:
    """above : steps to bind the root. below : of everything under one element of the second loop, `length` of how
    many there are. bound : how often each level was bound under it. whole : the walk came to its end."""

    above: int
    below: int
    length: int
    bound: I64
    whole: bool


def _pair(worker: Worker, root: int, random: Generator, longest: int) -> _Pair:
    control, loops = worker.control, worker.prepared.tables.loops
    worker.reset()
    worker.begin(root, root + 1)
    control[address.SPENT] = 0
    if loops == 1 or worker.prepared.tables.levels[0, LevelField.JOINS]:
        whole = _walk(worker, longest)
        return _Pair(int(control[address.SPENT]), 0, 0, worker.bound, whole)
    worker.run(0)  # the root is bound, its sets are computed
    above = int(control[address.SPENT])
    length = 0
    if int(control[address.DEPTH]) == 1:
        worker.run(0)  # the second loop's list is known
        length = int(worker.end[1] - worker.start[1])
    if length == 0:
        return _Pair(above, 0, 0, worker.bound, True)
    at = int(worker.start[1]) + int(random.integers(length))
    worker.position[1], worker.end[1] = at, at + 1
    worker.position[0] = worker.end[0]
    control[address.DEPTH], control[address.ENTERING], control[address.SPENT] = 1, 0, 0
    worker.reset()
    whole = _walk(worker, longest)
    return _Pair(above, int(control[address.SPENT]), length, worker.bound, whole)


def _launched(worker: Worker, steps: int) -> int:
    """Run for so many steps, between which the query looks at whether it is to go on; the status."""
    status = address.YIELDED
    while steps > 0 and status == address.YIELDED:
        usage.pulse()
        status = worker.run(min(steps, AT_ONCE))
        steps -= AT_ONCE
    return status


def _walk(worker: Worker, longest: int) -> bool:
    """Run until everything below is done, or for too long: then False."""
    while int(worker.control[address.SPENT]) < longest:
        status = _launched(worker, longest // 4)
        if status == address.FULL:
            worker.taken()
        elif status != address.YIELDED:
            return status == address.DONE
    return False
