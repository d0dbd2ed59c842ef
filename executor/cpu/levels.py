"""One level of a nest: the elements that it loops over, and the checks that they must pass."""

from __future__ import annotations

from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import load_i64, load_u32, store_i64

from .address import (
    C_A,
    C_B,
    C_C,
    C_D,
    C_E,
    C_TEST,
    L_A,
    L_ABOVE,
    L_ABOVE_END,
    L_B,
    L_BASE,
    L_BELOW,
    L_BELOW_END,
    L_BITS,
    L_CHECK,
    L_CHECK_END,
    L_DIFFERS,
    L_DIFFERS_END,
    L_EDGE,
    L_LO,
    MISSING,
    N_CHECK,
    N_LEVEL,
    N_ORDER,
    N_VALUE,
    N_VIEW,
    O_EIDS,
    O_VALUES,
    OUTSIDE,
    P_BITS,
    P_CHECKS,
    P_LEVELS,
    P_ORDERS,
    P_REFS,
    P_V,
    P_VALUES,
    P_VIEWS,
    PAIRS,
    V_EIDS,
    W_LEAST,
    W_LEFT,
    W_MOST,
    W_RIGHT,
    WINDOW,
    WITHIN,
    Pointers,
)
from .sets import (
    bounds,
    find_row,
    has_bit,
    level,
    lower_bound,
    neighbours,
    operand,
    repeats,
)


@compiled
def is_within(p: Pointers, row: int) -> bool:
    """Whether the values of two levels differ by what check `row` says."""
    v = load_i64(p, P_V)
    values = load_i64(p, P_VALUES) + load_i64(row, C_C) * N_VALUE * 8
    left = load_i64(load_i64(values, W_LEFT), load_i64(v, load_i64(row, C_A)))
    right = load_i64(load_i64(values, W_RIGHT), load_i64(v, load_i64(row, C_B)))
    if left == MISSING or right == MISSING:
        return False
    difference = right - left
    within = difference >= load_i64(values, W_LEAST) and difference <= load_i64(values, W_MOST)
    return within == (load_i64(row, C_TEST) != OUTSIDE)


@compiled
def passes(p: Pointers, d: int, x: int) -> bool:
    """Whether the checks of level d hold with its vertex at x."""
    v = load_i64(p, P_V)
    store_i64(v, d, x)
    for c in range(level(p, d, L_CHECK), level(p, d, L_CHECK_END)):
        row = load_i64(p, P_CHECKS) + c * N_CHECK * 8
        if load_i64(row, C_TEST) >= WITHIN:
            if not is_within(p, row):
                return False
            continue
        a, b = load_i64(row, C_A), load_i64(v, load_i64(row, C_B))
        e = load_i64(v, load_i64(row, C_C))
        if load_i64(row, C_TEST) == PAIRS:
            a, f = load_i64(v, a), load_i64(v, load_i64(row, C_D))
            if (a == e and b == f) or (load_i64(row, C_E) == 1 and a == f and b == e):
                return False
        else:
            start, end = find_row(p, a, b)
            address = neighbours(p, a)
            at = lower_bound(address, start, end, e)
            held = 0
            while at < end and load_u32(address, at) == e:
                held += 1
                at += 1
            if held < load_i64(row, C_D) or held > load_i64(row, C_E):
                return False
    return True


@compiled
def accepts(p: Pointers, d: int, x: int) -> bool:
    """Whether element x (a vid, or an edge id on an edge level) passes level d's differences,
    bitset and id order."""
    v, refs = load_i64(p, P_V), load_i64(p, P_REFS)
    for r in range(level(p, d, L_DIFFERS), level(p, d, L_DIFFERS_END)):
        if load_i64(v, load_i64(refs, r)) == x:
            return False
    bits = level(p, d, L_BITS)
    if bits >= 0 and not has_bit(load_i64(load_i64(p, P_BITS), bits), x):
        return False
    if level(p, d, L_EDGE) == 1:
        for r in range(level(p, d, L_ABOVE), level(p, d, L_ABOVE_END)):
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
    v, low, high = load_i64(p, P_V), MISSING + 1, -(MISSING + 1)
    order = load_i64(p, P_ORDERS) + load_i64(row, L_LO) * N_ORDER * 8
    for c in range(load_i64(row, L_BELOW), load_i64(row, L_BELOW_END)):
        check = load_i64(p, P_CHECKS) + c * N_CHECK * 8
        values = load_i64(p, P_VALUES) + load_i64(check, C_C) * N_VALUE * 8
        least, most = load_i64(values, W_LEAST), load_i64(values, W_MOST)
        if load_i64(check, C_D) == 1:
            known = load_i64(load_i64(values, W_LEFT), load_i64(v, load_i64(check, C_A)))
        else:
            known = load_i64(load_i64(values, W_RIGHT), load_i64(v, load_i64(check, C_B)))
            least, most = -most, -least
        if known == MISSING:
            return load_i64(order, O_EIDS), start, start
        low, high = max(low, known + least), min(high, known + most)
    values = load_i64(order, O_VALUES)
    start = first_from(values, start, end, low)
    end = first_from(values, start, end, high + 1)
    return load_i64(order, O_EIDS), start, end


@compiled
def enter(p: Pointers, d: int) -> tuple[int, int, int]:
    """(address, start, end) of what level d loops over. Edge levels loop over positions of their
    view."""
    row = load_i64(p, P_LEVELS) + d * N_LEVEL * 8
    if load_i64(row, L_EDGE) == 1:
        view = load_i64(row, L_A)
        start, end = find_row(p, view, load_i64(load_i64(p, P_V), load_i64(row, L_B)))
        if load_i64(row, L_BASE) == WINDOW:
            if load_i64(row, L_LO) < 0:
                return load_i64(load_i64(p, P_VIEWS) + view * N_VIEW * 8, V_EIDS), start, end
            return window(p, row, start, end)
        y = load_i64(load_i64(p, P_V), load_i64(row, L_LO))
        address = neighbours(p, view)
        start = lower_bound(address, start, end, y)
        end = lower_bound(address, start, end, y + 1)
        return load_i64(load_i64(p, P_VIEWS) + view * N_VIEW * 8, V_EIDS), start, end
    low, high = bounds(p, row, L_LO, L_BELOW, L_ABOVE)
    return operand(p, row, L_BASE, low, high)


@compiled
def is_repeat(p: Pointers, d: int, address: int, start: int, at: int) -> bool:
    """Whether a vertex level sees the same neighbour again (parallel edges repeat it in a row)."""
    row = load_i64(p, P_LEVELS) + d * N_LEVEL * 8
    if at == start or load_i64(row, L_EDGE) == 1 or not repeats(p, row, L_BASE):
        return False
    return load_u32(address, at) == load_u32(address, at - 1)


@compiled
def element(p: Pointers, d: int, address: int, at: int) -> int:
    """Element `at` of the list that level d loops over: an edge id (i64) of an edge level, else a vid (u32)."""
    return load_i64(address, at) if level(p, d, L_EDGE) == 1 else load_u32(address, at)
