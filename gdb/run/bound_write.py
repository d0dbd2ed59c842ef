"""A statement that writes, bound to its text: what comes again with other values runs from `execute` straight through
its compiled operators (`gdb.physical.rows.row_statement`) to the commit.

Nothing in it belongs to a snapshot, for each write makes another one. A run that is not for it, as one with a list for
a parameter or one whose patterns take batches, gives None before it has changed anything, and goes the usual way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from gdb.answer.result import Result
from gdb.answer.rows import RowAnswer
from gdb.answer.summary import Summary
from gdb.base import usage
from gdb.base.allowance import Allowance
from gdb.physical.rows.object_graph import Graph
from gdb.physical.rows.row_statement import RowStatement, row_statement
from gdb.physical.rows.run_context import RowContext
from gdb.records import dataclass
from gdb.run import columns_or_rows
from gdb.run.columns_or_rows import not_too_deep, user_rows
from gdb.run.interrupt import Cancel
from gdb.run.options import half_of_memory
from gdb.run.parameters import checked_parameters
from gdb.run.request import Clock, Request

if TYPE_CHECKING:
    from gdb.query_graph import MatchMode
    from gdb.run.columns_or_rows import Planned
    from gdb.run.request import Change
    from gdb.storage.graph.snapshot import Snapshot
    from gdb.storage.write.transaction import Changes


@dataclass(slots=True, eq=False)
class BoundWrite:
    """See the module. names : of the parameters. why : the reason of its last run the usual way."""

    mode: MatchMode
    planned: Planned
    names: frozenset[str]
    statement: RowStatement
    why: str

    @property
    def look_up(self) -> None:
        """What a `BoundStatement` has: a write is more."""

    def run(
        self,
        do: Callable[[Callable[[], Result | None], threading.Event], Result | None],
        _: Callable[[], Snapshot],
        change: Change,
        parameters: Mapping[str, object] | None,
    ) -> Result | None:
        """The answer for parameters, which nothing has checked yet; None where this is not for them.

        do : does work that can be cancelled (`Work.do`). change : makes the changes of a query and commits them.

        Raises
        ------
        GdbError : as `columns_or_rows.answer_by_operators`.
        """
        values = checked_parameters(parameters)
        if values.keys() != self.names or columns_or_rows.WAY is not None or usage.is_noted():
            return None
        for value in values.values():
            if isinstance(value, (list, dict)):
                return None
        request = Request(self.statement.context.text, values, self.mode, Cancel())
        try:
            return do(partial(self._answer, change, request), request.cancel)
        except KeyboardInterrupt:  # it came when the answer was ready
            raise request.outcome.cancelled() from None

    def _answer(self, change: Change, request: Request) -> Result | None:
        clock = Clock(request.cancel, None)
        with clock:
            return change(request, clock, partial(self._changed, request, clock))

    def _changed(self, request: Request, clock: Clock, changes: Changes) -> Result | None:
        """The answer, its changes made but not committed. The writer's lock is held."""
        begun = clock.begin()
        context = self.statement.context
        context.options = request.options(None)
        context.allowance.cancel = request.cancel
        graph = Graph(changes.view, changes, request.text)
        try:
            with changes.base.reading(), context.allowance, not_too_deep():
                found = self.statement.run(graph, request.parameters)
                if found is None:
                    return None
                rows = user_rows(found)
        finally:
            graph.release()
        clock.end("run", begun)
        summary = Summary(
            *(clock.seconds, "cpu", len(rows), context.embeddings),
            bytes_read=clock.usage.bytes_read,
            effects=graph.effects,
            evaluator="rows",
            why=self.why,
        )
        answer = RowAnswer(found.columns, rows, self.planned.refusal.kinds)
        warnings = dict.fromkeys((*self.planned.warnings, *context.options.lost))
        return Result(answer, warnings=tuple(warnings), summary=summary)


def bound_write(request: Request, planned: Planned, why: str) -> BoundWrite | None:
    """A statement bound that ran over rows, for a request without options; None where an operator takes many rows, or
    makes many. why : it ran so."""
    if planned.profile or columns_or_rows.WAY is not None:
        return None
    context = RowContext(
        request.text,
        {},
        {},
        request.mode,
        request.options(None),
        Allowance(half_of_memory()),
        import_root=request.import_root,
        kept=planned.kept,
    )
    statement = row_statement(context, planned.plan)
    if statement is None:
        return None
    return BoundWrite(request.mode, planned, frozenset(request.parameters), statement, why)
