"""COPY (query) TO a file or a folder: its rows are written while they are found, and appear when all are there.

Rows come as those of `Database.stream` do, also from other processes, whose answers are each taken once. They are
gathered in a table of DuckDB, which spills to disk, and written as a part whenever there are enough of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gdb.answer.result import Result
from gdb.answer.rows import Answer, RowAnswer
from gdb.base import sql, waiting
from gdb.errors import ArgumentProblem, OutOfBudget, SyntaxProblem, TypeProblem
from gdb.language.clauses import CopyTo
from gdb.language.report import problem
from gdb.records import dataclass, replace
from gdb.run.copy_values import CopyValues
from gdb.run.file_columns import Format, arrow_schema, as_written
from gdb.run.late_interrupt import Outcome
from gdb.run.pipeline import explain_query
from gdb.run.request import QueryRun
from gdb.run.statements import Statements
from gdb.run.stream import Pipe, stream_query
from gdb.storage.disk.duckdb_engine import Engine, Watch, write_error
from gdb.storage.disk.new_folder import new_file, new_folder
from gdb.storage.disk.scratch_folder import ScratchFolder

if TYPE_CHECKING:
    from duckdb.sqltypes import DuckDBPyType

    from gdb.base.sql import Value
    from gdb.executor.relational.arrow import Array
    from gdb.language.clauses import Query
    from gdb.run.request import Request

PART_ROWS = 1 << 20
"""Rows of a part of a folder, about; one of many columns is a file of some ten MB."""
_BATCH = 1 << 16
_HOW: dict[Format, dict[str, Value]] = {
    "csv": {"FORMAT": "csv", "HEADER": True, "DELIMITER": ",", "QUOTE": '"', "ESCAPE": '"'},
    "parquet": {"FORMAT": "parquet"},
}
_OPTIONS = ("format", "part_rows")
_TAKES = "TO takes the path of a file or a folder"


@dataclass(frozen=True, slots=True)
class Target:
    """Where rows go. file : one file, not a folder of parts of about `part_rows` rows each."""

    path: Path
    format: Format
    file: bool
    part_rows: int

    def __str__(self) -> str:
        if self.file:
            return f"{self.path}, one {self.format} file"
        return f"{self.path}, a folder of {self.format} files of about {self.part_rows:,} rows"


def copied_to(run: QueryRun, query: Query) -> Result:
    """Run COPY (query) TO target: one row, with the numbers of rows and of files that were written.

    Raises
    ------
    FolderTaken : there is something at the target. StorePermissionError, StoreError : it cannot be written.
    OutOfBudget : `memory` is too little to write. GdbError : as the query.
    """
    request = run.request
    target = _target(request, query)
    place = new_file if target.file else new_folder
    with (
        place(target.path) as files,
        ScratchFolder() as scratch,
        closing(Engine(request.memory, scratch, folders=[Path(files.where)])) as engine,
        _translated(request, target),
        closing(_RowWriter(request, engine, Path(files.where), target, query)) as writer,
    ):
        summary = stream_query(_inner(run, query, run.statements), writer)
        writer.finish()
    assert writer.begun is not None
    answer = RowAnswer(["rows", "files"], [(writer.rows, writer.files)])
    return Result(answer, warnings=writer.begun.warnings, summary=replace(summary, rows=1))


def plan_of(run: QueryRun, query: Query) -> list[str]:
    """What EXPLAIN shows: where rows go, and the plan of the query."""
    target = _target(run.request, query)
    return [f"COPY TO {target}", *explain_query(_inner(run, query, Statements())).split("\n")]


def _inner(run: QueryRun, query: Query, statements: Statements) -> QueryRun:
    """The run of the query that gives the rows, which only reads."""
    assert isinstance(query.copying, CopyTo)
    request = replace(run.request, text=query.copying.query.text)
    return QueryRun(request, lambda: run.snapshot, statements, explains=query.explain)


class _RowWriter(Pipe):
    """Takes the rows of a query, in several threads, and writes them."""

    def __init__(
        self, request: Request, engine: Engine, folder: Path, target: Target, query: Query
    ) -> None:
        super().__init__(request.cancel)
        self.folder, self.target, self.query = folder, target, query
        self.rows = self.files = self._waiting = 0
        self._names: list[str] = []
        self._types: list[DuckDBPyType] = []
        self._schema: dict[str, sql.Value] = {}
        self._lock = waiting.Lock()
        self._connection = engine.cursor()
        self._watch = Watch(self._connection, request.cancel)

    def give(self, piece: Answer) -> None:
        """Write a piece.

        Raises
        ------
        Cancelled : the query was cancelled. duckdb.Error : it cannot be written.
        """
        for batch in piece.batches(min(_BATCH, self.target.part_rows)):
            with self._lock:
                if self.cancel.is_set():
                    raise Outcome().cancelled()
                self._add(batch, piece.names)

    def give_all(self, answer: Answer) -> None:
        self.give(answer)

    def finish(self) -> None:
        """Write what waits, and at least one file."""
        assert self.begun is not None
        if not self._names:
            self._name(self.begun.columns)
            self._run(sql.created_empty("rows", dict.fromkeys(self._columns(), "VARCHAR")))
            self._types = self._connection.table("rows").types
        if self._waiting or not self.files:
            self._flush()

    def close(self) -> None:
        self._watch.close()
        self._connection.close()

    def _add(self, batch: Array, names: list[str]) -> None:
        first = not self._names
        if first:
            self._name(names)
        self._connection.register("batch", batch)
        if first:
            picked = [
                sql.aliased(sql.column_of(name), c)
                for name, c in zip(names, self._columns(), strict=True)
            ]
            self._run(sql.created("rows", sql.select(picked, "batch")))
            self._types = self._connection.table("rows").types
            if self.target.format == "parquet":
                self._schema = arrow_schema(batch, self._types)
        else:
            self._run(sql.inserted("rows", sql.everything("batch")))
        self._connection.unregister("batch")
        self.rows += len(batch)
        self._waiting += len(batch)
        if not self.target.file and self._waiting >= self.target.part_rows:
            self._flush()

    def _name(self, names: list[str]) -> None:
        if not names:
            message, cure = "the query gives no columns.", "End it with RETURN."
            raise self._problem(message, cure)
        twice = {name for name in names if sum(n.lower() == name.lower() for n in names) > 1}
        if twice:
            message = f"the columns {' and '.join(sorted(twice))} differ in case only."
            raise self._problem(
                message, "Name them with AS, for readers of such files take them for one."
            )
        self._names = names

    def _problem(self, message: str, cure: str) -> SyntaxProblem:
        assert self.query.copying is not None
        place = self.query.copying.place
        return problem(SyntaxProblem, self.query.text, place, message, cure)

    def _columns(self) -> list[str]:
        """Names of the columns of the table, which take no heed of the case of the user's."""
        return [f"c{k}" for k in range(len(self._names))]

    def _flush(self) -> None:
        name = self.target.path.name
        if not self.target.file:
            name = f"part-{self.files:05}.{self.target.format}"
        picked = [
            sql.aliased(as_written(sql.column_of(c), type_, self.target.format), name_)
            for name_, c, type_ in zip(self._names, self._columns(), self._types, strict=True)
        ]
        how = _HOW[self.target.format] | self._schema
        self._run(sql.copied(sql.select(picked, "rows"), str(self.folder / name), **how))
        self._run(sql.deleted("rows", sql.value_of(True)))
        self.files += 1
        self._waiting = 0

    def _run(self, statement: sql.exp.Expr) -> None:
        self._connection.execute(sql.written(statement))


