"""The query graph whose nests are priced (`nest_prices`), and which of its vertices can be counted without loops. Sets
of query vertices are bit masks."""

from __future__ import annotations

from gdb.base.machine.bits import ones, trailing_zeros
from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import load_f64, load_i64

from .candidate_space import CV, vertex_field

# samples, i64[N_SAMPLES]: tables of query vertices and of arcs, as `candidate_space` has them, the number of vertices,
# scratch of `populations`, members of each sample; FAN, f64[n, n]: candidates that an edge leads to; NEAR, i64[n]:
# the neighbours of each vertex; EMPTY: the population of no vertex. What is known of sets of vertices, SETS of them, a
# power of 2: KEYS, i64[SETS], the sets; EXPECTED, f64[SETS], their embeddings; KEPT, i64[SETS], their populations;
# KNOWN: how many.
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
    SETS,
    KEYS,
    EXPECTED,
    KEPT,
    KNOWN,
    ROOM,
    ROOM_END,
    DRAWN,
    STACK,
    PLACES,
) = range(18)
N_SAMPLES = 18


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
