"""What a query gives back: rows as tuples, or columns as Arrow.

The answer is kept as Arrow, the way DuckDB made it; values become Python objects chunk by chunk, when
rows are asked for. What stays on a GPU is kept as columns of ids there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from gdb.answer.summary import Summary
from gdb.errors import GdbError, NotOneRow, TypeProblem
from gdb.executor.batch import Batch
from gdb.executor.tail import Output, TailResult
from gdb.imports import deferred

if TYPE_CHECKING:
    import networkx
    import pandas
    import polars
    import pyarrow

    from gdb.answer import entities
    from gdb.answer.entities import Cell, Node, Relationship
    from gdb.executor.arrow import Array
    from gdb.storage.snapshot import Snapshot
else:
    entities = deferred("gdb.answer.entities")

Row: TypeAlias = "tuple[Cell, ...]"


_AT_ONCE = 1 << 16


class Answer(Protocol):
    """The columns of a result, however they are kept."""

    @property
    def names(self) -> list[str]: ...

    def __len__(self) -> int: ...

    def chunks(self) -> Iterator[list[list[Cell]]]:
        """The columns, some rows at a time, as Python objects."""
        ...

    def exported(self) -> Array:
        """The columns as Arrow, entities as structs."""
        ...

    def batches(self, size: int) -> Iterator[Array]:
        """The same, at most `size` rows at a time."""
        ...


def rows_of(answer: Answer) -> Iterator[Row]:
    """The rows of an answer, some at once: CPython looks for no signals in `yield from`."""
    for chunk in answer.chunks():
        rows = zip(*chunk, strict=True)
        for _ in range(0, len(chunk[0]) if chunk else 0, _AT_ONCE):
            yield from islice(rows, _AT_ONCE)


class ColumnAnswer:
    """An answer in Arrow, as DuckDB made it. snapshot : what vids and edge ids in it are looked up in; None where
    there are none."""

    def __init__(self, answer: TailResult, snapshot: Snapshot | None) -> None:
        self._answer, self._snapshot = answer, snapshot
        if snapshot is not None:
            for output in answer.outputs:  # not `any` of a generator, which takes a microsecond
                if output.kind != "value":
                    entities.touch(snapshot)
                    break

    @property
    def names(self) -> list[str]:
        return [output.name for output in self._answer.outputs]

    def __len__(self) -> int:
        return len(self._answer)

    def chunks(self) -> Iterator[list[list[Cell]]]:
        if isinstance(self._answer.answer, int):
            yield [[self._answer.answer]]
            return
        table = self._answer.table
        for batch in (table,) if isinstance(table, Batch) else _batches(table):
            yield [
                self._column(output, batch, index)
                for index, output in enumerate(self._answer.outputs)
            ]

    def exported(self) -> Array:
        from gdb.answer.export import exported

        return exported(self._answer.outputs, self._answer.table, self._snapshot)

    def batches(self, size: int) -> Iterator[Array]:
        from gdb.answer.export import exported
        from gdb.executor import arrow

        for chunk in self._answer.table.iter_chunks():
            yield from arrow.pieces(exported(self._answer.outputs, chunk, self._snapshot), size)

    def _column(self, output: Output, batch: Batch, index: int) -> list[Cell]:
        if output.kind == "value" or self._snapshot is None:
            return [*batch.values(index)]
        numbers, valid = batch.numbers(index)
        known = numbers if valid is None else numbers[valid]
        made: Sequence[Node] | Sequence[Relationship]
        if output.kind == "node":
            made = entities.nodes(self._snapshot, known.astype(np.uint32))
        else:
            made = entities.relationships(self._snapshot, known)
        if valid is None:
            return [*made]
        filled: Iterator[Node | Relationship] = iter(made)
        return [next(filled) if there else None for there in valid.tolist()]


def _batches(table: Array) -> Iterator[Batch]:
    """The chunks of a struct array."""
    from gdb.executor import arrow  # what has no Arrow needs none

    for chunk in table.iter_chunks():
        fields = range(len(arrow.names(table)))
        yield Batch([arrow.child(chunk, index) for index in fields], len(chunk))


class RowAnswer:
    """An answer of Python objects, row by row."""

    def __init__(self, names: Sequence[str], rows: Sequence[Row]) -> None:
        self._names, self._rows = list(names), rows

    @property
    def names(self) -> list[str]:
        return list(self._names)

    def __len__(self) -> int:
        return len(self._rows)

    def chunks(self) -> Iterator[list[list[Cell]]]:
        if self._rows:
            yield [list(column) for column in zip(*self._rows, strict=True)] or [[]]

    def exported(self) -> Array:
        from gdb.answer.cells import table_of

        return table_of(self._names, self._columns(), len(self._rows))

    def batches(self, size: int) -> Iterator[Array]:
        from gdb.answer.cells import batches_of

        return batches_of(self._names, self._columns(), len(self._rows), size)

    def _columns(self) -> list[list[Cell]]:
        return [[row[k] for row in self._rows] for k in range(len(self._names))]


class Result:
    """The answer of one query: its rows as tuples, or as a whole as Arrow.

    Iterating starts from the first row every time; `fetchone`, `fetchmany` and `fetchall` go on from where
    the one before stopped. A Result stays readable after its database is closed. One Result is not for
    several threads at once.
    """

    def __init__(
        self, answer: Answer, *, warnings: Sequence[str] = (), summary: Summary | None = None
    ) -> None:
        self._answer = answer
        self._cursor: Iterator[Row] | None = None
        self.warnings: tuple[str, ...] = tuple(warnings)
        self.summary = summary or Summary(rows=len(answer))

    @classmethod
    def of_lines(cls, column: str, lines: Sequence[str], summary: Summary | None = None) -> Result:
        """A Result of one string column (EXPLAIN)."""
        from gdb.executor import arrow
        from gdb.storage.model import Column

        text = arrow.column_array(Column.from_list(lines, "string"))
        table = arrow.struct_array(["o0"], [text], len(lines))
        return cls(ColumnAnswer(TailResult((Output(column),), table), None), summary=summary)

    @property
    def answer(self) -> Answer:
        """The rows, as whatever ran the query left them."""
        return self._answer

    @property
    def columns(self) -> list[str]:
        """The names of the columns, as RETURN gives them."""
        return self._answer.names

    def __len__(self) -> int:
        return len(self._answer)

    def __iter__(self) -> Iterator[Row]:
        return rows_of(self._answer)

    def fetchone(self) -> Row | None:
        """The next row, or None after the last."""
        if self._cursor is None:
            self._cursor = iter(self)
        return next(self._cursor, None)

    def fetchmany(self, size: int = 1000) -> list[Row]:
        """The next `size` rows, fewer at the end."""
        rows: list[Row] = []
        while len(rows) < size and (row := self.fetchone()) is not None:
            rows.append(row)
        return rows

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        if self._cursor is None:
            self._cursor = iter(self)
        return list(self._cursor)

    def scalar(self) -> Cell:
        """The first column of the first row, None where there is no row."""
        first = next(iter(self), None)
        return None if first is None else first[0]

    def single(self) -> Row:
        """The only row.

        Raises
        ------
        NotOneRow : there are none, or several.
        """
        if len(self) != 1:
            raise NotOneRow(
                f"the answer has {len(self):,} rows, not one.", "Add LIMIT 1, or take fetchone()."
            )
        return next(iter(self))

    def __repr__(self) -> str:
        return f"<gdb.Result: {len(self)} rows of {', '.join(self.columns)}>"

    # ---- Arrow and data frames ---------------------------------------------------------------------

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's PyCapsule interface: `polars.DataFrame(r)`, `pyarrow.table(r)`, `duckdb.sql("FROM r")`.

        Nodes become structs of id, labels and properties; relationships structs of type, start, end and
        properties; maps and paths structs as well; `gdb.answer.cells` tells what becomes of all other values.
        """
        return self._answer.exported().__arrow_c_stream__(requested_schema)

    def batches(self, size: int = 65_536) -> Iterator[Array]:
        """The rows as Arrow, at most `size` at a time, all of one type; no rows, no batches.

        Each is a struct array with the columns as its fields, which `pyarrow.record_batch`, `polars.DataFrame` and all
        that knows Arrow's PyCapsule interface takes. A batch is made when it is asked for.

        Raises
        ------
        TypeProblem : `size` is no positive integer.
        """
        return self._answer.batches(batch_size(size))

    def networkx(self) -> networkx.MultiDiGraph | networkx.MultiGraph:
        """A graph of networkx of all nodes and relationships in the answer, also of those in paths, lists and maps.

        It is a MultiGraph where all relationships are undirected, else a MultiDiGraph, in which an undirected one
        stands in both directions. A node is called by its id, by (id space, id) where it has an id space; it has its
        properties and `labels` as attributes, a relationship, under its id as key, its properties and `type` (they
        win over properties of these names). An end that is not in the answer as a node has no attributes.
        `db.load(r.networkx())` makes the same graph, but that it takes no id spaces and one direction for all. networkx
        must be installed.
        """
        try:
            import networkx  # noqa: F401
        except ImportError:
            raise _missing("networkx", "networkx") from None
        from gdb.answer.networkx_graph import graph_of

        return graph_of(cell for row in self for cell in row)

    def arrow(self) -> pyarrow.Table:
        """A pyarrow Table (needs pyarrow)."""
        try:
            import pyarrow
        except ImportError:
            raise _missing("arrow", "pyarrow") from None
        return pyarrow.table(self)

    def pl(self) -> polars.DataFrame:
        """A polars DataFrame (needs polars)."""
        try:
            import polars
        except ImportError:
            raise _missing("pl", "polars") from None
        return polars.DataFrame(self)

    def df(self) -> pandas.DataFrame:
        """A pandas DataFrame (needs pandas); nodes stay objects, integers beside nulls are Int64."""
        try:
            import pandas
        except ImportError:
            raise _missing("df", "pandas") from None
        columns: list[list[Cell]] = [[] for _ in self.columns]
        for chunk in self._answer.chunks():
            for column, cells in zip(columns, chunk, strict=True):
                column.extend(cells)
        series = [pandas.Series(cells, dtype=_pandas_dtype(cells)) for cells in columns]
        frame = pandas.concat(series, axis=1) if series else pandas.DataFrame()
        frame.columns = self.columns
        return frame


