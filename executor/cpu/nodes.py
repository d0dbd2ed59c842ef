"""Nodes of a nest's tail: their table and state, twins, the marks of a leaf's list, and what scratch they need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import load_i64, load_u32, store_i64, store_u8
from gdb.storage.graph.row_loops import lower_bound

from ..nest.counters import counter_bytes
from ..table_fields import LevelField, LevelFlag, NodeField, Role
from .address import (
    BINOMIAL,
    GALLOP,
    LARGEST,
    MARK,
    N_LEVEL,
    N_NODE,
    OR,
    POWER,
    WINDOW,
    F,
    L,
    P,
    Pointers,
    Q,
    T,
)
from .levels import accepts, element, first_from, is_repeat, passes
from .sets import level

if TYPE_CHECKING:
    from ..nest.prepare import Prepared

INFINITE = 1.0e300


@compiled
def node(p: Pointers, c: int, field: int) -> int:
    """A field of node c of the tail."""
    return load_i64(load_i64(p, P.NODES), c * N_NODE + field)


@compiled
def state(p: Pointers, c: int) -> int:
    """Address of the state of node c of the tail, i64[Q.N]."""
    return load_i64(p, P.STATES) + c * Q.N * 8


@compiled
def ways(n: int, approx: float, size: int, formula: int) -> tuple[int, float]:
    """How often `size` twins can be bound to n candidates, and about how often (to see overflow)."""
    if size == 1:
        return n, approx
    total, shadow = 1, 1.0
    for i in range(size):
        left = n if formula == POWER else max(n - i, 0)
        shadow = shadow * (approx if formula == POWER else max(approx - i, 0.0))
        if shadow > LARGEST:
            return 0, INFINITE
        total = total * left
        if formula == BINOMIAL:
            total = total // (i + 1)
            shadow = shadow / (i + 1)
    return total, shadow


# ---- lists and marks -------------------------------------------------------------------------------


@compiled
def repeated(p: Pointers, d: int, address: int, start: int, end: int) -> int:
    """How many of the edges at [start, end) of a window, which level d loops over, are those that it is to differ
    from."""
    row = load_i64(p, P.LEVELS) + d * N_LEVEL * 8
    v, refs = load_i64(p, P.V), load_i64(p, P.REFS)
    values = load_i64(load_i64(p, P.ORDERS) + load_i64(row, L.LO) * OR.N * 8, OR.VALUES)
    own = load_i64(load_i64(p, P.ORDERS) + load_i64(row, L.LO) * OR.N * 8, OR.SOURCE)
    n = 0
    first, last = load_i64(row, L.DIFFERS), load_i64(row, L.DIFFERS_END)
    for r in range(first, last):
        x = load_i64(v, load_i64(refs, r))
        again = False  # edges of different MATCH may coincide: take each off once
        for q in range(first, r):
            again = again or load_i64(v, load_i64(refs, q)) == x
        if not again:
            value = load_i64(own, x)
            at = first_from(values, start, end, value)
            while at < end and load_i64(values, at) == value:
                if load_i64(address, at) == x:
                    n += 1
                    break
                at += 1
    return n


@compiled
def counted(p: Pointers, d: int, address: int, start: int, end: int) -> tuple[int, int]:
    """(number of elements of a level's list that it would bind, elements looked at)."""
    flags = level(p, d, L.FLAGS)
    n = end - start
    if flags == F.EDGE and level(p, d, L.ABOVE) == level(p, d, L.ABOVE_END):
        return n, 4
    plain = flags == F.EDGE | F.DIFFERS and level(p, d, L.BASE) == WINDOW and level(p, d, L.LO) >= 0
    if plain and level(p, d, L.ABOVE) == level(p, d, L.ABOVE_END):
        return n - repeated(p, d, address, start, end), 8
    if flags & (F.EDGE | F.BITS | F.REPEATS | F.CHECKS) == 0 or n == 0:
        if flags & F.DIFFERS == 0:
            return n, 4
        first, last = level(p, d, L.DIFFERS), level(p, d, L.DIFFERS_END)
        v, refs = load_i64(p, P.V), load_i64(p, P.REFS)
        for r in range(first, last):
            x = load_i64(v, load_i64(refs, r))
            again = False  # homomorphic vertices may coincide: take each off once
            for q in range(first, r):
                again = again or load_i64(v, load_i64(refs, q)) == x
            if not again:
                at = lower_bound(address, start, end, x)
                if at < end and load_u32(address, at) == x:
                    n -= 1
        return n, 4
    n = 0
    for at in range(start, end):
        x = element(p, d, address, at)
        fits = not is_repeat(p, d, address, start, at) and accepts(p, d, x)
        if fits and (flags & F.CHECKS == 0 or passes(p, d, x)):
            n += 1
    return n, 4 + end - start


@compiled
def count_equal(a: int, i: int, ie: int, b: int, j: int, je: int) -> int:
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


@compiled
def use(p: Pointers, c: int) -> None:
    """Mark the accepted elements of a MARK node in its scratch."""
    q = state(p, c)
    if load_i64(q, Q.USED) != 0:
        return
    store_i64(q, Q.USED, 1)
    d = node(p, c, T.LEVEL)
    plain = level(p, d, L.FLAGS) & (F.DIFFERS | F.BITS) == 0
    address, scratch = load_i64(q, Q.LIST), load_i64(q, Q.SCRATCH)
    for at in range(load_i64(q, Q.START), load_i64(q, Q.END)):
        x = load_u32(address, at)
        if plain or accepts(p, d, x):
            store_u8(scratch, x, 1)


@compiled
def clear(p: Pointers, first: int, nodes: int) -> None:
    """Leave the scratch of nodes [first, nodes) as it was: zero."""
    for c in range(first, nodes):
        q = state(p, c)
        if load_i64(q, Q.USED) != 0:
            store_i64(q, Q.USED, 0)
            address, scratch = load_i64(q, Q.LIST), load_i64(q, Q.SCRATCH)
            if node(p, c, T.ROLE) == MARK:
                for at in range(load_i64(q, Q.START), load_i64(q, Q.END)):
                    store_u8(scratch, load_u32(address, at), 0)
            else:
                for at in range(load_i64(q, Q.START), load_i64(q, Q.END)):
                    store_i64(scratch, load_u32(address, at), 0)


# ---- scratch ---------------------------------------------------------------------------------------


def scratch_of_nodes(
    prepared: Prepared, *, ample: bool = False
) -> Iterator[tuple[int, int, int, int, int]]:
    """What the nodes of the tail need for each vid of a range: node, column of its state, bytes, and the range.

    ample : memory is not bounded: also what a node could do without. With it a root with a list can be counted from a
        leaf (`trees.fold_reached`), and a HELD node has marks (`tail.count_held_pair`).
    """
    every = 0, prepared.vids
    nodes = prepared.tables.nodes.tolist()
    in_pairs = [_is_counted_in_pairs(prepared, node) for node in nodes]
    for i, node in enumerate(nodes):
        cut = prepared.tables.levels[node[NodeField.LEVEL]]
        low, high = int(cut[LevelField.LO]), min(int(cut[LevelField.HI]), prepared.vids)
        own = every if cut[LevelField.IS_EDGE] else (min(low, high), high)
        role = node[NodeField.ROLE]
        if role == Role.MARK:
            if not in_pairs[node[NodeField.PARENT]]:
                yield i, Q.SCRATCH, 1, *own
        elif node[NodeField.HELD] and ample:
            yield i, Q.SCRATCH, 1, *every
        elif in_pairs[i]:
            width = counter_bytes(prepared, node[NodeField.PUSHER])
            yield i, Q.SCRATCH, width, 0, own[1] - own[0]
        elif role == Role.PUSHED:
            yield i, Q.SCRATCH, 8, *own
            yield i, Q.TOUCHED, 4, 0, own[1] - own[0]
        elif role == Role.INNER and (
            node[NodeField.PARENT] >= 0 or (ample and node[NodeField.REACHED])
        ):
            yield i, Q.SCRATCH, 8, *own
        if node[NodeField.SPREADS]:
            yield i, Q.SUMS, 8, *every


def _is_counted_in_pairs(prepared: Prepared, node: list[int]) -> bool:
    """Whether `trees.push` has `push_pairs` count a PUSHED node."""
    if node[NodeField.ROLE] != Role.PUSHED:
        return False
    pusher = prepared.tables.nodes[node[NodeField.PUSHER]]
    flags = prepared.tables.levels[pusher[NodeField.LEVEL], LevelField.FLAGS]
    tested = int(flags) & (LevelFlag.DIFFERS | LevelFlag.BITS | LevelFlag.REPEATS)
    simple = prepared.views[pusher[NodeField.BACK]].simple
    return bool(node[NodeField.PAIRED]) and simple and not tested
