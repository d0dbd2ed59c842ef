"""Rows of views, slices, and set operations on ascending lists.

An intersection takes one of three ways, by size: it merges; it searches the longer list; or, where
one operand stays the same while the other changes, that one is held as a byte for each vertex and
the other is looked up in it (one load for each element instead of two comparisons).
"""

from __future__ import annotations

from gdb.base.machine.compile import compiled, inlined
from gdb.base.machine.memory import load_i64, load_u8, load_u32, store_i64, store_u8, store_u32
from gdb.storage.graph.row_loops import lower_bound

from .address import END, GALLOP, LOOK_UP, MOST, N_LEVEL, N_SET, N_VIEW, L, M, P, Pointers, S, V


@compiled
def level(p: Pointers, d: int, field: int) -> int:
    """A field of a level."""
    return load_i64(load_i64(p, P.LEVELS), d * N_LEVEL + field)


@compiled
def has_bit(address: int, x: int) -> int:
    """Bit x of the bits at an address, 0 or 1."""
    return (load_u8(address, x >> 3) >> (x & 7)) & 1


@compiled
def row_number(view: int, vid: int) -> int:
    """A vid's row in a view (the address of its table row), by the interval index; -1 where it has
    none."""
    step = vid - load_i64(view, V.FIRST0)
    if step >= 0 and step < load_i64(view, V.LENGTH0):
        return load_i64(view, V.ROW0) + step
    first = load_i64(view, V.FIRST)
    k = lower_bound(first, 0, load_i64(view, V.INTERVALS), vid + 1) - 1
    if k < 0:
        return -1
    step = vid - load_u32(first, k)
    if step >= load_u32(load_i64(view, V.LENGTH), k):
        return -1
    return load_u32(load_i64(view, V.ROW), k) + step


@compiled
def find_row(p: Pointers, view: int, vid: int) -> tuple[int, int]:
    """(start, end) of a vid's neighbours; (0, 0) where it has none."""
    at = load_i64(p, P.VIEWS) + view * N_VIEW * 8
    row = row_number(at, vid)
    if row < 0:
        return 0, 0
    offsets = load_i64(at, V.OFFSETS)
    return load_i64(offsets, row), load_i64(offsets, row + 1)


@compiled
def neighbours(p: Pointers, view: int) -> int:
    """The address of the neighbours of a view, u32."""
    return load_i64(load_i64(p, P.VIEWS) + view * N_VIEW * 8, V.NEIGHBOURS)


@compiled
def clip(address: int, start: int, end: int, low: int, high: int) -> tuple[int, int]:
    """The part [start, end) of an ascending list whose values lie in [low, high)."""
    if start < end and load_u32(address, start) < low:
        start = lower_bound(address, start + 1, end, low)
    if start < end and load_u32(address, end - 1) >= high:
        end = lower_bound(address, start, end - 1, high)
    return start, end


@inlined
def row_slice(p: Pointers, view: int, vid: int, low: int, high: int) -> tuple[int, int]:
    """The part of a vid's row whose values lie in [low, high). A bound at the vid itself, which is
    what restrictions give, is looked up and not searched. Where rows are short it is half the work."""
    at = load_i64(p, P.VIEWS) + view * N_VIEW * 8
    row = row_number(at, vid)
    if row < 0:
        return 0, 0
    offsets = load_i64(at, V.OFFSETS)
    start, end = load_i64(offsets, row), load_i64(offsets, row + 1)
    split = load_i64(at, V.SPLIT)
    if split != 0:
        if high <= vid:
            end = load_i64(split, row)
        elif low > vid:
            start = load_i64(split, row)
    return clip(load_i64(at, V.NEIGHBOURS), start, end, low, high)


@compiled
def bounds(p: Pointers, row: int, lo: int, below: int, above: int) -> tuple[int, int]:
    """The vid range [lo, hi) that a level or set (its table row) is cut to, given the vertices
    bound so far."""
    low, high = load_i64(row, lo), load_i64(row, lo + 1)
    for r in range(load_i64(row, below), load_i64(row, below + 1)):
        high = min(high, load_i64(load_i64(p, P.V), load_i64(load_i64(p, P.REFS), r)))
    for r in range(load_i64(row, above), load_i64(row, above + 1)):
        low = max(low, load_i64(load_i64(p, P.V), load_i64(load_i64(p, P.REFS), r)) + 1)
    return low, high


