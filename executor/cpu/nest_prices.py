"""Prices of counting nests, which `gdb.planner.pricing` compares matching orders by.

A price adds up how often each loop of a nest is entered and bound, and what its set operations and trees take each
time. How often is known from samples (`populations`) of the pattern between the vertices that are bound; those of one
query graph are kept, by the set of its vertices, in memory that grows as long as there is more to know. Sets of query
vertices are bit masks of at most `MOST_VERTICES` bits.
"""

from __future__ import annotations

from gdb.base.machine.bits import ones, trailing_zeros
from gdb.base.machine.compile import compiled, together
from gdb.base.machine.memory import load_f64, load_i64, store_f64, store_i64

from .candidate_space import CV, vertex_field
from .populations import (
    GOLDEN,
    IMAGES,
    MEMBERS,
    N_POPULATION,
    SHARES,
    TREES,
    grown,
)

MOST_VERTICES = 16
TAIL_ELEMENT = 0.25  # steps for each element that is summed in a tail
ELEMENT = 0.25  # steps for each element of a set operation
SET, NODE = 4.0, 4.0  # steps of a set operation, and of a node of a tail, besides
BINDING = 2.0  # steps of a loop for each vertex
UNEVEN = 8.0  # how many elements of the shorter list searches in a much longer one take
MOST_KEYS = 8  # levels that one cache reads (`gdb.executor.nest.interface_caches`)
SLOTS = 1 << 16  # of one cache (`gdb.executor.cpu.workers`)
UNKNOWN = 1e300  # the price of what no sample lasted for
NO_ROOM = -1.0

# samples, i64[N_SAMPLES]: tables of query vertices and of arcs, as `candidate_space` has them, the number of vertices,
# scratch of `populations`, members of each sample; FAN, f64[n, n]: candidates that an edge leads to; NEAR, i64[n]:
# the neighbours of each vertex; EMPTY: the population of no vertex. What is known of sets of vertices: KEYS,
# i64[SETS], the sets; EXPECTED, f64[SETS], their embeddings; KEPT, i64[SETS], their populations; KNOWN: how many.
# ROOM, ROOM_END: where further populations go; DRAWN: how many there are. STACK, i64[4 * n], and PLACES, i64[2 * n]:
# room to work in
(
    VERTICES,
    ARCS,
    N,
    SCRATCH,
    MOST,
    FAN,
    NEAR,
    EMPTY,
    KEYS,
    EXPECTED,
    KEPT,
    KNOWN,
    ROOM,
    ROOM_END,
    DRAWN,
    STACK,
    PLACES,
) = range(17)
N_SAMPLES = 17
SETS = 1 << 12
MOST_SETS = SETS * 3 // 4  # a set beyond has no price


# ---- the query graph -------------------------------------------------------------------------------


@compiled
def near_of(s: int, v: int) -> int:
    """The neighbours of a query vertex, as bits."""
    return load_i64(load_i64(s, NEAR), v)


@compiled
def fan_of(s: int, u: int, v: int) -> float:
    """The mean number of candidates of `v` beside one of `u`."""
    return load_f64(load_i64(s, FAN), u * load_i64(s, N) + v)


@compiled
def candidates_of(s: int, v: int) -> float:
    """The number of candidates of a query vertex."""
    return float(vertex_field(load_i64(s, VERTICES), v, CV.COUNT))


@compiled
def part_of(s: int, differs: int, first: int, rest: int) -> int:
    """The vertices of `rest` that edges join to `first`, a mask; with `differs`, i64[n], also having to differ does."""
    found, new = 0, first
    while new != 0:
        found |= new
        joined = 0
        while new != 0:
            v = trailing_zeros(new)
            new &= new - 1
            joined |= near_of(s, v)
            if differs != 0:
                joined |= load_i64(differs, v)
        new = joined & rest & ~found
    return found


@compiled
def expansion(s: int, bound: int, v: int) -> float:
    """Expected candidates of a vertex beside bound ones, edges taken as independent."""
    count = candidates_of(s, v)
    found = max(count, 1e-9)
    left = near_of(s, v) & bound
    while left != 0:
        u = trailing_zeros(left)
        left &= left - 1
        found *= min(fan_of(s, u, v) / max(count, 1.0), 1.0)
    return found


@compiled
def without_leaves(s: int, rest: int, kept: int) -> int:
    """What is left of some vertices after those that are not `kept` and have at most one neighbour among them are taken
    off, again and again."""
    leaves = 1
    while leaves != 0:
        leaves = 0
        left = rest & ~kept
        while left != 0:
            v = trailing_zeros(left)
            left &= left - 1
            if ones(near_of(s, v) & rest) < 2:
                leaves |= 1 << v
        rest &= ~leaves
    return rest


@compiled
def unreached(s: int, rest: int) -> int:
    """Of a forest the inner vertices that weights cannot be summed over (`executor.nest.counted_tail`): nothing below
    them is read by a bound vertex, on whichever one of such paths the root of their tree lies."""
    listed, inner, left = 0, 0, rest
    while left != 0:
        v = trailing_zeros(left)
        left &= left - 1
        if near_of(s, v) & ~rest != 0:
            listed |= 1 << v
        if ones(near_of(s, v) & rest) > 1:
            inner |= 1 << v
    reached = without_leaves(s, rest, listed)
    inner &= ~reached
    found = 0
    while inner != 0:
        tree = part_of(s, 0, inner & -inner, rest)
        own, first, path = inner & tree, 0, True
        inner &= ~tree
        left = own
        while left != 0:
            v = trailing_zeros(left)
            left &= left - 1
            first += ones(near_of(s, v) & reached)
            path = path and ones(near_of(s, v) & (own | reached)) < 3
        if first != 1 or not path:
            found |= own
    return found


@compiled
def against(s: int, differs: int, rest: int) -> int:
    """The vertices that keep a set of vertices from being counted without loops: what lies on a cycle, else what no row
    of a bound vertex leads to, else what has to differ from others and is neither like them nor, with one of them,
    alone."""
    core = without_leaves(s, rest, 0)
    if core == 0:
        core = unreached(s, rest)
    if core != 0:
        return core
    left = rest
    while left != 0:
        v = trailing_zeros(left)
        left &= left - 1
        others = load_i64(differs, v) & rest & ~near_of(s, v)
        if others != 0 and not is_counted(s, differs, rest, v, others):
            core |= 1 << v
    return core


@compiled
def is_counted(s: int, differs: int, rest: int, v: int, others: int) -> bool:
    """Whether a vertex of a forest that has to differ from some `others` is counted without loops."""
    alike = True
    left = others
    while left != 0:
        u = trailing_zeros(left)
        left &= left - 1
        alike = alike and near_of(s, u) == near_of(s, v)
    if alike:
        return True
    pair = others | 1 << v
    alone = ones(others) == 1
    left = pair
    while left != 0:
        u = trailing_zeros(left)
        left &= left - 1
        alone = alone and near_of(s, u) & rest == 0 and load_i64(differs, u) & rest & ~pair == 0
    return alone


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
    keys = load_i64(s, KEYS)
    at = (mask * 2654435769 >> 16) & (SETS - 1)
    while load_i64(keys, at) != 0 and load_i64(keys, at) != mask:
        at = (at + 1) & (SETS - 1)
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
        if load_i64(s, KNOWN) >= MOST_SETS:
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


def _price(s: int, differs: int, order: int) -> float:
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


price, looped, embeddings = together(_price, _looped, _embeddings)
