"""Rows of bits over the neighbourhood of a bound vertex, and the sets that are made of them (`neighbourhood`).

A row is made on first use, and stays until the frame is bound anew. It costs as much as a scan of one
list; whatever it is intersected with afterwards costs a word for each 64 positions.
"""

from __future__ import annotations

from gdb.base.machine.bits import ones
from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import load_i64, load_u8, load_u32, store_i64, store_u8, store_u32
from gdb.storage.graph.row_loops import lower_bound

from .address import ABOVE, BELOW, GALLOP, MOST, OP, ST, B, G, P, Pointers, R
from .sets import find_row, has_bit, neighbours, row_slice

Graph = int  # the address of a worker's table G.FRAME, G.VIEW, ...


@compiled
def fill_words(out: int, words: int, value: int) -> None:
    """Set `words` words of 64 bits to a value, from address `out` on."""
    for w in range(words):
        store_i64(out, w, value)


@compiled
def set_position(out: int, at: int) -> None:
    """Set bit `at` of the bitmap at address `out`, in words of 64 bits."""
    store_i64(out, at >> 6, load_i64(out, at >> 6) | (1 << (at & 63)))


@compiled
def clear_position(out: int, at: int) -> None:
    """Clear bit `at` of the bitmap at address `out`."""
    store_i64(out, at >> 6, load_i64(out, at >> 6) & ~(1 << (at & 63)))


@compiled
def keep_range(out: int, words: int, start: int, end: int) -> None:
    """Leave of a row the positions [start, end)."""
    fill_words(out, min(start >> 6, words), 0)
    if start & 63 != 0 and start >> 6 < words:
        store_i64(out, start >> 6, load_i64(out, start >> 6) & (-1 << (start & 63)))
    if end >> 6 < words:
        store_i64(out, end >> 6, load_i64(out, end >> 6) & ((1 << (end & 63)) - 1))
        fill_words(out + 8 * ((end >> 6) + 1), words - (end >> 6) - 1, 0)


# ---- the frame -------------------------------------------------------------------------------------


@compiled
def forget_places(g: Graph, first: int) -> None:
    """Take the places from `first` on from their vids."""
    place, vids = load_i64(g, G.PLACE), load_i64(g, G.VIDS)
    relations, made = load_i64(g, G.RELATION_COUNT), load_i64(g, G.MADE)
    used = load_i64(g, G.USED)
    for slot in range(first, used):
        store_u32(place, load_u32(vids, slot), 0)
    for at in range(first * relations, used * relations):
        store_u8(made, at, 0)
    store_i64(g, G.USED, first)


@compiled
def pays(p: Pointers, view: int, near: int, start: int, end: int, words: int, worth: int) -> bool:
    """Whether rows of so many words for each of some neighbours are worth the elements that their lists hold."""
    least = (end - start) * words
    held = 0
    for at in range(start, end):
        first, after = find_row(p, view, load_u32(near, at))
        held += after - first
        if held * worth >= least:
            return True
    return least == 0


