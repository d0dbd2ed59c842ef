"""The way of a query that is more than one pattern and its relational tail: operator by operator (`gdb.logical`).

All of its operators run over columns (`gdb.physical.columns`), or the first of them, or none; the others run over rows
(`gdb.physical.rows`), which can do everything. What writes runs over arrays first (`gdb.physical.arrays`), as far as
these can, where it begins with many rows.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from gdb import limits
from gdb.answer.result import Result
from gdb.answer.rows import ColumnAnswer, RowAnswer, Values
from gdb.answer.summary import Summary
from gdb.base import garbage
from gdb.base.allowance import here
from gdb.base.values.sizes import Growing
from gdb.errors import GdbError, LimitExceeded, ReadOnlyError
from gdb.executor import run as executor
from gdb.language.clauses import Match, Unwind
from gdb.language.syntax import Call, ListLiteral, Parameter
from gdb.records import dataclass, replace
from gdb.run.column_kinds import kinds_of
from gdb.run.statements import Refusal, key_of

if TYPE_CHECKING:
    from gdb.logical.operators import Plan
    from gdb.physical.columns.prefix import Prefix
    from gdb.physical.columns.steps import Chain
    from gdb.physical.counts import Counts
    from gdb.physical.rows.bound import Bound
    from gdb.physical.rows.kept import KeptPatterns
    from gdb.physical.rows.row_run import RowsAnswer
    from gdb.physical.rows.run_context import RowContext
    from gdb.run.request import QueryRun
    from gdb.storage.graph.snapshot import Snapshot
    from gdb.storage.write.transaction import Changes

WAY: Literal["columns", "rows"] | None = None
"""Where all operators run, for tests: over columns, if these can, whatever the graph and the rows; or over rows, which
are the definition. None: as it is faster."""
SMALL = 2_000
"""Below so many nodes and relationships rows are faster: a chain takes some milliseconds before it begins."""
BATCH = 32
"""Items of a list above which arrays are faster than rows (measured: 24 to 32 for MERGE of nodes and relationships)."""
LARGE = 10_000
"""Rows from which on a query that reads says why it ran in Python."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A checked query as operators.

    writes : whether it changes the graph. refusal : why it is not one pattern and its tail. warnings : of the check.
    explain, profile : whether its plan is the answer. kept : what earlier runs found of its operators.
    """

    plan: Plan
    writes: bool
    refusal: Refusal
    warnings: tuple[str, ...]
    explain: bool
    profile: bool
    kept: KeptPatterns

    @property
    def changes(self) -> bool:
        """Whether a run changes the graph."""
        return self.writes and not self.explain


@dataclass(frozen=True, slots=True)
class Choice:
    """How the operators of a plan run.

    columns : all of them over columns. first : or the first ones. why : not all. bound : over rows, as long as there
    are no more; else it is chosen again. counts : made first, without rows. arrays : the rows of UNWIND above which the
    first operators run over arrays; None: they do not.
    """

    columns: Chain | None
    first: Prefix | None
    why: str
    bound: Bound | None = None
    counts: Counts | None = None
    arrays: int | None = None


def answer_by_operators(run: QueryRun, planned: Planned) -> Result:
    """The answer of a query; of EXPLAIN its plan.

    Raises
    ------
    TooMany : it met more rows than the bound in `planned.refusal`.
    GdbError : as `pipeline.answer`; ReadOnlyError, StoreLocked, ChangeRefused where it writes.
    """
    from gdb.physical.rows.row_run import TooMany

    clock = run.clock
    notes = None if planned.writes else _Notes(run, planned.refusal)

    def made_of(snapshot: Snapshot, changes: Changes | None) -> _Operated:
        arguments, tries = (run, planned, snapshot, changes, notes), planned.kept.few
        sure = planned.writes or planned.refusal.bound is not None
        found = None
        if sure or tries.worth():
            found = _tried(*arguments, few=True)
            tries.note(failed=found is None)
        if found is None:
            if planned.refusal.bound is not None:
                raise TooMany
            found = _tried(*arguments, few=False)
        assert found is not None
        return found

    def changed(changes: Changes) -> _Operated:
        with changes.base.reading():
            made = made_of(changes.view, changes)  # all that can fail comes before the commit
        run.request.outcome.warn_first(_warnings(planned, made.context))
        return made

    if planned.explain:
        context = _context(run, planned, run.snapshot, None)
        from gdb.run.plan_tree import operator_lines  # here: only EXPLAIN and PROFILE need it

        choice = _chosen(planned, context, notes)
        lines = operator_lines(context, planned, choice, _instead(planned, context, notes, choice))
        return Result.of_lines("plan", lines, Summary(dict(clock.seconds), "", len(lines)))
    if not planned.writes:
        made = made_of(run.snapshot, None)
        if made.choice.counts is not None and notes is not None:
            notes.keep(made.choice.counts)
    elif run.change is None:
        raise ReadOnlyError("a query that writes was run on a graph that is opened read-only.")
    else:
        made = run.change(run.request, clock, changed)
    context = made.context
    warnings = _warnings(planned, context)
    if context.handled > LARGE and not planned.writes and made.choice.bound is None:
        warning = f"{context.handled:,} rows went through Python, which is slow: {made.why}"
        warnings = (*warnings, warning)
    summary = Summary(
        clock.seconds,
        "cpu",
        len(made.answer),
        context.embeddings,
        bytes_read=clock.usage.bytes_read,
        effects=context.graph.effects if planned.writes else None,
        evaluator="duckdb" if isinstance(made.answer, ColumnAnswer) else "rows",
        why=made.why,
    )
    if planned.profile:
        from gdb.run.plan_tree import operator_lines, ran_lines

        lines = [*operator_lines(context, planned, made.choice), *ran_lines(context, summary)]
        return Result.of_lines("plan", lines, replace(summary, rows=len(lines)))
    return Result(made.answer, warnings=warnings, summary=summary)


def _warnings(planned: Planned, context: RowContext) -> tuple[str, ...]:
    """Of the text, and of what happened while it ran, each once."""
    return tuple(dict.fromkeys((*planned.warnings, *context.options.lost)))


@dataclass(frozen=True, slots=True)
class _Operated:
    """why : of rows, and of what failed over columns."""

    answer: ColumnAnswer | RowAnswer
    context: RowContext
    choice: Choice
    why: str


class _Notes:
    """What runs over a snapshot found of a query that reads, kept for the next ones.

    why : it is not one pattern and its tail. refused : whether it is known already that not all of it is for columns.
    """

    def __init__(self, run: QueryRun, refusal: Refusal) -> None:
        self._of = key_of(run.request), run.snapshot
        self._statements, self._lasting = run.statements, refusal.lasting
        self._values = bool(run.request.parameters)
        known = self._statements.refusal(*self._of) if refusal.always else None
        self.why = refusal.why if known is None else known.why
        self.refused = refusal.columns if known is None else known.columns

    def refuse(self, why: str) -> None:
        """Keep why not all of it runs over columns, whatever the values of its parameters."""
        if self._lasting:
            self._statements.refuse(*self._of, Refusal(why, columns=True))

    @property
    def counts(self) -> Counts | None:
        """That it begins with, where they are kept; they are not where it has parameters."""
        return None if self._values else self._statements.counts(*self._of)

    def keep(self, counts: Counts) -> None:
        """Keep the counts that it begins with."""
        if not self._values:
            self._statements.keep_counts(*self._of, counts)


# ---- which way -----------------------------------------------------------------------------------


def is_small(snapshot: Snapshot) -> bool:
    """Whether rows are faster than a chain begins."""
    return snapshot.vertex_count + snapshot.edge_count < SMALL


def _chosen(
    planned: Planned, context: RowContext, notes: _Notes | None, few: bool = True
) -> Choice:
    """notes : None where it writes. few : whether it may be bounded."""
    plan, snapshot = planned.plan, context.graph.snapshot
    why = planned.refusal.why if notes is None else notes.why
    if WAY == "rows":
        return Choice(None, None, f"{why}; no operator may run over columns")
    small = is_small(snapshot) and WAY is None
    bounded = _bounded(planned, context, small) if few and WAY is None else None
    if (bounded is None or _walks(context, plan)) and WAY is None and notes is not None:
        counts = _counts(context, plan, notes.counts)
        if counts is not None:
            return Choice(None, None, f"{why}; it begins with counts", counts=counts)
    if bounded is None and few and not small and WAY is None:
        from gdb.physical.engine_loading import bound_of_plan

        bounded = bound_of_plan(context, plan)
    if bounded is not None:
        batch = BATCH if planned.writes and _is_batch(context, plan) else None
        return Choice(None, None, f"{why}; {_few(bounded)}", bounded, arrays=batch)
    if notes is None:
        why = f"{why}, and it writes"
    elif notes.refused:
        pass
    elif small and not _makes_rows(plan):
        size = snapshot.vertex_count + snapshot.edge_count
        why = f"{why}; with {size:,} nodes and relationships the graph is small"
    else:
        from gdb.physical.columns.chain_compilation import NotForColumns, compiled

        found = compiled(context, plan, context.plain)
        if not isinstance(found, NotForColumns):
            return Choice(found, None, why)
        why = f"{why}; over columns it is refused: {found.why}"
        notes.refuse(why)
    first = None
    if not small:
        from gdb.physical.columns.prefix import prefix

        first = prefix(context, plan, context.plain)
    arrays = None
    if planned.writes and first is None and len(plan.sides) == 1:
        if WAY is not None:
            arrays = 0
        elif not small or _is_batch(context, plan):
            arrays = BATCH
    return Choice(None, first, why, arrays=arrays)


def _instead(
    planned: Planned, context: RowContext, notes: _Notes | None, choice: Choice
) -> Choice | None:
    """How a run goes on that meets more rows than its bound, for EXPLAIN; None for one without a bound."""
    if choice.bound is None or choice.bound.expected is not None:
        return None
    return _chosen(planned, context, notes, few=False)


def _bounded(planned: Planned, context: RowContext, small: bool) -> Bound | None:
    """The bound of rows, where few are sure or known to be expected; None for another choice. small : the graph is."""
    found = planned.refusal.bound
    if found is not None or small:
        return found
    from gdb.physical.rows.anchored import begins_with_few, few_suffice
    from gdb.physical.rows.bound import Bound
    from gdb.physical.rows.row_run import MOST_FOUND, MOST_ROWS

    few = begins_with_few(context, planned.plan) or few_suffice(context, planned.plan)
    return Bound(MOST_ROWS, MOST_FOUND) if few else None


def _walks(context: RowContext, plan: Plan) -> bool:
    """Whether a plan begins with paths, which are counted sooner than listed."""
    first = plan.sides[0][0] if plan.sides[0] else None
    return isinstance(first, Match) and bool(context.pattern(first).long)


def _few(bound: Bound) -> str:
    """Why the rows are bounded."""
    if bound.expected is None:
        return "it begins with few rows, or these are enough"
    return f"about {bound.expected:,.0f} rows are expected, and DuckDB is not loaded yet"


def _is_batch(context: RowContext, plan: Plan) -> bool:
    """Whether a plan begins with the items of a list that may be many enough for arrays."""
    first = plan.sides[0][0]
    if len(plan.sides) > 1 or not isinstance(first, Unwind):
        return False
    match first.list:
        case Parameter(name=name):
            items = context.plain.get(name)
            return isinstance(items, list) and len(items) > BATCH
        case ListLiteral(items=several):
            return len(several) > BATCH
    return isinstance(first.list, Call)


def _counts(context: RowContext, plan: Plan, known: Counts | None) -> Counts | None:
    """The counts that a plan begins with. known : of an earlier run."""
    from gdb.physical.counts import counts_of  # here: one of several ways

    if known is not None and known.plan is plan:
        return known
    return counts_of(context, plan)


def _makes_rows(plan: Plan) -> bool:
    """Whether UNWIND makes rows of a call or a parameter, many perhaps."""
    return any(
        isinstance(operator, Unwind) and isinstance(operator.list, (Call, Parameter))
        for operators in plan.sides
        for operator in operators
    )


# ---- run -----------------------------------------------------------------------------------------


def _tried(
    run: QueryRun,
    planned: Planned,
    snapshot: Snapshot,
    changes: Changes | None,
    notes: _Notes | None,
    few: bool,
) -> _Operated | None:
    """few : whether the run may be bounded; None where it met more rows."""
    from gdb.physical.rows.row_run import TooMany  # here: one of several ways

    context = _context(run, planned, snapshot, changes)
    try:
        choice = run.clock.step("plan", lambda: _chosen(planned, context, notes, few))
        if planned.profile and planned.writes:
            from gdb.run.plan_tree import estimates

            context.estimates = estimates(context, planned.plan, choice)
        if choice.bound is not None and choice.bound.expected is None:
            # a few rows, which the collector soon goes through
            return _run(run, planned, context, choice)
        with garbage.rarely():
            try:
                made = _run(run, planned, context, choice)
                if choice.bound is not None:
                    from gdb.physical.engine_loading import spend

                    spend(time.monotonic() - run.clock.begun)
                return made
            finally:  # else the collector goes through rows and elements once more
                context.graph.release()
    except TooMany:
        return None
    finally:
        context.graph.release()


def _run(run: QueryRun, planned: Planned, context: RowContext, choice: Choice) -> _Operated:
    clock = run.clock
    if choice.columns is not None:
        from gdb.physical.columns.chain_run import try_chain  # here: one of several ways

        chain = choice.columns
        found = clock.step("run", lambda: try_chain(context, chain))
        if not isinstance(found, GdbError):
            limits.check_rows(len(found))
            answer = ColumnAnswer(found, context.graph.snapshot)
            return _Operated(answer, context, choice, choice.why)
        choice = _without_columns(context, choice, found)
    with context.allowance, not_too_deep():
        over_rows, choice = clock.step("run", lambda: _ran(context, planned.plan, choice))
        rows = clock.step("tail", lambda: user_rows(over_rows))
    known = run.request, planned, context.graph.snapshot
    made = RowAnswer(over_rows.columns, rows, kinds_of(*known, over_rows.columns, rows))
    return _Operated(made, context, choice, choice.why)


def _without_columns(context: RowContext, choice: Choice, failed: GdbError) -> Choice:
    """The choice of rows for what columns failed at. What they did is not the run's."""
    _meter(context)
    return Choice(None, None, f"{choice.why}; over columns it failed: {failed.message}")


