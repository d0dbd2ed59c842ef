"""One level of a nest: the elements that it loops over, and the checks that they must pass."""

from __future__ import annotations

from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import load_i64, load_u32, store_i64
from gdb.storage.graph.row_loops import lower_bound

from .address import (
    MISSING,
    N_CHECK,
    N_LEVEL,
    N_VALUE,
    N_VIEW,
    OR,
    OUTSIDE,
    PAIRS,
    WINDOW,
    WITHIN,
    C,
    F,
    L,
    P,
    Pointers,
    V,
    W,
)
from .sets import (
    bounds,
    find_row,
    has_bit,
    level,
    neighbours,
    operand,
)


@compiled
def is_within(p: Pointers, row: int) -> bool:
    """Whether the values of two levels differ by what check `row` says."""
    v = load_i64(p, P.V)
    values = load_i64(p, P.VALUES) + load_i64(row, C.C) * N_VALUE * 8
    left = load_i64(load_i64(values, W.LEFT), load_i64(v, load_i64(row, C.A)))
    right = load_i64(load_i64(values, W.RIGHT), load_i64(v, load_i64(row, C.B)))
    if left == MISSING or right == MISSING:
        return False
    difference = right - left
    within = difference >= load_i64(values, W.LEAST) and difference <= load_i64(values, W.MOST)
    return within == (load_i64(row, C.TEST) != OUTSIDE)


@compiled
def passes(p: Pointers, d: int, x: int) -> bool:
    """Whether the checks of level d hold with its vertex at x."""
    v = load_i64(p, P.V)
    store_i64(v, d, x)
    for c in range(level(p, d, L.CHECK), level(p, d, L.CHECK_END)):
        row = load_i64(p, P.CHECKS) + c * N_CHECK * 8
        if load_i64(row, C.TEST) >= WITHIN:
            if not is_within(p, row):
                return False
            continue
        a, b = load_i64(row, C.A), load_i64(v, load_i64(row, C.B))
        e = load_i64(v, load_i64(row, C.C))
        if load_i64(row, C.TEST) == PAIRS:
            a, f = load_i64(v, a), load_i64(v, load_i64(row, C.D))
            if (a == e and b == f) or (load_i64(row, C.E) == 1 and a == f and b == e):
                return False
        else:
            start, end = find_row(p, a, b)
            address = neighbours(p, a)
            at = lower_bound(address, start, end, e)
            held = 0
            while at < end and load_u32(address, at) == e:
                held += 1
                at += 1
            if held < load_i64(row, C.D) or held > load_i64(row, C.E):
                return False
    return True


@compiled
def accepts(p: Pointers, d: int, x: int) -> bool:
    """Whether element x (a vid, or an edge id on an edge level) passes level d's differences,
    bitset and id order."""
    v, refs = load_i64(p, P.V), load_i64(p, P.REFS)
    for r in range(level(p, d, L.DIFFERS), level(p, d, L.DIFFERS_END)):
        if load_i64(v, load_i64(refs, r)) == x:
            return False
    bits = level(p, d, L.BITS)
    if bits >= 0 and not has_bit(load_i64(load_i64(p, P.BITS), bits), x):
        return False
    if level(p, d, L.IS_EDGE) == 1:
        for r in range(level(p, d, L.ABOVE), level(p, d, L.ABOVE_END)):
            if x <= load_i64(v, load_i64(refs, r)):
                return False
    return True


@compiled
def first_from(values: int, start: int, end: int, x: int) -> int:
    """First position in [start, end) of ascending values, i64, that is not below x."""
    while start < end:
        middle = (start + end) >> 1
        if load_i64(values, middle) < x:
            start = middle + 1
        else:
            end = middle
    return start


@compiled
def window(p: Pointers, row: int, start: int, end: int) -> tuple[int, int, int]:
    """(address, start, end) of the edges at [start, end) of a view's row, in the order of their values, that
    pass the windows of a level (its table row)."""
    v, low, high = load_i64(p, P.V), MISSING + 1, -(MISSING + 1)
    order = load_i64(p, P.ORDERS) + load_i64(row, L.LO) * OR.N * 8
    for c in range(load_i64(row, L.BELOW), load_i64(row, L.BELOW_END)):
        check = load_i64(p, P.CHECKS) + c * N_CHECK * 8
        values = load_i64(p, P.VALUES) + load_i64(check, C.C) * N_VALUE * 8
        least, most = load_i64(values, W.LEAST), load_i64(values, W.MOST)
        if load_i64(check, C.D) == 1:
            known = load_i64(load_i64(values, W.LEFT), load_i64(v, load_i64(check, C.A)))
        else:
            known = load_i64(load_i64(values, W.RIGHT), load_i64(v, load_i64(check, C.B)))
            least, most = -most, -least
        if known == MISSING:
            return load_i64(order, OR.EIDS), start, start
        low, high = max(low, known + least), min(high, known + most)
    values = load_i64(order, OR.VALUES)
    start = first_from(values, start, end, low)
    end = first_from(values, start, end, high + 1)
    return load_i64(order, OR.EIDS), start, end


@compiled
def enter(p: Pointers, d: int) -> tuple[int, int, int]:
    """(address, start, end) of what level d loops over. Edge levels loop over positions of their
    view."""
    row = load_i64(p, P.LEVELS) + d * N_LEVEL * 8
    if load_i64(row, L.IS_EDGE) == 1:
        view = load_i64(row, L.BASE_A)
        start, end = find_row(p, view, load_i64(load_i64(p, P.V), load_i64(row, L.BASE_B)))
        if load_i64(row, L.BASE) == WINDOW:
            if load_i64(row, L.LO) < 0:
                return load_i64(load_i64(p, P.VIEWS) + view * N_VIEW * 8, V.EIDS), start, end
            return window(p, row, start, end)
        y = load_i64(load_i64(p, P.V), load_i64(row, L.LO))
        address = neighbours(p, view)
        start = lower_bound(address, start, end, y)
        end = lower_bound(address, start, end, y + 1)
        return load_i64(load_i64(p, P.VIEWS) + view * N_VIEW * 8, V.EIDS), start, end
    low, high = bounds(p, row, L.LO, L.BELOW, L.ABOVE)
    return operand(p, row, L.BASE, low, high)


@compiled
def is_repeat(p: Pointers, d: int, address: int, start: int, at: int) -> bool:
    """Whether a vertex level sees the same neighbour again (parallel edges repeat it in a row) that it binds once."""
    if at == start or level(p, d, L.FLAGS) & F.REPEATS == 0:
        return False
    return load_u32(address, at) == load_u32(address, at - 1)


@compiled
def element(p: Pointers, d: int, address: int, at: int) -> int:
    """Element `at` of the list that level d loops over: an edge id (i64) of an edge level, else a vid (u32)."""
    return load_i64(address, at) if level(p, d, L.IS_EDGE) == 1 else load_u32(address, at)
