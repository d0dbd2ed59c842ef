"""Which nests a GPU counts in a local graph."""

from __future__ import annotations

from gdb import planner
from gdb.executor.gpu import local, render
from gdb.executor.gpu.layout import Job, Local
from gdb.executor.gpu.local import LocalGraph
from gdb.executor.nest.nest import Formula
from gdb.executor.nest.prepare import prepare
from gdb.query_graph import (
    DIFFERENT_NODES,
    SUBGRAPHS,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from gdb.storage.format.direction import Direction
from tests.support.small_graph import SmallGraph

Pairs = tuple[tuple[int, int], ...]


def clique(n: int) -> Pairs:
    return tuple((a, b) for b in range(n) for a in range(b))


def found(
    pairs: Pairs,
    *,
    labels: tuple[str | None, ...] = (),
    direction: Direction = Direction.ANY,
    loops: bool = False,
    mode: MatchMode = SUBGRAPHS,
) -> LocalGraph | None:
    """For a pattern on a graph of 40 vertices with a dense part."""
    edges = [("U", a, b) for a in range(12) for b in range(a + 1, 12) if (a * b) % 5]
    edges += [("U", 0, x) for x in range(12, 40)] + ([("U", 3, 3)] if loops else [])
    graph = SmallGraph([("A",)] * 20 + [("B",)] * 20, edges, frozenset("U"))
    n = 1 + max(max(pair) for pair in pairs)
    named = labels or (None,) * n
    vertices = tuple(QueryVertex(labels=((x,),) if x else ()) for x in named)
    query = QueryGraph(
        vertices,
        tuple(QueryEdge(a, b, ("U",), direction) for a, b in pairs),
        mode,
    )
    return local.find(prepare(planner.plan(query, graph, counting=True), graph))


def test_cliques_are() -> None:
    for n in (4, 5, 6):
        made = found(clique(n))
        assert made is not None
        assert (made.first, len(made.levels), made.symmetric) == (1, n - 1, False)
        near = made.table[:, Local.NEAR].tolist()
        assert near == made.table[:, Local.BELOW].tolist() == [(1 << k) - 1 for k in range(n - 1)]


def test_a_large_clique_is_at_its_end() -> None:
    made = found(clique(8))
    assert made is not None
    assert (made.first, len(made.levels)) == (8 - local.MOST, local.MOST)


def test_alike_ends_stand_as_one() -> None:
    """The two vertices that a 4-clique's three others have in common."""
    made = found((*clique(3), (0, 3), (1, 3), (2, 3), (0, 4), (1, 4), (2, 4)))
    assert made is None or made.levels[-1].formula in (Formula.BINOMIAL, Formula.POWER)


def test_triangles_have_their_edges_counted() -> None:
    made = found(clique(3))
    assert made is not None
    assert made.only_edges
    assert (made.first, len(made.levels), made.pairs) == (1, 2, 0)


def test_what_is_not() -> None:
    assert (
        found((*clique(3), (2, 3))) is None
    )  # of a triangle in a larger pattern nothing is gained
    assert found(((0, 1), (1, 2), (2, 3), (3, 0), (0, 2))) is None  # twins are no edges
    assert found(((0, 1), (1, 2), (2, 3), (3, 0))) is None  # not in one list
    assert found(clique(4), loops=True, mode=DIFFERENT_NODES) is None
    assert found(clique(4), direction=Direction.OUT) is None
    assert found(clique(4), labels=("A", "B", "A", "B")) is None


def test_the_source_of_a_local_graph() -> None:
    made = found(clique(5))
    numbers = {Job.LOOPS: 2, Job.NODE_COUNT: 1}
    source = render.special(numbers, {}, made) if made is not None else ""
    assert "#define SPECIAL_LOCAL" in source
    assert "NEST_LOCAL[] = {0LL, 0LL, 0LL, 0LL, 1LL, 0LL, 1LL, 1LL," in source
