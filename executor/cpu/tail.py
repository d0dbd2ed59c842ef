"""Counting the tail of a nest: a forest, with no loop over its levels; lone levels by formula, trees
from their leaves to their roots."""

from __future__ import annotations

from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import load_i64, load_u8, load_u32, store_i64, store_u8
from gdb.storage.graph.row_loops import lower_bound

from .address import (
    GALLOP,
    IN_FIRST,
    IN_SECOND,
    INNER,
    LARGEST,
    LONE,
    MARK,
    PAIR,
    ROW,
    SLICE,
    D,
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
    clear,
    count_equal,
    counted,
    node,
    state,
    ways,
)
from .sets import fill, level
from .trees import fold, push


@compiled
def holds(address: int, start: int, end: int, x: int) -> bool:
    """Whether an ascending list has a value."""
    at = lower_bound(address, start, end, x)
    return at < end and load_u32(address, at) == x


@compiled
def strike(
    p: Pointers, c: int, fresh: int, a: int, i: int, ie: int, b: int, j: int, je: int
) -> tuple[int, int, int, int]:
    """What the values bound take off two lists, of a LONE node and its partner: (elements of the first, of the second,
    of what they have in common, values looked for).

    fresh : IN_FIRST, IN_SECOND for a list that is another one than at the last call. The values of the outer levels
    seldom change from one call to the next, and neither does the first list of most: what was found of them is kept.
    """
    v, refs, stamps = load_i64(p, P.V), load_i64(p, P.REFS), load_i64(p, P.STAMPS)
    table = load_i64(p, P.DIFFERING)
    begin = node(p, c, T.DIFFERS)
    n, other, common, looked = 0, 0, 0, 0
    for r in range(begin, node(p, c, T.DIFFERS_END)):
        ref = load_i64(refs, r)
        d = ref >> 2
        x, stamp, known = load_i64(v, d), load_i64(stamps, d), table + r * D.N * 8
        what, asked = load_i64(known, D.WHAT), fresh
        if load_i64(known, D.STAMP) != stamp:
            what, asked = 0, IN_FIRST | IN_SECOND
            for s in range(begin, r):  # homomorphic vertices may coincide: take each off once
                before = load_i64(refs, s)
                if load_i64(v, before >> 2) == x:
                    what |= before & 3
            store_i64(known, D.STAMP, stamp)
        if asked != 0:
            what &= ~asked
            if asked & IN_FIRST != 0 and holds(a, i, ie, x):
                what |= IN_FIRST
            if asked & IN_SECOND != 0 and holds(b, j, je, x):
                what |= IN_SECOND
            store_i64(known, D.WHAT, what)
            looked += 1
        whose = ref & ~what
        if what & IN_FIRST != 0:
            n += whose & 1
            common += what & (IN_SECOND | 3) == IN_SECOND
        if what & IN_SECOND != 0:
            other += whose >> 1 & 1
    return n, other, common, looked


@compiled
def are_kept(p: Pointers, q: int, field: int, d: int, start: int, end: int) -> bool:
    """Whether level d has the row [start, end) that the two fields of a node's state say, which they do from now on. A
    computed set is none: it changes in its place."""
    if level(p, d, L.BASE) != ROW:
        return False
    same = load_i64(q, field) == start and load_i64(q, field + 1) == end
    store_i64(q, field, start)
    store_i64(q, field + 1, end)
    return same


@compiled
def is_plain(p: Pointers, d: int) -> bool:
    """Whether a level has a list of different vids that have only to differ from others."""
    return level(p, d, L.FLAGS) & ~F.DIFFERS == 0


@compiled
def count_plain(p: Pointers, c: int) -> tuple[int, int]:
    """(elements that a LONE node without a partner binds, elements looked at), where it is plain."""
    q, d = state(p, c), node(p, c, T.LEVEL)
    a, i, ie = enter(p, d)
    if i == ie:
        return 0, 4
    fresh = 0 if are_kept(p, q, Q.START, d, i, ie) else IN_FIRST
    n, _, _, looked = strike(p, c, fresh, a, i, ie, a, i, i)
    return ie - i - n, 4 + 4 * looked


@compiled
def take_out(p: Pointers, marks: int, r: int) -> None:
    """Take the value of ref r, the last one that is marked, out of the marks."""
    known = load_i64(p, P.DIFFERING) + r * D.N * 8
    if load_i64(known, D.MARKED) != 0:
        store_i64(known, D.MARKED, 0)
        x = load_i64(known, D.VALUE)
        store_u8(marks, x, load_u8(marks, x) & IN_FIRST | load_i64(known, D.BEFORE))


