"""The way of a reading query of several clauses over columns (`gdb.chain`), where that is possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gdb import limits
from gdb.errors import GdbError, QueryError
from gdb.language.printer import clause_text
from gdb.result import ColumnAnswer, Result
from gdb.summary import Summary, spent_lines

if TYPE_CHECKING:
    from gdb.chain.steps import Chain
    from gdb.language.clauses import Query
    from gdb.request import Clock, Request
    from gdb.rows.context import Context
    from gdb.storage.snapshot import Snapshot

ONLY_ROWS = False
"""Whether no clause runs over columns: rows are the definition that tests compare with."""
SMALL = 2_000
"""Below so many nodes and relationships rows are faster: a chain takes some milliseconds before it begins."""


def answered(
    request: Request,
    query: Query,
    snapshot: Snapshot,
    clock: Clock,
    why: str,
    checked: Callable[[], tuple[str, ...]],
    refuse: Callable[[str], None],
) -> Result | str:
    """The answer of a query (its plan for EXPLAIN), or why it is to run over rows.

    why : it is not one pattern and its tail. checked : gives the warnings of the query, or raises what is wrong with
    it. refuse : is given why it runs over rows, whatever the values of its parameters.

    Raises
    ------
    GdbError : what is wrong with the query; Cancelled, QueryTimeout, OutOfBudget, DeviceError.
    """
    from gdb.rows.run import writes

    if writes(query):
        return f"{why}, and it writes"
    if ONLY_ROWS:
        return f"{why}; no clause may run over columns"
    if is_small(snapshot) and not _makes_rows(query):
        size = snapshot.vertex_count + snapshot.edge_count
        return f"{why}; with {size:,} nodes and relationships the graph is small"
    from gdb.chain.compile import compiled
    from gdb.chain.run import attempted
    from gdb.logical import improved

    warnings = checked()
    context = _context(request, snapshot, clock)
    try:
        chain = clock.step(
            "plan", lambda: compiled(context, improved(query, request.mode), request.parameters)
        )
    except QueryError as refused:
        why = f"{why}; over columns it is refused: {refused.message}"
        refuse(why)
        return why
    if query.explain:
        lines = [*plan_lines(query, chain, why), *(f"warning: {text}" for text in warnings)]
        return Result.of_lines("plan", lines, Summary(dict(clock.seconds), "", len(lines)))
    found = clock.step("run", lambda: attempted(context, chain, request.memory, query.profile))
    if isinstance(found, GdbError):
        return f"{why}; over columns it failed: {found.message}"
    answer = found.answer
    limits.check_rows(len(answer))
    summary = Summary(
        *(clock.seconds, "cpu", len(answer), context.embeddings),
        bytes_read=clock.usage.bytes_read,
        evaluator="duckdb",
        why=why,
    )
    if query.profile:
        lines = [*plan_lines(query, chain, why), *found.lines, *spent_lines(summary)]
        return Result.of_lines("plan", lines, replace(summary, rows=len(lines)))
    every = tuple(dict.fromkeys((*warnings, *chain.warnings)))
    return Result(ColumnAnswer(answer, snapshot), warnings=every, summary=summary)


def is_small(snapshot: Snapshot) -> bool:
    """Whether rows are faster than a chain begins."""
    return ONLY_ROWS or snapshot.vertex_count + snapshot.edge_count < SMALL


def _makes_rows(query: Query) -> bool:
    """Whether UNWIND makes rows of a call or a parameter, many perhaps."""
    from gdb.language.clauses import Unwind
    from gdb.language.syntax import Call, Parameter

    return any(
        isinstance(clause, Unwind) and isinstance(clause.list, (Call, Parameter))
        for clauses in query.parts
        for clause in clauses
    )


def _context(request: Request, snapshot: Snapshot, clock: Clock) -> Context:
    from gdb.allowance import Allowance
    from gdb.rows.context import Context
    from gdb.rows.graph import Graph

    return Context(
        request.text,
        Graph(snapshot),
        {},
        request.parameters,
        request.mode,
        request.options(clock.left()),
        Allowance(request.memory, clock.deadline, request.cancel),
    )


def plan_lines(query: Query, chain: Chain, why: str) -> Sequence[str]:
    """What EXPLAIN says of a chain."""
    from gdb.chain.steps import Few

    lines = [
        f"clause by clause, over columns (DuckDB): {why}",
        f"{len(chain.matched)} patterns matched, {len(chain.looked)} columns of elements looked up",
        *(f"{step.what}: {step.how}" for step in chain.matched),
        *(f"{step.what}: {step.how}" for step in chain.walked),
        *(
            f"no more is matched than LIMIT {step.enough:,} takes"
            for step in chain.steps
            if isinstance(step, Few)
        ),
    ]
    for number, clauses in enumerate(query.parts):
        if number:
            lines.append("UNION ALL" if query.all[number - 1] else "UNION")
        lines += [f"  {clause_text(clause)}" for clause in clauses]
    return lines
