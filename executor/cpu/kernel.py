"""The generic kernel: one function, compiled once, that interprets any nest given as tables.

Where only the distinct values of one vertex are wanted, the level that binds it passes over what it
has given already, and what is bound after it need only exist: the first full binding ends the search.

A worker's whole state (depth, position in every level's list, sets) lies in arrays that the caller
owns, so the kernel may return at any step and be entered again: when its step budget is used (the
scheduler then looks at cancel and timeout; a flag polled inside would be hoisted by the compiler),
or when the row buffer is full.
"""

from __future__ import annotations

from gdb.base.machine.compile import compiled, together
from gdb.base.machine.memory import load_i64, load_u8, load_u32, store_i64, store_u8, store_u32

from .address import (
    AHEAD,
    DEPTH,
    DONE,
    ENTERING,
    FULL,
    JOINED,
    LARGEST,
    OVERFLOW,
    ROWS,
    SPENT,
    STAMP,
    STATUS,
    TOO_MANY,
    TOTAL,
    YIELDED,
    F,
    G,
    K,
    L,
    P,
    Pointers,
)
from .bitmaps import compute_bits, open_frame
from .caches import cache_of, keep, recall
from .levels import accepts, element, enter, is_repeat, passes
from .local_counts import count_local, enter_loop
from .look_ahead import leads_on
from .sets import compute_sets, has_bit, level
from .tail import count_tail


@compiled
def write_prefix(
    p: Pointers, levels: int, r: int, n: int, out_vids: int, out_eids: int, capacity: int
) -> None:
    """Write what the first levels are bound to into rows [r, r + n) of their columns (-1: not wanted)."""
    for k in range(levels):
        if level(p, k, L.COLUMN) < 0:
            continue
        x = load_i64(load_i64(p, P.V), k)
        at = level(p, k, L.COLUMN) * capacity + r
        if level(p, k, L.IS_EDGE) == 1:
            for i in range(at, at + n):
                store_i64(out_eids, i, x)
        else:
            for i in range(at, at + n):
                store_u32(out_vids, i, x)


@compiled
def write_run(
    p: Pointers, d: int, address: int, at: int, n: int, r: int, out_vids: int, capacity: int
) -> None:
    """Write n elements of a vertex level's list, from position `at`, into rows [r, r + n)."""
    if level(p, d, L.COLUMN) < 0:
        return
    to = level(p, d, L.COLUMN) * capacity + r
    for i in range(n):
        store_u32(out_vids, to + i, load_u32(address, at + i))


@compiled
def set_bit(address: int, x: int) -> None:
    """Set bit x of the bitmap at `address`, in bytes, lowest bit first."""
    store_u8(address, x >> 3, load_u8(address, x >> 3) | (1 << (x & 7)))


@compiled
def write_unseen(
    p: Pointers, d: int, address: int, at: int, n: int, seen: int, r: int, out_vids: int
) -> int:
    """Of n elements of a vertex level's list, from position `at`, write those that pass and are not in
    bitset `seen` into the only column, from row r on, and put them there; the number written."""
    tested = level(p, d, L.FLAGS) & (F.DIFFERS | F.BITS) != 0
    rows = r
    for i in range(at, at + n):
        x = load_u32(address, i)
        if has_bit(seen, x) == 0 and (not tested or accepts(p, d, x)):
            set_bit(seen, x)
            store_u32(out_vids, rows, x)
            rows += 1
    return rows - r


@compiled
def count_bound(p: Pointers, d: int, n: int) -> None:
    """Level d was bound n times more (what PROFILE shows)."""
    bound = load_i64(p, P.BOUND)
    store_i64(bound, d, load_i64(bound, d) + n)


@compiled
def count_for(p: Pointers, d: int, n: int, tallies: int) -> None:
    """There are n more embeddings with the vertex of level d."""
    x = load_i64(load_i64(p, P.V), d)
    store_i64(tallies, x, load_i64(tallies, x) + n)


@compiled
def times(a: int, b: int) -> int:
    """The product of two numbers of embeddings, TOO_MANY where it does not fit."""
    if a == 0 or b == 0:
        return 0
    if a == TOO_MANY or float(a) * float(b) > LARGEST:
        return TOO_MANY
    return a * b


@compiled
def count_trees(p: Pointers, d: int, spent: int) -> tuple[int, float, int]:
    """As `count_tail`, of the nodes of the tail in loop d, those first that caches may know; the last number is the
    steps, `spent` before."""
    total, shadow = 1, 1.0
    first, after = level(p, d, L.NODE), level(p, d, L.NODE_END)
    c, caches = level(p, d, L.TREES_CACHE), level(p, d, L.TREES_CACHE_END)
    while first < after and total != 0 and shadow <= LARGEST:
        known, until = 0, after
        if c < caches:
            until = load_i64(cache_of(p, c), K.UNTIL)
            known = recall(p, c, 0, spent)
            spent += 1
        if known != 0:
            n = load_i64(known, K.COUNT)
            approx = float(n)
        else:
            n, approx, work = count_tail(p, first, until)
            spent += 4 * (until - first) + (work >> 2)
            if c < caches and approx <= LARGEST:
                keep(p, c, n, spent)
        shadow = shadow * approx if approx > 0.0 else shadow * float(n)
        total = total * n
        first = until
        c += 1
    return total, shadow, spent


