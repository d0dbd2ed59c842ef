"""Samples of the embeddings of a part of a query graph, grown by one query vertex after another.

Sequential Monte Carlo: each embedding of a population represents as many as its share says; the next vertex is
intersected from the rows of all its bound neighbours, as the kernel does, and of all that would come of it a fixed
number is drawn at equal distances (systematic resampling), so that a population does not die out where nearly all of
its members do. Each share is one over the probability of having been drawn, hence every sum of shares is an unbiased
estimate (Del Moral, Feynman-Kac Formulae, 2004, section 7.4). Members are drawn by their share times the weight of
`candidate_space`: by how many trees they have below them.
"""

from __future__ import annotations

from gdb.base.machine.bits import trailing_zeros
from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import (
    load_f64,
    load_i64,
    load_u8,
    load_u32,
    store_f64,
    store_i64,
    store_u32,
)
from gdb.storage.graph.row_loops import lower_bound

from .address import V
from .candidate_space import CA, CV, arc_field, row_within, vertex_field

# one population, i64[N_POPULATION]: addresses of IMAGES, u32[members, n], what each query vertex is bound to; SHARES,
# f64[members]; TREES, f64[members]: trees below each, 1 where none were counted; how many members; the bound
# vertices, a mask
IMAGES, SHARES, TREES, MEMBERS, BOUND = range(5)
N_POPULATION = 5
# scratch, i64[N_SCRATCH]: addresses of SETS, u32[KEPT + longest row]; SUMS, f64[members]; ROWS, i64[3 * arcs of a
# vertex]; STARTS, i64[members], where the set of each member lies in SETS, -1 where it is not kept; LENGTHS,
# i64[members], of these; where the next set is put; and how many elements were looked at
SETS, SUMS, ROWS, STARTS, LENGTHS, AT, SPENT = range(7)
N_SCRATCH = 7
KEPT = 1 << 14  # elements of sets that are kept
GOLDEN = 0.6180339887498949  # its multiples, taken modulo 1, lie well apart


@compiled
def _taken(images: int, differs: int, vid: int) -> bool:
    """Whether a vertex that has to be another one is bound to a vid."""
    while differs != 0:
        if load_u32(images, trailing_zeros(differs)) == vid:
            return True
        differs &= differs - 1
    return False


@compiled
def _set(scratch: int) -> int:
    """The address of the set that was put into SETS last."""
    return load_i64(scratch, SETS) + 4 * load_i64(scratch, AT)


@compiled
def _candidates(vertices: int, images: int, bound: int, v: int, scratch: int) -> int:
    """Put all candidates of a vertex that no edge joins to a bound one into SETS."""
    differs = vertex_field(vertices, v, CV.DIFFERS) & bound
    members = vertex_field(vertices, v, CV.LIST)
    out = _set(scratch)
    found = 0
    for k in range(vertex_field(vertices, v, CV.COUNT)):
        vid = load_u32(members, k)
        if not _taken(images, differs, vid):
            store_u32(out, found, vid)
            found += 1
    store_i64(scratch, SPENT, load_i64(scratch, SPENT) + vertex_field(vertices, v, CV.COUNT))
    return found


@compiled
def _rows(vertices: int, arcs: int, images: int, bound: int, v: int, rows: int) -> int:
    """Put address, start and end of the row of each bound neighbour into `rows`, the shortest one first; how many, or
    -1 where one is empty."""
    low = vertex_field(vertices, v, CV.LOW)
    high = vertex_field(vertices, v, CV.HIGH)
    found = 0
    shortest = 0
    for a in range(vertex_field(vertices, v, CV.ARC), vertex_field(vertices, v, CV.ARC_END)):
        other = arc_field(arcs, a, CA.TARGET)
        if (bound >> other) & 1 == 0:
            continue
        view = arc_field(arcs, a, CA.BACK)
        start, end = row_within(view, load_u32(images, other), low, high)
        if start == end:
            return -1
        near = load_i64(view, V.NEIGHBOURS)
        if found > 0 and end - start < shortest:
            store_i64(rows, 3 * found, load_i64(rows, 0))
            store_i64(rows, 3 * found + 1, load_i64(rows, 1))
            store_i64(rows, 3 * found + 2, load_i64(rows, 2))
            store_i64(rows, 0, near)
            store_i64(rows, 1, start)
            store_i64(rows, 2, end)
            shortest = end - start
        else:
            store_i64(rows, 3 * found, near)
            store_i64(rows, 3 * found + 1, start)
            store_i64(rows, 3 * found + 2, end)
            if found == 0:
                shortest = end - start
        found += 1
    return found


