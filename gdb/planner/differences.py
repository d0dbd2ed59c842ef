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

from collections.abc import Callable

import numpy as np

from gdb.executor.cpu.nest_prices import UNKNOWN
from gdb.planner.arrangements import Order, cheapest
from gdb.planner.order import joined
from gdb.planner.pricing import Prices, Samples
from gdb.planner.problem import Pairs, Problem
from gdb.planner.sampled_embeddings import Statistics
from gdb.planner.structure import Effort
from gdb.records import dataclass, replace
from gdb.storage.graph.adjacency import U32

# steps of a nest, and of a term's, from which on others are looked for
WORTH, TERM_WORTH = 4e6, 2e6
HOPELESS = (
    1e11  # steps of a nest, half an hour: a short search does not find what is counted in time
)
MOST_PAIRS = 8  # taken off
DEEPEST = 6  # a term of so many terms is counted as it is
# a search may cost this share of the nest's steps. Its effort is in about microseconds (`Prices.effort`), each of so
# many steps: what the statistics of a smaller pattern take, what one try does, and how much a search may take before
# patterns are counted along the orders that they come with; in all, so many times as much for a nest of so many times
# `LONG` steps
SEARCH_SHARE, A_MICROSECOND, A_TERM_SEARCH, A_TRY, MOST_EFFORT = 0.1, 1e2, 2_000, 60, 54_000
LONG, MOST_LONG = 5e8, 34.0
# orders that are made of one pattern, and changes of the best, at least and at most
LEAST_TRIES, TRIES = 6, 60
MEMBERS = 32  # of a sample of a smaller pattern
SAMPLED = 128  # rows by which edges between candidates are counted in one
LOOKED_AT = 50_000  # elements that arc consistency may look at in one
A_TERM = 3e5  # steps, about 3 ms, that one term costs to plan and to prepare
ALIKE = 1.05  # how much dearer a condition may make a nest that is to keep it
# how much cheaper all terms have to be than the nest with all conditions; and if each of them costs as much as the
# pattern itself, for these to be looked into
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


def terms(
    problem: Problem, samples: Samples, order: Order, effort: Effort
) -> tuple[tuple[float, list[Term]] | None, bool]:
    """What the embeddings of a problem are counted by, its own pattern without some conditions first, and the price of
    all; None where to count it along `order` as it is seems best. And whether a longer search may find something else.

    samples : of the problem's query.
    """
    whole = Prices(samples, problem.order | problem.apart).price(order)
    if not WORTH <= whole < UNKNOWN:
        return None, False
    wanted = _effort_for(whole)
    if whole > HOPELESS and wanted > effort.terms:
        return None, True
    search = _TermSearch(min(wanted, effort.terms), effort.check)
    free = search.without(problem, samples, order, whole)
    return search.split(problem, samples, free, whole), wanted > effort.terms


def _effort_for(steps: float) -> float:
    """The effort of a search that is to save a part of so many steps."""
    most = MOST_EFFORT * min(max(steps / LONG, 1.0), MOST_LONG)
    return min(SEARCH_SHARE * steps / A_MICROSECOND, most)


