"""Trees of a nest's tail: from children to parents.

A node with children gives each of its candidates a weight, the number of ways to embed what is
below; a leaf's weight is a mark. Parents sum weights over their rows, or, where nothing but its
children ties a node to the loops, children add theirs to it (thesis ch. 3).
"""

from __future__ import annotations

from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import (
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    store_i64,
    store_u8,
    store_u16,
    store_u32,
)

from ..nest.counters import width_for
from .address import (
    ABOVE,
    BELOW,
    BINOMIAL,
    FALLING,
    LARGEST,
    LOOK_UP,
    MARK,
    MOST,
    N_LEVEL,
    POWER,
    F,
    L,
    P,
    Pointers,
    Q,
    T,
)
from .levels import accepts, enter, is_repeat
from .nodes import (
    INFINITE,
    count_equal,
    node,
    state,
    use,
    ways,
)
from .sets import bounds, level, neighbours, row_slice
from .tree_weights import has_spread, weight

IN_ORDER = 16  # bytes that are set to zero in order while one number is by its vid
PIVOT = 2  # times as many vertices of a node as elements of a leaf's list, for these to be gone through instead


@compiled
def sum_marked(p: Pointers, c: int) -> tuple[int, int]:
    """What a root with one MARK child, both without further tests, counts: (sum, elements looked
    at). The tight loop of triangles, cliques and diamonds: nothing is stored in it, so that what it
    reads of the tables stays in registers."""
    q = state(p, c)
    child = node(p, c, T.CHILD)
    view, order = node(p, child, T.VIEW), node(p, child, T.ORDER)
    size, formula = node(p, child, T.SIZE), node(p, child, T.FORMULA)
    d = node(p, child, T.LEVEL)
    low, high = level(p, d, L.LO), level(p, d, L.HI)
    k = state(p, child)
    theirs, first, last = load_i64(k, Q.LIST), load_i64(k, Q.START), load_i64(k, Q.END)
    scratch = load_i64(k, Q.SCRATCH)
    address, near = load_i64(q, Q.LIST), neighbours(p, view)
    begin, finish = load_i64(q, Q.START), load_i64(q, Q.END)
    plain = level(p, d, L.FLAGS) & (F.DIFFERS | F.BITS | F.REPEATS) == 0
    # roots that have none of the marked on their side: often all, where both lists are short
    if order == BELOW:
        while begin < finish and load_u32(address, begin) <= load_u32(theirs, first):
            begin += 1
    elif order == ABOVE:
        while begin < finish and load_u32(address, finish - 1) >= load_u32(theirs, last - 1):
            finish -= 1
    if begin == finish:
        return 0, 4
    use(p, child)
    total, work = 0, last - first
    for at in range(begin, finish):
        x = load_u32(address, at)
        least = max(low, x + 1) if order == ABOVE else low
        most = min(high, x) if order == BELOW else high
        start, end = row_slice(p, view, x, least, most)
        n = 0
        if plain and (last - first) * LOOK_UP < end - start:
            n = count_equal(theirs, first, last, near, start, end)
            work += 4 + 8 * (last - first)
        else:
            for e in range(start, end):
                n += load_u8(scratch, load_u32(near, e))
            work += 4 + ((end - start) >> 1)
        if size == 1:
            total += n
        elif formula == POWER:
            total += n * n
        elif formula == FALLING:
            total += n * (n - 1)
        else:
            total += n * (n - 1) // 2
    return total, work


@compiled
def simple_child(p: Pointers, c: int, length: int) -> bool:
    """Whether a node has one child, a MARK of a view without parallel edges and at most two twins,
    whose counts surely fit."""
    child = node(p, c, T.CHILD)
    if node(p, child, T.NEXT) >= 0 or node(p, child, T.ROLE) != MARK:
        return False
    if node(p, child, T.SIZE) > 2 or load_i64(load_i64(p, P.SIMPLE), node(p, child, T.VIEW)) == 0:
        return False
    q = state(p, child)
    most = float(load_i64(q, Q.END) - load_i64(q, Q.START))
    return float(length) * most * most < LARGEST


@compiled
def pivot(p: Pointers, c: int, count: int) -> int:
    """The leaf below a node from whose list its vertices are found sooner than the leaf's elements at each of `count`
    vertices: that of the shortest list, -1 where none is much shorter."""
    found, most = -1, count // PIVOT
    child = node(p, c, T.CHILD)
    while child >= 0:
        if node(p, child, T.ROLE) == MARK:
            q = state(p, child)
            length = load_i64(q, Q.END) - load_i64(q, Q.START)
            simple = load_i64(load_i64(p, P.SIMPLE), node(p, child, T.VIEW)) == 1
            repeats = level(p, node(p, child, T.LEVEL), L.FLAGS) & F.REPEATS != 0
            if length <= most and simple and not repeats:
                found, most = child, length - 1
        child = node(p, child, T.NEXT)
    return found


