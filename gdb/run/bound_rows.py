"""A statement that runs over rows, bound to its text: what comes again with other values runs from `execute` straight
through its compiled operators (`gdb.physical.rows.row_statement`), to the commit where it writes.

What it holds of a snapshot goes with the next commit (`QueryCache.leave_snapshots`). A run that is not for it, as one
with a map for a parameter or one whose patterns take batches, gives None before it has changed anything, and goes the
usual way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from gdb.answer.result import Result
from gdb.answer.rows import NumberedAnswer, RowAnswer
from gdb.answer.summary import Summary
from gdb.base import usage
from gdb.base.allowance import Allowance
from gdb.executor.options import Options
from gdb.physical.rows.kept import Tries
from gdb.physical.rows.numbered_statement import NumberedStatement
from gdb.physical.rows.object_graph import Graph
from gdb.physical.rows.row_statement import RowStatement
from gdb.physical.rows.run_context import RowContext
from gdb.records import dataclass
from gdb.run import columns_or_rows
from gdb.run.column_kinds import kinds_of
from gdb.run.columns_or_rows import not_too_deep, user_rows
from gdb.run.interrupt import Cancel
from gdb.run.options import half_of_memory
from gdb.run.parameters import checked_parameters
from gdb.run.request import Clock, Request

if TYPE_CHECKING:
    from pathlib import Path

    from gdb.answer.rows import Answer
    from gdb.query_graph import MatchMode
    from gdb.run.columns_or_rows import Planned
    from gdb.run.query_cache import QueryCache
    from gdb.run.request import Change
    from gdb.storage.graph.snapshot import Snapshot
    from gdb.storage.write.transaction import Changes

MOST_ITEMS = 512
"""Items of a list that UNWIND makes few rows of."""


@dataclass(slots=True, eq=False)
class BoundRows:
    """See the module.

    names : of the parameters. lists : those that may be lists. why : the reason of its last run the usual way.
    waiting : the compiled statements that no run has: each run takes one, or has another one `compiled`.
    holding : those of all texts that may hold a snapshot (`QueryCache.leave_snapshots`).
    tries : those of a run that only reads, which goes the usual way where there are many rows.
    """

    text: str
    mode: MatchMode
    planned: Planned
    names: frozenset[str]
    lists: frozenset[str]
    compiled: Callable[[], RowStatement]
    waiting: list[RowStatement]
    why: str
    holding: set[BoundRows]
    tries: Tries

    @property
    def look_up(self) -> None:
        """What a `BoundStatement` has: this is more."""

    def run(
        self,
        do: Callable[[Callable[[], Result | None], threading.Event], Result | None],
        newest: Callable[[], Snapshot],
        change: Change,
        parameters: Mapping[str, object] | None,
    ) -> Result | None:
        """The answer for parameters, which nothing has checked yet; None where this is not for them.

        do : does work that can be cancelled (`Work.do`). newest : gives the snapshot that a query which reads sees.
        change : makes the changes of one that writes, and commits them.

        Raises
        ------
        GdbError : as `columns_or_rows.answer_by_operators`.
        """
        values = checked_parameters(parameters)
        if values.keys() != self.names or columns_or_rows.WAY is not None or usage.is_noted():
            return None
        if not self.tries.worth():
            return None
        for name, value in values.items():
            if isinstance(value, dict) or (
                isinstance(value, list) and not self._takes(name, value)
            ):
                return None
        request = Request(self.text, values, self.mode, Cancel())
        try:
            if self.planned.changes:
                return do(partial(self._write, change, request), request.cancel)
            found = do(partial(self._read, newest, request), request.cancel)
            self.tries.note(failed=found is None)
            return found
        except BaseException as error:
            request.outcome.struck(error)
            raise

    def _takes(self, name: str, items: list[object]) -> bool:
        """Whether a list is for a run."""
        return name in self.lists and len(items) <= MOST_ITEMS

    def _write(self, change: Change, request: Request) -> Result | None:
        clock = Clock(request.cancel, None, outcome=request.outcome)
        with clock:
            return change(request, clock, partial(self._changed, request, clock))

    def _changed(self, request: Request, clock: Clock, changes: Changes) -> Result | None:
        """The answer, its changes made but not committed. The writer's lock is held."""
        with changes.base.reading():
            return self._answer(request, clock, Graph(changes.view, changes, request.text))

    def _read(self, newest: Callable[[], Snapshot], request: Request) -> Result | None:
        clock, snapshot = Clock(request.cancel, None, outcome=request.outcome), newest()
        self.holding.add(self)
        try:
            with clock, snapshot.reading():
                return self._answer(request, clock, snapshot)
        finally:
            if self not in self.holding:  # a commit has come, and did not find this run's waiting
                self.leave()

    def leave(self) -> None:
        """Hold no snapshot any more."""
        mine = list[RowStatement]()
        with suppress(IndexError):
            while True:  # no run has what is not waiting
                mine.append(self.waiting.pop())
        for statement in mine:
            statement.leave()
        self.waiting += mine

    def _answer(self, request: Request, clock: Clock, of: Graph | Snapshot) -> Result | None:
        """of : the graph that it changes, or the snapshot that it reads."""
        begun = clock.begin()
        try:
            statement = self.waiting.pop()
        except IndexError:
            statement = self.compiled()
        graph = of if isinstance(of, Graph) else statement.graph(of)
        context = statement.context
        context.options = request.options(None)
        context.allowance.cancel = request.cancel
        try:
            with context.allowance, not_too_deep():
                found = statement.run(graph, request.parameters)
                if found is None:
                    return None
                rows = user_rows(found)
        finally:
            graph.release()
            self.waiting.append(statement)
        clock.end("run", begun)
        effects = graph.effects if self.planned.changes and isinstance(graph, Graph) else None
        summary = Summary(
            *(clock.seconds, "cpu", len(rows), context.embeddings),
            bytes_read=clock.usage.bytes_read,
            effects=effects,
            evaluator="rows",
            why=self.why,
        )
        kinds = self.planned.refusal.kinds
        if not isinstance(of, Graph):
            kinds = kinds_of(request, self.planned, of, found.columns, rows)
        answer: Answer = RowAnswer(found.columns, rows, kinds)
        if isinstance(statement, NumberedStatement) and not isinstance(of, Graph):
            rows = statement.shown(rows, of) if statement.listed else rows
            answer = NumberedAnswer(statement.outputs, rows, of)
        warnings = dict.fromkeys((*self.planned.warnings, *context.options.lost))
        return Result(answer, warnings=tuple(warnings), summary=summary)


