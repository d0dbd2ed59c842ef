"""The last two loops of a nest for rows as one, over pairs (matching patterns 1 to 7)."""

from __future__ import annotations

import sys

import pytest

from gdb.executor.gpu import launch, memory, pairs, special
from gdb.executor.gpu.layout import PAIRS_MOST, Pairs
from gdb.query_graph import (
    DIFFERENT_EDGES,
    DIFFERENT_NODES,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.storage.format.direction import Direction
from tests.gpu.test_gpu_executor import bag, has_its_own_kernel, hub_graph, rows_both, staged

ORDERED = Pairs.TOGETHER | Pairs.SAME | Pairs.ABOVE
SHAPES = {
    "wedge": ((0, 1), (0, 2)),
    "star": ((0, 1), (0, 2), (0, 3)),
    "fork": ((0, 1), (1, 2), (0, 3)),
    "tailed": ((0, 1), (1, 2), (0, 2), (2, 3)),
    "book": ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3)),
    "labels": ((0, 1), (0, 2), (0, 3)),
}
MODES = {
    "edges": DIFFERENT_EDGES,
    "nodes": DIFFERENT_NODES,
    "homomorphic": REPEATABLE_ELEMENTS,
    "subgraphs": SUBGRAPHS,
}


def query(
    shape: str, mode: MatchMode, direction: Direction = Direction.ANY, wanted: bool = False
) -> QueryGraph:
    ends = SHAPES[shape]
    labels = "AABA" if shape == "labels" else [""] * 4
    vertices = tuple(
        QueryVertex(labels=((x,),) if x else ()) for x in labels[: 1 + max(max(e) for e in ends)]
    )
    edges = tuple(QueryEdge(a, b, ("U",), direction, wanted=wanted) for a, b in ends)
    return QueryGraph(vertices, edges, mode)


@pytest.mark.parametrize(
    ("shape", "mode", "expected"),
    [
        ("wedge", DIFFERENT_NODES, ORDERED),
        ("star", DIFFERENT_NODES, ORDERED),
        ("book", DIFFERENT_NODES, ORDERED),
        ("wedge", REPEATABLE_ELEMENTS, Pairs.TOGETHER),
        ("star", DIFFERENT_EDGES, ORDERED),
        ("fork", DIFFERENT_NODES, Pairs.TOGETHER),
        ("labels", DIFFERENT_NODES, Pairs.TOGETHER),
    ],
)
def test_found(shape: str, mode: MatchMode, expected: Pairs) -> None:
    graph = hub_graph(1, 40, 40, multi=False)
    assert pairs.find(staged(query(shape, mode), graph, False)) == expected
    assert not pairs.find(staged(query(shape, mode), graph, True))  # counts have a tail
    assert not pairs.find(staged(query(shape, mode), graph, False, frozenset({"patterns"})))
    assert not pairs.find(staged(query(shape, mode, wanted=True), graph, False))


@pytest.mark.gpu
@pytest.mark.parametrize("capacity", [1, 33, 5000])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_rows(shape: str, mode: str, capacity: int) -> None:
    """On lists of every length up to one that is too long, simple ones and such with repeats."""
    for seed, direction in enumerate((Direction.ANY, Direction.OUT)):
        for multi in (False, True):
            graph = hub_graph(seed, 36, 30, multi)
            prepared = staged(query(shape, MODES[mode], direction), graph, False)
            found, expected = rows_both(prepared, capacity)
            assert bag(found) == bag(expected)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", ["wedge", "fork", "labels"])
def test_stops_and_goes_on(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any step, first in the generic kernel, then in one of its own."""
    monkeypatch.setattr(special, "WORTH", -1.0)
    prepared = staged(query(shape, DIFFERENT_NODES), hub_graph(5, 60, 60, multi=False), False)
    assert pairs.find(prepared)
    for steps in (1, 7, sys.maxsize):
        monkeypatch.setattr(launch, "STEPS", steps)
        found, expected = rows_both(prepared, 333)
        assert bag(found) == bag(expected)
        assert special.settle(180)
    assert memory.KEPT.take(prepared.idle["gpu"], has_its_own_kernel) is not None


@pytest.mark.gpu
def test_long_lists_run_for_themselves() -> None:
    graph = hub_graph(2, 2 * PAIRS_MOST, 50, multi=False)
    prepared = staged(query("wedge", DIFFERENT_NODES), graph, False)
    assert max(view.max_degree for view in prepared.views) > PAIRS_MOST
    found, expected = rows_both(prepared, 4096)
    assert bag(found) == bag(expected)
