"""The generic kernel: one function, compiled once by Numba, that interprets any nest given as tables.

A worker's whole state (depth, position in every level's list, sets) lies in arrays that the caller owns, so the kernel may
return at any step and be entered again: when its step budget is used (the scheduler then looks at cancel and timeout; a
flag polled inside would be hoisted by the compiler), or when the row buffer is full. Set operations merge or gallop by size.

Everything is passed as an address and read through `load_*`: Numba counts references to arrays with atomic operations, which
made the inner loops ten times slower and two threads slower than one.
"""

from __future__ import annotations

import os
from pathlib import Path

import numba
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
N_LEVEL, N_SET, N_CHECK, N_VIEW = len(LevelField), len(SetField), len(CheckField), len(ViewField)
# the tuple of addresses that every function gets
P_LEVELS, P_SETS, P_REFS, P_CHECKS, P_GROUPS, P_VIEWS, P_SIMPLE, P_LISTS, P_BITS = range(9)
P_V, P_SET_LENGTH, P_BUFFER = 9, 10, 11
POINTERS = 12
LARGEST = 9.0e18  # floats above this may stand for counts over 2^63
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


@intrinsic
def store_i64(typingctx, address, index, value):  # type: ignore[no-untyped-def]
    """i64 at address[index] = value."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        pointer = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        builder.store(args[2], builder.gep(pointer, [args[1]]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@njit(nogil=True, cache=_CACHE)
def level(p, d, field):  # type: ignore[no-untyped-def]
    return load_i64(p[P_LEVELS], d * N_LEVEL + field)


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
def find_row(p, view, vid):  # type: ignore[no-untyped-def]
    """(start, end) of a vid's neighbours, by the interval index; (0, 0) where it has none."""
    at = p[P_VIEWS] + view * N_VIEW * 8
    first = load_i64(at, V_FIRST)
    k = lower_bound(first, 0, load_i64(at, V_INTERVALS), vid + 1) - 1
    if k < 0:
        return 0, 0
    step = vid - load_u32(first, k)
    if step >= load_u32(load_i64(at, V_LENGTH), k):
        return 0, 0
    row = load_u32(load_i64(at, V_ROW), k) + step
    offsets = load_i64(at, V_OFFSETS)
    return load_i64(offsets, row), load_i64(offsets, row + 1)


@njit(nogil=True, cache=_CACHE)
def neighbours(p, view):  # type: ignore[no-untyped-def]
    return load_i64(p[P_VIEWS] + view * N_VIEW * 8, V_NEIGHBOURS)


@njit(nogil=True, cache=_CACHE)
def bounds(p, row, lo, below, above):  # type: ignore[no-untyped-def]
    """The vid range [lo, hi) that a level or set (its table row) is cut to, given the vertices bound so far."""
    low, high = load_i64(row, lo), load_i64(row, lo + 1)
    for r in range(load_i64(row, below), load_i64(row, below + 1)):
        high = min(high, load_i64(p[P_V], load_i64(p[P_REFS], r)))
    for r in range(load_i64(row, above), load_i64(row, above + 1)):
        low = max(low, load_i64(p[P_V], load_i64(p[P_REFS], r)) + 1)
    return low, high


@njit(nogil=True, cache=_CACHE)
def operand(p, row, field):  # type: ignore[no-untyped-def]
    """(address, start, end) of the list, row or computed set that the three columns from `field` name."""
    kind, a = load_i64(row, field), load_i64(row, field + 1)
    if kind == 1:
        start, end = find_row(p, a, load_i64(p[P_V], load_i64(row, field + 2)))
        return neighbours(p, a), start, end
    if kind == 2:
        start = load_i64(p[P_SETS], a * N_SET + S_OFFSET)
        return p[P_BUFFER], start, start + load_i64(p[P_SET_LENGTH], a)
    return load_i64(p[P_LISTS], 2 * a), 0, load_i64(p[P_LISTS], 2 * a + 1)


@njit(nogil=True, cache=_CACHE)
def repeats(p, row, field):  # type: ignore[no-untyped-def]
    """Whether an operand may hold a value twice: a row of a view with parallel edges."""
    return load_i64(row, field) == 1 and load_i64(p[P_SIMPLE], load_i64(row, field + 1)) == 0