@dataclass(slots=True, eq=False)
class _TermSearch:
    """left : the effort that it may still take. check : see `Effort`."""

    left: float
    check: Callable[[], None]

    def cheapest(
        self, prices: Prices, known: list[Order], steps: float
    ) -> list[tuple[float, Order]]:
        """The cheapest orders found of a pattern that is counted in about so many steps."""
        self.check()
        fit = min(_effort_for(steps), self.left / 2) / A_TRY
        tries = int(max(min(TRIES, fit), LEAST_TRIES))
        before = prices.effort
        found = cheapest(prices, known, tries)
        self.left -= prices.effort - before
        return found

    def without(
        self, problem: Problem, samples: Samples, order: Order, steps: float
    ) -> list[tuple[float, Order]]:
        """The cheapest orders found of a pattern without all conditions."""
        return self.cheapest(Prices(samples, problem.order), [order], steps)

    def split(
        self,
        problem: Problem,
        samples: Samples,
        free: list[tuple[float, Order]],
        whole: float,
        depth: int = 0,
    ) -> tuple[float, list[Term]] | None:
        """The price of a problem less what some of its conditions leave out, and the terms; None where it is not much
        less than `whole`.

        samples : of candidates that hold without conditions too. free : orders without conditions, with their prices.
        depth : of how many others it is a term.
        """
        choices = [
            (choice.expected(taken), k, choice, taken)
            for k, (least, along) in enumerate(free[: 1 if depth else None])
            if least <= CHEAPER * whole
            and (taken := (choice := _Choice(problem, samples, along)).fewest(least)) is not None
            and choice.expected(taken) <= HOPEFUL * whole
        ]
        if not choices:
            return None
        *_, choice, taken = min(choices)
        self.left -= sum(one.effort for _, _, one, _ in choices)
        own = replace(problem, apart=problem.apart - taken)
        price = choice.price(taken)
        found = [_term(own, samples.statistics, choice.order, choice.prices(taken), price)]
        pairs, left = choice.dearest_first(taken), self.left
        for k, pair in enumerate(pairs):
            quotient = problem.merged(pair, frozenset(pairs[: k + 1]))
            if quotient is None:
                continue
            smaller, place = quotient
            along = joined(smaller.query, list(dict.fromkeys(place[v] for v in choice.order)))
            if along is None:
                return None
            members = _merged(samples.statistics, place, len(smaller.query.candidates))
            own_share = _TermSearch(max(left, 0.0) / (len(pairs) - k), self.check)
            cost, these = own_share.counted(smaller, members, place[pair[0]], along, depth + 1)
            left -= max(left, 0.0) / (len(pairs) - k) - own_share.left
            price += cost
            if price > CHEAPER * whole:
                return None
            found += [replace(term, factor=-term.factor) for term in these]
        self.left = left
        return price, found

    def counted(
        self, problem: Problem, members: list[U32], changed: int, order: Order, depth: int
    ) -> tuple[float, list[Term]]:
        """The price of a smaller pattern, and what it is counted by. members : its candidates. changed : the vertex
        that two became. order : to begin with."""
        statistics = Statistics(problem.query, problem.apart, members, distinct=False)
        statistics.narrow(LOOKED_AT, changed)
        statistics.fans(SAMPLED)
        if min(statistics.counts()) == 0:
            return 0.0, []
        statistics.weigh(order)
        self.left -= A_TERM_SEARCH
        samples = Samples(statistics, MEMBERS)
        prices = Prices(samples, problem.order | problem.apart)
        free = self.without(problem, samples, order, prices.price(order))
        price, order = min((prices.price(along), along) for along in (order, *(o for _, o in free)))
        if free and problem.apart and price > max(free[0][0] / CHEAPER, TERM_WORTH):
            price, order = min(
                [(price, order), *self.cheapest(prices, [order], price)], key=lambda f: f[0]
            )
            if price > free[0][0] / CHEAPER and depth < DEEPEST and self.left > 0:
                terms_of = self.split(problem, samples, free, price, depth)
                if terms_of is not None:
                    return terms_of
        return price + A_TERM, [_term(problem, statistics, order, prices, price)]


def _term(problem: Problem, known: Statistics, order: Order, prices: Prices, price: float) -> Term:
    """A problem as a term, with the candidates that are known."""
    tail = prices.tail(order)
    query = replace(problem.query, candidates=known.reduced(order, tail))
    return Term(1, replace(problem, query=query), order, tail, price)


def _merged(statistics: Statistics, place: dict[int, int], n: int) -> list[U32]:
    """The candidates of each of n vertices that others, known ones, become one of."""
    found: list[U32 | None] = [None] * n
    for v, k in place.items():
        known, own = found[k], statistics.members(v)
        found[k] = own if known is None else np.intersect1d(known, own, assume_unique=True)
    return [some for some in found if some is not None]


class _Choice:
    """Which conditions to take off a problem that is counted along an order."""

    def __init__(self, problem: Problem, samples: Samples, order: Order) -> None:
        self.problem, self.samples, self.order = problem, samples, order
        self._known: dict[Pairs, float] = {}
        self._prices = Prices(samples, ())

    def dearest_first(self, taken: Pairs) -> list[tuple[int, int]]:
        """The pairs that are taken off, those first that are dear to keep."""
        near = self.samples.statistics.near
        return sorted(
            sorted(taken),
            key=lambda p: (-sum(near[v].bit_count() for v in p), -self.price(taken - {p})),
        )

    def price(self, taken: Pairs) -> float:
        """The price of the pattern without some conditions."""
        found = self._known.get(taken)
        if found is None:
            found = self._known[taken] = self.prices(taken).price(self.order)
        return found

    def prices(self, taken: Pairs) -> Prices:
        """Prices of nests without some conditions, until others are priced."""
        self._prices.require((self.problem.apart - taken) | self.problem.order)
        return self._prices

    def fewest(self, least: float) -> Pairs | None:
        """Pairs to take off: of all without which the pattern costs about `least`, and of fewer, each time without the
        one that is kept the cheapest, those of the lowest price of all terms; None where they are too many."""
        taken = self._needed(self.problem.apart, sorted(self.problem.apart), ALIKE * least)
        found: tuple[float, Pairs] | None = None
        while taken and (found is None or self.price(taken) < found[0]):
            if len(taken) <= MOST_PAIRS:
                one = self.expected(taken), taken
                found = one if found is None else min(found, one, key=lambda f: f[0])
            taken = min((taken - {pair} for pair in sorted(taken)), key=self.price)
        return None if found is None else found[1]

    @property
    def effort(self) -> float:
        """What choosing took."""
        return self._prices.effort

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
