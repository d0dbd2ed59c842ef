"""Lists of very different lengths: whether they are merged, searched or looked up, the count is the same."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from gdb import planner
from gdb.executor.cpu import launch
from gdb.executor.cpu.workers import Worker
from gdb.executor.nest import prepare as preparation
from gdb.executor.nest.nest import LoopNest, Node, Order
from gdb.executor.nest.prepare import Ways, prepare
from gdb.executor.nest.verifier import verify
from gdb.executor.plan.plan import Plan
from gdb.executor.plan.source import GraphSource
from gdb.executor.table_fields import NodeField
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import (
    DIFFERENT_NODES,
    REPEATABLE_ELEMENTS,
    SUBGRAPHS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.storage.format.direction import Direction
from tests.support.backends import BACKENDS, Backend
from tests.support.small_graph import SmallGraph

VERTICES = 400
PATTERNS = {
    "triangle": [(0, 1), (1, 2), (0, 2)],
    "clique": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
    "diamond": [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)],
}


def hub_pairs(hub: int) -> list[tuple[int, int]]:
    """A vertex with an edge to every other, few others, and one clique among them."""
    draw = random.Random(hub)
    pairs = {(min(hub, v), max(hub, v)) for v in range(VERTICES) if v != hub}
    for _ in range(150):
        a, b = sorted(draw.sample(range(VERTICES), 2))
        pairs.add((a, b))
    few = sorted(draw.sample(range(VERTICES), 6))
    return sorted(pairs | {(a, b) for a in few for b in few if a < b})


def subgraphs(pairs: list[tuple[int, int]]) -> dict[str, int]:
    """How often each pattern is there, by linear algebra."""
    near = np.zeros((VERTICES, VERTICES), np.int64)
    for a, b in pairs:
        near[a, b] = near[b, a] = 1
    both = (near @ near)[tuple(np.array(pairs).T)]  # common neighbours of the ends of each edge
    cliques = 0
    for a, b in pairs:
        shared = np.flatnonzero(near[a] & near[b])
        cliques += int(near[np.ix_(shared, shared)].sum()) // 2
    return {
        "triangle": int(both.sum()) // 3,
        "clique": cliques // 6,
        "diamond": int((both * (both - 1) // 2).sum()),
    }


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@pytest.mark.parametrize("hub", [0, 200, VERTICES - 1])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_hub_counts(backend: Backend, pattern: str, hub: int) -> None:
    edges = tuple(QueryEdge(a, b, ("R",), Direction.ANY) for a, b in PATTERNS[pattern])
    vertices = tuple(QueryVertex() for _ in range(1 + max(e.target for e in edges)))
    pairs = hub_pairs(hub)
    graph = SmallGraph([()] * VERTICES, [("R", a, b) for a, b in pairs], frozenset("R"))
    for off in (frozenset[str](), frozenset({"trees"}), frozenset({"count_last"})):
        query = QueryGraph(vertices, edges, SUBGRAPHS)
        plan = planner.plan(query, graph, counting=True, switched_off=off)
        prepared = prepare(plan, graph)
        found = backend.count(prepared, Watch(None, None, None), Budget())
        assert found * plan.multiplicity == subgraphs(pairs)[pattern]


@pytest.mark.parametrize("hub", [0, 200, VERTICES - 1])
def test_a_tree_counts_the_same_from_its_other_end(
    hub: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planner puts the smaller vid below; a tail may have it above as well."""
    turned: list[LoopNest] = []

    def other_end(plan: Plan, graph: GraphSource, *, windows: bool, ways: Ways) -> LoopNest:
        nest = straight(plan, graph, windows=windows, ways=ways)
        leaf, root = nest.tail
        assert leaf.order is Order.BELOW
        above = Node(root.levels, parent=1, view=leaf.back, back=leaf.view, order=Order.ABOVE)
        turned.append(verify(replace(nest, tail=(above, Node(leaf.levels)))))
        return turned[-1]

    straight = preparation.loop_nest
    monkeypatch.setattr(preparation, "loop_nest", other_end)
    edges = tuple(QueryEdge(a, b, ("R",), Direction.ANY) for a, b in PATTERNS["triangle"])
    query = QueryGraph((QueryVertex(),) * 3, edges, SUBGRAPHS)
    pairs = hub_pairs(hub)
    graph = SmallGraph([()] * VERTICES, [("R", a, b) for a, b in pairs], frozenset("R"))
    prepared = prepare(planner.plan(query, graph, counting=True), graph)
    found = launch.count(prepared, Watch(None, None, None), Budget())
    assert turned
    assert found == subgraphs(pairs)["triangle"]


