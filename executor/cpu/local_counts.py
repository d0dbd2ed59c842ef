"""The loops over bits at the end of a nest (`neighbourhood`): each runs over the ones of a set; below the last, what
the leaves count is a number of ones.

The state of the loops lies in the worker's table, so that counting may stop at any element and go on later.
"""

from __future__ import annotations

from gdb.base.machine.bits import ones, trailing_zeros
from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import load_i64, load_u8, store_i64

from .address import LARGEST, B, E, G, P, Pointers
from .bitmaps import Graph, compute_bits, count_meet, place_of_row, row_of, set_of
from .nodes import ways


@compiled
def loop_of(g: Graph, k: int) -> int:
    """The address of a loop's table row."""
    return load_i64(g, G.LEVELS) + k * B.N * 8


@compiled
def enter_loop(g: Graph, k: int) -> None:
    """Move before the first element of loop k."""
    here = loop_of(g, k)
    store_i64(here, B.WORD, -1)
    store_i64(here, B.LEFT, 0)
    store_i64(g, G.DEPTH, k)


@compiled
def count_end(p: Pointers, g: Graph, end: int, at: int) -> int:
    """How many positions a leaf can be bound to with the last loop at position `at`."""
    held, relation = load_i64(end, E.SET), load_i64(end, E.RELATION)
    if relation >= 0:
        row = row_of(p, g, relation, at)
        return max(
            count_meet(set_of(g, held), row, load_i64(g, G.WORDS)) - load_i64(end, E.MINUS), 0
        )
    n = load_i64(load_i64(g, G.COUNTS), held) - load_i64(end, E.MINUS)
    if load_i64(end, E.DIFFERS) != 0:
        n -= (load_i64(set_of(g, held), at >> 6) >> (at & 63)) & 1
    return max(n, 0)


@compiled
def bits_of(p: Pointers, g: Graph, end: int, at: int) -> tuple[int, int]:
    """(set, row) of a leaf, whose common positions it can be bound to, but for the last loop's own."""
    held, relation = set_of(g, load_i64(end, E.SET)), load_i64(end, E.RELATION)
    if relation < 0:
        return held, held
    return held, row_of(p, g, relation, at)


@compiled
def count_both(p: Pointers, g: Graph, one: int, other: int, at: int) -> int:
    """How many positions either of two leaves can be bound to with the last loop at position `at`."""
    a, b = bits_of(p, g, one, at)
    c, d = bits_of(p, g, other, at)
    n = 0
    for w in range(load_i64(g, G.WORDS)):
        n += ones(load_i64(a, w) & load_i64(b, w) & load_i64(c, w) & load_i64(d, w))
    if load_i64(one, E.DIFFERS) | load_i64(other, E.DIFFERS) != 0:
        w = at >> 6
        own = load_i64(a, w) & load_i64(b, w) & load_i64(c, w) & load_i64(d, w)
        n -= (own >> (at & 63)) & 1
    return n


@compiled
def count_ends(p: Pointers, g: Graph, at: int) -> tuple[int, float]:
    """(what the leaves count with the last loop at position `at`, about the same to see an overflow)."""
    total, shadow = 1, 1.0
    end, after = load_i64(g, G.ENDS), load_i64(g, G.ENDS) + load_i64(g, G.END_COUNT) * E.N * 8
    while end < after:
        n = count_end(p, g, end, at)
        approx = float(n)
        if load_i64(end, E.PAIR) != 0:
            other = end + E.N * 8
            n = n * count_end(p, g, other, at) - count_both(p, g, end, other, at)
            approx = float(n)
            end = other
        elif load_i64(end, E.SIZE) > 1:
            n, approx = ways(n, approx, load_i64(end, E.SIZE), load_i64(end, E.FORMULA))
        shadow = shadow * approx
        if shadow > LARGEST or approx == 0.0:
            return 0, shadow
        total = total * n
        end += E.N * 8
    return total, shadow


@compiled
def count_rows(p: Pointers, g: Graph, held: int, end: int, other: int) -> tuple[int, float]:
    """As `count_last` where one leaf depends on the last loop's row, and another on no more than whether its vertex is
    in a set (0: there is none)."""
    words, relation = load_i64(g, G.WORDS), load_i64(end, E.RELATION)
    size, formula = load_i64(end, E.SIZE), load_i64(end, E.FORMULA)
    wanted = set_of(g, load_i64(end, E.SET))
    others, times, differs = wanted, 1, 0
    if other != 0:
        others, differs = set_of(g, load_i64(other, E.SET)), load_i64(other, E.DIFFERS)
        times = load_i64(load_i64(g, G.COUNTS), load_i64(other, E.SET)) - load_i64(other, E.MINUS)
    minus, step = load_i64(end, E.MINUS), load_i64(g, G.RELATION_COUNT)
    made, rows = place_of_row(g, relation, 0)
    total, shadow = 0, 0.0
    for w in range(words):
        left, beside = load_i64(held, w), load_i64(others, w)
        while left != 0:
            bit = trailing_zeros(left)
            left = left & (left - 1)
            at = ((w << 6) + bit) * step
            if load_u8(made, at) == 0:
                row_of(p, g, relation, (w << 6) + bit)
            n = count_meet(wanted, rows + at * words * 8, words)
            if size > 1:
                n, approx = ways(n, float(n), size, formula)
                shadow += approx * times
            elif n > 0:
                n -= minus
            total += n * (times - (differs & (beside >> bit)))
    return total, max(shadow, float(total))


