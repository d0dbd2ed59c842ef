"""Sums over edges on a GPU, without one: what the kernels note of triangles, and what that comes to."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import pytest

from gdb import planner
from gdb.executor.gpu import launch, memory, residency, stage, supports, warps
from gdb.executor.nest.by_edge import by_edge
from gdb.executor.nest.nest import Formula
from gdb.executor.nest.prepare import Prepared, between, prepare
from gdb.executor.plan.embeddings import NO_COLUMNS
from gdb.query_graph import (
    DIFFERENT_NODES,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.storage.format.direction import Direction
from tests.emulated.emulator import absence, emulated
from tests.emulated.test_emulated import (
    DIAMOND,
    EVERY,
    WAYS,
    count,
    hubs,
    long_lists,
    on_the_cpu,
    staged,
)
from tests.support.small_graph import SmallGraph
from tests.unit.executor.nest.test_neighbourhood import Pairs, clique

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))
BOOK: Pairs = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (0, 4), (1, 4))


@cache
def longer_lists() -> SmallGraph:
    """Vertices whose lists of neighbours before them are longer than a local graph may be; an odd number of edges."""
    draw, n = random.Random(3), 136
    edges = [(a, b) for b in range(n) for a in range(b) if draw.random() < 0.97]
    del edges[: 1 - len(edges) % 2]
    return SmallGraph([()] * n, [("R", a, b) for a, b in edges], frozenset("R"))


@pytest.mark.parametrize(
    ("graph", "pairs", "mode", "most"),
    [
        (hubs, DIAMOND, SUBGRAPHS, EVERY),
        (hubs, DIAMOND, REPEATABLE_ELEMENTS, 12_000),
        (hubs, BOOK, SUBGRAPHS, 4_000),
        (long_lists, BOOK, REPEATABLE_ELEMENTS, EVERY),
        (long_lists, DIAMOND, SUBGRAPHS, 4_000),
        (longer_lists, DIAMOND, SUBGRAPHS, EVERY),
        (longer_lists, BOOK, REPEATABLE_ELEMENTS, 12_000),
    ],
)
def test_sums_over_edges(
    graph: Callable[[], SmallGraph],
    pairs: Pairs,
    mode: MatchMode,
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each position has a counter, or triangles are counted for one range of positions after another; of lists that
    are too long for a local graph as well."""
    monkeypatch.setattr(residency, "MOST", most)
    monkeypatch.setattr(residency, "GAIN", float("inf"))
    monkeypatch.setattr(supports, "POSITIONS", 1 if graph is hubs else 4)
    monkeypatch.setattr(supports, "LONGEST", 1 << 10)
    monkeypatch.setattr(supports, "SPARED", 1 << 60 if pairs is BOOK else 4)
    monkeypatch.setattr(warps.Warps, "resident", 4)
    for steps, downwards, _ in WAYS.values():
        prepared = staged(pairs, mode, graph())
        known = on_the_cpu(prepared)
        assert known > 0
        monkeypatch.setattr(launch, "STEPS", steps)
        with emulated(downwards=downwards):
            for _ in range(3):
                assert count(prepared) == known
            counted = by_edge(prepared)
            assert counted is not None
            made = memory.KEPT.take(counted.triangles.idle["gpu"], lambda one: True)
            assert isinstance(made, stage.Stage)
            assert (len(made.passes.turns) > 1) == (most < EVERY)
            longer = counted.found > 0
            assert longer == (most < EVERY and graph is not hubs)
            assert len(prepared.idle["gpu"]) == longer  # it was counted in the other way meanwhile