class DeviceColumn(Protocol):
    """An array in the memory of a GPU: i64[rows]. In fact a `cupy.ndarray`; this is what others may rely on."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def __cuda_array_interface__(self) -> Mapping[str, object]: ...

    def __dlpack__(self, *, stream: int | None = None) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


class DeviceColumns(Mapping[str, DeviceColumn]):
    """The answer of `Database.device_columns`: the columns in the order of RETURN, by name, on one GPU.

    Each is an int64 array of user's ids, one for each row, complete and in nobody else's use:
    `cupy.asarray(found["a"])` and `torch.from_dlpack(found["a"])` take it without a copy. It lives as long as anybody
    holds it, also after the database is closed. Rows are in no promised order, the same in all columns.
    """

    def __init__(
        self, columns: Mapping[str, DeviceColumn], warnings: Sequence[str], summary: Summary
    ) -> None:
        self._columns = columns
        self.warnings: tuple[str, ...] = tuple(warnings)
        self.summary = summary

    @property
    def columns(self) -> list[str]:
        """The names of the columns, as RETURN gives them."""
        return [*self._columns]

    @property
    def rows(self) -> int:
        """How many values each column has."""
        return self.summary.rows

    def __getitem__(self, name: str) -> DeviceColumn:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        where = self.summary.device
        return f"<gdb.DeviceColumns: {self.rows} rows of {', '.join(self.columns)} on {where}>"


def batch_size(size: int) -> int:
    """How many rows a batch has at most.

    Raises
    ------
    TypeProblem : it is no positive integer.
    """
    if type(size) is not int or size < 1:
        raise TypeProblem(f"size= takes a positive integer, not {size!r}.")
    return size


def _pandas_dtype(cells: Sequence[Cell]) -> str | None:
    """What a column is in pandas; None where pandas finds the same itself. "object" keeps the values as they are."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    nulls = any(cell is None for cell in cells)
    if kinds == {int}:
        return ("Int64" if nulls else "int64") if all(map(_is_int64, cells)) else "object"
    if kinds == {bool}:
        return "boolean" if nulls else "bool"
    if kinds == {datetime}:  # pandas would have nanoseconds, and of the year 1 none
        zones = {cell.tzinfo for cell in cells if isinstance(cell, datetime)}
        return "datetime64[us]" if zones == {None} else "object"
    if kinds == {timedelta}:
        return "timedelta64[us]"
    return None if kinds in ({float}, {str}) else "object"


def _is_int64(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, int) and -(2**63) <= cell < 2**63)


def _missing(method: str, package: str) -> GdbError:
    return GdbError(
        f"Result.{method}() needs {package}, which is not installed.",
        f'Install it: pip install {package} (or pip install "gdb-embedded[arrow]").',
    )
