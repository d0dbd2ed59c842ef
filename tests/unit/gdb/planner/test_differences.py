"""Large patterns counted without some conditions, less what these leave out: the same counts, in all modes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest

from gdb import planner
from gdb.executor import reference
from gdb.executor.nest.prepare import prepare
from gdb.executor.plan.plan import Plan
from gdb.executor.work.scheduler import Budget, Watch
from gdb.planner.arrangements import cheapest
from gdb.planner.distinct import conditions
from gdb.planner.pricing import Draws, Prices
from gdb.planner.problem import Problem, problem_of
from gdb.planner.resolved_graph import resolve
from gdb.planner.structure import LONGER, Effort
from gdb.query_graph import (
    DIFFERENT_NODES,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.records import replace
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64
from tests.support.backends import BACKENDS, Backend
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.unit.gdb.planner.test_sampled_order import MODULE, always

OFF = frozenset({"differences"})


@contextmanager
def taken_off(pairs: int = 3, most_effort: int = 40_000) -> Iterator[None]:
    """Of every pattern some conditions are taken off, whatever that costs: those that the choice would keep as well."""
    from gdb.planner import differences

    def some(choice: differences._Choice, least: float) -> frozenset[tuple[int, int]] | None:
        return frozenset(sorted(choice.problem.apart)[:pairs]) or None

    changes: dict[str, Any] = {
        "WORTH": -1.0,
        "TERM_WORTH": -1.0,
        "CHEAPER": 1e300,
        "HOPEFUL": 1e300,
        "DEEPEST": 2,
        "A_MICROSECOND": 1e-9,
        "MOST_EFFORT": most_effort,
        "HOPELESS": 1e300,
    }
    with (
        always(),
        patch.multiple(differences, **changes),
        patch.object(differences._Choice, "fewest", some),
    ):
        yield


def data_graph(random: np.random.Generator) -> SmallGraph:
    n = int(random.integers(7, 11))
    labels = sorted(("AB"[int(k)],) for k in random.integers(0, 2, n))
    pairs = {(min(p), max(p)) for p in random.integers(0, n, (4 * n, 2)).tolist() if p[0] != p[1]}
    return SmallGraph(labels, [("R", a, b) for a, b in sorted(pairs)])


def pattern(random: np.random.Generator, n: int, mode: MatchMode) -> QueryGraph:
    """A tree and an edge or two, some vertices with a label."""
    pairs = {(int(random.integers(v)), v) for v in range(1, n)}
    for _ in range(int(random.integers(3))):
        u, v = sorted(random.integers(0, n, 2).tolist())
        if u != v:
            pairs.add((u, v))
    labels = [((("A", "B")[int(k)],),) if k < 2 else () for k in random.integers(0, 4, n)]
    vertices = tuple(QueryVertex(f"v{k}", some) for k, some in enumerate(labels))
    edges = tuple(QueryEdge(u, v, ("R",), Direction.ANY) for u, v in sorted(pairs))
    return QueryGraph(vertices, edges, mode)


def counted(plan: Plan, graph: SmallGraph, backend: Backend) -> int:
    total = 0
    for factor, term in ((1, plan), *plan.terms):
        stage = prepare(term, graph, windows=backend.windows)
        found = backend.count(stage, Watch(None, None, None), Budget())
        total += factor * term.multiplicity * found
    return total // plan.divisor


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@pytest.mark.parametrize(
    "mode", [DIFFERENT_NODES, MatchMode(), SUBGRAPHS], ids=["nodes", "edges", "subgraphs"]
)
@pytest.mark.parametrize("seed", range(share(20)))
def test_the_count_does_not_depend_on_what_is_taken_off(
    backend: Backend, mode: MatchMode, seed: int
) -> None:
    random = np.random.default_rng(seed)
    graph = data_graph(random)
    query = pattern(random, int(random.integers(3, 7)), mode)
    plain = planner.plan(query, graph, counting=True, switched_off=frozenset({"statistics"}))
    want = reference.count(plain, graph)
    for pairs in (1, 3):
        with taken_off(pairs):
            plan = planner.plan(query, graph, counting=True)
            kept = planner.plan(query, graph, counting=True, switched_off=OFF)
        assert not kept.terms
        assert reference.count(kept, graph) == want
        assert reference.count(plan, graph) == want
        assert counted(plan, graph, backend) == want


def test_terms_are_made() -> None:
    made = Counter[bool]()
    for seed in range(20):
        random = np.random.default_rng(seed)
        graph = data_graph(random)
        query = pattern(random, 6, DIFFERENT_NODES)
        with taken_off():
            made[bool(planner.plan(query, graph, counting=True).terms)] += 1
    assert made[True] >= 10


def test_a_search_ends_when_it_has_priced_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left is then counted as it comes: the same count, from fewer terms."""
    priced = 0
    price, tried = Prices.price, Prices.tried

    def noted(self: Prices, order: Sequence[int]) -> float:
        nonlocal priced
        priced += 1
        return price(self, order)

    def noted_tries(self: Prices, orders: I64, given: int, draws: Draws) -> npt.NDArray[np.float64]:
        nonlocal priced
        priced += len(orders)
        return tried(self, orders, given, draws)

    monkeypatch.setattr(Prices, "price", noted)
    monkeypatch.setattr(Prices, "tried", noted_tries)
    most: dict[int, list[int]] = {0: [], 40_000: []}
    for seed in range(8):
        random = np.random.default_rng(seed)
        graph = data_graph(random)
        query = pattern(random, 6, DIFFERENT_NODES)
        counts = set()
        for limit, found in most.items():
            priced = 0
            with taken_off(most_effort=limit), patch.object(MODULE, "MOST_TRIES", 1):
                plan = planner.plan(query, graph, counting=True)
            found.append(priced)
            counts.add(reference.count(plan, graph))
        assert len(counts) == 1
    assert sum(most[0]) < sum(most[40_000]) / 2