def _run(
    p: Pointers,
    loops: int,
    nodes: int,
    counting: bool,
    control: int,
    address: int,
    position: int,
    start: int,
    end: int,
    out_vids: int,
    out_eids: int,
    capacity: int,
    budget: int,
    once: int,
    seen: int,
) -> None:
    """Go on from the worker's state until done, `budget` steps are spent or the row buffer is full.

    Level 0 loops over what the caller put in address[0], position[0], end[0]. Status and counts
    come back in `control`. All arguments but `counting` are i64; `p` and those named for arrays are
    addresses; the columns of rows lie one after another, `capacity` long. once : the level whose
    distinct values are wanted, in the only column, -1 where all rows are; seen : a bitset of those
    that were found. When counting, `once` is the level for each of whose vertices the embeddings are
    wanted, -1 for none, and `seen` the numbers, an i64 for each vid.
    """
    tally = -1
    if counting:
        tally, once = once, -1
    joined = load_i64(control, JOINED)
    g, frame, local = load_i64(p, P.LOCAL), -1, -1
    if g != 0:
        frame, local = load_i64(g, G.FRAME), load_i64(g, G.FIRST)
    sums, products = load_i64(p, P.SUMS), load_i64(p, P.PRODUCTS)
    d = load_i64(control, DEPTH)
    entering = load_i64(control, ENTERING) == 1
    total, rows = load_i64(control, TOTAL), load_i64(control, ROWS)
    stamp = load_i64(control, STAMP)
    last = loops - 1
    spent = 0
    status = DONE
    while d >= 0:
        if spent > budget:
            status = YIELDED
            break
        if d == local and load_i64(g, G.ON) == 1:
            if entering:
                entering = False
                enter_loop(g, d)
            n, shadow, work, done = count_local(p, g, budget - spent)
            spent += work
            if shadow > LARGEST or total > 9223372036854775807 - n:
                status = OVERFLOW
                break
            total += n
            if tally >= 0:
                count_for(p, tally, n, seen)
            if done:
                d -= 1
            continue
        if entering:
            entering = False
            spent += 1
            if d == loops:  # there are none
                n, shadow, work = count_tail(p, 0, nodes)
                spent += 4 * nodes + (work >> 2)
                if shadow > LARGEST or total > 9223372036854775807 - n:
                    status = OVERFLOW
                    break
                total += n
                d -= 1
                continue
            if d > 0:
                known = 0
                if counting and level(p, d, L.CACHE) >= 0:
                    known = recall(p, level(p, d, L.CACHE), total, spent)
                    spent += 1
                if known != 0:
                    store_i64(position, d, 0)
                    store_i64(end, d, 0)
                    n = load_i64(known, K.COUNT)
                    if total > 9223372036854775807 - n:
                        status = OVERFLOW
                        break
                    total += n
                    if tally >= 0 and joined == 0:
                        count_for(p, tally, n, seen)
                else:
                    list_at, first, final = enter(p, d)
                    store_i64(address, d, list_at)
                    store_i64(position, d, first)
                    store_i64(start, d, first)
                    store_i64(end, d, final)
        at = load_i64(position, d)
        final = load_i64(end, d)
        if at >= final:
            if counting and d > 0 and level(p, d, L.CACHE) >= 0:
                keep(p, level(p, d, L.CACHE), total, spent)
            around = d - 1
            if joined > 0:
                around = level(p, d, L.AROUND)
                if level(p, around, L.JOINS) == 1:
                    total = max(total, level(p, d, L.LEAST))
                    product = times(load_i64(products, around), total)
                    beside = level(p, d, L.BESIDE)
                    if product != 0 and beside >= 0:
                        store_i64(products, around, product)
                        total = 0
                        d = beside
                        entering = True
                        continue
                    total = load_i64(sums, around)
                    if product == TOO_MANY or total > 9223372036854775807 - product:
                        status = OVERFLOW
                        break
                    total += product
                    joined -= 1
                    if tally >= 0 and joined == 0:
                        count_for(p, tally, product, seen)
            d = around
            continue
        list_at = load_i64(address, d)
        spent += 1
        flags = level(p, d, L.FLAGS)
        if d == once and d == last and flags & (F.CHECKS | F.EDGE) == 0:
            if rows == capacity:
                status = FULL
                break
            n = min(final - at, capacity - rows)
            unseen = write_unseen(p, d, list_at, at, n, seen, rows, out_vids)
            count_bound(p, d, unseen)
            rows += unseen
            spent += n >> 1
            store_i64(position, d, at + n)
            continue
        if not counting and once < 0 and d == last and flags == 0:
            if rows == capacity:
                status = FULL
                break
            n = min(final - at, capacity - rows)
            write_prefix(p, d, rows, n, out_vids, out_eids, capacity)
            write_run(p, d, list_at, at, n, rows, out_vids, capacity)
            count_bound(p, d, n)
            rows += n
            spent += n >> 2
            store_i64(position, d, at + n)
            continue
        store_i64(position, d, at + 1)
        if flags & F.EDGE != 0:
            x = element(p, d, list_at, at)
        else:
            x = load_u32(list_at, at)
        if d == once and has_bit(seen, x) != 0:
            continue
        if flags & ~(F.SETS | AHEAD) != 0:
            if flags & F.REPEATS != 0 and is_repeat(p, d, list_at, load_i64(start, d), at):
                continue
            if not accepts(p, d, x):
                continue
            if flags & F.CHECKS != 0 and not passes(p, d, x):
                continue
        store_i64(load_i64(p, P.V), d, x)
        stamp += 1
        store_i64(load_i64(p, P.STAMPS), d, stamp)
        count_bound(p, d, 1)
        if flags & AHEAD != 0:
            spent += 1
            if not leads_on(p, loops, d, x):
                continue
        skip = 0
        if frame >= 0 and d >= frame:
            if d == frame:
                spent += open_frame(p, g, x)
            if load_i64(g, G.ON) == 1:
                skip = load_i64(g, G.SKIP)
                work = compute_bits(p, g, d)
                if work < 0:
                    spent += 8
                    continue
                spent += work
        if flags & F.SETS != 0:
            work = compute_sets(p, d, skip)
            if work < 0:
                spent += 8
                continue
            spent += 4 + (work >> 2)
        if d + 1 == local and load_i64(g, G.ON) == 1:
            d += 1
            entering = True
        elif counting:
            n, shadow = 1, 1.0
            if level(p, d, L.NODE) < level(p, d, L.NODE_END):
                n, shadow, spent = count_trees(p, d, spent)
            inner = level(p, d, L.INNER)
            if inner < 0:
                if shadow > LARGEST or total > 9223372036854775807 - n:
                    status = OVERFLOW
                    break
                total += n
                if tally >= 0 and joined == 0:
                    count_for(p, tally, n, seen)
            elif n != 0 or shadow > LARGEST:
                if level(p, d, L.JOINS) == 1:
                    store_i64(sums, d, total)
                    store_i64(products, d, TOO_MANY if shadow > LARGEST else n)
                    total = 0
                    joined += 1
                d = inner
                entering = True
        elif d < last:
            d += 1
            entering = True
        elif rows == capacity:
            store_i64(position, d, at)  # it will be bound again
            count_bound(p, d, -1)
            status = FULL
            break
        elif once < 0:
            write_prefix(p, loops, rows, 1, out_vids, out_eids, capacity)
            rows += 1
        else:
            value = load_i64(load_i64(p, P.V), once)
            if has_bit(seen, value) == 0:  # not found elsewhere while this state was put aside
                write_prefix(p, loops, rows, 1, out_vids, out_eids, capacity)
                rows += 1
                set_bit(seen, value)
            d = once
    store_i64(control, DEPTH, d)
    store_i64(control, ENTERING, 1 if entering else 0)
    store_i64(control, TOTAL, total)
    store_i64(control, ROWS, rows)
    store_i64(control, STAMP, stamp)
    store_i64(control, JOINED, joined)
    store_i64(control, STATUS, status)
    store_i64(control, SPENT, load_i64(control, SPENT) + spent)


