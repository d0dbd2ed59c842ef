"""The matching order of a large pattern, from sampled numbers of partial embeddings.

A greedy order over candidates that arc consistency left, by the mean number of edges between them, is nearly always
good for listing. For counting, vertices at the end need no loops where they form a forest: there the sets of loops that
leave one are searched, the cheapest first (a beam search over connected sets of query vertices), by the number of their
embeddings, which samples of all embeddings of the set before estimate (`gdb.planner.sampled_embeddings`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from gdb.executor.plan.plan import Candidates
from gdb.planner.decompose import Decomposition
from gdb.planner.magnitude import surely_too_many
from gdb.planner.moments import bits
from gdb.planner.order import independent_last, joined, matching_order
from gdb.planner.resolved_graph import Resolved
from gdb.planner.shape import Shape
from gdb.records import dataclass, replace

if TYPE_CHECKING:
    from gdb.planner.pricing import Samples
    from gdb.planner.sampled_embeddings import Population, Statistics

MOST_VERTICES = 63  # sets of them are bit masks of 64 bits with a sign
STARTS = 4
FEW = 4  # candidates of a vertex, with which one start will do
MEMBERS = 128  # of a population, at first
MOST_MEMBERS = 512
MOST_LOST = 16_384  # where no member was left
MOST_CANDIDATES = 1_000_000  # of all vertices; above, statistics take longer than many a query
FEWER = 5  # part of it, and of what is sampled, where only some rows are wanted
LOOKED_AT = 5_000_000  # elements that arc consistency may look at, and the trees below candidates
# elements that one sample may look at, about 1 ms; and one by which answers of a search are compared
SAMPLED, COMPARED = 200_000, 80_000
# elements that a search may look at, about 30 ms, and at most a share of the loops that it would spare; and what a set,
# and one that is looked at as a whole, cost besides
SEARCHED, SEARCH_SHARE = 12e6, 0.25
SET, END = 2_000, 50_000
WORTH_A_SEARCH = 100_000.0  # partial embeddings
BEAM = 6
LISTED, SLACK = (
    3,
    4.0,
)  # answers that are looked at again, and how much dearer than the best one they may be
ENDS = 2  # sets of each size that are looked at as a whole
BRANCHES = 6  # next vertices of a set that are looked at
TAIL_ELEMENT = 0.25  # steps for each element that is summed in a tail


MOST_PRICED = 16  # vertices: what larger patterns are kept by is too far from what the pattern between them says
# orders that are tried: so many, steps for each vertex of one, the share of a nest that finding another may cost; and
# how much cheaper that has to be, because prices are upper bounds and the cheapest of many is so by luck as well
MOST_TRIES, A_TRY, TRIED_SHARE, CHEAPER = 120, 3e2, 0.1, 0.95


@dataclass(frozen=True, slots=True)
class Sampled:
    """An order, the expected number of partial embeddings after each vertex of it, and the candidates to match.

    steps : to bind the loops and count the rest, None where embeddings are listed.
    too_many : there are surely more than 2^63 - 1 embeddings, as far as edges and candidates say.
    samples : of the embeddings of parts, where the steps are worth a search for a better way to count.
    tail : how many vertices at the end of the order are to be counted without loops; 0: as many as can be.
    """

    order: tuple[int, ...]
    estimates: tuple[float, ...]
    candidates: tuple[Candidates, ...]
    steps: float | None
    too_many: bool = False
    samples: Samples | None = None
    tail: int = 0


@dataclass(slots=True)
class _Loops:
    """An order for counting, the expected numbers of partial embeddings along it, the steps that it takes, how many
    vertices at its end are counted, and the samples that it was chosen by."""

    order: tuple[int, ...]
    found: tuple[float, ...]
    steps: float
    tail: int = 0
    samples: Samples | None = None


def sampled_order(
    query: Resolved,
    parts: Decomposition,
    differs: frozenset[tuple[int, int]],
    *,
    counting: bool,
    tails: bool,
    few: bool,
    root: int | None = None,
) -> Sampled | None:
    """The order of a pattern; None for one that is too large for samples.

    differs : pairs of query vertices that have to differ. tails : vertices at the end of an order are counted without
        loops. few : only some embeddings are wanted, which takes little time. root : the vertex to begin with.
    """
    n = len(query.candidates)
    if n > MOST_VERTICES:
        return None
    if sum(c.count for c in query.candidates) > MOST_CANDIDATES // (FEWER if few else 1):
        return None
    from gdb.planner.sampled_embeddings import Statistics  # compiles kernels

    # what is left has to hold without conditions too, where some may be taken off (`differences`)
    statistics = Statistics(query, differs, distinct=not counting or n > MOST_PRICED)
    statistics.narrow(LOOKED_AT)
    if min(statistics.counts()) == 0:
        return _nothing(query, statistics, root)
    statistics.fans()
    order = _greedy(query, statistics, parts, root)
    if tails:
        order = independent_last(query, order, root)
    found, exact = statistics.along(order, MEMBERS)
    looped = sum(found[:-2] if tails else found)  # the last two are counted
    if exact:
        candidates = statistics.reduced(order, 0) if _lasting(query) else query.candidates
        return Sampled(order, found, candidates, looped if counting else None)
    if statistics.rows() <= LOOKED_AT:
        statistics.weigh(order)
        if min(statistics.counts()) == 0:
            return _nothing(query, statistics, root)
    most = SAMPLED // (FEWER if few else 1)
    found = _along(statistics, order, most)
    if not found[-1]:  # no sample lasted, so nothing speaks for this order
        order = matching_order(query, parts, root)
        if not counting:
            from gdb.planner.arrangements import hanging_last  # seldom needed

            order = hanging_last(statistics, order)
        if tails:
            order = independent_last(query, order, root)
        if statistics.rows() <= LOOKED_AT:
            statistics.weigh(order)
        found = _along(statistics, order, most)
    best = _Loops(order, found, sum(found[:-2] if tails else found))
    too_many = (
        counting
        and root is None
        and _lasting(query)
        and surely_too_many(statistics, order, found[-1], MOST_MEMBERS)
    )
    if tails and best.steps > WORTH_A_SEARCH and not too_many:
        if n <= MOST_PRICED:
            best = _rearranged(statistics, root, order, found)
        else:
            best = _searched(query, statistics, root, order, found, best.steps)
    return Sampled(
        best.order,
        best.found,
        statistics.reduced(best.order, best.tail) if _lasting(query) else query.candidates,
        best.steps if counting else None,
        too_many,
        best.samples,
        best.tail,
    )


def _searched(
    query: Resolved,
    statistics: Statistics,
    root: int | None,
    order: tuple[int, ...],
    found: tuple[float, ...],
    looped: float,
) -> _Loops:
    """For counting: loops that are cheaper than those of a greedy order. found, looped : of that order."""
    best = _Loops(order, found, looped)
    search = _Search(statistics, root, min(SEARCHED, SEARCH_SHARE * looped))
    best.steps = search.steps(search.shape.looped(order), order, found)
    for loops in search.best(statistics.begin(MEMBERS)):
        whole = joined(query, [*loops, *(v for v in order if v not in loops)])
        if whole is None:
            continue
        if statistics.rows() <= LOOKED_AT:
            statistics.weigh(whole)
        # the search took the luckiest of many small samples
        again = _along(statistics, whole, COMPARED)
        steps = search.steps(len(loops), whole, again)
        if steps < best.steps:
            # samples do not last along all loops as they do along a greedy order
            again = *again[:-1], again[-1] or found[-1]
            best = _Loops(whole, again, steps, len(whole) - len(loops))
    return best


def _rearranged(
    statistics: Statistics, root: int | None, order: tuple[int, ...], found: tuple[float, ...]
) -> _Loops:
    """For counting: the order whose nest has the least price, found from a greedy one. found : of that order."""
    from gdb.planner.arrangements import cheapest
    from gdb.planner.pricing import Prices, Samples

    prices = Prices(Samples(statistics, MEMBERS // 2), statistics.apart)
    price = prices.price(order)
    tries = int(min(MOST_TRIES, TRIED_SHARE * price / (A_TRY * statistics.n)))
    for _, other in cheapest(prices, [order], tries, root) if tries else []:
        if other == order:
            continue
        # other samples than those that it was chosen by
        again = Prices(Samples(statistics, MOST_MEMBERS // 2), statistics.apart)
        price, least = again.price(order), again.price(other)
        if least < CHEAPER * price:
            price, order = least, other
            found = *again.embeddings(order)[:-1], found[-1]
        break
    return _Loops(order, found, price, prices.tail(order), prices.samples)


def _nothing(query: Resolved, statistics: Statistics, root: int | None) -> Sampled:
    """Where a query vertex has no candidates."""
    vertices = sorted(range(len(query.candidates)), key=lambda v: v != root)
    order = _connected(query, vertices)
    candidates = query.candidates
    if _lasting(query):
        empty = [v for v, count in enumerate(statistics.counts()) if count == 0]
        candidates = tuple(
            replace(c, allowed=statistics.members(v), count=0) if v in empty else c
            for v, c in enumerate(candidates)
        )
    return Sampled(order, (0.0,) * len(order), candidates, 0.0)


def _lasting(query: Resolved) -> bool:
    """Whether candidates follow from the pattern alone. A prepared statement puts others in the place of those that a
    predicate admits, and what was cut down for the first would not hold for them."""
    return all(v.allowed is None for v in query.graph.vertices)


def _connected(query: Resolved, left: list[int]) -> tuple[int, ...]:
    """All vertices, each but the first of a part joined to an earlier one."""
    found: list[int] = []
    while left:
        near = [v for v in left if query.neighbours(v) & set(found)]
        found.append((near or left)[0])
        left.remove(found[-1])
    return tuple(found)


def _greedy(
    query: Resolved, statistics: Statistics, parts: Decomposition, root: int | None
) -> tuple[int, ...]:
    """The order with the fewest expected partial embeddings among the greedy orders from some vertices."""
    counts = statistics.counts()

    def selective(v: int) -> tuple[float, int]:
        return counts[v] / (1.0 + len(query.neighbours(v))), v

    stages = [0 if v in parts.core else 1 if v in parts.forest else 2 for v in range(statistics.n)]
    few = sum(counts) < FEW * statistics.n
    starts = sorted(range(statistics.n), key=selective) if root is None else [root]
    starts = starts[: 1 if few else STARTS]
    return min(
        (_from(statistics, start, selective, stages) for start in starts), key=lambda f: f[0]
    )[1]


def _from(
    statistics: Statistics,
    start: int,
    selective: Callable[[int], tuple[float, int]],
    stages: list[int],
) -> tuple[float, tuple[int, ...]]:
    """The greedy order from a vertex, and the sum of its expected partial embeddings."""
    n = statistics.n
    order, bound, reached = [start], 1 << start, statistics.near[start]
    rows = total = float(statistics.count(start))
    # of each vertex the expansion beside what is bound, kept up as that grows
    expected = [float(statistics.count(v)) for v in range(n)]
    last = start
    while len(order) < n:
        near = statistics.near[last] & ~bound
        while near:
            v = (near & -near).bit_length() - 1
            near &= near - 1
            share = statistics.fan[last, v] / max(statistics.count(v), 1)
            expected[v] *= min(share, 1.0)
        choice = [v for v in range(n) if (reached & ~bound) >> v & 1]
        if choice:
            # what multiplies embeddings comes last where it cannot fail: trees and leaves
            last = min(
                choice,
                key=lambda v: (
                    stages[v] if expected[v] > 1.0 else 0,
                    expected[v],
                    -statistics.near[v].bit_count(),
                ),
            )
        else:
            last = min((v for v in range(n) if not bound >> v & 1), key=selective)
        rows *= expected[last]
        total += rows
        order.append(last)
        bound |= 1 << last
        reached |= statistics.near[last]
    return total, tuple(order)


def _along(statistics: Statistics, order: tuple[int, ...], most: int) -> tuple[float, ...]:
    """Expected numbers of partial embeddings after each vertex of an order, from as large a sample as `most` elements
    allow."""
    members = MEMBERS
    while True:
        before = statistics.spent
        found, exact = statistics.along(order, members)
        spent = max(statistics.spent - before, 1)
        more = min(MOST_MEMBERS if found[-1] else MOST_LOST, members * most // spent)
        if exact or more < 2 * members:
            return found
        members = more


# ---- loops ------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _State:
    """Loops in an order, the sum of their steps, and a sample of their embeddings."""

    cost: float
    loops: tuple[int, ...]
    population: Population


class _Search:
    """A beam search for the loops below which all is counted without loops."""

    def __init__(self, statistics: Statistics, root: int | None, most: float) -> None:
        self.statistics, self.root, self.most = statistics, root, most
        self.shape = Shape(statistics.near, statistics.differs)
        self.beside = 0
        self.everyone = (1 << statistics.n) - 1
        self.least = float("inf")
        self.ends: list[tuple[float, tuple[int, ...]]] = []
        self._expected: dict[int, float] = {}

    def best(self, empty: Population) -> list[tuple[int, ...]]:
        """The cheapest loops found, each in an order."""
        statistics = self.statistics
        starts = range(statistics.n) if self.root is None else (self.root,)
        first = sorted(starts, key=lambda v: statistics.count(v))[: 2 * BEAM]
        beam = [
            _State(float(statistics.count(v)), (v,), statistics.grown(empty, v, MEMBERS))
            for v in first
        ]
        begun = statistics.spent
        while beam and statistics.spent - begun + self.beside < self.most:
            for state in beam[:ENDS]:
                self._end(state)
            self.beside += END * len(beam[:ENDS])
            beam = self._next(beam)
        cheapest: dict[frozenset[int], tuple[int, ...]] = {}
        for _, loops in sorted(self.ends):
            cheapest.setdefault(frozenset(loops), loops)
        return list(cheapest.values())[:LISTED]

    def _end(self, state: _State) -> None:
        """Take a state for the answer where it costs less than others with what is needed to count the rest: further
        loops, the smallest first, until the rest can be counted without. What falls apart is counted apart, so that
        the loops of one part are no longer those of another."""
        loops = list(state.loops)
        bound = state.population.bound
        waiting = [
            (bound, part, state.population.expected)
            for part in self.shape.parts(self.everyone & ~bound)
        ]
        cost = state.cost
        while waiting and cost < SLACK * self.least:
            bound, rest, rows = waiting.pop()
            against = self.shape.against(rest)
            joined_to = [v for v in bits(against) if self.statistics.near[v] & bound]
            if against and not joined_to:
                return
            if not against:
                cost += rows * self._tail(bound, rest)
                continue
            size, v = min((self.statistics.expansion(bound, v), v) for v in joined_to)
            rows *= size
            bound |= 1 << v
            loops.append(v)
            cost += rows * self._work(bound, v)
            waiting += [(bound, part, rows) for part in self.shape.parts(rest & ~(1 << v))]
        if not waiting:
            self.ends.append((cost, tuple(loops)))
            self.least = min(self.least, cost)

    def steps(self, loops: int, order: tuple[int, ...], found: tuple[float, ...]) -> float:
        """Steps to loop over the first vertices of an order and count the others, from the numbers of its partial
        embeddings. Where loops branch, what a loop multiplies them by is taken to be the same without the loops beside
        it."""
        times = {order[0]: found[0]}
        for v, (before, after) in zip(order[1:loops], pairwise(found[:loops]), strict=True):
            times[v] = after / before if before else 0.0
        first = order[0]
        cost = found[0] * self._work(1 << first, first)
        waiting = [(1 << first, self.everyone & ~(1 << first), found[0])]
        while waiting:
            bound, rest, rows = waiting.pop()
            for part in self.shape.parts(rest):
                loop = next((u for u in order[:loops] if part >> u & 1), None)
                if loop is None:  # all of it is counted
                    cost += rows * self._tail(bound, part)
                    continue
                own = bound | 1 << loop
                cost += rows * times[loop] * self._work(own, loop)
                waiting.append((own, part & ~(1 << loop), rows * times[loop]))
        return cost

    def _next(self, beam: list[_State]) -> list[_State]:
        """The cheapest sets of one loop more."""
        found: dict[int, tuple[float, _State, int]] = {}
        for state in beam:
            for v in self._branches(state.population.bound):
                mask = state.population.bound | 1 << v
                if mask not in self._expected:
                    self._expected[mask] = self.statistics.extended(state.population, v)
                    self.beside += SET
                cost = state.cost + self._expected[mask] * self._work(mask, v)
                if cost < SLACK * self.least and (mask not in found or cost < found[mask][0]):
                    found[mask] = cost, state, v
        grown: list[_State] = []
        for cost, state, v in sorted(found.values(), key=lambda f: f[0]):
            population = self.statistics.grown(state.population, v, MEMBERS)
            if (
                population.members or population.exact
            ):  # what a sample is lost of only seems to be cheap
                grown.append(_State(cost, (*state.loops, v), population))
            if len(grown) == BEAM:
                break
        return grown

    def _branches(self, bound: int) -> list[int]:
        """The next vertices that are worth a look: those of the smallest expansions."""
        statistics = self.statistics
        near = [
            v
            for v in range(statistics.n)
            if not bound >> v & 1 and statistics.near[v] & bound and statistics.near[v] & ~bound
        ]
        return sorted(near, key=lambda v: statistics.expansion(bound, v))[:BRANCHES]

    def _work(self, bound: int, v: int) -> float:
        """Steps for each binding of v: itself, and the sets that it makes possible."""
        near = self.statistics.near
        ahead = near[v] & ~bound
        sets = sum(1 for u in bits(ahead) if near[u] & bound & ~(1 << v))
        return 1.0 + sets

    def _tail(self, bound: int, rest: int) -> float:
        """Steps to count the rest once."""
        statistics = self.statistics
        cost, left = 0.0, rest
        while left:
            near = [v for v in bits(left) if statistics.near[v] & bound]
            if not near:
                return float("inf")
            top = min(near, key=lambda v: statistics.expansion(bound, v))
            sizes = {top: statistics.expansion(bound, top)}
            waiting = [top]
            left &= ~(1 << top)
            cost += 1.0
            while waiting:
                v = waiting.pop()
                for u in bits(statistics.near[v] & left):
                    sizes[u] = min(sizes[v] * statistics.fan[v, u], float(statistics.count(u)))
                    cost += 1.0 + TAIL_ELEMENT * sizes[v] * (1.0 + statistics.fan[v, u])
                    waiting.append(u)
                    left &= ~(1 << u)
        return cost
