"""Candidates of each query vertex, and the number of trees below each candidate: the statistics that large patterns
are planned by.

Arc consistency (Mackworth, Consistency in Networks of Relations, 1977): a candidate stays while each query edge leads
from it to a candidate of the other end, and to as many neighbours there as there are query vertices that have to
differ. Tree weights: one pass over a spanning tree of the query graph, from its leaves, gives for each candidate the
number of embeddings of the tree below it, exactly (dynamic programming, as FaSTest does: Shin et al., Cardinality
Estimation of Subgraph Matching, VLDB 2024).

Candidates of a query vertex lie within a span of vids [LOW, HIGH); arrays of it are numbered from LOW.
"""

from __future__ import annotations

from gdb.base.machine.bits import square_root, trailing_zeros
from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import (
    load_f64,
    load_i64,
    load_u8,
    load_u32,
    store_f64,
    store_i64,
    store_u8,
    store_u32,
)

from .address import V
from .sets import clip, row_number


class CV:
    """Columns of the table of query vertices, i64[n, N]: the span; ALIVE, u8[span]: 1 for a candidate; LIST, u32[COUNT]
    ascending: the candidates; the rows of its arcs; DIFFERS: the vertices that it has to differ from, a mask; WEIGHT,
    f64[span]: embeddings of the tree below each candidate, 0 where none were counted; UP: the arc to its parent in the
    tree, or -1; BELOW, f64[span of the parent]: the sum of WEIGHT over the candidates that its parent's row holds;
    CHILD, SIBLING: its first child in the tree, and the next one of its parent, or -1; STALE: the neighbours that may
    have fewer candidates than when its own were tested, a mask.
    """

    LOW, HIGH, ALIVE, LIST, COUNT, ARC, ARC_END, DIFFERS = range(8)
    WEIGHT, UP, BELOW, CHILD, SIBLING, STALE, N = range(8, 15)


class CA:
    """Columns of the table of arcs, i64[2 * edges, N]: the query vertex at the other end; rows of the table of views,
    as addresses, read from this end and from the other; how many neighbours there a candidate must have at least."""

    TARGET, VIEW, BACK, NEED, N = range(5)


# times fewer candidates of a neighbour, for their rows to be gone through instead of a vertex's own
MUCH_FEWER = 4
WORTH = 16  # neighbours are looked at again when more than this part of a candidate set is gone


@compiled
def vertex_field(vertices: int, v: int, field: int) -> int:
    """A field of query vertex v, from the table at address `vertices`, i64[n, CV.N]."""
    return load_i64(vertices, v * CV.N + field)


@compiled
def arc_field(arcs: int, a: int, field: int) -> int:
    """A field of arc a, from the table at address `arcs`, i64[m, CA.N]."""
    return load_i64(arcs, a * CA.N + field)


@compiled
def row_within(view: int, vid: int, low: int, high: int) -> tuple[int, int]:
    """(start, end) of a vid's neighbours within [low, high) in a view (the address of its table row)."""
    row = row_number(view, vid)
    if row < 0:
        return 0, 0
    offsets = load_i64(view, V.OFFSETS)
    start, end = load_i64(offsets, row), load_i64(offsets, row + 1)
    return clip(load_i64(view, V.NEIGHBOURS), start, end, low, high)


@compiled
def _supported(vertices: int, arcs: int, v: int, vid: int, stale: int, sure: int) -> int:
    """How many elements were looked at until each query edge to a neighbour of `stale` led on from a candidate, or less
    1 where one does not. sure : an arc that is known to lead on; -1 for none."""
    spent = 1
    for a in range(vertex_field(vertices, v, CV.ARC), vertex_field(vertices, v, CV.ARC_END)):
        if a == sure and arc_field(arcs, a, CA.NEED) == 1:
            continue
        other = arc_field(arcs, a, CA.TARGET)
        if stale >> other & 1 == 0:
            continue
        low = vertex_field(vertices, other, CV.LOW)
        view = arc_field(arcs, a, CA.VIEW)
        start, end = row_within(view, vid, low, vertex_field(vertices, other, CV.HIGH))
        if end - start < arc_field(arcs, a, CA.NEED):
            return -spent
        near = load_i64(view, V.NEIGHBOURS)
        alive = vertex_field(vertices, other, CV.ALIVE) - low
        k = start
        while k < end and load_u8(alive, load_u32(near, k)) == 0:
            k += 1
        spent += k - start + 1
        if k == end:
            return -spent
    return spent


