"""A prepared statement bound to a snapshot, for values that come one after the other: what a key look-up or a few
hops from a key take is its parameters' check, an index probe, one launch, and the values of its rows.

A commit that leaves what its plan reads as it was, the edges and the kinds of vertices, leaves the statement: only what
looks up ids and values is made for the next snapshot.

It runs what `pipeline.run_statement` runs, by the same stage and the same columns. All that decides how is decided when
it is bound; a run that turns out to be another one, whose values are of other kinds, or which takes longer than one
launch, gives None before it has done anything that lasts, and then goes the usual way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from gdb.answer.result import Result
from gdb.answer.rows import ColumnAnswer, NumberedAnswer, RowAnswer
from gdb.answer.summary import Summary
from gdb.base import usage
from gdb.errors import Cancelled
from gdb.executor import run as executor
from gdb.executor.choose_device import distinct_values, embeddings_of
from gdb.executor.cpu import launch
from gdb.executor.device_names import CPU
from gdb.executor.nest.bindings import Bindings
from gdb.executor.nest.prepare import Prepared, stage
from gdb.executor.plan.embeddings import NO_COLUMNS
from gdb.executor.plan.plan import Scan
from gdb.executor.relational import relational_tail
from gdb.executor.relational.batch import Batch, Gathered
from gdb.executor.relational.relational_tail import TailResult
from gdb.language.pushdown import still_on_ids
from gdb.records import dataclass
from gdb.run.bound_reads import Candidates, Reads, columns_of, groups_of, probe_of
from gdb.run.interrupt import Cancel
from gdb.run.late_interrupt import Outcome
from gdb.run.options import half_of_memory
from gdb.storage.columns.model import INT64
from gdb.storage.columns.python_columns import column_of

if TYPE_CHECKING:
    from gdb.answer.rows import Answer, Values
    from gdb.answer.summary import Evaluator
    from gdb.executor.plan.embeddings import Wanted
    from gdb.executor.plan.plan import Plan
    from gdb.executor.relational.relational_tail import Tail, Value
    from gdb.language.scope import Scope
    from gdb.physical.rows.row_tail import RowTails
    from gdb.run.bound_reads import Groups, Row
    from gdb.run.request import Change
    from gdb.run.statements import Statement
    from gdb.storage.columns.model import Kind, PropertyValue
    from gdb.storage.graph.adjacency import U32
    from gdb.storage.graph.partitions import Partitions
    from gdb.storage.graph.snapshot import Snapshot

FEW = 16
"""Rows whose values are read one by one: more are gathered as columns."""
_NO_VALUES: Mapping[str, Value] = {}
_Found: TypeAlias = "list[Row] | list[Values] | Batch | int"
"""Rows that were read one by one, or made by a tail, columns, or a number of embeddings."""


@dataclass(slots=True, eq=False)
class BoundStatement:
    """A statement whose run is one short launch on the CPU.

    text : by which it is kept. scope : its pattern, without a snapshot. bytes : that its stage keeps.
    kinds : of each parameter, its class. fixed : the values of those that only these will do for.
    candidates : of the query vertices that values decide on. alone : the plan binds one vertex, whose candidates are
        the rows.
    names, kinds_read : of the outputs, and their kinds where values are read one by one.
    tails : what compiles the operators behind few embeddings, for the snapshot of a scope; None where there are none.
    groups : see `groups_of`. partitions : of the snapshot, where the stage reads them. follows : it depends on no more
        of the snapshot than these, and what is looked up in each run.
    reads : in the snapshot that it is bound to; None until it runs again. moved : gives those in another one
        (`Statements.moved`).
    used : since it was last looked at (`Statements.keep`).
    """

    text: str
    plan: Plan
    tail: Tail
    scope: Scope
    stage: Prepared
    bytes: int
    wanted: Wanted
    limit: int | None
    kinds: Mapping[str, type]
    fixed: Mapping[str, Value]
    candidates: Sequence[Candidates]
    names: Sequence[str]
    kinds_read: Sequence[Kind]
    warnings: tuple[str, ...]
    alone: bool
    tails: Callable[[Scope], RowTails] | None
    groups: Groups
    partitions: Partitions | None
    follows: bool
    moved: Callable[[BoundStatement, Snapshot], Reads | None]
    reads: Reads | None = None
    used: bool = True

    # ---- a run -----------------------------------------------------------------------------------

    def run(
        self,
        do: Callable[[Callable[[], Result | None], threading.Event], Result | None],
        newest: Callable[[], Snapshot],
        _: Change,
        parameters: Mapping[str, object] | None,
    ) -> Result | None:
        """The answer for parameters, which nothing has checked yet; None where this is not for them.

        do : does work that can be cancelled (`Work.do`). newest : gives the snapshot that the query sees.

        Raises
        ------
        Cancelled, ClosedError, CorruptStore.
        """
        values = self._accepted(parameters)
        if values is None or usage.is_noted():
            return None
        cancel = Cancel()
        try:
            return do(partial(self._answer, newest, values, cancel), cancel)
        except KeyboardInterrupt:  # it came when the answer was ready
            raise Outcome().cancelled() from None

    def look_up(
        self, is_newest: Callable[[Snapshot], bool], parameters: Mapping[str, object] | None
    ) -> Result | None:
        """As `run`, of a statement that is `alone`: some microseconds that change nothing, here or below, so that
        nothing has to hold Ctrl-C back or know of it. None where it has to go that way.

        is_newest : whether the query sees this snapshot.
        """
        reads = self.reads
        if not self.alone or reads is None or usage.is_noted():
            return None
        begun, values = time.monotonic(), self._accepted(parameters)
        if values is None or not is_newest(reads.snapshot):
            return None
        rows = reads.snapshot.read_at_once(partial(self._rows_at_once, reads, values))
        if rows is None:
            return None
        self.used = True
        summary = partial(self._summary, time.monotonic() - begun, len(rows), rows)
        answer = RowAnswer(self.names, rows, self._kinds)
        return Result(answer, warnings=self.warnings, summary=summary)

    def _rows_at_once(self, reads: Reads, values: Mapping[str, Value]) -> list[Row] | None:
        vids = reads.probed(reads.probes[0], values)
        if vids is None:
            return None
        limit = self.limit
        return reads.rows([vids], len(vids) if limit is None else min(len(vids), limit))

    def _accepted(self, parameters: Mapping[str, object] | None) -> Mapping[str, Value] | None:
        """The parameters, where they are plain values of the kinds that it was bound for."""
        kinds = self.kinds
        if parameters is None:
            return None if kinds else _NO_VALUES
        if type(parameters) is not dict or len(parameters) != len(kinds):
            return None
        values: dict[str, Value] = {**parameters}
        for name, kind in kinds.items():
            value = values.get(name)
            if type(value) is not kind:
                return None
            if isinstance(value, str):
                if not value.isascii():
                    return None
            elif kind is int and value not in INT64:
                return None
        fixed, same = self.fixed, relational_tail.same
        if fixed and not all(same(values[name], known) for name, known in fixed.items()):
            return None
        return values

    def _answer(
        self,
        newest: Callable[[], Snapshot],
        values: Mapping[str, Value],
        cancel: threading.Event,
    ) -> Result | None:
        begun = time.monotonic()
        snapshot, reads = newest(), self.reads
        if reads is None or reads.snapshot is not snapshot:
            reads = self.moved(self, snapshot)
            if reads is None:
                return None
        with snapshot.reading():
            found = self._found(reads, values, cancel)
        if found is None:
            return None
        number, made = found
        self.used = True
        seconds = time.monotonic() - begun
        answer: Answer
        if isinstance(made, list) and reads.tails is not None:
            answer = NumberedAnswer(self.tail.outputs, made, snapshot)
        elif isinstance(made, list):
            answer = RowAnswer(self.names, made, self._kinds)
        else:
            answer = ColumnAnswer(TailResult(self.tail.outputs, made), snapshot)
        summary = partial(self._summary, seconds, number, made)
        return Result(answer, warnings=self.warnings, summary=summary)

    def _kinds(self) -> Sequence[Kind]:
        return self.kinds_read

    def _summary(self, seconds: float, embeddings: int, found: _Found) -> Summary:
        read = {id(one): one for one in self.stage.read if one is not None}
        size = sum(one.nbytes for one in read.values())
        rows = 1 if isinstance(found, int) else len(found)
        evaluator: Evaluator = "duckdb"
        if isinstance(found, Batch):
            size += found.bytes
        elif self.tails is not None:
            evaluator = "rows"
        elif isinstance(found, list):
            for k, kind in enumerate(self.kinds_read):
                size += column_of([cast("PropertyValue", row[k]) for row in found], kind).nbytes
        return Summary(
            {"run": seconds}, CPU, rows, embeddings, evaluator=evaluator, bytes_read=size
        )

    def _found(
        self, reads: Reads, values: Mapping[str, Value], cancel: threading.Event
    ) -> tuple[int, _Found] | None:
        """How many embeddings there are, and the answer."""
        if self.alone:
            vids = reads.vids(self.candidates[0], reads.probes[0], values)
            if vids is None:
                return None
            listed = (vids if isinstance(vids, list) else vids.tolist())[: self.limit]
            return len(listed), reads.rows([listed], len(listed))
        stage = self._staged(reads, values)
        worker = None if stage is None else launch.launched_once(stage, self.wanted, self.limit)
        if worker is None:
            return None
        if cancel.is_set():
            raise Cancelled("The query was cancelled.")
        plan, tail = self.plan, self.tail
        if tail.count_only:
            number = worker.total * plan.multiplicity // plan.divisor
            if tail.once is not None:
                number = len(distinct_values(worker))
            launch.put_back(worker)
            return number, number
        number = worker.rows if self.limit is None else min(worker.rows, self.limit)
        if reads.tails is None and reads.columns is not None and number <= FEW:
            vids = worker.out_vids[:, :number].tolist()
            if tail.once is not None:
                distinct_values(worker)
            answer: list[Row] | Batch = reads.rows(vids, number)
        else:
            some = embeddings_of(worker, plan).part(0, number)
            if reads.tails is not None:
                start = reads.tails.starts([some])
                launch.put_back(worker)
                if start is None:
                    return None
                values = {**self.scope.parameters, **values}
                return number, reads.tails.run(start, values, half_of_memory(), cancel)
            columns: list[Gathered] = [
                relational_tail.gather_one(ref, some, reads.snapshot) for ref in tail.columns
            ]
            assert tail.direct is not None
            answer = Batch([columns[k] for k in tail.direct], number)
        launch.put_back(worker)
        return number, answer

    def _staged(self, reads: Reads, values: Mapping[str, Value]) -> Prepared | None:
        """The stage with the candidates of some values; None where the plan may not do for them."""
        if not self.candidates:
            return self.stage
        latest = reads.latest
        if latest is not None and latest[0] == values:
            return latest[1]
        allowed: dict[int, U32] = {}
        for one, probe in zip(self.candidates, reads.probes, strict=True):
            vids = reads.vids(one, probe, values)
            if vids is None:
                return None
            allowed[one.vertex] = np.array(vids, np.uint32) if isinstance(vids, list) else vids
        made = Bindings(allowed, {}, {}).stage(self.stage, reads.snapshot)
        if float not in self.kinds.values():
            reads.latest = values, made
        return made

    # ---- other snapshots ---------------------------------------------------------------------------

    def leaves(self, snapshot: Snapshot | None) -> bool:
        """Hold no snapshot any more; whether it may be bound to this one, or a later one, by `over`."""
        self.reads = None
        known = self.partitions
        if not self.follows or (
            known is not None and (snapshot is None or snapshot.partitions is not known)
        ):
            return False
        self.plan.stages.clear()  # they hold the snapshot
        self.stage.leave_graph()
        return True

    def over(self, snapshot: Snapshot) -> Reads | None:
        """What it looks up in another snapshot; None where that is another graph to it."""
        if self.partitions is not None and snapshot.partitions is not self.partitions:
            return None
        if groups_of(snapshot) != self.groups:
            return None
        scope = self.scope.over(snapshot)
        for one in self.candidates:
            if not still_on_ids(scope, one.conditions):
                return None
        return self.looked_up(scope)

    def looked_up(self, scope: Scope) -> Reads | None:
        """What it looks up in the snapshot of a scope; None where it cannot."""
        alone = self.tails is None and not self.tail.count_only
        columns = columns_of(scope, self.tail, self.wanted) if alone else None
        if self.alone and columns is None:
            return None
        probes = [probe_of(one, self.kinds, scope) for one in self.candidates]
        tails = None if self.tails is None else self.tails(scope)
        return Reads(scope.snapshot, scope, probes, columns, tails)


# ---- binding ---------------------------------------------------------------------------------------


def bound_statement(
    statement: Statement,
    parameters: Mapping[str, Value],
    snapshot: Snapshot,
    moved: Callable[[BoundStatement, Snapshot], Reads | None],
) -> BoundStatement | None:
    """The statement bound to a snapshot in which it ran in one launch; None where its runs are others. moved : see
    `BoundStatement`."""
    plan, tail, bound = statement.plan, statement.tail, statement.bound
    over_rows = tail.direct is None and not tail.count_only
    if not (
        plan.runs.latest == CPU
        and plan.counting is (tail.count_only and tail.once is None)
        and not (plan.terms or plan.twins or plan.ranked or plan.notes.too_many)
        and not (bound.graph.compared or bound.graph.optional)
        and tail.row_limit != 0
        and not any(output.durations for output in tail.outputs)
        and all(type(value) in (int, float, bool, str) for value in parameters.values())
    ):
        return None
    if over_rows and statement.row_tails is None:
        return None
    candidates: list[Candidates] = []
    for element, names, conditions in statement.mentions:
        if names.isdisjoint(parameters):
            continue
        vertex = element.index
        known, before = plan.candidates[vertex], bound.graph.vertices[vertex].allowed
        if (
            element.kind != "vertex"
            or not names & set(parameters) <= statement.lasting
            or before is None
            or len(before) != known.count
            or not known.ranges
        ):
            return None
        candidates.append(
            Candidates(
                *(vertex, element, conditions, names & set(parameters), known.count),
                *(known.ranges[0][0], known.ranges[-1][1]),
            )
        )
    scope = bound.sources.scope
    wanted = tail.wanted if not tail.count_only else NO_COLUMNS
    if tail.count_only and tail.once is not None:
        wanted = executor.once(tail.once)
    columns = None if over_rows or tail.count_only else columns_of(scope, tail, wanted)
    alone = (
        columns is not None
        and len(candidates) == 1
        and len(plan.phases) == 1
        and isinstance(plan.phases[0], Scan)
        and plan.vertices == 1
    )
    if alone:  # no loop has these bounds
        candidates[0].low, candidates[0].end = 0, 1 << 32
    warnings = tuple(dict.fromkeys((*bound.warnings, *plan.notes.warnings)))
    prepared = stage(plan, snapshot, None, windows=tail.once is None)
    if alone:  # no worker is needed
        prepared.idle["cpu"].clear()
    made = BoundStatement(
        text=bound.sources.pattern.text,
        plan=plan,
        tail=tail,
        scope=scope.over(None),
        stage=prepared,
        bytes=0 if alone else prepared.kept_bytes,
        wanted=wanted,
        limit=tail.row_limit,
        kinds={name: type(value) for name, value in parameters.items()},
        fixed={
            name: value
            for name, value in parameters.items()
            if not any(name in one.names for one in candidates)
            and (tail.row_limit is not None or not over_rows)
        },
        candidates=candidates,
        names=[output.name for output in tail.outputs],
        kinds_read=[look_up.kind for look_up, _ in columns or ()],
        warnings=warnings,
        alone=alone,
        tails=bound.compiles_tails if over_rows else None,
        groups=groups_of(snapshot),
        partitions=None if alone else snapshot.partitions,
        follows=not warnings and _follows(statement, candidates, alone=alone),
        moved=moved,
    )
    made.reads = made.looked_up(scope)
    return made


def _follows(statement: Statement, candidates: Sequence[Candidates], *, alone: bool) -> bool:
    """Whether a commit that changes no edges and no kinds of vertices leaves all that was evaluated: each condition is
    evaluated in each run, and a vertex that was added or removed, without edges, is in no embedding."""
    graph = statement.bound.graph
    joined = {end for edge in graph.edges for end in (edge.source, edge.target)}
    return (
        len(candidates) == len(statement.mentions)
        and all(one.conditions.with_values(one.names).answer is None for one in candidates)
        and (alone or len(joined) == len(graph.vertices))
    )
