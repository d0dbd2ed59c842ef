"""Paths of any length, depth first: all that begin at a vertex, in buffers that are emptied between launches.

A walker has a position in its first row's paths; each launch goes on from there until its budget of steps is spent or
a buffer is full. Nothing is polled inside (design.md §5).
"""

from __future__ import annotations

from gdb.base.machine.compile import compiled, inlined
from gdb.base.machine.memory import load_i64, load_u8, load_u32, store_i64, store_u8, store_u32

from .address import V
from .sets import clip, has_bit, row_number


class QU:
    """The question, i64[N]: numbers, and addresses (0: there is none) of STARTS, GOALS u32[rows]; USED i64, of row r
    from USED_AT[r] to USED_AT[r + 1], i64[rows + 1]; ALLOWED bits by edge id; ENDS bits by vid; NEAR u32[vids], the
    steps from a vid to the goal (`steps_of`), FAR or more where it is UNKNOWN."""

    VIEW, LOW, HIGH, DIFFER, SIDES, STARTS, GOALS, USED_AT, USED = range(9)
    ALLOWED, ENDS, NEAR, FAR, KEEPS, MOST, N = range(9, 16)


class WK:
    """The position of a walker, i64[N]: numbers, and addresses of its stack, buffers and marks."""

    ROW, LAST, DEPTH, ENTERING, GIVING, FOUND, PRUNED, LONGEST = range(8)
    COUNT, EDGES, CAPACITY, EDGE_CAPACITY, ROOM, NUMBER, TOUCHED = range(8, 15)
    AT, END, VIDS, EIDS, OUT_ROWS, OUT_ENDS, OUT_NUMBERS, OUT_EIDS = range(15, 23)
    TALLY, TOUCHED_VIDS, BITS, N = range(23, 27)


ANYTHING, EDGES_DIFFER, VERTICES_DIFFER = range(3)
# an edge is in the row of one of its ends, of both, or that depends on its type
ONE_SIDE, BOTH_SIDES, MIXED_SIDES = range(3)
LIST, LENGTHS, TALLIES, NUMBERS = range(4)
DONE, YIELDED, FULL, DEEP, GOING = range(5)
UNKNOWN = (1 << 32) - 1


@inlined
def _among(values: int, at: int, end: int, x: int) -> bool:
    """Whether x is in an i64 array from one place to another."""
    while at < end:
        if load_i64(values, at) == x:
            return True
        at += 1
    return False


@inlined
def used(q: int, row: int, eid: int) -> bool:
    """Whether the clause uses an edge elsewhere, in this row."""
    starts = load_i64(q, QU.USED_AT)
    if starts == 0:
        return False
    return _among(load_i64(q, QU.USED), load_i64(starts, row), load_i64(starts, row + 1), eid)


@inlined
def steps_of(distances: int, vid: int) -> int:
    """How far a vid is, in an array of distances: it is kept as UNKNOWN less that, so that an array of zeros, which
    costs nothing to make, knows none."""
    return UNKNOWN - load_u32(distances, vid)


@inlined
def put_steps(distances: int, vid: int, steps: int) -> None:
    """Set how far a vid is, in the form that `steps_of` reads."""
    store_u32(distances, vid, UNKNOWN - steps)


@inlined
def admits(q: int, vid: int) -> bool:
    """Whether a path of the question at `q` may end at a vid."""
    ends = load_i64(q, QU.ENDS)
    return ends == 0 or has_bit(ends, vid) == 1


@inlined
def row_of(view: int, vid: int) -> tuple[int, int]:
    """(start, end) of a vid's neighbours; (0, 0) where it has none."""
    row = row_number(view, vid)
    if row < 0:
        return 0, 0
    offsets = load_i64(view, V.OFFSETS)
    return load_i64(offsets, row), load_i64(offsets, row + 1)


