"""Loops over edges in machine code, each one pass over what NumPy goes through several times.

They take arrays of one dimension that lie as they are written here, and release the GIL.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gdb.base.machine.bits import ones
from gdb.base.machine.compile import compiled, together
from gdb.base.machine.memory import load_i64, load_u8, load_u32, store_i64, store_u32
from gdb.records import dataclass

from ..columns.model import I64, U8, U32, Rows
from ..disk.arrays import unset

U64 = npt.NDArray[np.uint64]

_LOW = 0xFFFFFFFF
_MULTIPLIER = -7046029254386353131  # 2**64 / the golden ratio, odd
_FEW = 1 << 16
_OVERLAPS = 1 << 40  # more than a set has bits
NONE = np.uint32(_LOW)  # in a table of rows: there is none


def _find_loop(ids: int, count: int, low: int, size: int, table: int, out: int) -> None:
    for k in range(count):
        at = load_i64(ids, k) - low
        row = -1
        if at >= 0 and at < size:
            row = load_u32(table, at)
            if row == _LOW:
                row = -1
        store_i64(out, k, row)


def _pack_loop(sources: int, targets: int, count: int, out: int, results: int) -> None:
    least = 0
    highest = -1
    loops = 0
    for k in range(count):
        a = load_i64(sources, k)
        b = load_i64(targets, k)
        least = min(least, min(a, b))
        highest = max(highest, max(a, b))
        loops += int(a == b)
        store_i64(out, k, (a << 32) | b)
    store_i64(results, 0, least)
    store_i64(results, 1, highest)
    store_i64(results, 2, loops)


def _count_loop(keys: int, count: int, sources: int, targets: int) -> None:
    for k in range(count):
        key = load_i64(keys, k)
        a = (key >> 32) & _LOW
        b = key & _LOW
        store_u32(sources, a, load_u32(sources, a) + 1)
        store_u32(targets, b, load_u32(targets, b) + 1)


def _renumber_loop(keys: int, count: int, vids: int, swap: bool, out: int) -> None:
    for k in range(count):
        key = load_i64(keys, k)
        a = load_u32(vids, (key >> 32) & _LOW)
        b = load_u32(vids, key & _LOW)
        store_i64(out, k, (b << 32) | a if swap else (a << 32) | b)


def _split_loop(
    keys: int, count: int, rows: int, starts: int, neighbours: int, results: int
) -> None:
    last = -1  # the row before
    before = 0  # the key before
    found = -1
    begin = 0
    repeats = 0
    loops = 0
    repeated = 0
    most = 0
    for k in range(count):
        key = load_i64(keys, k)
        row = (key >> 32) & _LOW
        neighbour = key & _LOW
        store_u32(neighbours, k, neighbour)
        loops += int(row == neighbour)
        if row != last:
            found += 1
            store_u32(rows, found, row)
            store_i64(starts, found, k)
            most = max(most, k - begin)
            begin = k
            last = row
        elif key == before:
            repeats += 1
            repeated += int(row == neighbour)
        before = key
    store_i64(results, 0, found + 1)
    store_i64(results, 1, repeats)
    store_i64(results, 2, loops)
    store_i64(results, 3, repeated)
    store_i64(results, 4, max(most, count - begin))


def _share_loop(counts: int, pairs: int, degrees: int, bits: int, words: int, mask: int) -> None:
    for pair in range(pairs):
        if load_i64(counts, pair) != 0:  # two counts: most are of vertices of other types
            for k in range(2 * pair, 2 * pair + 2):
                found = load_u32(counts, k)
                if found > 0:
                    store_i64(degrees, k, load_i64(degrees, k) + found)
                    store_i64(bits, k * words, load_i64(bits, k * words) | mask)


@compiled
def _mixed(group: int, bits: int, at: int, words: int) -> int:
    mixed = group * _MULTIPLIER
    for word in range(words):
        mixed = (mixed ^ load_i64(bits, at + word)) * _MULTIPLIER
        mixed = mixed ^ ((mixed >> 29) & _LOW)
    return mixed


@compiled
def _same(groups: int, bits: int, words: int, a: int, b: int) -> bool:
    apart = load_i64(groups, a) ^ load_i64(groups, b)
    for word in range(words):
        apart = apart | (load_i64(bits, a * words + word) ^ load_i64(bits, b * words + word))
    return apart == 0


def _classes_loop(
    groups: int, bits: int, words: int, count: int, table: int, size: int, members: int, out: int
) -> int:
    """The number of classes; -1 where they are more than half of the table, whose size is a power of two."""
    found = 0
    last = 0
    for k in range(count):
        if found > 0 and _same(groups, bits, words, load_i64(members, last), k):
            store_i64(out, k, last)
            continue
        at = _mixed(load_i64(groups, k), bits, k * words, words) & (size - 1)
        while True:
            last = load_u32(table, at) - 1
            if last < 0:
                if 2 * found >= size:
                    return -1
                store_i64(members, found, k)
                last = found
                found += 1
                store_u32(table, at, found)
                break
            if _same(groups, bits, words, load_i64(members, last), k):
                break
            at = (at + 1) & (size - 1)
        store_i64(out, k, last)
    return found


def _chain_loop(bits: int, words: int, count: int, before: int, left: int, out: int) -> None:
    """left : the numbers of those that are in no place yet, i64[count], used up."""
    for place in range(count):
        best = 0
        most = -1
        for k in range(count - place):
            own = bits + 8 * words * load_i64(left, k)
            size = 0
            overlap = 0
            for word in range(words):
                size += ones(load_i64(own, word))
                overlap += ones(load_i64(own, word) & load_i64(before, word))
            score = _OVERLAPS + overlap * _FEW - (size - overlap) if overlap > 0 else size
            if score > most:
                most = score
                best = k
        number = load_i64(left, best)
        store_i64(out, place, number)
        before = bits + 8 * words * number
        for k in range(best, count - place - 1):
            store_i64(left, k, load_i64(left, k + 1))


@compiled
def _row_of(keys: int, at: int, count: int) -> int:
    """The row of keys[at], or one above all rows where there is no such key."""
    return (load_i64(keys, at) >> 32) & _LOW if at < count else _LOW + 1


def _splice_loop(
    rows: int,
    count: int,
    offsets: int,
    near: int,
    removed: int,
    gone: int,
    added: int,
    more: int,
    rows_out: int,
    offsets_out: int,
    near_out: int,
    results: int,
) -> int:
    """1 where all that is to be removed is there, else 0."""
    at = 0  # the row of the part, the key that is removed next, that is added next
    r = 0
    a = 0
    found = 0  # rows and neighbours that are written
    length = 0
    most = 0
    repeats = 0
    loops = 0
    while at < count or a < more or r < gone:
        changed = min(_row_of(removed, r, gone), _row_of(added, a, more))
        begin = at
        while at < count and load_u32(rows, at) < changed:
            start = load_i64(offsets, at)
            store_u32(rows_out, found, load_u32(rows, at))
            store_i64(offsets_out, found, length + start - load_i64(offsets, begin))
            most = max(most, load_i64(offsets, at + 1) - start)
            found += 1
            at += 1
        start = load_i64(offsets, begin)
        end = load_i64(offsets, at)
        for k in range(end - start):
            store_u32(near_out, length + k, load_u32(near, start + k))
        length += end - start
        if changed > _LOW:
            continue
        if at < count and load_u32(rows, at) == changed:
            start = end
            end = load_i64(offsets, at + 1)
            at += 1
        else:
            start = end
        first = length
        adding = _row_of(added, a, more) == changed
        while start < end or adding:
            if adding and (start >= end or (load_i64(added, a) & _LOW) < load_u32(near, start)):
                x = load_i64(added, a) & _LOW
                a += 1
                adding = _row_of(added, a, more) == changed
            else:
                x = load_u32(near, start)
                start += 1
                if r < gone and load_i64(removed, r) == ((changed << 32) | x):
                    r += 1
                    continue
            if length > first:
                repeats += int(load_u32(near_out, length - 1) == x)
            loops += int(x == changed)
            store_u32(near_out, length, x)
            length += 1
        if _row_of(removed, r, gone) == changed:
            return 0
        if length > first:
            store_u32(rows_out, found, changed)
            store_i64(offsets_out, found, first)
            found += 1
            most = max(most, length - first)
    store_i64(offsets_out, found, length)
    store_i64(results, 0, found)
    store_i64(results, 1, repeats)
    store_i64(results, 2, loops)
    store_i64(results, 3, most)
    return 1


def _offsets_loop(lengths: int, count: int, mark: int, long: int, out: int) -> None:
    at = 0
    total = 0
    store_i64(out, 0, 0)
    for k in range(count):
        length = load_u8(lengths, k)
        if length == mark:
            length = load_u32(long, at)
            at += 1
        total += length
        store_i64(out, k + 1, total)


def _lengths_loop(offsets: int, rows: int, results: int) -> None:
    least = load_i64(offsets, 1) - load_i64(offsets, 0)
    most = least
    for k in range(1, rows):
        length = load_i64(offsets, k + 1) - load_i64(offsets, k)
        least = min(least, length)
        most = max(most, length)
    store_i64(results, 0, least)
    store_i64(results, 1, most)


def _ascend_loop(offsets: int, rows: int, near: int, step: int) -> int:
    """The first row with an entry below the one before it + `step`, else `rows`."""
    end = load_i64(offsets, 0)
    for k in range(rows):
        begin = end
        end = load_i64(offsets, k + 1)
        for at in range(begin + 1, end):
            if load_u32(near, at) < load_u32(near, at - 1) + step:
                return k
    return rows


(
    _find,
    _pack,
    _count,
    _split,
    _share,
    _classes,
    _chain,
    _renumber,
    _splice,
    _offsets,
    _lengths,
    _ascend,
) = together(
    _find_loop,
    _pack_loop,
    _count_loop,
    _split_loop,
    _share_loop,
    _classes_loop,
    _chain_loop,
    _renumber_loop,
    _splice_loop,
    _offsets_loop,
    _lengths_loop,
    _ascend_loop,
)


def find_rows(ids: I64, low: int, table: U32) -> I64:
    """table[ids - low], i64[n]; -1 outside of the table and where it has `NONE`."""
    ids = np.ascontiguousarray(ids)
    found = np.empty(len(ids), np.int64)
    _find(ids.ctypes.data, len(ids), low, len(table), table.ctypes.data, found.ctypes.data)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Keys `source row << 32 | target row`, u64[m]. least, highest : of the rows, or 0 and -1; keys of rows below 0
    mean nothing. loops : how often both ends are the same.
    """

    keys: U64
    least: int
    highest: int
    loops: int


