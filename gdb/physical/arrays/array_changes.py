"""Clauses that write, over arrays: what they create, set and delete goes into the transaction as columns.

A row sees what the rows before it wrote through MERGE, which makes one of rows with equal keys, and through properties
that the same SET changes, which arrays leave to rows. So all rows of a clause are written at once, and of several
values for one property of one element the last row's holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gdb.base import usage
from gdb.errors import ChangeRefused, InternalError
from gdb.language.clauses import Delete, SetAll, SetItem, SetLabels, SetProperty
from gdb.language.report import change_problem
from gdb.language.syntax import (
    Expression,
    Name,
    NodePattern,
    PathPattern,
    Property,
    RelationshipPattern,
    Variable,
    walk,
)
from gdb.physical.arrays.array_table import (
    PIECE,
    ArrayColumn,
    ArrayExpressions,
    ArrayTable,
    Edges,
    Nodes,
    NotForArrays,
    Values,
    property_values,
)
from gdb.physical.rows.creating import PLAIN, storable
from gdb.physical.rows.object_graph import HOW_TO_DETACH
from gdb.records import dataclass
from gdb.storage.columns.model import I64, Column
from gdb.storage.format.direction import Direction
from gdb.storage.graph.ascending import distinct, last_places

if TYPE_CHECKING:
    from gdb.answer.summary import Effects
    from gdb.physical.rows.object_graph import Graph
    from gdb.storage.write.transaction import Changes

_VERTEX, _EDGE, _SET = 50, 120, 16
"""Bytes of what is written of an element, until it is committed: ids, keys, and the orders that these are sorted by."""
_TIMES = 3
"""Copies of a column that is written: the clause's, the transaction's, and the one that is made of both."""

Assigned: TypeAlias = dict[str, Values]
"""Values by the key of the property that they are for."""


class ArrayChanges:
    """What clauses write into the transaction of a query."""

    def __init__(self, expressions: ArrayExpressions) -> None:
        self.expressions, self.context = expressions, expressions.context
        self.graph: Graph = self.context.graph
        self.effects: Effects = self.graph.effects
        if self.graph.changes is None:
            raise InternalError("a query that writes runs without a transaction.")
        self.changes: Changes = self.graph.changes

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around what is written: a property may become one of values of any type, and the graph is newer behind
        it."""
        self.changes.widens = True
        try:
            yield
        finally:
            self.changes.widens = False
            self.graph.behind = True

    # ---- CREATE ----------------------------------------------------------------------------------

    def create(self, patterns: Sequence[PathPattern], table: ArrayTable) -> ArrayTable:
        """The rows with what CREATE makes for each: all nodes get ids in the order of rows."""
        makers: list[_Made] = []
        known = {*table.columns}
        for pattern in patterns:
            if pattern.name is not None or any(part.named for part in pattern.parts):
                raise NotForArrays
            made = _Made(pattern, [])
            makers.append(made)
            for k, node in enumerate(pattern.nodes):
                name = _name(node)
                if name is None or name not in known:
                    made.fresh.append(k)
                    if name is not None:
                        known.add(name)
        each = sum(len(made.fresh) for made in makers)
        space, free = self.graph.ids_of_new() if each else ("", iter(()))
        every = np.empty(table.count * each, np.int64)
        for begin, end in usage.paced(len(every), PIECE):
            every[begin:end] = np.fromiter(islice(free, end - begin), np.int64, end - begin)
        ids = iter(np.ascontiguousarray(every.reshape(table.count, each).T))
        with self.writing():
            for made in makers:
                table = self._made(made, table, space, ids)
        return table

    def _made(self, made: _Made, table: ArrayTable, space: str, ids: Iterator[I64]) -> ArrayTable:
        pattern, ends = made.pattern, list[Nodes]()
        for k, node in enumerate(pattern.nodes):
            name = _name(node)
            if k not in made.fresh and name is not None:
                ends.append(Nodes(table.nodes(name)))
                continue
            one = self._nodes(node, table, space, next(ids))
            ends.append(one)
            if name is not None:
                table = table.with_columns({name: one})
        for k, between in enumerate(pattern.relationships):
            start, end = ends[k : k + 2]
            if between.direction is Direction.IN:
                start, end = end, start
            edges = self._edges(between, table, start, end)
            if between.variable is not None:
                table = table.with_columns({between.variable.text: edges})
        return table

    def _nodes(self, node: NodePattern, table: ArrayTable, space: str, ids: I64) -> Nodes:
        labels = tuple(sorted({label.text for term in node.labels for label in term}))
        columns = self._given(node, table)
        self.effects.nodes_created += len(ids)
        self.effects.labels_added += len(labels) * len(ids)
        if not len(ids):
            return Nodes(np.zeros(0, np.uint32))
        self._hold(_VERTEX * len(ids), columns)
        return Nodes(self.changes.add_vertices(labels, space, Column("int64", ids), columns))

    def _edges(
        self, between: RelationshipPattern, table: ArrayTable, start: Nodes, end: Nodes
    ) -> Edges:
        (type_,) = [one.text for one in between.types]
        columns = self._given(between, table)
        self.effects.relationships_created += table.count
        if not table.count:
            return Edges(type_, np.zeros(0, np.int64))
        self._hold(_EDGE * table.count, columns)
        directed = self.changes.directed(type_) is not False
        return Edges(type_, self.changes.add_edges(type_, directed, start.vids, end.vids, columns))

    def _given(
        self, part: NodePattern | RelationshipPattern, table: ArrayTable
    ) -> Mapping[str, Column]:
        """The properties that a pattern gives elements, as columns; those that are null throughout are none."""
        found: Assigned = {}
        for key, expression in part.properties:
            found[key.text] = self._storable(expression, table)
        if part.given is not None:
            found |= self._of_maps(part.given, table)
        none = {type(None)}
        self.effects.properties_set += sum(_present(values) for values in found.values())
        return {k: found[k].column(k) for k in sorted(found) if found[k].types - none}

    # ---- values ----------------------------------------------------------------------------------

    def _storable(self, expression: Expression, table: ArrayTable) -> Values:
        found = self.expressions.of(expression, table)
        self._check(found, expression)
        return found

    def _check(self, found: Values, expression: Expression) -> None:
        if not found.types <= PLAIN:
            for value in found.items:
                storable(self.context, value, expression.place)

    def _of_maps(self, expression: Expression, table: ArrayTable) -> Assigned:
        """The values of maps that all have the same keys, by key."""
        found = self.expressions.of(expression, table)
        if found.types != {dict} or not table.count:
            raise NotForArrays
        maps = [one for one in found.items if isinstance(one, dict)]
        keys = maps[0].keys()
        if any(one.keys() != keys for one in maps):
            raise NotForArrays
        fields = {key: found.of_key(key) for key in keys}
        for values in fields.values():
            self._check(values, expression)
        return fields

    # ---- SET and REMOVE --------------------------------------------------------------------------

    def assigned(self, items: Sequence[SetItem], table: ArrayTable) -> dict[str, Assigned]:
        """What SET gives the properties of each name, before anything is written.

        Raises
        ------
        NotForArrays : what a row reads or sets last may depend on the rows before.
        """
        found: dict[str, Assigned] = {}
        for item in items:
            match item:
                case SetProperty(target=Property(subject=Variable(name=name), key=key)):
                    more = {key.text: self._storable(item.value, table)}
                case SetAll(variable=Variable(name=name), add=True):
                    more = self._of_maps(item.value, table)
                case _:
                    raise NotForArrays
            # two names may mean one element
            if any(key in own for own in found.values() for key in more):
                raise NotForArrays
            found.setdefault(name, {}).update(more)
        self._refuse_dependent(items, {key for own in found.values() for key in own}, table)
        return found

    def _refuse_dependent(
        self, items: Sequence[SetItem], keys: set[str], table: ArrayTable
    ) -> None:
        """Raise NotForArrays where a value reads a property that is set; of an element in one row only its own may be
        read. keys : that are set."""
        for item in items:
            for name, key in () if isinstance(item, SetLabels) else reads(item.value, table):
                if key not in keys:
                    continue
                match item:
                    case SetProperty(
                        target=Property(subject=Variable(name=own), key=Name(text=text))
                    ) if (own, text) == (name, key):
                        of = table.columns[name]
                        if isinstance(of, Values) or _repeats(of):
                            raise NotForArrays
                    case _:
                        raise NotForArrays

    def assign(self, assigned: Mapping[str, Assigned], table: ArrayTable) -> None:
        """Set properties, of an element in several rows the last one's value."""
        for name, values in assigned.items():
            of = table.columns[name]
            if isinstance(of, Values):
                raise NotForArrays
            if values and table.count:
                with self.writing():
                    self._set(of, values)

    def _set(self, of: Nodes | Edges, values: Assigned) -> None:
        numbers = of.numbers
        last = last_places(numbers)[1]
        null = {key for key, some in values.items() if type(None) in some.types}
        if null and len(last) < len(numbers):
            raise NotForArrays  # whether null takes something away depends on the rows before
        whole = np.array_equal(last, np.arange(len(numbers)))
        columns: dict[str, Column] = {}
        for key, some in values.items():
            if key in null:
                self._set_with_null(of, key, some)
                continue
            self.effects.properties_set += len(numbers)
            if whole or len(some.types) == 1:
                column = some.column(key)
                columns[key] = column if whole else column.take(last)
            else:
                columns[key] = some.take(last).column(key)
        if columns:
            self._put(of.take(last) if not whole else of, columns)

    def _set_with_null(self, of: Nodes | Edges, key: str, values: Values) -> None:
        """Set a property of distinct elements where some values are null: these take away what is there."""
        there = np.array(
            [one is not None for one in property_values(self.changes.view, of, key)], np.bool_
        )
        given = np.array([value is not None for value in values.items], np.bool_)
        self.effects.properties_set += int(given.sum())
        self.effects.properties_removed += int((there & ~given).sum())
        kept = np.flatnonzero(given | there)
        if len(kept):
            self._put(of.take(kept), {key: values.take(kept).column(key)})

    def _hold(self, size: int, columns: Mapping[str, Column]) -> None:
        """Account for what the transaction holds until it ends. Raises OutOfBudget."""
        written = sum(column.nbytes for column in columns.values())
        self.context.allowance.keep(size + _TIMES * written, "what it writes")

    def _put(self, of: Nodes | Edges, columns: Mapping[str, Column]) -> None:
        self._hold(_SET * len(of.numbers), columns)
        if isinstance(of, Nodes):
            self.changes.set_vertices(of.vids, columns)
        else:
            self.changes.set_named_edges(of.type, of.handles, columns)

    def remove(self, items: Sequence[object], table: ArrayTable) -> None:
        """REMOVE of properties."""
        for item in items:
            match item:
                case Property(subject=Variable(name=name), key=key):
                    of = table.columns[name]
                case _:
                    raise NotForArrays
            if isinstance(of, Values):
                raise NotForArrays
            numbers = of.vids if isinstance(of, Nodes) else of.handles
            last = last_places(numbers.view(np.uint64) if isinstance(of, Edges) else of.vids)[1]
            with self.writing():
                self._set_with_null(of.take(last), key.text, Values([None] * len(last)))

    # ---- DELETE ----------------------------------------------------------------------------------

    def delete(self, clause: Delete, table: ArrayTable) -> None:
        """DELETE of elements that have a name: relationships first, so that a node whose last one goes here can go."""
        targets: list[tuple[ArrayColumn, Expression]] = []
        for target in clause.targets:
            if not isinstance(target, Variable) or isinstance(table.columns[target.name], Values):
                raise NotForArrays
            targets.append((table.columns[target.name], target))
        nodes = [(distinct(of.vids), target) for of, target in targets if isinstance(of, Nodes)]
        with self.writing():
            for of, _ in targets:
                if isinstance(of, Edges):
                    self._delete_edges(of.type, of.handles)
            if clause.detach and nodes:
                every = distinct(np.concatenate([vids for vids, _ in nodes]))
                for name, handles in self.changes.view.handles_at(every):
                    self._delete_edges(name, handles)
            gone = np.zeros(0, np.uint32)
            for vids, target in nodes:
                fresh = np.setdiff1d(vids, gone, assume_unique=True)
                gone = np.union1d(gone, fresh).astype(np.uint32)
                self.effects.nodes_deleted += len(fresh)
                try:
                    self.changes.remove_vertices(fresh, detach=False)
                except ChangeRefused as error:
                    raise change_problem(
                        self.context.text, target.place, error.reason, HOW_TO_DETACH
                    ) from None

    def _delete_edges(self, name: str, handles: I64) -> None:
        handles = np.unique(handles)
        self.effects.relationships_deleted += len(handles)
        if len(handles):
            self.changes.remove_named_edges(name, handles)


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """A pattern of CREATE. fresh : the places of the nodes that it makes."""

    pattern: PathPattern
    fresh: list[int]


def _name(node: NodePattern) -> str | None:
    return None if node.variable is None else node.variable.text


def _present(values: Values) -> int:
    """How many values are not null."""
    if type(None) not in values.types:
        return len(values.items)
    return sum(value is not None for value in values.items)


def reads(expression: Expression, table: ArrayTable) -> Iterator[tuple[str, str]]:
    """The names of elements and the keys of the properties that an expression reads."""
    for part in walk(expression):
        match part:
            case Property(subject=Variable(name=name), key=key):
                if not isinstance(table.columns.get(name), (Values, type(None))):
                    yield name, key.text


def _repeats(of: Nodes | Edges) -> bool:
    """Whether an element is in several rows."""
    return len(last_places(of.numbers)[1]) < len(of.numbers)