@compiled
def _in_others(rows: int, count: int, vid: int) -> bool:
    """Whether a vid is in all rows but the first; vids come ascending."""
    for k in range(1, count):
        near = load_i64(rows, 3 * k)
        end = load_i64(rows, 3 * k + 2)
        at = load_i64(rows, 3 * k + 1)
        step = 1
        while at + step < end and load_u32(near, at + step) < vid:
            at += step
            step *= 2
        at = lower_bound(near, at, min(end, at + step + 1), vid)
        store_i64(rows, 3 * k + 1, at)
        if at == end or load_u32(near, at) != vid:
            return False
    return True


@compiled
def _extensions(vertices: int, arcs: int, images: int, bound: int, v: int, scratch: int) -> int:
    """Put what a vertex may be bound to beside the bound ones into SETS, ascending; how many."""
    rows = load_i64(scratch, ROWS)
    count = _rows(vertices, arcs, images, bound, v, rows)
    if count < 0:
        store_i64(scratch, SPENT, load_i64(scratch, SPENT) + 1)
        return 0
    if count == 0:
        return _candidates(vertices, images, bound, v, scratch)
    alive = vertex_field(vertices, v, CV.ALIVE) - vertex_field(vertices, v, CV.LOW)
    differs = vertex_field(vertices, v, CV.DIFFERS) & bound
    near = load_i64(rows, 0)
    start = load_i64(rows, 1)
    end = load_i64(rows, 2)
    out = _set(scratch)
    some = 0
    last = -1
    for k in range(start, end):  # without branches, which go either way
        vid = load_u32(near, k)
        store_u32(out, some, vid)
        some += load_u8(alive, vid) & (vid != last)  # parallel edges repeat it
        last = vid
    store_i64(scratch, SPENT, load_i64(scratch, SPENT) + (end - start) * count)
    if count == 1 and differs == 0:
        return some
    found = 0
    for k in range(some):
        vid = load_u32(out, k)
        if _in_others(rows, count, vid) and not _taken(images, differs, vid):
            store_u32(out, found, vid)
            found += 1
    return found


@compiled
def _chance(vertices: int, v: int, vid: int) -> float:
    """Trees below a candidate; 1 where none were counted."""
    weight = vertex_field(vertices, v, CV.WEIGHT)
    if weight == 0:
        return 1.0
    return load_f64(weight - 8 * vertex_field(vertices, v, CV.LOW), vid)


@compiled
def _left(vertices: int, arcs: int, images: int, bound: int, v: int) -> float:
    """Trees below the tree's edge to a vertex, as counted before it was bound; 1 where its parent is not bound yet."""
    up = vertex_field(vertices, v, CV.UP)
    if vertex_field(vertices, v, CV.WEIGHT) == 0 or up < 0:
        return 1.0
    parent = arc_field(arcs, up, CA.TARGET)
    if (bound >> parent) & 1 == 0:
        return 1.0
    below = vertex_field(vertices, v, CV.BELOW) - 8 * vertex_field(vertices, parent, CV.LOW)
    return load_f64(below, load_u32(images, parent))


@compiled
def _member(n: int, images: int, target: int, v: int, vid: int, share: float, trees: float) -> None:
    """Put a member into the population `target`."""
    k = load_i64(target, MEMBERS)
    out = load_i64(target, IMAGES) + 4 * n * k
    for i in range(n):
        store_u32(out, i, load_u32(images, i))
    store_u32(out, v, vid)
    store_f64(load_i64(target, SHARES), k, share)
    store_f64(load_i64(target, TREES), k, trees)
    store_i64(target, MEMBERS, k + 1)


@compiled
def _again(vertices: int, arcs: int, images: int, bound: int, v: int, scratch: int, k: int) -> int:
    """As `_extensions`, of member k, whose set may be kept. What is not comes where there is room for the longest."""
    start = load_i64(load_i64(scratch, STARTS), k)
    if start >= 0:
        store_i64(scratch, AT, start)
        return load_i64(load_i64(scratch, LENGTHS), k)
    store_i64(scratch, AT, KEPT)
    return _extensions(vertices, arcs, images, bound, v, scratch)


