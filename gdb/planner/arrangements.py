"""Matching orders of large patterns for counting: those whose loops fall apart early, and what is near the best ones.

Orders are made from the inside out: after each loop every part that is left is arranged by itself, next is the vertex
of the fewest expected candidates, or that leaves small parts. Random weights of the two make many of them; the cheapest
are changed a little as long as that makes them cheaper (hill climbing). `gdb.planner.pricing` prices all.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gdb.planner.order import joined
from gdb.planner.pricing import Prices
from gdb.planner.resolved_graph import Resolved
from gdb.planner.shape import components, members

if TYPE_CHECKING:
    from gdb.planner.statistics import Statistics

FIRSTS = 6  # vertices that orders begin with
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
    query: Resolved, prices: Prices, known: Iterable[Order], tries: int, root: int | None = None
) -> list[tuple[float, Order]]:
    """The cheapest orders found, each with its price, the best first; none where nothing has a price.

    known : orders to begin with. tries : orders that are made, and changes of the best ones. root : the first vertex.
    """
    source = random.Random(1)  # the same in each process
    orders = dict.fromkeys(known)
    count = prices.statistics.count
    firsts = [root] if root is not None else list(range(prices.shape.n))
    firsts.sort(key=lambda v: count(v) / (1 + prices.near[v].bit_count()))
    for k in range(tries):
        first = firsts[0] if k < PLAIN else source.choice(firsts[:FIRSTS])
        noise = 0.0 if k < PLAIN else 0.5 + 0.5 * (k % 4)
        made = _greedy_order(query, prices, first, float(k % 3), noise, source)
        if made is not None:
            orders[made] = None
    found = sorted((prices.price(order), order) for order in orders)
    price, order = found[0]
    best = _climbed(query, prices, price, order, tries, source, root)
    return [one for one in dict.fromkeys((best, *found[:2])) if one[0] < math.inf][:2]


def _greedy_order(
    query: Resolved,
    prices: Prices,
    first: int,
    falling: float,
    noise: float,
    source: random.Random,
) -> Order | None:
    """An order from a vertex. falling : how much small parts are worth, beside the logarithm of candidates."""
    shape, statistics = prices.shape, prices.statistics
    loops: list[int] = []
    waiting = [(0, shape.everyone)]
    while waiting:
        bound, part = waiting.pop()
        if bound and not shape.against(part):
            continue
        chosen, least = first, math.inf
        for v in members(part) if bound else ():
            if not prices.near[v] & bound or not (prices.near[v] | shape.differs[v]) & part:
                continue
            left = shape.parts(part & ~(1 << v))
            largest = max((one.bit_count() for one in left), default=0)
            expected = math.log(max(statistics.expansion(bound, v), 1e-9))
            score = expected + falling * largest + noise * source.gauss(0.0, 1.0)
            if score < least:
                chosen, least = v, score
        if bound and least == math.inf:
            return None
        loops.append(chosen)
        left = shape.parts(part & ~(1 << chosen))
        waiting += [(bound | 1 << chosen, one) for one in sorted(left, key=int.bit_count)[::-1]]
    return joined(query, [*loops, *(v for v in range(shape.n) if v not in loops)])


def _climbed(
    query: Resolved,
    prices: Prices,
    price: float,
    order: Order,
    tries: int,
    source: random.Random,
    root: int | None,
) -> tuple[float, Order]:
    """The cheapest order that a sequence of changes leads to, each one making it cheaper."""
    n = len(order)
    for _ in range(tries):
        changed = list(order)
        at = source.randrange(n)
        v = changed.pop(at)
        to = source.randrange(n) if source.random() < 0.5 else at + source.choice(NEAR)
        changed.insert(max(0, min(n - 1, to)), v)
        if root is not None and changed[0] != root:
            continue
        again = joined(query, changed)
        if again is None or again == order:
            continue
        cost = prices.price(again)
        if cost < price:
            price, order = cost, again
    return price, order
