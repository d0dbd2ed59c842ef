"""Matching orders of large patterns for counting: those whose loops fall apart early, and what is near the best ones.

Orders are made from the inside out: after each loop every part that is left is arranged by itself, next is the vertex
of the fewest expected candidates, or that leaves small parts. Random weights of the two make many of them; the cheapest
are changed a little as long as that makes them cheaper (hill climbing). `gdb.planner.pricing` prices all.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdb.executor.cpu.nest_prices import UNKNOWN
from gdb.planner.pricing import Draws, Prices
from gdb.planner.shape import components, members
from gdb.records import dataclass
from gdb.storage.graph.adjacency import I64

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
    prices: Prices, known: Iterable[Order], tries: int, root: int | None = None, seed: int = 1
) -> list[tuple[float, Order]]:
    """The cheapest orders found, each with its price, the best first; none where nothing has a price.

    known : orders to begin with. tries : orders that are made, and changes of the best ones. root : the first vertex.
    seed : other orders and changes for each.
    """
    n, given = prices.n, list(known)
    draws, most = _draws(n, seed), min(tries, MOST_TRIES)
    firsts = _firsts(prices, draws.firsts) if root is None else np.full(MOST_TRIES, root)
    numbers = Draws(firsts, _falls(n), draws.noises, draws.changes)
    orders = np.empty((len(given) + most, n), np.int64)
    orders[: len(given)] = given or np.empty((0, n))
    costs = prices.tried(orders, len(given), numbers)
    two: dict[Order, float] = {}  # the cheapest
    for k in np.argsort(costs, kind="stable").tolist():
        two.setdefault(tuple(orders[k].tolist()), float(costs[k]))
        if len(two) == 2:
            break
    best, price = orders[np.argmin(costs)].copy(), float(costs.min())
    if price < UNKNOWN:
        price = prices.climbed(best, price, most, numbers, rooted=root is not None)
    found = dict.fromkeys(
        [(price, tuple(best.tolist())), *((c, order) for order, c in two.items())]
    )
    return [one for one in found if one[0] < UNKNOWN][:2]


def _firsts(prices: Prices, drawn: I64) -> I64:
    """The vertices that orders begin with, of the numbers drawn for them: mostly those of few candidates beside many
    neighbours."""
    statistics = prices.statistics
    order = sorted(
        range(prices.n), key=lambda v: statistics.count(v) / (1 + statistics.near[v].bit_count())
    )
    return np.array(order)[drawn % min(FIRSTS, prices.n)]


@cache
def _falls(n: int) -> npt.NDArray[np.float64]:
    """f64[3, n + 1]: how much more a vertex counts that leaves a part of so many, for one of three orders each."""
    found: npt.NDArray[np.float64] = np.exp(np.arange(3)[:, None] * np.arange(n + 1))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """Random numbers for the orders of n vertices.

    firsts : i64[k], of the first vertices. noises : f64[k, n], weights of all. changes : i64[k, 2], a place, and
        another that a vertex is moved to.
    """

    firsts: I64
    noises: npt.NDArray[np.float64]
    changes: I64


@cache
def _draws(n: int, seed: int) -> _Drawn:
    """The same numbers in each process."""
    random = np.random.default_rng(seed)
    noises = random.standard_normal((MOST_TRIES, n))
    noises *= (0.5 + 0.5 * (np.arange(MOST_TRIES) % 4))[:, None]
    noises[:PLAIN] = 0.0
    changes = random.integers(n, size=(MOST_TRIES, 2))
    near = changes[:, 0] + random.choice(NEAR, MOST_TRIES)
    changes[::2, 1] = np.clip(near, 0, n - 1)[::2]
    firsts = random.integers(FIRSTS, size=MOST_TRIES)
    firsts[:PLAIN] = 0
    return _Drawn(firsts, np.exp(noises), changes)
