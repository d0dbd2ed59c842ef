"""Counts over lists that parallel relationships repeat neighbours in, by the GPU's kernels on the CPU."""

from __future__ import annotations

import random
from functools import cache

import pytest

from gdb import planner
from gdb.executor import reference
from gdb.executor.gpu import launch
from gdb.executor.nest.prepare import prepare
from gdb.executor.work.scheduler import Budget, Watch
from gdb.planner import coincidences
from gdb.planner.structure import Effort
from gdb.query_graph import QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction
from tests.emulated.emulator import absence, emulated
from tests.support.small_graph import SmallGraph

pytestmark = pytest.mark.skipif(absence() is not None, reason=str(absence()))
ALWAYS = Effort(sample_from=0, search_from=0.0)
PATTERNS = {
    "star": ([(0, 1), (0, 2), (0, 3)], Direction.OUT),
    "undirected path of two": ([(0, 1), (1, 2)], Direction.ANY),
    "path of three": ([(0, 1), (1, 2), (2, 3)], Direction.OUT),
    "triangle": ([(0, 1), (1, 2), (0, 2)], Direction.OUT),
}


@cache
def multigraph(n: int = 40, m: int = 160) -> SmallGraph:
    """A hub, parallel relationships and self-loops."""
    draw = random.Random(3)
    edges = [("R", int(n * draw.random() ** 2), draw.randrange(n)) for _ in range(m)]
    edges += draw.sample(edges, 30) + [("R", x, x) for x in range(0, n, 5)]
    return SmallGraph([()] * n, edges, frozenset())


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("downwards", [False, True])
def test_they_are_counted(name: str, downwards: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coincidences, "CHEAPER", 1e300)
    monkeypatch.setattr(coincidences, "A_TERM", 0.0)
    monkeypatch.setattr(coincidences, "A_PATTERN", 1e-300)
    pairs, way = PATTERNS[name]
    vertices = tuple(QueryVertex() for _ in range(1 + max(map(max, pairs))))
    query = QueryGraph(vertices, tuple(QueryEdge(a, b, (), way) for a, b in pairs))
    graph = multigraph()
    plan = planner.plan(query, graph, counting=True, effort=ALWAYS)
    expected = reference.count(
        planner.plan(query, graph, counting=True, switched_off=frozenset({"coincidences"})), graph
    )
    total = 0
    with emulated(downwards=downwards):
        for factor, term in ((1, plan), *plan.terms):
            (number,) = launch.counts([prepare(term, graph)], Watch(None, None, None), Budget())
            total += factor * term.multiplicity * number
    assert total == expected > 0
    assert bool(plan.terms) == (name in ("path of three", "triangle"))
