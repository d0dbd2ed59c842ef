"""Comparisons of two elements on a GPU: lists longer than a warp, launches that stop anywhere, kernels of their own,
bounds that change. The CPU says what is right: tests/unit/executor holds both to the reference on small graphs."""

from __future__ import annotations

import random
import sys
from dataclasses import replace

import numpy as np
import pytest

import gdb
from gdb import planner
from gdb.executor.cpu import launch as cpu
from gdb.executor.gpu import launch, memory, special
from gdb.executor.nest.bindings import Bindings
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.plan.plan import MISSING, Compare
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import DIFFERENT_EDGES, REPEATABLE_ELEMENTS, MatchMode, QueryGraph
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64
from tests.gpu.test_gpu_executor import bag, has_its_own_kernel, hub_graph, pattern
from tests.support.backends import rows_on_cpu, rows_on_gpu
from tests.support.small_graph import SmallGraph

pytestmark = pytest.mark.gpu

ANY = 1 << 62
# shape -> the pairs of query edges, or of vertices where the first is below, that are compared
ORDERS = {
    "wedge": ((0, 1),),
    "path": ((0, 1), (1, 2)),
    "triangle": ((0, 1), (1, 2), (0, 2)),
    "square": ((0, 1), (1, 2), (2, 3)),
    "parallel": ((0, 1),),
}
WINDOWS = ((1, ANY, True), (0, 40, True), (-ANY, -1, True), (0, 0, False), (-20, 20, False))


def watch() -> Watch:
    return Watch(None, None, None)


def times(rng: random.Random, count: int) -> I64:
    """A time for each element; some have none, some are as large as they may be."""
    some = [MISSING, 1 << 61, -(1 << 61)]
    return np.array(
        [rng.choice(some) if rng.random() < 0.05 else rng.randrange(100) for _ in range(count)],
        np.int64,
    )


def temporal(
    shape: str,
    graph: SmallGraph,
    seed: int,
    *,
    edges: bool,
    mode: MatchMode = DIFFERENT_EDGES,
    wanted: bool = False,
) -> QueryGraph:
    """A pattern whose edges, or vertices, are compared by one column."""
    rng = random.Random(seed)
    values = times(rng, graph.edge_count if edges else graph.vertex_count)
    compared = []
    for first, second in ORDERS[shape]:
        least, most, inside = rng.choice(WINDOWS)
        compared.append(
            Compare(first, second, edges, edges, least, most, values, values, "", inside)
        )
    query = pattern(shape, mode, direction=Direction.OUT, wanted=wanted)
    return replace(query, compared=tuple(compared))


def both_counts(prepared: Prepared) -> tuple[int, int]:
    found = launch.counts([prepared], watch(), Budget())[0]
    return found, cpu.count(prepared, watch(), Budget(), 1)


@pytest.mark.parametrize("edges", [False, True], ids=["vertices", "edges"])
@pytest.mark.parametrize("shape", ORDERS)
def test_counts_and_rows(shape: str, edges: bool) -> None:
    some = 0
    for seed in range(4):
        graph = hub_graph(seed, 40, 60)
        mode = (DIFFERENT_EDGES, REPEATABLE_ELEMENTS)[seed % 2]
        query = temporal(shape, graph, seed, edges=edges, mode=mode, wanted=edges)
        for off in (frozenset[str](), frozenset({"fuse"}), frozenset({"count_last"})):
            plan = planner.plan(query, graph, counting=True, switched_off=off)
            found, expected = both_counts(prepare(plan, graph))
            assert found == expected
            some += found
        listed = prepare(planner.plan(query, graph, counting=False), graph)
        for capacity in (33, 1 << 14):
            rows = rows_on_gpu(listed, watch(), Budget(), capacity)
            assert bag(rows) == bag(rows_on_cpu(listed, watch(), Budget(), 1, 1 << 16))
    assert some


