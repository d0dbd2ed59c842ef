"""Prices of counting nests: what the machine code says is what the definition below does, on whole samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations, product
from unittest.mock import patch

import numpy as np
import pytest

from gdb import planner
from gdb.executor.cpu import nest_prices, workers
from gdb.executor.nest import interface_caches
from gdb.executor.nest.prepare import loop_nest
from gdb.planner import pricing
from gdb.planner.arrangements import cheapest
from gdb.planner.decompose import decompose
from gdb.planner.distinct import conditions
from gdb.planner.order import joined
from gdb.planner.phases import build
from gdb.planner.pricing import Prices, Samples
from gdb.planner.resolved_graph import resolve
from gdb.planner.sampled_embeddings import Statistics
from gdb.planner.shape import components, members
from gdb.query_graph import REPEATABLE_ELEMENTS, MatchMode, QueryEdge, QueryGraph, QueryVertex
from gdb.records import replace
from gdb.storage.format.direction import Direction
from tests.oracles.shape import Shape
from tests.support.effort import share
from tests.support.small_graph import SmallGraph

OFF = frozenset({"symmetry", "structure", "differences", "statistics"})
MANY = 1 << 12  # members: more than a small graph has embeddings

Edges = list[tuple[int, int]]


def drawn(random: np.random.Generator, n: int, edges: int) -> Edges:
    """A tree of n vertices and some edges more."""
    pairs = {(int(random.integers(v)), v) for v in range(1, n)}
    for u, v in random.integers(0, n, (edges, 2)).tolist():
        if u != v:
            pairs.add((min(u, v), max(u, v)))
    return sorted(pairs)


def statistics_of(
    random: np.random.Generator, n: int, apart: Edges, data: Edges | None = None
) -> Statistics:
    data = data or drawn(random, 9, 24)
    graph = SmallGraph([("A",)] * 9, [("R", a, b) for a, b in data])
    edges = tuple(QueryEdge(u, v, ("R",), Direction.ANY) for u, v in drawn(random, n, 3))
    query = QueryGraph(tuple(QueryVertex(f"v{k}") for k in range(n)), edges, MatchMode())
    statistics = Statistics(resolve(query, graph), apart)
    statistics.narrow(1 << 20)
    statistics.fans()
    return statistics


def pairs_apart(random: np.random.Generator, n: int) -> Edges:
    pairs = [(u, v) for u in range(n) for v in range(u) if random.random() < 0.3]
    return [(v, u) for u, v in pairs]


class Definition:
    """Prices by their definition, and embeddings by trying all images."""

    def __init__(self, statistics: Statistics, apart: Edges, data: Edges) -> None:
        self.rows = {
            x: {b for a, b in (*data, *((b, a) for a, b in data)) if a == x} for x in range(9)
        }
        differs = [0] * statistics.n
        for u, v in apart:
            differs[u] |= 1 << v
            differs[v] |= 1 << u
        self.statistics, self.near = statistics, statistics.near
        self.shape = Shape(statistics.near, differs)
        self._known: dict[int, float] = {0: 1.0}

    def embeddings(self, mask: int) -> float:
        found = self._known.get(mask)
        if found is None:
            parts = components(mask, self.near)
            found = self._known[mask] = (
                float(self._tried(mask))
                if len(parts) == 1
                else math.prod(self.embeddings(part) for part in parts)
            )
        return found

    def _tried(self, mask: int) -> int:
        statistics, vertices = self.statistics, members(mask)
        rows = self.rows
        count = 0
        for images in product(*(statistics.members(v).tolist() for v in vertices)):
            image = dict(zip(vertices, images, strict=True))
            count += all(
                image[v] in rows[image[u]]
                for u in vertices
                for v in vertices
                if self.near[u] >> v & 1
            ) and all(
                image[u] != image[v]
                for u in vertices
                for v in vertices
                if statistics.differs[u] >> v & 1
            )
        return count

    def price(self, order: Sequence[int]) -> float:
        loops = order[: self.shape.looped(order)]
        first = order[0]
        rows = float(self.statistics.count(first))
        cost = rows * self._work(1 << first, first)
        waiting = [(1 << first, self.shape.everyone & ~(1 << first), rows)]
        while waiting:
            bound, rest, rows = waiting.pop()
            for part in self.shape.parts(rest):
                loop = next((u for u in loops if part >> u & 1), None)
                anew = self._anew(loops, bound, part, rows)
                if loop is None:
                    cost += rows + anew * self._tail(bound, part)
                    continue
                own = bound | 1 << loop
                times = anew * self._grown(bound, own)
                cost += rows + anew + times * self._work(own, loop)
                waiting.append((own, part & ~(1 << loop), times))
        return cost

    def _grown(self, bound: int, more: int) -> float:
        return self.embeddings(more) / self.embeddings(bound)

    def _anew(self, loops: Sequence[int], bound: int, part: int, rows: float) -> float:
        reads = strange = 0
        for v in members(part):
            reads |= self.near[v]
            strange |= self.shape.differs[v]
        keys = reads & bound
        strange &= bound & ~keys
        if keys | strange == bound or (keys | strange).bit_count() > nest_prices.MOST_KEYS:
            return rows
        kept = self.embeddings(keys)
        for x in members(strange):
            kept *= 1.0 + self._matters(keys, part, x)
        if kept >= rows:
            return rows
        outer = 0
        for v in loops:
            if not keys >> v & 1:
                break
            outer |= 1 << v
        at_once = kept / max(self.embeddings(outer), 1.0)
        return rows - (rows - kept) * min(1.0, nest_prices.SLOTS / max(at_once, 1.0))

    def _matters(self, keys: int, part: int, x: int) -> float:
        most, found = float(self.statistics.count(x)), 0.0
        for v in members(part):
            if self.shape.differs[v] >> x & 1:
                rows = [self.statistics.fan[u, v] for u in members(self.near[v] & keys)]
                found += min(rows, default=most)
        return min(found, most)

    def _work(self, bound: int, v: int) -> float:
        before, cost = bound & ~(1 << v), nest_prices.BINDING
        for u in members(self.near[v] & ~bound):
            if self.near[u] & before:
                one, other = self.statistics.expansion(before, u), self.statistics.fan[v, u]
                least = min(one + other, nest_prices.UNEVEN * min(one, other))
                cost += nest_prices.SET + nest_prices.ELEMENT * least
        return cost

    def _tail(self, bound: int, rest: int) -> float:
        statistics, cost = self.statistics, 0.0
        while rest:
            near = [v for v in members(rest) if self.near[v] & bound]
            top = min(near, key=lambda v: statistics.expansion(bound, v))
            own = bound | 1 << top
            waiting = [(top, own, self._grown(bound, own))]
            rest &= ~(1 << top)
            cost += nest_prices.NODE
            while waiting:
                v, own, size = waiting.pop()
                for u in members(self.near[v] & rest):
                    more = own | 1 << u
                    each = self._grown(own, more)
                    cost += nest_prices.NODE + nest_prices.TAIL_ELEMENT * size * (1.0 + each)
                    waiting.append((u, more, min(size * each, float(statistics.count(u)))))
                    rest &= ~(1 << u)
        return cost


@pytest.mark.parametrize("seed", range(share(12)))
def test_prices_are_those_of_the_definition(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 6))
    apart = pairs_apart(random, n)
    while True:  # until something matches
        data = drawn(random, 9, 24)
        statistics = statistics_of(random, n, apart, data)
        definition = Definition(statistics, apart, data)
        if definition.embeddings((1 << n) - 1):
            break
    prices = Prices(Samples(statistics, MANY), apart)
    orders = list(permutations(range(n)))
    for k in random.integers(len(orders), size=40).tolist():
        order = orders[k]
        bound = statistics.near[order[0]]
        if all(
            bound >> v & 1 or statistics.near[v] & _mask(order[:i])
            for i, v in enumerate(order)
            if i
        ):
            assert prices.price(order) == pytest.approx(definition.price(order), rel=1e-9)
            assert prices.tail(order) == n - definition.shape.looped(order)
            numbers = [definition.embeddings(_mask(order[: i + 1])) for i in range(n)]
            assert prices.embeddings(order) == pytest.approx(numbers)


def _mask(vertices: Sequence[int]) -> int:
    return sum(1 << v for v in vertices)


@pytest.mark.parametrize("seed", range(8))
def test_orders_found_are_connected_and_cheaper(seed: int) -> None:
    random = np.random.default_rng(seed)
    apart = pairs_apart(random, 7)
    statistics = statistics_of(random, 7, apart)
    prices = Prices(Samples(statistics, 64), apart)
    known = cheapest(prices, [], 1)[0][1]
    for root in (None, 3):
        given = [known] if root is None else []
        for price, order in cheapest(prices, given, 30, root):
            assert sorted(order) == list(range(7))
            assert all(statistics.near[v] & _mask(order[:k]) for k, v in enumerate(order) if k)
            assert root in (None, order[0])
            assert price == prices.price(order)
            if root is None:
                break
        else:
            continue
        assert cheapest(prices, [known], 30)[0][0] <= prices.price(known)


def test_a_price_does_not_depend_on_when_memory_is_made() -> None:
    random = np.random.default_rng(3)
    apart = pairs_apart(random, 7)
    statistics = statistics_of(random, 7, apart)
    order = cheapest(Prices(Samples(statistics, 64), apart), [], 3)[0][1]
    whole = Prices(Samples(statistics, 64), apart).price(order)
    samples = Samples(statistics, 64)
    with patch.multiple(pricing, FIRST_ROOM=1, MOST_ROOM=1):
        assert Prices(samples, apart).price(order) == whole
    assert len(samples._rooms) > 3


def test_orders_found_do_not_depend_on_when_memory_is_made() -> None:
    random = np.random.default_rng(4)
    apart = pairs_apart(random, 7)
    statistics = statistics_of(random, 7, apart)
    found = []
    for room in (pricing.MOST_ROOM, 1):
        with patch.multiple(pricing, FIRST_ROOM=room, MOST_ROOM=room):
            prices = Prices(Samples(statistics, 64), apart)
            found.append((cheapest(prices, [], 20), prices.effort))
    assert found[0] == found[1]


def test_what_no_sample_lasts_for_has_no_price() -> None:
    """Two vertices that have to differ, of one candidate both."""
    graph = SmallGraph([("A",), ("B",)], [("R", 0, 1)])
    vertices = tuple(
        QueryVertex(f"v{k}", labels) for k, labels in enumerate(((("A",),), (("B",),), (("A",),)))
    )
    edges = (QueryEdge(0, 1, ("R",), Direction.ANY), QueryEdge(1, 2, ("R",), Direction.ANY))
    statistics = Statistics(resolve(QueryGraph(vertices, edges, MatchMode()), graph), [(0, 2)])
    statistics.fans()
    prices = Prices(Samples(statistics, 8), [(0, 2)])
    assert prices.embeddings((0, 1, 2)) == (1.0, 1.0, 0.0)
    assert cheapest(prices, [(0, 1, 2)], 4)[0][0] < nest_prices.UNKNOWN


def test_prices_know_the_caches_that_there_are() -> None:
    assert nest_prices.MOST_KEYS == interface_caches.MOST_KEYS
    assert nest_prices.SLOTS == workers.MOST_SLOTS


@pytest.mark.parametrize("seed", range(30))
def test_what_is_priced_as_counted_is_counted(seed: int) -> None:
    """The nest of a connected order has at least the tail that its price says."""
    random = np.random.default_rng(seed)
    n = int(random.integers(6, 11))
    graph = SmallGraph([("A",)] * 9, [("R", a, b) for a, b in drawn(random, 9, 24)])
    edges = tuple(QueryEdge(u, v, ("R",), Direction.ANY) for u, v in drawn(random, n, 1))
    vertices = tuple(QueryVertex(f"v{k}") for k in range(n))
    query = resolve(QueryGraph(vertices, edges, REPEATABLE_ELEMENTS), graph)
    statistics = Statistics(query, ())
    prices = Prices(Samples(statistics, MANY), ())
    shape = Shape(statistics.near, [0] * n)
    for _ in range(10):
        order = joined(query, [int(v) for v in random.permutation(n)])
        assert order is not None
        tail = prices.tail(order)
        assert tail == n - shape.looped(order)
        plan = planner.plan(query.graph, graph, counting=True, switched_off=OFF)
        found = decompose(query), conditions(query, {}), {}, ()
        phases, views = build(query, order, *found, patterns=True, implied=True)
        nest = loop_nest(replace(plan, phases=phases, views=views, tail=tail, ranked=False), graph)
        assert len(nest.levels) - nest.loops >= tail