def bound_rows(request: Request, planned: Planned, why: str, cache: QueryCache) -> BoundRows | None:
    """A statement bound that ran over rows, for a request without options; None where an operator takes many rows, or
    makes many. why : it ran so. cache : which is to keep it."""
    if planned.profile or planned.explain or columns_or_rows.WAY is not None:
        return None
    if planned.changes and planned.warnings:
        return None  # they are given before the commit (`Outcome.warn_first`), which the usual way does
    text, mode, names = request.text, request.mode, frozenset(request.parameters)
    compiled = partial(_compiled, text, mode, request.import_root, planned)
    kinds: tuple[type[RowStatement], ...] = (NumberedStatement, RowStatement)
    for kind in kinds[planned.changes :]:
        made = partial(compiled, kind)
        statement = made()
        if statement.suits:
            lists = statement.lists
            return BoundRows(
                text, mode, planned, names, lists, made, [statement], why, cache.holding, Tries()
            )
    return None


def _compiled(
    text: str,
    mode: MatchMode,
    import_root: Path | None,
    planned: Planned,
    kind: type[RowStatement],
) -> RowStatement:
    context = RowContext(
        *(text, {}, {}, mode, Options(), Allowance(half_of_memory())),
        import_root=import_root,
        kept=planned.kept,
    )
    return kind(context, planned.plan)