@compiled
def operand(p: Pointers, row: int, field: int, low: int, high: int) -> tuple[int, int, int]:
    """(address, start, end) of the list, row, computed set or end of an edge that the three columns from
    `field` name, cut to [low, high)."""
    kind, a = load_i64(row, field), load_i64(row, field + 1)
    if kind == 1:
        start, end = row_slice(
            p, a, load_i64(load_i64(p, P.V), load_i64(row, field + 2)), low, high
        )
        return neighbours(p, a), start, end
    if kind == 2:
        address = load_i64(p, P.BUFFER)
        start = load_i64(load_i64(p, P.SETS), a * N_SET + S.OFFSET)
        end = start + load_i64(load_i64(p, P.SET_LENGTH), a)
    elif kind == END:
        address = load_i64(load_i64(p, P.LISTS), 2 * a)
        start = load_i64(load_i64(p, P.V), load_i64(row, field + 2))
        end = start + 1
    else:
        address = load_i64(load_i64(p, P.LISTS), 2 * a)
        start, end = 0, load_i64(load_i64(p, P.LISTS), 2 * a + 1)
    start, end = clip(address, start, end, low, high)
    return address, start, end


@compiled
def repeats(p: Pointers, row: int, field: int) -> bool:
    """Whether an operand may hold a value twice: a row of a view with parallel edges."""
    return (
        load_i64(row, field) == 1 and load_i64(load_i64(p, P.SIMPLE), load_i64(row, field + 1)) == 0
    )


# ---- marks -----------------------------------------------------------------------------------------


@compiled
def fill(bytes_at: int, address: int, start: int, end: int, value: int) -> None:
    """Set the bytes at the places that the u32 at [start, end) of a list name."""
    for at in range(start, end):
        store_u8(bytes_at, load_u32(address, at), value)


@compiled
def unmark(mark: int) -> None:
    """Forget what a mark (its state's address) holds."""
    if load_i64(mark, M.STAMP) != 0:
        fill(
            load_i64(mark, M.BYTES),
            load_i64(mark, M.LIST),
            load_i64(mark, M.START),
            load_i64(mark, M.END),
            0,
        )
        store_i64(mark, M.STAMP, 0)


@compiled
def marked(p: Pointers, mark: int, depth: int, row: int) -> int:
    """The bytes of a mark that holds the left operand of a set, which level `depth` gave."""
    stamp = load_i64(load_i64(p, P.STAMPS), depth)
    if load_i64(mark, M.STAMP) != stamp:
        unmark(mark)
        address, start, end = operand(p, row, S.LEFT, 0, MOST)
        fill(load_i64(mark, M.BYTES), address, start, end, 1)
        store_i64(mark, M.STAMP, stamp)
        store_i64(mark, M.LIST, address)
        store_i64(mark, M.START, start)
        store_i64(mark, M.END, end)
    return load_i64(mark, M.BYTES)


@compiled
def look_up(bytes_at: int, b: int, j: int, je: int, out: int, at: int) -> int:
    """Write the values of a list that are marked from `at` on; the number written."""
    n = at
    while j < je:
        x = load_u32(b, j)
        store_u32(out, n, x)
        n += load_u8(bytes_at, x)
        j += 1
    return n - at


# ---- set operations --------------------------------------------------------------------------------