@compiled
def open_frame(p: Pointers, g: Graph, x: int) -> int:
    """Give the neighbours of the frame's vertex their positions, where they are to be counted in bits; the elements
    looked at."""
    forget_places(g, 0)
    view, order = load_i64(g, G.VIEW), load_i64(g, G.ORDER)
    low, high = 0, MOST
    if order == BELOW:
        high = x
    elif order == ABOVE:
        low = x + 1
    start, end = row_slice(p, view, x, low, high)
    near, size = neighbours(p, view), end - start
    words = (size + 63) >> 6
    places = load_i64(g, G.MOST)
    if words > 0:
        places = min(places, load_i64(g, G.ROOM) // (words * load_i64(g, G.RELATION_COUNT)))
    # one more place than positions: an outer vertex whose row is needed takes it
    if places <= size or not pays(p, view, near, start, end, words, load_i64(g, G.WORTH)):
        store_i64(g, G.ON, 0)
        return 8
    place, vids = load_i64(g, G.PLACE), load_i64(g, G.VIDS)
    for at in range(size):
        y = load_u32(near, start + at)
        store_u32(place, y, at + 1)
        store_u32(vids, at, y)
    store_i64(g, G.ON, 1)
    store_i64(g, G.LIST, near + 4 * start)
    store_i64(g, G.SIZE, size)
    store_i64(g, G.WORDS, words)
    store_i64(g, G.USED, size)
    store_i64(g, G.PLACES, places)
    for i in range(load_i64(g, G.START_COUNT)):
        start_set(p, g, load_i64(g, G.STARTS) + i * ST.N * 8)
    return 8 + 2 * size


@compiled
def set_of(g: Graph, number: int) -> int:
    """The address of a set."""
    return load_i64(g, G.SETS) + number * load_i64(g, G.WORDS) * 8


@compiled
def start_set(p: Pointers, g: Graph, row: int) -> None:
    """Make a set of all positions whose vids meet the conditions of its table row."""
    words, size, near = load_i64(g, G.WORDS), load_i64(g, G.SIZE), load_i64(g, G.LIST)
    out = set_of(g, load_i64(row, ST.SET))
    fill_words(out, words, -1)
    keep_range(
        out,
        words,
        lower_bound(near, 0, size, load_i64(row, ST.LO)),
        lower_bound(near, 0, size, load_i64(row, ST.HI)),
    )
    bits = load_i64(row, ST.BITS)
    if bits >= 0:
        held = load_i64(load_i64(p, P.BITS), bits)
        for at in range(size):
            if has_bit(held, load_u32(near, at)) == 0:
                clear_position(out, at)
    n = 0
    for w in range(words):
        n += ones(load_i64(out, w))
    store_i64(load_i64(g, G.COUNTS), load_i64(row, ST.SET), n)


# ---- rows ------------------------------------------------------------------------------------------


@compiled
def place_of(g: Graph, x: int) -> int:
    """The place of a vid; one that has none gets one, and where there is none left the others lose theirs, but for
    the positions."""
    found = load_u32(load_i64(g, G.PLACE), x)
    if found != 0:
        return found - 1
    if load_i64(g, G.USED) == load_i64(g, G.PLACES):
        forget_places(g, load_i64(g, G.SIZE))
    slot = load_i64(g, G.USED)
    store_u32(load_i64(g, G.PLACE), x, slot + 1)
    store_u32(load_i64(g, G.VIDS), slot, x)
    store_i64(g, G.USED, slot + 1)
    return slot


@compiled
def mark_neighbours(p: Pointers, g: Graph, view: int, x: int, out: int, order: int) -> None:
    """Set the positions of a vid's neighbours that are in this order to it in a row of zeros. A hub has few neighbours
    of a lower number; where it has very many for so few positions, these are searched among them."""
    place, size, near = load_i64(g, G.PLACE), load_i64(g, G.SIZE), load_i64(g, G.LIST)
    low, high = load_u32(near, 0), load_u32(near, size - 1) + 1
    if order == BELOW:
        high = min(high, x)
    elif order == ABOVE:
        low = max(low, x + 1)
    start, end = row_slice(p, view, x, low, high)
    others = neighbours(p, view)
    if end - start > GALLOP * size:
        for at in range(size):
            x = load_u32(near, at)
            start = lower_bound(others, start, end, x)
            if start < end and load_u32(others, start) == x:
                set_position(out, at)
        return
    for at in range(start, end):
        found = load_u32(place, load_u32(others, at)) - 1
        if found >= 0 and found < size:
            set_position(out, found)


@compiled
def keep_order(g: Graph, out: int, slot: int, x: int, order: int) -> None:
    """Leave of a row the positions that are in this order to a vid, which is at a place."""
    words, size = load_i64(g, G.WORDS), load_i64(g, G.SIZE)
    below, above = slot, slot + 1
    if slot >= size:
        below = lower_bound(load_i64(g, G.LIST), 0, size, x)
        above = below
    if order == BELOW:
        keep_range(out, words, 0, below)
    elif order == ABOVE:
        keep_range(out, words, above, size)
    else:
        keep_range(out, words, 0, size)


@compiled
def make_row(p: Pointers, g: Graph, relation: int, slot: int, out: int) -> None:
    """Make the row that a place has in a relation; there is at least one position."""
    row = load_i64(g, G.RELATIONS) + relation * R.N * 8
    words, x = load_i64(g, G.WORDS), load_u32(load_i64(g, G.VIDS), slot)
    view, order = load_i64(row, R.VIEW), load_i64(row, R.ORDER)
    if view < 0:
        fill_words(out, words, -1)
        keep_order(g, out, slot, x, order)
    else:
        fill_words(out, words, 0)
        mark_neighbours(p, g, view, x, out, order)
        if load_i64(row, R.ANTI) != 0:
            for w in range(words):
                store_i64(out, w, ~load_i64(out, w))
            keep_order(g, out, slot, x, order)
    if load_i64(row, R.DIFFERS) != 0 and slot < load_i64(g, G.SIZE):
        clear_position(out, slot)


@compiled
def place_of_row(g: Graph, relation: int, slot: int) -> tuple[int, int]:
    """(address of the flag whether it is made, address) of the row that a place has in a relation."""
    at = slot * load_i64(g, G.RELATION_COUNT) + relation
    return load_i64(g, G.MADE) + at, load_i64(g, G.ROWS) + at * load_i64(g, G.WORDS) * 8


@compiled
def take_part(p: Pointers, g: Graph, whole: int, slot: int, order: int, out: int) -> None:
    """Make the row that is a part of what a place has in relation `whole`, of the neighbours on both sides."""
    made, row = place_of_row(g, whole, slot)
    if load_u8(made, 0) == 0:
        store_u8(made, 0, 1)
        make_row(p, g, whole, slot, row)
    for w in range(load_i64(g, G.WORDS)):
        store_i64(out, w, load_i64(row, w))
    keep_order(g, out, slot, load_u32(load_i64(g, G.VIDS), slot), order)


@compiled
def row_of(p: Pointers, g: Graph, relation: int, slot: int) -> int:
    """The address of the row that a place has in a relation."""
    made, out = place_of_row(g, relation, slot)
    if load_u8(made, 0) == 0:
        store_u8(made, 0, 1)
        row = load_i64(g, G.RELATIONS) + relation * R.N * 8
        if load_i64(row, R.WHOLE) >= 0:
            take_part(p, g, load_i64(row, R.WHOLE), slot, load_i64(row, R.ORDER), out)
        else:
            make_row(p, g, relation, slot, out)
    return out


# ---- sets ------------------------------------------------------------------------------------------


@compiled
def meet(left: int, row: int, words: int, out: int) -> int:
    """Write what two rows have in common; how many positions."""
    n = 0
    for w in range(words):
        both = load_i64(left, w) & load_i64(row, w)
        store_i64(out, w, both)
        n += ones(both)
    return n


@compiled
def count_meet(left: int, row: int, words: int) -> int:
    """How many positions two rows have in common."""
    n = 0
    for w in range(words):
        n += ones(load_i64(left, w) & load_i64(row, w))
    return n


@compiled
def compute_bits(p: Pointers, g: Graph, d: int) -> int:
    """Run the operations that depend on level d; -1 if a set came out empty, else about the elements looked at."""
    here = load_i64(g, G.LEVELS) + d * B.N * 8
    words, counts = load_i64(g, G.WORDS), load_i64(g, G.COUNTS)
    if words == 0:
        return -1
    first, last = load_i64(here, B.K), load_i64(here, B.K_END)
    for k in range(first, last):
        op = load_i64(g, G.OPERATIONS) + k * OP.N * 8
        own = load_i64(op, OP.LEVEL)
        if own >= load_i64(g, G.FIRST):
            slot = load_i64(load_i64(g, G.LEVELS) + own * B.N * 8, B.AT)
        else:
            slot = place_of(g, load_i64(load_i64(p, P.V), own))
        row = row_of(p, g, load_i64(op, OP.RELATION), slot)
        out = load_i64(op, OP.OUT)
        n = meet(set_of(g, load_i64(op, OP.LEFT)), row, words, set_of(g, out))
        store_i64(counts, out, n)
        if n == 0:
            return -1
    return (last - first) * (4 + words)
