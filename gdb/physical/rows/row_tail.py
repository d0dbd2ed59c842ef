"""The tail of a pattern with few embeddings, over rows.

DuckDB takes one to two milliseconds before the first row of a SELECT; a few hundred rows in Python take less. So the
operators behind a pattern are compiled for rows as well, once for a statement, and a run that finds few embeddings goes
through them (`row_steps`). No objects are made for nodes and relationships: in a row these are vids and edge ids, and
an expression that has an id, a property, labels or the type of one looks that up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, cast

import numpy as np

from gdb.base.allowance import Allowance
from gdb.base.values.temporal_clock import clock_at
from gdb.executor.relational import lookup
from gdb.language.hidden_names import HIDDEN
from gdb.language.syntax import Call, ElementReference, Expression, Property, Variable, walk
from gdb.physical.evaluator import Evaluator
from gdb.physical.rows.row_steps import Elements, RowSteps, Step, Unsuited
from gdb.physical.rows.stored import from_store
from gdb.physical.rows.values import UserValues, taken
from gdb.records import dataclass
from gdb.storage.graph.single_look_ups import GroupLookUp

if TYPE_CHECKING:
    import threading

    from gdb.answer.rows import Values
    from gdb.base.values.kinds import Row, Value
    from gdb.executor.plan.embeddings import Embeddings, Wanted
    from gdb.executor.relational.relational_tail import Value as Plain
    from gdb.language.scope import Scope
    from gdb.physical.evaluator import Compiled
    from gdb.physical.one_pattern import OnePattern
    from gdb.storage.columns.model import Kind
    from gdb.storage.columns.slices import Slice
    from gdb.storage.graph.snapshot import Snapshot

MOST = 512
"""Embeddings: with these rows take a third to two thirds of a SELECT's time, and as long from some 1,000 on
(`benchmarks.matching.short_reads`); an expression may take longer than those measured there."""
_PLAIN = frozenset({"int64", "float64", "bool", "string"})  # kinds that a look-up has one by one


class RowTail:
    """The operators behind a pattern, compiled over one snapshot. One thread at a time may run them.

    names : of the elements that a row begins with.
    """

    def __init__(
        self, scope: Scope, pattern: OnePattern, conditions: Sequence[Expression], wanted: Wanted
    ) -> None:
        """As `RowTails`. Raises Unsuited, which that answers."""
        self._scope, self.allowance = scope, Allowance()
        self._values: dict[str, Value] = {}
        # what is read for all rows at once: the element, how, and what was read in this run
        self._reads: list[
            tuple[ElementReference, Callable[[list[int]], list[Value]], dict[int, Value]]
        ] = []
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
        evaluator = _Looking(self, pattern.text)
        steps = evaluator.steps
        steps.elements = elements
        self._steps: list[Step] = [
            *map(steps.satisfying, conditions),
            *map(steps.step, pattern.behind),
        ]
        evaluator.close()

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
            for element, read, known in self._reads:
                numbers = columns[self._starts.index(element)]
                known.update(zip(numbers, read(numbers), strict=True))
            with own, clock_at(time.time_ns()):
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
            for _, _, known in self._reads:
                known.clear()

    # ---- elements --------------------------------------------------------------------------------

    def looked_up(self, name: str, element: ElementReference, key: str | None) -> Compiled:
        """What reads a property (None: the id) of an element of a row. Raises Unsuited."""
        if element.kind == "edge":
            return self._of_edge(name, element, key)
        snapshot, groups = self._scope.snapshot, self._scope.groups(element.index)
        having = [group for group in groups if key is None or key in snapshot.groups[group].keys]
        if not having:
            return lambda row: None
        self._need(element)
        if key is not None:
            kinds = {snapshot.groups[group].keys[key] for group in having}
            if len(kinds) > 1:
                raise Unsuited
            (kind,) = kinds
            if kind not in _PLAIN:
                return self._read(name, element, partial(_of_vertices, snapshot, key, kind))
        looks = {group: snapshot.value_look_up(group, key) for group in having}
        if None in looks.values() or len({look.kind for look in looks.values() if look}) > 1:
            raise Unsuited
        readers = {group: look.value for group, look in looks.items() if look is not None}
        if len(groups) == 1:
            (value_of,) = readers.values()
            number, read = _number(name), cast("Callable[[int], Value]", value_of)
            return lambda row: read(number(row))
        return self._by_group(name, groups, readers)

    def labelled(self, name: str, element: ElementReference) -> Compiled:
        """What gives the labels of a node of a row. Raises Unsuited."""
        if element.kind == "edge":
            raise Unsuited
        self._need(element)
        snapshot, groups = self._scope.snapshot, self._scope.groups(element.index)
        labels = {group: sorted(snapshot.groups[group].labels) for group in groups}
        return self._by_group(
            name, groups, {group: partial(_copied, own) for group, own in labels.items()}
        )

    def typed(self, name: str, element: ElementReference) -> Compiled:
        """What gives the type of a relationship of a row. Raises Unsuited."""
        if element.kind == "vertex":
            raise Unsuited
        self._need(element)
        return self._read(name, element, partial(_types, self._scope.snapshot))

    def _of_edge(self, name: str, element: ElementReference, key: str | None) -> Compiled:
        if key is None:
            self._need(element)
            return itemgetter(name)
        snapshot, admitted = self._scope.snapshot, self._scope.types(element.index)
        types = [one for one in snapshot.edge_types if one.name in admitted]
        kinds = {one.keys[key] for one in types if key in one.keys}
        if not kinds:
            return lambda row: None
        self._need(element)
        if len(kinds) > 1:
            raise Unsuited
        return self._read(name, element, partial(_of_edges, snapshot, key, kinds.pop()))

    def _by_group(
        self, name: str, groups: Sequence[int], readers: Mapping[int, Callable[[int], object]]
    ) -> Compiled:
        """What reads a value of nodes of several groups. readers : of those that have it."""
        every, number = self._scope.snapshot.groups, _number(name)
        look_up = GroupLookUp.of({group: every[group] for group in groups})
        if look_up is None:
            raise Unsuited
        group_of = look_up.find

        def value(row: Row) -> Value:
            vid = number(row)
            read = readers.get(group_of(vid))
            return None if read is None else cast("Value", read(vid))

        return value

    def _need(self, element: ElementReference) -> None:
        """Raise Unsuited where the embeddings have no column of an element."""
        if element not in self._starts:
            raise Unsuited

    def _read(
        self, name: str, element: ElementReference, read: Callable[[list[int]], list[Value]]
    ) -> Compiled:
        """What gives a value of an element of a row that is read for all rows at once."""
        known, number = dict[int, "Value"](), _number(name)
        self._reads.append((element, read, known))
        return lambda row: known[number(row)]

    @property
    def values(self) -> Mapping[str, Value]:
        """Those of the parameters in a run."""
        return self._values


class _Looking(Evaluator):
    """Compiles expressions in which names are those of elements. steps : what compiles operators with it."""

    def __init__(self, tail: RowTail, text: str) -> None:
        super().__init__(text, tail.values, None, tail.allowance)
        self._tail, self.steps = tail, RowSteps(self, text)

    def close(self) -> None:
        """Let go of what it compiled for: together they would outlive their last user until garbage is collected."""
        del self._tail, self.steps

    def compiled(self, expression: Expression) -> Compiled:
        """As an `Evaluator`'s. Raises Unsuited where it needs an element itself."""
        if self._name(expression) is not None:
            raise Unsuited
        match expression:
            case Property(subject=subject, key=key) if name := self._name(subject):
                return self._tail.looked_up(name, self.steps.elements[name], key.text)
            case Call(function=function, arguments=(subject,)) if name := self._name(subject):
                match function.text.lower():
                    case "id":
                        return self._tail.looked_up(name, self.steps.elements[name], None)
                    case "labels":
                        return self._tail.labelled(name, self.steps.elements[name])
                    case "type":
                        return self._tail.typed(name, self.steps.elements[name])
        return super().compiled(expression)

    def _name(self, expression: Expression) -> str | None:
        """The name of the rows that an expression is, where it is an element."""
        match expression:
            case Variable(name=name):
                return name if name in self.steps.elements else None
            case ElementReference():
                return next(name for name, one in self.steps.elements.items() if one == expression)
        return None


def _number(name: str) -> Callable[[Row], int]:
    """What gives the vid or edge id that a row has by a name."""
    return cast("Callable[[Row], int]", itemgetter(name))


def _of_vertices(snapshot: Snapshot, key: str, kind: Kind, vids: list[int]) -> list[Value]:
    return _values(lookup.vertex_property(snapshot, np.array(vids, np.uint32), key, kind), vids)


def _of_edges(snapshot: Snapshot, key: str, kind: Kind, eids: list[int]) -> list[Value]:
    return _values(lookup.edge_property(snapshot, np.array(eids, np.int64), key, kind), eids)


def _values(found: Slice | None, of: list[int]) -> list[Value]:
    if found is None:
        return [None] * len(of)
    return [*map(from_store, found.to_list())]


def _types(snapshot: Snapshot, eids: list[int]) -> list[Value]:
    return cast("list[Value]", lookup.edge_types(snapshot, np.array(eids, np.int64)).to_list())


def _copied(labels: list[str], _: int) -> list[str]:
    return [*labels]


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
