"""Breadth first: which vertices a path can end at, and how far vertices are from one.

A path of at most n edges from a to another vertex is there if and only if a walk of at most n edges is, because the
shortest walk has no vertex twice. Only whether a path leads back to its own start depends on what may repeat in it: in
an undirected graph the shortest closed trail through a is found by branches (Itai and Rodeh, Finding a minimum circuit
in a graph, SIAM J. Comput. 7, 1978): it consists of two paths of the search from a, which part at a, and the edge
between their ends.
"""

from __future__ import annotations

from gdb.base.machine.compile import compiled, inlined, together
from gdb.base.machine.memory import load_i64, load_u8, load_u32, store_i64, store_u8, store_u32

from .address import V
from .paths import (
    DONE,
    FULL,
    QU,
    UNKNOWN,
    WK,
    YIELDED,
    admits,
    put_steps,
    row_of,
    steps_of,
    used,
)
from .sets import has_bit


class SE:
    """More of a search's state, i64[N], behind what a walker has; addresses of DISTANCE, SOURCE, BRANCH, QUEUE
    u32[vids], AGAIN u8[vids]. WIDTH : rows that are searched from together. CLOSED : what counts as a way back."""

    HEAD, TAIL, PHASE, REACHED, WIDTH, CLOSED, DISTANCE, SOURCE = range(30, 38)
    BRANCH, QUEUE, AGAIN, STOP, OTHER, MET, N = range(38, 45)


NEVER, ANY_EDGE, BRANCHES = range(3)
FRESH, SEARCHING, GIVING = range(3)


@inlined
def _passes(q: int, row: int, eid: int) -> bool:
    allowed = load_i64(q, QU.ALLOWED)
    if allowed != 0 and has_bit(allowed, eid) == 0:
        return False
    return not used(q, row, eid)


@compiled
def _push(s: int, vid: int, distance: int, source: int, branch: int) -> None:
    put_steps(load_i64(s, SE.DISTANCE), vid, distance)
    store_u32(load_i64(s, SE.SOURCE), vid, source)
    store_u32(load_i64(s, SE.BRANCH), vid, branch)
    tail = load_i64(s, SE.TAIL)
    store_u32(load_i64(s, SE.QUEUE), tail, vid)
    store_i64(s, SE.TAIL, tail + 1)


@compiled
def _back(q: int, s: int, vid: int) -> None:
    """A path leads to a start."""
    again = load_i64(s, SE.AGAIN)
    if load_u8(again, vid) == 0:
        store_u8(again, vid, 1)
        if load_i64(q, QU.LOW) > 0 and admits(q, vid):
            store_i64(s, SE.REACHED, load_i64(s, SE.REACHED) + 1)


@compiled
def _meet(q: int, s: int, u: int, v: int, d: int) -> None:
    """An edge leads from u, at distance d, to v, which is known already."""
    closed = load_i64(s, SE.CLOSED)
    away = steps_of(load_i64(s, SE.DISTANCE), v)
    if closed == NEVER:
        return
    if closed == ANY_EDGE:
        if away == 0:
            _back(q, s, v)
        return
    high = load_i64(q, QU.HIGH)
    if high >= 0 and d + 1 + away > high:
        return
    source = load_u32(load_i64(s, SE.SOURCE), u)
    other = load_u32(load_i64(s, SE.SOURCE), v)
    if source != other:
        _back(q, s, source)
        _back(q, s, other)
    elif u == v:
        if d == 0:
            _back(q, s, u)
    elif d == 0:  # the first edge to v was taken before: this is another
        _back(q, s, u)
    elif away > 0:
        branches = load_i64(s, SE.BRANCH)
        if load_u32(branches, u) != load_u32(branches, v):
            _back(q, s, source)


@compiled
def _scan(q: int, s: int, row: int, u: int) -> int:
    """Follow all edges of a vertex; how many there were."""
    view = load_i64(q, QU.VIEW)
    at, end = row_of(view, u)
    distances = load_i64(s, SE.DISTANCE)
    d = steps_of(distances, u)
    source = load_u32(load_i64(s, SE.SOURCE), u)
    branch = load_u32(load_i64(s, SE.BRANCH), u)
    for k in range(at, end):
        v = load_u32(load_i64(view, V.NEIGHBOURS), k)
        if not _passes(q, row, load_i64(load_i64(view, V.EIDS), k)):
            continue
        if steps_of(distances, v) == UNKNOWN:
            _push(s, v, d + 1, source, v if d == 0 else branch)
            if admits(q, v):
                store_i64(s, SE.REACHED, load_i64(s, SE.REACHED) + 1)
        else:
            _meet(q, s, u, v, d)
    return end - at


@compiled
def _fresh(q: int, s: int, row: int) -> None:
    """Begin at the starts of the rows that are searched from together."""
    store_i64(s, SE.HEAD, 0)
    store_i64(s, SE.TAIL, 0)
    store_i64(s, SE.REACHED, 0)
    for k in range(row, min(row + load_i64(s, SE.WIDTH), load_i64(s, WK.LAST))):
        vid = load_u32(load_i64(q, QU.STARTS), k)
        if steps_of(load_i64(s, SE.DISTANCE), vid) == UNKNOWN:
            _push(s, vid, 0, vid, vid)
            if load_i64(q, QU.LOW) == 0 and admits(q, vid):
                store_i64(s, SE.REACHED, load_i64(s, SE.REACHED) + 1)
    store_i64(s, SE.PHASE, SEARCHING)


