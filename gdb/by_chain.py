"""The way of a reading query of several clauses over columns (`gdb.chain`), where that is possible."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gdb import limits
from gdb.errors import (
    Cancelled,
    CountOverflow,
    DeviceError,
    GdbError,
    OutOfBudget,
    QueryError,
    QueryTimeout,
)
from gdb.language.printer import clause_text
from gdb.result import ColumnAnswer, Result
from gdb.summary import Summary, spent_lines

if TYPE_CHECKING:
    from gdb.chain.steps import Chain
    from gdb.language.clauses import Query
    from gdb.request import Clock, Request
    from gdb.rows.context import Context
    from gdb.storage.snapshot import Snapshot

_log = logging.getLogger("gdb")
SMALL = 2_000
"""Below so many nodes and relationships rows are faster: a chain takes some milliseconds before it begins."""


def answered(
    request: Request, query: Query, snapshot: Snapshot, clock: Clock, why: str
) -> Result | str:
    """The answer of a query (its plan for EXPLAIN), or why it is to run over rows.

    why : it is not one pattern and its tail.

    Raises
    ------
    GdbError : what is wrong with the query; Cancelled, QueryTimeout, OutOfBudget, DeviceError.
    """
    from gdb.rows.run import writes

    if writes(query):
        return f"{why}, and it writes"
    size = snapshot.vertex_count + snapshot.edge_count
    if size < SMALL and not _makes_rows(query):
        return f"{why}; with {size:,} nodes and relationships the graph is small"
    from gdb.chain.compile import compiled
    from gdb.chain.run import ran
    from gdb.language.checks import check

    warnings = clock.step(
        "bind", lambda: check(query, request.parameters, request.procedures, clock.check)
    )
    context = _context(request, snapshot, clock)
    try:
        chain = clock.step("plan", lambda: compiled(context, query, request.parameters))
    except QueryError as refused:
        return f"{why}; over columns it is refused: {refused.message}"
    if query.explain:
        lines = [*plan_lines(query, chain, why), *(f"warning: {text}" for text in warnings)]
        return Result.of_lines("plan", lines, Summary(dict(clock.seconds), "", len(lines)))
    try:
        found = clock.step("run", lambda: ran(context, chain, request.memory, query.profile))
    except (Cancelled, QueryTimeout, OutOfBudget, DeviceError, CountOverflow):
        raise
    except GdbError as error:
        _log.info("a chain gave up: %s", error)
        return f"{why}; over columns it failed: {error.message}"
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
    from gdb.executor.run import Options
    from gdb.rows.context import Context
    from gdb.rows.graph import Graph

    options = Options(
        request.device, request.threads, request.memory, clock.left(), request.cancel, None
    )
    return Context(
        request.text,
        Graph(snapshot),
        {},
        request.parameters,
        request.mode,
        options,
        deadline=clock.deadline,
        cancel=request.cancel,
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
