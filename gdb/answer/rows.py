"""The rows of an answer, however they are kept: columns in Arrow, as DuckDB made them, or Python objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, starmap
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np

from gdb.answer.row import Row, row_maker
from gdb.base import garbage
from gdb.executor.relational.batch import Batch
from gdb.executor.relational.relational_tail import Output, TailResult
from gdb.imports import deferred

if TYPE_CHECKING:
    from gdb.answer import entities
    from gdb.answer.entities import Cell, Node, Relationship
    from gdb.executor.relational.arrow import Array
    from gdb.storage.columns.model import I64, Kind
    from gdb.storage.graph.snapshot import Snapshot
else:
    entities = deferred("gdb.answer.entities")

Values: TypeAlias = "tuple[Cell, ...]"
"""A row without the names of its columns."""
Kinds: TypeAlias = "Callable[[], Sequence[Kind | None]]"

_AT_ONCE = 1 << 14
"""Rows that are made at once, with the collector of cycles at rest: it goes through rows, as it does not through plain
tuples."""
_FIRST = 1 << 6


class Answer(Protocol):
    """The columns of a result, however they are kept."""

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""

    def __len__(self) -> int: ...

    def chunks(self, size: int | None = None) -> Iterator[list[list[Cell]]]:
        """The columns as Python objects, some rows at a time, at most `size` where it is given."""
        ...

    def records(self, size: int | None = None) -> Iterator[Iterable[tuple[Any, ...]]]:
        """The same as rows."""
        ...

    def exported(self) -> Array:
        """The columns as Arrow, entities as structs."""
        ...

    def batches(self, size: int) -> Iterator[Array]:
        """The same, at most `size` rows at a time."""
        ...


def rows_of(answer: Answer, size: int | None = None) -> Iterator[Row]:
    """The rows of an answer. size : how many are turned into Python objects at a time; None for whole chunks."""
    if not answer.names:  # a procedure that gives nothing
        return iter(())
    if len(answer) <= _FIRST:
        made = row_maker(tuple(answer.names))
        return chain.from_iterable(map(made, records) for records in answer.records(size))
    return chain.from_iterable(_blocks(answer, size))


def tuples_of(answer: Answer) -> list[tuple[Any, ...]]:
    """All rows of an answer, without names: these are made in half of the time."""
    if not answer.names:
        return []
    if len(answer) <= _FIRST:
        return [*chain.from_iterable(answer.records())]
    rows: list[tuple[Any, ...]] = []
    with garbage.rarely():
        for records in answer.records():
            waiting = iter(records)
            while block := [*islice(waiting, _AT_ONCE)]:  # a signal is seen between two blocks
                rows += block
    return rows


def _blocks(answer: Answer, size: int | None) -> Iterator[list[Row]]:
    made, most = row_maker(tuple(answer.names)), _FIRST
    for records in answer.records(size):
        waiting = map(made, records)
        while block := _block(waiting, most):
            yield block
            most = min(most * 8, _AT_ONCE)


def _block(rows: Iterator[Row], most: int) -> list[Row]:
    if most == _FIRST:
        return [*islice(rows, most)]
    with garbage.rarely():
        return [*islice(rows, most)]


class ColumnAnswer:
    """An answer in Arrow, as DuckDB made it. snapshot : what vids and edge ids in it are looked up in; None where
    there are none."""

    def __init__(self, answer: TailResult, snapshot: Snapshot | None) -> None:
        self._answer, self._snapshot = answer, snapshot
        if snapshot is not None:
            for output in answer.outputs:
                if output.kind != "value":
                    entities.touch(snapshot, output.kind)

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return [output.name for output in self._answer.outputs]

    def __len__(self) -> int:
        return len(self._answer)

    def chunks(self, size: int | None = None) -> Iterator[list[list[Cell]]]:
        """The columns as Python objects, batch by batch of DuckDB's; a count is one row."""
        answer = self._answer.answer
        if isinstance(answer, int):
            count: list[list[Cell]] = [[answer]]
            return iter((count,))
        if size is None and isinstance(answer, Batch):  # most answers: no generator is made
            return iter((self._columns(answer),))
        return map(self._columns, _batches(answer, size))

    def records(self, size: int | None = None) -> Iterator[Iterable[tuple[Any, ...]]]:
        """The same as tuples, one for each row."""
        return starmap(zip, self.chunks(size))

    def _columns(self, batch: Batch) -> list[list[Cell]]:
        outputs = self._answer.outputs
        return [self._column(output, batch, index) for index, output in enumerate(outputs)]

    def exported(self) -> Array:
        """The columns as one Arrow array; entities become structs of their id, labels and properties."""
        from gdb.answer.export import export_answer  # here: it imports nanoarrow

        return export_answer(self._answer.outputs, self._answer.table, self._snapshot)

    def batches(self, size: int) -> Iterator[Array]:
        """The same as `exported`, at most `size` rows at a time."""
        from gdb.answer.export import export_answer  # here: it imports nanoarrow
        from gdb.executor.relational import arrow

        for chunk in self._answer.table.iter_chunks():
            yield from arrow.pieces(
                export_answer(self._answer.outputs, chunk, self._snapshot), size
            )

    def plain_column(self, index: int) -> list[Array] | None:
        """A column of plain values in Arrow, chunk by chunk; None where it has nodes or relationships."""
        if self._answer.outputs[index].kind != "value":
            return None
        from gdb.executor.relational import arrow  # here: it imports nanoarrow

        return [arrow.child(chunk, index) for chunk in self._answer.table.iter_chunks()]

    def _column(self, output: Output, batch: Batch, index: int) -> list[Cell]:
        if output.kind == "value" or self._snapshot is None:
            return cast("list[Cell]", batch.values(index))
        numbers, valid = batch.numbers(index)
        known = numbers if valid is None else numbers[valid]
        made = _elements(output, known, self._snapshot)
        if valid is None:
            return [*made]
        filled: Iterator[Node | Relationship] = iter(made)
        return [next(filled) if there else None for there in valid.tolist()]


