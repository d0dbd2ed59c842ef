"""Counting with relationships that may coincide, less the embeddings in which they do: the count is the same."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from gdb import planner
from gdb.executor import reference, run
from gdb.executor.plan.plan import Apart, Plan
from gdb.executor.run import Options
from gdb.planner import coincidences
from gdb.planner.distinct import conditions
from gdb.planner.resolved_graph import resolve
from gdb.planner.structure import Effort
from gdb.query_graph import (
    DIFFERENT_EDGES,
    DIFFERENT_NODES,
    INDUCED,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.storage.format.direction import Direction
from tests.oracles.brute_force import embeddings
from tests.support.effort import share
from tests.support.small_graph import SmallGraph

ALWAYS = Effort(sample_from=0, search_from=0.0, search_share=1e9, longest=5.0, tries=3)
OFF = frozenset({"coincidences"})
MODES = (DIFFERENT_EDGES, DIFFERENT_NODES, REPEATABLE_ELEMENTS, SUBGRAPHS, INDUCED)


@pytest.fixture(autouse=True)
def _whatever_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coincidences, "CHEAPER", 1e300)
    monkeypatch.setattr(coincidences, "A_TERM", 0.0)
    monkeypatch.setattr(coincidences, "A_PATTERN", 1e-300)


def multigraph(rng: random.Random, n: int = 5, m: int = 14) -> SmallGraph:
    """With self-loops, and parallel relationships of a directed and an undirected type; W has neither."""
    labels = sorted(rng.choice([("A",), ("B",)]) for _ in range(n))
    edges = [(rng.choice("UVV"), rng.randrange(n), rng.randrange(n)) for _ in range(m)]
    edges += rng.sample(edges, 3)
    pairs = [(a, b) for a in range(n) for b in range(a)]
    edges += [("W", *pair) for pair in rng.sample(pairs, 3)]
    return SmallGraph(labels, edges, frozenset("U"))


def simple_graph(rng: random.Random) -> SmallGraph:
    """No parallel relationships of one type; self-loops and ones that go back now and then."""
    labels = sorted(rng.choice([("A",), ("B",)]) for _ in range(5))
    loops = rng.random() < 0.5
    pairs = [(a, b) for a in range(5) for b in range(5) if loops or a != b]
    edges = [("V", *pair) for pair in rng.sample(pairs, 12)]
    edges += [("U", *pair) for pair in rng.sample([p for p in pairs if p[0] <= p[1]], 6)]
    return SmallGraph(labels, edges, frozenset("U"))


def any_graph(rng: random.Random) -> SmallGraph:
    return multigraph(rng) if rng.random() < 0.6 else simple_graph(rng)


def pattern(rng: random.Random, mode: MatchMode, edges: int) -> QueryGraph:
    """A connected pattern of so many relationships, with labels, predicates and several MATCH now and then."""
    n = rng.randint(2, edges + 1)
    pairs = [(rng.randrange(v), v) for v in range(1, n)]
    pairs += [(rng.randrange(n), rng.randrange(n)) for _ in range(edges - n + 1)]
    types: list[tuple[str, ...]] = rng.choice(
        [[()], [("V",)], [("U",)], [(), ("V",), ("U", "V"), ("W",)]]
    )
    clauses = 1 if mode.distinct or mode.induced else rng.choice([1, 1, 2])
    way = rng.choice([[Direction.OUT], [Direction.ANY], [Direction.OUT, Direction.ANY]])
    found = []
    for u, v in pairs:
        a, b = rng.choice([(u, v), (v, u)])
        some = rng.random() < 0.1
        found.append(
            QueryEdge(
                *(a, b, rng.choice(types), rng.choice(way)),
                allowed=np.arange(0, 17, 2, dtype=np.int64) if some else None,
                predicate="even" if some else "",
                clause=rng.randrange(clauses),
                exists=not some and rng.random() < 0.05,
            )
        )
    vertices = []
    for _ in range(n):
        few = rng.random() < 0.1
        vertices.append(
            QueryVertex(
                labels=rng.choice([(), (), (), (("A",),)]),
                allowed=np.array([0, 2, 3], np.uint32) if few else None,
                predicate="few" if few else "",
            )
        )
    apart = ((0, n - 1),) if n > 2 and rng.random() < 0.1 else ()
    return QueryGraph(tuple(vertices), tuple(found), mode, apart=apart)


def counts(plan: Plan, graph: SmallGraph) -> tuple[int, int]:
    return reference.count(plan, graph), run.count(plan, graph, Options())


@pytest.mark.parametrize(
    "mode", MODES, ids=["edges", "nodes", "repeatable", "subgraphs", "induced"]
)
def test_counts_are_those_of_brute_force(mode: MatchMode) -> None:
    rng = random.Random(5)
    with_terms = 0
    for _ in range(share(240, 60) if mode is DIFFERENT_EDGES else share(60)):
        graph = any_graph(rng)
        query = pattern(rng, mode, rng.randint(2, 4))
        expected = len(embeddings(query, graph))
        plan = planner.plan(query, graph, counting=True, effort=ALWAYS)
        assert counts(plan, graph) == (expected, expected), query
        with_terms += bool(plan.terms)
        if rng.random() < 0.3:
            others = frozenset({rng.choice(planner.PASSES)})
            for off in (OFF, others):
                plan = planner.plan(query, graph, counting=True, switched_off=off, effort=ALWAYS)
                assert counts(plan, graph) == (expected, expected), (query, off)
    assert bool(with_terms) == (mode in (DIFFERENT_EDGES, DIFFERENT_NODES))


def test_counts_of_each_vertex() -> None:
    rng = random.Random(6)
    with_terms = 0
    for _ in range(share(120, 40)):
        graph = any_graph(rng)
        query = pattern(rng, DIFFERENT_EDGES, rng.randint(2, 3))
        root = rng.randrange(len(query.vertices))
        expected = Counter(vids[root] for vids, _ in embeddings(query, graph))
        plan = planner.plan(query, graph, counting=True, root=root, effort=ALWAYS)
        some, numbers = run.tallies(plan, graph, Options())
        found = dict(zip(some.vertex(root).tolist(), numbers.tolist(), strict=True))
        assert found == expected, query
        with_terms += bool(plan.terms)
    assert with_terms > 10


def test_counts_of_each_vertex_that_terms_would_make_dearer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is measured beside the terms is the plan that runs, in which vertices have their own numbers."""
    monkeypatch.setattr(coincidences, "CHEAPER", 0.0)
    rng = random.Random(10)
    for _ in range(10):
        graph = simple_graph(rng)
        ends = ((1, 0), (2, 1), (3, 1))
        query = QueryGraph(
            tuple(QueryVertex() for _ in range(4)), tuple(QueryEdge(a, b, ("V",)) for a, b in ends)
        )
        expected = Counter(vids[0] for vids, _ in embeddings(query, graph))
        plan = planner.plan(query, graph, counting=True, root=0, effort=ALWAYS)
        assert not plan.terms
        some, numbers = run.tallies(plan, graph, Options())
        assert dict(zip(some.vertex(0).tolist(), numbers.tolist(), strict=True)) == expected


