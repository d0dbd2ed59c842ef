"""DuckDB as gdb uses it: private in-memory connections, cancellable, with errors of ours.

A connection sees nothing but the relations handed to it: no files, no extensions, no variables of the
caller's program. It may spill to a folder of its own in one of the process that only this user can enter; DuckDB
makes it when needed and removes it.
"""

from __future__ import annotations

import atexit
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING, TypeVar

import duckdb
import numpy as np

from gdb.base import forks, usage, waiting
from gdb.base.budget import Budget
from gdb.base.machine.cores import cores
from gdb.base.once import PerProcess
from gdb.base.sql import (
    aliased,
    call,
    cast,
    counted,
    created,
    dropped,
    everything,
    is_there,
    listed,
    read_by,
    select,
    written,
)
from gdb.base.threads import Threads
from gdb.errors import (
    ArgumentProblem,
    ArithmeticProblem,
    Cancelled,
    GdbError,
    InternalError,
    NotSupported,
    OutOfBudget,
    QueryTimeout,
    RunError,
    TypeProblem,
)
from gdb.storage.disk import arrays, scratch_folder
from gdb.storage.disk.duckdb_engine import stream_errors
from gdb.storage.disk.sandbox import Setting, sandboxed

from . import python_functions
from .arrow import Array, ArrowStream, read_stream

if TYPE_CHECKING:
    from gdb.storage.columns.model import I64

    from .relational_tail import Value

T = TypeVar("T")

_POLL_SECONDS = 0.02
_IN_PLACE = 10_000  # rows; a table of them takes a millisecond longer to make, and DuckDB takes a view to be small
_KEPT = 1024  # texts of a kind
# bytes that DuckDB takes to sort, join and group, and for each thread
LEAST, A_THREAD = (32 << 20, 16 << 20)
_AT_ONCE = 64  # queries in their relational part; more of them wait

# DuckDB's own types become the language's, so that an answer holds int64, float64, bool and string.
_OUTPUT_TYPES = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "HUGEINT"), "BIGINT"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "BIGINT"),
    "FLOAT": "DOUBLE",
}


def query(
    relations: Mapping[str, ArrowStream],
    sql: str,
    parameters: Mapping[str, Value],
    *,
    memory: int | None = None,
    cancel: threading.Event | None = None,
    deadline: float | None = None,
) -> Array:
    """Run one SELECT over Arrow relations and give its answer, integers as int64 and other numbers as float64.

    Parameters
    ----------
    relations : name in the SQL -> data; read in place, possibly several times and by several threads.
    sql : output columns must have names.
    parameters : prepared parameters, exactly those that the SQL mentions, without the dollar sign.
    memory : the budget of the query: DuckDB may use what is left of it, and `LEAST` in any case, before it spills; None
        leaves DuckDB's default for the process.
    cancel, deadline : stop when the event is set, or at this time.monotonic().

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget, RunError : never with the SQL in the message.
    TypeProblem, ArithmeticProblem, ArgumentProblem : a value cannot be used; without a place, which SQL has not.
    """
    with Session(memory, cancel, deadline) as session:
        session.shown(relations)
        return session.answer(sql, parameters)


