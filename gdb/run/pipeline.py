"""The way of a query through the rooms: parse -> bind -> plan -> run -> tail -> Result (docs/onboarding.md)."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from gdb import limits
from gdb.answer.device_columns import DeviceColumns
from gdb.answer.result import Result
from gdb.answer.rows import ColumnAnswer, NumberedAnswer
from gdb.answer.summary import Evaluator, Summary
from gdb.base import garbage
from gdb.errors import DeviceError, InternalError, NotSupported, PlacedError, QueryError
from gdb.executor import run as executor
from gdb.executor.choose_device import begin, choose
from gdb.executor.device_names import AUTO, CPU
from gdb.executor.relational import relational_tail
from gdb.imports import deferred
from gdb.physical import counting, one_pattern
from gdb.records import replace
from gdb.run.query_cache import answer_computed, by_shape
from gdb.run.request import Clock, QueryRun, Request
from gdb.run.statements import Refusal, Statement, key_of

if TYPE_CHECKING:
    from gdb.executor.plan.embeddings import Embeddings
    from gdb.executor.plan.plan import Plan
    from gdb.executor.relational import top_rows
    from gdb.executor.relational.arrow import Array
    from gdb.executor.relational.relational_tail import Tail
    from gdb.language.clauses import Query
    from gdb.logical.operators import Names
    from gdb.physical.binder import BoundQuery
    from gdb.physical.rows.bound import Bound
    from gdb.physical.rows.row_tail import FewRows, RowTails
    from gdb.query_graph import QueryGraph
    from gdb.run import rows_first
    from gdb.run.columns_or_rows import Planned
    from gdb.run.pattern_tree import Finish
    from gdb.storage.graph.adjacency import I64
    from gdb.storage.graph.snapshot import Snapshot
else:
    rows_first = deferred("gdb.run.rows_first")
    top_rows = deferred("gdb.executor.relational.top_rows")

_log = logging.getLogger("gdb")
AGAIN = 200_000
"""Embeddings up to which a query that failed over columns is run again over rows, some seconds perhaps."""


def answer(run: QueryRun) -> Result:
    """Run a query; one that begins with EXPLAIN gives its plan instead, with PROFILE its plan and what the run did.
    Raises GdbError: SyntaxProblem, NameProblem, TypeProblem, NotSupported, Cancelled, QueryTimeout, OutOfBudget,
    DeviceError."""
    asked = run.request
    with run.clock:
        if not asked.parameters:
            with suppress(PlacedError):  # as it is written, so that its error shows the place there
                if (shaped := by_shape(asked, run.statements.cache)) is not None:
                    run.request = shaped
                    if not ((found := answer_computed(run, _answer)).warnings and shaped.plain):
                        return found
                    run.statements.cache.run_as_written(asked.text)  # a warning shows what is
            run.request = asked
        return answer_computed(run, _answer)


def _answer(run: QueryRun) -> Result:
    prepared = run.statements.cache.prepared(run.request)
    if prepared is not None and prepared.changes:  # it sees the graph of its transaction
        return _prepared_answer(run, prepared)
    with run.snapshot.reading():
        return _read(run) if prepared is None else _prepared_answer(run, prepared)


def _prepared_answer(run: QueryRun, prepared: Planned) -> Result:
    from gdb.run.columns_or_rows import answer_by_operators  # here: one of two ways

    found = answer_by_operators(run, prepared)
    request, cache = run.request, run.statements.cache
    over_rows = prepared.changes or found.summary.evaluator == "rows"
    if over_rows and request.plain and cache.is_to_be_bound(request.text):
        from gdb.run.bound_rows import bound_rows  # here: only texts that come again need it

        cache.keep_bound(request.text, bound_rows(request, prepared, found.summary.why, cache))
    return found


def _read(run: QueryRun) -> Result:
    """The answer over the snapshot of a run."""
    request, statements = run.request, run.statements
    known = statements.find(key := key_of(request), run.snapshot)
    if known is None:
        with garbage.rarely():  # modules, trees and plans are made, and stay
            return _first(run, key)
    try:
        statement = _with_values(run, known)
    except QueryError as failed:
        return _again(run, failed)
    result = _result(run, statement)
    if statement.passing:
        return result
    if statement is not known:
        statements.keep(key, run.snapshot, statement)
    _bind(run, statement)
    return result


def _bind(run: QueryRun, statement: Statement) -> None:
    """Bind a statement whose text came before to the snapshot in which it ran."""
    text, snapshot, statements = run.request.text, run.snapshot, run.statements
    if run.request.plain and run.run is None and statements.is_to_be_bound(text, snapshot):
        if statement.selects and rows_first.ready_row_tails(statement) is None:
            return
        # here: only texts that come again need it
        from gdb.run.bound_statement import bound_statement

        made = bound_statement(statement, run.request.parameters, snapshot, statements.moved)
        statements.keep_bound(text, snapshot, made)


def _result(run: QueryRun, statement: Statement) -> Result:
    return run_statement(run, statement) if run.run is None else run.run(run, statement)


def _first(run: QueryRun, key: Hashable) -> Result:
    """The answer to a text without a kept statement."""
    begin(run.request.device)
    query = run.clock.step("parse", lambda: _parsed(run))
    if query.copying is not None:
        return _copied(run, query)
    refusal = run.statements.refusal(key, run.snapshot)
    if refusal is not None:
        return _by_operators(run, query, refusal)
    understood = _understood(run, query, first=True)
    if isinstance(understood, Refusal) and understood.bound is not None:
        from gdb.physical.rows.row_run import TooMany

        with suppress(TooMany):
            return _by_operators(run, query, understood)
        understood = _understood(run, query)
    if isinstance(understood, Refusal):
        return _by_operators(run, query, understood)
    statement = Statement.of(*understood)
    if query.explain:
        from gdb.run.pattern_tree import explain_lines  # here: only EXPLAIN needs it

        lines = run.clock.step("explain", lambda: explain_lines(run, statement))
        return Result.of_lines("plan", lines, Summary(dict(run.clock.seconds), "", len(lines)))
    if query.profile:
        from gdb.run.pattern_tree import profile_statement  # here: only PROFILE needs it

        return profile_statement(run, statement, partial(run_statement, run))
    result = _result(run, statement)
    run.statements.keep(key, run.snapshot, statement)
    _bind(run, statement)
    return result


def on_device(run: QueryRun) -> DeviceColumns:
    """Run a query whose answer is columns of ids, and leave them on the GPU that the request names.

    Raises
    ------
    GdbError : as `answer`; NotSupported where the answer is something else, TypeProblem where ids are strings.
    """
    device = run.request.device
    if device in (AUTO, CPU):
        raise DeviceError(
            f"columns on a GPU cannot be had with device={device!r}.",
            'Use device="cuda" or "cuda:N", or take the rows on the host: execute().',
        )
    with run.clock, run.snapshot.reading():
        return _on_device(run)


def _on_device(run: QueryRun) -> DeviceColumns:
    from gdb.run.picked_columns import picked_columns

    request, snapshot, clock = run.request, run.snapshot, run.clock
    key = key_of(request)
    known = run.statements.find(key, snapshot)
    if known is None:
        query = clock.step("parse", lambda: _parsed(run))
        understood = _understood(run, query)
        if isinstance(understood, Refusal):
            raise NotSupported(
                f"the columns of this query cannot stay on a GPU: {understood.why}.",
                "Use execute().",
            )
        if query.explain or query.profile:
            raise NotSupported("a plan is no column of ids.", "Use execute() or explain().")
        statement = Statement.of(*understood)
    else:
        statement = _with_values(run, known)
    plan, tail = statement.plan, statement.tail
    picks = picked_columns(statement, snapshot)
    device = choose(plan, request.device, snapshot).device
    profile = executor.Profile()
    options = run.options(profile)
    found = clock.step(
        "run",
        lambda: executor.columns_on_gpu(
            plan, snapshot, options, tail.wanted, picks, _most_rows(tail), statement.bindings
        ),
    )
    if statement is not known:
        run.statements.keep(key, snapshot, statement)
    rows = found[0].shape[0]
    limits.check_rows(rows)
    summary = Summary(
        *(clock.seconds, device, rows, rows, profile.kernel_seconds, profile.moved_bytes),
        bytes_read=clock.usage.bytes_read,
    )
    names = [output.name for output in tail.outputs]
    columns = dict(zip(names, found, strict=True))
    return DeviceColumns(columns, _warnings(statement.bound, plan), summary)


def explain_query(run: QueryRun) -> str:
    """The plan of a query as text, whether or not it begins with EXPLAIN."""
    with run.clock, run.snapshot.reading():
        return answer_computed(run, _explained)


def _explained(run: QueryRun) -> str:
    query = _parsed(run)
    if query.copying is not None:
        return _lines_of(_copied(run, replace(query, explain=True)))
    understood = _understood(run, query, first=True)
    if isinstance(understood, Refusal):
        return _lines_of(_by_operators(run, replace(query, explain=True), understood))
    from gdb.run.pattern_tree import explain_lines  # here: only EXPLAIN needs it

    return "\n".join(explain_lines(run, Statement.of(*understood)))


def _copied(run: QueryRun, query: Query) -> Result:
    if run.copy is None:
        raise InternalError("COPY was run where nothing can be copied.")
    return run.copy(run, query)


def _lines_of(plan: Result) -> str:
    return "\n".join(str(line) for (line,) in plan)


def _parsed(run: QueryRun) -> Query:
    """The query; the run has its long lists of constants as parameters from now on."""
    query, request = run.statements.cache.parsed(run.request.text, run.clock.check), run.request
    if query.constants:
        run.request = replace(request, parameters={**request.parameters, **query.constants})
    return query


def _understood(
    run: QueryRun, query: Query, first: bool = False
) -> tuple[BoundQuery, Plan] | Refusal:
    """The query as one pattern and its relational tail, and its plan; or why it is none. first : it may run over rows
    instead, while the relational engine is not loaded."""
    from gdb.physical.binder import BoundQuery, bind_or_bound  # `import gdb` stays light

    request, snapshot, clock, cache = run.request, run.snapshot, run.clock, run.statements.cache
    if query.copying is not None:
        return Refusal("it imports files")
    warnings = _checked(run, query)
    logical = clock.step("plan", lambda: cache.planned(query, request.procedures, request.mode))
    pattern = cache.one_pattern(query, logical, request.mode)
    if pattern is None:
        return Refusal(one_pattern.why_none(logical), always=True)

    def weigh(graph: QueryGraph, elements: Names) -> Bound | None:
        return rows_first.bound(run, pattern, graph, elements) if first else None

    arguments = pattern, snapshot, request.parameters, request.mode
    try:
        bound = clock.step("bind", lambda: bind_or_bound(*arguments, weigh))
    except QueryError as refused:
        # rows may do it all the same
        lasting = isinstance(refused, NotSupported)
        why = f"it does not compile as one pattern: {refused.message}"
        return Refusal(why, lasting, always=lasting and pattern.refused_by_text)
    if not isinstance(bound, BoundQuery):
        return rows_first.refusal(run, pattern, bound)
    warnings = (*_schema_warnings(run, query), *warnings)
    if warnings:
        bound = replace(bound, warnings=warnings)
    run.copy_ahead(bound.graph, runs=not query.explain)
    plan = clock.step("plan", lambda: _planned(request, bound, snapshot))
    return bound, plan


def _by_operators(run: QueryRun, query: Query, refusal: Refusal) -> Result:
    """Operator by operator: over columns, where that is possible, else over rows.

    refusal : it is not one pattern and its tail.
    """
    from gdb.logical.operators import writes  # here: one of two ways
    from gdb.run.columns_or_rows import Planned, answer_by_operators

    request, statements = run.request, run.statements
    schema = _schema_warnings(run, query)
    if schema:  # they show what is written, and another graph may have the names
        statements.cache.run_as_written(request.text)
    warnings = (*schema, *_checked(run, query))
    known = query, request.procedures, request.mode
    plan = run.clock.step("plan", lambda: statements.cache.planned(*known))
    patterns = statements.cache.patterns(query, plan, request.mode)
    flags = query.explain, query.profile
    planned = Planned(plan, writes(plan), refusal, warnings, *flags, kept=patterns)
    if refusal.always and not schema:
        statements.cache.prepare(request, query, planned)
    elif refusal.lasting and not refusal.columns:
        statements.refuse(key_of(request), run.snapshot, refusal)
    return answer_by_operators(run, planned)


def _checked(run: QueryRun, query: Query) -> tuple[str, ...]:
    """The warnings of a query. Raises what is wrong with it."""
    request, clock = run.request, run.clock
    known = (query, request.parameters, request.procedures, request.mode, clock.check)
    return clock.step("bind", lambda: run.statements.cache.checked(*known))


def _schema_warnings(run: QueryRun, query: Query) -> tuple[str, ...]:
    """What a query names beside what the graph has."""
    from gdb.language.checks.schema_warnings import warnings_of  # here: kept with the text

    request, snapshot = run.request, run.snapshot
    find = partial(warnings_of, query, snapshot, request.parameters)
    cache = run.statements.cache
    return cache.schema_warnings(query, key_of(request), snapshot.schema, find)


def _again(run: QueryRun, failed: QueryError) -> Result:
    """The answer over rows, where columns failed at a value: their evaluator decides whether that is an error, and
    knows the place."""
    why = f"over columns it failed: {failed.message}"
    return _by_operators(run, _parsed(run), Refusal(why, lasting=False))


def _planned(request: Request, bound: BoundQuery, snapshot: Snapshot) -> Plan:
    from gdb.planner import plan as make_plan  # here: kept statements are not planned again
    from gdb.planner.structure import EFFORT

    tail = bound.tail
    if tail.once is None:
        make = partial(make_plan, bound.graph, snapshot, counting=tail.count_only)
        if request.timeout is not None:  # a search is no reason to be late
            longest = min(EFFORT.longest, request.timeout / 4)
            make = partial(make, effort=replace(EFFORT, longest=longest))
        listed = make(few=tail.row_limit is not None)
        root = tail.tallied_vertex
        if root is None:
            return listed
        return counting.tally_plan(bound.graph, snapshot, listed.notes.estimates, root) or listed
    # one row of each value is enough, whichever; twins would have to be written out first
    off = frozenset({"symmetry"})
    return make_plan(bound.graph, snapshot, counting=False, switched_off=off)


def _with_values(run: QueryRun, known: Statement) -> Statement:
    """The kept statement, for the values of this request."""
    request = run.request
    if not request.parameters:
        return known

    def plan(changed: BoundQuery) -> Plan:
        return _planned(request, changed, run.snapshot)

    values = {**known.values, **request.parameters}  # with the constants of the text
    return run.clock.step("bind", lambda: known.with_values(values, plan))


def run_statement(
    run: QueryRun,
    statement: Statement,
    profile: executor.Profile | None = None,
    finish: Finish = relational_tail.finish,
) -> Result:
    """The result of a statement. finish : makes it of what was gathered. Raises as `answer`."""
    request, snapshot, clock = run.request, run.snapshot, run.clock
    plan, tail = statement.plan, statement.tail
    if request.device not in (AUTO, CPU):
        choose(plan, request.device)  # refuses what is not there, also where nothing runs
    options = run.options(profile)
    selects = profile is None and statement.selects
    few = rows_first.ready_row_tails(statement) if selects else None
    begun = clock.begin()
    parts, embeddings, numbers = _matched(statement, snapshot, options, few)
    clock.end("run", begun)
    warnings = (*_warnings(statement.bound, plan), *options.lost)
    if few is not None and not isinstance(parts, (int, list)):
        from gdb.run.options import half_of_memory  # here: only patterns of few embeddings need it

        begun = clock.begin()
        memory = half_of_memory() if request.memory is None else request.memory
        rows = few.run(parts, statement.values, memory, request.cancel, clock.deadline)
        clock.end("tail", begun)
        limits.check_rows(len(rows))
        summary = partial(_summary, clock, options, len(rows), embeddings, "rows")
        numbered = NumberedAnswer(tail.outputs, rows, snapshot)
        return Result(numbered, warnings=warnings, summary=summary)
    if isinstance(parts, int):
        answer = relational_tail.finish(tail, parts)
    else:
        try:
            begun = clock.begin()
            answer = finish(
                tail,
                parts,
                numbers=numbers,
                memory=request.memory,
                cancel=request.cancel,
                deadline=clock.deadline,
            )
            clock.end("tail", begun)
        except QueryError as failed:
            if embeddings > AGAIN and not isinstance(failed, NotSupported):
                from gdb.language.suspects import locate_failure  # here: only errors come here

                raise locate_failure(_parsed(run), failed) from None
            return _again(run, failed)
    limits.check_rows(len(answer))
    summary = partial(_summary, clock, options, len(answer), embeddings, "duckdb")
    return Result(ColumnAnswer(answer, snapshot), warnings=warnings, summary=summary)


def _matched(
    statement: Statement, snapshot: Snapshot, options: executor.Options, few: RowTails | None
) -> tuple[list[Array] | FewRows | int, int, I64 | None]:
    """What the executors find: a number, or the columns that the tail needs in parts, or few rows for `few`; the number
    of embeddings; where rows represent several of them, how many each."""
    plan, tail, bindings = statement.plan, statement.tail, statement.bindings
    if tail.count_only:
        if tail.once is None:
            number = counting.count_plan(plan, statement.bound.graph, snapshot, options, bindings)
        else:
            number = executor.count_distinct(plan, snapshot, options, tail.once, bindings)
        return number, number, None
    if tallied := counting.tallied(plan, tail, statement.bound, snapshot, options, bindings):
        some, numbers = tallied
        return [relational_tail.part(tail, some, snapshot)], int(numbers.sum()), numbers

    def part(some: Embeddings) -> Array:
        return relational_tail.part(tail, some, snapshot)

    start: FewRows | None = None

    def take_few(parts: Sequence[Embeddings]) -> bool:
        nonlocal start
        start = None if few is None else few.starts(parts)
        return start is not None

    spill = None if tail.direct is not None else relational_tail.filed_part
    size_of = partial(relational_tail.held_bytes, tail)
    first = tail.first
    begin_pick = None if first is None else lambda: top_rows.TopRows(first, snapshot).pick
    how = tail.wanted, part, _most_rows(tail), bindings, spill, take_few, size_of, begin_pick
    found = executor.rows(plan, snapshot, options, *how)
    return found.parts if start is None else start, found.rows, None


def _summary(
    clock: Clock, options: executor.Options, rows: int, embeddings: int, evaluator: Evaluator
) -> Summary:
    """The summary of a run of a statement, made when it is read."""
    kept = None if options.ran == "cpu" else options.profile
    gpu = (0.0, 0) if kept is None else (kept.kernel_seconds, kept.moved_bytes)
    return Summary(
        *(clock.seconds, options.ran, rows, embeddings, *gpu),
        evaluator=evaluator,
        bytes_read=clock.usage.bytes_read,
    )


def _most_rows(tail: Tail) -> int | None:
    """How many rows the executor has to give at most; where each is one of the result, one more than it may have is
    enough to refuse it."""
    most = limits.rows()
    if most is None or tail.direct is None:
        return tail.row_limit
    return most + 1 if tail.row_limit is None else min(most + 1, tail.row_limit)


def _warnings(bound: BoundQuery, plan: Plan) -> tuple[str, ...]:
    if not bound.warnings and not plan.notes.warnings:
        return ()
    return tuple(dict.fromkeys((*bound.warnings, *plan.notes.warnings)))