@compiled
def _all_of(vertices: int, arcs: int, n: int, of: int, v: int, target: int, scratch: int) -> None:
    """Everything that comes of a population with one vertex more."""
    for k in range(load_i64(of, MEMBERS)):
        images = load_i64(of, IMAGES) + 4 * n * k
        share = load_f64(load_i64(of, SHARES), k)
        found = _again(vertices, arcs, images, load_i64(of, BOUND), v, scratch, k)
        found_at = _set(scratch)
        if found > 0:
            trees = load_f64(load_i64(of, TREES), k) / _left(
                vertices, arcs, images, load_i64(of, BOUND), v
            )
            for i in range(found):
                vid = load_u32(found_at, i)
                chance = _chance(vertices, v, vid)
                if chance > 0.0:
                    _member(n, images, target, v, vid, share, trees * chance)


@compiled
def _some_of(
    vertices: int,
    arcs: int,
    n: int,
    of: int,
    v: int,
    target: int,
    scratch: int,
    apart: float,
    first: float,
) -> None:
    """Members at equal distances `apart` of what comes of a population, beginning at `first`."""
    wanted = first
    passed = 0.0
    for k in range(load_i64(of, MEMBERS)):
        mass = load_f64(load_i64(scratch, SUMS), k)
        if passed + mass <= wanted:
            passed += mass
            continue
        images = load_i64(of, IMAGES) + 4 * n * k
        share = load_f64(load_i64(of, SHARES), k)
        trees = load_f64(load_i64(of, TREES), k)
        found = _again(vertices, arcs, images, load_i64(of, BOUND), v, scratch, k)
        found_at = _set(scratch)
        trees = trees / _left(vertices, arcs, images, load_i64(of, BOUND), v)
        at = passed
        for i in range(found):
            vid = load_u32(found_at, i)
            now = trees * _chance(vertices, v, vid)
            own = share * now
            at += own
            while wanted < at:
                _member(n, images, target, v, vid, share * apart / own, now)
                wanted += apart
        passed += mass


@compiled
def grown(
    vertices: int,
    arcs: int,
    n: int,
    of: int,
    v: int,
    target: int,
    scratch: int,
    most: int,
    first: float,
) -> float:
    """Fill a population `target` of at most `most` members, and of one more by rounding, with what comes of one with
    one vertex more; the expected number of these embeddings. first : a random number within [0, 1)."""
    total = 0.0
    mass = 0.0
    number = 0
    used = 0
    for k in range(load_i64(of, MEMBERS)):
        images = load_i64(of, IMAGES) + 4 * n * k
        share = load_f64(load_i64(of, SHARES), k)
        store_i64(scratch, AT, used)
        found = _extensions(vertices, arcs, images, load_i64(of, BOUND), v, scratch)
        found_at = _set(scratch)
        kept = used + found <= KEPT
        store_i64(load_i64(scratch, STARTS), k, used if kept else -1)
        store_i64(load_i64(scratch, LENGTHS), k, found)
        own = 0.0
        for i in range(found):
            own += _chance(vertices, v, load_u32(found_at, i))
        if own > 0.0:
            own *= (
                share
                * load_f64(load_i64(of, TREES), k)
                / _left(vertices, arcs, images, load_i64(of, BOUND), v)
            )
        store_f64(load_i64(scratch, SUMS), k, own)
        used += found if kept else 0
        number += found
        mass += own
        total += share * float(found)
    store_i64(target, MEMBERS, 0)
    store_i64(target, BOUND, load_i64(of, BOUND) | (1 << v))
    if number <= most:
        _all_of(vertices, arcs, n, of, v, target, scratch)
    elif mass > 0.0:
        apart = mass / float(most)
        _some_of(vertices, arcs, n, of, v, target, scratch, apart, first * apart)
    store_i64(scratch, AT, 0)
    return total


def _along(
    vertices: int,
    arcs: int,
    n: int,
    order: int,
    one: int,
    other: int,
    scratch: int,
    most: int,
    firsts: int,
    out: int,
) -> int:
    """Put the expected numbers of embeddings after each vertex of `order`, i64[n], into `out`, f64[n]. one : the
    population of no vertex, which is used again, as is `other`. firsts : f64[n], for each vertex a random number within
    [0, 1). Whether all embeddings are in the last population."""
    exact = 1
    for k in range(n):
        first = load_f64(firsts, k)
        v = load_i64(order, k)
        total = grown(vertices, arcs, n, one, v, other, scratch, most, first)
        store_f64(out, k, total)
        if total != float(load_i64(other, MEMBERS)):
            exact = 0
        swapped = one
        one = other
        other = swapped
    return exact


along = compiled(_along, entry=True)
