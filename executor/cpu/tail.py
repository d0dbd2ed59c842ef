"""Counting the tail of a nest: a forest, with no loop over its levels; lone levels by formula, trees
from their leaves to their roots."""

from __future__ import annotations

from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import load_i64, load_u32, store_i64
from gdb.storage.graph.row_loops import lower_bound

from .address import GALLOP, INNER, LARGEST, LONE, MARK, PAIR, ROW, SLICE, F, L, P, Pointers, Q, T
from .levels import accepts, enter, is_repeat
from .nodes import (
    INFINITE,
    clear,
    count_equal,
    counted,
    node,
    state,
    ways,
)
from .sets import level
from .trees import fold, push


@compiled
def holds(address: int, start: int, end: int, x: int) -> bool:
    """Whether an ascending list has a value."""
    at = lower_bound(address, start, end, x)
    return at < end and load_u32(address, at) == x


@compiled
def is_bound(p: Pointers, first: int, last: int, x: int) -> bool:
    """Whether one of the levels that are named at [first, last) is bound to x."""
    v, refs = load_i64(p, P.V), load_i64(p, P.REFS)
    found = False
    for r in range(first, last):
        found = found or load_i64(v, load_i64(refs, r)) == x
    return found


@compiled
def count_rows(
    p: Pointers, q: int, d: int, e: int, a: int, i: int, ie: int, b: int, j: int, je: int
) -> tuple[int, int, int, int]:
    """(elements of a row that level d would bind, of one that e would, of both, elements looked at), where both have
    only to differ from others. What two rows have in common is kept in the state `q` of a node, for rows change more
    seldom than what they have to differ from."""
    n, other, work = ie - i, je - j, 4
    same = load_i64(q, Q.LIST) == i and load_i64(q, Q.START) == ie
    if not same or load_i64(q, Q.END) != j or load_i64(q, Q.TOUCHED) != je:
        work += min(n + other, GALLOP * min(n, other))
        store_i64(q, Q.SUMS, count_equal(a, i, ie, b, j, je))
        store_i64(q, Q.LIST, i)
        store_i64(q, Q.START, ie)
        store_i64(q, Q.END, j)
        store_i64(q, Q.TOUCHED, je)
    common = load_i64(q, Q.SUMS)
    v, refs = load_i64(p, P.V), load_i64(p, P.REFS)
    first, last = level(p, d, L.DIFFERS), level(p, d, L.DIFFERS_END)
    begin, end = level(p, e, L.DIFFERS), level(p, e, L.DIFFERS_END)
    for r in range(last - first):  # homomorphic vertices may coincide: take each off once
        x = load_i64(v, load_i64(refs, first + r))
        if not is_bound(p, first, first + r, x):
            theirs = is_bound(p, begin, end, x) and holds(b, j, je, x)
            other -= theirs
            if holds(a, i, ie, x):
                n -= 1
                common -= theirs or holds(b, j, je, x)
    for r in range(end - begin):
        x = load_i64(v, load_i64(refs, begin + r))
        again = is_bound(p, begin, begin + r, x) or is_bound(p, first, last, x)
        if not again and holds(b, j, je, x):
            other -= 1
            common -= holds(a, i, ie, x)
    return n, other, common, work


@compiled
def count_common(
    p: Pointers, d: int, e: int, a: int, i: int, ie: int, b: int, j: int, je: int
) -> int:
    """Number of vids of two lists that both levels would bind."""
    if i == ie or j == je:
        return 0
    tests = F.DIFFERS | F.BITS | F.REPEATS
    if (level(p, d, L.FLAGS) | level(p, e, L.FLAGS)) & tests == 0:
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
def count_pair(p: Pointers, c: int) -> tuple[int, float, int]:
    """As `count_lone`, of two nodes that have only to differ."""
    d, e = node(p, c, T.LEVEL), node(p, c + 1, T.LEVEL)
    a, i, ie = enter(p, d)
    if i == ie:
        return 0, 0.0, 4
    b, j, je = enter(p, e)
    if j == je:
        return 0, 0.0, 8
    rows = level(p, d, L.BASE) == ROW and level(p, e, L.BASE) == ROW
    if rows and (level(p, d, L.FLAGS) | level(p, e, L.FLAGS)) & ~F.DIFFERS == 0:
        n, other, common, work = count_rows(p, state(p, c), d, e, a, i, ie, b, j, je)
    else:
        n, work = counted(p, d, a, i, ie)
        other, more = counted(p, e, b, j, je)
        common = count_common(p, d, e, a, i, ie, b, j, je)
        work += more + min(n + other, 8 * min(n, other))
    shadow = float(n) * float(other)
    if shadow > LARGEST:
        return 0, INFINITE, work
    return n * other - common, shadow, work


@compiled
def count_lone(p: Pointers, c: int) -> tuple[int, float, int]:
    """(ways to bind a node without edges, with its partner where it is one of a PAIR, about the
    same, elements looked at)."""
    if node(p, c, T.FORMULA) == PAIR:
        return count_pair(p, c)
    d = node(p, c, T.LEVEL)
    address, start, end = enter(p, d)
    n, work = counted(p, d, address, start, end)
    if n == 0:
        return 0, 0.0, work
    total, shadow = ways(n, float(n), node(p, c, T.SIZE), node(p, c, T.FORMULA))
    return total, shadow, work


@compiled
def count_tail(p: Pointers, first: int, nodes: int) -> tuple[int, float, int]:
    """(embeddings of nodes [first, nodes) of the tail below the bound levels, about the same to see an overflow,
    elements looked at)."""
    total, shadow, work = 1, 1.0, 0
    trees = False
    c = first
    while c < nodes:
        role = node(p, c, T.ROLE)
        n, approx = 1, 1.0
        if role == LONE:
            n, approx, looked = count_lone(p, c)
            work += looked
            c += node(p, c, T.FORMULA) == PAIR
        elif role == MARK:
            trees = True
            q = state(p, c)
            address, start, end = enter(p, node(p, c, T.LEVEL))
            store_i64(q, Q.LIST, address)
            store_i64(q, Q.START, start)
            store_i64(q, Q.END, end)
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
            if node(p, c, T.PARENT) >= 0 and n != 0:
                n, approx = 1, 1.0 if approx < INFINITE else INFINITE
        end = node(p, c, T.OPTIONAL)
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