@compiled
def intersect(a: int, i: int, ie: int, b: int, j: int, je: int, out: int, at: int) -> int:
    """Write the common values of two ascending lists from `at` on; the number written.

    A value comes out as often as it occurs in both. The store before the comparison may write one
    value past the end.
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


@compiled
def subtract(a: int, i: int, ie: int, b: int, j: int, je: int, out: int, at: int) -> int:
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


@compiled
def thin_out(out: int, at: int, n: int, test: int) -> int:
    """Keep of n values from `at` on the first of each, and only those in bitset `test` (0: all);
    the number kept."""
    kept = at
    last = -1
    for i in range(at, at + n):
        x = load_u32(out, i)
        if x != last and (test == 0 or has_bit(test, x)):
            store_u32(out, kept, x)
            kept += 1
        last = x
    return kept - at


@compiled
def depth_of(p: Pointers, row: int) -> int:
    """The level that gave the left operand of a set: a row's own, or the one the set depends on."""
    if load_i64(row, S.LEFT) == 1:
        return load_i64(row, S.LEFT + 2)
    return load_i64(load_i64(p, P.SETS) + load_i64(row, S.LEFT + 1) * N_SET * 8, S.DEPTH)


@compiled
def compute_set(p: Pointers, d: int, s: int) -> int:
    """Run one set operation that depends on level d; the elements looked at."""
    row = load_i64(p, P.SETS) + s * N_SET * 8
    held = load_i64(row, S.HELD)
    if held >= 0:  # the list that it was marked from is overwritten now
        unmark(load_i64(p, P.MARKS) + held * M.N * 8)
    low, high = bounds(p, row, S.LO, S.BELOW, S.ABOVE)
    b, j, je = operand(p, row, S.RIGHT, low, high)
    offset = load_i64(row, S.OFFSET)
    work = 1
    n = 0
    doubled = False
    if load_i64(row, S.OP) == 0:
        # what lies from `high` on is not in the right list either: not worth a search for its place
        a, i, ie = operand(p, row, S.LEFT, low, MOST)
        few, many = min(ie - i, je - j), max(ie - i, je - j)
        mark = load_i64(row, S.MARK)
        if mark >= 0 and few > 0 and (je - j) < LOOK_UP * (ie - i):
            state = load_i64(p, P.MARKS) + mark * M.N * 8
            depth = depth_of(p, row)
            if many < GALLOP * few or load_i64(state, M.STAMP) == load_i64(
                load_i64(p, P.STAMPS), depth
            ):
                bytes_at = marked(p, state, depth, row)
                n = look_up(bytes_at, b, j, je, load_i64(p, P.BUFFER), offset)
                doubled = repeats(p, row, S.RIGHT)
                work += (je - j) >> 1
            else:
                n = intersect(a, i, ie, b, j, je, load_i64(p, P.BUFFER), offset)
                doubled = repeats(p, row, S.LEFT) and repeats(p, row, S.RIGHT)
                work += 8 * few
        elif few > 0:
            n = intersect(a, i, ie, b, j, je, load_i64(p, P.BUFFER), offset)
            doubled = repeats(p, row, S.LEFT) and repeats(p, row, S.RIGHT)
            work += min(few + many, 8 * few)
    else:
        a, i, ie = operand(p, row, S.LEFT, low, high)
        n = subtract(a, i, ie, b, j, je, load_i64(p, P.BUFFER), offset)
        doubled = repeats(p, row, S.LEFT)
        work += 8 * (ie - i)
    bits = load_i64(row, S.BITS)
    if doubled or bits >= 0:
        n = thin_out(
            load_i64(p, P.BUFFER),
            offset,
            n,
            load_i64(load_i64(p, P.BITS), bits) if bits >= 0 else 0,
        )
    store_i64(load_i64(p, P.SET_LENGTH), s, n)
    return work


@compiled
def compute_sets(p: Pointers, d: int, skip: int) -> int:
    """Run the set operations that depend on level d; -1 if one that is needed came out empty, else the elements
    looked at. skip : an i64 for each set, 1 where it is not needed; 0: all are."""
    work = 0
    for s in range(level(p, d, L.SET), level(p, d, L.SET_END)):
        if skip != 0 and load_i64(skip, s) == 1:
            continue
        work += compute_set(p, d, s)
        needed = load_i64(load_i64(p, P.SETS), s * N_SET + S.OPTIONAL) == 0
        if needed and load_i64(load_i64(p, P.SET_LENGTH), s) == 0:
            return -1
    return work
