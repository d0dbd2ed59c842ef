"""Numbers of embeddings that are counted and not listed: in all, or of each data vertex of one query vertex."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdb.errors import CountOverflow
from gdb.executor import run as executor
from gdb.executor.embeddings import Embeddings, Wanted, unbound_edges

if TYPE_CHECKING:
    from gdb.executor.given import Given
    from gdb.executor.plan import Plan
    from gdb.planner.resolve import PlannerSource
    from gdb.query_graph import QueryGraph
    from gdb.storage.adjacency import I64, U32

# from so many expected partial embeddings on, to count those of each vertex is better than to list them, unless what it
# takes to begin at that vertex is so many times more
WORTH_COUNTING, MUCH_WORSE = 100_000.0, 4.0


def tally_plan(graph: QueryGraph, source: PlannerSource, listed: Plan, root: int) -> Plan | None:
    """The plan that counts the embeddings of each data vertex of the query vertex `root`; None where to list them, by
    the plan `listed`, is as good."""
    from gdb.planner import plan as make_plan

    many = max(listed.notes.estimates, default=0.0)
    alone = len(graph.vertices) == 1 or graph.mode.distinct
    if alone or many < WORTH_COUNTING:
        return None
    plan = make_plan(graph, source, counting=True, root=root)
    if max(plan.notes.estimates, default=0.0) > MUCH_WORSE * many:
        return None
    return plan


def tallied(
    graph: QueryGraph, source: PlannerSource, options: executor.Options, root: int
) -> tuple[Embeddings, I64]:
    """A row for each data vertex that the query vertex `root` has in any embedding, its other columns without meaning,
    and the number of embeddings of each, i64[rows]. Raises as `executor.tallies`."""
    from gdb.planner import plan as make_plan

    listed = make_plan(graph, source, counting=False)
    counted = tally_plan(graph, source, listed, root)
    if counted is not None:
        return executor.tallies(counted, source, options)

    def vids(some: Embeddings) -> U32:
        return some.vertex(root).copy()

    found = executor.rows(listed, source, options, Wanted((root,)), vids)
    values, numbers = np.unique(np.concatenate(found.parts), return_counts=True)
    columns = np.broadcast_to(values[:, np.newaxis], (len(values), listed.vertices))
    return Embeddings(columns, unbound_edges(len(values), listed.edges)), numbers.astype(np.int64)


def total(graph: QueryGraph, source: PlannerSource, options: executor.Options) -> int:
    """The number of embeddings. Raises as `executor.count`."""
    from gdb.planner import plan as make_plan

    return counted(make_plan(graph, source, counting=True), graph, source, options, None)


def counted(
    plan: Plan,
    graph: QueryGraph,
    source: PlannerSource,
    options: executor.Options,
    given: Given | None,
) -> int:
    """The count of a plan. What is counted before terms are taken off may pass 2^63 where the answer does not: then it
    is counted without. Raises as `executor.count`."""
    try:
        return executor.count(plan, source, options, given)
    except CountOverflow:
        if not plan.terms:
            raise
    from gdb.planner import plan as make_plan

    plain = make_plan(graph, source, counting=True, switched_off=frozenset({"structure"}))
    return executor.count(plain, source, options, given)
