"""One pattern and its tail over rows: while the relational engine is not loaded (`gdb.physical.engine_loading`), and a
tail of few embeddings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from gdb.errors import ClosedError, QueryError
from gdb.executor.device_names import AUTO, CPU
from gdb.run.statements import Refusal, Statement

if TYPE_CHECKING:
    from gdb.logical.operators import Names
    from gdb.physical.one_pattern import OnePattern
    from gdb.physical.rows.bound import Bound
    from gdb.physical.rows.row_tail import RowTails
    from gdb.query_graph import QueryGraph
    from gdb.run.request import QueryRun, Request
    from gdb.storage.columns.model import Kind
    from gdb.storage.graph.snapshot import Snapshot

_TAILS = "gdb.physical.rows.row_tail"


def bound(run: QueryRun, pattern: OnePattern, graph: QueryGraph, elements: Names) -> Bound | None:
    """How many rows a query may have that runs over rows first; None where it runs as one pattern and its tail.

    graph : its pattern. elements : the names in it.
    """
    from gdb.physical.engine_loading import bound_of, left

    if not left() or run.request.device not in (AUTO, CPU):
        return None
    from gdb.run import columns_or_rows  # and what rows need with it

    if columns_or_rows.WAY is not None:
        return None
    return bound_of(graph, run.snapshot, elements, pattern.behind, pattern.names)


def refusal(run: QueryRun, pattern: OnePattern, bound: Bound) -> Refusal:
    """Why a query is not run as one pattern and its tail: it runs over so many rows."""
    why = "it is one pattern and what is made of its rows"
    kinds = partial(_kinds, run.request, pattern, run.snapshot)
    return Refusal(why, lasting=False, bound=bound, kinds=kinds)


def _kinds(request: Request, pattern: OnePattern, snapshot: Snapshot) -> Sequence[Kind | None]:
    """The kinds of the columns that the engine would give; None for all where the query turns out not to be for it, or
    the graph was closed."""
    from gdb.physical.binder import bind

    try:
        with snapshot.reading():
            tail = bind(pattern, snapshot, request.parameters, request.mode).tail
    except (QueryError, ClosedError):
        return [None] * len(pattern.names)
    return [output.values for output in tail.outputs]


def ready_row_tails(statement: Statement) -> RowTails | None:
    """The tail of a statement compiled for few embeddings; None where it has none, or that is not to be used."""
    if not statement.selects:
        return None
    ready = _TAILS in sys.modules or "duckdb" not in sys.modules
    if not ready and statement.plan.runs.latest is None:
        return None  # to load what rows need takes longer than a SELECT
    from gdb.run import columns_or_rows  # here: answers that need no SELECT do not need it

    return None if columns_or_rows.WAY == "columns" else statement.row_tails