@compiled
def _give(q: int, s: int, row: int) -> bool:
    """Give what was reached, and forget it; False where the buffer is full."""
    low = load_i64(q, QU.LOW)
    while load_i64(s, SE.TAIL) > 0:
        tail = load_i64(s, SE.TAIL) - 1
        vid = load_u32(load_i64(s, SE.QUEUE), tail)
        distance = steps_of(load_i64(s, SE.DISTANCE), vid)
        ends = distance > 0 or low == 0 or load_u8(load_i64(s, SE.AGAIN), vid) == 1
        if ends and admits(q, vid):
            n = load_i64(s, WK.COUNT)
            if n == load_i64(s, WK.CAPACITY):
                return False
            store_i64(load_i64(s, WK.OUT_ROWS), n, row)
            store_u32(load_i64(s, WK.OUT_ENDS), n, vid)
            store_i64(s, WK.COUNT, n + 1)
        put_steps(load_i64(s, SE.DISTANCE), vid, UNKNOWN)
        store_u8(load_i64(s, SE.AGAIN), vid, 0)
        store_i64(s, SE.TAIL, tail)
    return True


def _reach(q: int, s: int, budget: int) -> int:
    """Go on with the rows' searches; the status."""
    high = load_i64(q, QU.HIGH)
    most = load_i64(q, QU.MOST)
    spent = 0
    while spent < budget:
        spent += 1
        row = load_i64(s, WK.ROW)
        phase = load_i64(s, SE.PHASE)
        if phase == FRESH:
            if row >= load_i64(s, WK.LAST):
                return DONE
            _fresh(q, s, row)
        elif phase == SEARCHING:
            head = load_i64(s, SE.HEAD)
            enough = most >= 0 and load_i64(s, SE.REACHED) >= most
            if head == load_i64(s, SE.TAIL) or enough:
                store_i64(s, SE.PHASE, GIVING)
                continue
            u = load_u32(load_i64(s, SE.QUEUE), head)
            store_i64(s, SE.HEAD, head + 1)
            if high < 0 or steps_of(load_i64(s, SE.DISTANCE), u) < high:
                spent += _scan(q, s, row, u)
        else:
            spent += load_i64(s, SE.TAIL)
            if not _give(q, s, row):
                return FULL
            store_i64(s, WK.ROW, row + load_i64(s, SE.WIDTH))
            store_i64(s, SE.PHASE, FRESH)
    return YIELDED


def _spread(q: int, s: int, budget: int) -> int:
    """Put the neighbours of the queue's vertices from HEAD to STOP, one step further, behind it; MET where one of them
    is known in OTHER, the distances from elsewhere. Whether all were looked at."""
    view = load_i64(q, QU.VIEW)
    distances = load_i64(s, SE.DISTANCE)
    other = load_i64(s, SE.OTHER)
    row = load_i64(s, WK.ROW)
    spent = 0
    while load_i64(s, SE.HEAD) < load_i64(s, SE.STOP) and spent < budget:
        head = load_i64(s, SE.HEAD)
        u = load_u32(load_i64(s, SE.QUEUE), head)
        store_i64(s, SE.HEAD, head + 1)
        d = steps_of(distances, u) + 1
        at, end = row_of(view, u)
        spent += end - at + 1
        for k in range(at, end):
            v = load_u32(load_i64(view, V.NEIGHBOURS), k)
            known = steps_of(distances, v) != UNKNOWN
            if known or not _passes(q, row, load_i64(load_i64(view, V.EIDS), k)):
                continue
            put_steps(distances, v, d)
            tail = load_i64(s, SE.TAIL)
            store_u32(load_i64(s, SE.QUEUE), tail, v)
            store_i64(s, SE.TAIL, tail + 1)
            if other != 0 and steps_of(other, v) != UNKNOWN:
                store_i64(s, SE.MET, 1)
    return YIELDED if load_i64(s, SE.HEAD) < load_i64(s, SE.STOP) else DONE


def _settle(q: int, s: int, budget: int) -> int:
    """Give the queue's vertices from HEAD to STOP, all unknown in OTHER, their distances there where an edge leads to
    one that is MET away, and put them behind QUEUE's TAIL of that search, whose address is AGAIN."""
    view = load_i64(q, QU.VIEW)
    other = load_i64(s, SE.OTHER)
    row = load_i64(s, WK.ROW)
    wanted = load_i64(s, SE.MET)
    spent = 0
    while load_i64(s, SE.HEAD) < load_i64(s, SE.STOP) and spent < budget:
        head = load_i64(s, SE.HEAD)
        u = load_u32(load_i64(s, SE.QUEUE), head)
        store_i64(s, SE.HEAD, head + 1)
        at, end = row_of(view, u)
        spent += end - at + 1
        for k in range(at, end):
            v = load_u32(load_i64(view, V.NEIGHBOURS), k)
            if steps_of(other, v) != wanted:
                continue
            if _passes(q, row, load_i64(load_i64(view, V.EIDS), k)):
                put_steps(other, u, wanted + 1)
                tail = load_i64(s, SE.TAIL)
                store_u32(load_i64(s, SE.AGAIN), tail, u)
                store_i64(s, SE.TAIL, tail + 1)
                break
    return YIELDED if load_i64(s, SE.HEAD) < load_i64(s, SE.STOP) else DONE


reach, spread, settle = together(_reach, _spread, _settle)