def pack(sources: Rows, targets: Rows) -> Packed:
    """The keys of edges by their ends, i64[m] or u32[m]."""
    a, b = (np.ascontiguousarray(rows, np.int64) for rows in (sources, targets))
    keys, results = unset(len(a), np.uint64), np.empty(3, np.int64)
    _pack(a.ctypes.data, b.ctypes.data, len(a), keys.ctypes.data, results.ctypes.data)
    return Packed(keys, *results.tolist())


def count_ends(keys: U64, sources: U32, targets: U32) -> None:
    """Add to `sources`, u32[n], how often each row is the upper half of a key, to `targets` how often the lower one.
    All rows are below n."""
    keys = np.ascontiguousarray(keys)
    _count(keys.ctypes.data, len(keys), sources.ctypes.data, targets.ctypes.data)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Ascending keys as rows, u32[r], where each begins, i64[r], and the neighbours, u32[m]. repeats : how often a key
    follows an equal one; loops : how often a neighbour is its row; repeated_loops : both; max_degree : the length
    of the longest row.
    """

    rows: U32
    starts: I64
    neighbours: U32
    repeats: int
    loops: int
    repeated_loops: int
    max_degree: int


def split_keys(keys: U64) -> Split:
    """Ascending keys as rows and neighbours."""
    keys, count = np.ascontiguousarray(keys), len(keys)
    # no more of these is touched than there are rows
    rows, starts = unset(count, np.uint32), unset(count, np.int64)
    neighbours, results = unset(count, np.uint32), np.empty(5, np.int64)
    arrays = (rows, starts, neighbours, results)
    _split(keys.ctypes.data, count, *(array.ctypes.data for array in arrays))
    found, repeats, loops, repeated, most = results.tolist()
    return Split(
        rows[:found].copy(), starts[:found].copy(), neighbours, repeats, loops, repeated, most
    )


def add_counts(counts: U32, degrees: I64, bits: U64, part: int) -> None:
    """Add counts to degrees, i64[n], n even, and bit `part` to the `bits`, u64[n, words], of those that are not 0."""
    word, bit = divmod(part, 64)
    mask = 1 << bit if bit < 63 else -1 << 63
    at = bits.ctypes.data + 8 * word
    _share(counts.ctypes.data, len(counts) // 2, degrees.ctypes.data, at, bits.shape[1], mask)


def classes_of(groups: I64, bits: U64) -> tuple[I64, I64]:
    """The class of each vertex, i64[n], those of one group, i64[n], and the same bits, u64[n, words], being one; and
    the first vertex of each class, i64[k]. Classes are numbered as they are met."""
    groups, bits = np.ascontiguousarray(groups), np.ascontiguousarray(bits)
    count, words = bits.shape
    classes = np.empty(count, np.int64)
    size = _FEW
    while True:
        table, members = np.zeros(size, np.uint32), np.empty(size // 2, np.int64)
        arrays = (table.ctypes.data, size, members.ctypes.data, classes.ctypes.data)
        found = _classes(groups.ctypes.data, bits.ctypes.data, words, count, *arrays)
        if found >= 0:
            return classes, members[:found].copy()
        size <<= 4


def chained_by_overlap(bits: U64, before: U64) -> I64:
    """Sets of bits, u64[k, words], none empty, in the order of a chain, i64[k]: from each to the one with the largest
    overlap (geneva-tpds, algorithm 2, lines 7-20). The first overlaps most with `before`, u64[words], or else is the
    largest. Of equal overlaps the smallest set is next: it opens the fewest new intervals. O(k * k * words)."""
    bits, before = np.ascontiguousarray(bits), np.ascontiguousarray(before)
    count, words = bits.shape
    left, out = np.arange(count), np.empty(count, np.int64)
    at = before.ctypes.data, left.ctypes.data, out.ctypes.data
    _chain(bits.ctypes.data, words, count, *at)
    return out


def renumber_keys(keys: U64, vids: U32, *, swap: bool) -> U64:
    """The keys with vids[row] for each row, u64[m]; `swap` puts the lower half above. All rows are in `vids`."""
    keys = np.ascontiguousarray(keys)
    found = unset(len(keys), np.uint64)
    _renumber(keys.ctypes.data, len(keys), vids.ctypes.data, swap, found.ctypes.data)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Spliced:
    """Rows, u32[r], where each begins, i64[r + 1], and the neighbours, u32[m]. repeats, loops : in rows that changed,
    how often a neighbour is equal to the one before, or to its row. max_degree : the length of the longest row.
    """

    rows: U32
    offsets: I64
    neighbours: U32
    repeats: int
    loops: int
    max_degree: int


def splice(rows: U32, offsets: I64, neighbours: U32, removed: U64, added: U64) -> Spliced | None:
    """Ascending rows u32[r], their neighbours between offsets i64[r + 1], without some keys and with others, both
    ascending; of equal ones as many go as are named. None where one that is to go is not there. O(m)."""
    most_rows, most = len(rows) + len(added), len(neighbours) + len(added)
    found, starts = unset(most_rows, np.uint32), unset(most_rows + 1, np.int64)
    near, results = unset(most, np.uint32), np.empty(4, np.int64)
    inputs = [np.ascontiguousarray(one) for one in (rows, offsets, neighbours, removed, added)]
    r, o, n, gone, more = (one.ctypes.data for one in inputs)
    arrays = (one.ctypes.data for one in (found, starts, near, results))
    if not _splice(r, len(rows), o, n, gone, len(removed), more, len(added), *arrays):
        return None
    count, repeats, loops, longest = results.tolist()
    ends = starts[: count + 1].copy()
    return Spliced(found[:count].copy(), ends, near[: int(ends[-1])], repeats, loops, longest)


def offsets_of(lengths: U8, mark: int, long: U32, found: I64) -> I64:
    """Fill `found`, i64[n + 1] from 0, with the offsets of rows. lengths : u8[n], in which each `mark` means the next
    of the `long` ones; there are as many marks as long rows."""
    lengths, long = np.ascontiguousarray(lengths), np.ascontiguousarray(long)
    _offsets(lengths.ctypes.data, len(lengths), mark, long.ctypes.data, found.ctypes.data)
    return found


def lengths_of(offsets: I64) -> tuple[int, int]:
    """The lengths of the shortest and of the longest row between offsets i64[n + 1]; at least one row."""
    offsets, results = np.ascontiguousarray(offsets), np.empty(2, np.int64)
    _lengths(offsets.ctypes.data, len(offsets) - 1, results.ctypes.data)
    least, most = results.tolist()
    return least, most


def rows_ascend(offsets: I64, neighbours: U32, *, strictly: bool) -> bool:
    """Whether each row of neighbours, between ascending offsets i64[n + 1] that end with their number, ascends."""
    offsets, near = np.ascontiguousarray(offsets), np.ascontiguousarray(neighbours)
    rows = len(offsets) - 1
    return bool(_ascend(offsets.ctypes.data, rows, near.ctypes.data, int(strictly)) == rows)
