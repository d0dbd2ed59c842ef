"""The result of a query: rows, which are tuples with names, or columns as Arrow.

The answer is kept as whatever ran the query left it; values become Python objects when rows are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, overload

from gdb.answer.rows import LineAnswer, rows_of, tuples_of
from gdb.answer.summary import Summary
from gdb.base import garbage
from gdb.base.closing import Uncopied
from gdb.errors import GdbError, NotOneRow, TypeProblem, WrongType
from gdb.executor.relational.relational_tail import Output, TailResult
from gdb.imports import imported

if TYPE_CHECKING:
    import networkx
    import numpy.typing as npt
    import pandas
    import polars
    import pyarrow

    from gdb.answer.drawing.drawing import Drawing
    from gdb.answer.row import Row
    from gdb.answer.rows import Answer
    from gdb.executor.relational.arrow import Array

T = TypeVar("T")
SHOWN = 10
"""Rows that are shown of a result."""


class Result(Uncopied):
    """The answer of one query: its rows, which are tuples with names (`Row`), or as a whole as Arrow.

    Shown, by `print` or in a notebook, it is a table of its first rows; a plan (EXPLAIN, PROFILE) is shown whole.

    Iterating starts from the first row every time; `fetchone`, `fetchmany` and `fetchall` go on from where
    the one before stopped. A Result stays readable after its database is closed. One Result is not for
    several threads at once.
    """

    # some hold columns of the store in place, which no other process has
    _instead = "Give its rows, result.fetchall(), or all as Arrow, result.arrow()."

    def __init__(
        self,
        answer: Answer,
        *,
        warnings: Sequence[str] = (),
        summary: Summary | Callable[[], Summary] | None = None,
    ) -> None:
        self._answer = answer
        self._cursor: Iterator[Row] | None = None
        self.warnings: tuple[str, ...] = tuple(warnings)
        self._summary = summary or Summary(rows=len(answer))

    @property
    def summary(self) -> Summary:
        """How the query went."""
        if not isinstance(self._summary, Summary):
            self._summary = self._summary()
        return self._summary

    @classmethod
    def of_lines(cls, column: str, lines: Sequence[str], summary: Summary | None = None) -> Result:
        """A Result of one string column (EXPLAIN)."""
        from gdb.executor.relational import arrow
        from gdb.storage.columns.python_columns import column_of

        text = arrow.column_array(column_of(lines, "string"))
        table = arrow.struct_array(["o0"], [text], len(lines))
        return cls(LineAnswer(TailResult((Output(column),), table), None), summary=summary)

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
        """The next `size` rows, fewer at the end.

        Raises
        ------
        TypeProblem : `size` is no integer from 0.
        """
        _check_count("size", size)
        rows: list[Row] = []
        while len(rows) < size and (row := self.fetchone()) is not None:
            rows.append(row)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left, as tuples without names: the quickest way to a million rows. `list(r)` gives all
        rows with names, `r.dicts()` dicts."""
        if self._cursor is None:
            self._cursor = iter(())
            return tuples_of(self._answer)
        return [*map(tuple, self._cursor)]

    def dicts(self) -> list[dict[str, Any]]:
        """All rows as dicts, by the names of the columns.

        Examples
        --------
        >>> import gdb
        >>> gdb.connect().execute("UNWIND [1, 2] AS x RETURN x, x * x AS square").dicts()
        [{'x': 1, 'square': 1}, {'x': 2, 'square': 4}]
        """
        names = self.columns
        with garbage.rarely():
            return [
                dict(zip(names, values, strict=True))
                for records in self._answer.records()
                for values in records
            ]

    @overload
    def scalar(self) -> Any: ...
    @overload
    def scalar(self, kind: type[T]) -> T: ...
    def scalar(self, kind: type[T] | None = None) -> T | Any:
        """The first column of the first row; without `kind`, None where there is no row.

        Parameters
        ----------
        kind : the type that the value must have, for type checkers and as a check at run time. An integer passes
            for a float and becomes one; a boolean is no integer.

        Raises
        ------
        WrongType : the value is of another type, or null. NotOneRow : with `kind`, there is no row.
        TypeProblem : `kind` is no class, as `list[int]`.

        Examples
        --------
        >>> import gdb
        >>> db = gdb.connect()
        >>> db.execute("RETURN 40 + 2").scalar(int)
        42
        """
        size = None if len(self._answer) <= SHOWN else 1
        for columns in self._answer.chunks(size):
            if columns and columns[0]:
                value = columns[0][0]
                return value if kind is None else _checked(value, kind, self.columns[0])
        if kind is not None:
            raise NotOneRow(
                "the answer has no row.", f"It was to be one value of type {_named(kind)}."
            )
        return None

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

    # ---- what is shown -----------------------------------------------------------------------------

    def head(self, count: int = SHOWN) -> list[Row]:
        """The first rows; it makes no others.

        Raises
        ------
        TypeProblem : `count` is no integer from 0.
        """
        _check_count("count", count)
        return [*islice(rows_of(self._answer, count), count)]

    def __repr__(self) -> str:
        """The first rows as a table, with the types of their values, and how many there are; a plan as its lines."""
        from gdb.answer.table import table_text  # here: only a shell or a notebook prints

        return table_text(self)

    def draw(self, path: str | os.PathLike[str] | None = None) -> Drawing | Any:
        """A drawing of all nodes and relationships in the answer, also of those in paths, lists and maps.

        Nodes are laid out by forces, coloured by their labels, and have the property that distinguishes them best as
        caption (a name or title, else a text, else the id). A notebook shows the drawing; it needs no network. Up to
        300 nodes and relationships are drawn so; more by ipysigma, whose widget is the result, where it is installed.

        Parameters
        ----------
        path : a file that it is written to as well: `.svg`, or `.html`, a page in one file that can be moved and made
            larger.

        Raises
        ------
        GdbError : there is nothing to draw. LimitExceeded : there is too much, and ipysigma is not installed.
        ArgumentProblem : the file is neither .svg nor .html.

        Examples
        --------
        >>> import gdb
        >>> db = gdb.connect()
        >>> _ = db.execute("CREATE (:Person {name: 'Ada'})-[:KNOWS]->(:Person {name: 'Bob'})")
        >>> db.execute("MATCH (a)-[r]->(b) RETURN a, r, b").draw()
        <gdb.Drawing of 2 nodes and 1 relationship>
        """
        from gdb.answer.answer_elements import elements_of
        from gdb.answer.drawing.drawing import draw_graph

        return draw_graph(elements_of(self), path)

    def _repr_html_(self) -> str:
        """The same for notebooks, with a drawing of the nodes and relationships beneath it, where these are few."""
        from gdb.answer.html import html_of

        return html_of(self)

    # ---- Arrow and data frames ---------------------------------------------------------------------

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's PyCapsule interface: `polars.DataFrame(r)`, `pyarrow.table(r)`, `duckdb.sql("FROM r")`.

        Nodes become structs of id, labels and properties; relationships structs of type, start, end and
        properties; maps and paths structs as well; `gdb.answer.cells` documents the types of all other values.
        """
        return self._answer.exported().__arrow_c_stream__(requested_schema)

    def batches(self, size: int = 65_536) -> Iterator[Array]:
        """The rows as Arrow, at most `size` at a time, all of one type; no rows, no batches.

        Each is a struct array with the columns as its fields, which `pyarrow.record_batch`, `polars.DataFrame` and all
        that knows Arrow's PyCapsule interface takes. A batch is made on demand.

        Raises
        ------
        TypeProblem : `size` is no positive integer.
        """
        return self._answer.batches(batch_size(size))

    def networkx(self) -> networkx.MultiDiGraph | networkx.MultiGraph:
        """A graph of networkx of all nodes and relationships in the answer, also of those in paths, lists and maps.

        It is a MultiGraph where all relationships are undirected, else a MultiDiGraph, in which an undirected one
        is in both directions. A node is called by its id, by (id space, id) where it has an id space; it has its
        properties and `labels` as attributes, a relationship, under its id as key, its properties and `type` (they
        win over properties of these names). An end that is not in the answer as a node has no attributes.
        `db.load(r.networkx())` makes the same graph, but for these: it takes no id spaces and one direction for all; a
        datetime with a zone becomes its instant at UTC, without a zone; times of day, a `Duration` and properties with
        values of several types are refused. networkx must be installed.
        """
        _import("networkx", "networkx")
        from gdb.answer.answer_elements import elements_of
        from gdb.answer.networkx_graph import graph_of

        return graph_of(elements_of(self))

    def arrow(self) -> pyarrow.Table:
        """A pyarrow Table (needs pyarrow)."""
        _import("arrow", "pyarrow")
        import pyarrow

        return pyarrow.table(self)

    def pl(self) -> polars.DataFrame:
        """A polars DataFrame (needs polars)."""
        _import("pl", "polars")
        import polars

        return polars.DataFrame(self)

    def df(self) -> pandas.DataFrame:
        """A pandas DataFrame (needs pandas); nodes stay objects, integers beside nulls are Int64."""
        _import("df", "pandas")
        from gdb.answer.frames import frame_of

        return frame_of(self._answer)

    def numpy(self) -> Mapping[str, npt.NDArray[Any]]:
        """The columns as arrays of NumPy, by their names.

        Booleans, integers, floats, dates, datetimes without a zone and timedeltas have the dtypes bool, int64, float64,
        datetime64[D], datetime64[us] and timedelta64[us]; a column of these that has nulls is a masked array
        (`numpy.ma.MaskedArray`). All others are arrays of objects, None where null.

        Examples
        --------
        >>> import gdb
        >>> gdb.connect().execute("UNWIND [3, 4] AS x RETURN x").numpy()["x"]
        array([3, 4])
        """
        from gdb.answer.frames import arrays_of

        return arrays_of(self._answer)


def batch_size(size: int) -> int:
    """How many rows a batch has at most.

    Raises
    ------
    TypeProblem : it is no positive integer.
    """
    if type(size) is not int or size < 1:
        raise TypeProblem(f"size= takes a positive integer, not {size!r}.")
    return size


def _check_count(name: str, count: int) -> None:
    """Refuse what is no number of rows. name : of the argument."""
    if type(count) is not int or count < 0:
        raise TypeProblem(f"{name}= takes an integer from 0, not {count!r}.")


def _checked(value: object, kind: type[T], column: str) -> T:
    """A value of this type. WrongType : it is none. TypeProblem : `kind` is no type that a value can have."""
    if kind is float and type(value) is int:
        value = float(value)
    try:
        if isinstance(value, kind) and (kind is not int or not isinstance(value, bool)):
            return value
    except TypeError:  # list[int], "int"
        cure = "Take scalar(list), and look at the items."
        raise TypeProblem(
            f"scalar() takes a type such as int or list, not {kind!r}.", cure
        ) from None
    found = "null" if value is None else f"of type {type(value).__name__}"
    cure = "Leave the type out, or convert the value in RETURN: toInteger(x), toFloat(x), coalesce(x, 0)."
    raise WrongType(f"the value of column {column!r} is {found}, not of type {_named(kind)}.", cure)


def _named(kind: type) -> str:
    return getattr(kind, "__name__", str(kind))


def _import(method: str, package: str) -> None:
    """Import a package that an answer is given to. Raises GdbError."""
    try:
        imported(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise GdbError(
            f"Result.{method}() needs {package}, which is not installed.",
            f'Install it: pip install {package} (or pip install "gdb-embedded[arrow]").',
        ) from None
