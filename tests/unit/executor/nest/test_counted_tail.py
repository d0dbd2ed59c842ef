"""The tail: which levels are counted without loops, and that the count stays the same."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from gdb import planner
from gdb.errors import InternalError
from gdb.executor import reference, run
from gdb.executor.cpu import launch
from gdb.executor.gpu import scratch
from gdb.executor.nest.nest import Formula, LoopNest, Order, VertexLevel
from gdb.executor.nest.prepare import loop_nest, prepare
from gdb.executor.nest.views import Views
from gdb.executor.plan.plan import Plan
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
from tests.support import hub_rectangles
from tests.support.backends import BACKENDS, Backend
from tests.support.small_graph import SmallGraph

PATTERNS = {
    "triangle": [(0, 1), (1, 2), (0, 2)],
    "4-cycle": [(0, 1), (1, 2), (2, 3), (3, 0)],
    "diamond": [(0, 1), (1, 2), (0, 2), (1, 3), (0, 3)],
    "4-clique": list(itertools.combinations(range(4), 2)),
    "5-path": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "bowtie": [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)],
}


def pattern(name: str, mode: MatchMode = SUBGRAPHS) -> QueryGraph:
    edges = PATTERNS[name]
    n = max(map(max, edges)) + 1
    return QueryGraph(
        tuple(QueryVertex() for _ in range(n)),
        tuple(QueryEdge(a, b, ("U",), Direction.ANY) for a, b in edges),
        mode,
    )


def dense_graph(n: int = 30, seed: int = 4) -> SmallGraph:
    draw = random.Random(seed)
    pairs = [p for p in itertools.combinations(range(n), 2) if draw.random() < 0.3]
    return SmallGraph([()] * n, [("U", a, b) for a, b in pairs], frozenset({"U"}))


@cache
def expected(name: str) -> int:
    """How many of a pattern a dense graph has."""
    graph = dense_graph()
    return reference.count(planner.plan(pattern(name), graph, counting=True), graph)


def homomorphisms(
    graph: SmallGraph, ends: Iterable[tuple[int, int]], apart: Iterable[tuple[int, int]]
) -> int:
    """In how many ways vertices are those of a graph, with edges between some of them and others apart."""
    joined = np.zeros((graph.vertex_count,) * 2, np.int64)
    for _, a, b in graph.edges:
        joined[a, b] = joined[b, a] = 1
    differ = 1 - np.eye(graph.vertex_count, dtype=np.int64)
    terms = [*((joined, pair) for pair in ends), *((differ, pair) for pair in apart)]
    indices = ",".join("".join("abcdefgh"[v] for v in pair) for _, pair in terms)
    return int(np.einsum(f"{indices}->", *(matrix for matrix, _ in terms), optimize="greedy"))


def nest_of(name: str) -> LoopNest:
    graph = dense_graph()
    return loop_nest(planner.plan(pattern(name), graph, counting=True), graph)


def count(plan: Plan, graph: SmallGraph) -> int:
    return launch.count(prepare(plan, graph), Watch(None, None, None), Budget(), 1)


def test_a_triangle_loops_over_one_vertex() -> None:
    nest = nest_of("triangle")
    assert nest.loops == 1
    assert [n.parent for n in nest.tail] == [1, -1]
    assert nest.tail[0].order is Order.BELOW


def test_the_far_vertex_of_a_4_cycle_is_reached_from_its_twins() -> None:
    twins, far = nest_of("4-cycle").tail
    assert (len(twins.levels), twins.formula) == (2, Formula.BINOMIAL)
    assert far.free
    assert far.parent == -1


def test_a_vertex_that_only_twins_reach_is_counted_by_pairs() -> None:
    """A GPU's warp then needs four bytes for each vertex, not twelve; one that is tested itself is weighed."""
    graph = dense_graph()
    plan = planner.plan(pattern("4-cycle"), graph, counting=True)
    prepared = prepare(plan, graph)
    (root,) = np.flatnonzero(prepared.tables.nodes[:, NodeField.PAIRED])
    far = prepared.nest.tail[root]
    assert far.free
    assert scratch.places(prepared)[2] < 2 * 4 * 64 + 512
    level = prepared.nest.levels[far.levels[0]]
    assert isinstance(level, VertexLevel)
    some = replace(plan.candidates[level.vertex], allowed=np.arange(0, 30, 2, dtype=np.uint32))
    candidates = [some if k == level.vertex else c for k, c in enumerate(plan.candidates)]
    changed = replace(plan, candidates=tuple(candidates), ranked=False, stages={})
    tested = prepare(changed, graph)
    assert not tested.tables.nodes[:, NodeField.PAIRED].any()
    assert count(changed, graph) == reference.count(changed, graph)