def test_supports_that_pass_half_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted again, in whole words."""
    n = 93_000  # more than 2^32 of one edge
    ends = [(0, 1), *((hub, x) for hub in (0, 1) for x in range(2, n))]
    graph = SmallGraph([()] * n, [("R", a, b) for a, b in ends], frozenset("R"))
    monkeypatch.setattr(residency, "MOST", 400_000)
    monkeypatch.setattr(residency, "GAIN", float("inf"))
    prepared = staged(DIAMOND, SUBGRAPHS, graph)
    with emulated():
        for _ in range(2):
            assert count(prepared) == (n - 2) * (n - 3) // 2
        counted = by_edge(prepared)
        assert counted is not None
        made = memory.KEPT.take(counted.triangles.idle["gpu"], lambda one: True)
        assert isinstance(made, stage.Stage)
        assert len(made.passes.turns) > 1


def test_each_edge_either_way_round() -> None:
    """Without restrictions an edge is bound twice, and alike vertices in each order."""
    prepared = staged(DIAMOND, DIFFERENT_NODES, hubs(), "symmetry")
    counted = by_edge(prepared)
    assert counted is not None
    assert (counted.times, counted.formula) == (2, Formula.FALLING)
    with emulated():
        assert count(prepared) == on_the_cpu(prepared) > 0
        assert not by_rows(prepared)


@pytest.mark.parametrize("pairs", [DIAMOND, clique(3)], ids=["diamond", "triangle"])
def test_explain_names_it(pairs: Pairs) -> None:
    with emulated():
        lines = launch.describe_residency(staged(pairs, SUBGRAPHS, hubs()), 0, None)
    assert any("sum over edges" in line for line in lines) == (pairs is DIAMOND)


def by_rows(prepared: Prepared) -> bool:
    """Whether the last count was not a sum over edges."""
    counted = by_edge(prepared)
    assert counted is not None
    assert bool(prepared.idle["gpu"]) != bool(counted.triangles.idle["gpu"])
    return bool(prepared.idle["gpu"])


def test_a_list_that_would_be_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """No run tries it again."""
    monkeypatch.setattr(residency, "MOST", 12_000)
    monkeypatch.setattr(residency, "GAIN", float("inf"))
    monkeypatch.setattr(supports, "LONGEST", 1)
    prepared = staged(DIAMOND, SUBGRAPHS, hubs())
    with emulated():
        assert count(prepared) == on_the_cpu(prepared)
        assert by_rows(prepared)
    counted = by_edge(prepared)
    assert counted is not None
    assert counted.quickest == {stage.Share(0): float("inf")}


@pytest.mark.parametrize("most", [EVERY, 12_000])
def test_without_local_graphs(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Triangles are not found there."""
    monkeypatch.setattr(residency, "MOST", most)
    monkeypatch.setattr(residency, "GAIN", float("inf"))
    prepared = staged(DIAMOND, SUBGRAPHS, hubs(), "local")
    with emulated():
        assert count(prepared) == on_the_cpu(prepared) > 0
        assert by_rows(prepared)


@pytest.mark.parametrize(
    ("seconds", "other", "rows"),
    [(2.0, 1.0, True), (1.0, 2.0, False), (0.0, supports.LEAST / 2, True), (0.0, 1.0, False)],
)
def test_the_quicker_way(seconds: float, other: float, rows: bool) -> None:
    """As far as it is known; what is short is not tried."""
    prepared, share = staged(DIAMOND, SUBGRAPHS, hubs()), stage.Share(0)
    counted = by_edge(prepared)
    assert counted is not None
    prepared.runs[(share, NO_COLUMNS, False), True] = other
    if seconds:
        counted.quickest[share] = seconds
    with emulated():
        assert count(prepared) == on_the_cpu(prepared)
        assert by_rows(prepared) == rows


def test_a_kernel_that_is_not_there_yet() -> None:
    """The rows of both ends are intersected until it is compiled."""
    prepared = staged(DIAMOND, SUBGRAPHS, hubs())
    with emulated(late=True):
        for _ in range(2):
            assert count(prepared) == on_the_cpu(prepared)
        assert prepared.idle["gpu"]
        counted = by_edge(prepared)
        assert counted is not None
        assert stage.Share(0) in counted.quickest


def test_what_is_no_sum_over_edges() -> None:
    """Other candidates of one vertex, directed edges, parallel ones, a part of the roots; or that is switched off."""
    assert by_edge(staged(DIAMOND, SUBGRAPHS, hubs(90))) is not None
    assert by_edge(staged(DIAMOND, SUBGRAPHS, hubs(90), "supports")) is None
    assert by_edge(staged(clique(3), SUBGRAPHS, hubs(90))) is None
    assert by_edge(staged((*DIAMOND, (3, 4)), SUBGRAPHS, hubs(90))) is None
    prepared = staged(DIAMOND, SUBGRAPHS, hubs(90))
    assert by_edge(between(prepared, 0, len(prepared.roots) - 1)) is None
    edges = [("R", a, b) for a in range(9) for b in range(a)]
    for labels, more, asked, direction in (
        ([("A",)] * 5 + [("B",)] * 4, [], ("A", "A", "A", "B"), Direction.ANY),
        ([()] * 9, [("R", 1, 0)], (), Direction.ANY),
        ([()] * 9, [], (), Direction.OUT),
    ):
        graph = SmallGraph(labels, [*edges, *more], frozenset("R"))
        vertices = tuple(QueryVertex(labels=((x,),)) for x in asked) or (QueryVertex(),) * 4
        pairs = tuple(QueryEdge(a, b, ("R",), direction) for a, b in DIAMOND)
        query = QueryGraph(vertices, pairs, SUBGRAPHS)
        assert by_edge(prepare(planner.plan(query, graph, counting=True), graph)) is None
