"""The first rows by one column (ORDER BY ... LIMIT): of the embeddings that are found only those go on that may be
among them.

Embeddings come in blocks. The key of each is compared with the worst of the best ones so far, before any other column
of it is gathered, so that a query for ten rows of millions keeps some hundred. Equal keys are all kept: the keys behind
the first one decide between them in the tail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdb.base import waiting
from gdb.records import replace
from gdb.storage.columns.model import I64, Column, Kind
from gdb.storage.columns.slices import Slice

from ..plan.embeddings import Embeddings
from .relational_tail import First, gather_one

if TYPE_CHECKING:
    from gdb.storage.graph.snapshot import Snapshot

KINDS: frozenset[Kind] = frozenset(
    ("int64", "float64", "bool", "date", "datetime", "duration", "string")
)
"""The kinds of columns that have ranks."""
MOST = 1 << 16
"""Rows that may be wanted; the best ones so far are gone through for each block."""

MOST_KEPT = 1 << 22
"""Data vertices whose ranks are kept at most, 9 bytes each."""

_LEAST, _LARGEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_PREFIX = 8  # bytes of a text


class TopRows:
    """What of the embeddings of a run may be among the first rows. Several threads may use it."""

    def __init__(self, first: First, snapshot: Snapshot) -> None:
        self._first, self._snapshot = first, snapshot
        self._lock = waiting.Lock()
        self._best = np.zeros(0, np.int64)
        self._worst: int | None = None  # of the best ones, where there are as many as wanted
        self._rows = 0  # that were gone through, all but those of the threads beside
        # of the data vertices that came, where rows are more than these are: their ranks, and which ones are known
        self._by_vid: tuple[I64, npt.NDArray[np.bool_]] | None = None

    def pick(self, some: Embeddings) -> Embeddings:
        """Those of some embeddings that may be among the first rows."""
        count, ranks = self._first.count, self._ranks(some)
        rows = np.arange(len(ranks))
        worst = self._worst
        if worst is not None:
            rows = np.flatnonzero(ranks >= worst)
        if len(rows) > count:
            rows = rows[ranks[rows] >= _best_of(ranks[rows], count)[0]]
        if not len(rows):
            return some.part(0, 0)
        with self._lock:
            self._best = np.concatenate([self._best, ranks[rows]])
            if len(self._best) >= count:
                self._best = _best_of(self._best, count)
                self._worst = int(self._best[0])
        if len(rows) == len(some):
            return some
        return replace(some, vids=some.vids[rows], eids=some.eids[rows])

    def _ranks(self, some: Embeddings) -> I64:
        """For each row a number that is larger where the row comes earlier, and equal where its key decides nothing."""
        column, count = self._first.column, self._snapshot.vertex_count
        self._rows += len(some)
        if column.element != "vertex" or count > min(self._rows, MOST_KEPT):
            return self._computed(some)
        vids = some.vertex(column.index)
        if len(vids) and int(vids.max()) >= count:  # of an optional part that matched nothing
            return self._computed(some)
        if self._by_vid is None:
            self._by_vid = np.zeros(count, np.int64), np.zeros(count, np.bool_)
        ranks, known = self._by_vid
        rows = np.flatnonzero(~known[vids])
        if len(rows):  # other threads may do the same, with the same result
            new = replace(some, vids=some.vids[rows], eids=some.eids[rows])
            ranks[vids[rows]] = self._computed(new)
            known[vids[rows]] = True
        found: I64 = ranks[vids]
        return found

    def _computed(self, some: Embeddings) -> I64:
        first = self._first
        made = gather_one(first.column, some, self._snapshot)
        if not isinstance(made, Slice):  # nothing has the key
            return np.zeros(len(some), np.int64)
        column = made.taken()
        ranks = ranks_of(column)
        if not first.descending:
            ranks = ~ranks
        if column.valid is not None:
            ranks = np.where(column.valid, ranks, _LARGEST if first.nulls_first else _LEAST)
        return ranks


def ranks_of(column: Column) -> I64:
    """For each value a number, i64[n]: of two values the larger one's is not the smaller. Nulls have any.

    column : of one of `KINDS`. Of texts the first bytes decide, of floats NaN is the largest, as in ORDER BY.
    """
    values = column.values
    if column.kind == "string":
        assert column.offsets is not None
        return _prefixes(values.view(np.uint8), column.offsets)
    if column.kind == "float64":
        numbers = np.where(np.isnan(values), np.nan, values + 0.0)  # one NaN, and no -0.0
        bits = numbers.astype(np.float64).view(np.int64)
        return bits ^ ((bits >> 63) & np.int64(_LARGEST))
    return values.astype(np.int64)


def _prefixes(data: npt.NDArray[np.uint8], offsets: I64) -> I64:
    """The first bytes of each text, as numbers in the order of these bytes."""
    begins, lengths = offsets[:-1], np.diff(offsets)
    if not len(data):
        return np.full(len(begins), _LEAST)
    found = np.zeros(len(begins), np.uint64)
    for place in range(_PREFIX):
        at = np.minimum(begins + place, len(data) - 1)
        byte = np.where(lengths > place, data[at], 0).astype(np.uint64)
        found |= byte << np.uint64(8 * (_PREFIX - 1 - place))
    return (found ^ np.uint64(1 << 63)).view(np.int64)


def _best_of(ranks: I64, count: int) -> I64:
    """The ranks of the first `count` rows, that of the last one of them at the front; i64[count]."""
    place = len(ranks) - count
    return np.partition(ranks, place)[place:]
