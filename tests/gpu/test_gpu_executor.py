"""The GPU executor where the shared contract (tests/unit/executor) does not reach: lists longer than a warp, hubs cut
into units, launches that stop at every step, row buffers of any size, and what it refuses.

The CPU executor says what is right: the contract holds it to the reference, which would take minutes on these graphs.
"""

from __future__ import annotations

import gc
import random
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gdb import planner
from gdb.errors import Cancelled, DeviceError, LimitExceeded, OutOfBudget, QueryTimeout, RunError
from gdb.executor.cpu import launch as cpu
from gdb.executor.gpu import device, launch, layout, local, matrices, memory, special, stage, units
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.plan.embeddings import Embeddings
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import (
    DIFFERENT_EDGES,
    DIFFERENT_NODES,
    INDUCED,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.storage.format.direction import Direction
from tests.support.backends import rows_on_cpu, rows_on_gpu
from tests.support.small_graph import SmallGraph
from tests.unit.executor.gpu.test_bits import OUTSIDE
from tests.unit.executor.nest.test_neighbourhood import NEAR_CLIQUES, dense, question

pytestmark = pytest.mark.gpu

MODES = (DIFFERENT_EDGES, DIFFERENT_NODES, REPEATABLE_ELEMENTS, SUBGRAPHS, INDUCED)
SHAPES: dict[str, tuple[tuple[int, int], ...]] = {
    "edge": ((0, 1),),
    "wedge": ((0, 1), (0, 2)),
    "path": ((0, 1), (1, 2), (2, 3)),
    "triangle": ((0, 1), (1, 2), (0, 2)),
    "square": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "diamond": ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2)),
    "clique": ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)),
    "tailed": ((0, 1), (1, 2), (0, 2), (2, 3)),
    "parallel": ((0, 1), (0, 1)),
    "loop": ((0, 0), (0, 1)),
}


