"""Matching orders for counting nests, made and changed (`gdb.planner.arrangements`)."""

from __future__ import annotations

from gdb.base.machine.bits import ones, trailing_zeros
from gdb.base.machine.compile import compiled, together
from gdb.base.machine.memory import load_f64, load_i64, store_f64, store_i64

from .nest_prices import UNKNOWN, priced
from .nest_shapes import PLACES, STACK, N, against, expansion, near_of, part_of

# tries, i64[N_TRIES]: how many are DONE, of COUNT, the first GIVEN of which are known orders; of those made FIRSTS,
# i64[made]: the vertices that they begin with; FALLS, f64[3, n + 1], and NOISES, f64[made, n], as `arranged` has them;
# CHANGES, i64[count, 2]: a place, and another that a vertex is moved to; OTHER, i64[n]: room for an order; ROOTED:
# whether the first vertex stays
DONE, COUNT, GIVEN, FIRSTS, FALLS, NOISES, CHANGES, OTHER, ROOTED = range(9)
N_TRIES = 9


@compiled
def connect(s: int, vertices: int, found: int) -> bool:
    """Put vertices, i64[n], into `found` so that each is joined to an earlier one, as near to their order as can be;
    whether that can be."""
    n = load_i64(s, N)
    bound = 0
    for k in range(n):
        at = 0
        while at < n and (
            bound >> load_i64(vertices, at) & 1 != 0
            or (k > 0 and near_of(s, load_i64(vertices, at)) & bound == 0)
        ):
            at += 1
        if at == n:
            return False
        store_i64(found, k, load_i64(vertices, at))
        bound |= 1 << load_i64(vertices, at)
    return True


@compiled
def next_of(s: int, differs: int, bound: int, part: int, falls: int, noises: int) -> int:
    """The vertex of a part to loop over next, -1 for none: that of the fewest expected candidates, or that leaves small
    parts, as `falls`, f64[n], and `noises`, f64[n], weigh it."""
    found, least = -1, 0.0
    left = part
    while left != 0:
        v = trailing_zeros(left)
        left &= left - 1
        if near_of(s, v) & bound == 0 or (near_of(s, v) | load_i64(differs, v)) & part == 0:
            continue
        rest, largest = part & ~(1 << v), 0
        while rest != 0:
            one = part_of(s, differs, rest & -rest, rest)
            rest &= ~one
            largest = max(largest, ones(one))
        score = max(expansion(s, bound, v), 1e-9) * load_f64(falls, largest) * load_f64(noises, v)
        if found < 0 or score < least:
            found, least = v, score
    return found


@compiled
def arranged(s: int, differs: int, first: int, falls: int, noises: int, out: int) -> int:
    """Put an order from a vertex into `out`, i64[n]: after each loop every part that is left is arranged by itself, the
    smallest first; 1, or 0 where there is none. falls : f64[n], how much more a vertex counts that leaves a part of so
    many; noises : f64[n], how much more each vertex counts."""
    n = load_i64(s, N)
    places = load_i64(s, PLACES)
    bounds, parts = load_i64(s, STACK), load_i64(s, STACK) + 8 * n
    store_i64(bounds, 0, 0)
    store_i64(parts, 0, (1 << n) - 1)
    top, loops, seen = 1, 0, 0
    while top > 0:
        top -= 1
        bound, part = load_i64(bounds, top), load_i64(parts, top)
        if bound != 0 and against(s, differs, part) == 0:
            continue
        v = first if bound == 0 else next_of(s, differs, bound, part, falls, noises)
        if v < 0:
            return 0
        store_i64(places, loops, v)
        loops += 1
        seen |= 1 << v
        rest, bottom = part & ~(1 << v), top
        while rest != 0:
            one = part_of(s, differs, rest & -rest, rest)
            rest &= ~one
            at = top
            while at > bottom and ones(load_i64(parts, at - 1)) < ones(one):
                store_i64(parts, at, load_i64(parts, at - 1))
                at -= 1
            store_i64(parts, at, one)
            store_i64(bounds, top, bound | 1 << v)
            top += 1
    for v in range(n):
        if seen >> v & 1 == 0:
            store_i64(places, loops, v)
            loops += 1
    return 1 if connect(s, places, out) else 0


@compiled
def moved(s: int, order: int, at: int, to: int, out: int) -> int:
    """Put an order, i64[n], with the vertex at one place put at another into `out`; 1, or 0 where that is no order, or
    the same."""
    n = load_i64(s, N)
    places = load_i64(s, PLACES)
    step = 1 if to > at else -1
    for k in range(n):
        store_i64(places, k, load_i64(order, k))
    k = at
    while k != to:
        store_i64(places, k, load_i64(order, k + step))
        k += step
    store_i64(places, to, load_i64(order, at))
    if not connect(s, places, out):
        return 0
    changed = 0
    for k in range(n):
        if load_i64(out, k) != load_i64(order, k):
            changed = 1
    return changed


def _tried(s: int, differs: int, tries: int, orders: int, prices: int) -> int:
    """Make orders and price them; how many are done, fewer where there is no room for a further sample (`nest_prices`):
    the next call goes on. tries : i64[N_TRIES]. orders : i64[count, n], the first `GIVEN` of them known. prices :
    f64[count], `UNKNOWN` of what is no order."""
    n, falls = load_i64(s, N), load_i64(tries, FALLS)
    for k in range(load_i64(tries, DONE), load_i64(tries, COUNT)):
        order, made = orders + 8 * n * k, k - load_i64(tries, GIVEN)
        found = 1
        if made >= 0:
            first = load_i64(load_i64(tries, FIRSTS), made)
            fall = falls + 8 * (n + 1) * (made % 3)
            found = arranged(s, differs, first, fall, load_i64(tries, NOISES) + 8 * n * made, order)
        price = UNKNOWN
        if found != 0:
            price = priced(s, differs, order)
        if price < 0.0:
            return k
        store_f64(prices, k, price)
        store_i64(tries, DONE, k + 1)
    return load_i64(tries, DONE)


def _climbed(s: int, differs: int, tries: int, order: int, price: int) -> int:
    """Change an order, i64[n], as long as that makes it cheaper; how many changes are done, as `_tried`. tries,
    i64[N_TRIES]. price : f64[1], of the order."""
    n, other = load_i64(s, N), load_i64(tries, OTHER)
    for k in range(load_i64(tries, DONE), load_i64(tries, COUNT)):
        at, to = (
            load_i64(load_i64(tries, CHANGES), 2 * k),
            load_i64(load_i64(tries, CHANGES), 2 * k + 1),
        )
        rooted = load_i64(tries, ROOTED) != 0 and (at == 0 or to == 0)
        if not rooted and moved(s, order, at, to, other) != 0:
            cost = priced(s, differs, other)
            if cost < 0.0:
                return k
            if cost < load_f64(price, 0):
                store_f64(price, 0, cost)
                for v in range(n):
                    store_i64(order, v, load_i64(other, v))
        store_i64(tries, DONE, k + 1)
    return load_i64(tries, DONE)


tried, climbed = together(_tried, _climbed)
