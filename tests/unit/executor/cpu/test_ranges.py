"""Passes over ranges of vids: the same answers as in one, whatever the level, the ranges and the room for blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gdb import planner
from gdb.executor import reference
from gdb.executor.cpu import launch, ranges
from gdb.executor.nest import visits
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.nest.vid_ranges import Passes, bindable, reads_of
from gdb.executor.plan.embeddings import expand
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import DIFFERENT_NODES, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.disk import arrays
from gdb.storage.format.direction import Direction
from tests.support.backends import rows_on_cpu
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.support.strategies import cases
from tests.unit.executor.test_executors import bag

SQUARE = ((0, 1), (1, 2), (2, 3), (3, 0))
SHAPES = {
    "triangle": ((0, 1), (1, 2), (0, 2)),
    "square": SQUARE,
    "diamond": (*SQUARE, (0, 2)),
    "clique4": tuple((a, b) for b in range(4) for a in range(b)),
    "house": (*SQUARE, (0, 4), (1, 4)),
    "path": ((0, 1), (1, 2), (2, 3)),
}


@pytest.fixture(autouse=True)
def passes_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "LEAST_FILED", 1)
    monkeypatch.setattr(ranges, "GAIN", float("inf"))
    monkeypatch.setattr(launch, "WORTH_A_THREAD", 0)


def watch() -> Watch:
    return Watch(None, None, None)


def with_hubs(
    shape: str, off: frozenset[str] = frozenset(), *, counting: bool = True, n: int = 60
) -> Prepared:
    rng = np.random.default_rng(7)
    ends = (rng.pareto(1.1, (1500, 2)) * 4).astype(int) % n
    found = sorted({(int(min(p)), int(max(p))) for p in ends if p[0] != p[1]})
    graph = SmallGraph([()] * n, [("U", a, b) for a, b in found], frozenset("U"))
    edges = tuple(QueryEdge(a, b, ("U",), Direction.ANY) for a, b in SHAPES[shape])
    vertices = (QueryVertex(),) * (1 + max(map(max, SHAPES[shape])))
    query = QueryGraph(vertices, edges, DIFFERENT_NODES)
    return prepare(planner.plan(query, graph, counting=counting, switched_off=off), graph)


def in_passes(prepared: Prepared, level: int, marks: tuple[int, ...]) -> int:
    passes = Passes(level, reads_of(prepared, level), marks)
    stages = (passes.stage(prepared, k, Budget()) for k in range(len(passes)))
    return sum(launch.count(one, watch(), Budget(), 1) for one in stages)


@settings(max_examples=share(60), deadline=None)
@given(cases(), st.lists(st.integers(0, 12), max_size=4))
def test_any_level_in_any_ranges(case: tuple[SmallGraph, QueryGraph], cuts: list[int]) -> None:
    """Also of one vid, and of none."""
    graph, query = case
    plan = planner.plan(query, graph, counting=True)
    prepared = prepare(plan, graph)
    marks = (0, *sorted(min(cut, prepared.vids) for cut in cuts), prepared.vids)
    expected = launch.count(prepared, watch(), Budget(), 1)
    if any(e is not None for e in prepared.eids):
        return
    for level in bindable(prepared):
        assert in_passes(prepared, level, marks) == expected


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("off", [set(), {"trees"}, {"count_last"}, {"local"}, {"symmetry"}])
def test_every_level_of_a_shape(shape: str, off: set[str]) -> None:
    prepared = with_hubs(shape, frozenset(off))
    expected = launch.count(prepared, watch(), Budget(), 1)
    assert expected > 0
    levels = bindable(prepared)
    assert levels
    for level in levels:
        assert in_passes(prepared, level, (*range(0, 60, 4), 60)) == expected


@settings(
    max_examples=share(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(cases(), st.sampled_from([40, 100, 300]), st.sampled_from([1, 2]))
def test_budgets_of_a_few_rows(
    case: tuple[SmallGraph, QueryGraph], limit: int, threads: int
) -> None:
    """Counts and rows, in all match modes, against the executor that defines plans."""
    graph, query = case
    counted = planner.plan(query, graph, counting=True)
    listed = planner.plan(query, graph, counting=False)
    total = launch.count(prepare(counted, graph), watch(), Budget(limit), threads)
    assert total * counted.multiplicity == reference.count(counted, graph)
    found = rows_on_cpu(prepare(listed, graph), watch(), Budget(limit), threads, 7)
    expanded = expand(found, listed.twins)
    assert bag(expanded, listed) == bag(reference.rows(listed, graph), listed)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("part", [4, 16, 64])
def test_parts_of_a_view(shape: str, part: int) -> None:
    """The runs themselves choose passes; of what these hold nothing is left."""
    prepared = with_hubs(shape)
    limit = view_bytes(prepared) // part
    passes = launch.passes_under(prepared, Budget(limit))
    assert passes is not None or part == 64
    budget = Budget(limit)
    expected = launch.count(prepared, watch(), Budget(), 1)
    assert launch.count(prepared, watch(), budget, 2) == expected
    assert budget.used == 0
    assert ("blocks of rows" in budget.spent()) == (passes is not None)
    tallies = launch.tallies(prepared, watch(), Budget(), 1)
    assert launch.tallies(prepared, watch(), Budget(limit), 2).tolist() == tallies.tolist()


def view_bytes(prepared: Prepared) -> int:
    return sum({id(v): v.neighbours.nbytes + v.offsets.nbytes for v in prepared.views}.values())


def test_rows_are_delivered_once() -> None:
    prepared = with_hubs("diamond", counting=False)
    limit = view_bytes(prepared) // 4
    assert launch.passes_under(prepared, Budget(limit)) is not None
    want = rows_on_cpu(prepared, watch(), Budget(), 1, 1000)
    found = rows_on_cpu(prepared, watch(), Budget(limit), 2, 11)
    assert bag(found, prepared.plan) == bag(want, prepared.plan)


@pytest.mark.parametrize("field", ["until", "taken_back", "most_rows"])
def test_a_run_that_gives_rest_away_has_no_passes(field: str) -> None:
    """Others go on with it at places of the whole stage."""
    prepared = with_hubs("triangle")
    limit = view_bytes(prepared) // 4
    expected = launch.count(prepared, watch(), Budget(), 1)
    for gives in (False, True):
        one, budget = watch(), Budget(limit)
        if gives:
            never = {"until": 1e12, "taken_back": lambda: False, "most_rows": 1 << 60}
            setattr(one, field, never[field])
        assert launch.count(prepared, one, budget, 1) == expected
        assert ("blocks of rows" in budget.spent()) == (not gives)


def test_passes_where_they_cost_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the page cache has no room for the graph; not without a budget, nor within it."""
    monkeypatch.setattr(ranges, "GAIN", visits.GAIN)
    prepared = with_hubs("triangle")
    size = view_bytes(prepared)
    assert launch.passes_under(prepared, Budget()) is None
    assert launch.passes_under(prepared, Budget(10 * size)) is None
    for root, room, wanted in ((0.0, 1 << 60, True), (1e9, 1 << 60, False), (1e9, 0, True)):
        monkeypatch.setattr(visits, "ROOT", root)
        monkeypatch.setattr(ranges, "cache_room", lambda room=room: room)
        assert (launch.passes_under(prepared, Budget(size // 4)) is not None) == wanted


def test_blocks_have_room() -> None:
    for shape in SHAPES:
        prepared = with_hubs(shape)
        for part in (2, 5, 9):
            limit = view_bytes(prepared) // part
            passes = launch.passes_under(prepared, Budget(limit))
            assert passes is not None
            assert passes.marks[0] == 0
            assert passes.marks[-1] == prepared.vids
            assert all(a < b for a, b in pairwise(passes.marks))
            for k in range(len(passes)):
                budget = Budget(limit)
                stage = passes.stage(prepared, k, budget)
                single = passes.marks[k + 1] - passes.marks[k] == 1
                near = sum(v.neighbours.nbytes for v in stage.views[-stage.blocks :])
                assert single or near <= limit
                assert stage.blocks == 1
