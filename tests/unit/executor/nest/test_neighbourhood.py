"""The end of a nest counted in bits: whichever way is forced, the count is that over lists, of the reference executor
and of networkx."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms import isomorphism

from gdb import planner
from gdb.errors import CountOverflow
from gdb.executor import reference
from gdb.executor.cpu import address, launch, neighbourhood_tables, workers
from gdb.executor.cpu.neighbourhood_tables import Neighbourhood
from gdb.executor.cpu.workers import Worker
from gdb.executor.nest.nest import Order
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import (
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
from tests.support.effort import share
from tests.support.small_graph import SmallGraph
from tests.support.strategies import MODES

Pairs = tuple[tuple[int, int], ...]
LISTS = frozenset({"local"})
HUGE = 1 << 40
# words of rows, words that an element is worth, least loops; all but the first also where few vertices are adjacent
WAYS = {
    "chosen": (workers.ROOM, workers.WORDS_AN_ELEMENT, neighbourhood_tables.LEAST),
    "always": (workers.ROOM, HUGE, 1),
    "little room": (40, HUGE, 1),  # neighbourhoods of more than a few vertices do not fit
    "tight": (12, HUGE, 1),
    "never worth it": (workers.ROOM, 0, 1),
}


@contextmanager
def forced(way: str) -> Iterator[None]:
    room, worth, least = WAYS[way]
    with (
        patch.object(workers, "ROOM", room),
        patch.object(workers, "WORDS_AN_ELEMENT", worth),
        patch.object(neighbourhood_tables, "LEAST", least),
        patch.object(
            neighbourhood_tables, "COMMON", neighbourhood_tables.COMMON if way == "chosen" else 0.0
        ),
    ):
        yield


def clique(n: int, *less: tuple[int, int]) -> Pairs:
    return tuple(pair for pair in combinations(range(n), 2) if pair not in less)


NEAR_CLIQUES: dict[str, Pairs] = {
    "4-clique": clique(4),
    "5-clique": clique(5),
    "6-clique": clique(6),
    "5-clique less one": clique(5, (3, 4)),
    "6-clique less one": clique(6, (0, 5)),
    "6-clique less two": clique(6, (0, 5), (1, 4)),
    "6-clique less three": clique(
        6, (0, 5), (1, 4), (2, 3)
    ),  # octahedron: no vertex is next to all
    "6-clique less a triangle": clique(6, (3, 4), (4, 5), (3, 5)),
    "7-clique less four": clique(7, (0, 4), (1, 4), (3, 5), (3, 6)),  # some loops are outside
    "two 4-cliques": (*clique(4), (1, 4), (2, 4), (3, 4), (1, 5), (2, 5), (4, 5)),
}


def question(
    pairs: Pairs,
    mode: MatchMode = SUBGRAPHS,
    labels: tuple[str, ...] = (),
    negated: Pairs = (),
) -> QueryGraph:
    n = 1 + max(b for _, b in pairs)
    names = labels or ("",) * n
    return QueryGraph(
        tuple(QueryVertex(labels=((x,),) if x else ()) for x in names),
        tuple(QueryEdge(a, b, ("R",), Direction.ANY) for a, b in pairs),
        mode,
        negated=tuple(QueryEdge(a, b, ("S",), Direction.ANY) for a, b in negated),
    )


def stage(query: QueryGraph, graph: SmallGraph, *off: str) -> tuple[Prepared, int]:
    """A stage, and what it counts is to be multiplied by; one plan without terms."""
    plan = planner.plan(query, graph, counting=True, switched_off=frozenset({"structure", *off}))
    assert not plan.terms
    return prepare(plan, graph), plan.multiplicity


def count(prepared: Prepared, threads: int = 1) -> int:
    return launch.count(prepared, Watch(None, None, None), Budget(), threads)


def found(query: QueryGraph, graph: SmallGraph, *off: str) -> Neighbourhood | None:
    return neighbourhood_tables.find(stage(query, graph, *off)[0])


def dense(n: int, share: float, seed: int = 1, labels: str = "") -> SmallGraph:
    """A random graph of R, and a sparser one of S."""
    draw = random.Random(seed)
    edges = [("R", a, b) for a, b in combinations(range(n), 2) if draw.random() < share]
    edges += [("S", a, b) for a, b in combinations(range(n), 2) if draw.random() < share / 3]
    own = sorted((draw.choice(labels),) if labels else () for _ in range(n))
    return SmallGraph(own, edges, frozenset("RS"))


# ---- which nests are counted so ----------------------------------------------------------------------


def test_near_cliques_are() -> None:
    graph = dense(20, 0.6)
    for pairs in NEAR_CLIQUES.values():
        made = found(question(pairs), graph)
        assert made is not None
        assert made.first > made.frame >= 0


def test_a_clique_takes_only_what_lies_to_one_side_of_its_first_vertex() -> None:
    made = found(question(clique(5)), dense(20, 0.6))
    assert made is not None
    assert (made.frame, made.first, len(made.levels)) == (0, 1, 4)
    assert made.order is not Order.NONE
    assert len(made.relations) == 1  # its neighbours to the same side
    assert made.relations[0, address.R.ORDER] == made.order


def test_other_nests_are_not() -> None:
    graph = dense(20, 0.6)
    assert found(question(clique(3)), graph) is None  # each row would be read once
    assert found(question(((0, 1), (1, 2), (2, 3), (0, 3))), graph) is None  # in no one list
    assert found(question(clique(4)), graph, "local") is None
    assert found(question(clique(4)), graph, "count_last") is None
    parallel = SmallGraph(graph.labels, [*graph.edges, graph.edges[0]], graph.undirected)
    assert found(question(clique(4)), parallel) is None


def test_a_sparse_graph_is_counted_over_lists() -> None:
    """There the ends of an edge have few neighbours in common, and hardly any row would be read again."""
    graph = dense(60, 0.1)
    assert found(question(clique(5)), graph) is None
    with forced("always"):
        assert found(question(clique(5)), graph) is not None


# ---- what they count ---------------------------------------------------------------------------------


@st.composite
def near_cliques(draw: st.DrawFn) -> tuple[SmallGraph, QueryGraph]:
    """A dense graph of up to 8 vertices and a pattern of up to 5, in any mode."""
    n = draw(st.integers(4, 8))
    labels = sorted(draw(st.lists(st.sampled_from("AAB"), min_size=n, max_size=n)))
    undirected = frozenset(draw(st.sampled_from(["RS", "S", "R", ""])))
    every = list(combinations(range(n), 2))
    left_out = set(draw(st.lists(st.sampled_from(every), max_size=n)))
    edges = [("R", a, b) for a, b in every if (a, b) not in left_out]
    edges += [("S", a, b) for a, b in draw(st.lists(st.sampled_from(every), max_size=n))]
    edges += [("R", x, x) for x in draw(st.sampled_from([[], [], [0], [1, 3]]))]
    k = draw(st.integers(4, 5))
    pairs = list(combinations(range(k), 2))
    absent = draw(st.lists(st.sampled_from(pairs), max_size=2))
    asked = [
        QueryEdge(
            *(a, b, draw(st.sampled_from([("R",), ("R",), ("R",), ("R", "S")]))),
            draw(st.sampled_from([Direction.ANY, Direction.ANY, Direction.ANY, Direction.OUT])),
        )
        for a, b in pairs
        if (a, b) not in absent
    ]
    vertex = st.sampled_from(["", "", "", "A", "B"])
    vertices = tuple(QueryVertex(labels=((x,),) if (x := draw(vertex)) else ()) for _ in range(k))
    negated = tuple(
        QueryEdge(a, b, ("S",), Direction.ANY)
        for a, b in draw(st.lists(st.sampled_from(pairs), max_size=1))
    )
    query = QueryGraph(vertices, tuple(asked), draw(st.sampled_from(MODES)), negated=negated)
    return SmallGraph([(x,) for x in labels], edges, undirected), query


@settings(max_examples=share(150), deadline=None)
@given(case=near_cliques(), way=st.sampled_from(list(WAYS)))
def test_whichever_way_it_is_the_reference(case: tuple[SmallGraph, QueryGraph], way: str) -> None:
    graph, query = case
    prepared, times = stage(query, graph)
    with forced(way):
        assert count(prepared) * times == reference.count(prepared.plan, graph)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pattern", NEAR_CLIQUES)
def test_whichever_way_it_is_that_over_lists(pattern: str, mode: MatchMode) -> None:
    graph = dense(30, 0.5)
    query = question(NEAR_CLIQUES[pattern], mode)
    lists, times = stage(query, graph, "local")
    known = count(lists)
    for way in WAYS:
        with forced(way):
            in_bits, same = stage(query, graph)
            assert (count(in_bits), same) == (known, times)


@pytest.mark.parametrize("labels", ["AAAAA", "ABABA", "BBAAC", "CABAC"])
@pytest.mark.parametrize("mode", [DIFFERENT_NODES, REPEATABLE_ELEMENTS, INDUCED])
def test_labels_and_what_must_not_be(mode: MatchMode, labels: str) -> None:
    graph = dense(50, 0.6, 3, "ABC")
    for pairs in (clique(5), clique(5, (0, 3)), clique(5, (0, 1), (2, 3))):
        query = question(pairs, mode, tuple(labels), negated=((0, 4), (1, 2)))
        known = count(stage(query, graph, "local")[0])
        for way in WAYS:
            with forced(way):
                assert count(stage(query, graph)[0]) == known


@pytest.mark.parametrize("induced", [False, True])
@pytest.mark.parametrize("pattern", ["5-clique less one", "6-clique less three", "two 4-cliques"])
def test_it_is_networkx(pattern: str, induced: bool) -> None:
    graph = dense(13, 0.7, 5)
    data, asked = nx.Graph(), nx.Graph(NEAR_CLIQUES[pattern])
    data.add_edges_from((a, b) for kind, a, b in graph.edges if kind == "R")
    matcher = isomorphism.GraphMatcher(data, asked)
    each = matcher.subgraph_isomorphisms_iter if induced else matcher.subgraph_monomorphisms_iter
    # INDUCED looks at all edges of the graph, so there is one type of them
    only = SmallGraph(graph.labels, [e for e in graph.edges if e[0] == "R"], frozenset("R"))
    prepared, times = stage(
        question(NEAR_CLIQUES[pattern], INDUCED if induced else DIFFERENT_NODES), only
    )
    with forced("always"):
        assert neighbourhood_tables.find(prepared) is not None
        assert count(prepared) * times == sum(1 for _ in each())


@pytest.mark.parametrize("size", [1, 2, 62, 63, 64, 65, 127, 128, 129])
def test_neighbourhoods_about_the_size_of_a_word(size: int) -> None:
    """A vertex with so many neighbours, alone in having two in common with any: what is found is found around it."""
    draw = random.Random(size)
    near = np.zeros((size + 1, size + 1), np.int64)
    for a, b in combinations(range(size), 2):
        near[a, b] = near[b, a] = draw.random() < 0.4
    near[size, :size] = near[:size, size] = 1
    edges = [("R", int(a), int(b)) for a, b in np.argwhere(np.triu(near))]
    graph = SmallGraph([()] * (size + 1), edges, frozenset("R"))
    common = near @ near
    apart = np.array([(a, b) for _, a, b in edges])
    diamonds = {(a, b): common[a, b] for a, b in apart.tolist()}
    cliques = 0
    for a, b in diamonds:
        shared = np.flatnonzero(near[a] & near[b])
        cliques += int(near[np.ix_(shared, shared)].sum()) // 2
    with forced("always"):
        prepared, times = stage(question(clique(4), SUBGRAPHS), graph)
        assert neighbourhood_tables.find(prepared) is not None
        assert count(prepared) * times == cliques // 6
        for pairs in list(NEAR_CLIQUES.values())[: None if size < 70 else 2]:
            lists, _ = stage(question(pairs), graph, "local")
            assert count(stage(question(pairs), graph)[0]) == count(lists)


@pytest.mark.parametrize("size", [63, 64, 65])
def test_the_largest_that_fits_and_the_next(size: int) -> None:
    """Rows for so many positions and one more vertex fit, or just do not: both ways in one run."""
    graph = dense(70, 0.6, size)
    query = question(NEAR_CLIQUES["7-clique less four"])
    lists, _ = stage(query, graph, "local")
    made = found(query, graph)
    assert made is not None
    words = len(made.relations) * (-(-size // 64))
    with patch.object(workers, "ROOM", words * (size + 1)):
        assert count(stage(query, graph)[0]) == count(lists)


# ---- as the launch uses it ---------------------------------------------------------------------------


def test_it_may_stop_at_any_step() -> None:
    graph = dense(30, 0.7)
    for pairs in (clique(6), NEAR_CLIQUES["6-clique less three"]):
        prepared, _ = stage(question(pairs), graph)
        whole = count(prepared)
        worker = Worker(prepared, 1)
        worker.begin(0, len(prepared.roots))
        launches = 1
        while worker.run(0) == address.YIELDED:
            launches += 1
        assert int(worker.control[address.TOTAL]) == whole
        assert launches > 1000


def test_workers_share_it_and_are_used_again() -> None:
    graph = dense(60, 0.6)
    prepared, _ = stage(question(clique(6, (0, 5))), graph)
    lists, _ = stage(question(clique(6, (0, 5))), graph, "local")
    assert [count(prepared, 2) for _ in range(3)] == [count(lists)] * 3


def test_each_vertex_has_its_own_number() -> None:
    graph = dense(40, 0.6)
    for pairs in NEAR_CLIQUES.values():
        numbers = [
            launch.tallies(
                stage(question(pairs), graph, *off)[0], Watch(None, None, None), Budget()
            )
            for off in ((), ("local",))
        ]
        assert numbers[0].tolist() == numbers[1].tolist()


def test_how_often_loops_are_bound_is_counted() -> None:
    graph = dense(40, 0.6)
    bound = []
    for off in ((), ("local",)):
        prepared, _ = stage(question(clique(6)), graph, *off)
        watch = Watch(None, None, None)
        watch.bound = np.zeros(prepared.tables.loops, np.int64)
        launch.count(prepared, watch, Budget(), 1)
        bound.append(watch.bound.tolist())
    assert bound[0] == bound[1]


def test_its_memory_is_accounted_for() -> None:
    graph = dense(40, 0.6)
    in_bits, lists = (stage(question(clique(5)), graph, *off)[0] for off in ((), ("local",)))
    assert workers.scratch_bytes(in_bits) > workers.scratch_bytes(lists)


def test_a_count_that_does_not_fit_is_an_error() -> None:
    """130 vertices next to one another; three of them, and ten more that are next to all three."""
    n = 130
    graph = SmallGraph(
        [()] * n, [("R", a, b) for a, b in combinations(range(n), 2)], frozenset("R")
    )
    pairs = (*clique(3), *((k, leaf) for leaf in range(3, 13) for k in range(3)))
    prepared, _ = stage(question(pairs, REPEATABLE_ELEMENTS), graph)
    assert neighbourhood_tables.find(prepared) is not None
    with pytest.raises(CountOverflow):
        count(prepared)
