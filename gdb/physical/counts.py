"""Counts that operators begin with: of a pattern and OPTIONAL MATCHes, or of paths of variable length, without rows.

Each of them is a pattern whose embeddings are only counted (`gdb.physical.binder`), or walked
(`gdb.physical.walk_counts`); later operators get one row. Where there is only one pattern, and nothing after it, the
whole query is such a pattern, and does not come here.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from gdb.errors import QueryError
from gdb.language.clauses import Match
from gdb.logical.operators import Aggregate, Operator, Plan
from gdb.physical.binder import bind
from gdb.physical.counting import count_plan
from gdb.physical.one_pattern import of_operators
from gdb.physical.walk_counts import walk_counts
from gdb.records import dataclass, replace

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row
    from gdb.executor.plan.plan import Plan as Matching
    from gdb.physical.rows.run_context import RowContext
    from gdb.physical.walk_counts import WalkCount
    from gdb.query_graph import QueryGraph


@dataclass(frozen=True, slots=True)
class Counts:
    """What is counted, planned for one snapshot.

    plan : the operators that it was made of; rest : those behind the counts. names : of the counts; graphs, plans :
    what each of them counts; walks : where it is paths of variable length, and no graphs.
    """

    plan: Plan
    rest: Plan
    names: tuple[str, ...]
    graphs: tuple[QueryGraph, ...] = ()
    plans: tuple[Matching, ...] = ()
    walks: tuple[WalkCount, ...] = ()

    @property
    def aggregate(self) -> Operator:
        """The operator of the counts."""
        (operators,), (rest,) = self.plan.sides, self.rest.sides
        return operators[len(operators) - len(rest) - 1]

    def row(self, context: RowContext) -> Row:
        """The row of the counts. Raises as `executor.count`."""
        source, options = context.graph.snapshot, context.options
        found = [walk.number(context) for walk in self.walks] or [
            count_plan(plan, graph, source, options, None)
            for graph, plan in zip(self.graphs, self.plans, strict=True)
        ]
        context.embeddings += sum(found)
        return dict(zip(self.names, found, strict=True))


def counts_of(context: RowContext, plan: Plan) -> Counts | None:
    """The counts that a plan begins with, after OPTIONAL MATCHes or one MATCH of paths; None where it does not, or
    where it must run over rows."""
    if len(plan.sides) != 1 or plan.start:
        return None
    (operators,) = plan.sides
    matches = tuple(takewhile(lambda one: isinstance(one, Match), operators))
    last = operators[len(matches)] if len(matches) < len(operators) else None
    if not isinstance(last, Aggregate) or last.keys or last.rest or not last.calls:
        return None
    names = tuple(call.name for call in last.calls)
    rest = replace(plan, sides=(operators[len(matches) + 1 :],), start=names)
    if not any(isinstance(one, Match) and one.optional for one in matches):
        (clause, *others) = matches or (None,)
        if others or not isinstance(clause, Match):
            return None
        walks = walk_counts(context, clause, last.calls)
        return None if walks is None else Counts(plan, rest, names, walks=walks)
    from gdb.planner import plan as make_plan  # here: kept statements are not planned again

    graphs, snapshot = [], context.graph.snapshot
    for gathered in last.calls:
        alone = replace(last, calls=(gathered,))
        pattern = of_operators(plan.text, (*matches, alone), (gathered.name,))
        if pattern is None:
            return None
        try:
            bound = bind(pattern, snapshot, context.plain, context.mode)
        except QueryError:  # rows say what is wrong, if anything is
            return None
        if not bound.tail.count_only:
            return None
        graphs.append(bound.graph)
    plans = tuple(make_plan(graph, snapshot, counting=True) for graph in graphs)
    return Counts(plan, rest, names, tuple(graphs), plans)
