"""The loops that cut the lists of roots into work units, in machine code: each goes through its roots once."""

from __future__ import annotations

from gdb.base.machine.compile import together
from gdb.base.machine.memory import load_i64, store_i64, store_u32


def _count_units_loop(sizes: int, begin: int, end: int, part: int, first: int) -> int:
    """Write behind each root how many units there are so far; that of all. sizes : of the lists of roots. part : of one
    unit; 0 where each root is one."""
    found = 0
    for k in range(begin, end):
        if part > 0:
            found += (load_i64(sizes, k) + part - 1) // part
        else:
            found += 1
        store_i64(first, k + 1, found)
    return found


def _fill_units_loop(first: int, begin: int, end: int, before: int, roots: int) -> None:
    """Write the root of each unit, and add the units of the roots before to the numbers of `_count_units_loop`."""
    at = before
    for k in range(begin, end):
        until = before + load_i64(first, k + 1)
        store_i64(first, k + 1, until)
        while at < until:
            store_u32(roots, at, k)
            at += 1


count_units, fill_units = together(_count_units_loop, _fill_units_loop)