@pytest.mark.parametrize(("friends", "written", "by"), [(5, 60, "ANSWERS"), (1, 6, "WROTE")])
def test_a_parent_is_reached_from_the_child_that_reaches_the_fewest(
    friends: int, written: int, by: str
) -> None:
    """From an author a friend's post is reached through the friend, or through the author's comments."""
    people, posts = range(6), range(6, 6 + written)
    comments = range(posts.stop, posts.stop + 60)
    edges = [("KNOWS", a, (a + k) % 6) for a in people for k in range(1, friends + 1)]
    edges += [("WROTE", post, post % 6) for post in posts]
    edges += [("COMMENT", comment, comment % 5) for comment in comments]
    edges += [("ANSWERS", comment, posts[k % written]) for k, comment in enumerate(comments)]
    labels = [("Author",)] * 6 + [("Blog",)] * written + [("Comment",)] * 60
    graph = SmallGraph(labels, edges, frozenset())
    shape = [("KNOWS", 0, 1), ("COMMENT", 2, 0), ("ANSWERS", 2, 3), ("WROTE", 3, 1)]
    query = QueryGraph(
        tuple(QueryVertex(labels=((x,),)) for x in ("Author", "Author", "Comment", "Blog")),
        tuple(QueryEdge(a, b, (kind,), Direction.OUT) for kind, a, b in shape),
        REPEATABLE_ELEMENTS,
    )
    plan = planner.plan(query, graph, counting=True)
    prepared = prepare(plan, graph)
    nodes = prepared.tables.nodes
    (free,) = np.flatnonzero(nodes[:, NodeField.PUSHER] >= 0)
    assert (nodes[:, NodeField.PARENT] == free).sum() == 2
    pusher = nodes[nodes[free, NodeField.PUSHER]]
    assert prepared.specs[pusher[NodeField.BACK]].types == (by,)
    assert count(plan, graph) == reference.count(plan, graph) > 0


def test_a_clique_keeps_all_but_two_loops() -> None:
    assert nest_of("4-clique").loops == 2


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("off", [(), ("trees",), ("formulas",), ("count_last",), ("symmetry",)])
def test_every_way_counts_alike(name: str, off: tuple[str, ...]) -> None:
    graph = dense_graph()
    other = planner.plan(pattern(name), graph, counting=True, switched_off=frozenset(off))
    found = launch.count(prepare(other, graph), Watch(None, None, None), Budget(), 1)
    assert found * other.multiplicity == expected(name)


def test_threads_that_meet_a_view_first_at_once_share_what_is_derived_of_it() -> None:
    """Two split arrays were once made, and one freed under the worker that used it."""
    for seed in range(20):
        graph = dense_graph(60, seed)
        plan = planner.plan(pattern("triangle"), graph, counting=True)
        with ThreadPoolExecutor(4) as pool:
            found = {
                future.result() for future in [pool.submit(count, plan, graph) for _ in range(8)]
            }
        assert len(found) == 1


SPREADING = {
    "house": [(0, 1), (0, 3), (0, 4), (1, 4), (1, 2), (2, 3)],
    "three ways": [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)],
    "with a tail": [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (1, 5)],
}


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
@pytest.mark.parametrize("name", SPREADING)
def test_children_that_add_to_what_is_reached(name: str, backend: Backend) -> None:
    """Lists with and without labels, which reach a vertex more than once."""
    spread = 0
    for seed in range(4):
        draw = random.Random(seed)
        n = 12
        labels = sorted((draw.choice("AB"),) for _ in range(n))
        pairs = {tuple(sorted((draw.randrange(n), draw.randrange(n)))) for _ in range(36)}
        edges = [("U", a, b) for a, b in sorted(pairs)]
        graph = SmallGraph(labels, edges, frozenset("U"))
        ends = SPREADING[name]
        named = [draw.choice(((), (("A",),))) for _ in range(1 + max(map(max, ends)))]
        query = QueryGraph(
            tuple(QueryVertex(labels=some) for some in named),
            tuple(QueryEdge(a, b, ("U",), Direction.ANY) for a, b in ends),
            REPEATABLE_ELEMENTS,
        )
        plan = planner.plan(query, graph, counting=True, switched_off=frozenset({"order"}))
        expected = reference.count(plan, graph)
        for tail in (0, len(named) - 1):
            prepared = prepare(replace(plan, tail=tail), graph)
            spread += int(prepared.tables.nodes[:, NodeField.SPREADS].sum())
            found = backend.count(prepared, Watch(None, None, None), Budget())
            assert found * plan.multiplicity == expected
    assert spread