@compiled
def _to_fewest(vertices: int, arcs: int, v: int, stale: int) -> int:
    """The arc to the neighbour, one of `stale`, with the fewest candidates, where going through the rows of these takes
    less time than through those of v; -1 where it does not."""
    fewest, least = -1, vertex_field(vertices, v, CV.COUNT) // MUCH_FEWER
    for a in range(vertex_field(vertices, v, CV.ARC), vertex_field(vertices, v, CV.ARC_END)):
        other = arc_field(arcs, a, CA.TARGET)
        count = vertex_field(vertices, other, CV.COUNT)
        if count < least and stale >> other & 1 != 0:
            fewest, least = a, count
    return fewest


@compiled
def _beside(vertices: int, arcs: int, v: int, a: int) -> int:
    """Drop the candidates of a query vertex that lie beside no candidate of the neighbour along an arc, by the rows of
    that one's; elements looked at."""
    other, view = arc_field(arcs, a, CA.TARGET), arc_field(arcs, a, CA.BACK)
    least = vertex_field(vertices, other, CV.COUNT)
    near, theirs = load_i64(view, V.NEIGHBOURS), vertex_field(vertices, other, CV.LIST)
    low, high = vertex_field(vertices, v, CV.LOW), vertex_field(vertices, v, CV.HIGH)
    alive, members = vertex_field(vertices, v, CV.ALIVE) - low, vertex_field(vertices, v, CV.LIST)
    spent = least
    for k in range(least):
        start, end = row_within(view, load_u32(theirs, k), low, high)
        spent += end - start
        for j in range(start, end):
            vid = load_u32(near, j)
            store_u8(alive, vid, 3 * (load_u8(alive, vid) & 1))
    kept = 0
    for k in range(vertex_field(vertices, v, CV.COUNT)):
        vid = load_u32(members, k)
        store_u32(members, kept, vid)
        reached = load_u8(alive, vid) >> 1
        store_u8(alive, vid, reached)
        kept += reached
    store_i64(vertices, v * CV.N + CV.COUNT, kept)
    return spent


@compiled
def _revise(vertices: int, arcs: int, v: int) -> int:
    """Drop the candidates of a query vertex that an edge to a STALE neighbour does not lead on from; elements looked
    at."""
    stale = vertex_field(vertices, v, CV.STALE)
    store_i64(vertices, v * CV.N + CV.STALE, 0)
    fewest, spent = _to_fewest(vertices, arcs, v, stale), 0
    if fewest >= 0:
        spent = _beside(vertices, arcs, v, fewest)
    members = vertex_field(vertices, v, CV.LIST)
    alive = vertex_field(vertices, v, CV.ALIVE) - vertex_field(vertices, v, CV.LOW)
    kept = 0
    for k in range(vertex_field(vertices, v, CV.COUNT)):
        vid = load_u32(members, k)
        looked = _supported(vertices, arcs, v, vid, stale, fewest)
        if looked > 0:
            store_u32(members, kept, vid)
            kept += 1
            spent += looked
        else:
            store_u8(alive, vid, 0)
            spent -= looked
    store_i64(vertices, v * CV.N + CV.COUNT, kept)
    return spent


@compiled
def _fewest(vertices: int, some: int) -> int:
    """The one of some query vertices, as bits, that has the fewest candidates."""
    found = trailing_zeros(some)
    while some != 0:
        v = trailing_zeros(some)
        some &= some - 1
        if vertex_field(vertices, v, CV.COUNT) < vertex_field(vertices, found, CV.COUNT):
            found = v
    return found


def _narrow(vertices: int, arcs: int, n: int, rounds: int, most: int) -> int:
    """Drop candidates of so many times n query vertices that have STALE neighbours, those of the fewest first, or until
    little changes, or `most` elements were looked at; how many were."""
    spent, left, waiting = 0, rounds * n, 0
    for v in range(n):
        if vertex_field(vertices, v, CV.STALE) != 0:
            waiting |= 1 << v
    while waiting != 0 and left > 0 and spent <= most:
        v = _fewest(vertices, waiting)
        waiting &= ~(1 << v)
        left -= 1
        before = vertex_field(vertices, v, CV.COUNT)
        spent += _revise(vertices, arcs, v)
        gone = before - vertex_field(vertices, v, CV.COUNT)
        if gone == before:
            return spent  # nothing matches
        if gone * WORTH > before:
            for a in range(
                vertex_field(vertices, v, CV.ARC), vertex_field(vertices, v, CV.ARC_END)
            ):
                u = arc_field(arcs, a, CA.TARGET)
                store_i64(
                    vertices, u * CV.N + CV.STALE, vertex_field(vertices, u, CV.STALE) | 1 << v
                )
                waiting |= 1 << u
    return spent


