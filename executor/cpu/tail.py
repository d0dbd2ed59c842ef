"""Counting the tail of a nest: a forest, with no loop over its levels; lone levels by formula, trees
from their leaves to their roots."""

from __future__ import annotations

from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import load_u32, store_i64
from gdb.executor.cpu.address import (
    F_BITS,
    F_DIFFERS,
    F_REPEATS,
    INNER,
    L_FLAGS,
    LARGEST,
    LONE,
    MARK,
    PAIR,
    Q_END,
    Q_LIST,
    Q_START,
    SLICE,
    T_FORMULA,
    T_LEVEL,
    T_OPTIONAL,
    T_PARENT,
    T_ROLE,
    T_SIZE,
    Pointers,
)
from gdb.executor.cpu.levels import accepts, enter, is_repeat
from gdb.executor.cpu.nodes import (
    INFINITE,
    clear,
    count_equal,
    counted,
    node,
    state,
    ways,
)
from gdb.executor.cpu.sets import level, lower_bound
from gdb.executor.cpu.trees import fold, push


@compiled
def count_common(p: Pointers, d: int, e: int) -> int:
    """Number of vids that both levels would bind."""
    a, i, ie = enter(p, d)
    b, j, je = enter(p, e)
    if i == ie or j == je:
        return 0
    tests = F_DIFFERS | F_BITS | F_REPEATS
    if (level(p, d, L_FLAGS) | level(p, e, L_FLAGS)) & tests == 0:
        return count_equal(a, i, ie, b, j, je)
    n, first = 0, i
    while i < ie:
        x = load_u32(a, i)
        if not is_repeat(p, d, a, first, i):
            j = lower_bound(b, j, je, x)
            if j < je and load_u32(b, j) == x and accepts(p, d, x) and accepts(p, e, x):
                n += 1
        i += 1
    return n


@compiled
def count_lone(p: Pointers, c: int) -> tuple[int, float, int]:
    """(ways to bind a node without edges, with its partner where it is one of a PAIR, about the
    same, elements looked at)."""
    d = node(p, c, T_LEVEL)
    address, start, end = enter(p, d)
    n, work = counted(p, d, address, start, end)
    if n == 0:
        return 0, 0.0, work
    if node(p, c, T_FORMULA) != PAIR:
        total, shadow = ways(n, float(n), node(p, c, T_SIZE), node(p, c, T_FORMULA))
        return total, shadow, work
    e = node(p, c + 1, T_LEVEL)
    address, start, end = enter(p, e)
    other, more = counted(p, e, address, start, end)
    shadow = float(n) * float(other)
    if other == 0 or shadow > LARGEST:
        return 0, 0.0 if other == 0 else INFINITE, work + more
    common = count_common(p, d, e)
    return n * other - common, shadow, work + more + min(n + other, 8 * min(n, other))


@compiled
def count_tail(p: Pointers, first: int, nodes: int) -> tuple[int, float, int]:
    """(embeddings of nodes [first, nodes) of the tail below the bound levels, about the same to see an overflow,
    elements looked at)."""
    total, shadow, work = 1, 1.0, 0
    trees = False
    c = first
    while c < nodes:
        role = node(p, c, T_ROLE)
        n, approx = 1, 1.0
        if role == LONE:
            n, approx, looked = count_lone(p, c)
            work += looked
            c += node(p, c, T_FORMULA) == PAIR
        elif role == MARK:
            trees = True
            q = state(p, c)
            address, start, end = enter(p, node(p, c, T_LEVEL))
            store_i64(q, Q_LIST, address)
            store_i64(q, Q_START, start)
            store_i64(q, Q_END, end)
            work += 2
            if start == end:
                n = 0
        elif role != SLICE:
            trees = True
            if role == INNER:
                n, approx, looked = fold(p, c)
            else:
                n, approx, looked = push(p, c)
            work += looked
            if node(p, c, T_PARENT) >= 0 and n != 0:
                n, approx = 1, 1.0 if approx < INFINITE else INFINITE
        end = node(p, c, T_OPTIONAL)
        if end >= 0 and n == 0 and approx <= LARGEST:  # the tree is not there, which counts one
            n, approx, c = 1, 1.0, end
        shadow = shadow * approx if approx > 0.0 else shadow * float(n)
        if shadow > LARGEST:
            break
        total = total * n
        if total == 0:
            break
        c += 1
    if trees:
        clear(p, first, nodes)
    return total, shadow, work