@pytest.mark.parametrize("mode", [SUBGRAPHS, DIFFERENT_NODES, REPEATABLE_ELEMENTS])
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_a_pair_of_rows_that_stay_while_others_are_bound(mode: MatchMode, backend: Backend) -> None:
    """Leaves of 0 and 1, which both have to differ from what is bound after these two, or from a part of it."""
    ends = [(0, 1), (0, 2), (1, 2), (2, 3), (0, 3), (0, 4), (1, 5)]
    pairs, held = 0, 0
    for seed in range(6):
        draw = random.Random(seed)
        labels = sorted((draw.choice("AB"),) for _ in range(14))
        edges = [
            ("U", a, b) for a, b in itertools.combinations(range(14), 2) if draw.random() < 0.5
        ]
        graph = SmallGraph(labels, edges, frozenset("U"))
        named = [draw.choice(((), (("A",),))) for _ in range(6)]
        query = QueryGraph(
            tuple(QueryVertex(labels=some) for some in named),
            tuple(QueryEdge(a, b, ("U",), Direction.ANY) for a, b in ends),
            mode,
        )
        off = frozenset({"order", "symmetry", "structure", "orientation"})
        plan = planner.plan(query, graph, counting=True, switched_off=off)
        nest = loop_nest(plan, graph)
        pairs += sum(node.formula is Formula.PAIR for node in nest.tail)
        prepared = prepare(plan, graph)
        held += int(prepared.tables.nodes[:, NodeField.HELD].sum())
        found = backend.count(prepared, Watch(None, None, None), Budget())
        assert found * plan.multiplicity == reference.count(plan, graph) * plan.divisor
    assert bool(pairs) == bool(held) == (mode is not REPEATABLE_ELEMENTS)


@pytest.mark.parametrize("tails", ["one", "pair"])
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_values_that_coincide_are_taken_off_once(tails: str, backend: Backend) -> None:
    """Leaves of 0 and 1 that have to differ from some of the vertices 2, 3 and 4 beside them, which may be the same."""
    ends = [(0, 1), (0, 2), (1, 3), (0, 4), (1, 5), (0, 6)][: 6 if tails == "pair" else 5]
    lone = 0
    for seed in range(20):
        draw = random.Random(seed)
        vids = 6 if tails == "pair" else 7
        pairs = itertools.combinations(range(vids), 2)
        edges = [("U", a, b) for a, b in pairs if draw.random() < 0.7]
        graph = SmallGraph([()] * vids, edges, frozenset("U"))
        apart = [(v, leaf) for v in (2, 3, 4) for leaf in (5, 6) if draw.random() < 0.8]
        query = QueryGraph(
            tuple(QueryVertex() for _ in range(len(ends) + 1)),
            tuple(QueryEdge(a, b, ("U",), Direction.ANY) for a, b in ends),
            REPEATABLE_ELEMENTS,
            apart=(differing := tuple(p for p in [*apart, (5, 6)] if max(p) <= len(ends))),
        )
        off = frozenset({"order", "symmetry", "structure", "orientation"})
        plan = planner.plan(query, graph, counting=True, switched_off=off)
        prepared = prepare(plan, graph)
        nodes = prepared.tables.nodes
        apart_from = nodes[:, NodeField.DIFFERS_END] - nodes[:, NodeField.DIFFERS]
        lone += bool(np.any(apart_from > 1) and (tails == "one" or nodes[0, NodeField.HELD]))
        found = backend.count(prepared, Watch(None, None, None), Budget())
        assert found * plan.multiplicity == homomorphisms(graph, ends, differing) * plan.divisor
    assert lone > 5