def _elements(
    output: Output, numbers: I64, snapshot: Snapshot
) -> Sequence[Node] | Sequence[Relationship]:
    """The nodes or relationships of an output, by vid or edge id."""
    if output.kind == "node":
        return entities.nodes(snapshot, numbers.astype(np.uint32))
    return entities.relationships(snapshot, numbers)


def _batches(table: Array, size: int | None) -> Iterator[Batch]:
    """The chunks of a struct array, of at most `size` rows where it is given."""
    if isinstance(table, Batch):
        yield from (table,) if size is None else table.pieces(size)
        return
    from gdb.executor.relational import arrow  # what has no Arrow needs none

    for chunk in table.iter_chunks() if size is None else arrow.pieces(table, size):
        fields = range(len(arrow.names(table)))
        yield Batch([arrow.child(chunk, index) for index in fields], len(chunk))


class LineAnswer(ColumnAnswer):
    """A plan, line by line: it is shown whole, and not as a table of its first rows."""


class RowAnswer:
    """An answer of Python objects, row by row.

    kinds : those of the columns, None for one that is not known. Arrow takes the type of a column from its values, and
        where all are null from here.
    """

    def __init__(
        self, names: Sequence[str], rows: Sequence[Values], kinds: Kinds | None = None
    ) -> None:
        self._names, self._rows, self._kinds = names, rows, kinds

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self._names)

    def __len__(self) -> int:
        return len(self._rows)

    def chunks(self, size: int | None = None) -> Iterator[list[list[Cell]]]:
        """The rows turned into columns, at most `size` rows at a time; all at once for None."""
        for records in self.records(size):
            yield [[*column] for column in zip(*records, strict=True)]

    def records(self, size: int | None = None) -> Iterator[Sequence[Values]]:
        """The rows themselves, at most `size` at a time."""
        rows = self._rows
        if size is None or len(rows) <= size:  # most answers: no generator is made
            return iter((rows,) if rows else ())
        return (rows[start : start + size] for start in range(0, len(rows), size))

    def exported(self) -> Array:
        """The columns as one Arrow array, their types inferred from the values."""
        from gdb.answer.cells import table_of  # here: it imports nanoarrow

        return table_of(self._names, self._columns(), len(self._rows), self._kinds)

    def batches(self, size: int) -> Iterator[Array]:
        """The same as `exported`, at most `size` rows at a time, all with the same types."""
        from gdb.answer.cells import batches_of  # here: it imports nanoarrow

        return batches_of(self._names, self._columns(), len(self._rows), size, self._kinds)

    def _columns(self) -> list[list[Cell]]:
        return [[row[k] for row in self._rows] for k in range(len(self._names))]


class NumberedAnswer(RowAnswer):
    """An answer of Python objects in which nodes and relationships are still vids and edge ids, as in a
    `ColumnAnswer`."""

    def __init__(
        self, outputs: Sequence[Output], rows: Sequence[Values], snapshot: Snapshot
    ) -> None:
        kinds: list[Kind | None] = [
            output.values if output.kind == "value" else "int64" for output in outputs
        ]
        super().__init__([output.name for output in outputs], rows, lambda: kinds)
        self._outputs, self._snapshot = outputs, snapshot
        for output in outputs:
            if output.kind != "value":
                entities.touch(snapshot, output.kind)

    def records(self, size: int | None = None) -> Iterator[Sequence[Values]]:
        """The rows, at most `size` at a time, with an object for each node and relationship."""
        return map(self._filled, super().records(size))

    def exported(self) -> Array:
        """The columns as one Arrow array; elements become structs of their id, labels and properties."""
        from gdb.answer.export import export_answer  # here: it imports nanoarrow

        return export_answer(self._outputs, super().exported(), self._snapshot)

    def batches(self, size: int) -> Iterator[Array]:
        """The same as `exported`, at most `size` rows at a time."""
        from gdb.answer.export import export_answer  # here: it imports nanoarrow

        for some in super().batches(size):
            yield export_answer(self._outputs, some, self._snapshot)

    def _filled(self, rows: Sequence[Values]) -> Sequence[Values]:
        columns: list[Sequence[object]] = [*zip(*rows, strict=True)]
        for k, output in enumerate(self._outputs):
            if output.kind != "value":
                columns[k] = _elements(output, np.array(columns[k], np.int64), self._snapshot)
        return cast("list[Values]", [*zip(*columns, strict=True)])
