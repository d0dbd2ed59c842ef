"""A plan compiled for one row: what few rows go through, step by step, without batches.

`gdb.physical.rows.row_run` makes for each run an evaluator, the functions of all expressions, and what creates,
merges and sets. None of these depends on the graph, and of parameters only on their names while no value is a list. So
a plan of operators that take a row and make few of it keeps them, with the context that they were made for. Only one
thread at a time may run it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias, cast

from gdb.base.values.temporal_clock import clock_at, real_instant
from gdb.language.clauses import Create, Delete, Finish, Match, Merge, Remove, Set, Unwind
from gdb.language.hidden_names import is_hidden
from gdb.logical.operators import (
    Aggregate,
    Distinct,
    Filter,
    Limit,
    Names,
    Operator,
    Plan,
    Project,
    Sort,
)
from gdb.physical.evaluator import Evaluator
from gdb.physical.rows.batches import few_rows
from gdb.physical.rows.creating import created
from gdb.physical.rows.element_changes import assigned, deleted, removed
from gdb.physical.rows.merging import Merging
from gdb.physical.rows.object_graph import Graph
from gdb.physical.rows.row_run import RowsAnswer, Runner, extensions
from gdb.physical.rows.row_steps import RowSteps, Unsuited
from gdb.physical.rows.values import taken
from gdb.physical.rows.visible_names import visible_rows
from gdb.records import dataclass

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.executor.relational.relational_tail import Value as Plain
    from gdb.physical.rows.kept import Step
    from gdb.physical.rows.number_graph import NumberGraph
    from gdb.physical.rows.row_program import RowProgram
    from gdb.physical.rows.run_context import RowContext
    from gdb.storage.graph.snapshot import Snapshot

_NO_VALUES: Mapping[str, Plain] = {}
_READING = (Match, Unwind, Project, Filter, Aggregate, Distinct, Sort, Limit)
RowStep: TypeAlias = "Callable[[list[Row]], list[Row] | None]"
"""The rows that an operator makes of some; None where it has no answer for few rows."""


@dataclass(frozen=True, slots=True)
class _Compiled:
    """An operator, its step, and the names of the rows before and behind it. writes : whether it changes the graph."""

    operator: Operator
    run: RowStep
    before: Names
    names: Names
    writes: bool


class RowStatement:
    """See the module. context : its own from now on; that of a run without a graph and without parameters.

    suits : whether all operators of the plan take few rows, and make few of these; else it cannot run. lists : the
    parameters that may be lists.
    """

    lists: frozenset[str] = frozenset()

    def __init__(self, context: RowContext, plan: Plan) -> None:
        self.context, self._runner = context, Runner(context)
        self._values: dict[str, Value] = {}
        context.parameters = self._values
        context.extensions = extensions
        self._rows = self._begun()
        self._steps: list[_Compiled] = []
        self._columns: Names = ()
        self.suits = self._compile(plan)

    def graph(self, snapshot: Snapshot) -> Graph | NumberGraph:
        """What a run over a snapshot reads."""
        return Graph(snapshot, None, self.context.text)

    def leave(self) -> None:
        """Hold no snapshot any more: it holds none."""

    def run(self, graph: Graph | NumberGraph, plain: Mapping[str, Plain]) -> RowsAnswer | None:
        """What RETURN gives, the graph's changes flushed; None where the plan needs the run of batches, and nothing was
        changed. plain : the parameters, no maps, and lists only of `lists`. Raises as `row_run.run_over_rows`."""
        context, columns = self.context, self._columns
        for name, value in plain.items():
            self._values[name] = taken(value)
        context.graph = cast("Graph", graph)  # a program takes from it what both have
        context.plain, context.embeddings = plain, 0
        context.allowance.made = context.allowance.kept = 0
        try:
            with clock_at(real_instant()):
                rows = self._ran()
                if rows is None:
                    return None
                answer = [tuple([row[name] for name in columns]) for row in rows] if columns else []
            graph.flush()
        finally:  # what is kept holds no snapshot, and no value
            del context.graph
            context.plain = _NO_VALUES
            self._values.clear()
        return RowsAnswer(columns, answer)

    def _ran(self) -> list[Row] | None:
        """The rows behind all steps."""
        pulse, rows, changed = self.context.allowance.pulse, list["Row"](({},)), False
        for one in self._steps:
            pulse()
            found = one.run(rows)
            if found is None:
                if not changed:
                    return None
                # what was written stays: its rows go on in batches
                parts = self._runner.rows_of(one.operator, few_rows(one.before, rows), one.names)
                found = [row for part in parts for row in part]
            changed = changed or one.writes
            rows = found
        return rows

    # ---- compiling -------------------------------------------------------------------------------

    def _begun(self) -> RowSteps:
        """What compiles operators. The context gets its evaluator."""
        context = self.context
        context.evaluator = Evaluator(context.text, self._values, self._runner, context.allowance)
        return RowSteps(context.evaluator, context.text)

    def _compile(self, plan: Plan) -> bool:
        """Compile all operators; whether each of them can be."""
        if len(plan.sides) > 1 or plan.start:
            return False
        before = plan.start
        for step in self.context.kept.steps(plan.sides[0], before):
            made = self._step(step, before)
            if made is None or step.kept is not None:
                return False
            writes = not isinstance(step.operator, _READING)
            self._steps.append(_Compiled(step.operator, made, before, step.names, writes))
            before = step.names
        self._columns = before if plan.returns else ()
        return True

    def _step(self, step: Step, before: Names) -> RowStep | None:
        """The step of an operator; None for one of another kind. before : the names of its rows."""
        context, operator = self.context, step.operator
        match operator:
            case Match():
                return self._match(operator, before)
            case Project() | Filter() | Aggregate() | Distinct() | Sort() | Limit():
                with suppress(Unsuited):
                    return self._rows.step(operator)
                return None
            case Create():
                return created(context, operator)
            case Merge():
                return Merging(context, operator, before).run
            case Set(items=items):
                return assigned(context, items)
            case Remove():
                return removed(context, operator)
            case Delete():
                return deleted(context, operator)
            case Finish():
                return lambda rows: []
        return None

    def _match(self, operator: Match, before: Names) -> RowStep | None:
        pattern = self.context.pattern(operator)
        program = pattern.program(frozenset(before))
        return None if program is None else self._matching(operator, before, program)

    def _matching(self, operator: Match, before: Names, program: RowProgram) -> RowStep:
        """The step of a MATCH by its program."""
        context, pattern = self.context, self.context.pattern(operator)
        hides = any(map(is_hidden, (*pattern.vertices, *pattern.edges)))
        missing: Row = {}
        if operator.optional:
            missing = dict.fromkeys(name for name in pattern.names if name not in before)

        def step(rows: list[Row]) -> list[Row] | None:
            if not operator.optional:
                several = program.run_all(context, rows)
                return visible_rows(several) if several is not None and hides else several
            found = list["Row"]()
            for row in rows:
                some = program.run(context, row)
                if some is None or len(found) + len(some) > context.graph.most:
                    return None
                found += some or [{**row, **missing}]
            return visible_rows(found) if hides else found

        return step
