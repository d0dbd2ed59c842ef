"""Matching orders of large patterns for counting: those whose loops fall apart early, and what is near the best ones.

Orders are made from the inside out: after each loop every part that is left is arranged by itself, next is the vertex
of the fewest expected candidates, or that leaves small parts. Random weights of the two make many of them; the cheapest
are changed a little as long as that makes them cheaper (hill climbing). `gdb.planner.pricing` prices all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdb.executor.cpu.nest_prices import UNKNOWN
from gdb.planner.pricing import Prices
from gdb.planner.shape import components, members
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.planner.sampled_embeddings import Statistics

FIRSTS = 6  # vertices that orders begin with
MOST_TRIES = 240  # orders that are made at once
PLAIN = 3  # orders without random weights
NEAR = (-2, -1, 1, 2)  # how far a vertex is moved, every second time

Order = tuple[int, ...]


def hanging_last(statistics: Statistics, order: Order) -> Order:
    """A connected order of the same vertices, as near to the given one as can be, in which what is joined to a single
    bound vertex and multiplies embeddings comes last: the rest hardly depends on it, and would be matched again for
    each of its embeddings."""
    near = statistics.near
    found, left = [order[0]], list(order[1:])
    bound = 1 << order[0]
    while left:
        joined_to = [v for v in left if near[v] & bound] or left[:1]
        hanging = 0
        for part in components(sum(1 << v for v in left), near):
            around = 0
            for v in members(part):
                around |= near[v]
            if (around & bound).bit_count() == 1:
                hanging |= part
        waits = [v for v in joined_to if hanging >> v & 1 and statistics.expansion(bound, v) > 1.0]
        following = next((v for v in joined_to if v not in waits), joined_to[0])
        found.append(following)
        left.remove(following)
        bound |= 1 << following
    return tuple(found)


def cheapest(
    prices: Prices, known: Iterable[Order], tries: int, root: int | None = None
) -> list[tuple[float, Order]]:
    """The cheapest orders found, each with its price, the best first; none where nothing has a price.

    known : orders to begin with. tries : orders that are made, and changes of the best ones. root : the first vertex.
    """
    orders = dict.fromkeys(known)
    for made in _made(prices, tries, root):
        orders[made] = None
    found = sorted((prices.price(order), order) for order in orders)
    best = _climbed(prices, *found[0], tries, root)
    return [one for one in dict.fromkeys((best, *found[:2])) if one[0] < UNKNOWN][:2]


@dataclass(frozen=True, slots=True, eq=False)
class _Draws:
    """Random numbers for the orders of n vertices.

    firsts : i64[k], of the first vertices. noises : f64[k, n], weights of all. changes : i64[k, 2], a place, and
        another that a vertex is moved to.
    """

    firsts: list[int]
    noises: npt.NDArray[np.float64]
    changes: list[list[int]]


@cache
def _draws(n: int) -> _Draws:
    """The same numbers in each process."""
    random = np.random.default_rng(1)
    noises = random.standard_normal((MOST_TRIES, n))
    noises *= (0.5 + 0.5 * (np.arange(MOST_TRIES) % 4))[:, None]
    noises[:PLAIN] = 0.0
    changes = random.integers(n, size=(MOST_TRIES, 2))
    near = changes[:, 0] + random.choice(NEAR, MOST_TRIES)
    changes[::2, 1] = np.clip(near, 0, n - 1)[::2]
    firsts = random.integers(FIRSTS, size=MOST_TRIES)
    return _Draws(firsts.tolist(), np.exp(noises), changes.tolist())


def _made(prices: Prices, tries: int, root: int | None) -> Iterator[Order]:
    """So many orders, the first ones without random weights; some vertices have none."""
    n, statistics = prices.n, prices.statistics
    firsts = [root] if root is not None else list(range(n))
    firsts.sort(key=lambda v: statistics.count(v) / (1 + statistics.near[v].bit_count()))
    firsts, draws = firsts[:FIRSTS], _draws(n)
    falls = np.exp(np.arange(3)[:, None] * np.arange(n + 1))
    for k in range(tries):
        first = firsts[0 if k < PLAIN else draws.firsts[k] % len(firsts)]
        order = prices.arranged(first, falls[k % 3], draws.noises[k])
        if order is not None:
            yield tuple(order.tolist())


def _climbed(
    prices: Prices,
    price: float,
    order: Order,
    tries: int,
    root: int | None,
) -> tuple[float, Order]:
    """The cheapest order that a sequence of changes leads to, each one making it cheaper."""
    best = np.array(order, np.int64)
    for at, to in _draws(prices.n).changes[:tries]:
        if root is not None and 0 in (at, to):
            continue
        changed = prices.moved(best, at, to)
        if changed is None:
            continue
        cost = prices.price(changed)
        if cost < price:
            price, best = cost, changed
    return price, tuple(best.tolist())
