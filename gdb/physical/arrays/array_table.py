"""Rows as columns: values, vids of nodes, handles of relationships; and expressions over them.

A name of the rows is one column. Nodes and relationships have no objects, so that an expression over arrays mentions
values only: it has the same value for a row whatever the rows before it write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from gdb.base.allowance import paced
from gdb.base.values.map_columns import MapColumns
from gdb.language.mentioned_names import asks, mentioned
from gdb.language.syntax import Expression, Literal, Parameter, Property, Variable
from gdb.physical.rows.stored import column_of_values
from gdb.records import dataclass
from gdb.storage.columns.model import I64, U32, Column
from gdb.storage.graph.pcsr import U64

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.run_context import RowContext


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
        """What tells them apart, u32[n]."""
        return self.vids

    def take(self, at: I64) -> Nodes:
        """The nodes of some rows."""
        return Nodes(self.vids[at])


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Relationships of one type, none of them null or deleted. handles : i64[n] (`Partitions.handles`)."""

    type: str
    handles: I64

    @property
    def numbers(self) -> U64:
        """What tells them apart, u64[n]."""
        return self.handles.view(np.uint64)

    def take(self, at: I64) -> Edges:
        """The relationships of some rows."""
        return Edges(self.type, self.handles[at])


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
    """Expressions over tables."""

    def __init__(self, context: RowContext) -> None:
        self.context = context

    def of(self, expression: Expression, table: ArrayTable) -> Values:
        """The value of an expression for each row.

        Raises
        ------
        NotForArrays : it mentions an element, or contains a subquery.
        QueryError : as `gdb.physical.evaluator`.
        """
        match expression:
            case Literal() | Parameter():
                value = self.context.evaluator.compiled(expression)({})
                return Values([value] * table.count)
            case Variable(name=name):
                return _values(table, name)
            case Property(subject=Variable(name=name), key=key) if _values(table, name).types == {
                dict
            }:
                return _values(table, name).of_key(key.text)
        if asks(expression):
            raise NotForArrays
        names = [name for name in table.columns if name in mentioned(expression)]
        columns = [_values(table, name).items for name in names]
        value_of = self.context.evaluator.compiled(expression)
        return Values(self._each(value_of, names, columns, table.count))

    def _each(
        self,
        value_of: Callable[[Row], Value],
        names: Sequence[str],
        columns: Sequence[Sequence[Value]],
        count: int,
    ) -> list[Value]:
        allowance = self.context.allowance
        level = allowance.made
        found: list[Value] = []
        rows = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
        for row in paced(rows if names else ({} for _ in range(count)), count):
            found.append(value_of(row))
            allowance.made = level
        return found

    def true_at(self, expression: Expression, table: ArrayTable) -> I64:
        """The rows for which a condition is true, i64[n]. Raises as `of`."""
        if asks(expression):
            raise NotForArrays
        names = [name for name in table.columns if name in mentioned(expression)]
        columns = [_values(table, name).items for name in names]
        test = self.context.evaluator.condition(expression)
        found = self._each(test, names, columns, table.count)
        return np.flatnonzero(np.fromiter((one is True for one in found), np.bool_, table.count))


def _values(table: ArrayTable, name: str) -> Values:
    found = table.columns[name]
    if not isinstance(found, Values):
        raise NotForArrays
    return found