@compiled
def reach(p: Pointers, c: int, child: int) -> int:
    """Count at the vertices of a node, whose scratch holds one, how many elements of a leaf's list are joined to them;
    elements looked at."""
    q, k = state(p, c), state(p, child)
    members, scratch, address = load_i64(q, Q.LIST), load_i64(q, Q.SCRATCH), load_i64(k, Q.LIST)
    low = load_u32(members, load_i64(q, Q.START))
    high = load_u32(members, load_i64(q, Q.END) - 1) + 1
    view, order, d = node(p, child, T.BACK), node(p, child, T.ORDER), node(p, child, T.LEVEL)
    near = neighbours(p, view)
    tested = level(p, d, L.FLAGS) & (F.DIFFERS | F.BITS) != 0
    work = 0
    for at in range(load_i64(k, Q.START), load_i64(k, Q.END)):
        z = load_u32(address, at)
        if tested and not accepts(p, d, z):
            continue
        least = max(low, z + 1) if order == BELOW else low
        most = min(high, z) if order == ABOVE else high
        start, end = row_slice(p, view, z, least, most)
        work += 4 + end - start
        for e in range(start, end):
            x = load_u32(near, e)
            n = load_i64(scratch, x)
            if n != 0:
                store_i64(scratch, x, n + 1)
    return work


@compiled
def fold_reached(p: Pointers, c: int, child: int) -> tuple[int, float, int]:
    """As `fold`, of a node whose vertices are reached from a leaf below it."""
    q, d = state(p, c), node(p, c, T.LEVEL)
    address, start, end = load_i64(q, Q.LIST), load_i64(q, Q.START), load_i64(q, Q.END)
    scratch, kept = load_i64(q, Q.SCRATCH), node(p, c, T.PARENT) >= 0
    size, formula = node(p, child, T.SIZE), node(p, child, T.FORMULA)
    tested = level(p, d, L.FLAGS) & (F.DIFFERS | F.BITS) != 0
    for at in range(start, end):
        store_i64(scratch, load_u32(address, at), 1)
    work = reach(p, c, child) + end - start
    total, shadow = 0, 0.0
    for at in range(start, end):
        x = load_u32(address, at)
        n, approx = load_i64(scratch, x) - 1, 0.0
        store_i64(scratch, x, 0)
        if n == 0 or shadow > LARGEST or (tested and not accepts(p, d, x)):
            continue
        n, approx = ways(n, float(n), size, formula)
        if n != 0:
            more, about, looked = weight(p, c, x, child)
            work += looked
            approx = approx * about
            n = n * more if approx <= LARGEST else 0
        shadow += approx
        total += n
        if kept:
            store_i64(scratch, x, n)
    if shadow > LARGEST:
        return 0, INFINITE, work
    return total, shadow, work


@compiled
def fold(p: Pointers, c: int) -> tuple[int, float, int]:
    """Weigh the candidates of an INNER node: (their sum, about the same, elements looked at); those
    of a node that is no root are kept."""
    q = state(p, c)
    d = node(p, c, T.LEVEL)
    address, start, end = enter(p, d)
    store_i64(q, Q.LIST, address)
    store_i64(q, Q.START, start)
    store_i64(q, Q.END, end)
    flags, root = level(p, d, L.FLAGS), node(p, c, T.PARENT) < 0
    if flags & F.REPEATS == 0 and node(p, c, T.REACHED) != 0:
        child = pivot(p, c, end - start)
        if child >= 0 and load_i64(q, Q.SCRATCH) != 0:  # a root has none under a budget
            store_i64(q, Q.USED, 0 if root else 1)
            return fold_reached(p, c, child)
    if root and flags & (F.DIFFERS | F.BITS | F.REPEATS) == 0 and simple_child(p, c, end - start):
        total, work = sum_marked(p, c)
        return total, 0.0, work
    if not root:
        store_i64(q, Q.USED, 1)
    scratch = load_i64(q, Q.SCRATCH)
    total, shadow, work = 0, 0.0, 4
    for at in range(start, end):
        x = load_u32(address, at)
        if flags & F.REPEATS != 0 and is_repeat(p, d, address, start, at):
            continue
        if flags & (F.DIFFERS | F.BITS) != 0 and not accepts(p, d, x):
            continue
        n, approx, looked = weight(p, c, x, -1)
        work += 2 + looked
        shadow += approx
        if shadow > LARGEST:
            return 0, INFINITE, work
        total += n
        if not root:
            store_i64(scratch, x, n)
    return total, shadow, work


