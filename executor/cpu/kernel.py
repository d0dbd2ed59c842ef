"""The generic kernel: one function, compiled once by Numba, that interprets any nest given as
tables.

A worker's whole state (depth, position in every level's list, sets) lies in arrays that the caller
owns, so the kernel may return at any step and be entered again: when its step budget is used (the
scheduler then looks at cancel and timeout; a flag polled inside would be hoisted by the compiler),
or when the row buffer is full.
"""

from __future__ import annotations

from gdb.executor.cpu.address import (
    DEPTH,
    DONE,
    ENTERING,
    F_CHECKS,
    F_EDGE,
    F_REPEATS,
    F_SETS,
    FULL,
    L_COLUMN,
    L_EDGE,
    L_FLAGS,
    LARGEST,
    OVERFLOW,
    P_STAMPS,
    P_V,
    ROWS,
    STAMP,
    STATUS,
    TOTAL,
    YIELDED,
    Pointers,
    compiled,
    load_i64,
    load_u32,
    store_i64,
    store_u32,
)
from gdb.executor.cpu.levels import accepts, element, enter, is_repeat, passes
from gdb.executor.cpu.sets import compute_sets, level
from gdb.executor.cpu.tail import count_tail


@compiled
def write_prefix(
    p: Pointers, levels: int, r: int, n: int, out_vids: int, out_eids: int, capacity: int
) -> None:
    """Write what the first levels are bound to into rows [r, r + n) of their columns."""
    for k in range(levels):
        x = load_i64(load_i64(p, P_V), k)
        at = level(p, k, L_COLUMN) * capacity + r
        if level(p, k, L_EDGE) == 1:
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
    to = level(p, d, L_COLUMN) * capacity + r
    for i in range(n):
        store_u32(out_vids, to + i, load_u32(address, at + i))


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
) -> None:
    """Go on from the worker's state until done, `budget` steps are spent or the row buffer is full.

    Level 0 loops over what the caller put in address[0], position[0], end[0]. Status and counts
    come back in `control`. All arguments but `counting` are i64; `p` and those named for arrays are
    addresses; the columns of rows stand one after another, `capacity` long.
    """
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
        if entering:
            entering = False
            spent += 1
            if d == loops:
                n, shadow, work = count_tail(p, nodes)
                spent += work >> 2
                if shadow > LARGEST or total > 9223372036854775807 - n:
                    status = OVERFLOW
                    break
                total += n
                d -= 1
                continue
            if d > 0:
                list_at, first, final = enter(p, d)
                store_i64(address, d, list_at)
                store_i64(position, d, first)
                store_i64(start, d, first)
                store_i64(end, d, final)
        at = load_i64(position, d)
        final = load_i64(end, d)
        if at >= final:
            d -= 1
            continue
        list_at = load_i64(address, d)
        spent += 1
        flags = level(p, d, L_FLAGS)
        if not counting and d == last and flags == 0:
            if rows == capacity:
                status = FULL
                break
            n = min(final - at, capacity - rows)
            write_prefix(p, d, rows, n, out_vids, out_eids, capacity)
            write_run(p, d, list_at, at, n, rows, out_vids, capacity)
            rows += n
            spent += n >> 2
            store_i64(position, d, at + n)
            continue
        store_i64(position, d, at + 1)
        if flags & F_EDGE != 0:
            x = element(p, d, list_at, at)
        else:
            x = load_u32(list_at, at)
        if flags & ~F_SETS != 0:
            if flags & F_REPEATS != 0 and is_repeat(p, d, list_at, load_i64(start, d), at):
                continue
            if not accepts(p, d, x):
                continue
            if flags & F_CHECKS != 0 and not passes(p, d, x):
                continue
        store_i64(load_i64(p, P_V), d, x)
        stamp += 1
        store_i64(load_i64(p, P_STAMPS), d, stamp)
        if flags & F_SETS != 0:
            work = compute_sets(p, d)
            if work < 0:
                spent += 8
                continue
            spent += work >> 2
        if d < last or nodes > 0:
            d += 1
            entering = True
        elif counting:
            total += 1
        elif rows == capacity:
            store_i64(position, d, at)
            status = FULL
            break
        else:
            write_prefix(p, loops, rows, 1, out_vids, out_eids, capacity)
            rows += 1
    store_i64(control, DEPTH, d)
    store_i64(control, ENTERING, 1 if entering else 0)
    store_i64(control, TOTAL, total)
    store_i64(control, ROWS, rows)
    store_i64(control, STAMP, stamp)
    store_i64(control, STATUS, status)


run = compiled(_run, entry=True)
