"""A query run operator by operator over rows: the meaning of the language, and the way of all queries that are more
than a pattern and its relational tail.

Rows are dicts of variables. They go from operator to operator in batches (`gdb.physical.rows.batches`); patterns are
matched by the executors for a batch at once, expressions evaluated row by row (`gdb.physical.evaluator`). An operator
that writes waits for all rows before it, and has written when its `Batches` are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from gdb.base.values.sizes import Pile
from gdb.base.values.temporal_clock import clock_at, real_instant
from gdb.errors import InternalError
from gdb.imports import deferred
from gdb.language.clauses import (
    WRITING,
    BulkCreate,
    CallProcedure,
    Clause,
    Create,
    Delete,
    Finish,
    Foreach,
    LoadCsv,
    Match,
    Merge,
    Query,
    Remove,
    Set,
    Unwind,
)
from gdb.language.syntax import Expression, PathPattern
from gdb.logical.operators import (
    Aggregate,
    Apply,
    Argument,
    Distinct,
    Filter,
    Limit,
    Names,
    Operator,
    Operators,
    Plan,
    Project,
    Sort,
    behind,
    names_after,
    writes,
)
from gdb.logical.planning import planned
from gdb.physical.evaluator import Evaluator
from gdb.physical.rows.batches import (
    ALONE,
    MATCHED,
    ROW,
    Batches,
    Few,
    Parts,
    Replayed,
    answer_rows,
    expand_rows,
    few_rows,
    gather_rows,
    hand_rows,
    hold_rows,
    narrow_rows,
    padded_rows,
    regroup_rows,
)
from gdb.physical.rows.pattern import Pattern, pattern_of
from gdb.physical.rows.subqueries import Prepared
from gdb.physical.rows.visible_names import visible, visible_rows
from gdb.records import dataclass, field, quick

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows import applying, calling, foreach, row_matching, row_projection
    from gdb.physical.rows.bound import Bound
    from gdb.physical.rows.run_context import Numbered, RowContext
else:
    applying = deferred("gdb.physical.rows.applying")
    calling = deferred("gdb.physical.rows.calling")
    row_matching = deferred("gdb.physical.rows.row_matching")
    foreach = deferred("gdb.physical.rows.foreach")
    row_projection = deferred("gdb.physical.rows.row_projection")

MOST_ROWS, MOST_FOUND = 2_000, 1_000
"""The bound of a run that begins with few rows."""
FIRST, TIMES_MORE = 64, 8
"""Where LIMIT is to be filled, the embeddings that a MATCH finds at first, and how many times more after that."""


class TooMany(Exception):
    """A bounded run met more rows than its bound; it has written nothing."""


@quick
@dataclass(frozen=True, slots=True)
class RowsAnswer:
    """What RETURN gives; no columns where the query ends with a clause that writes."""

    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]


def run_over_rows(
    context: RowContext,
    plan: Plan,
    start: Batches | None = None,
    bound: Bound | None = None,
    arrays: int | None = None,
) -> RowsAnswer:
    """Run a plan.

    start : the rows that it begins with; None for one row without names. bound : on its rows, until something is
    written. arrays : the rows of UNWIND above which its first operators run over arrays
    (`gdb.physical.arrays`); None: they do not.

    Raises
    ------
    TooMany : there are more.
    GdbError : QueryError with the place, ChangeRefused, Cancelled, QueryTimeout, OutOfBudget, DeviceError.
    """
    runner = Runner(context)
    allowance = context.allowance
    context.evaluator = Evaluator(context.text, context.parameters, runner, allowance)
    context.extensions = extensions
    try:
        with clock_at(real_instant()):
            if arrays is not None:
                from gdb.physical.arrays.array_run import run_arrays  # here: only batches need it

                plan, start, wrote = run_arrays(context, plan, arrays)
                bound = None if wrote else bound
            if bound is not None:
                runner.bound, runner.most_taken = Few(bound.found, ends=True), bound.taken
            found = runner.plan(plan, start or few_rows((), [{}]))
            rows: list[tuple[Value, ...]] = []
            names = found.names if plan.returns else ()
            if plan.returns:
                rows = answer_rows(allowance, found)
            else:
                for _ in found.parts:
                    pass  # it has written, and its rows are unused
        context.graph.flush()
    finally:
        # it knows the runner, which knows the context: together they would outlive the query
        del context.evaluator
    return RowsAnswer(names, rows)


def extensions(
    context: RowContext, pattern: Pattern, rows: Sequence[Row], known: Iterable[str]
) -> Iterator[list[Numbered]]:
    """As `row_matching.extensions`, whose module is loaded when it is first needed."""
    return row_matching.extensions(context, pattern, rows, known)


@dataclass(slots=True)
class Runner:
    """Runs plans; also evaluates patterns and subqueries inside expressions.

    bound : on what each MATCH finds, where the run is bounded. most_taken : rows that go into operators then.
    """

    context: RowContext
    bound: Few | None = None
    most_taken: int = 0
    _plans: dict[tuple[int, Names], Plan] = field(default_factory=dict)
    _patterns: dict[int, Pattern] = field(default_factory=dict)
    _kept: list[object] = field(default_factory=list)  # whose ids are keys

    # ---- patterns and subqueries in expressions ----------------------------------------------------

    def matches(
        self, pattern: PathPattern, where: Expression | None, row: Row, *, once: bool = False
    ) -> Iterator[Row]:
        """The row extended by every way to match a pattern. once : it matters only whether there is one."""
        patterns, key, context = self._patterns, id(pattern), self.context
        if key not in patterns:
            needed = frozenset[str]() if once else None
            patterns[key] = pattern_of(context.text, [pattern], where, context.mode, needed)
            self._kept.append(pattern)
        row = visible(row)  # its anonymous parts are not those of a pattern around it
        found = row_matching.extensions(context, patterns[key], [row], row)
        yield from (one for some in found for _, one in some)

    def rows(self, query: Query, row: Row, *, once: bool = False) -> Iterable[Row]:
        """The rows of a subquery that sees a row; without RETURN, its last rows. once : see `matches`."""
        row, context = visible(row), self.context
        key = id(query), (names := tuple(row))
        if key not in self._plans:
            self._plans[key] = planned(query, context.procedures, context.mode, names, once=once)
            self._kept.append(query)
        found = self.plan(self._plans[key], Batches(names, iter([[row]])))
        return (one for part in found.parts for one in part)

    # ---- plans -------------------------------------------------------------------------------------

    def plan(self, plan: Plan, start: Batches) -> Batches:
        """The rows of a plan that begins with some; of UNION all sides'. What it writes is written when this returns;
        rows are read as they are wanted."""
        if len(plan.sides) == 1:
            return self._operators(plan.sides[0], start)
        rows = [row for part in start.parts for row in part]
        changes = writes(plan)
        found: Batches | None = None
        for every, operators in zip((True, *plan.all), plan.sides, strict=True):
            other = self._operators(operators, Batches(start.names, iter([rows])))
            if changes:  # what this side reads, it reads before the next one writes
                other = Batches(other.names, hold_rows(self.context.allowance, other.parts))
            if found is not None:
                other = Batches(found.names, chain(found.parts, other.parts))
            found = other if every else Batches(other.names, self._united(other))
        assert found is not None
        return found

    def _united(self, rows: Batches) -> Parts:
        return row_projection.distinct(
            self.context, rows.names, rows.parts, "the distinct rows of UNION"
        )

    def _operators(self, operators: Operators, start: Batches) -> Batches:
        begun: Row = {}
        if any(isinstance(operator, Argument) for operator in operators):  # for one row
            ((begun,),) = start.parts
            start = few_rows(start.names, [begun])
        if start.some is not None:
            rows = few_rows(start.names, [dict(row) for row in start.some])
        else:
            rows = Batches(start.names, ([dict(row) for row in part] for part in start.parts))
        place, steps = 0, self.context.kept.steps(operators, start.names)
        while place < len(steps):
            step = steps[place]
            if step.last is not None:
                rows = self._filled(operators[place : step.last + 1], rows)
            elif isinstance(step.operator, Argument):
                rows = self._argument(step.operator, rows, begun)
            else:
                rows = self._operator(step.operator, rows, names=step.names, after=step.after)
            if step.kept is not None:
                rows = narrow_rows(rows, step.kept)
            place = (place if step.last is None else step.last) + 1
        return rows

    def _argument(self, operator: Argument, rows: Batches, begun: Row) -> Batches:
        """The rows with values of the row that the plan began with."""
        values, meter = {name: begun[name] for name in operator.names}, self.context.meter
        parts = ([{**row, **values} for row in part] for part in rows.parts)
        made = parts if meter is None else meter.parts(parts, meter.operator(operator))
        return Batches(names_after(operator, rows.names), made)

    def _filled(self, operators: Operators, start: Batches) -> Batches:
        """The rows of operators that end with a LIMIT that any rows fill (`gdb.physical.rows.limiting`):
        each MATCH before it finds some embeddings, and more of them as long as that leads to too few rows."""
        *before, last = operators
        assert isinstance(last, Limit)
        names = behind(tuple(before), start.names)
        return self._operator(last, Batches(names, self._some(before, last, start)))

    def _some(self, operators: Sequence[Operator], last: Limit, start: Batches) -> Parts:
        """As many rows of some operators as the LIMIT behind them takes."""
        enough = row_projection.bounds(self.context, last)[1] or 0
        few = Few(max(FIRST, 2 * enough))
        again = Replayed(self.context.allowance, start.parts, "rows before a LIMIT")
        pile = Pile(self.context.allowance, "the rows of a LIMIT")
        while True:
            few.cut = False
            found = self._through(operators, Batches(start.names, again.again()), few).parts
            rows = gather_rows(self.context.allowance, found, pile, enough)
            if len(rows) >= enough or not few.cut:
                again.clear()
                yield from hand_rows(rows[:enough], pile)
                return
            pile.clear()
            few = Few(few.most * TIMES_MORE)

    def _through(self, operators: Sequence[Operator], rows: Batches, few: Few) -> Batches:
        for operator in operators:
            rows = self._operator(operator, rows, few)
        return rows

    def _counted(self, parts: Parts) -> Parts:
        for part in parts:
            self._count(part)
            yield part

    def _count(self, part: Sequence[Row]) -> None:
        """Before an operator takes some rows."""
        context = self.context
        context.allowance.pulse()
        context.handled += len(part)
        if self.bound is not None and context.handled > self.most_taken:
            raise TooMany

    def rows_of(self, operator: Operator, rows: Batches, names: Names) -> Parts:
        """The rows that an operator makes of some. names : that they have."""
        return self._operator(operator, rows, names=names).parts

    def _operator(
        self,
        operator: Operator,
        rows: Batches,
        few: Few | None = None,
        names: Names | None = None,
        after: Operator | None = None,
    ) -> Batches:
        """The rows that an operator makes of some. What it writes is written when this returns. names : of these rows,
        where they are known. after : what follows it."""
        names = names_after(operator, rows.names) if names is None else names
        if rows.some is not None and few is None and self.context.meter is None:
            made = self._few(operator, rows.names, rows.some, names)
            if made is not None:
                return made
        before = Batches(rows.names, self._counted(rows.parts))
        meter = self.context.meter
        if meter is None:
            return Batches(names, self._parts(operator, before, few, after))
        own = meter.operator(operator)
        with meter.during(own):
            parts = self._parts(operator, before, few, after)
        return Batches(names, meter.parts(iter(parts), own))

    def _few(
        self, operator: Operator, before: Names, rows: list[Row], names: Names
    ) -> Batches | None:
        """What an operator makes of a few rows, without batches; None where it may make many, or is of another kind.
        before, names : of the rows, and of what it makes."""
        allowance = self.context.allowance
        match operator:
            case Match(optional=False) if len(rows) == 1:
                pattern = self.context.pattern(operator)
                program = pattern.program(frozenset(before))
                made = None if program is None else program.run(self.context, rows[0])
                if made is None or len(made) > ALONE:
                    return None
                self._count(rows)
                allowance.make(ROW * len(made), "rows")
                return few_rows(names, visible_rows(made))
            case Create() | Merge() | Set() | Remove() | Delete():
                self._count(rows)
                made = self._written(operator, before, rows)
                if len(made) > ALONE:
                    return Batches(names, hold_rows(allowance, [made]))
                return few_rows(names, made)
        return None

    def _parts(
        self, operator: Operator, rows: Batches, few: Few | None, after: Operator | None
    ) -> Parts:
        context = self.context
        match operator:
            case Match():
                return self._matched(operator, rows, few)
            case Unwind():
                return self._unwind(operator, rows)
            case Project():
                return row_projection.project(context, operator, rows.parts)
            case Filter():
                return row_projection.satisfying(context, operator, rows.parts)
            case Aggregate():
                return row_projection.aggregate(context, operator, rows.parts)
            case Distinct():
                return row_projection.distinct_rows(context, operator, rows.parts)
            case Sort():
                limit = after if isinstance(after, Limit) else None
                return row_projection.sort(context, operator, rows.parts, limit)
            case Limit():
                return row_projection.limit_rows(context, operator, rows.parts)
            case Finish():
                return iter(())
            case Apply():
                return applying.apply_rows(context.allowance, operator, rows, self.plan)
            case Create() | BulkCreate() | Merge() | Set() | Remove() | Delete() | Foreach():
                return self._write(operator, rows)
            case LoadCsv():
                from gdb.physical.rows.csv import load_rows  # here: only LOAD CSV needs it

                return load_rows(context, operator, rows.parts)
            case CallProcedure():
                return calling.call_procedure(context, operator, rows.parts)
        raise InternalError(f"{type(operator).__name__} cannot be run.")

    # ---- reading -----------------------------------------------------------------------------------

    def _matched(self, clause: Match, rows: Batches, few: Few | None) -> Parts:
        pattern = self.context.pattern(clause)
        fresh = [name for name in pattern.names if name not in rows.names]
        allowance = self.context.allowance
        size = MATCHED if few is None else FIRST
        bound = None if few is not None else self.bound
        matcher = row_matching.Matching(self.context, pattern, rows.names, few or bound)
        for part in regroup_rows(allowance, rows.parts, size):
            level = allowance.made
            found = matcher.extensions(part)
            numbered = found if not clause.optional else padded_rows(found, part, fresh)
            for some in numbered:
                if bound is not None and bound.cut:
                    raise TooMany
                allowance.make(ROW * len(some), "rows")
                extended = [row for _, row in some]  # made for this pattern and exclusively owned
                yield list(map(visible, extended)) if pattern.variants else visible_rows(extended)
                allowance.made = level
            if bound is not None and bound.cut:
                raise TooMany

    def _unwind(self, clause: Unwind, rows: Batches) -> Parts:
        name = clause.variable.text
        prepared = Prepared(self.context, [clause.list])
        values = self.context.evaluator.unwound(prepared.expressions[0])

        def expand(filled: Row) -> Iterable[Row]:
            found, row = values(filled), visible(filled)
            return ({**row, name: item} for item in found)

        return expand_rows(self.context.allowance, rows.parts, expand, prepared.fill)

    # ---- writing -----------------------------------------------------------------------------------

    def _write(self, clause: Clause, before: Batches) -> Parts:
        """All rows before are made first: they do not see what is written here."""
        context = self.context
        pile = Pile(context.allowance, "the rows before a clause that writes")
        rows = gather_rows(context.allowance, before.parts, pile)
        made = self._written(clause, before.names, rows)
        if context.meter is not None:
            context.meter.wrote(clause, len(made))
        if made is rows:
            return hand_rows(rows, pile)
        pile.clear()
        return hold_rows(context.allowance, [made])

    def _written(self, clause: Clause, names: Names, rows: list[Row]) -> list[Row]:
        """Write for rows that are all there; what the clause makes of them."""
        context = self.context
        if context.graph.changes is None:
            raise InternalError("a query that writes runs without a transaction.")
        self.bound = None  # what is written is not written again
        if isinstance(clause, Foreach) and not foreach.item_by_item(clause, names):
            self._foreach(clause, names, rows)
            return rows
        return foreach.change_of(context, clause, names)(rows)

    def _foreach(self, clause: Foreach, names: Names, rows: list[Row]) -> None:
        """Each clause inside for all items of all rows."""
        items = foreach.items_of(self.context, clause)
        inner = Batches(
            (*names, clause.variable.text),
            expand_rows(self.context.allowance, iter([rows]), items),
        )
        for one in clause.clauses:
            assert isinstance(one, WRITING)
            inner = self._operator(one, inner)
        for _ in inner.parts:
            pass