def chain(edges: int, way: Direction = Direction.OUT) -> QueryGraph:
    vertices = tuple(QueryVertex() for _ in range(edges + 1))
    return QueryGraph(vertices, tuple(QueryEdge(v, v + 1, (), way) for v in range(edges)))


def star(leaves: int) -> QueryGraph:
    vertices = tuple(QueryVertex() for _ in range(leaves + 1))
    return QueryGraph(vertices, tuple(QueryEdge(0, v + 1) for v in range(leaves)))


@pytest.mark.parametrize("way", [Direction.OUT, Direction.ANY], ids=["directed", "undirected"])
def test_paths_are_those_of_networkx(way: Direction) -> None:
    """Paths of three relationships, found by walking over the relationships of a multigraph of networkx."""
    rng = random.Random(7)
    edges = [("V", rng.randrange(12), rng.randrange(12)) for _ in range(40)]
    graph = SmallGraph([()] * 12, edges, frozenset())
    known = nx.MultiDiGraph() if way is Direction.OUT else nx.MultiGraph()
    known.add_nodes_from(range(12))
    for eid, (_, a, b) in enumerate(edges):
        known.add_edge(a, b, key=eid)
    number = 0
    for a in known:
        for _, b, e in known.edges(a, keys=True):
            for _, c, f in known.edges(b, keys=True):
                number += sum(len({e, f, g}) == 3 for _, _, g in known.edges(c, keys=True))
    plan = planner.plan(chain(3, way), graph, counting=True, effort=ALWAYS)
    assert plan.terms
    assert counts(plan, graph) == (number, number)


