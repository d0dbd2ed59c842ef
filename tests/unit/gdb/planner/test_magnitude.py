"""Counts that are surely too large are refused before anything is counted, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

import gdb
from gdb import planner
from gdb.errors import CountOverflow
from gdb.executor import reference
from gdb.planner import magnitude
from gdb.planner.distinct import conditions
from gdb.planner.resolved_graph import resolve
from gdb.planner.sampled_embeddings import Statistics
from gdb.query_graph import DIFFERENT_NODES, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction
from tests.support.small_graph import SmallGraph

EDGES = ((0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5))
ORDER = tuple(range(6))


def some_graph() -> SmallGraph:
    random = Random(2)
    pairs = {tuple(sorted(random.sample(range(30), 2))) for _ in range(120)}
    return SmallGraph([()] * 30, [("U", a, b) for a, b in sorted(pairs)], frozenset("U"))


@pytest.fixture(scope="module")
def sampled() -> tuple[Statistics, int]:
    """Statistics of a pattern, and its count."""
    graph = some_graph()
    vertices = tuple(QueryVertex(None, ()) for _ in ORDER)
    edges = tuple(QueryEdge(a, b, (), Direction.ANY) for a, b in EDGES)
    query = QueryGraph(vertices, edges, DIFFERENT_NODES)
    resolved = resolve(query, graph)
    statistics = Statistics(resolved, conditions(resolved, {}).vertices)
    statistics.fans()
    statistics.weigh(ORDER)
    count = reference.count(planner.plan(query, graph, counting=True), graph)
    return statistics, count


def test_the_samples_are_unbiased(sampled: tuple[Statistics, int]) -> None:
    statistics, count = sampled
    random = np.random.default_rng(5)
    found = [statistics.along(ORDER, 4, random.random(6))[0][-1] for _ in range(4000)]
    error = float(np.std(found)) / len(found) ** 0.5
    assert error < 0.05 * count
    assert abs(float(np.mean(found)) - count) < 4 * error


def test_only_what_is_too_large_is_called_so(
    sampled: tuple[Statistics, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    statistics, count = sampled
    monkeypatch.setattr(magnitude, "LARGEST", count / 20)
    assert magnitude.surely_too_many(statistics, ORDER, count, 16)
    assert not magnitude.surely_too_many(statistics, ORDER, 5.9 * count / 20, 16)  # not worth it
    monkeypatch.setattr(magnitude, "WORTH_SAMPLING", 0.0)
    monkeypatch.setattr(magnitude, "SAMPLES", 300)
    monkeypatch.setattr(magnitude, "LARGEST", float(count))
    assert not magnitude.surely_too_many(statistics, ORDER, count, 4)


def test_all_embeddings_in_a_sample_are_no_estimate(
    sampled: tuple[Statistics, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    statistics, count = sampled
    monkeypatch.setattr(magnitude, "WORTH_SAMPLING", 0.0)
    monkeypatch.setattr(magnitude, "LARGEST", count - 0.5)
    assert magnitude.surely_too_many(statistics, ORDER, count, 1 << 20)
    monkeypatch.setattr(magnitude, "LARGEST", count + 0.5)
    assert not magnitude.surely_too_many(statistics, ORDER, count, 1 << 20)


@pytest.fixture(scope="module")
def clique() -> Iterator[gdb.Database]:
    with gdb.connect() as db:
        db.execute("UNWIND range(1, 80) AS i CREATE (:A {x: i})")
        db.execute("MATCH (a:A), (b:A) WHERE a.x < b.x CREATE (a)-[:E]->(b)")
        yield db


def ring(n: int) -> str:
    return "".join(f"(v{k})-[:E]-" for k in range(n)) + "(v0)"


def test_a_ring_of_sixteen_is_refused_with_its_magnitude(clique: gdb.Database) -> None:
    """80! / 64! = 5.6e29."""
    with pytest.raises(CountOverflow, match=r"about 5\.\de\+29") as told:
        clique.execute(f"MATCH DIFFERENT NODES {ring(16)} RETURN count(*)", timeout=20)
    assert "LIMIT" in str(told.value)
    shown = clique.explain(f"MATCH DIFFERENT NODES {ring(16)} RETURN count(*)", device="cpu")
    assert "more embeddings than a count holds" in shown


def test_rows_and_what_is_left_out_by_others_are_not_refused(clique: gdb.Database) -> None:
    rows = clique.execute(f"MATCH DIFFERENT NODES {ring(16)} RETURN v0.x LIMIT 7", timeout=20)
    assert len(rows.fetchall()) == 7
    # comparisons leave out what edges do not: nothing is left of these
    where = " AND ".join(f"v{k}.x + 100 < v{k + 1}.x" for k in range(15))
    found = clique.execute(f"MATCH DIFFERENT NODES {ring(16)} WHERE {where} RETURN count(*)")
    assert found.scalar() == 0


def test_one_at_each_vertex_is_asked_of_parts(clique: gdb.Database) -> None:
    """A count for each vertex is no sum over all."""
    text = "MATCH DIFFERENT NODES (a:A {x: 1})-[:E]-(b) RETURN a.x, count(*)"
    assert clique.execute(text).fetchall() == [(1, 79)]
