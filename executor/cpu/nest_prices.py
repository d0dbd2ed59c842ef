"""Prices of counting nests, which `gdb.planner.pricing` compares matching orders by.

A price adds up how often each loop of a nest is entered and bound, and what its set operations and trees take each
time. How often is known from samples (`populations`) of the pattern between the vertices that are bound; those of one
query graph are kept, by the set of its vertices, in memory that grows as long as there is more to know. Sets of query
vertices are bit masks of at most 63 bits.
"""

from __future__ import annotations

from gdb.base.machine.bits import ones, trailing_zeros
from gdb.base.machine.compile import compiled, together
from gdb.base.machine.memory import load_f64, load_i64, store_f64, store_i64

from .nest_shapes import (
    ARCS,
    DRAWN,
    EMPTY,
    EXPECTED,
    KEPT,
    KEYS,
    KNOWN,
    MOST,
    PLACES,
    ROOM,
    ROOM_END,
    SCRATCH,
    SETS,
    STACK,
    VERTICES,
    N,
    against,
    candidates_of,
    expansion,
    fan_of,
    near_of,
    part_of,
)
from .populations import (
    GOLDEN,
    IMAGES,
    MEMBERS,
    N_POPULATION,
    SHARES,
    TREES,
    grown,
)

TAIL_ELEMENT = 0.25  # steps for each element that is summed in a tail
ELEMENT = 0.25  # steps for each element of a set operation
SET, NODE = 4.0, 4.0  # steps of a set operation, and of a node of a tail, besides
BINDING = 2.0  # steps of a loop for each vertex
UNEVEN = 8.0  # how many elements of the shorter list searches in a much longer one take
MOST_KEYS = 8  # levels that one cache reads (`gdb.executor.nest.interface_caches`)
SLOTS = 1 << 16  # of one cache (`gdb.executor.cpu.workers`)
UNKNOWN = 1e300  # the price of what no sample lasted for
NO_ROOM = -1.0

MIX = 0x2545F4914F6CDD1D  # the highest bits of a product with it depend on all of a mask
FULL = 0.75  # part of the table of sets that is in use at most; a set beyond has no price


def _looped(s: int, differs: int, order: int) -> int:
    """How many vertices of an order, i64[n], have to be looped over before the rest can be counted without."""
    rest = 0
    k = load_i64(s, N) - 1
    while k > 0 and against(s, differs, rest | 1 << load_i64(order, k)) == 0:
        rest |= 1 << load_i64(order, k)
        k -= 1
    return k + 1


# ---- embeddings ------------------------------------------------------------------------------------


@compiled
def slot_of(s: int, mask: int) -> int:
    """Where a set of vertices is among the known ones, or would be."""
    keys, last = load_i64(s, KEYS), load_i64(s, SETS) - 1
    at = (mask * MIX >> 48) & last
    while load_i64(keys, at) != 0 and load_i64(keys, at) != mask:
        at = (at + 1) & last
    return at


@compiled
def is_known(s: int, mask: int) -> bool:
    """Whether the number of embeddings of a set of query vertices, as bits, is in the table."""
    return mask == 0 or load_i64(load_i64(s, KEYS), slot_of(s, mask)) == mask


@compiled
def note(s: int, mask: int, expected: float, population: int) -> None:
    """Put a set among the known ones."""
    at = slot_of(s, mask)
    store_i64(load_i64(s, KEYS), at, mask)
    store_f64(load_i64(s, EXPECTED), at, expected)
    store_i64(load_i64(s, KEPT), at, population)
    store_i64(s, KNOWN, load_i64(s, KNOWN) + 1)


@compiled
def last_of(s: int, mask: int) -> int:
    """The vertex of a set to bind last: one that leaves a known set if there is such a one, else one that leaves the
    others joined; of several the one of the most candidates."""
    found, most, known = -1, -1.0, False
    left = mask
    while left != 0:
        v = trailing_zeros(left)
        left &= left - 1
        rest = mask & ~(1 << v)
        kept = is_known(s, rest)
        if kept or (not known and part_of(s, 0, rest & -rest, rest) == rest):
            size = expansion(s, rest, v)
            if size > most or (kept and not known):
                found, most = v, size
            known = known or kept
    return found


