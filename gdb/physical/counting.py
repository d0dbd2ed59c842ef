"""Counts of embeddings that are not listed: in all, for each data vertex of one query vertex, or for each of some rows;
and tests whether there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.errors import CountOverflow
from gdb.executor import run as executor
from gdb.executor.plan.embeddings import Embeddings, Wanted
from gdb.executor.work.scheduler import Watch
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.executor.nest.bindings import Bindings
    from gdb.executor.plan.plan import Plan
    from gdb.executor.relational.relational_tail import Tail
    from gdb.physical.binder import BoundQuery
    from gdb.planner.resolved_graph import PlannerSource
    from gdb.query_graph import QueryGraph
    from gdb.storage.graph.adjacency import I64, U32
    from gdb.storage.graph.snapshot import Snapshot

# from so many expected partial embeddings on, to count those of each vertex is better than to list them, unless what it
# takes to begin at that vertex is so many times more
WORTH_COUNTING, MUCH_WORSE = 100_000.0, 4.0
_WITHOUT_TERMS = frozenset({"structure", "differences", "coincidences"})


def tally_plan(
    graph: QueryGraph, source: PlannerSource, estimates: Sequence[float], root: int
) -> Plan | None:
    """The plan that counts the embeddings of each data vertex of the query vertex `root`; None where to list them is as
    good. estimates : of a plan that does, the partial embeddings after each vertex."""
    from gdb.planner import plan as make_plan  # here: kept statements are not planned again

    many = max(estimates, default=0.0)
    alone = len(graph.vertices) == 1 or graph.mode.distinct
    if alone or many < WORTH_COUNTING:
        return None
    plan = make_plan(graph, source, counting=True, root=root)
    if max(plan.notes.estimates, default=0.0) > MUCH_WORSE * many:
        return None
    return plan


def at_vertex(
    graph: QueryGraph, source: PlannerSource, options: executor.Options, root: int
) -> tuple[U32, I64]:
    """The data vertices that the query vertex `root` has in any embedding, u32[n] ascending, and the number of
    embeddings of each, i64[n]. Raises as `executor.tallies`."""
    return tally(graph, source, root).run(source, options)


def tallied(
    plan: Plan,
    tail: Tail,
    bound: BoundQuery,
    snapshot: Snapshot,
    options: executor.Options,
    bindings: Bindings | None,
) -> tuple[Embeddings, I64] | None:
    """Rows that represent several embeddings each for the tail of a statement, and how many, i64[rows]; None where it
    gets the embeddings. Raises as `executor.tallies`."""
    scope = bound.sources.scope
    if tail.kinds and scope.snapshot is snapshot:
        from gdb.physical import kind_counts  # here: counts alone do not need it

        if kind_counts.suits(bound.graph, tail, scope):
            watch = Watch(options.timeout, options.cancel, None)

            def pulse() -> None:
                if not watch.going():
                    watch.check()

            return kind_counts.counts_by_kind(bound.graph, scope, pulse)
    return executor.tallies(plan, snapshot, options, bindings) if plan.counting else None


@dataclass(frozen=True, slots=True)
class Tally:
    """How the embeddings of each data vertex of the query vertex `root` are counted. counts : whether the plan does so
    itself; else it lists them."""

    plan: Plan
    root: int
    counts: bool

    def run(self, source: PlannerSource, options: executor.Options) -> tuple[U32, I64]:
        """As `at_vertex`."""
        root = self.root
        if self.counts:
            some, numbers = executor.tallies(self.plan, source, options)
            return some.vertex(root), numbers

        def numbers_of(some: Embeddings) -> tuple[U32, I64]:
            values, numbers = np.unique(some.vertex(root), return_counts=True)
            return values, numbers.astype(np.int64)

        found = executor.rows(
            *(self.plan, source, options, Wanted((root,)), numbers_of),
            spill=lambda few, _: few,  # no rows are held, but each vertex of some of them once
        )
        values, place = np.unique(np.concatenate([v for v, _ in found.parts]), return_inverse=True)
        totals = np.zeros(len(values), np.int64)
        np.add.at(totals, place, np.concatenate([numbers for _, numbers in found.parts]))
        return values, totals


def tally(graph: QueryGraph, source: PlannerSource, root: int) -> Tally:
    """The plan for `at_vertex`, which may run more than once."""
    from gdb import planner  # here: kept statements are not planned again

    counted = tally_plan(graph, source, planner.estimates(graph, source), root)
    if counted is not None:
        return Tally(counted, root, counts=True)
    return Tally(planner.plan(graph, source, counting=False), root, counts=False)


def with_any(graph: QueryGraph, source: PlannerSource, options: executor.Options, root: int) -> U32:
    """The data vertices that the query vertex `root` has in any embedding, u32[n] ascending; where they have to be
    matched, matching goes on to the next of them after the first embedding of one. Raises as `executor.rows`."""
    from gdb.planner import plan as make_plan  # here: kept statements are not planned again
    from gdb.planner.arc_consistency import surely_matched

    known = surely_matched(graph, source, root)
    if known is not None:
        return known
    off = frozenset({"symmetry"})  # twins would have to be written out first
    made = make_plan(graph, source, counting=False, switched_off=off, root=root)

    def vids(some: Embeddings) -> U32:
        return some.vertex(root).copy()

    found = executor.rows(made, source, options, Wanted((root,), once=root), vids)
    return np.sort(np.concatenate(found.parts))


def at_rows(
    graph: QueryGraph,
    source: PlannerSource,
    options: executor.Options,
    bound: Sequence[int],
    columns: Sequence[U32],
    *,
    numbers: bool,
) -> tuple[I64, I64]:
    """Which of some rows have an embedding, their places i64[n] ascending, and how many each, i64[n]; without
    `numbers` 1.

    bound : the query vertices that a row binds. columns : what it binds them to, u32[rows] each; the rows are distinct,
        one column alone is ascending.
    """
    first, root, places = 0, bound[0], columns[0]
    if len(bound) > 1:
        # here: only counts that begin at rows need it
        from gdb.physical.row_graph import RowGraph, from_rows

        rows = RowGraph(source, columns)
        root = len(graph.vertices)
        graph, source, first = from_rows(graph, bound, rows), rows, rows.first
    if numbers:
        vids, many = at_vertex(graph, source, options, root)
    else:
        vids = with_any(graph, source, options, root)
        many = np.ones(len(vids), np.int64)
    if len(bound) > 1:
        return vids.astype(np.int64) - first, many
    return np.searchsorted(places, vids).astype(np.int64), many


def total(graph: QueryGraph, source: PlannerSource, options: executor.Options) -> int:
    """The number of embeddings. Raises as `executor.count`."""
    from gdb.planner import plan as make_plan  # here: kept statements are not planned again

    return count_plan(make_plan(graph, source, counting=True), graph, source, options, None)


def count_plan(
    plan: Plan,
    graph: QueryGraph,
    source: PlannerSource,
    options: executor.Options,
    bindings: Bindings | None,
) -> int:
    """The count of a plan, or of a better one that was found while it ran. What is counted before terms are taken off
    may pass 2^63 where the answer does not: then it is counted without. Raises as `executor.count`."""
    # other candidates are those of this plan: what was found since may be cut down to what it had
    if bindings is not None:
        return executor.count(plan, source, options, bindings)
    best = plan.best
    try:
        if best.notes.cut:
            from gdb.physical import longer_search  # here: few searches are cut short

            return longer_search.count(best, graph, source, options)
        return executor.count(best, source, options)
    except CountOverflow:
        if not plan.best.terms:
            raise
    from gdb.planner import plan as make_plan  # here: only a plan whose terms overflow is made anew

    plain = make_plan(graph, source, counting=True, switched_off=_WITHOUT_TERMS)
    plan.runs.better = plain  # later runs begin with it
    return executor.count(plain, source, options)
