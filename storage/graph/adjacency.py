"""The view of a partition that planner and executors see: sorted neighbour lists behind an interval
index.

One `Adjacency` is one part of an edge-label partition (ELP), or the union of several (a
relationship with several types, or one without direction). Rows are found through the interval
index (geneva-tpds §4.1).
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gdb.base.waiting import LEAST
from gdb.records import dataclass

from ..disk.arrays import filled
from ..format.direction import Direction

U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]
Places: TypeAlias = "I64 | slice"
"""What an array is indexed with."""


class Shape(NamedTuple):
    """What planning needs of an adjacency, which is known before it is read: `Adjacency` says what its numbers are."""

    rows: int
    edges: int
    simple: bool
    loops: bool

    @property
    def mean_degree(self) -> float:
        """Mean length of a row."""
        return self.edges / max(self.rows, 1)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Adjacency:
    """Neighbour lists of all vertices that have an edge of the given types in the given direction.

    types : the edge types united here, sorted.
    direction : as seen from the row's vertex. In ANY an edge is in the rows of both ends (a
        self-loop once).
    first : u32[k], first vid of each interval, ascending.
    length : u32[k], number of vids in each interval.
    row : u32[k], row number of each interval's first vid.
    offsets : i64[rows + 1].
    neighbours : u32[m], ascending within a row; parallel edges repeat a neighbour.
    simple : no row holds a neighbour twice.
    loops : some row holds its own vertex.
    max_degree : longest row.
    """

    types: tuple[str, ...]
    direction: Direction
    first: U32
    length: U32
    row: U32
    offsets: I64
    neighbours: U32
    simple: bool
    loops: bool
    max_degree: int

    @property
    def arrays(self) -> tuple[U32, U32, U32, I64, U32]:
        """What it consists of, in the order of its fields."""
        return self.first, self.length, self.row, self.offsets, self.neighbours

    @property
    def shape(self) -> Shape:
        """Numbers of rows and neighbours, and whether there are parallel edges and self-loops."""
        return Shape(self.rows, len(self.neighbours), self.simple, self.loops)

    @property
    def rows(self) -> int:
        """Number of vertices that have a row."""
        return int(self.offsets.shape[0] - 1)

    def rows_of(self, vids: U32) -> I64:
        """Row number of each vid, -1 where it has none; i64[n]."""
        if not self.first.shape[0]:
            return np.full(vids.shape, -1, np.int64)
        if self.first.shape[0] == 1:
            low, row = int(self.first[0]), int(self.row[0])
            rows = vids.astype(np.int64)
            rows += row - low
            if len(vids) and not (row <= rows.min() and rows.max() < row + int(self.length[0])):
                rows[(rows < row) | (rows >= row + int(self.length[0]))] = -1
            return rows
        at = self.first.searchsorted(vids, "right").astype(np.int64) - 1
        inside = np.maximum(at, 0)
        step = vids.astype(np.int64) - self.first[inside]
        known = (at >= 0) & (step >= 0) & (step < self.length[inside])
        return np.where(known, self.row[inside] + step, -1)

    def rows_at(self, vids: U32) -> tuple[Places, Places]:
        """The rows of ascending, distinct vids that all have one, and the row behind each of these, to index arrays of
        rows with: two slices, which cost nothing, where vids and rows follow one another, else i64[n] each."""
        if len(vids) and int(vids[-1]) - int(vids[0]) == len(vids) - 1:
            low = int(vids[0])
            at = int(self.first.searchsorted(low, "right")) - 1
            begin = int(self.row[at]) + low - int(self.first[at])
            if begin + len(vids) <= int(self.row[at]) + int(self.length[at]):
                return slice(begin, begin + len(vids)), slice(begin + 1, begin + len(vids) + 1)
        rows = self.rows_of(vids)
        return rows, rows + 1

    def degrees_of(self, vids: U32) -> I64:
        """Number of neighbours of each vid (parallel edges count), 0 where it has no row;
        i64[n]."""
        rows = self.rows_of(vids)
        safe = np.maximum(rows, 0)
        if not self.rows:
            return np.zeros(vids.shape, np.int64)
        return np.where(rows >= 0, self.offsets[safe + 1] - self.offsets[safe], 0)

    def present(self, vids: U32) -> tuple[I64, I64]:
        """Which of ascending vids have a row, by their places, and the degree of each of these; i64[n] both. Costs a
        search for each interval, or for each vid where these are fewer, and what is found."""
        if len(self.first) > len(vids):
            rows = self.rows_of(vids)
            places = np.flatnonzero(rows >= 0)
            rows = rows[places]
        else:
            start = np.searchsorted(vids, self.first)
            end = np.searchsorted(vids, self.first + self.length)
            counts = end - start
            if len(counts) == 1 and counts[0] == self.length[0]:  # all of its vids
                return np.arange(start[0], end[0]), self.offsets[1:] - self.offsets[:-1]
            before = np.cumsum(counts) - counts
            places = np.arange(int(counts.sum())) + np.repeat(start - before, counts)
            rows = vids[places] + np.repeat(self.row.astype(np.int64) - self.first, counts)
        return places, self.offsets[rows + 1] - self.offsets[rows]

    def rows_between(self, low: int, high: int) -> tuple[int, int]:
        """The rows of the vids in [low, high): the first, and the one behind the last."""
        return self._rows_below(low), self._rows_below(high)

    def _rows_below(self, vid: int) -> int:
        k = int(self.first.searchsorted(vid)) - 1
        return (
            int(self.row[k]) + min(vid - int(self.first[k]), int(self.length[k])) if k >= 0 else 0
        )

    def vids(self, begin: int = 0, end: int | None = None) -> U32:
        """The vid of every row, or of the rows [begin, end), u32[rows] ascending."""
        end = self.rows if end is None else end
        if begin >= end:
            return np.zeros(0, np.uint32)
        first, length, _ = self.intervals_of(begin, end)
        runs = [_ascending(*run) for run in zip(first.tolist(), length.tolist(), strict=True)]
        return np.concatenate(runs) if len(runs) > 1 else runs[0]

    def intervals_of(self, begin: int, end: int) -> tuple[U32, U32, U32]:
        """The intervals of the rows [begin, end), which is not empty: first vid, length and first row, u32[k] each."""
        ends = self.row.astype(np.int64) + self.length
        low, high = np.searchsorted(ends, begin, side="right"), np.searchsorted(self.row, end)
        row = np.maximum(self.row[low:high], begin).astype(np.uint32)
        length = np.minimum(ends[low:high], end) - row
        return self.first[low:high] + (row - self.row[low:high]), length.astype(np.uint32), row

    def neighbours_of(self, vid: int) -> U32:
        """The neighbours of one vid, u32[d] ascending; empty where it has no row."""
        row = int(self.rows_of(np.array([vid], np.uint32))[0])
        if row < 0:
            return self.neighbours[:0]
        return self.neighbours[self.offsets[row] : self.offsets[row + 1]]


def _ascending(first: int, count: int) -> U32:
    """So many vids from the first on; many on all cores."""

    def vids(begin: int, end: int) -> U32:
        return np.arange(first + begin, first + end, dtype=np.uint32)

    return vids(0, count) if count < LEAST else filled(count, np.uint32, vids)
