"""Counting without some of the conditions that vertices differ, less the embeddings in which they do not.

Two vertices that have to differ keep the parts of a pattern together that they are in: neither is counted by itself,
and each is a part of what the other's count is kept by. Without such conditions a large pattern may be counted in a
fraction of the steps, and the patterns in which the two are one vertex are smaller and have few embeddings
(`gdb.planner.problem`; thesis ch. 3). With pairs p1 to pk taken off one after another,

    count(Q, D) = count(Q, D - {p1 .. pk}) - sum over i: count(Q / pi, (D - {p1 .. pi}) / pi)

so that each smaller pattern keeps the conditions that are taken off after it: these are often cheap there, or hold
anyway; where they are not, it is treated in the same way. Which pairs, and in which order each pattern is matched, is
chosen by prices (`gdb.planner.pricing`).
"""

from __future__ import annotations

import numpy as np

from gdb.executor.cpu.nest_prices import UNKNOWN
from gdb.planner.arrangements import Order, cheapest
from gdb.planner.order import joined
from gdb.planner.pricing import Prices, Samples
from gdb.planner.problem import Pairs, Problem
from gdb.planner.statistics import Statistics
from gdb.records import dataclass, replace
from gdb.storage.graph.adjacency import U32

WORTH, TERM_WORTH = (
    4e6,
    1e7,
)  # steps of a nest, and of a term's, from which on others are looked for
MOST_PAIRS = 8  # taken off
LOOKED_INTO = 3  # ways to take off one pair less, whose terms are counted
DEEPEST = 2  # a term of a term is counted as it is
# orders without the conditions: at most so many; the share of the nest that a search may cost, steps of pricing one,
# about 0.03 ms, and how many may be priced before smaller patterns are counted along the orders that they come with
TRIES, SEARCH_SHARE, A_PRICE, MOST_PRICED = 60, 0.1, 3e3, 3000
# orders of each smaller pattern: at most so many, steps for one, the share of its nest that finding another may cost
TERM_TRIES, A_TRY, TRIED_SHARE = 40, 1e4, 0.1
A_TERM_SEARCH = 25  # prices that the statistics of one take as long as
MEMBERS = 32  # of a sample of a smaller pattern
LOOKED_AT = 50_000  # elements that arc consistency may look at in one
A_TERM = 3e5  # steps, about 3 ms, that one term costs to plan and to prepare
ALIKE = 1.05  # how much dearer a condition may make a nest that is to keep it
# than the nest with all conditions; and if each term costs as much as the pattern itself, for these to be looked into
CHEAPER, HOPEFUL = 0.6, 1.0


@dataclass(frozen=True, slots=True)
class Term:
    """A problem to count, so often as `factor` says, in an order, whose last `tail` vertices need no loops, and the
    steps that it takes."""

    factor: int
    problem: Problem
    order: Order
    tail: int
    steps: float


@dataclass(slots=True, eq=False)
class TermSearch:
    """left : how many nests it may still price. deeper : so many have to be left to look for terms of a term."""

    left: int
    deeper: int


