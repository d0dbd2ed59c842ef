"""Weights of trees: the product that the children of a node of a nest's tail give to one of its vertices."""

from __future__ import annotations

from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import load_i64, load_u8, load_u32

from .address import ABOVE, BELOW, GALLOP, LARGEST, MARK, N_LEVEL, SLICE, F, L, P, Pointers, Q, T
from .levels import accepts
from .nodes import INFINITE, count_equal, counted, node, state, use, ways
from .sets import bounds, level, neighbours, row_slice


@compiled
def child_bounds(p: Pointers, c: int, x: int) -> tuple[int, int]:
    """The vid range of child c's label below the parent's vertex x."""
    d = node(p, c, T.LEVEL)
    low, high = level(p, d, L.LO), level(p, d, L.HI)
    order = node(p, c, T.ORDER)
    if order == BELOW:
        high = min(high, x)
    elif order == ABOVE:
        low = max(low, x + 1)
    return low, high


@compiled
def pull(p: Pointers, c: int, x: int) -> tuple[int, float, int]:
    """(weight that child c gives to its parent's vertex x, about the same, elements looked at)."""
    d, view, role = node(p, c, T.LEVEL), node(p, c, T.VIEW), node(p, c, T.ROLE)
    address = neighbours(p, view)
    low, high = child_bounds(p, c, x)
    if role == SLICE:
        row = load_i64(p, P.LEVELS) + d * N_LEVEL * 8
        more, less = bounds(p, row, L.LO, L.BELOW, L.ABOVE)
        start, end = row_slice(p, view, x, max(low, more), min(high, less))
        if load_i64(load_i64(p, P.SIMPLE), view) == 1:
            n, work = counted(p, d, address, start, end)
            return n, float(n), work
        n, last = 0, -1
        for at in range(start, end):
            y = load_u32(address, at)
            n += y != last and accepts(p, d, y)
            last = y
        return n, float(n), 4 + end - start
    start, end = row_slice(p, view, x, low, high)
    q = state(p, c)
    simple = load_i64(load_i64(p, P.SIMPLE), view) == 1
    total = 0
    if role == MARK:
        first, last = load_i64(q, Q.START), load_i64(q, Q.END)
        plain = level(p, d, L.FLAGS) & (F.DIFFERS | F.BITS | F.REPEATS) == 0
        if plain and simple and (last - first) * GALLOP < end - start:
            n = count_equal(load_i64(q, Q.LIST), first, last, address, start, end)
            return n, float(n), 4 + 8 * (last - first)
        use(p, c)
        scratch = load_i64(q, Q.SCRATCH)
        if simple:
            for at in range(start, end):
                total += load_u8(scratch, load_u32(address, at))
        else:
            before = -1
            for at in range(start, end):
                y = load_u32(address, at)
                if y != before:
                    total += load_u8(scratch, y)
                before = y
        return total, float(total), 4 + ((end - start) >> 1)
    scratch = load_i64(q, Q.SCRATCH)
    approx, before = 0.0, -1
    for at in range(start, end):
        y = load_u32(address, at)
        if simple or y != before:
            w = load_i64(scratch, y)
            total += w
            approx += float(w)
        before = y
    return total, approx, 4 + end - start


@compiled
def has_spread(p: Pointers, c: int) -> bool:
    """Whether a node has added its weights to its parent's vertices, so that no look-up is needed."""
    return node(p, c, T.SPREADS) == 1 and load_i64(state(p, c), Q.SPREAD) == 1


@compiled
def weight(p: Pointers, c: int, x: int, but: int) -> tuple[int, float, int]:
    """(product of what the children of c without `has_spread`, but one, give to x, about the same, elements
    looked at)."""
    total, shadow, work = 1, 1.0, 0
    child = node(p, c, T.CHILD)
    while child >= 0:
        if child != but and not has_spread(p, child):
            n, approx, looked = pull(p, child, x)
            work += looked
            n, approx = ways(n, approx, node(p, child, T.SIZE), node(p, child, T.FORMULA))
            shadow = shadow * approx
            if shadow > LARGEST:
                return 0, INFINITE, work
            total = total * n
            if total == 0:
                return 0, 0.0, work
        child = node(p, child, T.NEXT)
    return total, shadow, work