def _rebind(p: Pointers, control: int, address: int, start: int) -> None:
    """Bind again what the state that was put into a worker says is bound.

    The values bound, positions and ends of the level at DEPTH and of those around it are there, and what level 0 loops
    over; this finds the lists of the others, i64[loops] `address` and `start`, and runs the set operations in between.
    Of what is counted in bits it makes anew what depends on loops around DEPTH, which is none of those over bits.
    """
    d = load_i64(control, DEPTH)
    g, frame = load_i64(p, P.LOCAL), -1
    if g != 0:
        frame = load_i64(g, G.FRAME)
    stamp = load_i64(control, STAMP)
    k = 0
    while k < d:
        stamp += 1
        store_i64(load_i64(p, P.STAMPS), k, stamp)
        skip = 0
        if frame >= 0 and k >= frame:
            if k == frame:
                open_frame(p, g, load_i64(load_i64(p, P.V), k))
            if load_i64(g, G.ON) == 1:
                skip = load_i64(g, G.SKIP)
                compute_bits(p, g, k)
        if level(p, k, L.FLAGS) & F.SETS != 0:
            compute_sets(p, k, skip)
        inner = d
        while level(p, inner, L.AROUND) != k:
            inner = level(p, inner, L.AROUND)
        k = inner
        if k < d or load_i64(control, ENTERING) == 0:
            list_at, first, _ = enter(p, k)
            store_i64(address, k, list_at)
            store_i64(start, k, first)
    store_i64(control, STAMP, stamp)


run, rebind = together(_run, _rebind)
