"""Patterns that are trees, counted without a loop: the same number, and loops where they have to be."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from gdb import planner
from gdb.errors import CountOverflow, InternalError
from gdb.executor import reference, run
from gdb.executor.cpu import launch
from gdb.executor.nest.bindings import Bindings
from gdb.executor.nest.prepare import Prepared, stage
from gdb.executor.plan.plan import Plan
from gdb.executor.run import Options
from gdb.executor.work.scheduler import Budget, Watch
from gdb.planner import structure
from gdb.planner.explain import explain
from gdb.query_graph import (
    DIFFERENT_EDGES,
    DIFFERENT_NODES,
    REPEATABLE_ELEMENTS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.storage.format.direction import Direction
from tests.support.small_graph import SmallGraph

LABELS, TYPES = "ABCD", "RSTU"
OFF = frozenset({"forests"})


def data_graph(draw: random.Random) -> SmallGraph:
    """Of four labels and four types; those of U have no direction."""
    labels = sorted((draw.choice(LABELS),) for _ in range(14))
    pairs = [p if draw.random() < 0.5 else p[::-1] for p in itertools.combinations(range(14), 2)]
    edges = [(draw.choice(TYPES), a, b) for a, b in pairs if draw.random() < 0.8]
    return SmallGraph(labels, edges, frozenset("U"))


def tree(draw: random.Random, n: int, mode: MatchMode) -> QueryGraph:
    """A tree of n vertices whose edges have types of their own, where these last."""
    one: list[tuple[tuple[str, ...], ...]] = [((label,),) for label in LABELS]
    if mode is DIFFERENT_NODES:
        named = draw.sample(one, n)
    else:
        named = [draw.choice(((), *one)) for _ in range(n)]
    types = draw.sample([*TYPES, *TYPES], n - 1)
    edges = []
    for v in range(1, n):
        source, target = draw.sample((v, draw.choice((v - 1, v - 1, draw.randrange(v)))), 2)
        own: tuple[str, ...] = (types[v - 1],)
        if mode is REPEATABLE_ELEMENTS:
            own = draw.choice(((), own))
        edges.append(QueryEdge(source, target, own, draw.choice((Direction.OUT, Direction.ANY))))
    return QueryGraph(tuple(QueryVertex(labels=some) for some in named), tuple(edges), mode)


def planned(
    seed: int, mode: MatchMode = REPEATABLE_ELEMENTS, *, loops: bool = False
) -> tuple[Plan, SmallGraph]:
    """A plan of a random tree, and its graph."""
    draw = random.Random(seed)
    graph = data_graph(draw)
    query = tree(draw, 4 if mode is DIFFERENT_NODES else draw.randint(4, 9), mode)
    off = OFF if loops else frozenset[str]()
    return planner.plan(query, graph, counting=True, switched_off=off), graph


def whole() -> tuple[Plan, SmallGraph]:
    """One without loops, with embeddings."""
    for seed in range(100):
        plan, graph = planned(seed)
        if plan.without_loops and reference.count(plan, graph):
            return plan, graph
    raise AssertionError("all of them have loops")


@pytest.mark.parametrize("mode", [REPEATABLE_ELEMENTS, DIFFERENT_EDGES, DIFFERENT_NODES])
def test_trees_are_counted_as_in_loops(mode: MatchMode) -> None:
    without = 0
    for seed in range(60):
        plan, graph = planned(seed, mode)
        other, _ = planned(seed, mode, loops=True)
        assert not other.without_loops
        known = run.count(other, graph, Options("cpu"))
        assert known == reference.count(other, graph) * other.multiplicity // other.divisor
        for options in (Options("cpu"), Options("cpu", 1), Options("cpu", memory=1 << 26)):
            assert run.count(plan, graph, options) == known
        without += plan.without_loops
    assert without > 10


def test_only_the_cpu_has_no_loop() -> None:
    plan, graph = whole()
    assert stage(plan, graph, windows=True).tables.loops == 0
    prepared = stage(plan, graph)
    assert prepared.tables.loops == 1
    found = launch.count(prepared, Watch(None, None, None), Budget())
    assert found == reference.count(plan, graph)


def test_a_budget_has_roots_to_share() -> None:
    plan, graph = whole()
    for memory, loops in ((None, 0), (1 << 26, 1)):
        lines = explain(plan, graph, Options("cpu", memory=memory)).splitlines()
        assert sum(line.strip().startswith("for ") for line in lines) == loops


def test_other_candidates() -> None:
    several = 0
    for seed in range(40):
        plan, graph = planned(seed)
        first = plan.order[0]
        vids = plan.candidates[first].vids()
        parts = [Bindings({first: np.array([x], np.uint32)}, {}, {}) for x in vids.tolist()]
        counts = [run.count(plan, graph, Options("cpu"), part) for part in parts]
        assert sum(counts) * plan.divisor == reference.count(plan, graph) * plan.multiplicity
        several += plan.without_loops and sum(map(bool, counts)) > 1
    assert several > 3


def test_a_part_of_more_than_a_count_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, graph = whole()
    real, refused = launch._run, list[int]()

    def ran(job: launch._Run) -> launch._Run:
        prepared: Prepared = job.prepared
        if prepared.tables.loops == 0:
            refused.append(1)
            raise CountOverflow("too many", ".")
        return real(job)

    monkeypatch.setattr(launch, "_run", ran)
    monkeypatch.setattr(run, "short_run", lambda *_: None)
    assert run.count(plan, graph, Options("cpu")) == reference.count(plan, graph)
    assert refused


def test_many_relationships_are_gone_over_in_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = next(seed for seed in range(100) if planned(seed)[0].without_loops)
    monkeypatch.setattr(structure, "MOST_FOREST", 1)
    assert not planned(seed)[0].without_loops


def test_where_threads_are_sooner_done_there_are_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = next(seed for seed in range(100) if planned(seed)[0].without_loops)
    monkeypatch.setattr(planner, "SURE_FOREST", 0)
    assert not planned(seed)[0].without_loops  # what it takes is not known
    monkeypatch.setattr(structure, "FOREST_STEP", -1e9)
    assert planned(seed)[0].without_loops


def test_edges_that_point_backward_are_refused() -> None:
    """The planner takes both views of a type from one edge of it; the binder turns such edges around."""
    graph = data_graph(random.Random(1))
    back = QueryEdge(0, 1, ("R",), Direction.IN)
    with pytest.raises(InternalError, match="points backward"):
        planner.plan(QueryGraph((QueryVertex(), QueryVertex()), (back,)), graph, counting=True)


@pytest.mark.parametrize("rare", range(6))
def test_wherever_few_vertices_are_it_is_counted_from_an_end(rare: int) -> None:
    """A chain, and one with leaves, where few vertices may be the k-th: an order that begins there is for loops."""
    draw = random.Random(rare)
    types = [f"T{k}" for k in range(6)]
    pairs = draw.sample(list(itertools.permutations(range(60), 2)), 900)
    edges = [(name, a, b) for name in types for a, b in pairs]
    kept = [edge for edge in edges if edge[0] != types[rare] or draw.random() < 0.02]
    graph = SmallGraph([()] * 60, kept)
    for ends in ([(k, k + 1) for k in range(6)], [(0, 1), (1, 2), (2, 3), (1, 4), (2, 5), (3, 6)]):
        steps = tuple(
            QueryEdge(a, b, (name,), Direction.OUT)
            for name, (a, b) in zip(types, ends, strict=True)
        )
        query = QueryGraph((QueryVertex(),) * 7, steps, REPEATABLE_ELEMENTS)
        plan = planner.plan(query, graph, counting=True)
        assert plan.without_loops
        other = planner.plan(query, graph, counting=True, switched_off=OFF)
        assert run.count(plan, graph, Options("cpu")) == run.count(other, graph, Options("cpu"))


@pytest.mark.parametrize("ends", [[(1, 2), (2, 3), (3, 1)], [(0, 1), (2, 3), (3, 2)]])
def test_a_cycle_beside_another_part_is_no_tree(ends: list[tuple[int, int]]) -> None:
    """It has as many edges as a tree of its vertices."""
    graph = SmallGraph([()] * 9, [("R", a, b) for a, b in itertools.permutations(range(9), 2)])
    steps = tuple(QueryEdge(a, b, ("R",), Direction.OUT) for a, b in ends)
    query = QueryGraph((QueryVertex(),) * 4, steps, REPEATABLE_ELEMENTS)
    plan = planner.plan(query, graph, counting=True)
    other = planner.plan(query, graph, counting=True, switched_off=OFF)
    assert not plan.without_loops
    assert run.count(plan, graph, Options("cpu")) == run.count(other, graph, Options("cpu")) > 0