@njit(nogil=True, cache=_CACHE)
def intersect(a, i, ie, b, j, je, out, at):  # type: ignore[no-untyped-def]
    """Write the common values of two ascending lists from `at` on; the number written.

    A value comes out as often as it stands in both. The store before the comparison may write one value past the end.
    """
    n = at
    if (je - j) * GALLOP < ie - i:
        a, i, ie, b, j, je = b, j, je, a, i, ie
    if (ie - i) * GALLOP < je - j:
        while i < ie:
            x = load_u32(a, i)
            i += 1
            j = lower_bound(b, j, je, x)
            if j == je:
                break
            if load_u32(b, j) == x:
                store_u32(out, n, x)
                n += 1
                j += 1
        return n - at
    while i < ie and j < je:
        x = load_u32(a, i)
        y = load_u32(b, j)
        store_u32(out, n, x)
        n += x == y
        i += x <= y
        j += y <= x
    return n - at


@njit(nogil=True, cache=_CACHE)
def subtract(a, i, ie, b, j, je, out, at):  # type: ignore[no-untyped-def]
    """Write the values of the first list that are not in the second; the number written."""
    n = at
    while i < ie:
        x = load_u32(a, i)
        i += 1
        j = lower_bound(b, j, je, x)
        if j == je or load_u32(b, j) != x:
            store_u32(out, n, x)
            n += 1
    return n - at


@njit(nogil=True, cache=_CACHE)
def thin_out(out, at, n, test):  # type: ignore[no-untyped-def]
    """Keep of n values from `at` on the first of each, and only those in bitset `test` (0: all); the number kept."""
    kept = at
    last = -1
    for i in range(at, at + n):
        x = load_u32(out, i)
        if x != last and (test == 0 or has_bit(test, x)):
            store_u32(out, kept, x)
            kept += 1
        last = x
    return kept - at


@njit(nogil=True, cache=_CACHE)
def compute_sets(p, d):  # type: ignore[no-untyped-def]
    """Run the set operations that hang on level d; -1 if one came out empty, else the elements looked at."""
    work = 0
    for s in range(level(p, d, L_SET), level(p, d, L_SET_END)):
        row = p[P_SETS] + s * N_SET * 8
        low, high = bounds(p, row, S_LO, S_BELOW, S_ABOVE)
        a, i, ie = operand(p, row, S_LEFT)
        b, j, je = operand(p, row, S_RIGHT)
        i = lower_bound(a, i, ie, low)
        ie = lower_bound(a, i, ie, high)
        offset = load_i64(row, S_OFFSET)
        if load_i64(row, S_OP) == 0:
            j = lower_bound(b, j, je, low)
            je = lower_bound(b, j, je, high)
            n = intersect(a, i, ie, b, j, je, p[P_BUFFER], offset)
            doubled = repeats(p, row, S_LEFT) and repeats(p, row, S_RIGHT)
        else:
            n = subtract(a, i, ie, b, j, je, p[P_BUFFER], offset)
            doubled = repeats(p, row, S_LEFT)
        bits = load_i64(row, S_BITS)
        if doubled or bits >= 0:
            n = thin_out(p[P_BUFFER], offset, n, load_i64(p[P_BITS], bits) if bits >= 0 else 0)
        store_i64(p[P_SET_LENGTH], s, n)
        work += 1 + min(ie - i + je - j, 32 * min(ie - i, je - j))
        if n == 0:
            return -1
    return work


@njit(nogil=True, cache=_CACHE)
def passes(p, d, x):  # type: ignore[no-untyped-def]
    """Whether the checks of level d hold with its vertex at x."""
    v = p[P_V]
    store_i64(v, d, x)
    for c in range(level(p, d, L_CHECK), level(p, d, L_CHECK_END)):
        row = p[P_CHECKS] + c * N_CHECK * 8
        a, b = load_i64(row, C_A), load_i64(v, load_i64(row, C_B))
        e = load_i64(v, load_i64(row, C_C))
        if load_i64(row, C_PAIRS) == 1:
            a, f = load_i64(v, a), load_i64(v, load_i64(row, C_D))
            if (a == e and b == f) or (load_i64(row, C_E) == 1 and a == f and b == e):
                return False
        else:
            start, end = find_row(p, a, b)
            address = neighbours(p, a)
            at = lower_bound(address, start, end, e)
            held = 0
            while at < end and load_u32(address, at) == e:
                held += 1
                at += 1
            if held < load_i64(row, C_D) or held > load_i64(row, C_E):
                return False
    return True