def terms(
    problem: Problem,
    samples: Samples,
    order: Order,
    depth: int = 0,
    search: TermSearch | None = None,
) -> tuple[float, list[Term]] | None:
    """What the embeddings of a problem are counted by, its own pattern without some conditions first, and the price of
    all; None where to count it along `order` as it is seems best.

    samples : of the problem's query. depth : of how many others it is a term. search : that this is a part of; None: it
        is all of one.
    """
    whole = Prices(samples, problem.order | problem.apart).price(order)
    if not (TERM_WORTH if depth else WORTH) <= whole < UNKNOWN:
        return None
    if search is None:
        most = int(min(MOST_PRICED, SEARCH_SHARE * whole / A_PRICE))
        search = TermSearch(most, most // 2)
    prices = Prices(samples, problem.order)
    free = cheapest(prices, [order], min(TRIES, search.left // 4))
    search.left -= prices.priced
    choices = [
        (choice.expected(taken), k, choice, taken)
        for k, (least, along) in enumerate(free)
        if least <= CHEAPER * whole
        and (taken := (choice := _Choice(problem, samples, along)).fewest(least)) is not None
        and choice.expected(taken) <= HOPEFUL * whole
    ]
    if not choices:
        return None
    *_, choice, taken = min(choices)
    search.left -= sum(one.priced for _, _, one, _ in choices)
    own = replace(problem, apart=problem.apart - taken)
    price = choice.price(taken)
    found = [Term(1, own, choice.order, choice.prices(taken).tail(choice.order), price)]
    off: Pairs = frozenset()
    for pair in choice.dearest_first(taken):
        off |= {pair}
        quotient = problem.merged(pair, off)
        if quotient is None or price > CHEAPER * whole:
            continue
        smaller, place = quotient
        along = joined(smaller.query, list(dict.fromkeys(place[v] for v in choice.order)))
        if along is None:
            return None
        members = _merged(samples.statistics, place, len(smaller.query.candidates))
        cost, these = _cheapest(smaller, members, along, depth + 1, search)
        price += cost
        found += [replace(term, factor=-term.factor) for term in these]
    return (price, found) if price <= CHEAPER * whole else None


def _merged(statistics: Statistics, place: dict[int, int], n: int) -> list[U32]:
    """The candidates of each of n vertices that others, known ones, become one of."""
    found: list[U32 | None] = [None] * n
    for v, k in place.items():
        known, own = found[k], statistics.members(v)
        found[k] = own if known is None else np.intersect1d(known, own, assume_unique=True)
    return [some for some in found if some is not None]


def _cheapest(
    problem: Problem, members: list[U32], order: Order, depth: int, search: TermSearch
) -> tuple[float, list[Term]]:
    """The price of a smaller pattern, and what it is counted by. members : its candidates."""
    statistics = Statistics(problem.query, problem.apart, members)
    statistics.narrow(LOOKED_AT)
    statistics.fans()
    if min(statistics.counts()) == 0:
        return 0.0, []
    statistics.weigh(order)
    samples = Samples(statistics, MEMBERS)
    prices = Prices(samples, problem.order | problem.apart)
    price = prices.price(order)
    tries = int(min(TERM_TRIES, TRIED_SHARE * price / A_TRY)) if search.left > 0 else 0
    if tries:
        price, order = min([(price, order), *cheapest(prices, [order], tries)], key=lambda f: f[0])
    search.left -= prices.priced + A_TERM_SEARCH
    known = None
    if depth < DEEPEST and search.left > search.deeper:
        known = terms(problem, samples, order, depth, search)
    if known is not None:
        return known
    return price + A_TERM, [Term(1, problem, order, prices.tail(order), price)]


class _Choice:
    """Which conditions to take off a problem that is counted along an order."""

    def __init__(self, problem: Problem, samples: Samples, order: Order) -> None:
        self.problem, self.samples, self.order = problem, samples, order
        self._prices: dict[Pairs, float] = {}

    def dearest_first(self, taken: Pairs) -> list[tuple[int, int]]:
        """The pairs that are taken off, those first that are dear to keep."""
        return sorted(sorted(taken), key=lambda pair: -self.price(taken - {pair}))

    def price(self, taken: Pairs) -> float:
        """The price of the pattern without some conditions."""
        found = self._prices.get(taken)
        if found is None:
            found = self._prices[taken] = self.prices(taken).price(self.order)
        return found

    def prices(self, taken: Pairs) -> Prices:
        """Prices of nests without some conditions."""
        return Prices(self.samples, (self.problem.apart - taken) | self.problem.order)

    def fewest(self, least: float) -> Pairs | None:
        """Pairs to take off: of all without which the pattern costs about `least`, and of fewer, each time without the
        one that leaves the price of all terms the lowest, those of the lowest price; None where they are too many."""
        taken = self._needed(self.problem.apart, sorted(self.problem.apart), ALIKE * least)
        found: list[tuple[float, Pairs]] = []
        while taken:
            if len(taken) <= MOST_PAIRS:
                found.append((self.expected(taken), taken))
            fewer = sorted((taken - {pair} for pair in sorted(taken)), key=self.price)
            taken = (
                min(fewer[:LOOKED_INTO], key=self.expected)
                if len(taken) <= MOST_PAIRS
                else fewer[0]
            )
        return min(found, key=lambda f: f[0])[1] if found else None

    @property
    def priced(self) -> int:
        """How many nests it priced."""
        return len(self._prices)

    def expected(self, taken: Pairs) -> float:
        """The price of all terms, if each costs as much as the pattern itself."""
        return (self.price(taken) + A_TERM) * (1 + len(taken))

    def _needed(self, taken: Pairs, some: list[tuple[int, int]], most: float) -> Pairs:
        """`taken` without those of `some` that can be kept at a price of at most `most`."""
        without = taken - frozenset(some)
        if self.price(without) <= most:
            return without
        if len(some) == 1:
            return taken
        half = len(some) // 2
        return self._needed(self._needed(taken, some[:half], most), some[half:], most)