@compiled
def sample(s: int, of: int, v: int) -> tuple[int, float]:
    """A population with one vertex more than another, and its embeddings; (0, ...) where there is no room."""
    n, most = load_i64(s, N), load_i64(s, MOST)
    made, capacity = load_i64(s, ROOM), most + 8
    shares = made + 8 * N_POPULATION
    images = shares + 16 * capacity
    if images + 4 * n * capacity > load_i64(s, ROOM_END):
        return 0, 0.0
    store_i64(made, IMAGES, images)
    store_i64(made, SHARES, shares)
    store_i64(made, TREES, shares + 8 * capacity)
    drawn = load_i64(s, DRAWN) + 1
    store_i64(s, DRAWN, drawn)
    first = float(drawn) * GOLDEN
    first -= float(int(first))
    vertices, arcs = load_i64(s, VERTICES), load_i64(s, ARCS)
    found = grown(vertices, arcs, n, of, v, made, load_i64(s, SCRATCH), most, first)
    used = images + 4 * n * load_i64(made, MEMBERS)
    store_i64(s, ROOM, (used + 7) & -8)
    return made, found


@compiled
def learn(s: int, mask: int) -> float:
    """Sample the embeddings of joined vertices that are not known, and of what leads to them: how many they are,
    `UNKNOWN` where too many sets are known, `NO_ROOM` where there is none."""
    while not is_known(s, mask):
        missing, v = mask, last_of(s, mask)
        while not is_known(s, missing & ~(1 << v)):
            missing &= ~(1 << v)
            v = last_of(s, missing)
        before = missing & ~(1 << v)
        of = load_i64(s, EMPTY)
        if before != 0:
            of = load_i64(load_i64(s, KEPT), slot_of(s, before))
        if float(load_i64(s, KNOWN)) >= FULL * float(load_i64(s, SETS)):
            return UNKNOWN
        made, found = sample(s, of, v)
        if made == 0:
            return NO_ROOM
        note(s, missing, found, made)
    return load_f64(load_i64(s, EXPECTED), slot_of(s, mask))


def _embeddings(s: int, mask: int) -> float:
    """Expected embeddings of the pattern between some vertices; as `learn`."""
    found, rest = 1.0, mask
    while rest != 0:
        part = part_of(s, 0, rest & -rest, rest)
        rest &= ~part
        one = learn(s, part)
        if one < 0.0 or one >= UNKNOWN:
            return one
        found *= one
    return found


@compiled
def grown_by(s: int, bound: int, more: int) -> float:
    """Mean embeddings of more vertices for each embedding of some bound ones, also `UNKNOWN` where no sample of these
    lasted; as `learn`."""
    before, after = _embeddings(s, bound), _embeddings(s, more)
    if before < 0.0 or after < 0.0:
        return NO_ROOM
    if before == 0.0 or before >= UNKNOWN or after >= UNKNOWN:
        return UNKNOWN
    return after / before


# ---- prices ----------------------------------------------------------------------------------------


@compiled
def matters(s: int, differs: int, keys: int, part: int, x: int) -> float:
    """How many data vertices of a bound vertex `x`, that some of a part have only to differ from, may be candidates of
    one of these."""
    most = candidates_of(s, x)
    found = 0.0
    while part != 0:
        v = trailing_zeros(part)
        part &= part - 1
        if load_i64(differs, v) >> x & 1 != 0:
            least, left = most, near_of(s, v) & keys
            if left != 0:
                least = UNKNOWN
            while left != 0:
                u = trailing_zeros(left)
                left &= left - 1
                least = min(least, fan_of(s, u, v))
            found += least
    return min(found, most)


@compiled
def anew(s: int, differs: int, order: int, loops: int, bound: int, part: int, rows: float) -> float:
    """How often what is counted below some bound vertices, `rows` times bound, is not known from before."""
    reads, strange, left = 0, 0, part
    while left != 0:
        v = trailing_zeros(left)
        left &= left - 1
        reads |= near_of(s, v)
        strange |= load_i64(differs, v)
    keys = reads & bound
    strange &= bound & ~keys
    if keys | strange == bound or ones(keys | strange) > MOST_KEYS:
        return rows
    kept = _embeddings(s, keys)
    while strange != 0:
        x = trailing_zeros(strange)
        strange &= strange - 1
        kept *= 1.0 + matters(s, differs, keys, part, x)
    if kept < 0.0 or kept >= rows:
        return min(kept, rows)
    outer, k = 0, 0  # kept counts come again when the first loop that they do not read goes on
    while k < loops and keys >> load_i64(order, k) & 1 != 0:
        outer |= 1 << load_i64(order, k)
        k += 1
    around = _embeddings(s, outer)
    if around < 0.0:
        return NO_ROOM
    at_once = kept / max(around, 1.0)
    return rows - (rows - kept) * min(1.0, float(SLOTS) / max(at_once, 1.0))