@njit(nogil=True, cache=_CACHE)
def accepts(p, d, x):  # type: ignore[no-untyped-def]
    """Whether element x (a vid, or an edge id on an edge level) passes level d's differences, bitset and id order."""
    v, refs = p[P_V], p[P_REFS]
    for r in range(level(p, d, L_DIFFERS), level(p, d, L_DIFFERS_END)):
        if load_i64(v, load_i64(refs, r)) == x:
            return False
    bits = level(p, d, L_BITS)
    if bits >= 0 and not has_bit(load_i64(p[P_BITS], bits), x):
        return False
    if level(p, d, L_EDGE) == 1:
        for r in range(level(p, d, L_ABOVE), level(p, d, L_ABOVE_END)):
            if x <= load_i64(v, load_i64(refs, r)):
                return False
    return True


@njit(nogil=True, cache=_CACHE)
def enter(p, d):  # type: ignore[no-untyped-def]
    """(address, start, end) of what level d loops over. Edge levels loop over positions of their view."""
    row = p[P_LEVELS] + d * N_LEVEL * 8
    if load_i64(row, L_EDGE) == 1:
        view = load_i64(row, L_A)
        start, end = find_row(p, view, load_i64(p[P_V], load_i64(row, L_B)))
        y = load_i64(p[P_V], load_i64(row, L_LO))
        address = neighbours(p, view)
        start = lower_bound(address, start, end, y)
        end = lower_bound(address, start, end, y + 1)
        return load_i64(p[P_VIEWS] + view * N_VIEW * 8, V_EIDS), start, end
    address, start, end = operand(p, row, L_BASE)
    low, high = bounds(p, row, L_LO, L_BELOW, L_ABOVE)
    start = lower_bound(address, start, end, low)
    return address, start, lower_bound(address, start, end, high)


@njit(nogil=True, cache=_CACHE)
def is_repeat(p, d, address, start, at):  # type: ignore[no-untyped-def]
    """Whether a vertex level sees the same neighbour again (parallel edges repeat it in a row)."""
    row = p[P_LEVELS] + d * N_LEVEL * 8
    if at == start or load_i64(row, L_EDGE) == 1 or not repeats(p, row, L_BASE):
        return False
    return load_u32(address, at) == load_u32(address, at - 1)


@njit(nogil=True, cache=_CACHE)
def element(p, d, address, at):  # type: ignore[no-untyped-def]
    return load_i64(address, at) if level(p, d, L_EDGE) == 1 else load_u32(address, at)


@njit(nogil=True, cache=_CACHE)
def is_plain(p, d):  # type: ignore[no-untyped-def]
    """Whether a vertex level's elements all count but for its differences: no bitset, no check, no value twice."""
    row = p[P_LEVELS] + d * N_LEVEL * 8
    bare = load_i64(row, L_BITS) < 0 and load_i64(row, L_CHECK) == load_i64(row, L_CHECK_END)
    return bare and not repeats(p, row, L_BASE)


@njit(nogil=True, cache=_CACHE)
def count_level(p, d):  # type: ignore[no-untyped-def]
    """Number of elements that level d would bind."""
    row = p[P_LEVELS] + d * N_LEVEL * 8
    address, start, end = enter(p, d)
    if start == end:
        return 0
    edge = load_i64(row, L_EDGE) == 1
    differs, differs_end = load_i64(row, L_DIFFERS), load_i64(row, L_DIFFERS_END)
    if edge:
        bare = load_i64(row, L_BITS) < 0 and differs == differs_end
        plain = bare and load_i64(row, L_ABOVE) == load_i64(row, L_ABOVE_END)
    else:
        plain = is_plain(p, d)
    if plain:
        n = end - start
        for r in range(differs, differs_end):
            x = load_i64(p[P_V], load_i64(p[P_REFS], r))
            again = False
            for q in range(differs, r):
                again = again or load_i64(p[P_V], load_i64(p[P_REFS], q)) == x
            if not again:
                at = lower_bound(address, start, end, x)
                if at < end and load_u32(address, at) == x:
                    n -= 1
        return n
    n = 0
    for at in range(start, end):
        if is_repeat(p, d, address, start, at):
            continue
        x = element(p, d, address, at)
        if accepts(p, d, x) and (edge or passes(p, d, x)):
            n += 1
    return n


@njit(nogil=True, cache=_CACHE)
def common_differs(p, d, other, a, i, ie, b, j, je):  # type: ignore[no-untyped-def]
    """How many common values of two lists are ruled out by the differences of level d, or of `other` where d has none
    of them: each value once."""
    n = 0
    v, refs = p[P_V], p[P_REFS]
    for side in range(2):
        at = d if side == 0 else other
        if side == 1 and other == d:
            break
        for r in range(level(p, at, L_DIFFERS), level(p, at, L_DIFFERS_END)):
            if load_i64(refs, r) >= d and side == 1:
                continue
            x = load_i64(v, load_i64(refs, r))
            again = False
            for q in range(level(p, at, L_DIFFERS), r):
                again = again or load_i64(v, load_i64(refs, q)) == x
            if side == 1:
                for q in range(level(p, d, L_DIFFERS), level(p, d, L_DIFFERS_END)):
                    again = again or load_i64(v, load_i64(refs, q)) == x
            if again:
                continue
            k = lower_bound(a, i, ie, x)
            if k < ie and load_u32(a, k) == x:
                k = lower_bound(b, j, je, x)
                if k < je and load_u32(b, k) == x:
                    n += 1
    return n


