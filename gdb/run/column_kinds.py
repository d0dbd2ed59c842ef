"""The kinds of columns of an answer over rows in which no row has a value: those that they would have over columns, so
that Arrow has the same types whatever the way (`gdb.answer.rows.RowAnswer`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from gdb.base.allowance import Allowance
from gdb.errors import ClosedError, QueryError
from gdb.executor.options import Options
from gdb.physical.rows.run_context import RowContext
from gdb.run.options import half_of_memory

if TYPE_CHECKING:
    from gdb.answer.rows import Kinds, Values
    from gdb.run.columns_or_rows import Planned
    from gdb.run.request import Request
    from gdb.storage.columns.model import Kind
    from gdb.storage.graph.snapshot import Snapshot


def kinds_of(
    request: Request,
    planned: Planned,
    snapshot: Snapshot,
    names: Sequence[str],
    rows: Sequence[Values],
) -> Kinds | None:
    """What finds the kinds of an answer's columns when they are needed; None where its values show all of them, or the
    query writes. names, rows : of the answer."""
    if planned.refusal.kinds is not None or planned.writes:
        return planned.refusal.kinds
    if all(any(map(_shows, (row[k] for row in rows))) for k in range(len(names))):
        return None
    return partial(_kinds, request, planned, snapshot, len(names))


def _shows(value: object) -> bool:
    """Whether a value shows the type of its column."""
    return value is not None and value != []


def _kinds(
    request: Request, planned: Planned, snapshot: Snapshot, count: int
) -> Sequence[Kind | None]:
    """The kinds that the columns have over columns; None for all where it does not run so, or the graph was closed."""
    from gdb.physical.columns.chain_compilation import NotForColumns, compiled
    from gdb.physical.rows.object_graph import Graph

    context = RowContext(
        *(request.text, {}, request.parameters, request.mode, Options()),
        Allowance(half_of_memory()),
        procedures=request.procedures,
    )
    try:
        with snapshot.reading():
            context.graph = Graph(snapshot, None, request.text)
            found = compiled(context, planned.plan, request.parameters)
    except (QueryError, ClosedError):
        return [None] * count
    if isinstance(found, NotForColumns):
        return [None] * count
    return [output.values if output.kind == "value" else None for output in found.outputs]
