"""Sorting while the clock is looked at: CPython sorts a list without a look at signals.

Runs are sorted one by one and merged two by two. A sort of two runs, one behind the other, is a merge: one comparison
for each item (T. Peters, listsort.txt, in the source of CPython).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from gdb.base.allowance import here, paced
from gdb.base.values.comparison import Key

T = TypeVar("T")
RUN = 1 << 15
"""Items that are sorted at once, some 30 ms."""


def in_order(
    items: Sequence[T], key: Callable[[T], Key | bool], *, descending: bool = False
) -> list[T]:
    """The items in the order of their keys; those with the same key stay as they are.

    Raises
    ------
    Cancelled, QueryTimeout.

    Examples
    --------
    >>> in_order([3, 1, 2], lambda number: (number,), descending=True)
    [3, 2, 1]
    """
    if len(items) <= RUN:
        return sorted(items, key=key, reverse=descending)
    keys = [key(item) for item in paced(items, len(items))]
    places = list(range(len(items)))
    width = RUN
    runs = [places[at : at + width] for at in range(0, len(places), width)]
    for run in runs:
        run.sort(key=keys.__getitem__, reverse=descending)
        here().tick(RUN)
    while len(runs) > 1:
        runs = [_merged(runs[at : at + 2], keys, descending) for at in range(0, len(runs), 2)]
    return [items[place] for run in runs for place in run]


def _merged(runs: list[list[int]], keys: Sequence[Key | bool], descending: bool) -> list[int]:
    both = [place for run in runs for place in run]
    here().tick(len(both) // 4)
    both.sort(key=keys.__getitem__, reverse=descending)
    return both