def _meter(context: RowContext) -> None:
    """Begin to measure, where PROFILE needs it."""
    profile = context.options.profile
    if profile is not None:
        from gdb.physical.meter import Meter  # here: only PROFILE needs it

        context.meter = Meter(profile, context.allowance)


def _ran(context: RowContext, plan: Plan, choice: Choice) -> tuple[RowsAnswer, Choice]:
    """The answer over rows, and how it was come by."""
    from gdb.physical.rows.row_run import run_over_rows as rows_of  # here: one of several ways

    if choice.counts is not None:
        return _counted(context, plan, choice.counts), choice
    if choice.first is not None:
        from gdb.physical.columns.prefix import run_prefix

        start = run_prefix(context, choice.first)
        if not isinstance(start, GdbError):
            return rows_of(context, choice.first.rest, start, choice.bound), choice
        choice = _without_columns(context, choice, start)
    return rows_of(context, plan, None, choice.bound, choice.arrays), choice


def _counted(context: RowContext, plan: Plan, counts: Counts) -> RowsAnswer:
    """The answer that begins with counts."""
    from gdb.physical.rows.batches import Batches  # here: one of several ways
    from gdb.physical.rows.row_run import run_over_rows as rows_of

    if context.meter is None:
        row = counts.row(context)
    else:
        own = context.meter.operator(counts.aggregate)
        with context.meter.during(own):
            row = counts.row(context)
        own.rows = 1
    return rows_of(context, counts.rest, Batches(counts.names, iter([[row]])))


