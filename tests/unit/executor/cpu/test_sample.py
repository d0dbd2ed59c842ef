"""The sampled estimate of a stage's steps is unbiased."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gdb import planner
from gdb.base.usage import Usage
from gdb.errors import Cancelled
from gdb.executor.cpu import address, workers
from gdb.executor.cpu.sample import estimate
from gdb.executor.cpu.workers import Worker, view_row
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.query_graph import DIFFERENT_NODES, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64, Adjacency
from tests.support.small_graph import SmallGraph

PATTERNS = {
    "triangle": [(0, 1), (1, 2), (0, 2)],
    "house": [(0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4)],
}


def stage(pattern: str, *, counting: bool) -> Prepared:
    rng = random.Random(3)
    pairs = {tuple(sorted((int(30 * rng.random() ** 2), rng.randrange(30)))) for _ in range(160)}
    graph = SmallGraph([()] * 30, [("U", a, b) for a, b in pairs if a != b], frozenset("U"))
    edges = tuple(QueryEdge(a, b, ("U",), Direction.ANY) for a, b in PATTERNS[pattern])
    n = 1 + max(max(e) for e in PATTERNS[pattern])
    query = QueryGraph((QueryVertex(),) * n, edges, DIFFERENT_NODES)
    return prepare(planner.plan(query, graph, counting=counting), graph)


def steps(prepared: Prepared) -> int:
    """Of the whole stage, counted."""
    worker = Worker(prepared, 1 << 12)
    for root in range(len(prepared.roots)):
        worker.begin(root, root + 1)
        while worker.run(1 << 30) != address.DONE:
            worker.reset()
        worker.reset()
    return int(worker.control[address.SPENT])


def test_a_long_estimate_can_be_stopped() -> None:
    """Between parts of a walk it looks at whether the query goes on."""
    prepared, looked = stage("house", counting=True), list[int]()

    def check() -> None:
        looked.append(1)
        if len(looked) > 2:
            raise Cancelled("while it was planned")

    with Usage() as used:
        used.check = check
        with pytest.raises(Cancelled, match="planned"):
            estimate(prepared, 10, 1 << 30)
    assert len(looked) == 3


# not the rows of one edge: the kernel writes those of a root all at once, a sample one by one
@pytest.mark.parametrize("counting", [True, False])
@pytest.mark.parametrize("pattern", ["triangle", "house"])
def test_the_mean_of_many_draws_is_the_truth(pattern: str, counting: bool) -> None:
    prepared = stage(pattern, counting=counting)
    found = [estimate(prepared, 200, 1 << 40, seed).steps for seed in range(20)]
    assert np.mean(found) == pytest.approx(steps(prepared), rel=0.15)


@pytest.mark.parametrize("pattern", list(PATTERNS))
def test_a_sample_splits_no_rows(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To split all of a graph would take longer; to look for where a row is split is no step."""
    prepared, split = stage(pattern, counting=True), list[bool]()
    assert prepared.restricted

    def row(view: Adjacency, eids: I64 | None, *, restricted: bool) -> list[int]:
        split.append(restricted)
        return view_row(view, eids, restricted=restricted or whole)

    whole = False
    monkeypatch.setattr(workers, "view_row", row)
    found = estimate(prepared, 100, 1 << 30)
    assert not any(split)
    whole = True
    assert estimate(prepared, 100, 1 << 30) == found
    Worker(prepared, 1)
    assert split[-1]


def test_a_sample_ends() -> None:
    prepared = stage("house", counting=False)
    assert estimate(prepared, 1000, 1 << 40).drawn == 1000
    short = estimate(prepared, 1000, 500)
    assert short.drawn < 200
    assert short.walked < 500 + 3000
