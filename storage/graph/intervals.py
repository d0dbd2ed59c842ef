"""The interval index: which vertices have a row in a partition (geneva-tpds §4.1).

Contiguous vids share one entry (first vid, how many, row of the first), so that a look-up is a
search in a short array. `Adjacency.rows_of` is the look-up; here are its building and its inverse.
"""

from __future__ import annotations

import numpy as np

from gdb.records import dataclass

from ..columns.model import I64, U32

_FEW = 16  # intervals that are written out one by one
_NONE = np.zeros(0, np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """first, length, row : u32[k], ascending; see `gdb.storage.graph.adjacency.Adjacency`."""

    first: U32
    length: U32
    row: U32

    def __len__(self) -> int:
        return int(self.first.shape[0])

    @property
    def arrays(self) -> tuple[U32, U32, U32]:
        """First vid, length and first row of each interval."""
        return self.first, self.length, self.row

    @property
    def rows(self) -> int:
        """Number of vertices indexed."""
        return int(self.length.sum(dtype=np.int64))

    def vids(self) -> U32:
        """The vid of every row, u32[rows] ascending."""
        if len(self) <= _FEW:
            ends = self.first.astype(np.int64) + self.length
            pairs = zip(self.first.tolist(), ends.tolist(), strict=True)
            # what is read from a file may go beyond 32 bits: it is refused later
            parts = [np.arange(a, b).astype(np.uint32) for a, b in pairs]
            return parts[0] if len(parts) == 1 else np.concatenate([_NONE, *parts])
        shift = self.first.astype(np.int64) - self.row.astype(np.int64)
        rows = np.arange(self.rows, dtype=np.int64)
        return (rows + np.repeat(shift, self.length)).astype(np.uint32)


def of_vids(vids: U32) -> Intervals:
    """The interval index of ascending, distinct vids; u32[rows] -> k intervals."""
    if not vids.shape[0]:
        none = np.zeros(0, np.uint32)
        return Intervals(none, none, none)
    breaks = np.flatnonzero(vids[1:] - vids[:-1] != 1)
    row = np.zeros(len(breaks) + 2, np.int64)
    row[1:-1], row[-1] = breaks + 1, vids.shape[0]
    return of_lengths(vids[row[:-1]], (row[1:] - row[:-1]).astype(np.uint32))


def of_lengths(first: U32, length: U32) -> Intervals:
    """The interval index of the first vids and lengths alone: rows follow one another."""
    row = np.zeros(first.shape[0], np.uint32)
    np.cumsum(length[:-1], out=row[1:])
    return Intervals(first, length, row)


def vids_of_rows(first: U32, row: U32, rows: I64) -> U32:
    """The vid of each row number, i64[n] -> u32[n]; the inverse of `Adjacency.rows_of`."""
    at = np.searchsorted(row, rows, side="right") - 1
    return (first[at].astype(np.int64) + (rows - row[at])).astype(np.uint32)


def merge_ranges(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Half-open ranges, sorted, with those that touch made one."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], stop)
        else:
            found.append((start, stop))
    return tuple(found)
