"""Rows as columns: values, vids of nodes, handles of relationships; and expressions over them.

A name of the rows is one column. Nodes and relationships have no objects: of an element an expression reads properties,
as columns of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

import numpy as np

from gdb.base.allowance import here, paced
from gdb.base.values.map_columns import MapColumns
from gdb.base.values.sizes import POINTER, Growing, size_of
from gdb.executor.relational import lookup
from gdb.language.hidden_names import HIDDEN
from gdb.language.mentioned_names import asks, mentioned
from gdb.language.syntax import (
    Expression,
    ListComprehension,
    Literal,
    Parameter,
    Property,
    Quantified,
    Reduce,
    Variable,
    rebuilt,
    walk,
)
from gdb.physical.rows.stored import column_of_values, from_store
from gdb.records import dataclass
from gdb.storage.columns.model import I64, U32, Column
from gdb.storage.graph.pcsr import U64
from gdb.storage.graph.vid_ranges import by_number

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.run_context import RowContext
    from gdb.storage.columns.slices import Slice
    from gdb.storage.graph.snapshot import Snapshot

Result = TypeVar("Result")
PIECE = 1 << 16
"""Rows whose properties are read, or that are numbered, between two looks at budget and clock."""


class NotForArrays(Exception):
    """An operator, or the values that it meets, are for rows; what it has written is taken back."""


class Values:
    """Values of the language, one for each row.

    items : of integers of 64 bits an array may be given.
    """

    __slots__ = ("_fields", "_integers", "_items", "_types")

    def __init__(self, items: Sequence[Value] | I64) -> None:
        self._items: Sequence[Value] | None = None
        self._integers: I64 | None = None
        self._types: frozenset[type] | None = None
        self._fields: dict[str, Values] = {}
        if isinstance(items, np.ndarray):
            self._integers = items
            self._types = frozenset({int} if len(items) else ())
            return
        self._items = items
        if isinstance(items, MapColumns):
            columns = cast("Mapping[str, Sequence[Value]]", items.columns)
            self._fields = {key: Values(column) for key, column in columns.items()}

    def __len__(self) -> int:
        return len(self._items if self._items is not None else self.items)

    @property
    def items(self) -> Sequence[Value]:
        """The values one by one."""
        if self._items is None:
            assert self._integers is not None
            self._items = cast("Sequence[Value]", self._integers.tolist())
        return self._items

    @property
    def types(self) -> frozenset[type]:
        """The classes of the values."""
        if self._types is None:
            self._types = frozenset(map(type, self.items))
        return self._types

    @property
    def looked_up(self) -> Sequence[Value] | I64:
        """The values, as an array where all are integers of 64 bits."""
        if self._integers is None and self.types == {int}:
            try:
                self._integers = np.array(self.items, np.int64)
            except OverflowError:
                return self.items
        return self.items if self._integers is None else self._integers

    def column(self, key: str) -> Column:
        """As a column of a property. Raises ChangeRefused: a value cannot be stored."""
        found = self.looked_up
        if isinstance(found, np.ndarray):
            return Column("int64", found)
        return column_of_values(key, found)

    def of_key(self, key: str) -> Values:
        """A property of maps, null where one has none. Raises NotForArrays: they are not all maps."""
        found = self._fields.get(key)
        if found is None:
            if self.types != {dict}:
                raise NotForArrays
            maps = cast("Sequence[Mapping[str, Value]]", self.items)
            found = self._fields[key] = Values([one.get(key) for one in maps])
        return found

    def take(self, at: I64) -> Values:
        """The values of some rows."""
        found = self.looked_up
        if isinstance(found, np.ndarray):
            return Values(found[at])
        return Values([found[k] for k in at.tolist()])


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Nodes, none of them null or deleted. vids : u32[n], of the graph with what was written so far."""

    vids: U32

    @property
    def numbers(self) -> U32:
        """What identifies them, u32[n]."""
        return self.vids

    def take(self, at: I64) -> Nodes:
        """The nodes of some rows."""
        return Nodes(self.vids[at])

    def part(self, begin: int, end: int) -> Nodes:
        """The nodes of the rows from one to another."""
        return Nodes(self.vids[begin:end])


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Relationships of one type, none of them null or deleted. handles : i64[n] (`Partitions.handles`)."""

    type: str
    handles: I64

    @property
    def numbers(self) -> U64:
        """What identifies them, u64[n]."""
        return self.handles.view(np.uint64)

    def take(self, at: I64) -> Edges:
        """The relationships of some rows."""
        return Edges(self.type, self.handles[at])

    def part(self, begin: int, end: int) -> Edges:
        """The relationships of the rows from one to another."""
        return Edges(self.type, self.handles[begin:end])


ArrayColumn: TypeAlias = Values | Nodes | Edges


class ArrayTable:
    """`count` rows, and a column for each of their names, in the order in which these came."""

    __slots__ = ("columns", "count")

    def __init__(self, count: int, columns: Mapping[str, ArrayColumn]) -> None:
        self.count, self.columns = count, dict(columns)

    def __len__(self) -> int:
        return self.count

    def take(self, at: I64) -> ArrayTable:
        """Some rows, also several times."""
        if len(at) == self.count and (at == np.arange(self.count)).all():
            return self
        return ArrayTable(len(at), {name: one.take(at) for name, one in self.columns.items()})

    def with_columns(self, more: Mapping[str, ArrayColumn]) -> ArrayTable:
        """The rows with more names."""
        return ArrayTable(self.count, {**self.columns, **more})

    def nodes(self, name: str) -> U32:
        """The vids of a name. Raises NotForArrays: it is not of nodes."""
        found = self.columns[name]
        if not isinstance(found, Nodes):
            raise NotForArrays
        return found.vids


class ArrayExpressions:
    """Expressions over tables. Of elements they read properties, of the graph with what was written so far."""

    def __init__(self, context: RowContext) -> None:
        self.context = context

    def of(self, expression: Expression, table: ArrayTable) -> Values:
        """The value of an expression for each row.

        Raises
        ------
        NotForArrays : it uses more of an element than its properties, or contains a subquery.
        QueryError : as `gdb.physical.evaluator`. Cancelled, QueryTimeout.
        """
        self.context.allowance.pulse()
        match expression:
            case Literal() | Parameter():
                value = self.context.evaluator.compiled(expression)({})
                return Values([value] * table.count)
            case Variable(name=name):
                return _values(table.columns[name])
            case Property(subject=Variable(name=name), key=key) if name in table.columns:
                of = table.columns[name]
                if not isinstance(of, Values):
                    return self._property(of, key.text, table)
                if of.types == {dict}:
                    return of.of_key(key.text)
        found, names, columns = self._plain(expression, table)
        compiled = self.context.evaluator.compiled(found)
        return Values(self._each(compiled, names, columns, table.count))

    def true_at(self, expression: Expression, table: ArrayTable) -> I64:
        """The rows for which a condition is true, i64[n]. Raises as `of`."""
        plain, names, columns = self._plain(expression, table)
        test = self.context.evaluator.condition(plain)
        found = self._each(test, names, columns, table.count)
        return np.flatnonzero(np.fromiter((one is True for one in found), np.bool_, table.count))

    def _plain(
        self, expression: Expression, table: ArrayTable
    ) -> tuple[Expression, list[str], list[Sequence[Value]]]:
        """An expression in which variables replace the properties of elements, and the columns that it mentions."""
        if asks(expression):
            raise NotForArrays
        read: dict[str, Values] = {}

        def replaced(part: Expression) -> Expression | None:
            match part:
                case Property(subject=Variable(name=name), key=key):
                    of = table.columns.get(name)
                    if of is not None and not isinstance(of, Values):
                        hidden = f"{HIDDEN}{name}.{key.text}"
                        read[hidden] = self._property(of, key.text, table)
                        return Variable(hidden, part.place)
            return None

        plain = rebuilt(expression, replaced)
        if read and any(name in table.columns for name in _own_names(expression)):
            raise NotForArrays  # a name inside may be that of an element outside
        names = [name for name in table.columns if name in mentioned(plain)]
        columns = [_values(table.columns[name]).items for name in names]
        return plain, [*names, *read], [*columns, *(values.items for values in read.values())]

    def _each(
        self,
        value_of: Callable[[Row], Result],
        names: Sequence[str],
        columns: Sequence[Sequence[Value]],
        count: int,
    ) -> list[Result]:
        """The values of an expression; they count until the operator has run."""
        allowance = self.context.allowance
        level = allowance.made
        found: list[Result] = []
        every = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
        growing = Growing(allowance, "the values of a clause")
        for row in paced(every if names else ({} for _ in range(count)), count):
            found.append(value_of(row))
            growing.turn(found)
        allowance.made = level
        allowance.make(size_of(found), "the values of a clause")
        return found

    def _property(self, of: Nodes | Edges, key: str, table: ArrayTable) -> Values:
        changes = self.context.graph.changes
        if changes is None or len(of.numbers) != table.count:
            raise NotForArrays  # an element that is not made yet
        return Values(property_values(changes.view, of, key))


def property_values(view: Snapshot, of: Nodes | Edges, key: str) -> list[Value]:
    """A property of elements, null where one has none; each value as its label or type has it. The values count until
    the operator has run. Raises OutOfBudget."""
    here().make(POINTER * len(of.numbers), "the values of a clause")
    found: list[Value] = []
    for start in range(0, len(of.numbers), PIECE):
        found += _some_values(view, of.part(start, start + PIECE), key)
    return found


def _some_values(view: Snapshot, of: Nodes | Edges, key: str) -> list[Value]:
    found: list[Value] = [None] * len(of.numbers)
    if isinstance(of, Edges):
        type_ = view.edge_type(of.type)
        kind = None if type_ is None else type_.keys.get(key)
        if kind is None:
            return found
        eids = view.edges_called(of.type, of.handles)
        return _in_query(lookup.edge_property(view, eids, key, kind), found)
    for number, at in by_number(view.groups_of(of.vids)):
        kind = view.groups[number].keys.get(key)
        if kind is not None:
            column = lookup.vertex_property(view, of.vids[at], key, kind)
            values = _in_query(column, found[: len(at)])
            if len(at) == len(found):
                return values
            for place, value in zip(at.tolist(), values, strict=True):
                found[place] = value
    return found


def _in_query(column: Slice | None, missing: list[Value]) -> list[Value]:
    if column is None:
        return missing
    stored, allowance = column.taken(), here()
    level = allowance.made
    allowance.make(stored.nbytes, "the values of a clause")  # texts take no less, and may be large
    values = [from_store(value) for value in stored.to_list()]
    allowance.made = level
    allowance.make(size_of(values), "the values of a clause")
    return values


def _own_names(expression: Expression) -> Iterator[str]:
    """The names that parts of an expression introduce."""
    for part in walk(expression):
        match part:
            case ListComprehension(variable=name) | Quantified(variable=name):
                yield name.text
            case Reduce(variable=name, total=total):
                yield from (name.text, total.text)


def _values(column: ArrayColumn) -> Values:
    if not isinstance(column, Values):
        raise NotForArrays
    return column