@inlined
def _on_stack(q: int, s: int, depth: int, eid: int, vid: int) -> bool:
    """Whether what may not repeat would."""
    differ = load_i64(q, QU.DIFFER)
    if differ == ANYTHING:
        return False
    bits = load_i64(s, WK.BITS)
    if bits != 0:
        return has_bit(bits, eid if differ == EDGES_DIFFER else vid) == 1
    if differ == EDGES_DIFFER:
        return _among(load_i64(s, WK.EIDS), 0, depth, eid)
    return _among(load_i64(s, WK.VIDS), 0, depth + 1, vid)


@inlined
def _may_follow(q: int, s: int, row: int, depth: int, eid: int, vid: int) -> bool:
    """Whether the path, `depth` long, may go on over an edge to a vertex."""
    allowed = load_i64(q, QU.ALLOWED)
    if allowed != 0 and has_bit(allowed, eid) == 0:
        return False
    if used(q, row, eid) or _on_stack(q, s, depth, eid, vid):
        return False
    near = load_i64(q, QU.NEAR)
    if near == 0:
        return True
    far = steps_of(near, vid)
    if far == UNKNOWN:
        far = load_i64(q, QU.FAR)
    high = load_i64(q, QU.HIGH)
    if high >= 0 and depth + 1 + far > high:
        if far < UNKNOWN:
            store_i64(s, WK.PRUNED, 1)
        return False
    return far < UNKNOWN


@compiled
def _toggle(q: int, s: int, depth: int) -> None:
    """Mark, or unmark, what the path has got at a depth."""
    bits = load_i64(s, WK.BITS)
    differ = load_i64(q, QU.DIFFER)
    if bits == 0 or differ == ANYTHING or (depth == 0 and differ == EDGES_DIFFER):
        return
    x = load_i64(load_i64(s, WK.VIDS), depth)
    if differ == EDGES_DIFFER:
        x = load_i64(load_i64(s, WK.EIDS), depth - 1)
    store_u8(bits, x >> 3, load_u8(bits, x >> 3) ^ (1 << (x & 7)))


@inlined
def _give(q: int, s: int, row: int, length: int, eid: int, vid: int) -> bool:
    """A path of the stack, its last edge and vertex aside, is found; False where the buffers have no room for it."""
    keeps = load_i64(q, QU.KEEPS)
    if keeps == NUMBERS:
        store_i64(s, WK.NUMBER, load_i64(s, WK.NUMBER) + 1)
    elif keeps == TALLIES:
        tally = load_i64(s, WK.TALLY)
        before = load_i64(tally, vid)
        if before == 0:
            n = load_i64(s, WK.TOUCHED)
            store_u32(load_i64(s, WK.TOUCHED_VIDS), n, vid)
            store_i64(s, WK.TOUCHED, n + 1)
        store_i64(tally, vid, before + 1)
    else:
        if not _write(s, row, vid, length):
            return False
        if keeps == LIST and not _write_edges(s, length, eid):
            store_i64(s, WK.COUNT, load_i64(s, WK.COUNT) - 1)
            return False
    store_i64(s, WK.FOUND, load_i64(s, WK.FOUND) + 1)
    return True


@inlined
def _write(s: int, row: int, vid: int, number: int) -> bool:
    n = load_i64(s, WK.COUNT)
    if n == load_i64(s, WK.CAPACITY):
        return False
    store_i64(load_i64(s, WK.OUT_ROWS), n, row)
    store_u32(load_i64(s, WK.OUT_ENDS), n, vid)
    store_i64(load_i64(s, WK.OUT_NUMBERS), n, number)
    store_i64(s, WK.COUNT, n + 1)
    return True


@compiled
def _write_edges(s: int, length: int, eid: int) -> bool:
    n = load_i64(s, WK.EDGES)
    if n + length > load_i64(s, WK.EDGE_CAPACITY):
        return False
    out = load_i64(s, WK.OUT_EIDS)
    eids = load_i64(s, WK.EIDS)
    for k in range(length - 1):
        store_i64(out, n + k, load_i64(eids, k))
    if length > 0:
        store_i64(out, n + length - 1, eid)
    store_i64(s, WK.EDGES, n + length)
    return True