@njit(nogil=True, cache=_CACHE)
def count_equal(a, i, ie, b, j, je):  # type: ignore[no-untyped-def]
    """Number of common values of two ascending lists without repeats."""
    n = 0
    if (je - j) * GALLOP < ie - i:
        a, i, ie, b, j, je = b, j, je, a, i, ie
    if (ie - i) * GALLOP < je - j:
        while i < ie:
            x = load_u32(a, i)
            i += 1
            j = lower_bound(b, j, je, x)
            if j == je:
                break
            n += load_u32(b, j) == x
        return n
    while i < ie and j < je:
        x = load_u32(a, i)
        y = load_u32(b, j)
        n += x == y
        i += x <= y
        j += y <= x
    return n


@njit(nogil=True, cache=_CACHE)
def count_common(p, d):  # type: ignore[no-untyped-def]
    """Number of vids that both level d and level d + 1 would bind (their difference from one another aside)."""
    a, i, ie = enter(p, d)
    b, j, je = enter(p, d + 1)
    if i == ie or j == je:
        return 0
    if is_plain(p, d) and is_plain(p, d + 1):
        ruled_out = common_differs(p, d, d + 1, a, i, ie, b, j, je)
        return count_equal(a, i, ie, b, j, je) - ruled_out
    store_i64(p[P_V], d, -1)
    n = 0
    first = i
    while i < ie:
        x = load_u32(a, i)
        if not is_repeat(p, d, a, first, i):
            j = lower_bound(b, j, je, x)
            if j < je and load_u32(b, j) == x and accepts(p, d, x) and accepts(p, d + 1, x):
                n += 1
        i += 1
    return n


@njit(nogil=True, cache=_CACHE)
def count_groups(p, groups):  # type: ignore[no-untyped-def]
    """(product of the groups' formulas, the same as float to see an overflow)."""
    total, shadow = 1, 1.0
    g = 0
    while g < groups:
        d = load_i64(p[P_GROUPS], g)
        g += 1
        formula = level(p, d, L_FORMULA)
        if formula == 3:
            g += 1
            store_i64(p[P_V], d, -1)
        n = count_level(p, d)
        ways, approx = 1, 1.0
        if formula == 3:
            # the vertices are counted as if free of one another, then the pairs that are one vertex are taken off
            store_i64(p[P_V], d, -1)
            other = count_level(p, d + 1) if n > 0 else 0
            approx = approx * n * other
            if approx > LARGEST:
                return 0, approx
            common = count_common(p, d) if other > 0 else 0
            shadow = shadow * approx
            if shadow > LARGEST:
                return 0, shadow
            total = total * (n * other - common)
            if total == 0:
                return 0, 0.0
            continue
        for i in range(level(p, d, L_SIZE)):
            left = n if formula == 0 else max(n - i, 0)
            approx = approx * left
            if approx > LARGEST:
                return 0, approx
            ways = ways * left
            if formula == 2:
                ways = ways // (i + 1)
                approx = approx / (i + 1)
        shadow = shadow * approx
        if shadow > LARGEST:
            return 0, shadow
        total = total * ways
        if total == 0:
            return 0, 0.0
    return total, shadow


@njit(nogil=True, cache=_CACHE)
def write_row(p, loops, r, out_vids, vid_columns, out_eids, eid_columns):  # type: ignore[no-untyped-def]
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


@njit(_SIGNATURE, nogil=True, cache=_CACHE)
def run(
    p, loops, groups, counting, control, address, position, start, end,
    out_vids, vid_columns, out_eids, eid_columns, capacity, budget,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Go on from the worker's state until done, `budget` steps are spent or the row buffer is full.

    Level 0 loops over what the caller put in address[0], position[0], end[0]. Status and counts come back in `control`.
    All arguments but `counting` are i64; `p` and those named for arrays are addresses.
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
                n, shadow = count_groups(p, groups)
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
        if level(p, d, L_CHECK) != level(p, d, L_CHECK_END):
            if not passes(p, d, x):
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


numba.config.CACHE_DIR = _before