def test_a_short_search_leaves_what_is_hopeless_to_a_longer_one() -> None:
    from gdb.planner import differences

    made = Counter[tuple[bool, bool]]()
    short = Effort(terms=10)
    for seed in range(20):
        random = np.random.default_rng(seed)
        graph = data_graph(random)
        query = pattern(random, 6, DIFFERENT_NODES)
        with taken_off(), patch.object(differences, "HOPELESS", -1.0):
            plans = [planner.plan(query, graph, counting=True, effort=e) for e in (short, LONGER)]
        made[bool(plans[0].terms), bool(plans[1].terms)] += 1
    assert made[False, True] >= 10
    assert not made[True, True]


def problem(seed: int) -> tuple[Problem, SmallGraph]:
    random = np.random.default_rng(seed)
    graph = data_graph(random)
    query = resolve(pattern(random, 5, DIFFERENT_NODES), graph)
    found = problem_of(query, conditions(query, {}))
    assert found is not None
    return found, graph


@pytest.mark.parametrize("seed", range(share(12)))
def test_conditions_taken_off_one_after_another_are_what_smaller_patterns_count(seed: int) -> None:
    """Each smaller pattern keeps the conditions that are taken off after it."""
    whole, graph = problem(seed)
    pairs = sorted(whole.apart)[:4]

    def count(one: Problem) -> int:
        everything = replace(one.query.graph, mode=REPEATABLE_ELEMENTS)
        rows = reference.rows(planner.plan(everything, graph, counting=False), graph).vids.tolist()
        return sum(all(row[u] != row[v] for u, v in one.apart) for row in rows)

    smaller = [whole.merged(pair, frozenset(pairs[: k + 1])) for k, pair in enumerate(pairs)]
    parts = sum(count(one[0]) for one in smaller if one is not None)
    relaxed = replace(whole, apart=whole.apart - frozenset(pairs))
    assert count(whole) == count(relaxed) - parts
    for pair, one in zip(pairs, smaller, strict=True):
        if one is not None:
            assert one[1][pair[0]] == one[1][pair[1]]
            assert len(one[0].query.candidates) == len(whole.query.candidates) - 1


def test_candidates_of_terms_hold_without_the_conditions_taken_off() -> None:
    """Two leaves of one label must differ, so a vertex with one such neighbour is no candidate beside them; where they
    need not differ it is one, in the pattern in which they are one vertex as well."""
    labels = [("A",)] * 3 + [("B",)] * 4
    edges = [("R", 0, 3), ("R", 0, 4), ("R", 1, 5), ("R", 2, 6), ("R", 0, 1), ("R", 1, 2)]
    graph = SmallGraph(labels, edges)
    vertices = tuple(QueryVertex(f"v{k}", ((x,),)) for k, x in enumerate("ABBAB"))
    pairs = ((0, 1), (0, 2), (0, 3), (3, 4))
    query = QueryGraph(
        vertices, tuple(QueryEdge(u, v, ("R",), Direction.ANY) for u, v in pairs), DIFFERENT_NODES
    )
    plain = planner.plan(query, graph, counting=True, switched_off=frozenset({"statistics"}))
    want = reference.count(plain, graph)
    assert want == 2
    with taken_off(8):
        plan = planner.plan(query, graph, counting=True)
    assert plan.terms
    assert reference.count(plan, graph) == want


def test_a_smaller_pattern_may_have_no_order_of_a_known_price() -> None:
    """It is counted along the order that it comes with."""
    graph = data_graph(np.random.default_rng(3))
    query = pattern(np.random.default_rng(3), 6, DIFFERENT_NODES)
    plain = planner.plan(query, graph, counting=True, switched_off=frozenset({"statistics"}))
    from gdb.planner import differences

    found = cheapest
    calls = 0

    def seldom(prices: Prices, known: list[tuple[int, ...]], tries: int) -> object:
        nonlocal calls
        calls += 1
        return found(prices, known, tries) if calls % 2 else []

    with taken_off(), patch.object(differences, "cheapest", seldom):
        plan = planner.plan(query, graph, counting=True)
    assert calls > 2
    assert reference.count(plan, graph) == reference.count(plain, graph)
