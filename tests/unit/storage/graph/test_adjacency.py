"""Rows of a view by vids, and the interval index of a part of several segments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb.storage.disk import arrays
from gdb.storage.format.direction import Direction
from gdb.storage.graph import adjacency, intervals, part_reading, pcsr
from gdb.storage.graph.adjacency import Adjacency

VIDS = st.sets(st.integers(0, 60), min_size=1).map(sorted)


def view_of(vids: list[int]) -> Adjacency:
    """One with rows of these vids, of 1, 2, 3 and again 1 neighbours."""
    lengths = np.arange(len(vids)) % 3 + 1
    keys = np.concatenate(
        [
            (np.uint64(v) << np.uint64(32)) + np.arange(n, dtype=np.uint64)
            for v, n in zip(vids, lengths, strict=True)
        ]
    )
    return pcsr.build(keys).adjacency(("E",), Direction.OUT)


@given(VIDS, st.data())
def test_rows_at_are_those_of_rows_of(vids: list[int], data: st.DataObject) -> None:
    view = view_of(vids)
    begin = data.draw(st.integers(0, len(vids)))
    some = np.array(vids[begin : data.draw(st.integers(begin, len(vids)))], np.uint32)
    rows, after = view.rows_at(some)
    every = np.arange(view.rows + 1)
    assert np.array_equal(every[rows], view.rows_of(some))
    assert np.array_equal(every[after], view.rows_of(some) + 1)


def test_rows_at_of_vids_in_a_row_are_slices() -> None:
    view = view_of([3, 4, 5, 9, 10])
    assert view.rows_at(np.array([4, 5], np.uint32)) == (slice(1, 3), slice(2, 4))
    assert view.rows_at(np.array([9, 10], np.uint32)) == (slice(3, 5), slice(4, 6))
    rows, _ = view.rows_at(np.array([5, 9], np.uint32))
    assert not isinstance(rows, slice)


def test_vids_on_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    view = view_of(list(range(50)))
    monkeypatch.setattr(adjacency, "LEAST", 1)
    monkeypatch.setattr(arrays, "PIECE", 7)
    assert view.vids().tolist() == list(range(50))
    assert view.vids(3, 20).tolist() == list(range(3, 20))
    assert view.vids(20, 20).tolist() == []


@given(VIDS, st.data())
def test_joined_intervals_are_those_of_all_vids(vids: list[int], data: st.DataObject) -> None:
    """However the rows are cut into segments, and intervals are cut in these."""
    whole, pieces, at = np.array(vids, np.int64), [], 0
    while at < len(vids):
        end = data.draw(st.integers(at + 1, len(vids)))
        first, stop = whole[at:end], whole[at:end] + 1
        if data.draw(st.booleans()):
            index = intervals.of_vids(first.astype(np.uint32))
            first, stop = part_reading._ranges(index)
        pieces.append((first, stop))
        if data.draw(st.booleans()):  # the rest of a row that went on, which was the whole piece
            pieces.append((stop[-1:], stop[-1:]))
        at = end
    found, expected = part_reading._joined(pieces), intervals.of_vids(whole.astype(np.uint32))
    assert found is not None
    for one, other in zip(found.arrays, expected.arrays, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    "ranges", [[(3, 5), (4, 6)], [(3, 5), (1, 2)], [(3, 5), (3, 5)], [(7, (1 << 32) + 1)]]
)
def test_ranges_that_do_not_ascend_are_no_index(ranges: list[tuple[int, int]]) -> None:
    pieces = [(np.array([a], np.int64), np.array([b], np.int64)) for a, b in ranges]
    assert part_reading._joined(pieces) is None