@compiled
def _enter(q: int, s: int, row: int, depth: int) -> bool:
    """Move to a new vertex: give the path to it, and look up where it leads; False where the buffers are full."""
    vid = load_i64(load_i64(s, WK.VIDS), depth)
    goals = load_i64(q, QU.GOALS)
    high = load_i64(q, QU.HIGH)
    if (
        depth >= load_i64(q, QU.LOW)
        and (goals == 0 or load_u32(goals, row) == vid)
        and admits(q, vid)
    ):
        eid = load_i64(load_i64(s, WK.EIDS), depth - 1) if depth > 0 else 0
        if not _give(q, s, row, depth, eid, vid):
            return False
    at = 0
    end = 0
    if high < 0 or depth < high:
        view = load_i64(q, QU.VIEW)
        at, end = row_of(view, vid)
        if goals != 0 and depth + 1 == high:
            goal = load_u32(goals, row)
            every = end - at
            at, end = clip(load_i64(view, V.NEIGHBOURS), at, end, goal, goal + 1)
            if end - at < every:
                store_i64(s, WK.PRUNED, 1)
    store_i64(load_i64(s, WK.AT), depth, at)
    store_i64(load_i64(s, WK.END), depth, end)
    store_i64(s, WK.ENTERING, 0)
    store_i64(s, WK.LONGEST, max(load_i64(s, WK.LONGEST), depth))
    return True


@compiled
def _count_leaves(q: int, s: int, depth: int, at: int, end: int) -> int:
    """How many edges of a row go on a path: all but those that are on it, each where an end of it is this vertex."""
    n = end - at
    if load_i64(q, QU.DIFFER) == ANYTHING:
        return n
    vids = load_i64(s, WK.VIDS)
    vid = load_i64(vids, depth)
    both = load_i64(q, QU.SIDES) == BOTH_SIDES
    for k in range(depth):
        if load_i64(vids, k) == vid or (both and load_i64(vids, k + 1) == vid):
            n -= 1
    return n


@compiled
def _leaves(q: int, s: int, row: int, depth: int) -> bool:
    """Give the paths that end with the edges of a row; False where the buffers are full."""
    at = load_i64(load_i64(s, WK.AT), depth)
    end = load_i64(load_i64(s, WK.END), depth)
    view = load_i64(q, QU.VIEW)
    neighbours = load_i64(view, V.NEIGHBOURS)
    eids = load_i64(view, V.EIDS)
    most = load_i64(q, QU.MOST)
    while at < end:
        eid = load_i64(eids, at)
        vid = load_u32(neighbours, at)
        if admits(q, vid) and _may_follow(q, s, row, depth, eid, vid):
            if not _give(q, s, row, depth + 1, eid, vid):
                store_i64(load_i64(s, WK.AT), depth, at)
                return False
            store_i64(s, WK.LONGEST, max(load_i64(s, WK.LONGEST), depth + 1))
            if load_i64(s, WK.FOUND) == most:
                break
        at += 1
    store_i64(load_i64(s, WK.AT), depth, end)
    return True


@compiled
def _plain(q: int) -> bool:
    """Whether the last edges of paths can be counted without being looked at."""
    if load_i64(q, QU.KEEPS) != NUMBERS or load_i64(q, QU.MOST) >= 0:
        return False
    free = (
        load_i64(q, QU.ALLOWED) == 0 and load_i64(q, QU.USED_AT) == 0 and load_i64(q, QU.NEAR) == 0
    )
    differ = load_i64(q, QU.DIFFER)
    alike = differ == ANYTHING or (differ == EDGES_DIFFER and load_i64(q, QU.SIDES) != MIXED_SIDES)
    return free and alike and load_i64(q, QU.ENDS) == 0 and load_i64(q, QU.GOALS) == 0


