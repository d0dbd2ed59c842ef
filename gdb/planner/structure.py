"""Counting by structure: which vertices are looped over, what is counted below them without loops,
and which smaller patterns are taken off again (thesis ch. 3, DecoMine).

For each set of loops that leaves a forest there is a nest whose tail counts that forest; vertices of
the forest that must differ and are no twins are let be equal, and the embeddings in which they are
are counted by further plans (`gdb.planner.problem`), each chosen in the same way. The choice is by
measured steps: `gdb.planner.moments` says which alternatives are worth a look,
`gdb.executor.cpu.sample` walks a random part of them.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gdb.base.threads import import_beside
from gdb.base.waiting import LEAST
from gdb.errors import LimitExceeded
from gdb.executor.nest.prepare import entangled_vertices, loop_nest, stage
from gdb.executor.plan.plan import Extend, Plan, Scan
from gdb.executor.plan.source import GraphSource
from gdb.executor.plan.valid_plans import verify
from gdb.planner.moments import MOST_VERTICES, Moments
from gdb.planner.order import joined
from gdb.planner.problem import Pairs, Problem, different, quotients
from gdb.planner.symmetry import Automorphisms, Symmetry, break_symmetry, orbit_of
from gdb.records import dataclass, field, replace

if TYPE_CHECKING:
    from gdb.executor.cpu.sample import Estimate
    from gdb.executor.nest.prepare import Prepared
    from gdb.planner.distinct import ModeConditions
    from gdb.planner.resolved_graph import PlannerSource, Resolved

Arrange = Callable[[Problem, tuple[int, ...], Symmetry, int], Plan]
Measure = Callable[[Plan, float], float]
Entangled = Callable[[Plan], "frozenset[tuple[int, int]] | None"]


@dataclass(frozen=True, slots=True)
class Effort:
    """When a search begins, and how much of what the first plan would cost it may cost.

    sample_from : roots and their neighbours. search_from : steps of the first plan; search_surely : those above which
        there is a search however many they are. draws, share, least, most : pairs of one sample, and its steps: a share
        of the first plan's within bounds. tries : alternatives of one problem that are measured. search_share,
        longest : time of the search: a share of the first plan's, and seconds at most.
    rounds, terms : of a large pattern: how often orders are looked for, each time from the best ones (`sampled_order`),
        and microseconds of the search for conditions to take off, by what it does (`differences`), both at most.
    check : is called between tries; what it raises ends the search.
    """

    sample_from: int = 20_000
    search_from: float = 4e6
    search_surely: float = 1.6e7
    draws: int = 32
    share: float = 0.01
    least: int = 400_000
    most: int = 10_000_000
    tries: int = 6
    search_share: float = 0.5
    longest: float = 1.5
    rounds: int = 1
    terms: float = 45_000
    check: Callable[[], None] = lambda: None


EFFORT = Effort()
LONGER = Effort(rounds=12, terms=math.inf)  # of a search that goes on while the first plan runs
LONGER_FROM = 5e7  # steps of that plan, some 0.3 s of two threads
# steps of a tree that is counted without loops: most, since one call of the kernel does them, which nothing ends before
# (about 0.1 s); so few that nothing is measured first; and for each relationship
MOST_FOREST, SURE_FOREST, FOREST_STEP = 5e6, 2.5e5, 0.25
LEAST_FOREST = 4  # vertices of a tree that is no vertex with leaves
# how much dearer a plan of several loops is than its steps say, which are but an estimate: below one loop all is
# counted at once, which keeps the lanes of a warp busy on a GPU
SEVERAL_LOOPS = 1.15


@dataclass(slots=True)
class Solution:
    """The best way known to count a problem: `plan`, less the problems `less`, so often as `factor` says; steps of
    all of it."""

    steps: float
    plan: Plan
    less: tuple[int, ...] = ()
    factor: int = 1


@dataclass(slots=True, eq=False)
class Solved:
    """A problem looked at: its solution, None if there seems to be none of `most` steps."""

    shape: Automorphisms
    most: float
    solution: Solution | None


@dataclass(slots=True)
class Search:
    """A search for the cheapest way to count a problem and all that it leads to.

    arrange : a plan of a problem from an order, its symmetry and the length of its tail.
    measure : expected steps of a plan, or if these are above a bound, some above it. entangled :
        `gdb.executor.nest.prepare.entangled_vertices`.
    hubs_first : restrictions begin at high degrees, but in cliques.
    tries : alternatives of one problem that are measured. deadline : time.monotonic() at which no further
        one is tried.
    """

    arrange: Arrange
    measure: Measure
    entangled: Entangled
    hubs_first: bool
    tries: int
    deadline: float
    known: list[Solved] = field(default_factory=list)

    def solve(self, problem: Problem, most: float) -> int | None:
        """The number, in `known`, of a solution of at most `most` steps; None if there seems to be none."""
        shape = problem.group
        for k, known in enumerate(self.known):
            if shape.n == known.shape.n and shape.onto(known.shape):
                if known.solution is None and most > 2 * known.most:
                    known.most, known.solution = most, self._best(problem, most)
                fits = known.solution is not None and known.solution.steps <= most
                return k if fits else None
        known = Solved(shape, most, None)
        self.known.append(known)
        known.solution = self._best(problem, most)
        return self.known.index(known) if known.solution is not None else None

    def _best(self, problem: Problem, most: float) -> Solution | None:
        if len(problem.query.candidates) == 1 or len(problem.query.candidates) > MOST_VERTICES:
            return None
        best: Solution | None = None
        least = float("inf")
        scale = float("inf")
        for tried, (expected, order, loops) in enumerate(_alternatives(problem)):
            late = tried > 0 and time.monotonic() > self.deadline
            if tried == self.tries or late or (tried and expected * scale > most * 4):
                break
            for found in self._alternative(problem, order, loops, most):
                scale = min(scale, found.steps / max(expected, 1.0))
                cost = found.steps * (SEVERAL_LOOPS if loops > 1 else 1.0)
                if found.steps <= most and cost < least:
                    best, least, most = found, cost, found.steps
        return best

    def _alternative(
        self, problem: Problem, order: tuple[int, ...], loops: int, most: float
    ) -> Iterator[Solution]:
        """The nest of one set of loops; where the rest is no tail as it is, with more loops and all
        conditions, and with fewer of both."""
        plan = self._symmetric(problem, order, len(order), len(order) - loops)
        pairs = self.entangled(plan) if plan is not None else None
        if plan is not None:
            exact = plan if pairs == frozenset() else replace(plan, tail=0)
            steps = self.measure(exact, most)
            yield Solution(steps, exact)
            most = min(most, steps)
        if pairs != frozenset():
            yield from self._relaxed(problem, order, loops, most)

    def _relaxed(
        self, problem: Problem, order: tuple[int, ...], loops: int, most: float
    ) -> Iterator[Solution]:
        tail = len(order) - loops
        plan = self._symmetric(problem, order, loops, tail)
        pairs = self.entangled(plan) if plan is not None else None
        if pairs is None:
            return
        problem, factor = self._ordered(problem, pairs, order[0])
        if factor > 1:
            plan = self._symmetric(problem, order, loops, tail)
            pairs = self.entangled(plan) if plan is not None else None
            if pairs is None:
                return
        plan = self._symmetric(replace(problem, apart=problem.apart - pairs), order, loops, tail)
        if plan is None or self.entangled(plan) != frozenset():
            return
        steps = self.measure(plan, most)
        less: list[int] = []
        for smaller in quotients(problem, pairs):
            number = self.solve(smaller, most - steps) if steps <= most else None
            if number is None:
                return
            solution = self.known[number].solution
            steps += solution.steps if solution is not None and number not in less else 0.0
            less.append(number)
        plan = replace(plan, multiplicity=plan.multiplicity * factor)
        yield Solution(steps, plan, tuple(less), factor)

    def _ordered(self, problem: Problem, pairs: Pairs, first: int) -> tuple[Problem, int]:
        """The problem with a first loop that is the hub of its orbit, where without the conditions `pairs` the orbit
        could not be broken any more; and how many embeddings each then represents.

        The condition stays with the problem, and with all that are taken off, so nothing is counted from below a hub.
        """

        def apart(u: int, v: int) -> bool:
            return different(problem, u, v)

        try:
            orbit = orbit_of(problem.group, first, apart)
            free = replace(problem, apart=problem.apart - pairs)
            left = orbit_of(free.group, first, lambda u, v: different(free, u, v))
        except LimitExceeded:
            return problem, 1
        if len(orbit) <= len(left):
            return problem, 1
        return problem.least_of(orbit, hubs_first=self.hubs_first), len(orbit)

    def _symmetric(
        self, problem: Problem, order: tuple[int, ...], broken: int, tail: int
    ) -> Plan | None:
        """The plan with the symmetry of its first vertices broken."""
        try:
            symmetry = break_symmetry(
                problem.query,
                order[:broken],
                lambda u, v: different(problem, u, v),
                hubs_first=self.hubs_first and not problem.query.is_clique,
                group=problem.group,
            )
        except LimitExceeded:
            return None
        if problem.order:
            restrictions = (*sorted(problem.order), *symmetry.restrictions)
            symmetry = replace(symmetry, restrictions=restrictions)
        return self.arrange(problem, order, symmetry, min(tail, len(order) - 1))

    def terms(self, number: int) -> tuple[tuple[int, Plan], ...]:
        """All plans that a solution consists of, with their coefficients; its own first."""
        weights: Counter[int] = Counter()
        self._weigh(number, 1, weights)
        found = []
        for k, weight in weights.items():
            solution = self.known[k].solution
            if weight and solution is not None:
                found.append((weight, solution.plan))
        return tuple(found)

    def _weigh(self, number: int, weight: int, weights: Counter[int]) -> None:
        weights[number] += weight
        solution = self.known[number].solution
        if solution is not None:
            for smaller in solution.less:
                self._weigh(smaller, -weight * solution.factor, weights)


def by_structure(
    first: Plan,
    problem_of: Callable[[], Problem | None],
    source: GraphSource,
    arrange: Arrange,
    effort: Effort,
    *,
    hubs_first: bool,
    divisor: int,
) -> Plan:
    """The cheapest way found to count what `first` counts: `first` itself where that is cheap enough.

    problem_of : the same as a counting problem, None where it is none.
    hubs_first : as `Search` has it.
    divisor : embeddings of one subgraph, where those are counted.
    """
    if source.edge_count >= LEAST:
        import_beside("gdb.executor.cpu.sample")  # while the graph is read
    if stage(first, source, windows=True).work < effort.sample_from:
        return first
    from gdb.executor.cpu.sample import SECONDS_A_STEP, estimate  # compiles kernels

    # a stage is kept for its id; with the bounds of its estimate
    measured: dict[int, tuple[Prepared, int, float, Estimate]] = {}

    def measure(plan: Plan, most: int, beyond: float = math.inf) -> Estimate:
        prepared = stage(plan, source, windows=True)
        known = measured.get(id(prepared))
        if known is not None:
            _, longest, bound, found = known
            whole = found.least <= bound and (longest == most or found.drawn == effort.draws)
            if found.least > beyond or (whole and (longest == most or found.exact)):
                return found
        found = estimate(prepared, effort.draws, most, beyond=beyond)
        measured[id(prepared)] = prepared, most, beyond, found
        return found

    found, problem = None, None
    if first.notes.automorphisms != math.factorial(first.vertices):
        found = measure(first, effort.least, effort.search_surely)
        problem = problem_of() if found.steps >= effort.search_from else None
    if found is None or problem is None:  # in a clique all vertices are alike
        found = measure(first, effort.least)
        return _noted(first, found.steps, found)
    most = max(effort.least, min(effort.most, int(effort.share * found.steps)))
    cut = found.least > effort.search_surely
    if not cut:
        found = max(found, measure(first, most), key=lambda e: e.steps)
    seconds = min(effort.search_share * found.steps * SECONDS_A_STEP, effort.longest)
    search = Search(
        arrange,
        lambda plan, beyond: measure(plan, most, beyond).steps,
        lambda plan: entangled_vertices(plan, source),
        hubs_first,
        effort.tries,
        time.monotonic() + seconds,
    )
    # few pairs that were drawn say no more than that there is a search: their mean bounds nothing
    number = search.solve(problem, math.inf if cut else found.steps)
    solution = search.known[number].solution if number is not None else None
    if cut and (solution is None or solution.steps > found.least):
        found = measure(first, most)
        solution = None if solution is None or found.steps <= solution.steps else solution
    if number is None or solution is None:
        return _noted(first, found.steps, found)
    (_, plan), *terms = search.terms(number)
    plan = replace(plan, terms=tuple(terms), divisor=divisor)
    return verify(_noted(plan, solution.steps, measure(plan, most)))


def expected_steps(plan: Plan, source: GraphSource, effort: Effort) -> float:
    """Steps of a counting plan and its terms: as its notes have them, else of a sample."""
    if plan.notes.steps is not None:
        return plan.notes.steps
    prepared = stage(plan, source, windows=True)
    if prepared.work < effort.sample_from:
        return float(prepared.work)
    from gdb.executor.cpu.sample import estimate  # compiles kernels

    return estimate(prepared, effort.draws, effort.least, beyond=effort.search_surely).steps


def is_forest(query: Resolved, held: ModeConditions) -> bool:
    """Whether a connected pattern is a tree in which nothing has to differ, and more than a vertex with leaves: that is
    counted for one vertex after another, by many threads."""
    n = len(query.candidates)
    if n < LEAST_FOREST or len(query.edges) != n - 1 or query.negated:
        return False
    if held.vertices or held.edges or held.apart or held.bound or held.between:
        return False
    return max(len(query.neighbours(v)) for v in range(n)) < n - 1


def forest(plan: Plan, source: PlannerSource) -> Plan | None:
    """A plan of such a pattern that counts it without loops: it goes over each relationship of its types once. None
    where that cannot be, or takes more than `MOST_FOREST` steps."""
    if not all(isinstance(phase, Scan | Extend) for phase in plan.phases):
        return None
    edges = sum(source.shape(view.types, view.direction).edges for view in plan.views)
    steps = FOREST_STEP * edges + plan.candidates[plan.order[0]].count
    notes = replace(plan.notes, steps=steps)
    whole = verify(replace(plan, tail=plan.vertices, notes=notes, stages={}))
    if steps > MOST_FOREST or loop_nest(whole, source, windows=True).loops:
        return None
    return whole


def _noted(plan: Plan, steps: float, estimate: Estimate) -> Plan:
    return replace(plan, notes=replace(plan.notes, steps=steps, bound=estimate.bound))


def _alternatives(problem: Problem) -> list[tuple[float, tuple[int, ...], int]]:
    """Expected steps, order and number of loops, the cheapest first. Of those that cost exactly the same,
    which nearly always are images of one another, one is enough."""
    moments = Moments(problem.query)
    everyone = (1 << moments.n) - 1
    found: dict[tuple[float, int], tuple[float, tuple[int, ...], int]] = {}
    for loops, (cost, order) in moments.loops().items():
        if loops != everyone and moments.leaves_forest(loops):
            whole = joined(
                problem.query, [*order, *(v for v in range(moments.n) if v not in order)]
            )
            if whole is not None:
                steps = cost + moments.tail(loops)
                key = float(f"{steps:.9g}"), len(order)
                found.setdefault(key, (steps, whole, len(order)))
    return sorted(found.values())
