"""Estimates and orders where few vertices have a relationship of some type: the rarer it is, the fewer embeddings."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from gdb import planner
from gdb.planner import cost
from gdb.planner.resolved_graph import resolve
from gdb.query_graph import DIFFERENT_NODES, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction
from tests.support.small_graph import SmallGraph

N = 400


def graph(rare: int, labels: Sequence[tuple[str, ...]] | None = None) -> SmallGraph:
    draw = random.Random(3)
    edges = [("COMMON", draw.randrange(N), draw.randrange(N)) for _ in range(5 * N)]
    edges += [("RARE", draw.randrange(N), draw.randrange(N)) for _ in range(rare)]
    return SmallGraph(labels or [()] * N, edges)


def chain(*types: str) -> QueryGraph:
    edges = tuple(QueryEdge(k, k + 1, (name,), Direction.OUT) for k, name in enumerate(types))
    return QueryGraph((QueryVertex(),) * (len(types) + 1), edges, DIFFERENT_NODES)


@pytest.mark.parametrize("rare", [1, 10, 100, 400, 4000])
def test_the_number_of_relationships_is_the_estimate(rare: int) -> None:
    query = resolve(chain("RARE"), graph(rare))
    for order in ((0, 1), (1, 0)):
        assert cost.estimates(query, order)[-1] == pytest.approx(rare)


@pytest.mark.parametrize("rare", [1, 10, 100])
def test_an_order_begins_where_few_vertices_have_a_relationship(rare: int) -> None:
    """Of a chain the rare relationship's source, whatever order is estimated."""
    source = graph(rare)
    plan = planner.plan(chain("COMMON", "COMMON", "RARE"), source, counting=False)
    assert plan.order[0] == 2
    query = resolve(chain("COMMON", "COMMON", "RARE"), source)
    last = [cost.estimates(query, order)[-1] for order in ((2, 1, 3, 0), (0, 1, 2, 3))]
    assert last[0] == pytest.approx(25 * rare, rel=0.2)
    assert last[1] == pytest.approx(last[0])


def test_fewer_candidates_than_lists() -> None:
    """A label that few vertices have bounds what a vertex may be more than its relationships."""
    query = chain("COMMON")
    first = QueryVertex(labels=(("B",),))
    labels = [("A",)] * (N - 3) + [("B",)] * 3
    resolved = resolve(
        QueryGraph((first, *query.vertices[1:]), query.edges, query.mode), graph(1, labels)
    )
    assert resolved.present(0) == 3


def test_an_order_begins_where_few_vertices_are_allowed() -> None:
    """More than a handful of them, at a leaf of a star, whose centre may be any vertex."""
    draw = random.Random(2)
    pairs = [(draw.randrange(4 * N), draw.randrange(4 * N)) for _ in range(2 * N)]
    source = SmallGraph([()] * 4 * N, [("RARE", a, b) for a, b in pairs])
    few = QueryVertex(allowed=np.arange(0, 4 * N, 20, dtype=np.uint32))
    steps = tuple(QueryEdge(0, k, ("RARE",), Direction.OUT) for k in (1, 2, 3))
    star = QueryGraph((QueryVertex(), QueryVertex(), few, QueryVertex()), steps, DIFFERENT_NODES)
    assert planner.plan(star, source, counting=False).order[:2] == (2, 0)
    half = QueryVertex(allowed=np.arange(0, 4 * N - 5, dtype=np.uint32))
    star = QueryGraph((QueryVertex(), QueryVertex(), half, QueryVertex()), steps, DIFFERENT_NODES)
    assert planner.plan(star, source, counting=False).order[0] == 0
