"""The matching order of a large pattern, from sampled numbers of partial embeddings.

A greedy order over candidates that arc consistency left, by the mean number of edges between them, is nearly always
good for listing. For counting, loops branch, their counts are kept, and vertices at the end need no loops: there the
order whose nest has the least price is looked for (`gdb.planner.pricing`), from samples of the embeddings of its parts
(`gdb.planner.sampled_embeddings`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gdb.executor.plan.plan import Candidates
from gdb.planner.decompose import Decomposition
from gdb.planner.magnitude import surely_too_many
from gdb.planner.order import independent_last, matching_order
from gdb.planner.resolved_graph import Resolved
from gdb.planner.structure import EFFORT, Effort
from gdb.records import dataclass, replace

if TYPE_CHECKING:
    from gdb.planner.pricing import Samples
    from gdb.planner.sampled_embeddings import Statistics

MOST_VERTICES = 63  # sets of them are bit masks of 64 bits with a sign
STARTS = 4
FEW = 4  # candidates of a vertex, with which one start will do
MEMBERS = 128  # of a population, at first
MOST_MEMBERS = 512
MOST_LOST = 16_384  # where no member was left
MOST_CANDIDATES = 1_000_000  # of all vertices; above, statistics take longer than many a query
FEWER = 5  # part of it, and of what is sampled, where only some rows are wanted
LOOKED_AT = 5_000_000  # elements that arc consistency may look at, and the trees below candidates
SAMPLED = 200_000  # elements that one sample may look at, about 1 ms
WORTH_A_SEARCH = 100_000.0  # partial embeddings
MOST_SPLIT = 16  # vertices of a pattern that conditions may be taken off

# orders that are tried: so many, steps for each vertex of one, the share of a nest that finding another may cost; and
# how much cheaper that has to be, because prices are upper bounds and the cheapest of many is so by luck as well
MOST_TRIES, A_TRY, TRIED_SHARE, CHEAPER = 120, 3e2, 0.1, 0.95
LONG = 5e8  # steps of a nest, for which others are tried more than once


@dataclass(frozen=True, slots=True)
class Sampled:
    """An order, the expected number of partial embeddings after each vertex of it, and the candidates to match.

    steps : to bind the loops and count the rest, None where embeddings are listed.
    too_many : there are surely more than 2^63 - 1 embeddings, as far as edges and candidates say.
    samples : of the embeddings of parts, where the steps are worth a search for a better way to count.
    tail : how many vertices at the end of the order are to be counted without loops; 0: as many as can be.
    cut : whether a longer search may find a better order.
    """

    order: tuple[int, ...]
    estimates: tuple[float, ...]
    candidates: tuple[Candidates, ...]
    steps: float | None
    too_many: bool = False
    samples: Samples | None = None
    tail: int = 0
    cut: bool = False


@dataclass(slots=True)
class _Loops:
    """An order for counting, the expected numbers of partial embeddings along it, the steps that it takes, how many
    vertices at its end are counted, the samples that it was chosen by, and whether a longer search may find another."""

    order: tuple[int, ...]
    found: tuple[float, ...]
    steps: float
    tail: int = 0
    samples: Samples | None = None
    cut: bool = False


def sampled_order(
    query: Resolved,
    parts: Decomposition,
    differs: frozenset[tuple[int, int]],
    *,
    counting: bool,
    tails: bool,
    few: bool,
    root: int | None = None,
    effort: Effort = EFFORT,
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
    statistics = Statistics(query, differs, distinct=not counting or n > MOST_SPLIT)
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
        best = _rearranged(statistics, root, best, effort)
    return Sampled(
        best.order,
        best.found,
        statistics.reduced(best.order, best.tail) if _lasting(query) else query.candidates,
        best.steps if counting else None,
        too_many,
        best.samples,
        best.tail,
        best.cut,
    )


def _rearranged(statistics: Statistics, root: int | None, greedy: _Loops, effort: Effort) -> _Loops:
    """For counting: the order whose nest has the least price, found from a greedy one, which stays where nothing has a
    price."""
    from gdb.executor.cpu.nest_prices import UNKNOWN
    from gdb.planner.arrangements import cheapest
    from gdb.planner.pricing import Prices, Samples

    order, found = greedy.order, greedy.found
    prices = Prices(Samples(statistics, MEMBERS // 2), statistics.apart)
    price = prices.price(order)
    most = MOST_TRIES * min(1.0, MOST_SPLIT / statistics.n)  # samples of more vertices take longer
    tries = int(min(most, TRIED_SHARE * price / (A_TRY * statistics.n)))
    others: list[tuple[int, ...]] = []
    cut = False
    for seed in range(1, effort.rounds + 1) if tries else ():
        effort.check()
        best = cheapest(prices, [order, *others], tries, root, seed)[:1]
        others += [one for _, one in best if one != order and one not in others]
        cut = bool(best) and best[0][0] >= LONG
        if not cut:
            break
    if others:
        # other samples than those that they were chosen by
        again = Prices(Samples(statistics, MOST_MEMBERS // 2), statistics.apart)
        price = again.price(order)
        least, other = min((again.price(one), one) for one in others)
        if least < CHEAPER * price:
            price, order = least, other
            found = *again.embeddings(order)[:-1], found[-1]
    if price >= UNKNOWN:
        return greedy
    samples = prices.samples if statistics.n <= MOST_SPLIT else None
    return _Loops(order, found, price, prices.tail(order), samples, cut)


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
