"""Ascending arrays of distinct numbers: vids, ranks, keys. Those of a transaction are mostly few beside many, or in
order already, so that nothing here hashes, as `np.unique` does."""

from __future__ import annotations

from bisect import bisect_left
from typing import TypeVar

import numpy as np

from gdb.base import usage

from ..columns.model import I64, U32
from .pcsr import U64, stable_order

Numbers = TypeVar("Numbers", U32, I64)
Keys = TypeVar("Keys", I64, U64)


def distinct(numbers: Numbers) -> Numbers:
    """The distinct numbers, ascending."""
    if len(numbers) <= 1 or (numbers[1:] > numbers[:-1]).all():
        return numbers
    numbers = numbers.copy()
    numbers.sort()
    again = np.zeros(len(numbers), np.bool_)
    again[1:] = numbers[1:] == numbers[:-1]
    return numbers[~again]


def numbered(values: I64) -> tuple[I64, I64]:
    """The first place of each distinct value, in the order of these, i64[k], and of each value the number of its own
    among them, i64[n]. What goes on meanwhile is looked at, as by `gdb.base.usage.pulse`."""
    count = len(values)
    if count <= 1 or (values[1:] > values[:-1]).all():
        places = np.arange(count, dtype=np.int64)
        return places, places
    order = stable_order(values)
    usage.pulse()
    ascending = values[order]
    fresh = np.ones(count, np.bool_)
    fresh[1:] = ascending[1:] != ascending[:-1]
    usage.pulse()
    numbers = np.empty(count, np.int64)
    numbers[order] = np.cumsum(fresh) - 1
    return order[fresh], numbers


def merged_order(ascending: Keys, more: Keys) -> I64:
    """The order in which ascending numbers and others, one behind the other, are ascending; of equal ones the first
    come first. i64[n + m]. Cost: of one more a copy, of several a sort."""
    count, fresh = len(ascending), len(more)
    if fresh > 1:
        return np.concatenate([ascending, more]).argsort(kind="stable")
    order = np.arange(count + fresh, dtype=np.int64)
    if fresh:
        at = int(ascending.searchsorted(more[0], "right"))
        order[at + 1 :] = order[at:-1].copy()
        order[at] = count
    return order


def place_of(distinct: memoryview, wanted: int) -> int:
    """The place of an integer of any size among ascending distinct ones, -1 where it is not among them. Arrays would
    cost more than the search for one.

    As they are distinct, the place is at most as far from either end as the integer is from the number there: of ids
    that follow one another nothing is left to search.
    """
    last = len(distinct) - 1
    if last < 0:
        return -1
    low, high = last - (distinct[last] - wanted), wanted - distinct[0]
    if low > last or high < 0:
        return -1
    at = bisect_left(distinct, wanted, max(low, 0), min(high, last))
    return at if distinct[at] == wanted else -1


def unite_ascending(numbers: Numbers, more: Numbers) -> Numbers:
    """The numbers of two such arrays as one. Cost: a copy, and a search for each of `more`."""
    if not len(numbers) or not len(more):
        return numbers if len(numbers) else more
    at = numbers.searchsorted(more)
    fresh = numbers.take(at, mode="clip") != more
    at, more = at[fresh], more[fresh]
    found: Numbers
    if len(more) == 1:
        found = np.concatenate((numbers[: at[0]], more, numbers[at[0] :]))
        return found
    places = at + np.arange(len(more))
    found = np.empty(len(numbers) + len(more), numbers.dtype)
    new = np.zeros(len(found), np.bool_)
    new[places] = True
    found[places], found[~new] = more, numbers
    return found


def last_places(keys: U32 | U64) -> tuple[U64, I64]:
    """The distinct keys ascending, and the last place of each."""
    if len(keys) == 1 or (keys[1:] > keys[:-1]).all():
        return keys.astype(np.uint64), np.arange(len(keys), dtype=np.int64)
    ascending, first = np.unique(keys[::-1].astype(np.uint64), return_index=True)
    return ascending, (len(keys) - 1 - first).astype(np.int64)


def expanded(low: I64, high: I64) -> tuple[I64, I64]:
    """The integers of half-open ranges, behind the number of the range, i64[n] each."""
    if len(low) == 1:
        first, end = int(low[0]), int(high[0])
        return np.zeros(end - first, np.int64), np.arange(first, end, dtype=np.int64)
    counts = high - low
    if (counts == 1).all():
        return np.arange(len(counts)), low
    at = np.arange(len(counts)).repeat(counts)
    return at, np.arange(len(at)) + (low - counts.cumsum() + counts).repeat(counts)
