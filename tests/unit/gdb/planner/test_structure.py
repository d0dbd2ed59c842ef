"""Counting by structure: whatever loops, tails and terms the planner chooses, the count is the same."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from gdb import planner
from gdb.executor import reference, run
from gdb.executor.run import Options
from gdb.planner import symmetry
from gdb.planner.distinct import conditions
from gdb.planner.problem import Problem, problem_of, quotients
from gdb.planner.resolved_graph import Resolved, resolve
from gdb.planner.structure import Effort, Search, Solution
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
from tests.support.effort import share
from tests.support.small_graph import SmallGraph

ALWAYS = Effort(sample_from=0, search_from=0.0, search_share=1e9, longest=5.0, tries=3)
MODES = (DIFFERENT_EDGES, DIFFERENT_NODES, REPEATABLE_ELEMENTS, SUBGRAPHS)


def ends(rng: random.Random, some: Sequence[int]) -> tuple[int, int]:
    """Two of them, in any order."""
    one, other = rng.sample(some, 2)
    return one, other


def data_graph(rng: random.Random) -> SmallGraph:
    """A simple graph of nine vertices, half of its pairs joined."""
    labels = sorted(rng.choice([("A",), ("B",)]) for _ in range(9))
    pairs = [(a, b) for b in range(9) for a in range(b) if rng.random() < 0.55]
    directed = [("D", *ends(rng, pair)) for pair in pairs if rng.random() < 0.8]
    return SmallGraph(labels, [("U", *pair) for pair in pairs] + directed, frozenset("U"))


def query_graph(rng: random.Random, mode: MatchMode) -> QueryGraph:
    """A connected pattern of four or five vertices, most of them unlabelled."""
    n = rng.choice([4, 5, 5])
    labels = [rng.choice([(), (), (), (("A",),)]) for _ in range(n)]
    pairs = {(rng.randrange(v), v) for v in range(1, n)}
    pairs |= {(a, b) for b in range(n) for a in range(b) if rng.random() < 0.25}
    directed = rng.random() < 0.3
    edges = []
    for a, b in sorted(pairs):
        if directed and rng.random() < 0.5:
            edges.append(QueryEdge(*ends(rng, (a, b)), ("D",), Direction.OUT))
        else:
            edges.append(QueryEdge(a, b, ("U",), Direction.ANY))
    return QueryGraph(tuple(QueryVertex(None, x) for x in labels), tuple(edges), mode)


def conditioned(rng: random.Random, query: QueryGraph) -> QueryGraph:
    """The pattern with pairs that differ, anti-edges or several MATCH, or as it is."""
    n = len(query.vertices)
    apart = [tuple(rng.sample(range(n), 2)) for _ in range(rng.choice([0, 1, 2]))]
    query = replace(query, apart=tuple((u, v) for u, v in apart))
    if rng.random() < 0.3:
        negated = QueryEdge(*ends(rng, range(n)), ("U",), Direction.ANY)
        query = replace(query, negated=(negated,))
    if query.mode.nodes_differ:
        return query
    edges = (replace(edge, clause=rng.choice([0, 0, 1])) for edge in query.edges)
    return replace(query, edges=tuple(edges))


@pytest.mark.parametrize("seed", range(share(100)))
def test_the_count_does_not_depend_on_the_structure(seed: int) -> None:
    rng = random.Random(seed)
    graph = data_graph(rng)
    query = query_graph(rng, MODES[seed % len(MODES)])
    if seed >= 60:
        query = conditioned(rng, query)
    plain = planner.plan(query, graph, counting=True, switched_off=frozenset({"structure"}))
    want = reference.count(plain, graph)
    plan = planner.plan(query, graph, counting=True, effort=ALWAYS)
    assert run.count(plan, graph, Options(device="cpu")) == want, plan
    assert reference.count(plan, graph) == want


def test_terms_are_found() -> None:
    """The random tests above would say nothing if the search never left its first plan."""
    found = 0
    for seed in range(20):
        rng = random.Random(seed)
        graph, query = data_graph(rng), query_graph(rng, DIFFERENT_NODES)
        found += bool(planner.plan(query, graph, counting=True, effort=ALWAYS).terms)
    assert found >= 3


def test_a_sample_that_ends_early_bounds_no_search() -> None:
    """Where a few vertices have most of the relationships, the first pairs drawn are mostly of the others."""
    rng, size = random.Random(5), 5
    many = [int(300 * rng.random() ** 4) for _ in range(3000)]
    pairs = sorted({(min(a, b), max(a, b)) for a in many for b in rng.sample(many, 1) if a != b})
    graph = SmallGraph([("A",)] * 300, [("U", *pair) for pair in pairs], frozenset("U"))
    edges = tuple(QueryEdge(k, (k + 1) % size, ("U",), Direction.ANY) for k in range(size))
    query = QueryGraph((QueryVertex(),) * size, edges, DIFFERENT_NODES)
    found = [
        planner.plan(query, graph, counting=True, effort=replace(ALWAYS, search_surely=surely))
        for surely in (math.inf, 0.0)
    ]
    assert [bool(plan.terms) for plan in found] == [True, True]
    assert found[1].notes.steps == found[0].notes.steps


@pytest.mark.parametrize("mode", [DIFFERENT_NODES, SUBGRAPHS])
@pytest.mark.parametrize("off", [frozenset[str](), frozenset({"orientation"})])
@pytest.mark.parametrize("size", [5, 6])
def test_the_first_loop_of_a_cycle_keeps_its_order(
    monkeypatch: pytest.MonkeyPatch, size: int, off: frozenset[str], mode: MatchMode
) -> None:
    """Whatever it costs: conditions are taken off, and the first vertex stays the least, in all terms too."""
    solve, alternative = Search.solve, Search._alternative

    def relaxed(
        self: Search, problem: Problem, order: tuple[int, ...], loops: int, most: float
    ) -> Iterator[Solution]:
        if len(order) < size:
            return alternative(self, problem, order, loops, most)
        return self._relaxed(problem, order, loops, most) if loops == 1 else iter(())

    monkeypatch.setattr(Search, "_alternative", relaxed)
    monkeypatch.setattr(Search, "solve", lambda self, problem, _: solve(self, problem, math.inf))
    edges = tuple(QueryEdge(k, (k + 1) % size, ("U",), Direction.ANY) for k in range(size))
    query = QueryGraph((QueryVertex(),) * size, edges, mode)
    for seed in range(3):
        graph = data_graph(random.Random(seed))
        plan = planner.plan(query, graph, counting=True, effort=ALWAYS, switched_off=off)
        first = plan.order[0]
        bounds = {(u, v) if "orientation" in off else (v, u) for u, v in plan.notes.restrictions}
        assert bounds == {(first, x) for x in range(size) if x != first}
        assert plan.terms
        assert all(term.notes.restrictions for _, term in plan.terms)
        plain = planner.plan(query, graph, counting=True, switched_off=frozenset({"structure"}))
        found = run.count(plan, graph, Options(device="cpu"))
        assert found == reference.count(plain, graph) > 0


def test_a_condition_taken_off_is_what_its_quotients_count() -> None:
    graph = data_graph(random.Random(1))
    edges = tuple(QueryEdge(k, k + 1, ("U",), Direction.ANY) for k in range(4))
    query = resolve(QueryGraph((QueryVertex(),) * 5, edges, DIFFERENT_NODES), graph)
    problem = problem_of(query, conditions(query, {}))
    assert problem is not None
    taken = frozenset({(0, 2), (0, 4), (2, 4)})

    def count(pattern: QueryGraph, apart: frozenset[tuple[int, int]]) -> int:
        everything = replace(pattern, mode=REPEATABLE_ELEMENTS)
        rows = reference.rows(planner.plan(everything, graph, counting=False), graph).vids.tolist()
        return sum(all(row[u] != row[v] for u, v in apart) for row in rows)

    smaller = list(quotients(problem, taken))
    assert len(smaller) == 4  # 0=2, 0=4, 2=4, all three
    relaxed = count(problem.query.graph, problem.apart - taken)
    parts = sum(count(q.query.graph, q.apart) for q in smaller)
    assert count(problem.query.graph, problem.apart) == relaxed - parts


def test_edges_with_parallels_are_no_counting_problem() -> None:
    graph = SmallGraph([()] * 3, [("U", 0, 1), ("U", 0, 1), ("U", 1, 2)], frozenset("U"))
    edges = (QueryEdge(0, 1, ("U",), Direction.ANY), QueryEdge(1, 2, ("U",), Direction.ANY))
    query = resolve(QueryGraph((QueryVertex(),) * 3, edges, DIFFERENT_NODES), graph)
    assert problem_of(query, conditions(query, {})) is None


def test_a_clique_begins_at_low_degrees_and_few_rows_of_it_at_hubs() -> None:
    graph = data_graph(random.Random(1))
    pairs = [(0, 1), (0, 2), (1, 2)]
    edges = tuple(QueryEdge(a, b, ("U",), Direction.ANY) for a, b in pairs)
    query = QueryGraph((QueryVertex(),) * 3, edges, SUBGRAPHS)
    plan = planner.plan(query, graph, counting=False)
    few = planner.plan(query, graph, counting=False, few=True)
    first = plan.order[0]
    assert all(u == first for u, v in plan.notes.restrictions if first in (u, v))  # the largest vid
    assert all(v == first for u, v in few.notes.restrictions if first in (u, v))  # the smallest
    assert len(reference.rows(few, graph)) == len(reference.rows(plan, graph))


def test_automorphisms_are_searched_only_among_like_vertices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[int] = []
    real = symmetry.Automorphisms.__init__

    def counted(self: symmetry.Automorphisms, query: Resolved, *rest: Any) -> None:
        searched.append(len(query.candidates))
        real(self, query, *rest)

    monkeypatch.setattr(symmetry.Automorphisms, "__init__", counted)
    graph = SmallGraph([("A",), ("B",)], [("E", 0, 1)], frozenset())
    edge = QueryEdge(0, 1, ("E",))
    for labels, times in ((("A", "B"), 0), (("A", "A"), 1)):
        vertices = tuple(QueryVertex(None, ((label,),)) for label in labels)
        query = resolve(QueryGraph(vertices, (edge,)), graph)
        searched.clear()
        assert symmetry.break_symmetry(query, (0, 1), lambda *_: True).multiplicity == 1
        assert len(searched) == times