# a vertex of many neighbours a, of few b; between them c beside a, and below c what is beside b too
TREES = {
    "one": [(0, 1), (0, 2), (2, 3), (1, 3)],
    "two": [(0, 1), (0, 2), (2, 3), (1, 3), (2, 4), (1, 4)],
    "a longer one": [(0, 1), (0, 2), (2, 3), (3, 4), (1, 4), (2, 5)],
}


def long_list_graph() -> SmallGraph:
    """A vertex A of long lists, a few vertices B of short ones."""
    draw = random.Random(1)
    pairs = {(0, v) for v in range(1, 90)} | {(v, v + 1) for v in range(1, 89)}
    pairs |= {(a, b) for a, b in (sorted(draw.sample(range(1, 90), 2)) for _ in range(60))}
    labels = [("A",)] + [("B",) if v % 9 == 0 else ("C",) for v in range(1, 90)]
    order = sorted(range(90), key=lambda v: labels[v])
    place = {v: k for k, v in enumerate(order)}
    data = [("R", place[a], place[b]) for a, b in sorted(pairs)]
    return SmallGraph([labels[v] for v in order], data, frozenset("R"))


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@pytest.mark.parametrize(
    "mode", [SUBGRAPHS, DIFFERENT_NODES, REPEATABLE_ELEMENTS], ids=["subgraphs", "nodes", "any"]
)
@pytest.mark.parametrize("pattern", TREES)
def test_trees_below_long_lists_count(backend: Backend, pattern: str, mode: MatchMode) -> None:
    """They may be counted from the few elements of a leaf's list."""
    graph = long_list_graph()
    edges = tuple(QueryEdge(a, b, ("R",), Direction.ANY) for a, b in TREES[pattern])
    n = 1 + max(e.target for e in edges)
    named = [((("A",),), (("B",),))[k] if k < 2 else () for k in range(n)]
    query = QueryGraph(tuple(QueryVertex(labels=x) for x in named), edges, mode)
    counts = set()
    others = {"trees"}, {"reached"}, {"count_last"}, {"structure"}, {"structure", "symmetry"}
    for off in (set(), *others, {"structure", "reached"}):
        plan = planner.plan(query, graph, counting=True, switched_off=frozenset(off))
        total = 0
        for factor, term in ((1, plan), *plan.terms):
            prepared = prepare(term, graph)
            assert "reached" not in off or not prepared.tables.nodes[:, NodeField.REACHED].any()
            found = backend.count(prepared, Watch(None, None, None), Budget())
            total += factor * term.multiplicity * found
        counts.add(total // plan.divisor)
    assert len(counts) == 1
    assert counts.pop() > 0


def test_a_tree_is_counted_from_a_leaf_in_fewer_steps() -> None:
    """Unless the pass is switched off."""
    graph = long_list_graph()
    edges = tuple(QueryEdge(a, b, ("R",), Direction.ANY) for a, b in TREES["one"])
    labels = ((("A",),), (("B",),), (), ())
    query = QueryGraph(tuple(QueryVertex(labels=x) for x in labels), edges, DIFFERENT_NODES)
    found = {}
    for off in ((), ("reached",)):
        switched_off = frozenset({"structure", *off})
        plan = planner.plan(query, graph, counting=True, switched_off=switched_off)
        prepared = prepare(plan, graph)
        count = launch.count(prepared, Watch(None, None, None), Budget(), 1)
        worker = prepared.idle["cpu"][0]
        assert isinstance(worker, Worker)
        found[off] = count, worker.spent
    (count, steps), (same, more) = found.values()
    assert count == same
    assert steps < more
