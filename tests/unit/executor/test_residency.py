"""What of a graph lies in device memory, and the account of a query there; none of it needs a device."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from gdb import planner
from gdb.errors import OutOfBudget, QueryError, TypeProblem
from gdb.executor.gpu import memory, residency
from gdb.executor.gpu.residency import Room
from gdb.executor.prepare import Prepared, prepare
from gdb.query_graph import SUBGRAPHS, QueryEdge, QueryGraph, QueryVertex
from gdb.run import options
from gdb.storage.adjacency import Direction
from tests.small_graph import SmallGraph


def prepared(*types: str) -> Prepared:
    """A wedge of relationships of these types, on a star of each."""
    edges = [(t, 0, x) for t in ("U", "V") for x in range(1, 30 if t == "U" else 10)]
    graph = SmallGraph([()] * 30, sorted(edges), frozenset("UV"))
    asked = tuple(QueryEdge(0, k + 1, (t,), Direction.ANY) for k, t in enumerate(types))
    query = QueryGraph((QueryVertex(),) * (1 + len(types)), asked, SUBGRAPHS)
    return prepare(planner.plan(query, graph, counting=True), graph)


@pytest.mark.parametrize("split", [False, True])
def test_an_extent_is_the_longest_that_fits(split: bool) -> None:
    view = prepared("U").views[0]
    each = residency.row_bytes(split=split)
    assert residency.extent(view, 0, split=split) == residency.Extent(0, 0)
    for room in range(residency.view_bytes(view, split=split) + 50):
        found = residency.extent(view, room, split=split)
        assert found.end == view.offsets[found.rows]

        def size(rows: int) -> int:
            return each * (rows + 1) + 4 * int(view.offsets[rows])

        assert found.rows == 0 or size(found.rows) <= room
        assert found.rows == view.rows or size(found.rows + 1) > room
    assert found.rows == view.rows


def test_a_graph_that_fits_is_whole() -> None:
    stage = prepared("U", "V")
    found = residency.split(stage, sys.maxsize)
    assert not found.cold
    assert found.streamed == 0
    sizes = [residency.view_bytes(v, split=stage.restricted) for v in stage.views]
    assert found.resident == sum(sizes)
    less = residency.split(stage, found.resident - 1)
    assert less.cold
    assert less.resident < found.resident == less.resident + less.streamed
    assert residency.split(stage, 0).resident == 0


def test_only_the_types_of_the_pattern_are_placed() -> None:
    large, small = (residency.split(prepared(name), sys.maxsize) for name in "UV")
    assert small.resident < large.resident


def test_explain_says_what_is_resident() -> None:
    stage = prepared("U")
    size = residency.split(stage, sys.maxsize).resident
    assert "all of it resident" in residency.described(stage, size)[0]
    lines = residency.described(stage, size // 2)
    assert "read in place through the link" in lines[0]
    extent = residency.split(stage, size // 2).extents[0]
    assert extent is not None
    assert f"the first {extent.rows} of 30 rows" in lines[1]


def test_an_account_holds_what_it_may() -> None:
    room = Room(100, 100)
    room.take(60, "its graph")
    assert room.left == 40
    with pytest.raises(
        OutOfBudget, match="101 bytes of GPU memory with its rows, over its gpu_memory of 100"
    ):
        room.take(41, "its rows")
    assert room.used == 60
    room.take(40, "its rows")
    assert room.left == 0


@pytest.mark.parametrize("asked", [0, 1, -5, "63MiB", residency.LEAST - 1])
def test_too_little_names_the_least(asked: int | str) -> None:
    with pytest.raises(QueryError, match="gpu_memory="):
        options.gpu_memory_bytes(asked, None)


def test_budgets_of_a_gpu() -> None:
    assert options.gpu_memory_bytes(None, None) is None
    assert options.gpu_memory_bytes(None, 1 << 30) == 1 << 30
    assert options.gpu_memory_bytes("64MiB", 1 << 30) == residency.LEAST
    with pytest.raises(QueryError, match="67,108,864"):
        options.gpu_memory_bytes("63MiB", None)
    with pytest.raises(TypeProblem):
        options.gpu_memory_bytes(1.5, None)  # type: ignore[arg-type]


def test_stages_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight threads that ask one query leave eight stages; the oldest of them go."""
    monkeypatch.setattr(memory, "MOST_KEPT", 100)
    kept, lists = memory.Kept(), ([], [])  # type: tuple[memory.Kept, tuple[list[object], list[object]]]
    stages = [np.zeros(1) for _ in range(4)]
    for k, stage in enumerate(stages):
        kept.keep(lists[k % 2], stage, 40)
    assert kept.bytes == 80
    assert kept.take(lists[0], lambda _: True) is stages[2]
    assert kept.take(lists[0], lambda _: True) is None
    large = np.zeros(2)
    kept.keep(lists[0], large, 1000)  # the last stays in any case
    assert kept.bytes == 1000
    assert kept.take(lists[1], lambda _: True) is None
    assert kept.take(lists[0], lambda _: True) is large