class Session:
    """A connection for several statements, whose temporary tables go with it.

    memory, cancel, deadline : as `query` has them. The methods raise what `query` raises.
    """

    def __init__(
        self, memory: int | None, cancel: threading.Event | None, deadline: float | None
    ) -> None:
        (self._connection, self._functions), self._memory = _connect(memory), memory
        self._cancel, self._deadline = cancel, deadline
        self._views: set[str] = set()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        _disconnect(self._connection, self._memory)

    def run(self, sql: str, parameters: Mapping[str, Value]) -> None:
        """Run a statement that makes a temporary table."""
        self._functions.need(sql)
        values = dict(parameters) or None
        self._run(lambda: self._connection.execute(sql, values))

    def shown(self, relations: Mapping[str, ArrowStream]) -> None:
        """Let statements read Arrow relations where they are."""
        with _errors_of_ours(self._cancel):
            for name, data in relations.items():
                self._connection.register(name, data)
        self._views.update(relations)

    def read_in_place(self, name: str, data: Array) -> None:
        """Let statements read an Arrow relation where it is."""
        self.shown({name: data})

    def taken(self, name: str, data: Array) -> None:
        """Make a temporary table of an Arrow relation; a small one is read where it is."""
        if len(data) <= _IN_PLACE:
            self.read_in_place(name, data)
            return
        self._connection.register(_source_name(name), data)
        try:
            self.run(_taking(name), {})
        finally:
            self._connection.unregister(_source_name(name))

    def drop(self, name: str) -> None:
        """Forget a table."""
        if name in self._views:
            self._views.discard(name)
            self._connection.unregister(name)
            return
        self._run(lambda: self._connection.execute(_dropping(name)))

    def count(self, name: str) -> int:
        """The rows of a table."""
        return self._number(_counting(name))

    def weight(self, name: str, column: str) -> int:
        """The sum of a column of whole numbers."""
        return self._number(_summing(name, column))

    def memory_in_use(self) -> int:
        """Bytes that this DuckDB holds; where it is that of the process, with those of queries at the same time."""
        return self._number(_holding())

    def _number(self, sql: str) -> int:
        (row,) = self._connection.execute(sql).fetchall()
        return int(row[0] or 0)

    def distinct(self, table: str, columns: Sequence[str]) -> list[I64]:
        """The distinct values of one BIGINT column, ascending, or the distinct rows of several, without those that have
        a null, i64[n] each."""
        sql = _distinct(table, tuple(columns))
        found: dict[str, I64] = self._run(lambda: self._connection.execute(sql).fetchnumpy())
        values = [np.asarray(found[column], np.int64) for column in columns]
        return [np.sort(values[0])] if len(values) == 1 else values

    def values(self, table: str, column: str) -> list[Value]:
        """A column of a table, as Python values."""
        sql = _reading(table, column)
        rows: list[tuple[Value]] = self._run(lambda: self._connection.execute(sql).fetchall())
        return [value for (value,) in rows]

    def answer(self, sql: str, parameters: Mapping[str, Value]) -> Array:
        """Run a SELECT, as `query`."""
        values, budget = dict(parameters), usage.budget(self._memory)
        with _errors_of_ours(self._cancel):
            self._functions.need(sql)
        return self._run(lambda: _read(self._connection.sql(sql, params=values), budget))

    def _run(self, work: Callable[[], T]) -> T:
        with _errors_of_ours(self._cancel):
            return _stoppable(work, self._connection.interrupt, self._cancel, self._deadline)


# The names are those that the builder of a chain makes up, in each anew: the texts are kept.


def _source_name(name: str) -> str:
    """The name of what a table is to be made of."""
    return f"{name}_given"


@lru_cache(_KEPT)
def _taking(name: str) -> str:
    return written(created(name, everything(_source_name(name))))


@lru_cache(_KEPT)
def _dropping(name: str) -> str:
    return written(dropped(name))


@lru_cache(_KEPT)
def _counting(name: str) -> str:
    return written(select([counted()], name))


@lru_cache(_KEPT)
def _summing(name: str, column: str) -> str:
    return written(select([call("sum", column)], name))


@cache
def _holding() -> str:
    return written(select([call("sum", "memory_usage_bytes")], read_by("duckdb_memory")))


@lru_cache(_KEPT)
def _distinct(table: str, columns: tuple[str, ...]) -> str:
    return written(select(columns, table, where=[*map(is_there, columns)], distinct=True))


@lru_cache(_KEPT)
def _reading(table: str, column: str) -> str:
    return written(select([column], table))