def hub_graph(seed: int, n: int = 90, edges: int = 110, multi: bool = True) -> SmallGraph:
    """Two hubs with lists longer than a warp, parallel edges, loops, two labels, a directed and an undirected type."""
    rng = random.Random(seed)
    labels = sorted([("A",)] * (n // 2) + [("B",)] * (n - n // 2))
    found = [("R", 1, x) for x in range(n) if rng.random() < 0.8]
    found += [
        ("U", min(n // 2, x), max(n // 2, x))
        for x in range(n)
        if x != n // 2 and rng.random() < 0.8
    ]
    found += [(rng.choice("RU"), rng.randrange(n), rng.randrange(n)) for _ in range(edges)]
    if not multi:
        return SmallGraph(
            labels,
            sorted({("U", min(a, b), max(a, b)) for _, a, b in found if a != b}),
            frozenset("U"),
        )
    return SmallGraph(labels, found + rng.choices(found, k=20), frozenset("U"))


def pattern(
    shape: str,
    mode: MatchMode,
    types: tuple[str, ...] = (),
    direction: Direction = Direction.ANY,
    wanted: bool = False,
) -> QueryGraph:
    ends = SHAPES[shape]
    vertices = tuple(QueryVertex() for _ in range(1 + max(max(e) for e in ends)))
    return QueryGraph(
        vertices, tuple(QueryEdge(a, b, types, direction, wanted=wanted) for a, b in ends), mode
    )


def bag(table: Embeddings) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    return Counter(
        (tuple(v), tuple(e)) for v, e in zip(table.vids.tolist(), table.eids.tolist(), strict=True)
    )


def staged(
    query: QueryGraph, graph: SmallGraph, counting: bool, off: frozenset[str] = frozenset()
) -> Prepared:
    return prepare(planner.plan(query, graph, counting=counting, switched_off=off), graph)


def count_both(prepared: Prepared) -> tuple[int, int]:
    found = launch.counts([prepared], Watch(None, None, None), Budget())[0]
    return found, cpu.count(prepared, Watch(None, None, None), Budget(), 1)


def has_its_own_kernel(one: object) -> bool:
    return isinstance(one, stage.Stage) and bool(one.special and one.special.function)


def rows_both(prepared: Prepared, capacity: int) -> tuple[Embeddings, Embeddings]:
    found = rows_on_gpu(prepared, Watch(None, None, None), Budget(), capacity)
    return found, rows_on_cpu(prepared, Watch(None, None, None), Budget(), 1, 1 << 16)


@pytest.mark.parametrize(
    "mode", MODES, ids=["edges", "nodes", "homomorphic", "subgraphs", "induced"]
)
@pytest.mark.parametrize("shape", SHAPES)
def test_counts(shape: str, mode: MatchMode) -> None:
    for seed, direction in enumerate((Direction.ANY, Direction.OUT)):
        for graph in (hub_graph(seed, 50, 50), hub_graph(seed, 60, 60, multi=False)):
            for off in (
                frozenset[str](),
                frozenset({"count_last"}),
                frozenset({"fuse"}),
                frozenset({"motion"}),
            ):
                found, expected = count_both(
                    staged(pattern(shape, mode, direction=direction), graph, True, off)
                )
                assert found == expected


@pytest.mark.parametrize("mode", [DIFFERENT_EDGES, DIFFERENT_NODES], ids=["edges", "nodes"])
@pytest.mark.parametrize("shape", ["wedge", "path", "triangle", "square", "tailed", "clique"])
def test_counts_of_each_vertex(
    shape: str, mode: MatchMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by launches that stop, and by a stage that is used again."""
    for graph in (hub_graph(1, 50, 50), hub_graph(2, 60, 60, multi=False)):
        plan = planner.plan(pattern(shape, mode), graph, counting=True, root=1)
        prepared = prepare(plan, graph)
        expected = cpu.tallies(prepared, Watch(None, None, None), Budget(), 1)
        assert expected.any()
        for steps in (9, sys.maxsize):
            monkeypatch.setattr(launch, "STEPS", steps)
            found = launch.tallies(prepared, Watch(None, None, None), Budget())
            assert found.dtype == np.int64
            assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("capacity", [1, 31, 32, 33, 5000])
@pytest.mark.parametrize("shape", ["edge", "wedge", "triangle", "parallel", "diamond"])
def test_rows_at_any_capacity(shape: str, capacity: int) -> None:
    query = pattern(shape, DIFFERENT_EDGES, ("R",), wanted=shape in ("edge", "parallel"))
    found, expected = rows_both(staged(query, hub_graph(5, 40, 30), False), capacity)
    assert bag(found) == bag(expected)


@pytest.mark.parametrize("steps", [0, 1, 5])
@pytest.mark.parametrize("part", [1, 3, 1000])
def test_launches_that_stop_anywhere(
    steps: int, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step budget of nothing stops every warp wherever it can stop; small parts cut lists anywhere."""
    monkeypatch.setattr(launch, "STEPS", steps)
    monkeypatch.setattr(units, "PART", part)
    graph = hub_graph(9, 40, 40)
    for shape in ("wedge", "triangle", "parallel"):
        for off in (frozenset[str](), frozenset({"count_last"})):
            found, expected = count_both(
                staged(pattern(shape, DIFFERENT_EDGES, ("R",)), graph, True, off)
            )
            assert found == expected
        query = pattern(shape, DIFFERENT_EDGES, ("R",), Direction.OUT, wanted=shape == "parallel")
        some, all_of_them = rows_both(staged(query, graph, False), 33)
        assert bag(some) == bag(all_of_them)


def test_few_warps_do_all_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget with room for the sets of one warp only gives the same count."""
    graph = hub_graph(3)
    plan = planner.plan(pattern("clique", DIFFERENT_NODES), graph, counting=True)
    roomy = launch.counts([prepare(plan, graph)], Watch(None, None, None), Budget())[0]
    prepared = prepare(plan, graph)  # what was placed for another is not used again
    monkeypatch.setattr(device, "multiprocessors", lambda _: 1)
    monkeypatch.setattr(layout, "BLOCKS_PER_MULTIPROCESSOR", 1)
    few = Budget()
    assert launch.counts([prepared], Watch(None, None, None), few, gpu_memory=1 << 20)[0] == roomy
    with pytest.raises(OutOfBudget, match="gpu_memory"):
        launch.counts([prepared], Watch(None, None, None), Budget(), gpu_memory=1 << 10)


def test_count_over_63_bits_is_refused() -> None:
    """30 leaves on a hub with 60 neighbours: 60^30 is over 2^63."""
    graph = SmallGraph([("A",)] * 61, [("U", 0, x) for x in range(1, 61)], frozenset("U"))
    star = QueryGraph(
        tuple(QueryVertex() for _ in range(31)),
        tuple(QueryEdge(0, k) for k in range(1, 31)),
        REPEATABLE_ELEMENTS,
    )
    plan = planner.plan(star, graph, counting=True)
    with pytest.raises(RunError, match="2\\^63"):
        launch.counts([prepare(plan, graph)], Watch(None, None, None), Budget())


def test_too_many_levels_are_refused() -> None:
    n = layout.MAX_LEVELS + 1
    graph = SmallGraph([("A",)] * 3, [("R", 0, 1), ("R", 1, 2)])
    path = QueryGraph(
        tuple(QueryVertex() for _ in range(n)),
        tuple(QueryEdge(k, k + 1) for k in range(n - 1)),
        REPEATABLE_ELEMENTS,
    )
    plan = planner.plan(path, graph, counting=False)
    with pytest.raises(LimitExceeded, match="at most 64"):
        rows_on_gpu(prepare(plan, graph), Watch(None, None, None), Budget())


def test_stops_at_the_limit() -> None:
    prepared = staged(pattern("path", DIFFERENT_EDGES), hub_graph(1), False)
    found = rows_on_gpu(prepared, Watch(None, None, 10), Budget())
    expected = rows_on_cpu(prepared, Watch(None, None, None), Budget(), 1, 1 << 16)
    assert 10 <= len(found) < 1000
    assert bag(found) <= bag(expected)


def test_cancel_and_timeout() -> None:
    graph = hub_graph(1)
    prepared = prepare(planner.plan(pattern("path", DIFFERENT_EDGES), graph, counting=True), graph)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        launch.counts([prepared], Watch(None, cancel, None), Budget())
    with pytest.raises(QueryTimeout):
        launch.counts([prepared], Watch(0.0, None, None), Budget())


def test_two_queries_at_once() -> None:
    """Threads share the device's copies and the stream, and nothing else."""
    prepared = staged(pattern("clique", DIFFERENT_NODES), hub_graph(4), True)
    expected = cpu.count(prepared, Watch(None, None, None), Budget(), 1)
    with ThreadPoolExecutor(4) as pool:
        runs = [
            pool.submit(launch.counts, [prepared], Watch(None, None, None), Budget())
            for _ in range(12)
        ]
        assert [run.result() for run in runs] == [[expected]] * 12


def test_no_such_device() -> None:
    with pytest.raises(DeviceError, match="no GPU number 99"):
        device.require(99)


def test_copies_live_as_long_as_their_arrays() -> None:
    residents = memory.Residents()
    array = np.arange(1000, dtype=np.uint32)
    copy = residents.copy_of(array, 0)
    assert residents.copy_of(array, 0) is copy
    assert residents.has(array, 0)
    assert np.array_equal(memory.download(copy), array)
    del array
    gc.collect()
    assert not residents._copies


def test_a_query_again_uploads_no_graph() -> None:
    graph = hub_graph(2)
    plan = planner.plan(pattern("triangle", DIFFERENT_NODES), graph, counting=True)
    prepared = prepare(plan, graph)
    launch.counts([prepared], Watch(None, None, None), Budget())
    assert all(memory.RESIDENTS.has(v.neighbours, 0) for v in prepared.views)
    memory.RESIDENTS.forget(0)
    assert not any(memory.RESIDENTS.has(v.neighbours, 0) for v in prepared.views)


@pytest.mark.parametrize("counting", [True, False])
@pytest.mark.parametrize("shape", ["tailed", "square", "clique", "parallel"])
def test_a_special_kernel_agrees(shape: str, counting: bool) -> None:
    """Once it is compiled it takes over from the generic one, between two launches as well."""
    graph = hub_graph(6, 50, 50)
    prepared = staged(pattern(shape, DIFFERENT_EDGES, ("R",)), graph, counting)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(special, "WORTH", -1.0)
        for steps in (3, sys.maxsize):
            patch.setattr(launch, "STEPS", steps)
            if counting:
                found, expected = count_both(prepared)
                assert found == expected
            else:
                some, everything = rows_both(prepared, 33)
                assert bag(some) == bag(everything)
            assert special.settle(180)
    assert memory.KEPT.take(prepared.idle["gpu"], has_its_own_kernel) is not None


CLIQUES = {n: tuple((a, b) for b in range(n) for a in range(b)) for n in (3, 4, 5)}
NO_SYMMETRY = frozenset({"symmetry"})


@pytest.mark.parametrize(
    ("pairs", "mode", "off"),
    [
        (CLIQUES[3], DIFFERENT_NODES, frozenset[str]()),
        (CLIQUES[3], REPEATABLE_ELEMENTS, NO_SYMMETRY),
        (CLIQUES[4], DIFFERENT_NODES, frozenset[str]()),
        (CLIQUES[5], SUBGRAPHS, frozenset[str]()),
        (CLIQUES[4], REPEATABLE_ELEMENTS, NO_SYMMETRY),
        (CLIQUES[5][:-1], DIFFERENT_NODES, NO_SYMMETRY),  # two ends alike
    ],
)
def test_local_graphs(
    pairs: tuple[tuple[int, int], ...], mode: MatchMode, off: frozenset[str]
) -> None:
    """Lists that fit into a local graph and longer ones, whole and cut into units."""
    rng = random.Random(11)
    n = layout.LOCAL_MOST + 30
    edges = {(0, x) for x in range(1, n)} | {(1, x) for x in range(2, n, 2)}
    edges |= {(a, b) for a in range(2, 60) for b in range(a + 1, 60) if rng.random() < 0.4}
    graph = SmallGraph([()] * n, [("U", a, b) for a, b in sorted(edges)], frozenset("U"))
    vertices = (QueryVertex(),) * (1 + max(max(pair) for pair in pairs))
    asked = tuple(QueryEdge(a, b, ("U",), Direction.ANY) for a, b in pairs)
    prepared = staged(QueryGraph(vertices, asked, mode), graph, True, off)
    assert local.find(prepared) is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(special, "WORTH", -1.0)
        for _ in range(2):
            found, expected = count_both(prepared)
            assert found == expected > 0
            assert special.settle(180)
    assert memory.KEPT.take(prepared.idle["gpu"], has_its_own_kernel) is not None


@pytest.mark.parametrize(
    ("pairs", "mode", "labels"),
    [
        (CLIQUES[5][:-1], SUBGRAPHS, ""),
        (NEAR_CLIQUES["7-clique less four"], DIFFERENT_NODES, ""),
        (NEAR_CLIQUES["two 4-cliques"], REPEATABLE_ELEMENTS, ""),
        (NEAR_CLIQUES["6-clique less one"], INDUCED, ""),
        (NEAR_CLIQUES["6-clique less one"], DIFFERENT_NODES, "ABABAA"),
        (OUTSIDE, DIFFERENT_NODES, ""),
    ],
)
def test_neighbourhoods_in_bits(
    pairs: tuple[tuple[int, int], ...], mode: MatchMode, labels: str
) -> None:
    """Neighbourhoods of one word and more, some of them with no matrix; launches that stop at every step."""
    graph = dense(70, 0.5, 4, "AB" if labels else "")
    asked = question(pairs, mode, tuple(labels))
    if mode is INDUCED:  # which looks at all types of edges
        edges = [edge for edge in graph.edges if edge[0] == "R"]
        graph = SmallGraph(graph.labels, edges, frozenset("R"))
    prepared = staged(asked, graph, True, frozenset({"structure"}))
    expected = cpu.count(prepared, Watch(None, None, None), Budget(), 1)
    assert expected > 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(special, "WORTH", -1.0)
        for room in (matrices.ROOM, 20_000):
            patch.setattr(matrices, "ROOM", room)
            memory.RESIDENTS.forget(0)
            memory.KEPT.forget()
            for steps in (launch.STEPS, launch.STEPS, 1000):
                patch.setattr(launch, "STEPS", steps)
                assert launch.counts([prepared], Watch(None, None, None), Budget())[0] == expected
                assert special.settle(180)
            made = memory.KEPT.take(prepared.idle["gpu"], has_its_own_kernel)
            assert isinstance(made, stage.Stage)
            assert made.bits is not None
