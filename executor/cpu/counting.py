"""Counting the last levels of a nest without looping over them."""

from __future__ import annotations

from gdb.executor.cpu.address import (
    GALLOP,
    L_ABOVE,
    L_ABOVE_END,
    L_BASE,
    L_BITS,
    L_CHECK,
    L_CHECK_END,
    L_DIFFERS,
    L_DIFFERS_END,
    L_EDGE,
    L_FORMULA,
    L_SIZE,
    LARGEST,
    N_LEVEL,
    P_GROUPS,
    P_LEVELS,
    P_REFS,
    P_V,
    Pointers,
    compiled,
    load_i64,
    load_u32,
    store_i64,
)
from gdb.executor.cpu.levels import accepts, element, enter, is_repeat, passes
from gdb.executor.cpu.sets import level, lower_bound, repeats


@compiled
def is_plain(p: Pointers, d: int) -> bool:
    """Whether a vertex level's elements all count but for its differences: no bitset, no check, no
    value twice."""
    row = p[P_LEVELS] + d * N_LEVEL * 8
    bare = load_i64(row, L_BITS) < 0 and load_i64(row, L_CHECK) == load_i64(row, L_CHECK_END)
    return bare and not repeats(p, row, L_BASE)


@compiled
def count_level(p: Pointers, d: int) -> int:
    """Number of elements that level d would bind."""
    row = p[P_LEVELS] + d * N_LEVEL * 8
    address, start, end = enter(p, d)
    if start == end:
        return 0
    edge = load_i64(row, L_EDGE) == 1
    differs, differs_end = load_i64(row, L_DIFFERS), load_i64(row, L_DIFFERS_END)
    if edge:
        bare = load_i64(row, L_BITS) < 0 and differs == differs_end
        plain = bare and load_i64(row, L_ABOVE) == load_i64(row, L_ABOVE_END)
    else:
        plain = is_plain(p, d)
    if plain:
        n = end - start
        for r in range(differs, differs_end):
            x = load_i64(p[P_V], load_i64(p[P_REFS], r))
            again = False
            for q in range(differs, r):
                again = again or load_i64(p[P_V], load_i64(p[P_REFS], q)) == x
            if not again:
                at = lower_bound(address, start, end, x)
                if at < end and load_u32(address, at) == x:
                    n -= 1
        return n
    n = 0
    for at in range(start, end):
        if is_repeat(p, d, address, start, at):
            continue
        x = element(p, d, address, at)
        if accepts(p, d, x) and (edge or passes(p, d, x)):
            n += 1
    return n


@compiled
def common_differs(
    p: Pointers, d: int, other: int, a: int, i: int, ie: int, b: int, j: int, je: int
) -> int:
    """How many common values of two lists are ruled out by the differences of level d, or of
    `other` where d has none of them: each value once."""
    n = 0
    v, refs = p[P_V], p[P_REFS]
    for side in range(2):
        at = d if side == 0 else other
        if side == 1 and other == d:
            break
        for r in range(level(p, at, L_DIFFERS), level(p, at, L_DIFFERS_END)):
            if load_i64(refs, r) >= d and side == 1:
                continue
            x = load_i64(v, load_i64(refs, r))
            again = False
            for q in range(level(p, at, L_DIFFERS), r):
                again = again or load_i64(v, load_i64(refs, q)) == x
            if side == 1:
                for q in range(level(p, d, L_DIFFERS), level(p, d, L_DIFFERS_END)):
                    again = again or load_i64(v, load_i64(refs, q)) == x
            if again:
                continue
            k = lower_bound(a, i, ie, x)
            if k < ie and load_u32(a, k) == x:
                k = lower_bound(b, j, je, x)
                if k < je and load_u32(b, k) == x:
                    n += 1
    return n


@compiled
def count_equal(a: int, i: int, ie: int, b: int, j: int, je: int) -> int:
    """Number of common values of two ascending lists without repeats."""
    n = 0
    if (je - j) * GALLOP < ie - i:
        a, i, ie, b, j, je = b, j, je, a, i, ie
    if (ie - i) * GALLOP < je - j:
        while i < ie:
            x = load_u32(a, i)
            i += 1
            j = lower_bound(b, j, je, x)
            if j == je:
                break
            n += load_u32(b, j) == x
        return n
    while i < ie and j < je:
        x = load_u32(a, i)
        y = load_u32(b, j)
        n += x == y
        i += x <= y
        j += y <= x
    return n


@compiled
def count_common(p: Pointers, d: int) -> int:
    """Number of vids that both level d and level d + 1 would bind (their difference from one
    another aside)."""
    a, i, ie = enter(p, d)
    b, j, je = enter(p, d + 1)
    if i == ie or j == je:
        return 0
    if is_plain(p, d) and is_plain(p, d + 1):
        ruled_out = common_differs(p, d, d + 1, a, i, ie, b, j, je)
        return count_equal(a, i, ie, b, j, je) - ruled_out
    store_i64(p[P_V], d, -1)
    n = 0
    first = i
    while i < ie:
        x = load_u32(a, i)
        if not is_repeat(p, d, a, first, i):
            j = lower_bound(b, j, je, x)
            if j < je and load_u32(b, j) == x and accepts(p, d, x) and accepts(p, d + 1, x):
                n += 1
        i += 1
    return n


@compiled
def count_groups(p: Pointers, groups: int) -> tuple[int, float, int]:
    """(product of the groups' formulas, the same as float to see an overflow, elements looked at)."""
    total, shadow, work = 1, 1.0, 0
    g = 0
    while g < groups:
        d = load_i64(p[P_GROUPS], g)
        g += 1
        formula = level(p, d, L_FORMULA)
        if formula == 3:
            g += 1
            store_i64(p[P_V], d, -1)
        n = count_level(p, d)
        work += 4 if is_plain(p, d) else 4 + n
        ways, approx = 1, 1.0
        if formula == 3:
            # the vertices are counted as if free of one another, then the pairs that are one vertex
            # are taken off
            store_i64(p[P_V], d, -1)
            other = count_level(p, d + 1) if n > 0 else 0
            approx = approx * n * other
            if approx > LARGEST:
                return 0, approx, work
            common = count_common(p, d) if other > 0 else 0
            work += min(n + other, 32 * min(n, other))
            shadow = shadow * approx
            if shadow > LARGEST:
                return 0, shadow, work
            total = total * (n * other - common)
            if total == 0:
                return 0, 0.0, work
            continue
        for i in range(level(p, d, L_SIZE)):
            left = n if formula == 0 else max(n - i, 0)
            approx = approx * left
            if approx > LARGEST:
                return 0, approx, work
            ways = ways * left
            if formula == 2:
                ways = ways // (i + 1)
                approx = approx / (i + 1)
        shadow = shadow * approx
        if shadow > LARGEST:
            return 0, shadow, work
        total = total * ways
        if total == 0:
            return 0, 0.0, work
    return total, shadow, work
