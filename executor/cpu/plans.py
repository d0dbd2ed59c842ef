"""The plans of one count: those of many steps one after another on all threads, the others beside one another.

A nest of few steps is not worth sharing: to give parts of it away takes time too. One that takes longer than was
expected gets the threads that have no plan left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate

from gdb.base import waiting
from gdb.base.machine.cores import cores

from ..nest.degrees import sum_of_degrees
from ..nest.prepare import Prepared
from ..plan.plan import Plan
from ..work.scheduler import Budget, Helpers, Watch
from .launch import STEPS, count

Staged = Callable[[Plan], Prepared]
ALONE = 8 * STEPS  # of a nest that one thread counts beside others


def counts(
    plans: Sequence[Plan],
    staged: Staged,
    watch: Watch,
    budget: Budget,
    threads: int,
    *,
    alone: bool,
) -> list[int]:
    """What each plan's nest counts (without its multiplicity).

    staged : prepares a plan, in the order of `plans` where they run alone. alone : one plan runs at a time, as also
        where memory is bounded, or steps are not known.

    Raises as `launch.count`.
    """
    threads = threads or cores()
    known = [steps for plan in plans if (steps := _own_steps(plan)) is not None]
    alone = alone or budget.limit is not None
    if alone or threads == 1 or len(known) < max(len(plans), 2):
        found, shares = [], known if len(known) == len(plans) else [1.0] * len(plans)
        for plan, (watch.before, watch.share) in zip(plans, _spread(shares), strict=True):
            found.append(_count(staged(plan), watch, budget, threads))
        return found
    most = max(float(ALONE), sum(known) / threads)
    found = [-1] * len(plans)
    long = [k for k, own in enumerate(known) if own > most]
    left = sorted({*range(len(plans))}.difference(long), key=lambda k: known[k], reverse=True)
    rest = [known[k] for k in left]
    spread = _spread([*(known[k] for k in long), sum(rest)])
    for k, (watch.before, watch.share) in zip(long, spread, strict=False):
        found[k] = _count(staged(plans[k]), watch, budget, threads)
    if left:
        watch.before, watch.share = spread[-1]
        helpers = Helpers(min(threads, len(left)))
        run = _Beside(plans, staged, watch, budget, found, deque(left), rest, helpers)
        watch.beside = run.share_done
        run.all()
    return found


def _spread(work: list[float]) -> list[tuple[float, float]]:
    """Of parts that take so much one after another: the share of the whole before each, and its own."""
    whole = max(sum(work), 1.0)
    return [
        (before / whole, own / whole)
        for before, own in zip(accumulate([0.0, *work]), work, strict=False)
    ]


def _count(
    prepared: Prepared,
    watch: Watch,
    budget: Budget,
    threads: int,
    beside: Helpers | None = None,
) -> int:
    """As `launch.count`; what is known without a loop is not counted, but where loops are measured or shared."""
    measured = watch.bound is not None or watch.start is not None or watch.may_give
    known = None if measured else sum_of_degrees(prepared)
    return count(prepared, watch, budget, threads, beside) if known is None else known


def _own_steps(plan: Plan) -> float | None:
    """The steps that a plan is expected to take without its terms."""
    steps = plan.notes.steps
    return None if steps is None else steps - sum(t.notes.steps or 0.0 for _, t in plan.terms)


class _Beside:
    """Plans that threads take one after another, each to its end. left : their numbers. found : where the counts
    go. steps : that they are expected to take, in the order in which they begin. helpers : the threads."""

    def __init__(
        self,
        plans: Sequence[Plan],
        staged: Staged,
        watch: Watch,
        budget: Budget,
        found: list[int],
        left: deque[int],
        steps: list[float],
        helpers: Helpers,
    ) -> None:
        self.plans, self.staged, self.watch, self.budget = plans, staged, watch, budget
        self.found, self.left, self.steps = found, left, steps
        self.helpers = helpers
        self._preparing = waiting.Lock()  # is work in Python, which one thread does at a time

    def all(self) -> None:
        """Count all of them."""
        try:
            self.helpers.call_all(self._work)
            self._work()
            self.helpers.finish()
        except BaseException:
            self.watch.stopped.set()
            self.helpers.give_up()
            raise

    def share_done(self) -> float:
        """Of the expected steps, those of plans under way being half done."""
        begun = len(self.steps) - len(self.left)
        ended = max(begun - self.helpers.most, 0)
        done = sum(self.steps[:ended]) + sum(self.steps[ended:begun]) / 2
        return done / max(sum(self.steps), 1.0)

    def _work(self) -> None:
        try:
            while self.left and not self.watch.stopped.is_set():
                try:
                    k = self.left.popleft()
                except IndexError:  # another thread took it
                    break
                with self._preparing:
                    prepared = self.staged(self.plans[k])
                self.found[k] = _count(prepared, self.watch, self.budget, 1, self.helpers)
        except BaseException:
            self.watch.stopped.set()
            raise
        finally:
            self.helpers.ended()