@compiled
def tally(near: int, start: int, end: int, scratch: int, width: int) -> int:
    """Add 1 at each of some neighbours to a scratch of numbers of so many bytes; the sum of what was there before."""
    total = 0
    if width == 1:
        for e in range(start, end):
            x = load_u32(near, e)
            n = load_u8(scratch, x)
            total += n
            store_u8(scratch, x, n + 1)
    elif width == 2:
        for e in range(start, end):
            x = load_u32(near, e)
            n = load_u16(scratch, x)
            total += n
            store_u16(scratch, x, n + 1)
    else:
        for e in range(start, end):
            x = load_u32(near, e)
            n = load_u32(scratch, x)
            total += n
            store_u32(scratch, x, n + 1)
    return total


@compiled
def erase(near: int, start: int, end: int, scratch: int, width: int) -> None:
    """Set a scratch of numbers of so many bytes to zero at some neighbours."""
    if width == 1:
        for e in range(start, end):
            store_u8(scratch, load_u32(near, e), 0)
    elif width == 2:
        for e in range(start, end):
            store_u16(scratch, load_u32(near, e), 0)
    else:
        for e in range(start, end):
            store_u32(scratch, load_u32(near, e), 0)


@compiled
def push_pairs(p: Pointers, c: int, child: int, low: int, high: int) -> tuple[int, int]:
    """What a PAIRED root counts: the sum over its vertices of n (n - 1), or n^2 for POWER, n being how often it is
    reached. No vertex is reached more often than the child has elements: its scratch are numbers as wide as these need,
    so that more of it stays in the cache."""
    k = state(p, child)
    view, order = node(p, child, T.BACK), node(p, child, T.ORDER)
    address, near = load_i64(k, Q.LIST), neighbours(p, view)
    total, work, reached = 0, 0, 0
    first, last = load_i64(k, Q.START), load_i64(k, Q.END)
    width = width_for(last - first)
    scratch = load_i64(state(p, c), Q.SCRATCH) - width * level(p, node(p, c, T.LEVEL), L.LO)
    begin, finish = MOST, 0  # of the vids that are reached
    for at in range(first, last):
        z = load_u32(address, at)
        least = max(low, z + 1) if order == BELOW else low
        most = min(high, z) if order == ABOVE else high
        start, end = row_slice(p, view, z, least, most)
        work += 4 + end - start
        if start < end:
            reached += end - start
            begin = min(begin, load_u32(near, start))
            finish = max(finish, load_u32(near, end - 1) + 1)
            total += tally(near, start, end, scratch, width)
    if reached > max(finish - begin, 0) * width // IN_ORDER:
        for b in range(begin * width, finish * width):
            store_u8(scratch, b, 0)
    else:
        for at in range(first, last):
            z = load_u32(address, at)
            least = max(low, z + 1) if order == BELOW else low
            most = min(high, z) if order == ABOVE else high
            start, end = row_slice(p, view, z, least, most)
            erase(near, start, end, scratch, width)
    formula = node(p, child, T.FORMULA)
    if formula == BINOMIAL:
        return total, work
    return (2 * total, work) if formula == FALLING else (2 * total + reached, work)


@compiled
def spread(p: Pointers, c: int, low: int, high: int, count: int) -> int:
    """Let the other children of a PUSHED node that have a list add to what it has reached, where that is
    less than to look them up at each of `count` vertices; elements looked at."""
    reached = load_i64(state(p, c), Q.SCRATCH)
    work = 0
    child = node(p, c, T.CHILD)
    while child >= 0:
        k = state(p, child)
        first, last = load_i64(k, Q.START), load_i64(k, Q.END)
        if node(p, child, T.SPREADS) == 1:
            store_i64(k, Q.SPREAD, 1 if last - first <= count else 0)
        if has_spread(p, child):
            view, order = node(p, child, T.BACK), node(p, child, T.ORDER)
            leaf, theirs = node(p, child, T.ROLE) == MARK, node(p, child, T.LEVEL)
            tested = level(p, theirs, L.FLAGS) & (F.DIFFERS | F.BITS | F.REPEATS) != 0
            simple = load_i64(load_i64(p, P.SIMPLE), view) == 1
            near, address = neighbours(p, view), load_i64(k, Q.LIST)
            sums, weights = load_i64(k, Q.SUMS), load_i64(k, Q.SCRATCH)
            for at in range(first, last):
                z = load_u32(address, at)
                if tested and (
                    (at > first and load_u32(address, at - 1) == z) or not accepts(p, theirs, z)
                ):
                    continue
                w = 1 if leaf else load_i64(weights, z)
                least = max(low, z + 1) if order == BELOW else low
                most = min(high, z) if order == ABOVE else high
                start, end = row_slice(p, view, z, least, most) if w != 0 else (0, 0)
                work += 4 + end - start
                before = -1
                for e in range(start, end):
                    x = load_u32(near, e)
                    if (simple or x != before) and load_i64(reached, x) != 0:
                        store_i64(sums, x, min(load_i64(sums, x) + w, MOST))
                    before = x
        child = node(p, child, T.NEXT)
    return work


