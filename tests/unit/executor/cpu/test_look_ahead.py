"""A binding from which a later vertex cannot be reached ends at once, whatever loops lie between."""

from __future__ import annotations

import numpy as np
import pytest

from gdb import planner
from gdb.executor import reference
from gdb.executor.cpu import launch
from gdb.executor.cpu.look_ahead import rows_ahead
from gdb.executor.nest.prepare import Prepared, prepare
from gdb.executor.work.scheduler import Budget, Watch
from gdb.query_graph import (
    DIFFERENT_EDGES,
    DIFFERENT_NODES,
    MatchMode,
    QueryEdge,
    QueryGraph,
    QueryVertex,
)
from tests.support.backends import rows_on_cpu
from tests.support.small_graph import SmallGraph

A, B, C, D = 10, 30, 5, 5  # vertices of each label
R, S = 8, 5  # edges from a vertex of B, and from one of A


def graph() -> SmallGraph:
    """Each vertex of A has edges to all of B and to all of D, the first one also to those of C."""
    labels = [("A",)] * A + [("B",)] * B + [("C",)] * C + [("D",)] * D
    edges = [("R", a, A + b) for a in range(A) for b in range(B)]
    edges += [("R", A + b, A + (b + k) % B) for b in range(B) for k in range(1, 1 + R)]
    edges += [("S", a, A + B + C + k) for a in range(A) for k in range(S)]
    edges += [("S", 0, A + B + k) for k in range(S)]
    return SmallGraph(labels, edges)


def query(last: str, mode: MatchMode = DIFFERENT_EDGES) -> QueryGraph:
    """a:A -> b:B -> c:B and a -> d, of a label."""
    vertices = tuple(QueryVertex(None, ((label,),)) for label in ("A", "B", "B", last))
    edges = (QueryEdge(0, 1, ("R",)), QueryEdge(1, 2, ("R",)), QueryEdge(0, 3, ("S",)))
    return QueryGraph(vertices, edges, mode)


def prepared_as_written(asked: QueryGraph, *, counting: bool) -> Prepared:
    off = frozenset({"order", "structure", "formulas", "trees", "branches"})
    plan = planner.plan(asked, graph(), counting=counting, switched_off=off)
    assert plan.order == (0, 1, 2, 3)
    return prepare(plan, graph())


def bound(prepared: Prepared) -> list[int]:
    watch = Watch(None, None, None)
    watch.bound = np.zeros(prepared.tables.loops, np.int64)
    if prepared.tables.counting:
        found = launch.count(prepared, watch, Budget(), 1) * prepared.plan.multiplicity
        assert found == reference.count(prepared.plan, graph())
    else:
        table = rows_on_cpu(prepared, watch, Budget(), 1, 100)
        assert len(table) == len(reference.rows(prepared.plan, graph()))
    return watch.bound.tolist()


@pytest.mark.parametrize("mode", [DIFFERENT_EDGES, DIFFERENT_NODES])
@pytest.mark.parametrize("counting", [True, False])
def test_a_row_that_is_read_last_is_tested_first(counting: bool, mode: MatchMode) -> None:
    prepared = prepared_as_written(query("C", mode), counting=counting)
    assert [len(rows) for rows in rows_ahead(prepared)[:2]] == [1, 0]
    found = bound(prepared)
    assert found[:3] == [A, B, B * R]  # not A * B: all but B of them lead nowhere


def test_a_row_that_is_there_costs_nothing_else() -> None:
    assert bound(prepared_as_written(query("D"), counting=True))[:3] == [A, A * B, A * B * R]


def test_what_the_next_loop_reads_or_every_vertex_has_is_not_tested() -> None:
    circle = SmallGraph([("A",)] * 6, [("R", k, (k + 1) % 6) for k in range(6)])
    vertices = (QueryVertex(),) * 4
    edges = (QueryEdge(0, 1, ("R",)), QueryEdge(1, 2, ("R",)), QueryEdge(0, 3, ("R",)))
    plan = planner.plan(QueryGraph(vertices, edges, DIFFERENT_EDGES), circle, counting=False)
    assert not any(rows_ahead(prepare(plan, circle)))
