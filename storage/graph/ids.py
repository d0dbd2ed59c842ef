"""User ids both ways: a column of ids for each vertex group, and a sorted index for each id space.

The index of integer ids is the ids ascending beside their vids. That of string ids is a 64-bit hash
of each, ascending, beside the vids; a look-up compares the string itself, so that a collision
costs a comparison and never an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from gdb.errors import ImportFailed
from gdb.records import dataclass

from ..columns.model import I64, INT64, U8, U32, Column, Kind, from_strings
from .ascending import expanded, place_of
from .pcsr import stable_order

Bools = npt.NDArray[np.bool_]

U64 = npt.NDArray[np.uint64]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = (30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)  # of splitmix64
_MASK = (1 << 64) - 1
SHORT = 256  # bytes of one string that are hashed in Python, not by arrays
_STRIPE = 1 << 22  # strings hashed at a time: bounds the memory beside the bytes


@dataclass(frozen=True, slots=True, eq=False)
class IdIndex:
    """keys : i64[n] ids or u64[n] hashes, ascending; vids : u32[n] beside them."""

    keys: I64 | U64
    vids: U32


def column_of(ids: I64 | list[str]) -> Column:
    """The ids of a vertex table as a column."""
    if isinstance(ids, list):
        try:
            return from_strings(ids)
        except UnicodeEncodeError:
            raise ImportFailed("a vertex id is not valid Unicode", "Repair the input.") from None
    return Column("int64", ids.astype(np.int64, copy=False))


def hash_strings(data: U8, offsets: I64) -> U64:
    """The hash of each string of a column, u64[n] (docs/FORMAT.md, *Id index*)."""
    found = np.empty(offsets.shape[0] - 1, np.uint64)
    if (
        found.shape[0] == 1
        and (one := data[offsets[0] : offsets[1]].tobytes())
        and len(one) < SHORT
    ):
        found[0] = hash_one(one)
        return found
    for begin in range(0, found.shape[0], _STRIPE):
        part = offsets[begin : begin + _STRIPE + 1]
        found[begin : begin + _STRIPE] = _hash(data[part[0] : part[-1]], part - part[0])
    return found


def _hash(data: U8, offsets: I64) -> U64:
    """Sum of (byte + 1) * M**(position + 1) mod 2**64, mixed with the length by splitmix64."""
    lengths = np.diff(offsets)
    powers = np.full(int(lengths.max(initial=0)), _MULTIPLIER)
    np.cumprod(powers, out=powers)
    position = np.arange(data.shape[0]) - np.repeat(offsets[:-1], lengths)
    sums = np.zeros(data.shape[0] + 1, np.uint64)
    np.cumsum((data.astype(np.uint64) + np.uint64(1)) * powers[position], out=sums[1:])
    mixed: U64 = sums[offsets[1:]] - sums[offsets[:-1]] + lengths.astype(np.uint64)
    for shift, factor in _MIXERS:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def hash_one(text: bytes) -> int:
    """The same of one string, in Python: for a short one."""
    found, factor = 0, int(_MULTIPLIER)
    for byte in reversed(text):
        found = (found + byte + 1) * factor & _MASK
    found = found + len(text) & _MASK
    for shift, mixer in _MIXERS:
        found = (found ^ (found >> shift)) * mixer & _MASK
    return found ^ (found >> 31)


def build(ids: Column, vids: U32, space: str) -> IdIndex:
    """The index of one id space.

    Raises
    ------
    ImportFailed : an id occurs twice.
    """
    keys: I64 | U64
    if ids.offsets is None:
        keys = ids.values.astype(np.int64, copy=False)
    else:
        keys = hash_strings(ids.values.astype(np.uint8, copy=False), ids.offsets)
    if len(vids) == 1:
        return IdIndex(keys, vids)
    order = stable_order(keys)
    keys = keys[order]
    repeats = (keys[1:] == keys[:-1]).nonzero()[0]
    if repeats.shape[0]:
        if ids.offsets is None:
            raise _twice(int(keys[repeats[0]]), space)
        suspects = np.unique(np.concatenate([repeats, repeats + 1]))
        seen: set[object] = set()
        for value in ids.take(order[suspects]).to_list():
            if value in seen:
                raise _twice(value, space)
            seen.add(value)
    return IdIndex(keys, vids[order])


def extend_index(index: IdIndex, ids: Column, vids: U32, space: str) -> IdIndex | None:
    """An index with more ids; None where one of these may be a duplicate, which `build` finds out. Raises as `build`.

    Cost: a copy of the index, and what the new ids take.
    """
    more = build(ids, vids, space)
    if not len(index.keys):
        return more
    at = index.keys.searchsorted(more.keys)
    inside = (at < len(index.keys)).nonzero()[0]
    if (index.keys[at[inside]] == more.keys[inside]).any():
        return None
    if len(at) == 1:  # `insert` takes ten times as long
        before, after = slice(at.item(0)), slice(at.item(0), None)
        own, known = index.keys, index.vids
        merged = cast("I64 | U64", np.concatenate((own[before], more.keys, own[after])))
        return IdIndex(merged, np.concatenate((known[before], more.vids, known[after])))
    keys = cast("I64 | U64", np.insert(index.keys, at, more.keys))
    return IdIndex(keys, np.insert(index.vids, at, more.vids))


def _twice(value: object, space: str) -> ImportFailed:
    inside = f" of the id space {space!r}" if space else ""
    return ImportFailed(
        f"the vertex id {value!r}{inside} occurs twice",
        "Ids must be unique within an id space; remove the duplicate or use another id space.",
    )


def find(
    index: IdIndex,
    kind: Kind,
    wanted: I64 | Sequence[int | str],
    ids_of: Callable[[U32], Sequence[int | str]],
) -> I64:
    """The vid of each id of an index of ids of one kind, -1 where there is none; i64[n]. ids_of : gives the ids of
    vids."""
    if isinstance(wanted, np.ndarray):
        if kind == "int64":
            if len(wanted) == 1:
                return np.array((find_integer(index, int(wanted[0])),), np.int64)
            return find_integers(index, wanted)
        return np.full(wanted.shape[0], -1, np.int64)
    if len(wanted) == 1 and kind == "int64" and type(wanted[0]) is int:
        return np.array((find_integer(index, wanted[0]),), np.int64)
    found = np.full(len(wanted), -1, np.int64)
    if kind == "string":
        texts = [(n, value) for n, value in enumerate(wanted) if isinstance(value, str)]
        if texts:
            found[[n for n, _ in texts]] = find_strings(
                index, [value for _, value in texts], ids_of
            )
        return found
    numbers = [
        (n, value) for n, value in enumerate(wanted) if isinstance(value, int) and value in INT64
    ]
    if numbers:
        values = np.array([value for _, value in numbers], np.int64)
        found[[n for n, _ in numbers]] = find_integers(index, values)
    return found


def find_integers(index: IdIndex, wanted: I64) -> I64:
    """The vid of each id, -1 where there is none; i64[n]."""
    if not index.keys.shape[0]:
        return np.full(wanted.shape[0], -1, np.int64)
    at = np.minimum(index.keys.searchsorted(wanted), index.keys.shape[0] - 1)
    found: I64 = index.vids[at].astype(np.int64)
    found[index.keys[at] != wanted] = -1
    return found


def find_integer(index: IdIndex, wanted: int) -> int:
    """The vid of one id, -1 where there is none, as for what has more than 64 bits."""
    at = place_of(index.keys.data, wanted)
    return index.vids.item(at) if at >= 0 else -1


def find_strings(
    index: IdIndex, wanted: Sequence[str], ids_of: Callable[[U32], Sequence[int | str]]
) -> I64:
    """The vid of each id, -1 where there is none; `ids_of` gives the ids of vids. i64[n]."""
    found = np.full(len(wanted), -1, np.int64)
    try:
        column = from_strings(wanted)
    except UnicodeEncodeError:
        return found if len(wanted) == 1 else _find_valid(index, wanted, ids_of)
    if column.offsets is None:
        return found
    hashes = hash_strings(column.values.astype(np.uint8, copy=False), column.offsets)
    low = np.searchsorted(index.keys, hashes, side="left")
    rows, places = expanded(low, np.searchsorted(index.keys, hashes, side="right"))
    candidates = index.vids[places]
    for number, vid, text in zip(
        rows.tolist(), candidates.tolist(), ids_of(candidates), strict=True
    ):
        if text == wanted[number]:
            found[number] = vid
    return found


def first_known(found: I64, wanted: I64 | Sequence[str]) -> int | None:
    """The first row whose id a vertex has, or a row before it; None where there is none. found : the vids, or -1."""
    if isinstance(wanted, np.ndarray):
        if (wanted[1:] > wanted[:-1]).all():
            again = False
        else:
            ascending = np.sort(wanted)
            again = bool((ascending[1:] == ascending[:-1]).any())
    else:
        again = len(set(wanted)) < len(wanted)
    if not again and not (found >= 0).any():
        return None
    seen: set[object] = set()
    for row, (value, vid) in enumerate(zip(wanted, found.tolist(), strict=True)):
        if vid >= 0 or value in seen:
            return row
        seen.add(value)
    return None


def free_ids(indexes: Sequence[IdIndex], is_dead: Callable[[U32], Bools]) -> Iterator[int]:
    """`free_integers` of the ids in some indexes of vertices that are still there. is_dead : which vids are no more."""

    def alive(index: IdIndex) -> I64:
        keys = index.keys.view(np.int64)
        gone = is_dead(index.vids)
        return keys[~gone] if gone.any() else keys

    largest = max((_largest(one, is_dead) for one in indexes), default=-1)
    return free_integers((alive(one) for one in indexes), largest)


def _largest(index: IdIndex, is_dead: Callable[[U32], Bools]) -> int:
    """The largest id of a vertex that is still there; -1 where there is none."""
    stop, length = len(index.keys), 1
    while stop > 0:
        start = max(stop - length, 0)
        there = (~is_dead(index.vids[start:stop])).nonzero()[0]
        if len(there):
            return int(index.keys[start + there[-1]])
        stop, length = start, 4 * length
    return -1


def free_integers(taken: Iterable[I64], largest: int) -> Iterator[int]:
    """Integers that are no ids, one after the other: those after the largest id, then from 0 those between.

    taken : all ids, i64[n] ascending and distinct each, read only when the first integers are used up; from then on
    each integer costs a few binary searches. largest : of all ids.
    """
    first = max(largest + 1, 0)
    yield from range(first, 1 << 63)
    arrays, free = tuple(taken), 0
    while (free := _not_in(arrays, free)) < first:
        yield free
        free += 1


def _not_in(taken: Sequence[I64], wanted: int) -> int:
    """The smallest integer from `wanted` on that is in none of the arrays."""
    before = -1
    while before != wanted:
        before = wanted
        for keys in taken:
            wanted = _behind_run(keys, wanted)
    return wanted


def _behind_run(keys: I64, wanted: int) -> int:
    """`wanted`, or where it is among the keys the first integer after it that is not."""
    first = int(keys.searchsorted(wanted)) if wanted < 1 << 63 else len(keys)
    if first == len(keys) or keys[first] != wanted:
        return wanted
    low, high = first, len(keys)  # the key at low is one of the run, that at high is not
    while high - low > 1:
        middle = (low + high) // 2
        if int(keys[middle]) - wanted == middle - first:
            low = middle
        else:
            high = middle
    return int(keys[low]) + 1


def _find_valid(
    index: IdIndex, wanted: Sequence[str], ids_of: Callable[[U32], Sequence[int | str]]
) -> I64:
    """As `find_strings`, where some of the texts cannot be UTF-8 and so are no ids."""
    return np.concatenate([find_strings(index, [text], ids_of) for text in wanted])


@dataclass(frozen=True, slots=True, eq=False)
class Added:
    """The index of ids that a delta added. stop : the vids below are in it; dead : but for these."""

    index: IdIndex
    stop: int
    dead: U32


def are_same(column: Column | None, ids: Column | None) -> bool:
    """Whether a property holds exactly these ids."""
    if column is None or ids is None or column.kind != ids.kind or len(column) != len(ids):
        return False
    if column.valid is not None and not column.valid.all():
        return False
    first = slice(0, 64)  # nearly every other property differs here
    if not np.array_equal(column.values[first], ids.values[first]):
        return False
    if (
        column.offsets is not None
        and ids.offsets is not None
        and not np.array_equal(column.offsets, ids.offsets)
    ):
        return False
    return np.array_equal(column.values, ids.values)
