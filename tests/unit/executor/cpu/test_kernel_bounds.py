"""Every load and store of the kernel lies within an array that its worker holds; run in Python, where each is seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gdb import planner
from gdb.base.machine import memory
from gdb.executor.cpu import kernel, launch, levels, look_ahead, nodes, sets, tail, trees, workers
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.work.place import Place
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import REPEATABLE_ELEMENTS, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction
from gdb.storage.graph.row_blocks import split_positions
from tests.support.backends import rows_on_cpu
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.support.strategies import cases

MODULES: tuple[ModuleType, ...] = (kernel, levels, look_ahead, nodes, sets, tail, trees)
Access = Callable[..., object]


class Watched(workers.Worker):
    """A worker whose arrays are known to `held` while it runs."""

    held: tuple[tuple[int, int], ...] = ()

    def run(self, budget: int) -> int:
        self.hold()
        return super().run(budget)

    def go_on(self, place: Place) -> None:
        self.hold()
        super().go_on(place)

    def hold(self) -> None:
        """The arrays that the kernel may use now are its own and those of its stage."""
        prepared = self.prepared
        arrays = [x for x in vars(self).values() if isinstance(x, np.ndarray)]
        arrays += [*self.kept, *prepared.lists, *prepared.bit_sets, prepared.roots]
        arrays += [eids for eids in prepared.eids if eids is not None]
        arrays += [side for sides in prepared.values for side in sides]
        arrays += [x for o in prepared.orders for x in (o.values, o.eids, o.source)]
        for view in prepared.views:
            arrays += [view.first, view.length, view.row, view.offsets, view.neighbours]
            arrays.append(split_positions(view))
        Watched.held = tuple({(x.ctypes.data, x.ctypes.data + x.nbytes) for x in arrays})


def watched(access: Access, width: int) -> Access:
    def checked(at: int, index: int, *value: int) -> object:
        first = at + width * index
        assert any(low <= first and first + width <= high for low, high in Watched.held)
        return access(at, index, *value)

    return checked


@pytest.fixture(scope="module", autouse=True)
def seen_accesses() -> Iterator[None]:
    """The kernel in Python, its loads and stores checked."""
    one = SmallGraph([("A",), ("A",)], [("R", 0, 1)], frozenset())
    split_positions(
        one.adjacency(("R",), Direction.OUT)
    )  # which is compiled, of what is patched below
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "run", kernel._run)
        patch.setattr(kernel, "rebind", kernel._rebind)
        patch.setattr(launch, "Worker", Watched)
        for access, bits in (*memory.LOADS.items(), *memory.STORES.items()):
            for module in MODULES:
                if hasattr(module, access.__name__):
                    patch.setattr(module, access.__name__, watched(access, bits // 8))
        yield


def count(prepared: Prepared) -> int:
    return launch.count(prepared, Watch(None, None, None), Budget(), 1)


@settings(max_examples=share(100))
@given(case=cases(), capacity=st.sampled_from([1, 3, 100]))
def test_nothing_is_read_or_written_outside(
    case: tuple[SmallGraph, QueryGraph], capacity: int
) -> None:
    graph, query = case
    count(prepare(planner.plan(query, graph, counting=True), graph, windows=True))
    rows = prepare(planner.plan(query, graph, counting=False), graph, windows=True)
    rows_on_cpu(rows, Watch(None, None, None), Budget(), 1, capacity)
    launch.distinct(rows, Watch(None, None, None), Budget(), 0, 1, capacity)


@settings(max_examples=share(100))
@given(case=cases(), capacity=st.sampled_from([1, 3, 100]))
def test_nor_where_units_take_turns(case: tuple[SmallGraph, QueryGraph], capacity: int) -> None:
    graph, query = case
    prepared = prepare(planner.plan(query, graph, counting=False), graph, windows=True)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FIRST_STEPS", "EARLY_STEPS", "TURN"):
            patch.setattr(launch, name, 0)
        rows_on_cpu(prepared, Watch(None, None, 1 << 40), Budget(), 1, capacity)


def parallel_edges() -> Prepared:
    """A row that is looked up in marks gives a vertex as often as it has edges to it, before those are
    thinned out: more often than the marked row is long."""
    graph = SmallGraph([()] * 3, [("A", 0, 1), ("A", 0, 2), *[("C", 1, 2)] * 20])
    edges = (QueryEdge(0, 1, ("A",)), QueryEdge(0, 2, ("A",)), QueryEdge(1, 2, ("C",)))
    query = QueryGraph((QueryVertex(),) * 3, edges, REPEATABLE_ELEMENTS)
    return prepare(planner.plan(query, graph, counting=True), graph)


def test_parallel_edges_find_room() -> None:
    assert count(parallel_edges()) == 20


def test_the_test_can_see() -> None:
    """With a buffer too small for a set."""
    prepared = parallel_edges()
    small = replace(prepared, tables=replace(prepared.tables, buffer=2))
    with pytest.raises(AssertionError):
        count(small)
