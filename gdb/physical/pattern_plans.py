"""The plans of the patterns of operators, for EXPLAIN: made as a run makes them, but without rows before.

A run knows what the rows bind, and plans with these vertices as candidates; PROFILE shows those plans.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from gdb import planner
from gdb.physical.counting import tally
from gdb.physical.rows.component import ComponentRun
from gdb.physical.rows.component_matching import asked_edges
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.executor.plan.plan import Plan
    from gdb.language.clauses import Match
    from gdb.logical.operators import Names
    from gdb.physical.columns.steps import Found
    from gdb.physical.rows.pattern import Component, Condition, Pattern
    from gdb.physical.rows.run_context import RowContext


@dataclass(frozen=True, slots=True, eq=False)
class PatternPlan:
    """The plan of a component of a pattern.

    bound : the names of it that rows bind. taken : how many conditions of the pattern are in it.
    """

    component: Component
    bound: Names
    plan: Plan
    taken: int = 0

    @property
    def expected(self) -> float | None:
        """Embeddings for one row before; None where that is not known."""
        edges = [name for name in self.bound if name in self.component.edges]
        if edges:
            return None
        many = embeddings(self.plan)
        for name in self.bound:
            several = self.plan.candidates[self.component.vertices.index(name)].count
            many = None if many is None else many / max(several, 1)
        return many


def embeddings(plan: Plan) -> float | None:
    """How many embeddings the planner expects of a plan."""
    notes = plan.notes
    # with terms it leaves conditions out; optional parts are not estimated together
    if not notes.estimates or plan.terms or plan.optional:
        return None
    alone = plan.divisor == 1 and plan.multiplicity == 1 and not plan.twins
    classes = notes.automorphisms if notes.restrictions and alone else plan.divisor
    return notes.estimates[-1] / max(classes, 1)


def expected_rows(pattern: Pattern, plans: Sequence[PatternPlan]) -> float | None:
    """The rows that a MATCH is expected to make of one; None where not all of it is in the plans of its parts."""
    if pattern.variants or pattern.long:
        return None
    if sum(one.taken for one in plans) < len(pattern.conditions):
        return None
    many = 1.0
    for one in plans:
        if one.expected is None:
            return None
        many *= one.expected
    return many


def of_clause(context: RowContext, clause: Match, known: Collection[str]) -> list[PatternPlan]:
    """The plans of a MATCH over rows. known : the names of the rows before."""
    pattern = context.pattern(clause)
    if pattern.variants:
        return []
    return list(_of_components(context, pattern, frozenset(known)))


def _of_components(
    context: RowContext, pattern: Pattern, known: frozenset[str]
) -> Iterator[PatternPlan]:
    reach = {*pattern.names, *pattern.vertices, *pattern.edges, *known}
    taken: list[Condition] = []
    for component in pattern.components():
        names = {*component.vertices, *component.edges}
        bound = tuple(name for name in (*component.vertices, *component.edges) if name in known)
        if len(names) == 1 and bound:
            continue  # a vertex of the rows, or one at which a path ends
        own = [c for c in pattern.conditions if c.names & reach <= names]
        own = [c for c in own if c.names & names - known]
        taken += own
        rest = [c for c in pattern.conditions if c not in taken]
        yield _of_component(context, pattern, component, bound, own, rest)


def _of_component(
    context: RowContext,
    pattern: Pattern,
    component: Component,
    bound: Names,
    own: Sequence[Condition],
    rest: Sequence[Condition],
) -> PatternPlan:
    wanted = asked_edges(pattern, component.edges, [*own, *rest])
    graph, left = ComponentRun(context, pattern, component).graph(own, wanted=wanted)
    plan = planner.plan(graph, context.graph.snapshot, counting=False)
    return PatternPlan(component, bound, plan, taken=len(own) - len(left))


def of_step(context: RowContext, step: Found) -> Plan:
    """The plan of a step of a chain: it lists, or counts."""
    component, snapshot = step.component, context.graph.snapshot
    wanted = [component.vertices.index(n) for n in step.columns if n in component.vertices]
    run = ComponentRun(context, step.pattern, component)
    graph, _ = run.graph(step.conditions, wanted=step.columns.keys(), sure=True)
    if step.number is None or len(wanted) > 1:
        return planner.plan(graph, snapshot, counting=False)
    if not wanted:
        return planner.plan(graph, snapshot, counting=True)
    return tally(graph, snapshot, wanted[0]).plan
