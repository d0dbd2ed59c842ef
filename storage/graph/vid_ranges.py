"""Rows of a group's columns and the vids that they are of: the place of a vid in the concatenation of its ranges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gdb.base.once import cached_property

from ..columns.model import I64, U32
from .delta import Ranges, lengths_of

Bools = npt.NDArray[np.bool_]


class Extent:
    """Ranges of vids, half-open, ascending, none touching, each vid with its row: its place in their concatenation."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges

    @cached_property
    def _starts(self) -> I64:
        return np.array([start for start, _ in self.ranges], np.int64)

    @cached_property
    def _begins(self) -> I64:
        """The row at which each range begins, and the end."""
        return lengths_of(self.ranges)

    @cached_property
    def _bounds(self) -> I64:
        return np.array(self.ranges, np.int64).reshape(-1)

    @cached_property
    def count(self) -> int:
        """How many vids there are."""
        return sum(stop - start for start, stop in self.ranges)

    def rows(self, vids: U32) -> I64:
        """The row of each vid, i64[n]; all must be in a range."""
        if len(self.ranges) == 1:
            return vids.astype(np.int64) - self.ranges[0][0]
        starts = self._starts
        at = starts.searchsorted(vids, "right") - 1
        rows: I64 = vids.astype(np.int64) - starts[at] + self._begins[at]
        return rows

    def vids(self, rows: I64) -> U32:
        """The inverse of `rows`, u32[n]."""
        if len(self.ranges) == 1:
            return (rows + self.ranges[0][0]).astype(np.uint32)
        at = self._begins.searchsorted(rows, "right") - 1
        return (rows - self._begins[at] + self._starts[at]).astype(np.uint32)

    def vid(self, row: int) -> int:
        """As `vids`, of one row."""
        if len(self.ranges) == 1:
            return self.ranges[0][0] + row
        return int(self.vids(np.array([row], np.int64))[0])

    def has(self, vids: I64 | U32) -> Bools:
        """Which vids are in a range, bool[n]."""
        found: Bools
        if len(self.ranges) == 1:
            ((start, stop),) = self.ranges
            found = (vids >= start) & (vids < stop)
        else:
            found = self._bounds.searchsorted(vids, "right") % 2 == 1
        return found

    def holds(self, vid: int) -> bool:
        """`has`, for one vid."""
        if len(self.ranges) == 1:
            ((start, stop),) = self.ranges
            return start <= vid < stop
        return bool(self._bounds.searchsorted(vid, "right") % 2)

    def among(self, vids: U32) -> int:
        """How many of some vids, ascending and distinct, are in a range."""
        if not len(vids):
            return 0
        at = vids.searchsorted(self._bounds.astype(np.uint32))
        return int((at[1::2] - at[::2]).sum())


def by_number(numbers: npt.NDArray[np.int32] | I64) -> list[tuple[int, I64]]:
    """Each distinct number, ascending, and its places, i64[k] ascending."""
    if len(numbers) == 1 or (len(numbers) and (numbers == numbers[0]).all()):
        return [(int(numbers[0]), np.arange(len(numbers)))]
    return [(number, (numbers == number).nonzero()[0]) for number in np.unique(numbers).tolist()]


def vids_of(ranges: Ranges) -> U32:
    """The vids of ranges, u32[n] ascending."""
    if len(ranges) == 1:
        return np.arange(*ranges[0], dtype=np.uint32)
    return np.concatenate(
        [np.zeros(0, np.uint32), *(np.arange(a, b, dtype=np.uint32) for a, b in ranges)]
    )
