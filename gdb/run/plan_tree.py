"""EXPLAIN and PROFILE of a query that runs operator by operator (`gdb.run.operator_tree`).

Below a MATCH each part of its pattern has a line that says what is made of it, and its plan: under EXPLAIN as it is
planned without rows before it, under PROFILE as it ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gdb.answer.summary import Summary, sentence, spent_lines
from gdb.executor.choose_device import shown
from gdb.executor.options import MOST_PLANS
from gdb.language.clauses import Match
from gdb.language.hidden_names import is_hidden
from gdb.language.syntax import PatternTest, Subquery, walk
from gdb.logical.cardinality import cardinality
from gdb.logical.operators import Apply, Plan, expressions_of, names_after
from gdb.physical.columns.steps import FirstRows, Found, Looked, Made, Walked
from gdb.physical.meter import ANSWER, Figures
from gdb.physical.pattern_plans import PatternPlan, expected_rows, of_clause, of_step
from gdb.physical.rows.limiting import stops
from gdb.physical.rows.subqueries import pattern_of_subquery
from gdb.planner.explain import explain
from gdb.records import replace
from gdb.run.operator_tree import DUCKDB, ROWS, Shown, figures_text, tree_lines

if TYPE_CHECKING:
    from gdb.answer.summary import Summary
    from gdb.executor.plan.plan import Plan as Matching
    from gdb.executor.plan.source import GraphSource
    from gdb.executor.run import PlanRun
    from gdb.logical.operators import Names, Operator, Operators
    from gdb.physical.columns.steps import Chain
    from gdb.physical.counts import Counts
    from gdb.physical.rows.pattern import Component
    from gdb.physical.rows.run_context import RowContext
    from gdb.run.columns_or_rows import Choice, Planned

PlanOver: TypeAlias = "tuple[Matching, GraphSource]"
"""A plan, and the graph that it is for."""


def operator_lines(
    context: RowContext, planned: Planned, choice: Choice, instead: Choice | None = None
) -> list[str]:
    """The lines of EXPLAIN, or of PROFILE, where the context has a meter: where the operators run, the operators, and
    the warnings. instead : where they run that meet more rows than the bound of the choice. Raises DeviceError."""
    plan = planned.plan
    tree = _Tree(context, plan, choice)
    expected = context.estimates
    if expected is None:
        expected = cardinality(plan, tree.of_match, context.plain)
    lines = [f"operator by operator, {tree.where(plan)}: {choice.why}"]
    if instead is not None and choice.bound is not None:
        rows, found = choice.bound.taken, choice.bound.found
        more = f"more than {rows:,} rows, or {found:,} embeddings of a pattern"
        lines[0] += f"; where it meets {more}, it runs {_Tree(context, plan, instead).where(plan)}"
    lines += [*tree_lines(plan, tree.show, expected), *tree.after(), *_limits(plan, choice)]
    return [*lines, *(f"warning: {text}" for text in planned.warnings)]


def ran_lines(context: RowContext, summary: Summary) -> list[str]:
    """What PROFILE says of a run."""
    lines = [f"embeddings: {summary.embeddings:,}   rows: {summary.rows:,}"]
    if summary.evaluator == "rows":
        lines[0] += f"   rows into operators: {context.handled:,}"
    lines += spent_lines(summary)
    return lines if summary.effects is None else [*lines, sentence(summary.effects)]


def estimates(context: RowContext, plan: Plan, choice: Choice) -> Mapping[int, float | None]:
    """The rows that are expected of each operator, by `id`. Raises DeviceError."""
    return cardinality(plan, _Tree(context, plan, choice).of_match, context.plain)


class _Tree:
    def __init__(self, context: RowContext, plan: Plan, choice: Choice) -> None:
        self.context, self.meter, self.choice = context, context.meter, choice
        self.snapshot = context.graph.snapshot
        # what the executors choose by is what they will be given, but for who profiles
        self.options = replace(context.options, profile=None)
        self.chain: Chain | None = choice.columns
        self.over: frozenset[int] | None = (
            None  # operators over columns; None for all of the chain's
        )
        if choice.first is not None:
            self.chain = choice.first.chain
            self.over = frozenset(map(id, choice.first.operators))
        self.counted = _counted(plan, choice.counts)
        self.arrays = self._over_arrays(plan)
        self.before: dict[int, Names] = {}
        for operators in plan.sides:
            self._names(operators, plan.start)
        self._patterns: dict[int, list[PatternPlan]] = {}
        self._steps: dict[str, Matching] = {}

    def _names(self, operators: Operators, names: Names) -> None:
        for operator in operators:
            self.before[id(operator)] = names
            names = names_after(operator, names)
            if isinstance(operator, Apply):
                for side in operator.plan.sides:
                    self._names(side, operator.sees)

    def patterns(self, clause: Match) -> list[PatternPlan]:
        """The plans of the parts of a pattern, as they are made over rows."""
        if id(clause) not in self._patterns:
            known = self.before[id(clause)]
            self._patterns[id(clause)] = of_clause(self.context, clause, known)
        return self._patterns[id(clause)]

    def of_match(self, clause: Match) -> float | None:
        """Rows of one row before it."""
        return expected_rows(self.context.pattern(clause), self.patterns(clause))

    def _over_arrays(self, plan: Plan) -> set[int]:
        """The operators that ran over arrays, by `id`; under EXPLAIN those that may."""
        if self.choice.arrays is None:
            return set()
        if self.meter is not None:
            return {key for key, figures in self.meter.operators.items() if figures.arrays}
        from gdb.physical.arrays.array_run import may_run  # here: most queries have no batch

        return {id(one) for one in may_run(plan.sides[0])}

    def where(self, plan: Plan) -> str:
        """Where all operators run, or ran."""
        if self.choice.counts is not None:
            return "counted without rows"
        if self.choice.columns is not None:
            return "over columns (DuckDB)"
        if self.arrays:
            if self.meter is None:
                return "over arrays or rows"
            every = all(id(one) in self.arrays for one in plan.sides[0])
            return "over arrays" if every else "over arrays, then over rows"
        return "over rows" if self.choice.first is None else "over columns (DuckDB), then over rows"

    # ---- operators -------------------------------------------------------------------------------

    def show(self, operator: Operator) -> Shown:
        if operator in self.counted:
            return self._shown_counted(operator)
        over = self.over is None or id(operator) in self.over
        if self.chain is not None and over:
            return self._over_columns(self.chain, operator)
        return self._over_rows(operator)

    def _over_columns(self, chain: Chain, operator: Operator) -> Shown:
        steps = chain.owned(operator)
        below = tuple(line for step in steps for line in self._step(step))
        first = self.choice.first
        if self.meter is not None and first is not None and operator is first.operators[-1]:
            below += (f"handed to rows   {figures_text(self.meter.step(ANSWER))}",)
        how = DUCKDB
        if any(isinstance(step, Found) for step in steps):
            how = f"compiled nest on {self._device(self._plans_of(steps))}, {DUCKDB}"
        if self.meter is None:
            return Shown(how, below)
        known = self.meter.operators.get(id(operator))
        if known is None:
            return Shown(how, below, merged=True)
        figures = Figures(known.rows)
        for step in steps:
            figures.add(self.meter.step(step.name))
        return Shown(how, below, figures)

    def _over_rows(self, operator: Operator) -> Shown:
        walks = tuple(self._walks(operator))
        if self.meter is None:
            planned = self.patterns(operator) if isinstance(operator, Match) else []
            below = tuple(line for one in planned for line in self._planned(one))
            where = "arrays or rows on cpu" if id(operator) in self.arrays else ROWS
            plans = [(one.plan, self.snapshot) for one in planned]
            return Shown(self._rows_how(plans, where), below + walks)
        figures = self.meter.operators.get(id(operator), Figures(0))
        below = tuple(self._runs(figures.plans)) + walks
        if not below and isinstance(operator, Match) and self.patterns(operator):
            below = ("no plan ran: found at the nodes that rows have, or by value",)
        ran = [(run.plan, run.graph) for run in figures.plans]
        where = "arrays on cpu" if figures.arrays else ROWS
        return Shown(self._rows_how(ran, where), below, figures)

    def _walks(self, operator: Operator) -> Iterator[str]:
        """A line for each relationship of variable length that is walked over rows, in the pattern of an operator and
        in those that its expressions test."""
        patterns = [self.context.pattern(operator)] if isinstance(operator, Match) else []
        for expression in expressions_of(operator):
            for part in walk(expression):
                if isinstance(part, PatternTest | Subquery):
                    inner = pattern_of_subquery(self.context, part)
                    patterns += [] if inner is None else [inner]
        for pattern in patterns:
            for edge in pattern.long:
                shown_ends = [name for name in edge.ends if not is_hidden(name)]
                yield f"walk {' to '.join(shown_ends) or 'from anywhere'}: {edge.how}"

    def _rows_how(self, plans: Sequence[PlanOver], where: str) -> str:
        return f"compiled nest on {self._device(plans)}, {where}" if plans else where

    def _shown_counted(self, operator: Operator) -> Shown:
        counts = self.choice.counts
        assert counts is not None
        if operator is self.counted[-1]:
            own = None if self.meter is None else self.meter.operator(operator)
            plans = [(one, self.snapshot) for one in counts.plans]
            if counts.walks:
                walked = zip(counts.names, counts.walks, strict=True)
                below = tuple(f"{name}: {walk.how}" for name, walk in walked)
                return Shown("walked on cpu, counted", below, own)
            below = tuple(
                line
                for name, on in zip(counts.names, plans, strict=True)
                for line in (f"{name}:", *self._nest(*on))
            )
            return Shown(f"compiled nest on {self._device(plans)}, counted", below, own)
        return Shown("counted", (), merged=True)

    def _of_step(self, step: Found) -> Matching:
        """The plan of a step, made once."""
        if step.name not in self._steps:
            self._steps[step.name] = of_step(self.context, step)
        return self._steps[step.name]

    def _plans_of(self, steps: Sequence[Made | Found | Walked | Looked]) -> list[PlanOver]:
        """The plans of steps, as they ran, or will."""
        found = [step for step in steps if isinstance(step, Found)]
        if self.meter is not None:
            runs = [run for step in found for run in self.meter.step(step.name).plans]
            return [(run.plan, run.graph) for run in runs]
        return [(self._of_step(step), self.snapshot) for step in found]

    def _device(self, plans: Sequence[PlanOver]) -> str:
        """Where plans run. Raises DeviceError."""
        device, ran = self.options.device, self.meter is not None
        found = [shown(plan, device, graph, ran=ran).device for plan, graph in plans]
        return " and ".join(dict.fromkeys(found)) or "cpu"

    # ---- what is below them ----------------------------------------------------------------------

    def _nest(self, plan: Matching, graph: GraphSource) -> Iterator[str]:
        """The lines of the plan of a pattern."""
        bound = None if self.meter is None else self.meter.profile.bound
        lines = explain(plan, graph, self.options, bound).splitlines()
        return (f"  {line}" for line in lines)

    def _step(self, step: Made | Found | Walked | Looked) -> Iterator[str]:
        figures = None if self.meter is None else self.meter.step(step.name)
        behind = "" if figures is None else f"   {figures_text(figures)}"
        match step:
            case Found():
                yield f"{step.what}: {step.how}{behind}"
                if figures is not None:
                    yield from self._ran(figures.plans)
                else:
                    yield from self._nest(self._of_step(step), self.snapshot)
            case Walked():
                yield f"{step.what}: {step.how}{behind}"
            case Looked():
                keys = ", ".join(ref.key or ref.what for ref in step.columns)
                yield f"look up {keys}{behind}"
            case Made(what=what) if what:
                yield f"{what}{behind}"

    def _planned(self, one: PatternPlan) -> Iterator[str]:
        bound = ", ".join(name for name in one.bound if not is_hidden(name))
        rows = f", from {bound} of the rows" if bound else ""
        yield f"match {_names(one.component)}: listed{rows}"
        yield from self._nest(one.plan, self.snapshot)

    def _runs(self, runs: Sequence[PlanRun]) -> Iterator[str]:
        """Under a title for each pattern the plan of its first run."""
        for names, several in _by_names(runs).items():
            many = f"{len(several)} runs{' or more' * (len(runs) >= MOST_PLANS)}"
            more = f" in {many}, the first" if len(several) > 1 else ""
            yield f"match {', '.join(names)}{more}:"
            yield from self._ran(several[:1])

    def _ran(self, runs: Sequence[PlanRun]) -> Iterator[str]:
        for run in runs:
            yield from self._nest(run.plan, run.graph)

    def after(self) -> Iterator[str]:
        """The lines that follow the operators, where all run over columns."""
        if self.meter is not None and self.chain is not None and self.over is None:
            yield f"Result   [{DUCKDB}]   {figures_text(self.meter.step(ANSWER))}"


def _counted(plan: Plan, counts: Counts | None) -> Operators:
    """The operators that counts are: some MATCH, and the aggregate."""
    if counts is None:
        return ()
    (operators,) = plan.sides
    return operators[: len(operators) - len(counts.rest.sides[0])]


def _names(component: Component) -> str:
    every = (*component.vertices, *component.edges)
    return ", ".join(name for name in every if not is_hidden(name)) or "no name"


def _by_names(runs: Sequence[PlanRun]) -> dict[tuple[str, ...], list[PlanRun]]:
    """Runs by the names of their patterns, in their order."""
    found: dict[tuple[str, ...], list[PlanRun]] = {}
    for run in runs:
        found.setdefault(run.plan.names, []).append(run)
    return found


def _limits(plan: Plan, choice: Choice) -> Iterator[str]:
    """Where LIMIT stops what is before it."""
    chain = choice.columns or (None if choice.first is None else choice.first.chain)
    for step in () if chain is None else chain.steps:
        if isinstance(step, FirstRows):
            yield f"no more is matched than LIMIT {step.enough:,} takes"
    if any(last is not None for operators in plan.sides for last in stops(operators)):
        yield "no more rows are made than LIMIT takes"