def test_leaves_of_one_list_need_no_terms() -> None:
    graph = SmallGraph([()] * 3, [("V", 0, 1)] * 3 + [("V", 0, 2), ("V", 0, 0)], frozenset())
    plan = planner.plan(star(4), graph, counting=True, effort=ALWAYS)
    assert not plan.terms
    assert counts(plan, graph) == (120, 120)


def test_a_path_of_a_simple_graph_needs_no_conditions() -> None:
    """The first and the last relationship may be one that is gone back by: that is taken off."""
    pairs = [(a, b) for a in range(5) for b in range(5) if a != b]
    graph = SmallGraph([()] * 5, [("V", a, b) for a, b in pairs], frozenset())
    plan = planner.plan(chain(3), graph, counting=True, effort=ALWAYS)
    assert [factor for factor, _ in plan.terms] == [-1]
    assert not any(isinstance(phase, Apart) for phase in plan.phases)
    assert counts(plan, graph) == (300, 300)


def test_alike_terms_are_one() -> None:
    """Of a path of three, the first or the last two are one: a self-loop and a relationship that leaves or enters it;
    the first and the last: one that goes there and back; all three: a self-loop."""
    graph = SmallGraph([()] * 3, [("V", 0, 1), ("V", 1, 0), ("V", 0, 0)] * 2, frozenset())
    query = resolve(chain(3), graph)
    found = coincidences.coincidences(query, conditions(query, {}))
    sizes = [(term.factor, len(term.graph.vertices), len(term.graph.edges)) for term in found]
    assert sizes[0] == (1, 4, 3)
    assert sorted(sizes[1:]) == [(-1, 2, 2), (-1, 2, 2), (-1, 2, 2), (2, 1, 1)]


def test_a_pattern_of_one_vertex_is_counted_for_each() -> None:
    graph = SmallGraph([()] * 3, [("V", 1, 1), ("V", 0, 2)], frozenset())
    query = QueryGraph((QueryVertex(),), (QueryEdge(0, 0),))
    plan = planner.plan(query, graph, counting=True, root=0)
    some, numbers = run.tallies(plan, graph, Options())
    assert (some.vertex(0).tolist(), numbers.tolist()) == ([1], [1])


def test_terms_of_stars_are_alike() -> None:
    """Leaves with predicates are no list of their own: each partition of four of them is looked at."""
    graph = SmallGraph([()] * 3, [("V", 0, 1)] * 3 + [("V", 0, 2)], frozenset())
    some = QueryVertex(allowed=np.array([1], np.uint32), predicate="one")
    query = resolve(replace(star(4), vertices=(QueryVertex(), *[some] * 4)), graph)
    found = coincidences.coincidences(query, conditions(query, {}))
    assert [term.factor for term in found] == [1, -6, 11, -6]  # of n (n - 1) (n - 2) (n - 3)


def test_a_pattern_of_too_many_terms_is_counted_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coincidences, "MOST_PATTERNS", 3)
    graph = multigraph(random.Random(9))
    plan = planner.plan(chain(3), graph, counting=True, effort=ALWAYS)
    assert not plan.terms
    number = len(embeddings(chain(3), graph))
    assert counts(plan, graph) == (number, number)