@compiled
def spread_to(p: Pointers, c: int, x: int) -> tuple[int, float]:
    """(product of what children of c have added at x, about the same); it is zero there afterwards."""
    total, shadow = 1, 1.0
    child = node(p, c, T.CHILD)
    while child >= 0:
        if has_spread(p, child):
            sums = load_i64(state(p, child), Q.SUMS)
            n = load_i64(sums, x)
            store_i64(sums, x, 0)
            n, approx = ways(n, float(n), node(p, child, T.SIZE), node(p, child, T.FORMULA))
            total, shadow = total * n, shadow * approx
            if shadow > LARGEST:
                total = 0
        child = node(p, child, T.NEXT)
    return total, shadow


@compiled
def push(p: Pointers, c: int) -> tuple[int, float, int]:
    """Weigh the vertices that a PUSHED node's pusher reaches: as `fold`."""
    q = state(p, c)
    d = node(p, c, T.LEVEL)
    row = load_i64(p, P.LEVELS) + d * N_LEVEL * 8
    low, high = bounds(p, row, L.LO, L.BELOW, L.ABOVE)
    child = node(p, c, T.PUSHER)
    k = state(p, child)
    view, order = node(p, child, T.BACK), node(p, child, T.ORDER)
    leaf = node(p, child, T.ROLE) == MARK
    theirs = node(p, child, T.LEVEL)
    tested = leaf and level(p, theirs, L.FLAGS) & (F.DIFFERS | F.BITS | F.REPEATS) != 0
    simple = load_i64(load_i64(p, P.SIMPLE), view) == 1
    flags = level(p, d, L.FLAGS)
    only = node(p, node(p, c, T.CHILD), T.NEXT) < 0
    size = node(p, child, T.SIZE)
    if node(p, c, T.PAIRED) != 0 and simple and not tested:
        total, work = push_pairs(p, c, child, low, high)
        return total, 0.0, work
    weights, address = load_i64(k, Q.SCRATCH), load_i64(k, Q.LIST)
    near, scratch, touched = neighbours(p, view), load_i64(q, Q.SCRATCH), load_i64(q, Q.TOUCHED)
    count, work = 0, 4
    for at in range(load_i64(k, Q.START), load_i64(k, Q.END)):
        z = load_u32(address, at)
        if tested and (
            (at > load_i64(k, Q.START) and load_u32(address, at - 1) == z)
            or not accepts(p, theirs, z)
        ):
            continue
        w = 1 if leaf else load_i64(weights, z)
        if w == 0:
            continue
        least = max(low, z + 1) if order == BELOW else low
        most = min(high, z) if order == ABOVE else high
        start, end = row_slice(p, view, z, least, most)
        work += 4 + end - start
        before = -1
        for e in range(start, end):
            x = load_u32(near, e)
            if simple or x != before:
                n = load_i64(scratch, x)
                if n == 0:
                    store_u32(touched, count, x)
                    count += 1
                store_i64(scratch, x, n + w)
                if float(n) + float(w) > LARGEST:
                    store_i64(q, Q.LIST, touched)
                    store_i64(q, Q.START, 0)
                    store_i64(q, Q.END, count)
                    store_i64(q, Q.USED, 1)
                    return 0, INFINITE, work
            before = x
    store_i64(q, Q.LIST, touched)
    store_i64(q, Q.START, 0)
    store_i64(q, Q.END, count)
    store_i64(q, Q.USED, 1)
    if not only:
        work += spread(p, c, low, high, count)
    total, shadow = 0, 0.0
    formula = node(p, child, T.FORMULA)
    for i in range(count):
        x = load_u32(touched, i)
        n, added, about_added = load_i64(scratch, x), 1, 1.0
        if not only:
            added, about_added = spread_to(p, c, x)
        if shadow > LARGEST:  # only what others have added is cleared
            continue
        if flags & (F.DIFFERS | F.BITS) != 0 and not accepts(p, d, x):
            store_i64(scratch, x, 0)
            continue
        n, approx = ways(n, float(n), size, formula)
        if not only and n != 0 and about_added > 0.0:
            more, about, looked = weight(p, c, x, child)
            work += looked
            approx = approx * about * about_added
            n = n * more * added if approx <= LARGEST else 0
        elif about_added == 0.0:
            n, approx = 0, 0.0
        shadow += approx
        store_i64(scratch, x, n)
        total += n
    if shadow > LARGEST:
        return 0, INFINITE, work
    return total, shadow, work + count
