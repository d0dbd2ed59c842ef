"""Expected numbers of embeddings: labels count where several kinds of relationships share a type."""

from __future__ import annotations

import math

import pytest

from gdb.planner import moments as estimates
from gdb.planner.moments import Moments
from gdb.planner.problem import Problem
from gdb.planner.resolved_graph import resolve
from gdb.planner.structure import _alternatives
from gdb.query_graph import DIFFERENT_EDGES, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction
from tests.support.small_graph import SmallGraph

# 4 persons in 2 cities of 1 country, 40 messages located in the country: IN joins all of them
LABELS = [("City",)] * 2 + [("Country",)] + [("Message",)] * 40 + [("Person",)] * 4
IN = [("IN", 0, 2), ("IN", 1, 2)]
IN += [("IN", 3 + k, 2) for k in range(40)] + [("IN", 43 + k, k % 2) for k in range(4)]
WROTE = [("WROTE", 43, 3 + k) for k in range(40)]
GRAPH = SmallGraph(LABELS, IN + WROTE)


def asked(labels: list[str], edges: list[tuple[int, int, str]]) -> QueryGraph:
    return QueryGraph(
        tuple(QueryVertex(None, ((name,),)) for name in labels),
        tuple(QueryEdge(a, b, (name,), Direction.OUT) for a, b, name in edges),
        DIFFERENT_EDGES,
    )


def moments(query: QueryGraph) -> Moments:
    return Moments(resolve(query, GRAPH))


@pytest.mark.parametrize(
    ("labels", "count"), [("Person City", 4), ("Message Country", 40), ("City Country", 2)]
)
def test_one_edge_is_expected_as_often_as_it_joins_candidates(labels: str, count: int) -> None:
    found = moments(asked(labels.split(), [(0, 1, "IN")]))
    assert found.expected(1) == pytest.approx(count)


def test_a_path_is_the_product_of_its_steps() -> None:
    found = moments(asked(["Person", "City", "Country"], [(0, 1, "IN"), (1, 2, "IN")]))
    # Country has 42 relationships, 2 of them of cities: what is not known of a city is taken as independent
    assert found.expected(3) == pytest.approx(4)


def test_vertices_of_which_only_some_are_looked_at_count_in_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(estimates, "_FIRST", 4)
    monkeypatch.setattr(estimates, "_MOST", 10)
    found = moments(asked(["Message", "Country"], [(0, 1, "IN")]))
    assert len(found._sample(0).vids) < 20
    assert found.expected(1) == pytest.approx(40)
    assert found._roots(0) == pytest.approx(40)


def test_what_hangs_below_a_loop_is_counted_anew_each_time() -> None:
    """From each of the cities there is a way to all messages of its country; from the one country it is gone once."""
    query = asked(["City", "Country", "Message"], [(0, 1, "IN"), (2, 1, "IN")])
    problem = Problem(resolve(query, GRAPH), frozenset())
    costs = {order[:loops]: cost for cost, order, loops in _alternatives(problem)}
    assert costs[0,] > costs[1,]
    # the cities twice, as roots and as what is bound, and both ways to each message
    assert math.isclose(costs[0,], 2 + 2 + 0.25 * 2 * 40)
