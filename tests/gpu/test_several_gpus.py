"""Work units on several devices. One device that is named twice shows that every unit is some share's; what needs two
skips where there is one."""

from __future__ import annotations

import pytest

from gdb import planner
from gdb.errors import DeviceError, OutOfBudget
from gdb.executor.choose_device import choose
from gdb.executor.gpu import launch
from gdb.executor.gpu.stage import Share
from gdb.executor.nest.prepare import prepare
from gdb.executor.plan.embeddings import Deliver, Wanted
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import DIFFERENT_NODES
from tests.gpu.test_gpu_executor import bag, count_both, hub_graph, pattern, staged
from tests.support.backends import rows_on_cpu, whole_table

pytestmark = pytest.mark.gpu


def devices() -> list[tuple[int, ...]]:
    """The same one two and three times, and all that there are."""
    import cupy

    there = int(cupy.cuda.runtime.getDeviceCount())
    return [(0, 0), (0, 0, 0), tuple(range(there))]


def watch(limit: int | None = None) -> Watch:
    return Watch(None, None, limit)


@pytest.mark.parametrize("shape", ["edge", "triangle", "square", "clique", "tailed"])
def test_counts_add_up(shape: str) -> None:
    for graph in (hub_graph(3), hub_graph(4, multi=False)):
        prepared = staged(pattern(shape, DIFFERENT_NODES), graph, True)
        _, expected = count_both(prepared)
        for named in devices():
            for _ in range(2):  # placed, and as it was kept
                seen = watch()
                assert launch.counts([prepared], seen, Budget(), named)[0] == expected
                assert seen.kernel_seconds > 0
        shares = {
            Share(n, k, len(named)) for named in (*devices(), (0,)) for k, n in enumerate(named)
        }
        assert len(prepared.idle["gpu"]) == len(shares)


@pytest.mark.parametrize("limit", [None, 7])
def test_rows_are_all_there(limit: int | None) -> None:
    graph = hub_graph(5, 60, 80)
    prepared = staged(pattern("triangle", DIFFERENT_NODES), graph, False)
    expected = bag(rows_on_cpu(prepared, watch(), Budget(), 1, 1 << 16))
    for named in devices():
        seen = watch(limit)

        def run(
            wanted: Wanted,
            deliver: Deliver,
            seen: Watch = seen,
            named: tuple[int, ...] = named,
        ) -> None:
            launch.deliver_rows(prepared, seen, Budget(), wanted, deliver, named, 0, 33)

        found = bag(whole_table(prepared.plan, seen, run))
        assert found == expected if limit is None else found <= expected
        assert limit is None or found.total() >= limit


def test_distinct_values_are_one_list() -> None:
    prepared = staged(pattern("triangle", DIFFERENT_NODES), hub_graph(6), False)
    alone = launch.distinct(prepared, watch(), Budget(), 0)
    for named in devices():
        assert (launch.distinct(prepared, watch(), Budget(), 0, named) == alone).all()


def test_counts_of_each_vertex_add_up() -> None:
    graph = hub_graph(6)
    plan = planner.plan(pattern("triangle", DIFFERENT_NODES), graph, counting=True, root=0)
    prepared = prepare(plan, graph)
    alone = launch.tallies(prepared, watch(), Budget())
    assert alone.any()
    for named in devices():
        assert (launch.tallies(prepared, watch(), Budget(), named) == alone).all()


def test_an_error_on_one_stops_all() -> None:
    prepared = staged(pattern("triangle", DIFFERENT_NODES), hub_graph(6), True)
    with pytest.raises(OutOfBudget):
        launch.counts([prepared], watch(), Budget(), (0, 0), gpu_memory=1 << 10)
    with pytest.raises(DeviceError, match="number 9"):
        launch.counts([prepared], watch(), Budget(), (0, 9))


def test_names() -> None:
    plan = staged(pattern("edge", DIFFERENT_NODES), hub_graph(6), True).plan
    assert choose(plan, "cuda").ordinals == (0,)
    with pytest.raises(DeviceError, match="twice"):
        choose(plan, "cuda:0,0")
    for text in ("cuda:", "cuda:0,", "cuda:a", "cuda:0;1", "cuda:,1"):
        with pytest.raises(DeviceError, match="no device"):
            choose(plan, text)
