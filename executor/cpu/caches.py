"""Counts that the workers of a run keep for when they come again (`gdb.executor.nest.interface_caches`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gdb.base.machine.compile import compiled
from gdb.base.machine.memory import load_i64, load_shared, load_u32, store_i64, store_shared
from gdb.storage.graph.adjacency import I64
from gdb.storage.graph.row_loops import lower_bound

from .address import N_CHECK, C, K, P, Pointers, X
from .sets import find_row, neighbours

NOBODY = -1  # in a key: a vertex that does not matter
MIX = 0x2545F4914F6CDD1D
FIRST_SLOTS = (
    256  # of a cache that has not shown yet that it pays: those of all lie in few pages of memory
)
TRIAL = 256  # look-ups between two judgements; after four times as many as it has slots a cache that does not pay may
# have more, where its look-ups take less than one part in so many of the work, or is switched off
CHEAP = 4.0
STEPS = 6  # of the kernel, that one look-up takes
# steps counted anew, from which on a cache may grow: memory takes time to be there
WORTH_MEMORY = 1 << 16
SMALL = 64.0  # questions that take less than one part in so many of the work need not pay


class SharedCounts(NamedTuple):
    """What the caches of the workers of one run keep. A slot that two write at a time has the check of neither, so that
    it is not found (Hyatt, Mann: A Lockless Transposition Table Implementation for Parallel Search, ICGA Journal 2002).

    masks : the number of slots of each cache, less one, i64[caches]. few, more : the slots of all caches, the first few
    of each and those of the caches that have grown. runs : numbers of runs, by which their counts differ. run : of
    this one. filed : the slots lie in a temporary file, which is the run's.
    """

    masks: I64
    few: I64
    more: I64
    runs: Iterator[int]
    run: int
    filed: bool


@compiled
def cache_of(p: Pointers, c: int) -> int:
    """Address of the table of cache c, i64[K.N]."""
    return load_i64(p, P.CACHES) + c * K.N * 8


@compiled
def matters(p: Pointers, x: int) -> bool:
    """Whether a stranger (its row) may be a candidate of a level that has to differ from it; found out anew when what
    its tests read is bound anew."""
    v, stamps = load_i64(p, P.V), load_i64(p, P.STAMPS)
    checks = load_i64(p, P.CHECKS)
    own = load_i64(x, X.LEVEL)
    newest = load_i64(stamps, own)
    for c in range(load_i64(x, X.CHECK), load_i64(x, X.CHECK_END)):
        newest = max(newest, load_i64(stamps, load_i64(checks + c * N_CHECK * 8, C.B)))
    if load_i64(x, X.STAMP) == newest:
        return load_i64(x, X.MATTERS) == 1
    vid = load_i64(v, own)
    found = 0
    for c in range(load_i64(x, X.CHECK), load_i64(x, X.CHECK_END)):
        row = checks + c * N_CHECK * 8
        view = load_i64(row, C.A)
        start, end = find_row(p, view, load_i64(v, load_i64(row, C.B)))
        near = neighbours(p, view)
        at = lower_bound(near, start, end, vid)
        if at < end and load_u32(near, at) == vid:
            found = 1
            break
    store_i64(x, X.STAMP, newest)
    store_i64(x, X.MATTERS, found)
    return found == 1


@compiled
def mask_of(k: int) -> int:
    """The number of slots of a cache, less one."""
    return load_shared(load_i64(k, K.MASK), 0)


@compiled
def look_up_steps(k: int) -> float:
    """Steps that a look-up takes."""
    width = load_i64(k, K.KEY_END) - load_i64(k, K.KEY)
    width += 4 * (load_i64(k, K.STRANGER_END) - load_i64(k, K.STRANGER))
    return float(STEPS + width)


@compiled
def counted_steps(k: int) -> float:
    """Mean steps of what a cache did not know."""
    return float(load_i64(k, K.STEPS)) / float(load_i64(k, K.ASKED) - load_i64(k, K.KNOWN) + 1)


@compiled
def pays(k: int) -> bool:
    """Whether a cache has saved more steps than its look-ups took, or these are negligible beside the work."""
    asked, known = float(load_i64(k, K.ASKED)), float(load_i64(k, K.KNOWN))
    return (known + asked / SMALL) * counted_steps(k) > asked * look_up_steps(k)


@compiled
def grows(k: int, paid: bool) -> bool:
    """Whether a cache is to have more slots: with those that it has it pays, or look-ups are cheap beside the work, so
    that more may pay."""
    if mask_of(k) == load_i64(k, K.MOST_MASK):
        return False
    if paid:
        return load_i64(k, K.STEPS) > WORTH_MEMORY
    return counted_steps(k) > CHEAP * look_up_steps(k)


@compiled
def slots_of(k: int, mask: int) -> int:
    """Where the slots of a cache lie that has so many, less one."""
    return load_i64(k, K.FEW) if mask < FIRST_SLOTS else load_i64(k, K.MORE)


@compiled
def grow(k: int, width: int) -> None:
    """Let a cache, whose slots are so many numbers wide, have four times as many, if it may."""
    mask = mask_of(k)
    more = min(4 * mask + 3, load_i64(k, K.MOST_MASK))
    slots, grown = slots_of(k, mask), slots_of(k, more)
    for i in range(mask + 1):
        slot = slots + i * width * 8
        mixed = load_shared(slot, 0) ^ load_shared(slot, 1)
        moved = grown + ((mixed >> 24) & more) * width * 8
        if mixed != 0 and moved != slot:
            for j in range(width):
                store_shared(moved, j, load_shared(slot, j))
    store_shared(load_i64(k, K.MASK), 0, more)


@compiled
def recall(p: Pointers, c: int, total: int, spent: int) -> int:
    """The address of cache c where it knows the count for what is bound now, which is its COUNT; 0 on a miss, after
    which `keep` stores the count. total, spent : before it is counted."""
    k = cache_of(p, c)
    store_i64(k, K.SLOT, 0)
    if load_i64(k, K.OFF) == 1:
        return 0
    v, refs = load_i64(p, P.V), load_i64(p, P.REFS)
    width = 2
    mixed = load_i64(k, K.RUN)
    for r in range(load_i64(k, K.KEY), load_i64(k, K.KEY_END)):
        value = load_i64(v, load_i64(refs, r))
        store_i64(k, K.VALUE + width - 2, value)
        mixed = (mixed ^ value) * MIX
        width += 1
    for s in range(load_i64(k, K.STRANGER), load_i64(k, K.STRANGER_END)):
        x = load_i64(p, P.STRANGERS) + s * X.N * 8
        value = load_i64(v, load_i64(x, X.LEVEL)) if matters(p, x) else NOBODY
        store_i64(k, K.VALUE + width - 2, value)
        mixed = (mixed ^ value) * MIX
        width += 1
    store_i64(k, K.MIXED, mixed)
    mask = mask_of(k)
    slot = slots_of(k, mask) + ((mixed >> 24) & mask) * width * 8
    queries = load_i64(k, K.ASKED) + 1
    store_i64(k, K.ASKED, queries)
    # the check: what several workers wrote parts of does not have it, nor what an earlier run wrote
    count = load_shared(slot, 1)
    same = load_shared(slot, 0) == mixed ^ count
    i = 2
    while same and i < width:
        same = load_shared(slot, i) == load_i64(k, K.VALUE + i - 2)
        i += 1
    if same:
        store_i64(k, K.KNOWN, load_i64(k, K.KNOWN) + 1)
        store_i64(k, K.COUNT, count)
        return k
    if queries % TRIAL == 0:
        paid, tried = pays(k), queries >= 4 * (mask + 1)
        if (paid or tried) and grows(k, paid):
            grow(k, width)
        elif tried and not paid:
            store_i64(k, K.OFF, 1)
            return 0
    store_i64(k, K.SLOT, slot)
    store_i64(k, K.TOTAL, total)
    store_i64(k, K.SPENT, spent)
    return 0


@compiled
def keep(p: Pointers, c: int, total: int, spent: int) -> None:
    """Put what cache c did not know into its slot. total, spent : after it was counted."""
    k = cache_of(p, c)
    slot = load_i64(k, K.SLOT)
    if slot == 0:
        return
    count = total - load_i64(k, K.TOTAL)
    store_shared(slot, 0, load_i64(k, K.MIXED) ^ count)
    store_shared(slot, 1, count)
    width = load_i64(k, K.KEY_END) - load_i64(k, K.KEY)
    width += load_i64(k, K.STRANGER_END) - load_i64(k, K.STRANGER)
    for i in range(width):
        store_shared(slot, 2 + i, load_i64(k, K.VALUE + i))
    store_i64(k, K.STEPS, load_i64(k, K.STEPS) + max(spent - load_i64(k, K.SPENT), 0))
    store_i64(k, K.SLOT, 0)