@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("edges", [False, True], ids=["vertices", "edges"])
def test_launches_that_stop_anywhere(
    edges: bool, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "STEPS", steps)
    graph = hub_graph(7, 30, 30)
    for seed, shape in enumerate(("wedge", "triangle")):
        query = temporal(shape, graph, seed, edges=edges, wanted=edges)
        found, expected = both_counts(prepare(planner.plan(query, graph, counting=True), graph))
        assert found == expected
        listed = prepare(planner.plan(query, graph, counting=False), graph)
        rows = rows_on_gpu(listed, watch(), Budget(), 33)
        assert bag(rows) == bag(rows_on_cpu(listed, watch(), Budget(), 1, 1 << 16))


def given(prepared: Prepared, graph: SmallGraph, bounds: tuple[int, int]) -> Prepared:
    """The stage with other bounds of every comparison."""
    numbers = range(len(prepared.plan.compares))
    return Bindings({}, {}, dict.fromkeys(numbers, bounds)).stage(prepared, graph)


@pytest.mark.parametrize("edges", [False, True], ids=["vertices", "edges"])
@pytest.mark.parametrize("counting", [True, False])
@pytest.mark.parametrize("shape", ["path", "triangle"])
def test_one_kernel_serves_all_bounds(
    shape: str, counting: bool, edges: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of its own, in which the tables are constants, and the bounds are not."""
    monkeypatch.setattr(special, "WORTH", -1.0)
    monkeypatch.setattr(launch, "STEPS", 50)
    graph = hub_graph(5, 40, 40)
    query = temporal(shape, graph, 2, edges=edges, wanted=edges)
    prepared = prepare(planner.plan(query, graph, counting=counting), graph)
    answers, kernels = set(), 0
    for bounds in ((0, 30), (-ANY, ANY), (0, 0), (5, 4), (0, 30)):
        stage = given(prepared, graph, bounds)
        for _ in range(2):
            if counting:
                found, expected = both_counts(stage)
                assert found == expected
                answers.add(found)
            else:
                rows = rows_on_gpu(stage, watch(), Budget(), 100)
                assert bag(rows) == bag(rows_on_cpu(stage, watch(), Budget(), 1, 1 << 16))
                answers.add(len(rows))
            assert special.settle(180)
        known = memory.KEPT.take(prepared.idle["gpu"], has_its_own_kernel)
        assert known is not None
        kernels = kernels or len(special._made.get().known)
        assert len(special._made.get().known) == kernels
    assert len(answers) > 1


def test_values_stay_on_the_device() -> None:
    graph = hub_graph(5, 40, 40)
    query = temporal("path", graph, 2, edges=True)
    plan = planner.plan(query, graph, counting=True)
    values = plan.compares[0].left_values
    first, again = watch(), watch()
    launch.counts([prepare(plan, graph)], first, Budget())
    assert memory.RESIDENTS.has(values, 0)
    launch.counts([prepare(plan, graph)], again, Budget())
    lists = {id(view): view.neighbours.nbytes for view in prepare(plan, graph).views}
    assert first.moved_bytes - again.moved_bytes >= values.nbytes + sum(lists.values())


def test_a_query_with_a_window_is_asked_of_the_gpu(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    rng = np.random.default_rng(4)
    folder = tmp_path_factory.mktemp("transfers")
    ends, at = rng.integers(0, 60, (800, 2)), rng.integers(0, 1000, 800)
    lines = "".join(f"{a},{b},{t}\n" for (a, b), t in zip(ends.tolist(), at.tolist(), strict=True))
    (folder / "transfers.csv").write_text(":START_ID,:END_ID,at:int\n" + lines)
    text = (
        "MATCH (a)-[e:T]->(b)-[f:T]->(c)-[g:T]->(a) WHERE e.at < f.at AND f.at < g.at "
        "AND g.at - e.at <= $window "
    )
    with gdb.connect() as db:
        db.load(edges={"T": folder / "transfers.csv"})
        for window in (0, 100, sys.maxsize, 100, 300):
            for returned in ("RETURN count(*)", "RETURN id(a), id(b), e.at, g.at"):
                found = db.execute(text + returned, {"window": window}, device="cuda")
                assert found.summary.device.startswith("cuda")
                want = db.execute(text + returned, {"window": window}, device="cpu")
                assert sorted(found.fetchall()) == sorted(want.fetchall())
        plan = db.explain(text + "RETURN count(*)", {"window": 5}, device="cuda")
        assert "device: cuda:0" in plan