def test_what_is_read_for_a_vertex_is_the_shortest_first() -> None:
    """Of two leaves below it the one of the rare label, which is often absent."""
    labels = [("A",)] * 2 + [("B",)] * 12
    edges = [("U", a, b) for a, b in itertools.combinations(range(14), 2)]
    graph = SmallGraph(labels, edges, frozenset("U"))
    query = QueryGraph(
        tuple(QueryVertex(labels=((label,),) if label else ()) for label in ("", "B", "B", "A")),
        tuple(
            QueryEdge(a, b, ("U",), Direction.ANY)
            for a, b in ((0, 1), (0, 2), (1, 2), (1, 3), (0, 3))
        ),
        REPEATABLE_ELEMENTS,
    )
    off = frozenset({"order", "structure"})
    plan = planner.plan(query, graph, counting=True, switched_off=off)
    prepared = prepare(plan, graph)
    nodes = prepared.tables.nodes
    root = int(np.flatnonzero(nodes[:, NodeField.PARENT] < 0)[0])
    child, found = int(nodes[root, NodeField.CHILD]), []
    while child >= 0:
        level = prepared.nest.levels[int(nodes[child, NodeField.LEVEL])]
        assert isinstance(level, VertexLevel)
        found.append(level.cut.hi - level.cut.lo)
        child = int(nodes[child, NodeField.NEXT])
    assert found == [2, 12]


def test_a_stage_opens_the_directions_that_its_kernel_reads() -> None:
    """The other ones when something else reads them, as long as the stage holds its graph."""
    draw = random.Random(3)
    pairs = [draw.sample(range(40), 2) for _ in range(500)]
    drawn = {(f"D{draw.randrange(5)}", a, b) for a, b in pairs}
    graph = SmallGraph([()] * 40, sorted(drawn), frozenset())
    edges = tuple(QueryEdge(k, k + 1, (f"D{k}",), Direction.OUT) for k in range(5))
    query = QueryGraph((QueryVertex(),) * 6, edges, REPEATABLE_ELEMENTS)
    plan = planner.plan(query, graph, counting=True)
    stages = [prepare(plan, graph) for _ in range(2)]
    assert isinstance(stages[0].views, Views)
    assert 0 < len(stages[0].views.opened) < len(stages[0].views) == 10
    stages[0].leave_graph()
    counts = [launch.count(one, Watch(None, None, None), Budget()) for one in stages]
    assert counts == [reference.count(plan, graph)] * 2
    with pytest.raises(InternalError, match="after its snapshot"):
        tuple(stages[0].views)
    opened = {(view.types, view.direction) for view in stages[1].views}
    assert opened == {((f"D{k}",), way) for k in range(5) for way in (Direction.OUT, Direction.IN)}


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
@pytest.mark.parametrize("mode", [SUBGRAPHS, DIFFERENT_NODES, REPEATABLE_ELEMENTS])
@pytest.mark.parametrize("number", [200, 300, 90_000])
def test_counters_are_as_wide_as_lists_need(mode: MatchMode, number: int, backend: Backend) -> None:
    """Counters of 8, 16 and 32 bits, which begin at the first of the hubs."""
    graph = hub_rectangles.graph(number)
    plan = planner.plan(hub_rectangles.query(mode), graph, counting=True)
    options = run.Options("cpu" if backend.name == "cpu" else "cuda")
    assert run.count(plan, graph, options) == hub_rectangles.count(number, mode)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
@pytest.mark.parametrize("number", [200, 300, 70_000])
def test_a_root_whose_long_list_reaches_nothing(number: int, backend: Backend) -> None:
    """A star, from whose centre no path leads on."""
    edges = [("U", number, vid) for vid in range(number)]
    labels = [("A",)] * number + [("Hub",)]
    graph = SmallGraph(labels, edges, frozenset({"U"}))
    plan = planner.plan(hub_rectangles.query(SUBGRAPHS), graph, counting=True)
    (root,) = np.flatnonzero(prepare(plan, graph).tables.nodes[:, NodeField.PAIRED])
    assert root >= 0
    options = run.Options("cpu" if backend.name == "cpu" else "cuda")
    assert run.count(plan, graph, options) == 0