def _connect(memory: int | None) -> tuple[duckdb.DuckDBPyConnection, _Functions]:
    if memory is not None:
        room = max(usage.budget(memory).left or 0, LEAST)
        threads = max(min(cores(), room // A_THREAD), 1)
        own = _open({"memory_limit": f"{room}B", "threads": threads})
        return own, _Functions(own)
    return _shared.connection()


def _disconnect(connection: duckdb.DuckDBPyConnection, memory: int | None) -> None:
    if memory is not None:
        connection.close()
    else:
        _shared.give_back(connection)


def _open(config: Mapping[str, Setting]) -> duckdb.DuckDBPyConnection:
    # DuckDB makes its folder readable by all, and takes one that is there, or a link, as well as what lies in it
    own = scratch_folder.of_process()
    fixed: dict[str, Setting] = {
        "temp_directory": "" if own is None else str(own / f"spill-{uuid.uuid4().hex}"),
        "arrow_large_buffer_size": True,  # texts and lists are of one type in all answers, that of the store
    }
    return sandboxed({**fixed, **config})


def _read(relation: duckdb.DuckDBPyRelation, budget: Budget) -> Array:
    """The answer of a SELECT, whose rows the budget of its query has room for, or it raises OutOfBudget."""
    with stream_errors():
        return read_stream(_typed(relation), budget)


class _Functions:
    """The functions of Python that one DuckDB knows. They belong to the connection that it was opened by, for they go
    when that is closed."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database
        self._known: frozenset[str] = frozenset()
        self._lock = waiting.Lock()

    def need(self, sql: str) -> None:
        """Make known what a text calls."""
        missing = python_functions.called_functions(sql) - self._known
        if missing:
            with self._lock:
                missing -= self._known
                python_functions.make_known(missing, self._database)
                self._known |= missing

    def __len__(self) -> int:
        return len(self._known)


class _Shared:
    """The DuckDB of this process, for queries without a budget of their own: starting one takes some 30 ms, a second
    connection to it some 30 us.

    Before a fork it is closed unless a query uses it; then the child keeps what cannot be destroyed there, for the
    threads that it would wait for are gone.
    """

    def __init__(self) -> None:
        self._database: duckdb.DuckDBPyConnection | None = None
        self._functions: _Functions | None = None
        self._used = 0  # connections
        self._lock = waiting.Lock()
        forks.watch(self)
        forks.watch_before(self)
        atexit.register(self.forking)  # DuckDB complains of functions of Python that outlive it

    def connection(self) -> tuple[duckdb.DuckDBPyConnection, _Functions]:
        """A connection, to be given back, and the functions that it knows."""
        with self._lock:
            if self._database is None or self._functions is None:
                self._database = _open({})
                self._functions = _Functions(self._database)
            found = self._database.cursor()
            self._used += 1
            return found, self._functions

    def give_back(self, connection: duckdb.DuckDBPyConnection) -> None:
        try:
            connection.close()
        finally:
            with self._lock:
                self._used -= 1

    def forking(self) -> None:
        with self._lock:
            if self._database is not None and not self._used:
                self._database.close()
                self._database = self._functions = None

    def forked(self) -> None:
        if self._database is not None:
            forks.leak(self._database)
        self._database, self._functions, self._used = None, None, 0


_shared = _Shared()
# Threads that wait for DuckDB, kept: to start one takes as long as a small query.
_waiting = PerProcess(lambda: Threads(_AT_ONCE, thread_name_prefix="gdb-tail"))


def _typed(relation: duckdb.DuckDBPyRelation) -> ArrowStream:
    """The relation with its numbers cast to int64 and float64."""
    kinds = tuple(map(str, relation.types))
    if all(_wanted(kind) is None for kind in kinds):
        return relation
    return relation.project(_projection(tuple(relation.columns), kinds))


def _wanted(kind: str) -> str | None:
    """The type that values of a type of DuckDB's become; None where they stay."""
    stripped = kind.rstrip("[]")
    wanted = "DOUBLE" if stripped.startswith("DECIMAL") else _OUTPUT_TYPES.get(stripped)
    return None if wanted is None else f"{wanted}{kind[len(stripped) :]}"


@lru_cache(_KEPT)
def _projection(names: tuple[str, ...], kinds: tuple[str, ...]) -> str:
    """What `project` takes: expressions with commas between them."""
    casts = zip(names, map(_wanted, kinds), strict=True)
    return listed([n if to is None else aliased(cast(n, to), n) for n, to in casts])


def _stoppable(
    work: Callable[[], T],
    interrupt: Callable[[], None],
    cancel: threading.Event | None,
    deadline: float | None,
) -> T:
    """Call `work` beside this thread, which watches: `interrupt` is called once `cancel` is set or `deadline` has
    passed. DuckDB stays outside of Python for long, and a thread that waits can take a Ctrl-C."""
    running = _waiting.get().submit(work)
    while True:
        try:
            return running.result(_POLL_SECONDS)
        except TimeoutError:
            if running.done():  # the error was the work's own
                return running.result(0)
            arrays.let_go()  # of rows in temporary files, those that DuckDB is through with
            if _stopped(cancel, deadline):
                interrupt()  # repeated: one that comes before the query has begun is lost


def _stopped(cancel: threading.Event | None, deadline: float | None) -> bool:
    return (cancel is not None and cancel.is_set()) or (
        deadline is not None and time.monotonic() > deadline
    )


# ---- errors ---------------------------------------------------------------------------------------

_SIGNATURE = re.compile(r"(?:argument types|function call) ['\"](.+?)\((.*?)\)['\"]")
_FRIENDLY = {
    "BIGINT": "integer",
    "INTEGER": "integer",
    "INTEGER_LITERAL": "integer",
    "HUGEINT": "integer",
    "INT32": "an integer",
    "INT64": "an integer",
    "DOUBLE": "float",
    "DECIMAL": "float",
    "BOOL": "a boolean",
    "BOOLEAN": "boolean",
    "VARCHAR": "string",
    "STRING_LITERAL": "string",
}


@contextmanager
def _errors_of_ours(cancel: threading.Event | None) -> Iterator[None]:
    """Raise what DuckDB raises as errors of ours."""
    try:
        yield
    except duckdb.Error as error:
        raise _translated(error, cancel) from None
    except UnicodeEncodeError:
        raise TypeProblem(
            "a string of the query is not valid Unicode (it holds a lone surrogate)."
        ) from None


def _translated(error: duckdb.Error, cancel: threading.Event | None) -> GdbError:
    """DuckDB's error as ours; its text is cut after the first line, where it shows SQL."""
    if isinstance(error, duckdb.InterruptException):
        if cancel is not None and cancel.is_set():
            return Cancelled("the query was cancelled.")
        return QueryTimeout(
            "the query ran longer than its timeout.", "Give a larger timeout=, or query less."
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return OutOfBudget(
            "the relational part of the query needs more memory than its budget.",
            "Give a larger memory=, or return fewer rows or columns.",
        )
    text = _friendly(str(error).partition("\n")[0].partition(": ")[2])
    if python_functions.NOT_IN_COLUMNS in text:
        return NotSupported("a value of the query has no column.", "It runs over rows.")
    if "ivision by zero" in text:
        return ArithmeticProblem(
            "an integer is divided by zero.",
            "Leave such rows out in WHERE, as in `WHERE b.x <> 0`, or divide by a float.",
        )
    if isinstance(error, duckdb.OutOfRangeException) or "out of range" in text:
        return ArithmeticProblem(
            f"a number is too large: {text}", "Multiply by 1.0 to calculate with floats."
        )
    signature = _SIGNATURE.search(text)
    if signature:
        return TypeProblem(f"{signature[1]} cannot be used on ({signature[2]}).")
    if isinstance(error, (duckdb.ConversionException, duckdb.TypeMismatchException)):
        return TypeProblem(f"values of different types meet: {text}")
    if isinstance(error, duckdb.InvalidInputException):
        return ArgumentProblem(f"a function got a value that it cannot use: {text}")
    if isinstance(error, duckdb.IOException):
        return RunError(f"the relational part of the query could not spill to disk: {text}")
    return InternalError(f"the relational part of the query failed: {type(error).__name__}: {text}")


def _friendly(text: str) -> str:
    return re.sub(r"\b[A-Z][A-Z0-9_]+\b", lambda word: _FRIENDLY.get(word[0], word[0]), text)