@compiled
def work(s: int, bound: int, v: int) -> float:
    """Steps for each binding of v: itself, and the sets that it makes possible."""
    before = bound & ~(1 << v)
    cost = BINDING
    left = near_of(s, v) & ~bound
    while left != 0:
        u = trailing_zeros(left)
        left &= left - 1
        if near_of(s, u) & before != 0:
            one, other = expansion(s, before, u), fan_of(s, v, u)
            cost += SET + ELEMENT * min(one + other, UNEVEN * min(one, other))
    return cost


@compiled
def top_of(s: int, bound: int, left: int) -> int:
    """Of vertices that edges join to bound ones the one of the fewest expected candidates, -1 where there is none."""
    found, least = -1, 0.0
    while left != 0:
        v = trailing_zeros(left)
        left &= left - 1
        if near_of(s, v) & bound != 0:
            size = expansion(s, bound, v)
            if found < 0 or size < least:
                found, least = v, size
    return found


@compiled
def tail(s: int, bound: int, rest: int) -> float:
    """Steps to count the rest once."""
    n = load_i64(s, N)
    waiting = load_i64(s, STACK) + 24 * n  # vertices
    owns = load_i64(s, PLACES)  # of each of them what is bound with it
    sizes = owns + 8 * n
    cost = 0.0
    while rest != 0:
        v = top_of(s, bound, rest)
        if v < 0:
            return UNKNOWN
        own = bound | 1 << v
        size = grown_by(s, bound, own)
        if size < 0.0:
            return NO_ROOM
        store_i64(waiting, 0, v)
        store_i64(owns, v, own)
        store_f64(sizes, v, size)
        top = 1
        rest &= ~(1 << v)
        cost += NODE
        while top > 0:
            top -= 1
            v = load_i64(waiting, top)
            own = load_i64(owns, v)
            size = load_f64(sizes, v)
            left = near_of(s, v) & rest
            rest &= ~left
            while left != 0:
                u = trailing_zeros(left)
                left &= left - 1
                each = grown_by(s, own, own | 1 << u)
                if each < 0.0:
                    return NO_ROOM
                cost += NODE + TAIL_ELEMENT * size * (1.0 + each)
                store_i64(waiting, top, u)
                store_i64(owns, u, own | 1 << u)
                store_f64(sizes, u, min(size * each, candidates_of(s, u)))
                top += 1
    return cost


@compiled
def loop_of(order: int, loops: int, part: int) -> int:
    """The first loop that is in a part, -1 for none."""
    for k in range(loops):
        if part >> load_i64(order, k) & 1 != 0:
            return load_i64(order, k)
    return -1


def priced(s: int, differs: int, order: int) -> float:
    """Steps to count the embeddings along an order, i64[n]: to loop over its first vertices and count the others;
    `NO_ROOM` where there is none for a further sample. differs : i64[n], for each vertex what it has to differ from."""
    n = load_i64(s, N)
    loops = _looped(s, differs, order)
    first = load_i64(order, 0)
    rows = candidates_of(s, first)
    cost = rows * work(s, 1 << first, first)
    waiting, rests, times = (
        load_i64(s, STACK),
        load_i64(s, STACK) + 8 * n,
        load_i64(s, STACK) + 16 * n,
    )
    store_i64(waiting, 0, 1 << first)
    store_i64(rests, 0, ((1 << n) - 1) & ~(1 << first))
    store_f64(times, 0, rows)
    top = 1
    while top > 0:
        top -= 1
        bound, rest, rows = load_i64(waiting, top), load_i64(rests, top), load_f64(times, top)
        while rest != 0:
            part = part_of(s, differs, rest & -rest, rest)
            rest &= ~part
            v = loop_of(order, loops, part)
            again = anew(s, differs, order, loops, bound, part, rows)
            own = bound if v < 0 else bound | 1 << v
            each = tail(s, bound, part) if v < 0 else grown_by(s, bound, own)
            if again < 0.0 or each < 0.0:
                return NO_ROOM
            if each >= UNKNOWN:
                return UNKNOWN
            if v < 0:
                cost += rows + again * each
                continue
            cost += rows + again + again * each * work(s, own, v)
            store_i64(waiting, top, own)
            store_i64(rests, top, part & ~(1 << v))
            store_f64(times, top, again * each)
            top += 1
    return cost


price, looped, embeddings = together(priced, _looped, _embeddings)
