"""Rows of a group's columns and the vids that they are of: the place of a vid in the concatenation of its ranges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gdb.storage.delta import Ranges, lengths_of
from gdb.storage.model import I64, U32


def rows_in(ranges: Ranges, vids: U32) -> I64:
    """The place of each vid in the concatenation of the ranges, i64[n]; all must be in one."""
    if len(ranges) == 1:
        return vids.astype(np.int64) - ranges[0][0]
    starts = np.array([start for start, _ in ranges], np.int64)
    at = np.searchsorted(starts, vids, side="right") - 1
    rows: I64 = vids.astype(np.int64) - starts[at] + lengths_of(ranges)[at]
    return rows


def vids_at(ranges: Ranges, rows: I64) -> U32:
    """The inverse of `rows_in`, u32[n]."""
    if len(ranges) == 1:
        return (rows + ranges[0][0]).astype(np.uint32)
    starts, begins = np.array([start for start, _ in ranges], np.int64), lengths_of(ranges)
    at = np.searchsorted(begins, rows, side="right") - 1
    return (rows - begins[at] + starts[at]).astype(np.uint32)


def vids_of(ranges: Ranges) -> U32:
    """The vids of ranges, u32[n] ascending."""
    return np.concatenate(
        [np.zeros(0, np.uint32), *(np.arange(a, b, dtype=np.uint32) for a, b in ranges)]
    )


def inside(ranges: Ranges, vids: I64) -> npt.NDArray[np.bool_]:
    """Which vids are in ascending ranges, bool[n]."""
    bounds = np.array(ranges, np.int64).reshape(-1)
    found: npt.NDArray[np.bool_] = np.searchsorted(bounds, vids, "right") % 2 == 1
    return found
