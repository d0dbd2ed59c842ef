"""Rows of views, slices, and set operations on ascending lists: merge or gallop by size."""

from __future__ import annotations

from gdb.executor.cpu.address import (
    GALLOP,
    L_SET,
    L_SET_END,
    N_LEVEL,
    N_SET,
    N_VIEW,
    P_BITS,
    P_BUFFER,
    P_LEVELS,
    P_LISTS,
    P_REFS,
    P_SET_LENGTH,
    P_SETS,
    P_SIMPLE,
    P_V,
    P_VIEWS,
    S_ABOVE,
    S_BELOW,
    S_BITS,
    S_LEFT,
    S_LO,
    S_OFFSET,
    S_OP,
    S_RIGHT,
    V_FIRST,
    V_INTERVALS,
    V_LENGTH,
    V_NEIGHBOURS,
    V_OFFSETS,
    V_ROW,
    Pointers,
    compiled,
    load_i64,
    load_u8,
    load_u32,
    store_i64,
    store_u32,
)


@compiled
def level(p: Pointers, d: int, field: int) -> int:
    return load_i64(p[P_LEVELS], d * N_LEVEL + field)


@compiled
def lower_bound(address: int, start: int, end: int, x: int) -> int:
    """First position in [start, end) whose value is >= x."""
    while start < end:
        middle = (start + end) >> 1
        if load_u32(address, middle) < x:
            start = middle + 1
        else:
            end = middle
    return start


@compiled
def has_bit(address: int, x: int) -> int:
    return (load_u8(address, x >> 3) >> (x & 7)) & 1


@compiled
def find_row(p: Pointers, view: int, vid: int) -> tuple[int, int]:
    """(start, end) of a vid's neighbours, by the interval index; (0, 0) where it has none."""
    at = p[P_VIEWS] + view * N_VIEW * 8
    first = load_i64(at, V_FIRST)
    k = lower_bound(first, 0, load_i64(at, V_INTERVALS), vid + 1) - 1
    if k < 0:
        return 0, 0
    step = vid - load_u32(first, k)
    if step >= load_u32(load_i64(at, V_LENGTH), k):
        return 0, 0
    row = load_u32(load_i64(at, V_ROW), k) + step
    offsets = load_i64(at, V_OFFSETS)
    return load_i64(offsets, row), load_i64(offsets, row + 1)


@compiled
def neighbours(p: Pointers, view: int) -> int:
    return load_i64(p[P_VIEWS] + view * N_VIEW * 8, V_NEIGHBOURS)


@compiled
def bounds(p: Pointers, row: int, lo: int, below: int, above: int) -> tuple[int, int]:
    """The vid range [lo, hi) that a level or set (its table row) is cut to, given the vertices
    bound so far."""
    low, high = load_i64(row, lo), load_i64(row, lo + 1)
    for r in range(load_i64(row, below), load_i64(row, below + 1)):
        high = min(high, load_i64(p[P_V], load_i64(p[P_REFS], r)))
    for r in range(load_i64(row, above), load_i64(row, above + 1)):
        low = max(low, load_i64(p[P_V], load_i64(p[P_REFS], r)) + 1)
    return low, high


@compiled
def operand(p: Pointers, row: int, field: int) -> tuple[int, int, int]:
    """(address, start, end) of the list, row or computed set that the three columns from `field`
    name."""
    kind, a = load_i64(row, field), load_i64(row, field + 1)
    if kind == 1:
        start, end = find_row(p, a, load_i64(p[P_V], load_i64(row, field + 2)))
        return neighbours(p, a), start, end
    if kind == 2:
        start = load_i64(p[P_SETS], a * N_SET + S_OFFSET)
        return p[P_BUFFER], start, start + load_i64(p[P_SET_LENGTH], a)
    return load_i64(p[P_LISTS], 2 * a), 0, load_i64(p[P_LISTS], 2 * a + 1)


@compiled
def repeats(p: Pointers, row: int, field: int) -> bool:
    """Whether an operand may hold a value twice: a row of a view with parallel edges."""
    return load_i64(row, field) == 1 and load_i64(p[P_SIMPLE], load_i64(row, field + 1)) == 0


@compiled
def intersect(a: int, i: int, ie: int, b: int, j: int, je: int, out: int, at: int) -> int:
    """Write the common values of two ascending lists from `at` on; the number written.

    A value comes out as often as it stands in both. The store before the comparison may write one
    value past the end.
    """
    n = at
    if (je - j) * GALLOP < ie - i:
        a, i, ie, b, j, je = b, j, je, a, i, ie
    if (ie - i) * GALLOP < je - j:
        while i < ie:
            x = load_u32(a, i)
            i += 1
            j = lower_bound(b, j, je, x)
            if j == je:
                break
            if load_u32(b, j) == x:
                store_u32(out, n, x)
                n += 1
                j += 1
        return n - at
    while i < ie and j < je:
        x = load_u32(a, i)
        y = load_u32(b, j)
        store_u32(out, n, x)
        n += x == y
        i += x <= y
        j += y <= x
    return n - at


@compiled
def subtract(a: int, i: int, ie: int, b: int, j: int, je: int, out: int, at: int) -> int:
    """Write the values of the first list that are not in the second; the number written."""
    n = at
    while i < ie:
        x = load_u32(a, i)
        i += 1
        j = lower_bound(b, j, je, x)
        if j == je or load_u32(b, j) != x:
            store_u32(out, n, x)
            n += 1
    return n - at


@compiled
def thin_out(out: int, at: int, n: int, test: int) -> int:
    """Keep of n values from `at` on the first of each, and only those in bitset `test` (0: all);
    the number kept."""
    kept = at
    last = -1
    for i in range(at, at + n):
        x = load_u32(out, i)
        if x != last and (test == 0 or has_bit(test, x)):
            store_u32(out, kept, x)
            kept += 1
        last = x
    return kept - at


@compiled
def compute_sets(p: Pointers, d: int) -> int:
    """Run the set operations that hang on level d; -1 if one came out empty, else the elements
    looked at."""
    work = 0
    for s in range(level(p, d, L_SET), level(p, d, L_SET_END)):
        row = p[P_SETS] + s * N_SET * 8
        low, high = bounds(p, row, S_LO, S_BELOW, S_ABOVE)
        a, i, ie = operand(p, row, S_LEFT)
        b, j, je = operand(p, row, S_RIGHT)
        i = lower_bound(a, i, ie, low)
        ie = lower_bound(a, i, ie, high)
        offset = load_i64(row, S_OFFSET)
        if load_i64(row, S_OP) == 0:
            j = lower_bound(b, j, je, low)
            je = lower_bound(b, j, je, high)
            n = intersect(a, i, ie, b, j, je, p[P_BUFFER], offset)
            doubled = repeats(p, row, S_LEFT) and repeats(p, row, S_RIGHT)
        else:
            n = subtract(a, i, ie, b, j, je, p[P_BUFFER], offset)
            doubled = repeats(p, row, S_LEFT)
        bits = load_i64(row, S_BITS)
        if doubled or bits >= 0:
            n = thin_out(p[P_BUFFER], offset, n, load_i64(p[P_BITS], bits) if bits >= 0 else 0)
        store_i64(p[P_SET_LENGTH], s, n)
        work += 1 + min(ie - i + je - j, 32 * min(ie - i, je - j))
        if n == 0:
            return -1
    return work
