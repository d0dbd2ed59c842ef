"""The generic kernel: one function, compiled once by Numba, that interprets any nest given as
tables.

A worker's whole state (depth, position in every level's list, sets) lies in arrays that the caller
owns, so the kernel may return at any step and be entered again: when its step budget is used (the
scheduler then looks at cancel and timeout; a flag polled inside would be hoisted by the compiler),
or when the row buffer is full. Set operations merge or gallop by size.
"""

from __future__ import annotations

from numba import types

from gdb.executor.cpu.address import (
    DEPTH,
    DONE,
    ENTERING,
    FULL,
    L_CHECK,
    L_CHECK_END,
    L_COLUMN,
    L_EDGE,
    L_SET,
    L_SET_END,
    LARGEST,
    OVERFLOW,
    P_V,
    POINTERS,
    ROWS,
    STATUS,
    TOTAL,
    YIELDED,
    Pointers,
    compiled,
    load_i64,
    store_i64,
    store_u32,
)
from gdb.executor.cpu.counting import count_groups
from gdb.executor.cpu.levels import accepts, element, enter, is_repeat, passes
from gdb.executor.cpu.sets import compute_sets, level


@compiled
def write_row(
    p: Pointers,
    loops: int,
    r: int,
    out_vids: int,
    vid_columns: int,
    out_eids: int,
    eid_columns: int,
) -> None:
    for k in range(loops):
        x = load_i64(p[P_V], k)
        column = level(p, k, L_COLUMN)
        if level(p, k, L_EDGE) == 1:
            store_i64(out_eids, r * eid_columns + column, x)
        else:
            store_u32(out_vids, r * vid_columns + column, x)


_I = types.int64
_SIGNATURE = types.void(
    types.UniTuple(_I, POINTERS), _I, _I, types.boolean, _I, _I, _I, _I, _I, _I, _I, _I, _I, _I, _I
)


def _run(
    p: Pointers,
    loops: int,
    groups: int,
    counting: bool,
    control: int,
    address: int,
    position: int,
    start: int,
    end: int,
    out_vids: int,
    vid_columns: int,
    out_eids: int,
    eid_columns: int,
    capacity: int,
    budget: int,
) -> None:
    """Go on from the worker's state until done, `budget` steps are spent or the row buffer is full.

    Level 0 loops over what the caller put in address[0], position[0], end[0]. Status and counts
    come back in `control`. All arguments but `counting` are i64; `p` and those named for arrays are
    addresses.
    """
    d = load_i64(control, DEPTH)
    entering = load_i64(control, ENTERING) == 1
    total, rows = load_i64(control, TOTAL), load_i64(control, ROWS)
    spent = 0
    status = DONE
    while d >= 0:
        if spent > budget:
            status = YIELDED
            break
        if entering:
            entering = False
            spent += 1
            if counting and d == loops:
                n, shadow, work = count_groups(p, groups)
                spent += work >> 2
                if shadow > LARGEST or total > 9223372036854775807 - n:
                    status = OVERFLOW
                    break
                total += n
                d -= 1
                continue
            if d > 0:
                list_at, first, last = enter(p, d)
                store_i64(address, d, list_at)
                store_i64(position, d, first)
                store_i64(start, d, first)
                store_i64(end, d, last)
        at = load_i64(position, d)
        if at >= load_i64(end, d):
            d -= 1
            continue
        list_at = load_i64(address, d)
        spent += 1
        repeat = is_repeat(p, d, list_at, load_i64(start, d), at)
        store_i64(position, d, at + 1)
        if repeat:
            continue
        x = element(p, d, list_at, at)
        if not accepts(p, d, x):
            continue
        if level(p, d, L_CHECK) != level(p, d, L_CHECK_END) and not passes(p, d, x):
            continue
        store_i64(p[P_V], d, x)
        if level(p, d, L_SET) != level(p, d, L_SET_END):
            work = compute_sets(p, d)
            if work < 0:
                spent += 8
                continue
            spent += work >> 2
        if d + 1 < loops or (counting and groups > 0):
            d += 1
            entering = True
        elif counting:
            total += 1
        elif rows == capacity:
            store_i64(position, d, at)
            status = FULL
            break
        else:
            write_row(p, loops, rows, out_vids, vid_columns, out_eids, eid_columns)
            rows += 1
    store_i64(control, DEPTH, d)
    store_i64(control, ENTERING, 1 if entering else 0)
    store_i64(control, TOTAL, total)
    store_i64(control, ROWS, rows)
    store_i64(control, STATUS, status)


run = compiled(_run, _SIGNATURE)