def _edges(vertices: int, arcs: int, v: int, a: int, most: int) -> float:
    """The number of edges along an arc of v between the candidates of its ends, from at most so many of their rows."""
    count = vertex_field(vertices, v, CV.COUNT)
    members = vertex_field(vertices, v, CV.LIST)
    other = arc_field(arcs, a, CA.TARGET)
    low = vertex_field(vertices, other, CV.LOW)
    high = vertex_field(vertices, other, CV.HIGH)
    alive = vertex_field(vertices, other, CV.ALIVE) - low
    view = arc_field(arcs, a, CA.VIEW)
    near = load_i64(view, V.NEIGHBOURS)
    found = 0
    rows = min(count, most)
    for k in range(rows):
        start, end = row_within(view, load_u32(members, k * count // rows), low, high)
        for j in range(start, end):
            found += load_u8(alive, load_u32(near, j))
    if rows == 0:
        return 0.0
    return float(found) * float(count) / float(rows)


@compiled
def _sum_below(vertices: int, arcs: int, v: int) -> None:
    """Fill BELOW of v from its WEIGHT."""
    up = vertex_field(vertices, v, CV.UP)
    parent = arc_field(arcs, up, CA.TARGET)
    view = arc_field(arcs, up, CA.BACK)
    near = load_i64(view, V.NEIGHBOURS)
    low = vertex_field(vertices, v, CV.LOW)
    high = vertex_field(vertices, v, CV.HIGH)
    weight = vertex_field(vertices, v, CV.WEIGHT) - 8 * low
    below = vertex_field(vertices, v, CV.BELOW) - 8 * vertex_field(vertices, parent, CV.LOW)
    members = vertex_field(vertices, parent, CV.LIST)
    for k in range(vertex_field(vertices, parent, CV.COUNT)):
        vid = load_u32(members, k)
        start, end = row_within(view, vid, low, high)
        total = 0.0
        last = -1
        for j in range(start, end):
            other = load_u32(near, j)
            if other != last:  # parallel edges
                total += load_f64(weight, other)
            last = other
        store_f64(below, vid, total)


@compiled
def _weigh_all(vertices: int, v: int) -> float:
    """Fill WEIGHT of v from BELOW of its children, and drop the candidates that have no tree; the sum."""
    low = vertex_field(vertices, v, CV.LOW)
    weight = vertex_field(vertices, v, CV.WEIGHT) - 8 * low
    alive = vertex_field(vertices, v, CV.ALIVE) - low
    members = vertex_field(vertices, v, CV.LIST)
    total = 0.0
    kept = 0
    for k in range(vertex_field(vertices, v, CV.COUNT)):
        vid = load_u32(members, k)
        product = 1.0
        child = vertex_field(vertices, v, CV.CHILD)
        while child >= 0:
            product *= load_f64(vertex_field(vertices, child, CV.BELOW) - 8 * low, vid)
            child = vertex_field(vertices, child, CV.SIBLING)
        store_f64(weight, vid, product)
        total += product
        if product > 0.0:
            store_u32(members, kept, vid)
            kept += 1
        else:
            store_u8(alive, vid, 0)
    store_i64(vertices, v * CV.N + CV.COUNT, kept)
    return total


@compiled
def _take_roots(vertices: int, v: int) -> None:
    """Put square roots in the place of the WEIGHT of each candidate of v, and of the BELOW of its children."""
    low = vertex_field(vertices, v, CV.LOW)
    members, count = vertex_field(vertices, v, CV.LIST), vertex_field(vertices, v, CV.COUNT)
    numbers, child = (
        vertex_field(vertices, v, CV.WEIGHT) - 8 * low,
        vertex_field(vertices, v, CV.CHILD),
    )
    while numbers != 0:
        for k in range(count):
            vid = load_u32(members, k)
            store_f64(numbers, vid, square_root(load_f64(numbers, vid)))
        numbers = 0
        if child >= 0:
            numbers = vertex_field(vertices, child, CV.BELOW) - 8 * low
            child = vertex_field(vertices, child, CV.SIBLING)


def _weigh(vertices: int, arcs: int, order: int, n: int) -> float:
    """Fill WEIGHT and BELOW of all query vertices of a tree, which are in `order`, i64[n], each after its parent;
    the number of embeddings of the tree. Candidates without a tree below them are dropped, WEIGHT is 0 of them and of
    what was none. What is left there are the square roots of the numbers."""
    total = 0.0
    for k in range(n):
        v = load_i64(order, n - 1 - k)
        total = _weigh_all(vertices, v)
        if vertex_field(vertices, v, CV.UP) >= 0:
            _sum_below(vertices, arcs, v)
        _take_roots(vertices, v)
    return total


narrow = compiled(_narrow, entry=True)
edges_between = compiled(_edges, entry=True)
weigh = compiled(_weigh, entry=True)