@compiled
def hold(p: Pointers, c: int, a: int, i: int, ie: int) -> tuple[int, int]:
    """Have the byte of each vid in the scratch of a HELD node say whether it is in the node's row, and whether the node
    (1) or its partner (2) has to differ from it: (how many of the row to take off, values and elements marked).

    Values are marked as on a stack, outermost level first: those that were bound anew are the last ones.
    """
    q, v, refs = state(p, c), load_i64(p, P.V), load_i64(p, P.REFS)
    stamps, table = load_i64(p, P.STAMPS), load_i64(p, P.DIFFERING)
    marks, work = load_i64(q, Q.SCRATCH), 0
    begin, end = node(p, c, T.DIFFERS), node(p, c, T.DIFFERS_END)
    r = end
    if load_i64(q, Q.HELD) != i or load_i64(q, Q.HELD_END) != ie:
        while r > begin:
            r -= 1
            take_out(p, marks, r)
        fill(marks, a, load_i64(q, Q.HELD), load_i64(q, Q.HELD_END), 0)
        fill(marks, a, i, ie, IN_FIRST)
        work += ie - i
        store_i64(q, Q.HELD, i)
        store_i64(q, Q.HELD_END, ie)
    while r > begin:
        stamp = load_i64(stamps, load_i64(refs, r - 1) >> 2)
        if load_i64(table + (r - 1) * D.N * 8, D.MARKED) == stamp:
            break
        r -= 1
        take_out(p, marks, r)
    less = 0
    if r > begin:
        less = load_i64(table + (r - 1) * D.N * 8, D.LESS)
    work += end - r
    while r < end:
        ref, known = load_i64(refs, r), table + r * D.N * 8
        x = load_i64(v, ref >> 2)
        is_marked = load_u8(marks, x)
        if is_marked & IN_FIRST != 0:
            less += ref & 1 & ~is_marked
        store_i64(known, D.MARKED, load_i64(stamps, ref >> 2))
        store_i64(known, D.VALUE, x)
        store_i64(known, D.BEFORE, is_marked & 3)
        store_i64(known, D.LESS, less)
        store_u8(marks, x, is_marked | ref & 3)
        r += 1
    return less, work


@compiled
def count_held_pair(
    p: Pointers, c: int, a: int, i: int, ie: int, b: int, j: int, je: int
) -> tuple[int, int, int, int]:
    """As `count_plain_pair`, by the marks of a HELD node."""
    less, work = hold(p, c, a, i, ie)
    marks = load_i64(state(p, c), Q.SCRATCH)
    other, common = 0, 0
    for at in range(j, je):
        is_marked = load_u8(marks, load_u32(b, at))
        other += is_marked >> 1 & 1 ^ 1
        common += is_marked == IN_FIRST
    return ie - i - less, other, common, 4 + je - j + 4 * work


@compiled
def count_plain_pair(
    p: Pointers, c: int, a: int, i: int, ie: int, b: int, j: int, je: int
) -> tuple[int, int, int, int]:
    """(elements of a list that node c would bind, of one that its partner would, of both, elements looked at), where
    both are plain. What two rows have in common is kept in the state of the node, for rows change more seldom than what
    they have to differ from; a row that was there at the last call is marked."""
    q, work = state(p, c), 4
    fresh = 0
    if not are_kept(p, q, Q.START, node(p, c, T.LEVEL), i, ie):
        fresh |= IN_FIRST
    elif load_i64(q, Q.SCRATCH) != 0 and je - j < GALLOP * (ie - i) and load_i64(q, Q.OTHER) != j:
        return count_held_pair(p, c, a, i, ie, b, j, je)
    if not are_kept(p, q, Q.OTHER, node(p, c + 1, T.LEVEL), j, je):
        fresh |= IN_SECOND
    n, other = ie - i, je - j
    if fresh != 0:
        work += min(n + other, GALLOP * min(n, other))
        store_i64(q, Q.SUMS, count_equal(a, i, ie, b, j, je))
    less, other_less, common_less, looked = strike(p, c, fresh, a, i, ie, b, j, je)
    common = load_i64(q, Q.SUMS) - common_less
    return n - less, other - other_less, common, work + 4 * looked


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
    if is_plain(p, d) and is_plain(p, e):
        n, other, common, work = count_plain_pair(p, c, a, i, ie, b, j, je)
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
    if is_plain(p, d) and level(p, d, L.FLAGS) != 0:
        n, work = count_plain(p, c)
    else:
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
