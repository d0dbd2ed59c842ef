"""A ranked graph is the same graph under other vids, by descending degree."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gdb.errors import InternalError
from gdb.storage.format.direction import Direction
from gdb.storage.graph import degree_loops, degree_order
from gdb.storage.graph.degree_order import ranked_graph
from tests.support.small_graph import SmallGraph


def graph(seed: int) -> SmallGraph:
    """Twenty vertices, some without edges, three types, hubs at high vids."""
    rng = random.Random(seed)
    edges = []
    for _ in range(60):
        a, b = max(rng.randrange(18), rng.randrange(18)), rng.randrange(18)
        edges.append((rng.choice("RSU"), a, b))
    return SmallGraph([()] * 20, edges, frozenset("U"))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("part", [1, 7, 1 << 20])
def test_rows_are_the_same_under_ranks(
    seed: int, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(degree_loops, "_PART", part)
    small = graph(seed)
    again = degree_order.RankedGraph(small)
    everyone = np.arange(20, dtype=np.uint32)
    parts = [("U", Direction.ANY), *((t, d) for t in "RS" for d in ("->", "<-"))]
    views = [small.adjacency((t,), Direction(d)) for t, d in parts]
    degrees = np.sum([view.degrees_of(everyone) for view in views], axis=0)
    order = sorted(range(20), key=lambda v: (-degrees[v], v))
    rank = {v: r for r, v in enumerate(order)}
    for types in ((), ("R",), ("S", "U")):
        for direction in Direction:
            old, new = small.adjacency(types, direction), again.adjacency(types, direction)
            for v in range(20):
                want = sorted(rank[u] for u in old.neighbours_of(v).tolist())
                assert new.neighbours_of(rank[v]).tolist() == want
            assert again.adjacency(types, direction) is new


def test_it_is_made_once_and_tells_whether_it_was_needed() -> None:
    small = graph(1)
    assert ranked_graph(small) is ranked_graph(small)
    assert not ranked_graph(small).ordered
    star = SmallGraph([()] * 4, [("U", 0, k) for k in range(1, 4)], frozenset("U"))
    assert ranked_graph(star).ordered


def test_only_the_edges_of_some_types_count() -> None:
    small = graph(2)
    one = ranked_graph(small, [("R",), ("U", "R")])
    assert ranked_graph(small, [("U",), ("R",)]) is one
    assert ranked_graph(small, [("R",), ()]) is ranked_graph(small) is not one
    vids = np.arange(20, dtype=np.uint32)
    views = [("R", Direction.OUT), ("R", Direction.IN), ("U", Direction.ANY)]
    degrees = np.sum([small.adjacency((t,), d).degrees_of(vids) for t, d in views], axis=0)
    found = np.sum([one.adjacency((t,), d).degrees_of(vids) for t, d in views], axis=0)
    assert found.tolist() == sorted(degrees.tolist(), reverse=True)


def test_few_are_kept() -> None:
    small = graph(3)
    whole = ranked_graph(small)
    for types in ("R", "S", "U"):
        ranked_graph(small, [(types,)])
    assert ranked_graph(small) is whole
    for pair in ("RS", "RU", "SU", "RSU"):
        ranked_graph(small, [tuple(pair)])
    assert ranked_graph(small) is not whole


def test_it_has_no_edge_ids() -> None:
    with pytest.raises(InternalError):
        ranked_graph(graph(1)).eids((), Direction.ANY)