def user_rows(found: RowsAnswer) -> list[Values]:
    """The rows for the user. Lists and maps are copied, so that what the result takes counts twice."""
    from gdb.physical.rows.values import UserValues  # here: columns need no values in Python

    if not found.rows:
        return []
    users, turn = UserValues(), Growing(here(), "the result").turn
    made: list[Values] = []
    for row in found.rows:
        made.append(tuple([users.cell(value) for value in row]))
        turn(made)
    return made


class not_too_deep:  # used in `with`, as a function would be
    """Names what ended in Python's recursion: values may be nested as deep as a query makes them."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and issubclass(kind, RecursionError):
            raise LimitExceeded(
                "a value of the query is nested too deeply.",
                "Put its parts side by side in one list.",
            ) from None


def _context(
    run: QueryRun, planned: Planned, snapshot: Snapshot, changes: Changes | None
) -> RowContext:
    # here: pipelines of one pattern never come here
    from gdb.physical.rows.object_graph import Graph
    from gdb.physical.rows.run_context import RowContext
    from gdb.physical.rows.values import taken

    request = run.request
    profile = executor.Profile(loops=True) if planned.profile else None
    made = RowContext(
        request.text,
        {name: taken(value) for name, value in request.parameters.items()},
        request.parameters,
        request.mode,
        run.options(profile),
        run.allowance(planned.writes),
        import_root=request.import_root,
        procedures=request.procedures,
        kept=planned.kept,
        shown=planned.explain or planned.profile,
    )
    made.graph = Graph(snapshot, changes, request.text)
    _meter(made)
    return made
