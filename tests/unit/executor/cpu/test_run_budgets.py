"""A run under a budget: the same answers however little fits it; what does not fit lies in temporary files."""

from __future__ import annotations

import errno
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gdb import planner
from gdb.base import usage
from gdb.base.budget import ROWS, Budget
from gdb.errors import OutOfBudget, StoreError
from gdb.executor.cpu import launch, sizing, walk_memory, walkers, workers
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.plan.embeddings import NO_COLUMNS, Wanted
from gdb.executor.relational import arrow
from gdb.executor.walk import Conditions, Differ, Question
from gdb.executor.work.scheduler import Watch
from gdb.query_graph import DIFFERENT_NODES, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.columns.python_columns import column_of
from gdb.storage.disk import arrays, scratch_folder
from gdb.storage.format.direction import Direction
from tests.support.backends import rows_on_cpu
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.support.strategies import cases
from tests.unit.executor.cpu.test_walkers import steps
from tests.unit.executor.test_executors import bag


@pytest.fixture(autouse=True)
def every_array_is_worth_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "LEAST_FILED", 1)
    monkeypatch.setattr(launch, "WORTH_A_THREAD", 0)


def watch() -> Watch:
    return Watch(None, None, None)


def in_file(
    count: int, dtype: type[np.generic], what: str, budget: Budget
) -> npt.NDArray[np.generic]:
    """As `arrays.placed` where nothing has room."""
    return np.frombuffer(arrays._in_file(count * np.dtype(dtype).itemsize, what, budget), dtype)


def triangles(n: int = 40, *, counting: bool = True) -> Prepared:
    """Of the complete graph."""
    edges = [("E", a, b) for b in range(n) for a in range(b)]
    graph = SmallGraph([()] * n, edges, frozenset("E"))
    vertices = tuple(QueryVertex(str(k)) for k in range(3))
    pairs = ((0, 1), (1, 2), (0, 2))
    query = QueryGraph(
        vertices,
        tuple(QueryEdge(a, b, direction=Direction.ANY) for a, b in pairs),
        mode=DIFFERENT_NODES,
    )
    return prepare(planner.plan(query, graph, counting=counting), graph)


@settings(
    max_examples=share(120),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(cases(), st.sampled_from([1, 500, 4000, 1 << 20]), st.sampled_from([1, 2]))
def test_answers_do_not_depend_on_the_budget(
    case: tuple[SmallGraph, QueryGraph], limit: int, threads: int
) -> None:
    graph, query = case
    counted = planner.plan(query, graph, counting=True)
    prepared, budget = prepare(counted, graph), Budget(limit)
    want = launch.count(prepared, watch(), Budget(), 1)
    for _ in range(2):  # workers that lie in files are not kept for the second run
        assert launch.count(prepared, watch(), budget, threads) == want
        assert budget.used == 0
        assert budget.most <= limit
    listed = planner.plan(query, graph, counting=False)
    stage = prepare(listed, graph)
    rows = bag(rows_on_cpu(stage, watch(), Budget(), 1, 1000), listed)
    assert bag(rows_on_cpu(stage, watch(), Budget(limit), threads, 1000), listed) == rows
    known = sorted(launch.distinct(stage, watch(), Budget(), 0, 1).tolist())
    assert sorted(launch.distinct(stage, watch(), Budget(limit), 0, threads).tolist()) == known


def test_what_does_not_fit_lies_in_files() -> None:
    found = []
    for limit in (None, 1 << 30, 100, 1):
        prepared, budget = triangles(), Budget(limit)
        found.append(launch.count(prepared, watch(), budget, 1))
        assert bool(budget.filed) == (limit in (100, 1))
        assert bool(prepared.idle["cpu"]) == (
            limit not in (100, 1)
        )  # what lies in files is not kept
    assert len(set(found)) == 1
    whole = Budget(1)
    tallies = launch.tallies(prepared, watch(), whole, 1)
    assert int(tallies.sum()) == found[0]
    assert "a number for each vertex" in whole.filed


def test_workers_shrink_before_they_become_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = triangles(300)
    every = sizing.fit_workers(prepared, NO_COLUMNS, 8, 1 << 16, Budget())
    assert (every.threads, every.room, every.capacity) == (8, workers.ROOM, 1 << 16)
    monkeypatch.setattr(sizing, "FILED", 0)
    sizes = [
        sizing.fit_workers(prepared, NO_COLUMNS, 8, 1 << 16, Budget(1 << k))
        for k in range(30, 5, -1)
    ]
    for larger, smaller in pairwise(sizes):
        assert larger.threads >= smaller.threads
        assert larger.room >= smaller.room
    assert sizes[0].threads == 8
    assert sizes[-1].threads == 1
    few = next(size for size in sizes if size.threads < 8)
    assert few.room == workers.ROOM >> 3  # all that may be taken from rows of bits was


def test_buffers_of_rows_shrink() -> None:
    prepared = triangles(counting=False)
    wanted = Wanted((0, 1, 2))
    sizes = [sizing.fit_workers(prepared, wanted, 2, 1 << 16, Budget(1 << k)) for k in (30, 20, 10)]
    assert sizes[0].capacity == 1 << 16
    assert sizes[0].capacity > sizes[1].capacity > sizes[2].capacity == sizing.FEWEST_ROWS


def test_a_part_gives_back_all_but_rows() -> None:
    whole = Budget(1000)
    with whole.part() as own:
        own.take(600, "workers")
        own.take(100, ROWS)
        assert not own.fits(400, "workers")
        with pytest.raises(OutOfBudget, match=r"needs 1,100 bytes for more"):
            own.take(400, "more")
        assert (whole.used, whole.left, own.left) == (700, 300, 300)
    assert (whole.used, whole.most, whole.peaks) == (100, 700, {"workers": 600, ROWS: 100})
    with whole.part() as own:
        assert own.fits(900, "workers")
        assert not own.fits(1, "workers")


def test_two_runs_share_the_budget_of_their_query() -> None:
    whole = Budget(1000)
    with whole.part() as one, whole.part() as other:
        assert one.fits(600)
        assert not other.fits(600)
        assert other.fits(400)


def test_walks_and_searches_are_the_same_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = [("R", k, (3 * k + j) % 60) for k in range(60) for j in range(1, 4)]
    graph = SmallGraph([()] * 60, edges)
    starts = np.arange(60, dtype=np.uint32)
    over = steps(graph, (), Direction.OUT)
    asked = Question(over, 60, 180, starts, 1, 3, Differ.EDGES)
    free = Conditions(lambda: None)
    for ask in (walkers.tally_ends, walkers.reach_ends, walkers.count_paths):
        want = ask(asked, free)
        tight = Conditions(lambda: None, Budget(1 << 20))
        with monkeypatch.context() as patch:  # what is found has room, marks have none
            for module in (walkers, walk_memory):
                patch.setattr(module, "placed", in_file)
            got = ask(asked, tight)
        assert bool(tight.budget.filed) == (ask is not walkers.count_paths)
        assert sorted(zip(*(x.tolist() for x in got), strict=True)) == sorted(
            zip(*(x.tolist() for x in want), strict=True)
        )


def test_a_full_disk_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StoreError, match="No space left"):
        launch.count(triangles(), watch(), Budget(1), 1)


