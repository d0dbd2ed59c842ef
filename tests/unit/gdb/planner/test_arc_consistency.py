"""Roots that semi-joins find are those of the matcher, on random graphs and trees."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gdb
from gdb.executor import run as executor
from gdb.executor.plan.embeddings import Wanted
from gdb.physical import counting
from gdb.planner import arc_consistency, plan
from gdb.query_graph import DIFFERENT_EDGES, MatchMode, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction
from tests.support.effort import share

WALKS = MatchMode(edges_differ=False)


def _tree(chance: random.Random) -> QueryGraph:
    n = chance.randint(2, 5)
    labels = [(), (("A",),), (("B",),)]
    vertices = [QueryVertex(None, chance.choice(labels)) for _ in range(n)]
    if chance.random() < 0.3:
        allowed = np.flatnonzero(np.array([chance.random() < 0.3 for _ in range(30)]))
        vertices[0] = QueryVertex(None, (), allowed.astype(np.uint32), "some")
    edges = []
    for v in range(1, n):
        ends = [chance.randrange(v), v]
        chance.shuffle(ends)
        way = chance.choice([Direction.OUT, Direction.OUT, Direction.ANY])
        types = chance.choice([(), ("K",), ("L",)])
        edges.append(QueryEdge(ends[0], ends[1], types, way))
    if chance.random() < 0.1:
        edges.append(QueryEdge(0, n - 1, ("K",)))
    return QueryGraph(tuple(vertices), tuple(edges), chance.choice([WALKS, DIFFERENT_EDGES]))


@pytest.mark.parametrize("loops", [False, True])
def test_roots_are_those_of_the_matcher(loops: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arc_consistency, "MUCH_FEWER", 0)
    monkeypatch.setattr(arc_consistency, "WORTH", 0.0)
    chance = random.Random(loops)
    options, found, known, root = executor.Options(), 0, 0, 0
    for _ in range(share(6)):
        with gdb.connect() as db:
            nodes = [chance.choice(["A", "B", "A:B", "C"]) for _ in range(30)]
            db.execute("CREATE " + ", ".join(f"(n{k}:{label})" for k, label in enumerate(nodes)))
            ends = {(chance.randrange(30), chance.randrange(30)) for _ in range(50)}
            pairs = [pair for pair in ends if loops or pair[0] != pair[1]]
            ids = [id_ for (id_,) in db.execute("MATCH (n) RETURN id(n) AS i ORDER BY i")]
            for a, b in pairs:
                kind = chance.choice("KL")
                db.execute(
                    f"MATCH (a), (b) WHERE id(a) = $a AND id(b) = $b CREATE (a)-[:{kind}]->(b)",
                    {"a": ids[a], "b": ids[b]},
                )
            source = db._snapshot()
            for _ in range(60):
                graph = _tree(chance)
                off = frozenset({"symmetry", "statistics"})
                made = plan(graph, source, counting=False, switched_off=off)
                rows = executor.rows(
                    made, source, options, Wanted((root,)), lambda some: some.vertex(root).copy()
                )
                want = np.unique(np.concatenate(rows.parts))
                sure = arc_consistency.surely_matched(graph, source, root)
                if sure is not None:
                    known += 1
                    assert np.array_equal(sure, want), graph
                got = counting.with_any(graph, source, options, root)
                assert np.array_equal(got, want), graph
                with monkeypatch.context() as patch:  # matched over what semi-joins leave
                    patch.setattr(arc_consistency, "surely_matched", lambda *_: None)
                    assert np.array_equal(counting.with_any(graph, source, options, root), want), (
                        graph
                    )
                found += len(want)
    assert found
    assert known