@contextmanager
def _translated(request: Request, target: Target) -> Iterator[None]:
    """Turn errors of DuckDB into ours."""
    import duckdb

    try:
        yield
    except duckdb.InterruptException:
        raise Outcome().cancelled() from None
    except duckdb.OutOfMemoryException as error:
        if request.memory is None:
            raise
        raise OutOfBudget(
            f"Rows do not fit into the budget while they are written: {_short(error)}.",
            "Raise memory=.",
        ) from None
    except duckdb.Error as error:
        raise write_error(target.path, error) from None


def _short(error: Exception) -> str:
    return str(error).split("\n")[0].strip().rstrip(".")


# ---- what is said --------------------------------------------------------------------------------


def _target(request: Request, query: Query) -> Target:
    copy, values = query.copying, CopyValues(request, query.text)
    assert isinstance(copy, CopyTo)
    place = copy.target.place
    said = values.path(copy.target, _TAKES)
    if not said:
        raise values.problem(TypeProblem, place, f"{_TAKES}, a string, and this is ''.")
    example = "{format: 'csv'}"
    options = values.options(copy.options, _OPTIONS, "COPY ... TO", example)
    path = Path(said)
    suffix = path.suffix.lower().removeprefix(".")
    file = suffix in _HOW
    format_ = options.get("format", suffix if file else "parquet")
    if format_ not in _HOW or (file and format_ != suffix):
        message = f"this is no {format_} file."
        cure = "The format is parquet or csv, as its name ends."
        raise values.problem(ArgumentProblem, place, message, cure)
    rows = options.get("part_rows", PART_ROWS)
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        message = (
            f"the option 'part_rows' takes a positive integer, and this is {str(rows)[:40]!r}."
        )
        raise values.problem(TypeProblem, place, message)
    root = request.import_root
    if root is not None and not (root / path).resolve().is_relative_to(root):
        message = f"{said!r} lies outside of the import root {str(root)!r}."
        cure = "Write there, or open the database with another import_root."
        raise values.problem(ArgumentProblem, place, message, cure)
    return Target(path if root is None else root / path, format_, file, rows)