def test_without_a_folder_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch_folder, "of_process", lambda: None)
    with pytest.raises(OutOfBudget, match="TMPDIR"):
        launch.count(triangles(), watch(), Budget(1), 1)


def test_arrays_are_placed_by_the_query_of_the_thread() -> None:
    assert usage.room() is None
    with usage.Usage() as own:
        assert usage.room() is None
        assert usage.budget(None) is own.budget
    with usage.Usage(1000) as own:
        room = usage.room()
        assert room is own.budget is usage.budget(1000)
        assert usage.budget(2000) is not room
        first = arrays.placed(100, np.uint32, "graph", room)
        second = arrays.placed(200, np.uint32, "graph", room)
    assert (room.held, room.filed) == ({"graph": 400}, {"graph": 800})
    for array, count in ((first, 100), (second, 200)):
        assert array.shape == (count,)
        assert not array.any()
        array[:] = 7
        assert int(array.sum()) == 7 * count
    again = arrays.filed(first, "graph", room)
    assert again is not first
    assert (again == first).all()


def test_tables_in_files_are_the_same_tables() -> None:
    words = column_of(["one", None, "", "twenty-two " * 9, "x"])
    numbers = column_of([1, None, 3, 4, 5])
    flags = column_of([True, False, None, True, True])
    lists = arrow.list_array(np.array([2, 0, 1, 0, 3]), arrow.int64_array(np.arange(6)))
    whole = [*(arrow.column_array(one) for one in (words, numbers, flags)), lists]
    names = ["words", "numbers", "flags", "lists"]
    for begin, end in ((0, 5), (1, 4)):
        table = arrow.struct_array(
            names, [arrow.part(one, begin, end) for one in whole], end - begin
        )
        budget = Budget(1)
        made = arrow.move_to_files(table, arrays.Shelf(budget, ROWS))
        assert made.to_pylist() == table.to_pylist()
        assert budget.filed
    long = arrow.int64_array(np.arange(1000))
    few = arrow.struct_array(["few"], [arrow.part(long, 990, 1000)], 10)
    budget = Budget(1)
    assert arrow.move_to_files(few, arrays.Shelf(budget, ROWS)).to_pylist() == few.to_pylist()
    assert not budget.filed  # a part of a longer column stays where it is


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux says what is resident")
def test_rows_in_files_are_not_resident() -> None:
    def resident() -> int:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.partition("RssFile:")[2].split()[0]) << 10

    before, shelf = resident(), arrays.Shelf(Budget(1), ROWS)
    data = np.arange(1 << 20, dtype=np.uint8).repeat(3)
    made = [shelf.put(data) for _ in range(32)]  # 96 MB
    assert resident() - before < 48 << 20
    assert all((one == data).all() for one in made)
    assert resident() - before > 64 << 20  # read, they are
    arrays.let_go()
    assert resident() - before < 24 << 20
    assert (made[7] == data).all()
