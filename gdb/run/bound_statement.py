"""A prepared statement bound to one snapshot, for values that come one after the other: what a key look-up or a few
hops from a key take is its parameters' check, an index probe, one launch, and the values of its rows.

It runs what `pipeline.run_statement` runs, by the same stage and the same columns. All that decides how is decided when
it is bound; a run that turns out to be another one, whose values are of other kinds, or which takes longer than one
launch, gives None before it has done anything that lasts, and then goes the usual way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gdb.answer.result import Result
from gdb.answer.rows import ColumnAnswer, RowAnswer
from gdb.answer.summary import Summary
from gdb.base import usage
from gdb.errors import Cancelled
from gdb.executor.cpu import launch
from gdb.executor.device_names import CPU
from gdb.executor.nest.bindings import Bindings
from gdb.executor.nest.prepare import Prepared, stage
from gdb.executor.plan.embeddings import NO_COLUMNS
from gdb.executor.plan.plan import Scan
from gdb.executor.relational import relational_tail
from gdb.executor.relational.batch import Batch, Gathered
from gdb.executor.relational.relational_tail import TailResult
from gdb.language import syntax
from gdb.language.pushdown import allowed_vertices
from gdb.language.syntax import Comparator
from gdb.records import dataclass
from gdb.run.interrupt import Cancel
from gdb.run.late_interrupt import Outcome
from gdb.run.statements import are_near
from gdb.storage.columns.model import INT64
from gdb.storage.columns.python_columns import column_of

if TYPE_CHECKING:
    from gdb.answer.rows import Answer
    from gdb.executor.plan.embeddings import Wanted
    from gdb.executor.relational.relational_tail import Value
    from gdb.language.pushdown import ElementConditions
    from gdb.run.request import Change
    from gdb.run.statements import Statement
    from gdb.storage.columns.model import Kind, PropertyValue
    from gdb.storage.graph.adjacency import U32
    from gdb.storage.graph.single_look_ups import HolderLookUp, IdLookUp, ValueLookUp
    from gdb.storage.graph.snapshot import Snapshot

FEW = 16
"""Rows whose values are read one by one: more are gathered as columns."""
_NO_VALUES: Mapping[str, Value] = {}
_Found: TypeAlias = "list[tuple[PropertyValue, ...]] | Batch | int"
"""Rows that were read one by one, columns, or a number of embeddings."""


@dataclass(slots=True, eq=False)
class _Candidates:
    """Those of one query vertex, which depend on values.

    planned : how many the plan was made for; low, end : between which vids.
    by_id, by_value, name : its id, or a property of it, is the value of that parameter; None where the conditions are
        others.
    """

    vertex: int
    element: syntax.ElementReference
    conditions: ElementConditions
    names: frozenset[str]
    planned: int
    low: int
    end: int
    by_id: IdLookUp | None
    by_value: HolderLookUp | None
    name: str


@dataclass(slots=True, eq=False)
class BoundStatement:
    """A statement whose run is one short launch on the CPU, over one snapshot.

    kinds : of each parameter, its class. fixed : the values of those that only these will do for.
    candidates : of the query vertices that values decide on. columns : for each output what reads its values one by
        one, and the query vertex that has them; None where they are gathered. names : of the outputs.
    alone : the plan binds one vertex, whose candidates are the rows.
    latest : the values of the last run, and the stage with their candidates; None where some are floats, whose
        equality does not say that they are the same.
    used : since it was last looked at (`Statements.keep`).
    """

    statement: Statement
    snapshot: Snapshot
    stage: Prepared
    wanted: Wanted
    limit: int | None
    kinds: Mapping[str, type]
    fixed: Mapping[str, Value]
    candidates: Sequence[_Candidates]
    columns: Sequence[tuple[ValueLookUp, int]] | None
    alone: bool
    warnings: tuple[str, ...]
    names: Sequence[str]
    latest: tuple[Mapping[str, Value], Prepared] | None = None
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
        if newest() is not self.snapshot:
            return None
        with self.snapshot.reading():
            found = self._found(values, cancel)
        if found is None:
            return None
        number, made = found
        self.used = True
        seconds = time.monotonic() - begun
        answer: Answer
        if isinstance(made, list):
            answer = RowAnswer(self.names, made, self._kinds)
        else:
            tail = TailResult(self.statement.tail.outputs, made)
            answer = ColumnAnswer(tail, self.snapshot)
        summary = partial(self._summary, seconds, number, made)
        return Result(answer, warnings=self.warnings, summary=summary)

    def _kinds(self) -> Sequence[Kind]:
        """Those of the outputs that are read one by one."""
        assert self.columns is not None
        return [look_up.kind for look_up, _ in self.columns]

    def _summary(self, seconds: float, embeddings: int, found: _Found) -> Summary:
        read = {id(one): one for one in self.stage.read if one is not None}
        size = sum(one.nbytes for one in read.values())
        rows = 1 if isinstance(found, int) else len(found)
        if isinstance(found, Batch):
            size += found.bytes
        elif isinstance(found, list):
            for k, kind in enumerate(self._kinds()):
                size += column_of([row[k] for row in found], kind).nbytes
        return Summary({"run": seconds}, CPU, rows, embeddings, evaluator="duckdb", bytes_read=size)

    def _found(
        self, values: Mapping[str, Value], cancel: threading.Event
    ) -> tuple[int, _Found] | None:
        """How many embeddings there are, and the answer."""
        if self.alone:
            (only,) = self.candidates
            vids = self._vids(only, values)
            if vids is None:
                return None
            listed = (vids if isinstance(vids, list) else vids.tolist())[: self.limit]
            return len(listed), self._rows([listed])
        stage = self._staged(values)
        worker = None if stage is None else launch.launched_once(stage, self.wanted, self.limit)
        if worker is None:
            return None
        if cancel.is_set():
            raise Cancelled("The query was cancelled.")
        plan, tail = self.statement.plan, self.statement.tail
        if tail.count_only:
            number = worker.total * plan.multiplicity // plan.divisor
            launch.put_back(worker)
            return number, number
        number = worker.rows if self.limit is None else min(worker.rows, self.limit)
        if self.columns is not None and number <= FEW:
            answer = number, self._rows(worker.out_vids[:, :number].tolist())
        else:
            some = worker.taken().part(0, number)
            columns: list[Gathered] = [
                relational_tail.gather_one(ref, some, self.snapshot) for ref in tail.columns
            ]
            assert tail.direct is not None
            answer = number, Batch([columns[k] for k in tail.direct], number)
        launch.put_back(worker)
        return answer

    def _rows(self, vids: Sequence[Sequence[int]]) -> _Found:
        """The rows, read one by one. vids : of each query vertex that is wanted."""
        assert self.columns is not None
        return [*zip(*[map(one.value, vids[place]) for one, place in self.columns], strict=True)]

    def _staged(self, values: Mapping[str, Value]) -> Prepared | None:
        """The stage with the candidates of some values; None where the plan may not do for them."""
        if not self.candidates:
            return self.stage
        latest = self.latest
        if latest is not None and latest[0] == values:
            return latest[1]
        allowed: dict[int, U32] = {}
        for one in self.candidates:
            vids = self._vids(one, values)
            if vids is None:
                return None
            allowed[one.vertex] = np.array(vids, np.uint32) if isinstance(vids, list) else vids
        made = Bindings(allowed, {}, {}).stage(self.stage, self.snapshot)
        if float not in self.kinds.values():
            self.latest = values, made
        return made

    def _vids(self, one: _Candidates, values: Mapping[str, Value]) -> list[int] | U32 | None:
        """The candidates of a query vertex; None where the plan may not do for them."""
        if one.by_id is not None:
            wanted = values[one.name]
            assert isinstance(wanted, int)  # see `kinds`
            vid = one.by_id.find(wanted)
            if vid < 0:
                return []
            return [vid] if one.low <= vid < one.end else None
        if one.by_value is not None:
            wanted = values[one.name]
            assert isinstance(wanted, (int, str))  # see `kinds`
            found = one.by_value.find(wanted)
            if found is not None:
                return found if not found or one.low <= found[0] <= found[-1] < one.end else None
        known = {**self.statement.values, **values}
        again, scope = one.conditions.with_values(one.names), self.statement.bound.sources.scope
        vids = allowed_vertices(scope, one.element, again, known)
        if not are_near(len(vids), one.planned):
            return None
        return vids if not len(vids) or one.low <= vids[0] <= vids[-1] < one.end else None


# ---- binding ---------------------------------------------------------------------------------------


def bound_statement(
    statement: Statement, parameters: Mapping[str, Value], snapshot: Snapshot
) -> BoundStatement | None:
    """The statement bound to a snapshot in which it ran in one launch; None where its runs are others."""
    plan, tail, bound = statement.plan, statement.tail, statement.bound
    rows = tail.direct is not None and not tail.count_only
    if not (
        plan.runs.latest == CPU
        and (rows or (tail.count_only and tail.once is None))
        and (plan.counting is not rows)
        and not (plan.terms or plan.twins or plan.ranked or plan.notes.too_many)
        and not (bound.graph.compared or bound.graph.optional)
        and tail.once is None
        and tail.row_limit != 0
        and not any(output.durations for output in tail.outputs)
        and all(type(value) in (int, float, bool, str) for value in parameters.values())
    ):
        return None
    candidates: list[_Candidates] = []
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
        by_id, by_value, name = None, None, ""
        if are_near(1, known.count):
            by_id, by_value, name = _look_ups(conditions, parameters, statement, vertex)
        candidates.append(
            _Candidates(
                *(vertex, element, conditions, names & set(parameters), known.count),
                *(known.ranges[0][0], known.ranges[-1][1], by_id, by_value, name),
            )
        )
    fixed = {
        name: value
        for name, value in parameters.items()
        if not any(name in one.names for one in candidates)
    }
    prepared = stage(plan, snapshot, None, windows=rows)
    wanted = tail.wanted if rows else NO_COLUMNS
    columns = _columns(statement, snapshot, wanted) if rows else None
    alone = (
        rows
        and columns is not None
        and len(candidates) == 1
        and len(plan.phases) == 1
        and isinstance(plan.phases[0], Scan)
        and plan.vertices == 1
    )
    return BoundStatement(
        statement=statement,
        snapshot=snapshot,
        stage=prepared,
        wanted=wanted,
        limit=tail.row_limit,
        kinds={name: type(value) for name, value in parameters.items()},
        fixed=fixed,
        candidates=candidates,
        columns=columns,
        alone=alone,
        warnings=tuple(dict.fromkeys((*bound.warnings, *plan.notes.warnings))),
        names=[output.name for output in tail.outputs],
    )


def _look_ups(
    conditions: ElementConditions,
    parameters: Mapping[str, Value],
    statement: Statement,
    vertex: int,
) -> tuple[IdLookUp | None, HolderLookUp | None, str]:
    """What finds the candidates of a vertex whose only condition is that its id, or a property, is a parameter."""
    scope, nothing = statement.bound.sources.scope, (None, None, "")
    if conditions.on_edges or len(conditions.on_id) + len(conditions.on_properties) != 1:
        return nothing
    groups = scope.groups(vertex)
    for _, terms in conditions.on_id:
        if isinstance(terms, tuple) and len(terms) == 1:
            (term,) = terms
            if isinstance(term, syntax.Parameter) and type(parameters[term.name]) is int:
                return scope.snapshot.id_look_up(groups), None, term.name
        return nothing
    match conditions.on_properties[0]:
        case syntax.Comparison(
            operator=Comparator.EQUAL,
            left=syntax.Property(subject=syntax.ElementReference(), key=key),
            right=syntax.Parameter(name=name),
        ) if len(groups) == 1:
            found = scope.snapshot.holder_look_up(groups[0], key.text)
            if found is not None and type(parameters[name]) is found.type:
                return None, found, name
    return nothing


def _columns(
    statement: Statement, snapshot: Snapshot, wanted: Wanted
) -> list[tuple[ValueLookUp, int]] | None:
    """What reads each output's values one by one; None where some are gathered."""
    tail = statement.tail
    found: list[tuple[ValueLookUp, int]] = []
    assert tail.direct is not None
    for number in tail.direct:
        ref = tail.columns[number]
        if ref.element != "vertex" or ref.what not in ("property", "id"):
            return None
        groups = statement.bound.sources.scope.groups(ref.index)
        if len(groups) != 1:
            return None
        look_up = snapshot.value_look_up(groups[0], ref.key if ref.what == "property" else None)
        if look_up is None or ref.kind not in (None, look_up.kind):
            return None
        found.append((look_up, wanted.vertices.index(ref.index)))
    return found
