"""The tail of a pattern with few embeddings, over rows.

DuckDB takes one to two milliseconds before the first row of a SELECT; a few hundred rows in Python take less. So the
operators behind a pattern are compiled for rows as well, once for a statement, and a run that finds few embeddings goes
through them (`row_steps`). No objects are made for nodes and relationships: in a row these are vids and edge ids, and
an expression that has an id, a property, labels or the type of one looks that up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING

from gdb.base.allowance import Allowance
from gdb.base.values.temporal_clock import clock_at, real_instant
from gdb.language.hidden_names import HIDDEN
from gdb.language.syntax import ElementReference, Expression, walk
from gdb.physical.rows.element_reads import NumberEvaluator, NumberSteps
from gdb.physical.rows.row_steps import Elements, Step, Unsuited
from gdb.physical.rows.values import UserValues, taken
from gdb.records import dataclass

if TYPE_CHECKING:
    import threading

    from gdb.answer.rows import Values
    from gdb.base.values.kinds import Row, Value
    from gdb.executor.plan.embeddings import Embeddings, Wanted
    from gdb.executor.relational.relational_tail import Value as Plain
    from gdb.language.scope import Scope
    from gdb.physical.one_pattern import OnePattern
    from gdb.storage.graph.snapshot import Snapshot

MOST = 512
"""Embeddings: with these rows take a third to two thirds of a SELECT's time, and as long from some 1,000 on
(`benchmarks.matching.short_reads`); an expression may take longer than those measured there."""


class RowTail:
    """The operators behind a pattern, compiled over one snapshot. One thread at a time may run them.

    names : of the elements that a row begins with.
    """

    def __init__(
        self, scope: Scope, pattern: OnePattern, conditions: Sequence[Expression], wanted: Wanted
    ) -> None:
        """As `RowTails`. Raises Unsuited, which that answers."""
        self.allowance = Allowance()
        self._values: dict[str, Value] = {}
        elements: Elements = {
            name: element for name, element in scope.names.items() if name in pattern.demand.live
        }
        for condition in conditions:
            for part in walk(condition):
                if isinstance(part, ElementReference) and part not in elements.values():
                    elements[f"{HIDDEN}{part.kind}{part.index}"] = part
        self.names, self._columns = tuple(elements), pattern.names
        # those that are only tested for null, or have none of the properties, are not among the columns
        self._starts = [
            element
            if element.index in (wanted.vertices if element.kind == "vertex" else wanted.edges)
            else None
            for element in elements.values()
        ]
        kinds = _OfScope(scope, self._starts)
        evaluator = NumberEvaluator(pattern.text, self._values, self.allowance, kinds)
        steps = NumberSteps(evaluator, pattern.text)
        steps.elements = elements
        self._steps: list[Step] = [
            *map(steps.satisfying, conditions),
            *map(steps.step, pattern.behind),
        ]
        self._readers = evaluator.readers
        evaluator.bind(scope.snapshot)
        for reader in self._readers:
            reader.stay()

    # ---- a run -----------------------------------------------------------------------------------

    def starts(self, parts: Sequence[Embeddings]) -> tuple[list[list[int]], int]:
        """For each name its vids or edge ids, and the number of the rows."""
        count = sum(map(len, parts))
        columns: list[list[int]] = []
        for element in self._starts:
            if element is None:
                columns.append([0] * count)
                continue
            column: list[int] = []
            for some in parts:
                of = some.vertex if element.kind == "vertex" else some.edge
                column += of(element.index).tolist()
            columns.append(column)
        return columns, count

    def run(
        self,
        start: FewRows,
        parameters: Mapping[str, Value],
        memory: int,
        cancel: threading.Event | None,
        deadline: float | None,
    ) -> list[Values]:
        """The rows of the answer. parameters : values of the language. The rest, and what it raises: `RowTails.run`."""
        own, names, columns = self.allowance, self.names, start.columns
        own.made = own.kept = 0
        own.limit, own.cancel, own.deadline = memory, cancel, deadline
        self._values.update(parameters)
        try:
            with own, clock_at(real_instant()):
                rows: list[Row]
                if len(names) == 1:
                    (name,) = names
                    rows = [{name: number} for number in columns[0]]
                elif names:
                    rows = [
                        dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)
                    ]
                else:
                    rows = [{} for _ in range(start.count)]
                for step in self._steps:
                    rows = step(rows)
                cell, answer = UserValues().cell, self._columns
                return [tuple([cell(row[name]) for name in answer]) for row in rows]
        finally:  # what is kept holds no value
            self._values.clear()
            for reader in self._readers:
                reader.forget()


class _OfScope:
    """What the elements of a scope may be. starts : those that rows have numbers of."""

    def __init__(self, scope: Scope, starts: Sequence[ElementReference | None]) -> None:
        self._scope, self._starts = scope, starts

    def groups(self, element: ElementReference, _: Snapshot) -> Sequence[int]:
        return self._scope.groups(element.index)

    def types(self, element: ElementReference, _: Snapshot) -> Sequence[str]:
        return self._scope.types(element.index)

    def need(self, element: ElementReference) -> None:
        if element not in self._starts:
            raise Unsuited


@dataclass(slots=True, eq=False)
class FewRows:
    """The rows that a tail begins with. columns : for each of its names the vids or edge ids."""

    tail: RowTail
    columns: list[list[int]]
    count: int


class RowTails:
    """The tail of a pattern over one snapshot, compiled for few embeddings, for any number of threads: each run has one
    of its own.

    conditions : left for the embeddings. wanted : the columns that these have. names : of the parameters that all of it
    mentions.
    """

    __slots__ = ("_names", "_of", "_suited", "_waiting")

    def __init__(
        self,
        scope: Scope,
        pattern: OnePattern,
        conditions: Sequence[Expression],
        wanted: Wanted,
        names: Set[str],
    ) -> None:
        self._of, self._names = (scope, pattern, conditions, wanted), names
        self._suited = True
        self._waiting: list[RowTail] = []

    def suit(self, parameters: Mapping[str, Plain]) -> bool:
        """Whether they will do for parameters: what is made of a list is compiled."""
        return self._suited and not any(
            isinstance(parameters[name], (list, tuple, dict)) for name in self._names
        )

    @property
    def most(self) -> int:
        """How many embeddings go through them; 0 where the operators need more of elements than they have in rows."""
        tail = self._taken()
        if tail is None:
            return 0
        self._waiting.append(tail)
        return MOST

    def starts(self, parts: Sequence[Embeddings]) -> FewRows | None:
        """What a run begins with, of all embeddings; None where these are many, or the operators need more of elements
        than they have in such rows."""
        if sum(map(len, parts)) > MOST:
            return None
        tail = self._taken()
        return None if tail is None else FewRows(tail, *tail.starts(parts))

    def run(
        self,
        few: FewRows,
        parameters: Mapping[str, Plain],
        memory: int,
        cancel: threading.Event | None = None,
        deadline: float | None = None,
    ) -> list[Values]:
        """The rows of the answer; nodes and relationships are vids and edge ids.

        memory : bytes of values. deadline : of time.monotonic().

        Raises
        ------
        QueryError, with the place; Cancelled, QueryTimeout, OutOfBudget.
        """
        tail = few.tail
        values = {name: taken(parameters[name]) for name in self._names}
        found = tail.run(few, values, memory, cancel, deadline)
        self._waiting.append(tail)
        return found

    def _taken(self) -> RowTail | None:
        try:
            return self._waiting.pop()
        except IndexError:
            pass
        if self._suited:
            try:
                return RowTail(*self._of)
            except Unsuited:
                self._suited = False
        return None
