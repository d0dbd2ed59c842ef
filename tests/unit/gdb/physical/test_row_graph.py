"""Rows as vertices (`gdb.physical.row_graph`): they are no vertices of the graph."""

from __future__ import annotations

import numpy as np
import pytest

import gdb
from gdb.executor.run import Options
from gdb.physical.counting import at_rows
from gdb.physical.row_graph import RowGraph, from_rows
from gdb.planner import plan
from gdb.query_graph import DIFFERENT_EDGES, INDUCED, MatchMode, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("mode", [DIFFERENT_EDGES, INDUCED])
def test_a_query_vertex_without_edges_is_no_row(mode: MatchMode, negated: bool) -> None:
    with gdb.connect() as db:
        db.execute("CREATE (a:P)-[:K]->(:P)-[:K]->(:C), (:C)")
        snapshot = db._store.snapshot()
        ((start, end),) = db.execute("MATCH (a:P)-[:K]->(b:P) RETURN id(a), id(b)").fetchall()
        ids = {id_: vid for vid, id_ in enumerate(snapshot.user_ids(np.arange(4, dtype=np.uint32)))}
        columns = [np.array([ids[one]], np.uint32) for one in (start, end)]
        edge = QueryEdge(0, 1, ("K",), Direction.OUT)
        never = (QueryEdge(2, 0, (), Direction.ANY),) if negated else ()
        vertices = (QueryVertex("a"), QueryVertex("b"), QueryVertex())
        graph = QueryGraph(vertices, (edge,), mode=mode, negated=never)
        rows = RowGraph(snapshot, columns)
        made = plan(from_rows(graph, [0, 1], rows), rows, counting=False)
        assert made.candidates[2].count == 4
        places, many = at_rows(graph, snapshot, Options(), [0, 1], columns, numbers=True)
        # any node; none that is joined with a; induced: another one, which is joined with none
        expected = 1 if mode is INDUCED else {False: 4, True: 3}[negated]
        assert (places.tolist(), many.tolist()) == ([0], [expected])
