"""The generic kernel: one function, compiled once by Numba, that interprets any nest given as tables.

A worker's whole state (depth, position in every level's list, sets) lies in arrays that the caller owns, so the kernel may
return at any step and be entered again: when its step budget is used (the scheduler then looks at cancel and timeout; a
flag polled inside would be hoisted by the compiler), or when the row buffer is full. Set operations merge or gallop by size.
"""

from __future__ import annotations

import os
from pathlib import Path

import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from gdb.executor.tables import CheckField, LevelField, SetField, ViewField

# control array of a worker
DEPTH, ENTERING, TOTAL, ROWS, STATUS = 0, 1, 2, 3, 4
CONTROL = 5
DONE, YIELDED, FULL, OVERFLOW = 0, 1, 2, 3

L_EDGE, L_BASE, L_A, L_B, L_LO, L_HI, L_BITS = (int(LevelField(i)) for i in range(7))
L_BELOW, L_BELOW_END, L_ABOVE, L_ABOVE_END, L_DIFFERS, L_DIFFERS_END = (int(LevelField(i)) for i in range(7, 13))
L_CHECK, L_CHECK_END, L_SET, L_SET_END, L_SIZE, L_FORMULA, L_COLUMN = (int(LevelField(i)) for i in range(13, 20))
S_LEFT, S_LEFT_A, S_LEFT_B, S_OP, S_RIGHT, S_RIGHT_A, S_RIGHT_B = (int(SetField(i)) for i in range(7))
S_LO, S_HI, S_BITS, S_BELOW, S_BELOW_END, S_ABOVE, S_ABOVE_END, S_OFFSET = (int(SetField(i)) for i in range(7, 15))
C_PAIRS, C_A, C_B, C_C, C_D, C_E = (int(CheckField(i)) for i in range(6))
V_FIRST, V_LENGTH, V_ROW, V_INTERVALS, V_OFFSETS, V_NEIGHBOURS, V_EIDS = (int(ViewField(i)) for i in range(7))
GALLOP = 16  # one list this much longer than the other: search it instead of merging


