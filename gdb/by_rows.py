"""The way of a query that is more than a pattern and its relational tail: clause by clause over rows (`gdb.rows`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from gdb import garbage
from gdb.allowance import Allowance, here
from gdb.errors import LimitExceeded, ReadOnlyError
from gdb.language.printer import clause_text
from gdb.options import half_of_memory
from gdb.result import Result, Row, RowAnswer
from gdb.summary import Summary, sentence, spent_lines
from gdb.values.sizes import Growing

if TYPE_CHECKING:
    from gdb.chain.prefix import Prefix
    from gdb.language.clauses import Query
    from gdb.request import Clock, Request
    from gdb.rows.batches import Batches
    from gdb.rows.context import Context
    from gdb.rows.run import Answer
    from gdb.storage.snapshot import Snapshot
    from gdb.storage.transaction import Changes

LARGE = 10_000
"""Rows from which on a query that reads says why it ran in Python."""
Change: TypeAlias = "Callable[[Request, Clock], AbstractContextManager[Changes]]"
"""The changes that a query makes. The end of the block keeps them; what it raises, as Cancelled, has kept nothing."""


def answered(
    request: Request,
    query: Query,
    snapshot: Snapshot,
    clock: Clock,
    why: str,
    warnings: tuple[str, ...],
    change: Change | None,
) -> Result:
    """Run a query over rows, which was checked.

    why : it is not one pattern and its tail. warnings : of the check. change : None where nothing may be written.

    Raises
    ------
    GdbError : as `pipeline.answer`; ReadOnlyError, StoreLocked, ChangeRefused where it writes.
    """
    from gdb.rows.run import writes

    memory = half_of_memory() if request.memory is None else request.memory
    allowance = Allowance(memory, clock.deadline, request.cancel)

    def run(snapshot: Snapshot, changes: Changes | None) -> tuple[Answer, Context, list[Row]]:
        context = _context(request, snapshot, changes, clock, allowance)
        try:
            with allowance, _not_too_deep(), garbage.rarely():
                found = clock.step("run", lambda: _ran(context, query, request))
                return found, context, clock.step("tail", lambda: _given(found))
        finally:
            context.graph.release()

    if not writes(query):
        found, context, rows = run(snapshot, None)
    elif change is None:
        raise ReadOnlyError("a query that writes was asked of a graph that is only read.")
    else:
        with change(request, clock) as changes:
            # all that can fail comes before the commit
            found, context, rows = run(changes.view, changes)
    if context.handled > LARGE and not writes(query):
        told = f"{context.handled:,} rows went through Python, which is slow: {why}"
        warnings = (*warnings, told)
    summary = Summary(
        clock.seconds,
        "cpu",
        len(rows),
        context.embeddings,
        bytes_read=clock.usage.bytes_read,
        effects=context.graph.effects if writes(query) else None,
        evaluator="rows",
        why=why,
    )
    if query.profile:
        plan = plan_lines(query, why, warnings, request, snapshot, clock)
        lines = [*plan, *_ran_lines(context, summary)]
        return Result.of_lines("plan", lines, replace(summary, rows=len(lines)))
    return Result(RowAnswer(found.columns, rows), warnings=warnings, summary=summary)


def _ran_lines(context: Context, summary: Summary) -> list[str]:
    """What PROFILE says of a run."""
    lines = [
        f"embeddings: {summary.embeddings:,}   rows: {summary.rows:,}"
        f"   rows into clauses: {context.handled:,}",
        *spent_lines(summary),
    ]
    return lines if summary.effects is None else [*lines, sentence(summary.effects)]


def _ran(context: Context, query: Query, request: Request) -> Answer:
    from gdb.rows.run import answered as rows_of

    return rows_of(context, *_begun(context, query, request))


def _given(found: Answer) -> list[Row]:
    """The rows for the user. Lists and maps are copied, so that what the result takes counts twice."""
    from gdb.rows.values import Given

    given, turn = Given(), Growing(here(), "the result").turn
    made: list[Row] = []
    for row in found.rows:
        made.append(tuple([given.cell(value) for value in row]))
        turn(made)
    return made


@contextmanager
def _not_too_deep() -> Iterator[None]:
    """Names what ended in Python's recursion: values may be nested as deep as a query makes them."""
    try:
        yield
    except RecursionError:
        raise LimitExceeded(
            "a value of the query is nested too deeply.", "Put its parts side by side in one list."
        ) from None


def _context(
    request: Request,
    snapshot: Snapshot,
    changes: Changes | None,
    clock: Clock,
    allowance: Allowance,
) -> Context:
    from gdb.rows.context import Context
    from gdb.rows.graph import Graph
    from gdb.rows.values import taken

    return Context(
        request.text,
        Graph(snapshot, changes, request.text),
        {name: taken(value) for name, value in request.parameters.items()},
        request.parameters,
        request.mode,
        request.options(clock.left()),
        allowance,
        import_root=request.import_root,
        procedures=request.procedures,
    )


def _prefix(context: Context, query: Query, request: Request) -> Prefix | None:
    """The clauses of a query, after its passes, that run over columns before the others run over rows."""
    from gdb.by_chain import is_small

    if is_small(context.graph.snapshot):
        return None
    from gdb.chain.prefix import prefix

    return prefix(context, query, request.parameters)


def _begun(context: Context, query: Query, request: Request) -> tuple[Query, Batches | None]:
    """What is left for rows of a query, and the rows that it begins with; None for one without names."""
    from gdb.logical import improved

    query = improved(query, request.mode)
    found = _prefix(context, query, request)
    if found is None:
        return query, None
    from gdb.chain.prefix import begun

    start = begun(context, found, request.memory)
    return (query, None) if start is None else (found.rest, start)


def plan_lines(
    query: Query,
    why: str,
    warnings: tuple[str, ...],
    request: Request,
    snapshot: Snapshot,
    clock: Clock,
) -> list[str]:
    """What EXPLAIN says of such a query."""
    from gdb.logical import improved

    lines = [f"clause by clause, over rows: {why}"]
    allowance = Allowance(None, clock.deadline, request.cancel)
    context = _context(request, snapshot, None, clock, allowance)
    first = _prefix(context, improved(query, request.mode), request)
    if first is None:
        lines += _clause_lines(query)
    else:
        lines += ["over columns (DuckDB):", *(f"  {clause_text(one)}" for one in first.clauses)]
        lines += [f"  {step.what}: {step.how}" for step in first.chain.matched]
        lines += [f"  {step.what}: {step.how}" for step in first.chain.walked]
        lines += ["over rows:", *_clause_lines(first.rest)]
    return [*lines, *(f"warning: {text}" for text in warnings)]


def _clause_lines(query: Query) -> list[str]:
    from gdb.rows.limiting import stops

    lines: list[str] = []
    for number, clauses in enumerate(query.parts):
        if number:
            lines.append("UNION ALL" if query.all[number - 1] else "UNION")
        lines += [f"  {clause_text(clause)}" for clause in clauses]
        if any(last is not None for last in stops(clauses)):
            lines.append("no more rows are made than LIMIT takes")
    return lines
