"""A plan that reads compiled for few rows, as a `RowStatement`, without an object for any node or relationship: rows
have their numbers, and what expressions need of them is looked up (`gdb.physical.rows.element_reads`).

It is compiled once for all snapshots; a run over another one finds its look-ups there anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, cast

from gdb.answer import entities
from gdb.executor.relational.relational_tail import Output
from gdb.language.aggregation import is_count
from gdb.language.clauses import Match, Unwind
from gdb.language.hidden_names import is_hidden
from gdb.language.syntax import ElementReference, Expression, Parameter, Variable, walk
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
    expressions_of,
)
from gdb.physical.rows.element_reads import NeedsBatches, NumberEvaluator, NumberSteps
from gdb.physical.rows.number_graph import NumberGraph
from gdb.physical.rows.row_statement import RowStatement, RowStep
from gdb.physical.rows.row_steps import Elements, RowSteps, Unsuited
from gdb.physical.rows.subqueries import pattern_of_subquery

if TYPE_CHECKING:
    from gdb.answer.rows import Values
    from gdb.base.values.kinds import Row
    from gdb.executor.relational.relational_tail import Value as Plain
    from gdb.physical.rows.kept import Step
    from gdb.physical.rows.object_graph import Graph
    from gdb.physical.rows.pattern import Accepted, Pattern
    from gdb.physical.rows.row_program import RowProgram
    from gdb.physical.rows.row_run import RowsAnswer
    from gdb.physical.rows.run_context import RowContext
    from gdb.physical.rows.subqueries import SubqueryExpression
    from gdb.storage.graph.snapshot import Snapshot

_COUNTED = "\0counted"  # the name under which a row has the number of those that a MATCH would give


class NumberedStatement(RowStatement):
    """See the module. outputs : the columns of the answer, whose nodes and relationships are numbers. listed : the
    places of those that are paths, or their relationships, and what comes before the edge ids. lists : the parameters
    that may be lists, for UNWIND; nothing else mentions them."""

    def __init__(self, context: RowContext, plan: Plan) -> None:
        self._accepted: dict[ElementReference, Accepted] = {}
        self._types: dict[ElementReference, tuple[str, ...]] = {}
        self._counts: Aggregate | None = None
        self._snapshot: Snapshot | None = None
        self.outputs: Sequence[Output] = ()
        self.listed: Mapping[int, int] = {}
        self.lists: frozenset[str] = frozenset()
        super().__init__(context, plan)

    def run(self, graph: Graph | NumberGraph, plain: Mapping[str, Plain]) -> RowsAnswer | None:
        """As `RowStatement.run`, over the numbers of a snapshot."""
        snapshot, readers = graph.snapshot, self._numbers.readers
        try:
            if snapshot is not self._snapshot:
                self._snapshot = None
                self._numbers.bind(snapshot)
                self._snapshot = snapshot
            return super().run(graph, plain)
        except (NeedsBatches, Unsuited):
            return None
        finally:
            for reader in readers:
                reader.forget()

    def graph(self, snapshot: Snapshot) -> NumberGraph:
        """What a run over a snapshot reads."""
        return NumberGraph(snapshot)

    def shown(self, rows: Sequence[Values], snapshot: Snapshot) -> list[Values]:
        """The rows of an answer of this statement for the user, whose paths and lists of relationships have objects for
        all elements. rows : with nothing but numbers and values for the user."""
        columns: list[Sequence[object]] = [*zip(*rows, strict=True)]
        for place, before in self.listed.items() if rows else ():
            make = entities.paths if before else entities.relationships_along
            columns[place] = make(snapshot, cast("Sequence[Sequence[int] | None]", columns[place]))
        return cast("list[Values]", [*zip(*columns, strict=True)])

    def leave(self) -> None:
        """Hold no snapshot any more."""
        self._snapshot = None
        for reader in self._numbers.readers:
            reader.leave()

    # ---- elements --------------------------------------------------------------------------------

    def groups(self, element: ElementReference, snapshot: Snapshot) -> Sequence[int]:
        """The groups that a node may be of."""
        accepted = self._accepted[element]
        return [k for k, group in enumerate(snapshot.groups) if accepted[group.labels]]

    def types(self, element: ElementReference, snapshot: Snapshot) -> Sequence[str]:
        """The types that a relationship may have."""
        return self._types[element] or [one.name for one in snapshot.edge_types]

    def need(self, element: ElementReference) -> None:
        """Rows have the numbers of all elements."""

    # ---- compiling -------------------------------------------------------------------------------

    def _begun(self) -> RowSteps:
        context = self.context
        self._numbers = NumberEvaluator(
            context.text, self._values, context.allowance, self, self._program_of
        )
        context.evaluator = self._numbers
        return NumberSteps(self._numbers, context.text)

    def _compile(self, plan: Plan) -> bool:
        with suppress(Unsuited):
            self._last = _last_columns(plan)
            return super()._compile(plan) and self._answers() and self._unwinds(plan)
        return False

    def _unwinds(self, plan: Plan) -> bool:
        """Set `lists`; whether they are used as they may be."""
        used = [one.list for one in plan.sides[0] if isinstance(one, Unwind)]
        self.lists = frozenset(one.name for one in used if isinstance(one, Parameter))
        others = (part for one in plan.sides[0] for part in _mentioned(one))
        return self.lists.isdisjoint(others)

    def _answers(self) -> bool:
        """Set the outputs; whether they can be."""
        outputs, listed = list[Output](), dict[int, int]()
        for name in self._columns:
            element = self._numbers.elements.get(name)
            if name in self._numbers.lists or element in self._numbers.missing:
                return False
            if name in self._numbers.listed:
                listed[len(outputs)] = self._numbers.listed[name]
            if element is None:
                outputs.append(Output(name))
            else:
                outputs.append(Output(name, "node" if element.kind == "vertex" else "relationship"))
        self.outputs, self.listed = outputs, listed
        return bool(outputs)

    def _step(self, step: Step, before: Names) -> RowStep | None:
        self._numbers.names = frozenset(before)
        match operator := step.operator:
            case Match():
                return self._match_numbers(operator, before, step.after)
            case Unwind(list=items, variable=variable):
                return self._unwound(items, variable.text)
            case Aggregate() if operator is self._counts:
                names = [one.name for one in operator.calls]
                return lambda rows: [dict.fromkeys(names, rows[0][_COUNTED])]
            case Project() | Filter() | Aggregate() | Distinct() | Sort() | Limit():
                self._numbers.returned = operator is self._last
                made = self._rows.step(operator)
                if isinstance(operator, (Project, Aggregate)):
                    self._numbers.lists = {}  # none of them goes on
                return made
        return None

    def _unwound(self, items: Expression, name: str) -> RowStep:
        self._rows.check(items)
        items_of, context = self._numbers.unwound(items), self.context

        def step(rows: list[Row]) -> list[Row] | None:
            made = list["Row"]()
            for row in rows:
                several = items_of(row)
                if len(made) + len(several) > context.graph.most:
                    return None
                made += [{**row, name: one} for one in several]
            return made

        return step

    def _match_numbers(self, operator: Match, before: Names, after: object) -> RowStep | None:
        pattern = self.context.pattern(operator)
        program = pattern.program(frozenset(before))
        if program is None:
            return None
        elements, lists = self._entered(pattern, before)
        self._compile_program(program, elements, lists)
        if operator.optional:
            known = self._numbers.elements
            self._numbers.missing |= {e for n, e in elements.items() if n not in known}
        self._numbers.elements = {n: e for n, e in elements.items() if not is_hidden(n)}
        self._numbers.lists = {n: before for n, before in lists.items() if not is_hidden(n)}
        if not operator.optional and program.counted and isinstance(after, Aggregate):
            new = {name for name in pattern.names if name not in before}
            if _counts_rows(after, new):
                self._counts = after
                return partial(self._counted, program)
        return self._matching(operator, before, program)

    def _counted(self, program: RowProgram, rows: list[Row]) -> list[Row] | None:
        number = program.count(self.context, rows)
        return None if number is None else [{_COUNTED: number}]

    def _entered(self, pattern: Pattern, before: Names) -> tuple[Elements, dict[str, int]]:
        """The names that are elements, and those that are lists, in the rows of a pattern. Raises Unsuited."""
        elements, lists = {**self._numbers.elements}, {**self._numbers.lists}
        for name, vertex in pattern.vertices.items():
            if name not in before:
                element = ElementReference("vertex", len(self._accepted), vertex.place)
                self._accepted[element] = pattern.parts.accepted[name]
                elements[name] = element
            elif name not in elements or elements[name].kind != "vertex":
                raise Unsuited
        for name, edge in pattern.edges.items():
            if name in before:
                raise Unsuited
            if edge.length is not None and not edge.alone:
                lists[name] = 0
            else:
                elements[name] = ElementReference("edge", len(self._types), edge.place)
                self._types[elements[name]] = edge.types
        lists.update({route.name: 1 for route in pattern.routes})
        return elements, lists

    def _compile_program(
        self, program: RowProgram, elements: Elements, lists: dict[str, int]
    ) -> None:
        """Compile what a program evaluates. elements, lists : of its rows. Raises Unsuited."""
        numbers = self._numbers
        known = numbers.elements, numbers.lists
        numbers.elements, numbers.lists = elements, lists
        try:
            for condition in program.conditions:
                self._rows.check(condition)
                numbers.kept_condition(condition)
            for value in program.values:
                if not isinstance(value, (Parameter, Variable)):
                    self._rows.check(value)
                    numbers.kept(value)
                elif isinstance(value, Variable) and value.name in {*elements, *lists}:
                    raise Unsuited
        finally:
            numbers.elements, numbers.lists = known

    def _program_of(self, part: SubqueryExpression) -> tuple[RowContext, RowProgram]:
        """The program of a pattern inside an expression. Raises Unsuited."""
        pattern = pattern_of_subquery(self.context, part)
        names = self._numbers.names
        program = None if pattern is None else pattern.program(names)
        if pattern is None or program is None:
            raise Unsuited
        self._compile_program(program, *self._entered(pattern, tuple(names)))
        return self.context, program


def _last_columns(plan: Plan) -> Operator | None:
    """What gives the rows of the answer, but for those that a LIMIT leaves out."""
    behind = [one for one in plan.sides[0] if not isinstance(one, Limit)]
    last = behind[-1] if behind else None
    return last if isinstance(last, Project) else None


def _mentioned(operator: Operator) -> Iterator[str]:
    """The parameters that an operator mentions, but for the list of UNWIND."""
    if isinstance(operator, Unwind) and isinstance(operator.list, Parameter):
        return
    every = [*expressions_of(operator)]
    if isinstance(operator, Match):
        every += [
            value
            for path in operator.patterns
            for part in path.parts
            for _, value in part.properties
        ]
        every += [] if operator.where is None else [operator.where]
    for expression in every:
        yield from (part.name for part in walk(expression) if isinstance(part, Parameter))


def _counts_rows(aggregate: Aggregate, new: set[str]) -> bool:
    """Whether an Aggregate does nothing but count rows. new : names that are never null."""
    if aggregate.keys or aggregate.rest:
        return False

    def counts(call: Expression) -> bool:
        return isinstance(call, Variable) and call.name in new

    return all(
        is_count(one.call)
        and not one.call.distinct
        and (one.call.star or all(map(counts, one.call.arguments)))
        for one in aggregate.calls
    )
