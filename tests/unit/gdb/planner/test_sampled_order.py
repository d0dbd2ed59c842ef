"""Orders and candidates from sampled statistics: no answer changes by them, in any mode, and they are what they say."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gdb
from gdb import planner
from gdb.executor import reference
from gdb.executor.cpu import populations
from gdb.executor.nest.prepare import prepare
from gdb.executor.plan import embeddings
from gdb.executor.work.scheduler import Budget, Watch
from gdb.planner.arrangements import hanging_last
from gdb.planner.decompose import decompose
from gdb.planner.distinct import conditions
from gdb.planner.pricing import Prices, Samples
from gdb.planner.resolved_graph import Resolved, resolve
from gdb.planner.sampled_embeddings import Statistics
from gdb.query_graph import (
    DIFFERENT_NODES,
    REPEATABLE_ELEMENTS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.storage.format.direction import Direction
from tests.oracles import brute_force
from tests.support.backends import BACKENDS, Backend
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.support.strategies import cases
from tests.unit.executor.test_executors import bag, expected, orbits

MODULE = importlib.import_module("gdb.planner.sampled_order")  # its name is a function's as well
OFF = frozenset({"statistics"})


@contextmanager
def always(members: int = 2) -> Iterator[None]:
    """Patterns of any size are planned by samples of a few members, a search for loops takes place, and its order is
    changed for whatever another search finds."""
    changes: dict[str, Any] = {
        "MEMBERS": members,
        "MOST_MEMBERS": members,
        "WORTH_A_SEARCH": -1.0,
        "A_TRY": 1e-9,
        "CHEAPER": 1e9,
    }
    with patch.object(planner, "LEAST_SAMPLED", 1), patch.multiple(MODULE, **changes):
        yield


@settings(max_examples=share(150), deadline=None)
@given(cases(), st.sampled_from([2, 100]))
def test_small_patterns_in_all_modes_are_brute_force(
    case: tuple[SmallGraph, QueryGraph], members: int
) -> None:
    graph, query = case
    with always(members):
        plan = planner.plan(query, graph, counting=False)
        counted = planner.plan(query, graph, counting=True)
    want = expected(query, graph, plan)
    got = bag(reference.rows(plan, graph), plan)
    assert reference.count(counted, graph) == sum(want.values())
    if query.mode.distinct:
        assert orbits(query, got, plan) == orbits(query, want, plan)
    else:
        assert got == want


def random_graph(random: np.random.Generator) -> SmallGraph:
    n = int(random.integers(10, 16))
    labels = sorted(("ABC"[int(k)],) for k in random.integers(0, 3, n))
    pairs = random.integers(0, n, (3 * n, 2)).tolist()
    edges = [("RU"[k % 2], a, b) for k, (a, b) in enumerate(pairs)]
    return SmallGraph(labels, edges, frozenset("U"))


def random_pattern(random: np.random.Generator, graph: SmallGraph, n: int) -> QueryGraph:
    """A pattern cut out of the graph by a walk, so that it has an embedding with repeated elements."""
    at = int(random.integers(graph.vertex_count))
    images, edges = [at], []
    while len(images) < n:
        source = int(random.integers(len(images)))
        around = [(t, b, 1) for t, a, b in graph.edges if a == images[source]]
        around += [(t, a, 0) for t, a, b in graph.edges if b == images[source]]
        if not around:
            return random_pattern(random, graph, n)
        kind, image, forward = around[int(random.integers(len(around)))]
        ends = (source, len(images)) if forward else (len(images), source)
        edges.append(QueryEdge(*ends, (kind,), Direction.OUT))
        images.append(image)
    for _ in range(n // 2):
        u, v = random.integers(0, n, 2).tolist()
        kinds = [t for t, a, b in graph.edges if (a, b) == (images[u], images[v])]
        if kinds and u != v:
            edges.append(QueryEdge(u, v, (kinds[0],), Direction.OUT))
    labelled = [(graph.labels[x],) if random.random() < 0.8 else () for x in images]
    vertices = tuple(QueryVertex(f"v{k}", labels) for k, labels in enumerate(labelled))
    modes = [DIFFERENT_NODES, MatchMode(), REPEATABLE_ELEMENTS]
    return QueryGraph(vertices, tuple(edges), modes[int(random.integers(3))])


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@pytest.mark.parametrize("seed", range(share(40)))
def test_large_patterns_have_the_same_answers_with_and_without(backend: Backend, seed: int) -> None:
    random = np.random.default_rng(seed)
    graph = random_graph(random)
    query = random_pattern(random, graph, 9 + seed % 4)
    totals, rows = [], []
    for off in (frozenset[str](), OFF):
        counted = planner.plan(query, graph, counting=True, switched_off=off)
        stage = prepare(counted, graph, windows=backend.windows)
        total = backend.count(stage, Watch(None, None, None), Budget())
        totals.append(total * counted.multiplicity)
        plan = planner.plan(query, graph, counting=False, switched_off=off)
        if totals[0] <= 200_000:
            stage = prepare(plan, graph, windows=backend.windows)
            found = backend.rows(stage, Watch(None, None, None), Budget(), 1000)
            rows.append(bag(embeddings.expand(found, plan.twins), plan))
    assert totals[0] == totals[1]
    if rows:
        assert rows[0] == rows[1]
        assert rows[0].total() == totals[0]


@pytest.mark.parametrize("seed", range(share(12)))
def test_a_searched_order_counts_the_same(seed: int) -> None:
    random = np.random.default_rng(100 + seed)
    graph = random_graph(random)
    query = random_pattern(random, graph, 9)
    with always():
        searched = planner.plan(query, graph, counting=True)
    plain = planner.plan(query, graph, counting=True, switched_off=OFF)
    backend = BACKENDS[0]
    counts = [
        plan.multiplicity
        * backend.count(
            prepare(plan, graph, windows=backend.windows), Watch(None, None, None), Budget()
        )
        for plan in (searched, plain)
    ]
    assert counts[0] == counts[1]


@pytest.mark.parametrize("n", [17, 63])
def test_an_order_of_many_vertices_counts_the_same(n: int) -> None:
    """A path of n vertices with triangles at both ends, in a longer one."""
    pairs = [*((k, k + 1) for k in range(n - 1)), (0, 2), (n - 3, n - 1)]
    more = [(k, k + 1) for k in range(n - 1, n + 4)] + [(3, 5), (n, n + 2)]
    graph = SmallGraph([()] * (n + 5), [("R", u, v) for u, v in pairs + more], frozenset("R"))
    edges = tuple(QueryEdge(u, v, ("R",)) for u, v in pairs)
    query = QueryGraph((QueryVertex(),) * n, edges, DIFFERENT_NODES)
    backend, counts = BACKENDS[0], set()
    for off in (frozenset[str](), OFF):
        with always(members=32):
            plan = planner.plan(query, graph, counting=True, switched_off=off)
        assert off or plan.notes.steps is not None
        stage = prepare(plan, graph, windows=backend.windows)
        counts.add(plan.multiplicity * backend.count(stage, Watch(None, None, None), Budget()))
    assert len(counts) == 1
    assert counts != {0}


@pytest.mark.parametrize("seed", range(8))
def test_a_root_comes_first_and_counts_the_same(seed: int) -> None:
    random = np.random.default_rng(200 + seed)
    graph = random_graph(random)
    query = random_pattern(random, graph, 9)
    backend = BACKENDS[0]
    counts = set()
    for off in (frozenset[str](), OFF):
        with always():
            plan = planner.plan(query, graph, counting=True, root=4, switched_off=off)
        assert plan.order[0] == 4
        stage = prepare(plan, graph, windows=backend.windows)
        counts.add(plan.multiplicity * backend.count(stage, Watch(None, None, None), Budget()))
    assert len(counts) == 1


def test_a_root_comes_first_where_nothing_matches() -> None:
    graph = SmallGraph([("A",)] * 9 + [("B",)], [("R", k, k + 1) for k in range(8)])
    query = path("AAAAAAAAAB")
    plan = planner.plan(query, graph, counting=True, root=5)
    assert plan.order[0] == 5
    assert reference.count(plan, graph) == 0
    assert any(c.count == 0 for c in plan.candidates)


def test_steps_are_known_of_counts() -> None:
    graph = random_graph(np.random.default_rng(1))
    query = random_pattern(np.random.default_rng(1), graph, 10)
    counted = planner.plan(query, graph, counting=True).notes
    assert counted.steps is not None
    assert 0 < counted.steps <= sum(counted.estimates)
    assert planner.plan(query, graph, counting=False).notes.steps is None


# ---- statistics -------------------------------------------------------------------------------------


def statistics_of(query: QueryGraph, graph: SmallGraph) -> tuple[Statistics, Resolved]:
    resolved = resolve(query, graph)
    return Statistics(resolved, conditions(resolved, {}).vertices), resolved


def path(labels: str, mode: MatchMode = REPEATABLE_ELEMENTS) -> QueryGraph:
    vertices = tuple(QueryVertex(None, ((label,),) if label != "-" else ()) for label in labels)
    edges = tuple(QueryEdge(k, k + 1, ("R",)) for k in range(len(labels) - 1))
    return QueryGraph(vertices, edges, mode)


def test_sets_of_a_sample_that_are_too_many_to_be_kept_are_made_again() -> None:
    """Of a complete graph each member has as many extensions, so that a sample of any size knows the number exactly."""
    n = 200
    edges = [("R", a, b) for a in range(n) for b in range(a)]
    graph = SmallGraph([()] * n, edges, frozenset("R"))
    statistics, _ = statistics_of(path("----", DIFFERENT_NODES), graph)
    statistics.narrow(1 << 40)
    statistics.fans()
    members = 2 * populations.KEPT // n
    found, exact = statistics.along((0, 1, 2, 3), members)
    assert not exact
    assert found == pytest.approx(
        (n, n * (n - 1), n * (n - 1) * (n - 2), n * (n - 1) * (n - 2) * (n - 3))
    )
    kept = Prices(Samples(statistics, members), ()).embeddings((0, 1, 2, 3))
    assert kept == pytest.approx(found)


@settings(max_examples=share(150), deadline=None)
@given(cases())
def test_no_vertex_of_an_embedding_is_dropped(case: tuple[SmallGraph, QueryGraph]) -> None:
    graph, query = case
    statistics, resolved = statistics_of(query, graph)
    statistics.narrow(1 << 40)
    statistics.fans()
    statistics.weigh(tuple(planner.order.matching_order(resolved, decompose(resolved))))
    for vids, _ in brute_force.embeddings(query, graph):
        for v, vid in enumerate(vids):
            assert vid in statistics.members(v)


def test_arc_consistency_leaves_what_all_edges_lead_on_from() -> None:
    labels = [("A",), ("A",), ("B",), ("B",), ("C",)]
    graph = SmallGraph(labels, [("R", 0, 2), ("R", 1, 3), ("R", 2, 4)])
    statistics, _ = statistics_of(path("ABC"), graph)
    statistics.narrow(1 << 40)
    assert [statistics.members(v).tolist() for v in range(3)] == [[0], [2], [4]]


def test_as_many_neighbours_are_needed_as_differ() -> None:
    """A vertex of one neighbour is no middle of a star of two leaves that differ."""
    graph = SmallGraph([("A",)] * 2 + [("B",)] * 3, [("R", 0, 2), ("R", 1, 3), ("R", 1, 4)])
    vertices = tuple(QueryVertex(None, ((label,),)) for label in "ABB")
    edges = (QueryEdge(0, 1, ("R",)), QueryEdge(0, 2, ("R",)))
    found = {}
    for mode in (DIFFERENT_NODES, REPEATABLE_ELEMENTS):
        statistics, _ = statistics_of(QueryGraph(vertices, edges, mode), graph)
        statistics.narrow(1 << 40)
        found[mode] = statistics.members(0).tolist()
    assert found == {DIFFERENT_NODES: [1], REPEATABLE_ELEMENTS: [0, 1]}


@pytest.mark.parametrize("seed", range(6))
def test_trees_are_counted_exactly(seed: int) -> None:
    graph = random_graph(np.random.default_rng(seed))
    query = path("-AB-")
    statistics, _ = statistics_of(query, graph)
    statistics.fans()
    reached = {(a, b) for t, a, b in graph.edges if t == "R"}  # parallel edges count once
    walks = Counter(
        (a, b, c, d)
        for a, b in reached
        for x, c in reached
        for y, d in reached
        if x == b and y == c and graph.labels[b] == ("A",) and graph.labels[c] == ("B",)
    )
    assert statistics.weigh((0, 1, 2, 3)) == len(walks)


@pytest.mark.parametrize("seed", range(6))
def test_a_population_that_fits_is_exact(seed: int) -> None:
    graph = random_graph(np.random.default_rng(seed))
    vertices = (QueryVertex(), QueryVertex(), QueryVertex())
    edges = (QueryEdge(0, 1, ("U",)), QueryEdge(1, 2, ("U",)), QueryEdge(0, 2, ("U",)))
    query = QueryGraph(vertices, edges, DIFFERENT_NODES)
    statistics, _ = statistics_of(query, graph)
    statistics.narrow(1 << 40)
    found, exact = statistics.along((0, 1, 2), 10_000)
    assert exact
    assert found[-1] == len({vids for vids, _ in brute_force.embeddings(query, graph)})


@pytest.mark.parametrize("weighted", [False, True])
def test_small_samples_are_right_in_the_mean(weighted: bool) -> None:
    """A path of four vertices that differ, from samples of a tenth of its parts and less."""
    random = np.random.default_rng(5)
    edges = [("U", *pair) for pair in random.integers(0, 30, (90, 2)).tolist()]
    graph = SmallGraph([("A",)] * 30, edges, frozenset("U"))
    query = QueryGraph(
        (QueryVertex(),) * 4, tuple(QueryEdge(k, k + 1, ("U",)) for k in range(3)), DIFFERENT_NODES
    )
    statistics, resolved = statistics_of(query, graph)
    statistics.narrow(1 << 40)
    statistics.fans()
    if weighted:
        statistics.weigh((0, 1, 2, 3))
    near = {(a, b) for _, a, b in graph.edges} | {(b, a) for _, a, b in graph.edges}
    truth = sum(
        len({a, b, c, d}) == 4
        for a, b in near
        for x, c in near
        if x == b
        for y, d in near
        if y == c
    )
    random = np.random.default_rng(1)
    found = [statistics.along((0, 1, 2, 3), 20, random.random(4))[0][-1] for _ in range(400)]
    error = np.std(found) / np.sqrt(len(found))
    assert error < 0.02 * truth
    assert abs(np.mean(found) - truth) < 4 * error
    assert len(resolved.candidates) == 4


# ---- queries ----------------------------------------------------------------------------------------


@pytest.fixture
def db() -> Iterator[gdb.Database]:
    """Forty people in rings, every third of them a painter."""
    with gdb.connect() as database:
        database.execute("UNWIND range(0, 39) AS i CREATE (:P {i: i, even: i % 2 = 0})")
        database.execute("MATCH (p:P) WHERE p.i % 3 = 0 SET p:Painter")
        for step in (1, 2, 5):
            database.execute(
                f"MATCH (a:P), (b:P) WHERE b.i = (a.i + {step}) % 40 CREATE (a)-[:K]->(b)"
            )
        yield database


def chain(n: int) -> str:
    return "-->".join(f"(v{k}:{'Painter' if k % 4 == 0 else 'P'})" for k in range(n))


def counted_both_ways(db: gdb.Database, text: str, parameters: dict[str, object]) -> list[object]:
    whole = planner.plan
    found = []
    for off in (frozenset[str](), OFF):
        with patch.object(
            planner, "plan", lambda *a, off=off, **o: whole(*a, **o | {"switched_off": off})
        ):
            name = "off" if off else "on"
            found.append(db.execute(text.replace("AS n", f"AS {name}"), parameters).scalar())
    return found


def test_a_prepared_statement_matches_other_values(db: gdb.Database) -> None:
    """Candidates are not narrowed where a parameter decides on some: the plan is kept for other values."""
    text = f"MATCH DIFFERENT NODES {chain(9)} WHERE v1.i < $most RETURN count(*) AS n"
    found = [counted_both_ways(db, text, {"most": most}) for most in (0, 20, 21, 30, 40)]
    assert all(on == off for on, off in found)
    assert len({on for on, _ in found}) == 5


def test_a_pattern_without_a_match_is_found_out_by_its_candidates(db: gdb.Database) -> None:
    db.execute("CREATE (:P)-[:K]->(:Lonely)")
    text = f"MATCH DIFFERENT NODES {chain(9)}, (v8)-->(x:Lonely)-->(y:P) RETURN count(*) AS n"
    assert counted_both_ways(db, text, {}) == [0, 0]
    assert "0 candidates" in db.explain(text) or "~0" in db.explain(text)


def test_unconnected_parts_multiply(db: gdb.Database) -> None:
    parts = "(a:Painter)-->(b)-->(c)-->(d)-->(e), (f:Painter)-->(g:Painter)-->(h)-->(i)"
    both = counted_both_ways(db, f"MATCH REPEATABLE ELEMENTS {parts} RETURN count(*) AS n", {})
    one, two = (
        db.execute(f"MATCH REPEATABLE ELEMENTS {part} RETURN count(*)").scalar()
        for part in parts.split(", ")
    )
    assert both == [int(str(one)) * int(str(two))] * 2


@pytest.mark.parametrize("n", [62, 63, 64])
def test_patterns_of_more_vertices_than_a_mask_has_bits(db: gdb.Database, n: int) -> None:
    edges = ", ".join(f"(v{k})-->(v{k + 1})" for k in range(n - 1))
    text = f"MATCH REPEATABLE ELEMENTS {edges} RETURN 1 AS n LIMIT 3"
    assert db.execute(text).fetchall() == [(1,)] * 3


def test_the_estimate_is_the_number_of_few_embeddings(db: gdb.Database) -> None:
    """What fits a sample is counted, not estimated."""
    pattern = (
        ", ".join(f"(v{k}:P)-->(v{k + 1}:P)" for k in range(8)) + ", (v0:Painter)-->(v8:Painter)"
    )
    text = f"MATCH DIFFERENT NODES {pattern} RETURN count(*) AS n"
    total = db.execute(text).scalar()
    plans = []
    whole = planner.plan
    with patch.object(planner, "plan", lambda *a, **o: plans.append(whole(*a, **o)) or plans[-1]):
        db.explain(text)
    assert plans[0].notes.estimates[-1] == pytest.approx(int(str(total)), rel=0.5)


def test_what_hangs_on_one_vertex_comes_last_in_an_order_that_nothing_speaks_for() -> None:
    """A triangle, each vertex with a neighbour in the square beside it, and a triangle joined to one of them."""
    n = 12
    pairs = [(a, b) for a in range(n) for b in range(a)]
    graph = SmallGraph([()] * n, [("R", a, b) for a, b in pairs])
    joined = [
        (0, 1),
        (1, 2),
        (0, 2),
        (0, 3),
        (3, 4),
        (4, 0),
        (2, 5),
        (5, 6),
        (6, 1),
        (7, 2),
        (7, 1),
    ]
    edges = tuple(QueryEdge(a, b, (), Direction.ANY) for a, b in joined)
    query = QueryGraph((QueryVertex(None, ()),) * 8, edges, DIFFERENT_NODES)
    statistics, _ = statistics_of(query, graph)
    statistics.fans()
    order = hanging_last(statistics, (1, 0, 3, 4, 2, 5, 6, 7))
    assert order == (1, 0, 2, 5, 6, 7, 3, 4)
