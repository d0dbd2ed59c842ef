"""Pairs that differ, anti-edges, edges that need only exist, several MATCH and comparisons, over graphs where they
matter: reference = brute force, cpu = reference."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from gdb import planner
from gdb.executor import reference
from gdb.executor.nest.prepare import prepare
from gdb.executor.plan import embeddings
from gdb.executor.plan.plan import MISSING, Compare
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import MatchMode, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction
from tests.oracles import brute_force
from tests.support.backends import BACKENDS
from tests.support.small_graph import SmallGraph
from tests.support.strategies import MODES
from tests.unit.executor.test_executors import PASS_SETS, bag, expected, orbits

KINDS = ("clauses", "apart", "negated", "exists", "compared")


def data_graph(rng: random.Random) -> SmallGraph:
    """Five vertices; half of the graphs simple."""
    edges = [(rng.choice("RRSU"), rng.randrange(5), rng.randrange(5)) for _ in range(9)]
    if rng.random() < 0.5:
        edges = sorted({(t, min(a, b), max(a, b)) for t, a, b in edges if a != b})
    return SmallGraph(sorted(rng.choice([("A",), ("B",)]) for _ in range(5)), edges, frozenset("U"))


def edge(rng: random.Random, source: int, target: int) -> QueryEdge:
    types = rng.choice([(), (), ("R",), ("R",), ("U",), ("R", "U")])
    return QueryEdge(source, target, types, rng.choice([Direction.OUT, Direction.ANY]))


def query_graph(rng: random.Random, kind: str, mode: MatchMode, graph: SmallGraph) -> QueryGraph:
    """A connected pattern of two to four vertices with one kind of condition."""
    n = rng.choice([2, 3, 3, 4])
    ends = [rng.sample((rng.randrange(v), v), 2) for v in range(1, n)]
    ends += [[rng.randrange(n), rng.randrange(n)] for _ in range(rng.choice([0, 1]))]
    edges = [edge(rng, *pair) for pair in ends]
    apart, negated, compared = [], [], []
    if kind == "clauses" and not mode.nodes_differ:
        edges = [replace(e, clause=rng.randrange(2)) for e in edges]
    if kind == "apart":
        apart = [rng.sample(range(n), 2)]
    if kind == "negated":
        negated = [edge(rng, rng.randrange(n), rng.randrange(n))]
    if kind == "exists":
        one = edge(rng, rng.randrange(n), rng.randrange(n))
        edges.append(QueryEdge(one.source, one.target, one.types, one.direction, exists=True))
    if kind == "compared":
        known = [(k, False) for k in range(n)]
        known += [(k, True) for k in range(len(edges))]
        (left, a), (right, b) = rng.sample(known, 2)
        sizes = (graph.edge_count if is_edge else graph.vertex_count for is_edge in (a, b))
        sides = [
            np.array([rng.choice([0, 1, 2, 3, MISSING]) for _ in range(size)], np.int64)
            for size in sizes
        ]
        bounds = rng.choice([(-(1 << 62), 0), (1, 1 << 62), (0, 1), (-2, 1)])
        compared = [
            Compare(
                *(left, right, a, b, *bounds, sides[0], sides[1], "compared", rng.random() < 0.7)
            )
        ]
    vertices = tuple(QueryVertex(None, rng.choice([(), (), (("A",),)])) for _ in range(n))
    return QueryGraph(
        *(vertices, tuple(edges), mode),
        apart=tuple((u, v) for u, v in apart),
        negated=tuple(negated),
        compared=tuple(compared),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_conditions_mean_what_they_say(kind: str) -> None:
    rng = random.Random(kind)
    for round_ in range(90):
        graph = data_graph(rng)
        plain = kind == "clauses" and round_ % 3 > 0  # where it matters
        mode = MODES[0 if plain else round_ % len(MODES)]
        query = query_graph(rng, kind, mode, graph)
        off = rng.choice([frozenset(), *PASS_SETS])
        plan = planner.plan(query, graph, counting=False, switched_off=off)
        counted = planner.plan(query, graph, counting=True, switched_off=off)
        want, got = expected(query, graph, plan), bag(reference.rows(plan, graph), plan)
        if query.mode.distinct:
            assert orbits(query, got, plan) == orbits(query, want, plan), query
        else:
            assert got == want, query
        number = reference.count(counted, graph)
        assert number == want.total(), query
        for backend in BACKENDS:
            watch = Watch(None, None, None)
            found = backend.rows(
                prepare(plan, graph, windows=backend.windows), watch, Budget(), 1000
            )
            assert bag(embeddings.expand(found, plan.twins), plan) == got, query
            stage = prepare(counted, graph, windows=backend.windows)
            total = backend.count(stage, Watch(None, None, None), Budget())
            assert total * counted.multiplicity == number, query


def test_brute_force_tells_them_apart() -> None:
    """The test above would say nothing if its conditions held of everything."""
    for kind in KINDS:
        rng, differs = random.Random(kind), 0
        for _ in range(40):
            graph = data_graph(rng)
            query = query_graph(rng, kind, MODES[0], graph)
            plain = replace(query, apart=(), negated=(), compared=())
            edges = (replace(e, clause=0) for e in query.edges if not e.exists)
            plain = replace(plain, edges=tuple(edges))
            before, after = (
                brute_force.embeddings(plain, graph),
                brute_force.embeddings(query, graph),
            )
            differs += len(before) != len(after)
        assert differs >= 4, kind
