"""Blocks of views: of some rows, and of some vids in all rows, against lists in Python."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb.base import usage
from gdb.base.budget import Budget
from gdb.errors import Cancelled
from gdb.storage.disk import arrays
from gdb.storage.format.direction import Direction
from gdb.storage.graph import row_blocks
from gdb.storage.graph.adjacency import Adjacency
from gdb.storage.graph.row_blocks import Side, block, size_of, sizes_of
from tests.support.effort import share
from tests.support.small_graph import SmallGraph

KEPT = {
    Side.BOTH: lambda x, vid: True,
    Side.BELOW: lambda x, vid: x < vid,
    Side.ABOVE: lambda x, vid: x > vid,
}


@st.composite
def views(draw: st.DrawFn) -> Adjacency:
    """With gaps between the vids of rows, parallel edges and loops."""
    vertex = st.integers(0, 11)
    edges = draw(st.lists(st.tuples(st.just("R"), vertex, vertex), min_size=1, max_size=30))
    graph = SmallGraph([()] * 12, edges, frozenset())
    return graph.adjacency(("R",), draw(st.sampled_from(Direction)))


@settings(max_examples=share(200), deadline=None)
@given(views(), st.sampled_from(Side), st.data())
def test_blocks_are_what_they_say(view: Adjacency, side: Side, data: st.DataObject) -> None:
    low, high = sorted(data.draw(st.tuples(st.integers(0, 13), st.integers(0, 13))))
    vids = sorted(data.draw(st.tuples(st.integers(0, 13), st.integers(0, 13))))
    rows = view.rows_between(low, high)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_blocks, "_READ", 3)  # several reads
        found = block(view, rows, (vids[0], vids[1]), len(view.neighbours), Budget(), side)
    assert found.vids().tolist() == view.vids()[slice(*rows)].tolist()
    longest = 0
    for vid in range(14):
        wanted = [
            x
            for x in view.neighbours_of(vid).tolist()
            if low <= vid < high and vids[0] <= x < vids[1] and KEPT[side](x, vid)
        ]
        assert found.neighbours_of(vid).tolist() == wanted
        longest = max(longest, len(wanted))
    assert found.max_degree == longest
    assert len(found.neighbours) == found.offsets[-1]


@settings(max_examples=share(100), deadline=None)
@given(views(), st.sampled_from(Side))
def test_sizes(view: Adjacency, side: Side) -> None:
    """Of ABOVE with the own vid, so that they are never too small."""
    wanted = [
        sum(side is Side.BOTH or (x < vid) == (side is Side.BELOW) for x in view.neighbours_of(vid))
        for vid in view.vids().tolist()
    ]
    assert sizes_of(view, side).tolist() == wanted
    half = view.rows // 2
    assert sizes_of(view, side, (half, view.rows)).tolist() == wanted[half:]
    assert size_of(view, side, (0, half)) == sum(wanted[:half])
    across = [(Side.BOTH, Side.BOTH), (Side.BELOW, Side.ABOVE), (Side.ABOVE, Side.BELOW)]
    assert side.across is dict(across)[side]


def test_reading_ahead(tmp_path: Path) -> None:
    """Of a part of a map that begins anywhere; of memory nothing."""
    size = 1 << 16
    (tmp_path / "file").write_bytes(bytes(size))
    with (tmp_path / "file").open("rb") as file:
        whole = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    asked: list[tuple[int, ...]] = []

    class Watched(mmap.mmap):
        def madvise(self, *how: int) -> None:
            asked.append(how)

    with (tmp_path / "file").open("rb") as file:
        watched = Watched(file.fileno(), size, access=mmap.ACCESS_READ)
    array = np.frombuffer(watched, np.uint8)[100 : 100 + 4 * 10000].view(np.uint32)
    page = mmap.PAGESIZE
    arrays.read_ahead(array, 2000, 4000)
    first = (100 + 8000) // page * page
    assert asked == [(mmap.MADV_WILLNEED, first, 100 + 16000 - first)]
    arrays.read_ahead(array, 5, 5)
    arrays.read_ahead(np.zeros(100, np.uint32), 0, 100)
    assert len(asked) == 1
    arrays.read_ahead(np.frombuffer(whole, np.uint8), 0, size)  # the system takes it


def test_a_query_that_is_stopped_reads_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = SmallGraph([()] * 3, [("R", 0, 1), ("R", 1, 2)], frozenset())
    view = graph.adjacency(("R",), Direction.ANY)

    def stop() -> None:
        raise Cancelled("stopped")

    monkeypatch.setattr(usage, "pulse", stop)
    with pytest.raises(Cancelled):
        block(view, (0, 3), (0, 3), 4, Budget())