@compiled
def count_last(p: Pointers, g: Graph) -> tuple[int, float]:
    """What the last loop counts, and about the same."""
    k = load_i64(g, G.LAST)
    here = loop_of(g, k)
    held = set_of(g, load_i64(here, B.SET))
    end, other = load_i64(g, G.ENDS), 0
    if load_i64(here, B.K) < load_i64(here, B.K_END):
        return count_each(p, g, here, held)
    if load_i64(g, G.END_COUNT) == 2:
        other = end + E.N * 8
        if load_i64(end, E.RELATION) < 0:
            end, other = other, end
    plain = other == 0 or (load_i64(other, E.RELATION) < 0 and load_i64(other, E.SIZE) == 1)
    alone = load_i64(g, G.END_COUNT) <= 2 and load_i64(end, E.RELATION) >= 0
    if alone and plain and load_i64(load_i64(g, G.ENDS), E.PAIR) == 0:
        return count_rows(p, g, held, end, other)
    return count_each(p, g, here, held)


@compiled
def count_each(p: Pointers, g: Graph, here: int, held: int) -> tuple[int, float]:
    """As `count_last`, whatever the leaves are, for a loop (its table row) over a set."""
    computes = load_i64(here, B.K) < load_i64(here, B.K_END)
    total, shadow = 0, 0.0
    for w in range(load_i64(g, G.WORDS)):
        left = load_i64(held, w)
        while left != 0:
            at = (w << 6) + trailing_zeros(left)
            left = left & (left - 1)
            if computes:
                store_i64(here, B.AT, at)
                if compute_bits(p, g, load_i64(g, G.LAST)) < 0:
                    continue
            n, approx = count_ends(p, g, at)
            total += n
            shadow += approx
    return total, shadow


@compiled
def next_position(g: Graph, here: int) -> int:
    """The next one of the set that a loop runs over, -1 where there is none left."""
    left, w = load_i64(here, B.LEFT), load_i64(here, B.WORD)
    words = load_i64(g, G.WORDS)
    held = set_of(g, load_i64(here, B.SET))
    while left == 0:
        w += 1
        if w >= words:
            return -1
        left = load_i64(held, w)
    store_i64(here, B.WORD, w)
    store_i64(here, B.LEFT, left & (left - 1))
    return (w << 6) + trailing_zeros(left)


@compiled
def bind_next(p: Pointers, g: Graph, k: int) -> int:
    """Bind loop k, which is not the last, to its next element; the loop that goes on."""
    here = loop_of(g, k)
    at = next_position(g, here)
    if at < 0:
        return k - 1
    store_i64(here, B.AT, at)
    bound = load_i64(p, P.BOUND)
    store_i64(bound, k, load_i64(bound, k) + 1)
    if compute_bits(p, g, k) < 0:
        return k
    enter_loop(g, k + 1)
    return k + 1


@compiled
def count_local(p: Pointers, g: Graph, budget: int) -> tuple[int, float, int, bool]:
    """(embeddings below the loops that are bound, about the same, elements looked at, whether that is all), until
    `budget` elements have been."""
    first, last = load_i64(g, G.FIRST), load_i64(g, G.LAST)
    words, ends = load_i64(g, G.WORDS), load_i64(g, G.END_COUNT)
    k = load_i64(g, G.DEPTH)
    total, shadow, work = 0, 0.0, 0
    while k >= first and work <= budget and shadow <= LARGEST:
        work += 2 + words
        if k < last:
            k = bind_next(p, g, k)
            continue
        held = load_i64(load_i64(g, G.COUNTS), load_i64(loop_of(g, k), B.SET))
        if k < load_i64(g, G.LOOPS):
            bound = load_i64(p, P.BOUND)
            store_i64(bound, k, load_i64(bound, k) + held)
        n, approx = count_last(p, g)
        total += n
        shadow += approx
        work += held * ends * (2 + (words >> 2))
        k -= 1
    store_i64(g, G.DEPTH, k)
    return total, shadow, work, k < first