@compiled
def _finish(q: int, s: int, row: int) -> bool:
    """Give what was counted for a row; False where the buffers are full."""
    keeps = load_i64(q, QU.KEEPS)
    if keeps == NUMBERS and load_i64(s, WK.NUMBER) > 0:
        if not _write(s, row, 0, load_i64(s, WK.NUMBER)):
            return False
        store_i64(s, WK.NUMBER, 0)
    if keeps == TALLIES:
        tally = load_i64(s, WK.TALLY)
        while load_i64(s, WK.TOUCHED) > 0:
            n = load_i64(s, WK.TOUCHED) - 1
            vid = load_u32(load_i64(s, WK.TOUCHED_VIDS), n)
            if not _write(s, row, vid, load_i64(tally, vid)):
                return False
            store_i64(tally, vid, 0)
            store_i64(s, WK.TOUCHED, n)
    return True


@compiled
def _begin(q: int, s: int) -> int:
    """Move before the next row's paths, when the last one's are given."""
    if load_i64(s, WK.GIVING) == 1:
        if not _finish(q, s, load_i64(s, WK.ROW)):
            return FULL
        store_i64(s, WK.GIVING, 0)
        store_i64(s, WK.ROW, load_i64(s, WK.ROW) + 1)
    row = load_i64(s, WK.ROW)
    if row >= load_i64(s, WK.LAST):
        return DONE
    store_i64(load_i64(s, WK.VIDS), 0, load_u32(load_i64(q, QU.STARTS), row))
    store_i64(s, WK.ENTERING, 1)
    store_i64(s, WK.GIVING, 1)
    store_i64(s, WK.FOUND, 0)
    _toggle(q, s, 0)
    return GOING


@compiled
def _step(q: int, s: int, row: int, depth: int) -> bool:
    """Follow the next edge of a row; whether the path is longer now."""
    positions = load_i64(s, WK.AT)
    at = load_i64(positions, depth)
    store_i64(positions, depth, at + 1)
    view = load_i64(q, QU.VIEW)
    eid = load_i64(load_i64(view, V.EIDS), at)
    vid = load_u32(load_i64(view, V.NEIGHBOURS), at)
    if not _may_follow(q, s, row, depth, eid, vid):
        return False
    store_i64(load_i64(s, WK.EIDS), depth, eid)
    store_i64(load_i64(s, WK.VIDS), depth + 1, vid)
    _toggle(q, s, depth + 1)
    store_i64(s, WK.ENTERING, 1)
    return True


@compiled
def _abandon(s: int, depth: int) -> None:
    """Let a row be: as many paths of it are found as are wanted."""
    for k in range(depth + 1):
        store_i64(load_i64(s, WK.AT), k, load_i64(load_i64(s, WK.END), k))


def _walk(q: int, s: int, budget: int) -> int:
    """Go on; the status. q, s : addresses of the question and of the state."""
    depth = load_i64(s, WK.DEPTH)
    high = load_i64(q, QU.HIGH)
    most = load_i64(q, QU.MOST)
    plain = _plain(q)
    status = YIELDED
    spent = 0
    while spent < budget:
        spent += 1
        if depth < 0:
            status = _begin(q, s)
            if status != GOING:
                break
            status = YIELDED
            depth = 0
        row = load_i64(s, WK.ROW)
        if load_i64(s, WK.ENTERING) == 1 and not _enter(q, s, row, depth):
            status = FULL
            break
        if load_i64(s, WK.FOUND) == most:
            _abandon(s, depth)
        at = load_i64(load_i64(s, WK.AT), depth)
        end = load_i64(load_i64(s, WK.END), depth)
        if at >= end:
            _toggle(q, s, depth)
            depth -= 1
        elif depth + 1 == high:
            if plain:
                store_i64(
                    s, WK.NUMBER, load_i64(s, WK.NUMBER) + _count_leaves(q, s, depth, at, end)
                )
                store_i64(load_i64(s, WK.AT), depth, end)
            else:
                spent += end - at
                if not _leaves(q, s, row, depth):
                    status = FULL
                    break
        elif depth + 1 >= load_i64(s, WK.ROOM):
            status = DEEP
            break
        elif _step(q, s, row, depth):
            depth += 1
    store_i64(s, WK.DEPTH, depth)
    return status


walk = compiled(_walk, entry=True)