def _cache_in_users_folder() -> None:
    """Numba's disk cache is a pickle: it must lie where only the user can write, and never in a store (design.md §2)."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(home) / "gdb" / "numba"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        numba.config.CACHE_DIR = str(folder)
    except OSError:
        numba.config.CACHE_DIR = ""


_before = numba.config.CACHE_DIR
if not _before:
    _cache_in_users_folder()
_CACHE = bool(numba.config.CACHE_DIR)


def _loader(bits: int, out: types.Type) -> object:
    @intrinsic
    def load(typingctx, address, index):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
            width = ir.IntType(bits)
            pointer = builder.inttoptr(args[0], width.as_pointer())
            value = builder.load(builder.gep(pointer, [args[1]]))
            return value if bits == 64 else builder.zext(value, ir.IntType(64))

        return out(types.int64, types.int64), generate

    return load


load_u8 = _loader(8, types.int64)
load_u32 = _loader(32, types.int64)
load_i64 = _loader(64, types.int64)


@intrinsic
def store_u32(typingctx, address, index, value):  # type: ignore[no-untyped-def]
    """u32 at address[index] = value; the arrays behind the addresses are kept alive by the caller."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        width = ir.IntType(32)
        pointer = builder.inttoptr(args[0], width.as_pointer())
        builder.store(builder.trunc(args[2], width), builder.gep(pointer, [args[1]]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@njit(nogil=True, cache=_CACHE)
def lower_bound(address, start, end, x):  # type: ignore[no-untyped-def]
    """First position in [start, end) whose value is >= x."""
    while start < end:
        middle = (start + end) >> 1
        if load_u32(address, middle) < x:
            start = middle + 1
        else:
            end = middle
    return start


@njit(nogil=True, cache=_CACHE)
def has_bit(address, x):  # type: ignore[no-untyped-def]
    return (load_u8(address, x >> 3) >> (x & 7)) & 1


@njit(nogil=True, cache=_CACHE)
def find_row(view, vid):  # type: ignore[no-untyped-def]
    """(start, end) of a vid's neighbours, by the interval index; (0, 0) where it has none."""
    first = view[V_FIRST]
    at = lower_bound(first, 0, view[V_INTERVALS], vid + 1) - 1
    if at < 0:
        return 0, 0
    step = vid - load_u32(first, at)
    if step >= load_u32(view[V_LENGTH], at):
        return 0, 0
    row = load_u32(view[V_ROW], at) + step
    return load_i64(view[V_OFFSETS], row), load_i64(view[V_OFFSETS], row + 1)


@njit(nogil=True, cache=_CACHE)
def bounds(row, refs, v, lo, below, above):  # type: ignore[no-untyped-def]
    """The vid range [lo, hi) that a level or set is cut to, given the vertices bound so far."""
    low, high = row[lo], row[lo + 1]
    for r in range(row[below], row[below + 1]):
        high = min(high, v[refs[r]])
    for r in range(row[above], row[above + 1]):
        low = max(low, v[refs[r]] + 1)
    return low, high


@njit(nogil=True, cache=_CACHE)
def operand(kind, a, b, views, lists, sets, set_length, buffer, v):  # type: ignore[no-untyped-def]
    """(address, start, end) of a list, a row or a computed set."""
    if kind == 1:
        start, end = find_row(views[a], v[b])
        return views[a, V_NEIGHBOURS], start, end
    if kind == 2:
        return buffer, sets[a, S_OFFSET], sets[a, S_OFFSET] + set_length[a]
    return lists[a, 0], 0, lists[a, 1]


@njit(nogil=True, cache=_CACHE)
def intersect(a, i, ie, b, j, je, bits, out, at):  # type: ignore[no-untyped-def]
    """Write the distinct common values of two ascending lists (that pass `bits`) from `at` on; the number written."""
    n = at
    if (je - j) * GALLOP < ie - i:
        a, i, ie, b, j, je = b, j, je, a, i, ie
    last = -1
    if (ie - i) * GALLOP < je - j:
        while i < ie:
            x = load_u32(a, i)
            i += 1
            j = lower_bound(b, j, je, x)
            if j == je:
                break
            if load_u32(b, j) == x and x != last and (bits == 0 or has_bit(bits, x)):
                store_u32(out, n, x)
                n += 1
                last = x
        return n - at
    if bits == 0:
        while i < ie and j < je:
            x = load_u32(a, i)
            y = load_u32(b, j)
            if x == y and x != last:
                store_u32(out, n, x)
                n += 1
                last = x
            i += x <= y
            j += y <= x
        return n - at
    while i < ie and j < je:
        x = load_u32(a, i)
        y = load_u32(b, j)
        if x == y and x != last and has_bit(bits, x):
            store_u32(out, n, x)
            n += 1
            last = x
        i += x <= y
        j += y <= x
    return n - at


@njit(nogil=True, cache=_CACHE)
def subtract(a, i, ie, b, j, je, bits, out, at):  # type: ignore[no-untyped-def]
    """Write the distinct values of the first list that are not in the second; the number written."""
    n = at
    last = -1
    while i < ie:
        x = load_u32(a, i)
        i += 1
        if x == last:
            continue
        last = x
        j = lower_bound(b, j, je, x)
        if (j == je or load_u32(b, j) != x) and (bits == 0 or has_bit(bits, x)):
            store_u32(out, n, x)
            n += 1
    return n - at


@njit(nogil=True, cache=_CACHE)
def compute_sets(depth, levels, sets, refs, views, lists, bits, set_length, buffer, v):  # type: ignore[no-untyped-def]
    """Run the set operations that hang on a level; -1 if one came out empty, else the elements looked at."""
    work = 0
    for s in range(levels[depth, L_SET], levels[depth, L_SET_END]):
        row = sets[s]
        low, high = bounds(row, refs, v, S_LO, S_BELOW, S_ABOVE)
        a, i, ie = operand(row[S_LEFT], row[S_LEFT_A], row[S_LEFT_B], views, lists, sets, set_length, buffer, v)
        b, j, je = operand(row[S_RIGHT], row[S_RIGHT_A], row[S_RIGHT_B], views, lists, sets, set_length, buffer, v)
        i = lower_bound(a, i, ie, low)
        ie = lower_bound(a, i, ie, high)
        test = bits[row[S_BITS]] if row[S_BITS] >= 0 else 0
        if row[S_OP] == 0:
            j = lower_bound(b, j, je, low)
            je = lower_bound(b, j, je, high)
            n = intersect(a, i, ie, b, j, je, test, buffer, row[S_OFFSET])
        else:
            n = subtract(a, i, ie, b, j, je, test, buffer, row[S_OFFSET])
        set_length[s] = n
        work += 1 + min(ie - i + je - j, 32 * min(ie - i, je - j))
        if n == 0:
            return -1
    return work


@njit(nogil=True, cache=_CACHE)
def passes(d, x, levels, checks, views, v):  # type: ignore[no-untyped-def]
    """Whether the checks of level d hold with its vertex at x."""
    v[d] = x
    for c in range(levels[d, L_CHECK], levels[d, L_CHECK_END]):
        row = checks[c]
        if row[C_PAIRS] == 1:
            a, b, e, f = v[row[C_A]], v[row[C_B]], v[row[C_C]], v[row[C_D]]
            if (a == e and b == f) or (row[C_E] == 1 and a == f and b == e):
                return False
        else:
            view = views[row[C_A]]
            start, end = find_row(view, v[row[C_B]])
            y = v[row[C_C]]
            at = lower_bound(view[V_NEIGHBOURS], start, end, y)
            held = 0
            while at < end and load_u32(view[V_NEIGHBOURS], at) == y:
                held += 1
                at += 1
            if held < row[C_D] or held > row[C_E]:
                return False
    return True


@njit(nogil=True, cache=_CACHE)
def accepts(d, x, levels, refs, bits, v):  # type: ignore[no-untyped-def]
    """Whether element x (a vid, or an edge id on an edge level) passes level d's bitset and differences."""
    row = levels[d]
    for r in range(row[L_DIFFERS], row[L_DIFFERS_END]):
        if v[refs[r]] == x:
            return False
    if row[L_BITS] >= 0 and not has_bit(bits[row[L_BITS]], x):
        return False
    if row[L_EDGE] == 1:
        for r in range(row[L_ABOVE], row[L_ABOVE_END]):
            if x <= v[refs[r]]:
                return False
    return True


@njit(nogil=True, cache=_CACHE)
def enter(d, levels, sets, refs, views, lists, set_length, buffer, v):  # type: ignore[no-untyped-def]
    """(address, start, end) of what level d loops over. Edge levels loop over positions of their view."""
    row = levels[d]
    if row[L_EDGE] == 1:
        view = views[row[L_A]]
        start, end = find_row(view, v[row[L_B]])
        y = v[row[L_LO]]
        start = lower_bound(view[V_NEIGHBOURS], start, end, y)
        end = lower_bound(view[V_NEIGHBOURS], start, end, y + 1)
        return view[V_EIDS], start, end
    address, start, end = operand(row[L_BASE], row[L_A], row[L_B], views, lists, sets, set_length, buffer, v)
    low, high = bounds(row, refs, v, L_LO, L_BELOW, L_ABOVE)
    start = lower_bound(address, start, end, low)
    return address, start, lower_bound(address, start, end, high)


@njit(nogil=True, cache=_CACHE)
def is_repeat(row, simple, address, start, at):  # type: ignore[no-untyped-def]
    """Whether a vertex level sees the same neighbour again (parallel edges repeat it in a row)."""
    if row[L_EDGE] == 1 or row[L_BASE] != 1 or at == start:
        return False
    if simple[row[L_A]] == 1:
        return False
    return load_u32(address, at) == load_u32(address, at - 1)


@njit(nogil=True, cache=_CACHE)
def count_level(d, levels, sets, refs, checks, views, simple, lists, bits, set_length, buffer, v):  # type: ignore[no-untyped-def]
    """Number of elements that level d would bind."""
    row = levels[d]
    address, start, end = enter(d, levels, sets, refs, views, lists, set_length, buffer, v)
    edge = row[L_EDGE] == 1
    plain = row[L_BITS] < 0 and row[L_CHECK] == row[L_CHECK_END]
    plain = plain and (row[L_ABOVE] == row[L_ABOVE_END] if edge else row[L_BASE] != 1 or simple[row[L_A]] == 1)
    if plain and (not edge or row[L_DIFFERS] == row[L_DIFFERS_END]):
        n = end - start
        for r in range(row[L_DIFFERS], row[L_DIFFERS_END]):
            x = v[refs[r]]
            again = False
            for q in range(row[L_DIFFERS], r):
                again = again or v[refs[q]] == x
            if not again:
                at = lower_bound(address, start, end, x)
                n -= at < end and load_u32(address, at) == x
        return n
    n = 0
    for at in range(start, end):
        if is_repeat(row, simple, address, start, at):
            continue
        x = load_i64(address, at) if edge else load_u32(address, at)
        if accepts(d, x, levels, refs, bits, v) and (edge or passes(d, x, levels, checks, views, v)):
            n += 1
    return n


@njit(nogil=True, cache=_CACHE)
def count_groups(groups, levels, sets, refs, checks, views, simple, lists, bits, set_length, buffer, v):  # type: ignore[no-untyped-def]
    """(product of the groups' formulas, the same as float to see an overflow)."""
    total, shadow = 1, 1.0
    for g in range(groups.shape[0]):
        d = groups[g]
        n = count_level(d, levels, sets, refs, checks, views, simple, lists, bits, set_length, buffer, v)
        k, formula = levels[d, L_SIZE], levels[d, L_FORMULA]
        ways, approx = 1, 1.0
        for i in range(k):
            left = n if formula == 0 else n - i
            approx = approx * max(left, 0)
            if approx > 9.0e18:
                return 0, approx
            ways = ways * max(left, 0)
            if formula == 2:
                ways = ways // (i + 1)
                approx = approx / (i + 1)
        shadow = shadow * approx
        if shadow > 9.0e18:
            return 0, shadow
        total = total * ways
        if total == 0:
            return 0, 0.0
    return total, shadow


@njit(nogil=True, cache=_CACHE)
def run(
    levels, sets, refs, checks, groups, loops, counting, views, simple, lists, bits,
    control, v, address, position, start, end, set_length, buffer,
    out_vids, out_eids, capacity, budget,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Go on from the worker's state until done, `budget` steps are spent or the row buffer is full.

    Level 0 loops over what the caller put in address[0], position[0], end[0]. Status and counts come back in `control`.
    """
    d = control[DEPTH]
    entering = control[ENTERING] == 1
    spent = 0
    while d >= 0:
        if spent > budget:
            control[DEPTH], control[ENTERING], control[STATUS] = d, entering, YIELDED
            return
        if entering:
            spent += 1
            if counting and d == loops:
                n, shadow = count_groups(
                    groups, levels, sets, refs, checks, views, simple, lists, bits, set_length, buffer, v
                )
                if shadow > 9.0e18 or control[TOTAL] > 9223372036854775807 - n:
                    control[STATUS] = OVERFLOW
                    return
                control[TOTAL] += n
                d -= 1
                entering = False
                continue
            if d > 0:
                address[d], position[d], end[d] = enter(
                    d, levels, sets, refs, views, lists, set_length, buffer, v
                )
                start[d] = position[d]
            entering = False
        at = position[d]
        if at >= end[d]:
            d -= 1
            continue
        row = levels[d]
        edge = row[L_EDGE] == 1
        position[d] = at + 1
        spent += 1
        if is_repeat(row, simple, address[d], start[d], at):
            continue
        x = load_i64(address[d], at) if edge else load_u32(address[d], at)
        if not accepts(d, x, levels, refs, bits, v):
            continue
        if row[L_CHECK] != row[L_CHECK_END]:
            if not passes(d, x, levels, checks, views, v):
                continue
        v[d] = x
        if row[L_SET] != row[L_SET_END]:
            work = compute_sets(d, levels, sets, refs, views, lists, bits, set_length, buffer, v)
            if work < 0:
                spent += 8
                continue
            spent += work >> 2
        if d + 1 < loops or (counting and d + 1 == loops and groups.shape[0] > 0):
            d += 1
            entering = True
        elif counting:
            control[TOTAL] += 1
        elif control[ROWS] == capacity:
            position[d] = at
            control[DEPTH], control[ENTERING], control[STATUS] = d, False, FULL
            return
        else:
            r = control[ROWS]
            for k in range(loops):
                if levels[k, L_EDGE] == 1:
                    out_eids[r, levels[k, L_COLUMN]] = v[k]
                else:
                    out_vids[r, levels[k, L_COLUMN]] = np.uint32(v[k])
            control[ROWS] = r + 1
    control[DEPTH], control[STATUS] = -1, DONE


numba.config.CACHE_DIR = _before
