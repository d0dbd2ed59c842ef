"""Python's interface to databases, PEP 249 (Marc-André Lemburg, *Python Database API Specification v2.0*).

For programs that know databases by that interface alone: `pandas.read_sql(query, db)` and
`polars.read_database(query, db)` take a `Database`, a `Connection` or a cursor. Everybody else has more of
`Database.execute`.

A parameter is written `$name` in a query and given by name in a mapping, which is what `paramstyle` "named" comes
closest to. Every statement is a transaction of its own, committed when it ends well: `commit` has nothing left to do,
and `rollback` is refused. Changes that belong together are made in `with db.transaction() as tx:`, with `Cursor(tx)`
where it must be a cursor. `executemany` is one transaction.

The errors are those of `gdb.errors`; PEP 249's names for them here are classes that catch them:

=================  =======================================================
Error              GdbError, all of them; also DatabaseError, OperationalError
InterfaceError     ClosedError
ProgrammingError   QueryError; also DataError
NotSupportedError  NotSupported
IntegrityError     ChangeRefused
InternalError      InternalError
=================  =======================================================
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from gdb import errors
from gdb.base.closing import Closing

if TYPE_CHECKING:
    from gdb.answer.result import Result
    from gdb.answer.row import Row
    from gdb.api.database import Database

apilevel = "2.0"
threadsafety = 2
"""Threads may share the module and a Connection, not a Cursor."""
paramstyle = "named"

Warning = errors.LinesSkipped
Error = DatabaseError = OperationalError = errors.GdbError
InterfaceError = errors.ClosedError
ProgrammingError = DataError = errors.QueryError
NotSupportedError = errors.NotSupported
IntegrityError = errors.ChangeRefused
InternalError = errors.InternalError

Description: TypeAlias = "tuple[str, None, None, None, None, None, None]"
Parameters: TypeAlias = "Mapping[str, object] | None"


class Executor(Protocol):
    """What runs the statements of a cursor: a Database, or a Transaction."""

    def execute(self, text: str, parameters: Parameters = None, /) -> Result:
        """Run one statement; all its errors are `gdb.errors.GdbError`."""
        ...


class Cursor(Closing):
    """Runs statements, and gives the rows of the last one; made by `Database.cursor` and `Connection.cursor`.

    arraysize : the number of rows that `fetchmany` gives by default.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor: Executor | None = executor
        self._result: Result | None = None
        self._rowcount = -1
        self.arraysize = 1

    @property
    def description(self) -> list[Description] | None:
        """For each column its name and six times None; None where the last statement has no columns."""
        if self._result is None or not self._result.columns:
            return None
        return [(name, None, None, None, None, None, None) for name in self._result.columns]

    @property
    def rowcount(self) -> int:
        """Rows of the last statement; -1 where it has no columns (see `result.summary.effects`), or none was run."""
        return self._rowcount

    @property
    def result(self) -> Result:
        """The Result of the last statement, which has its warnings and its summary.

        Raises
        ------
        ClosedError : nothing was executed, or the cursor is closed.
        """
        self._open()
        if self._result is None:
            raise errors.ClosedError("there are no rows.", "Call execute() with a query first.")
        return self._result

    def execute(self, text: str, parameters: Parameters = None) -> Cursor:
        """Run a statement; see `Database.execute` for the parameters and what is raised."""
        executor = self._open()
        self._result, self._rowcount = None, -1
        self._result = executor.execute(text, parameters)
        self._rowcount = len(self._result) if self._result.columns else -1
        return self

    def executemany(self, text: str, parameters: Iterable[Mapping[str, object]]) -> Cursor:
        """Run a statement once with each mapping of parameters, all in one transaction; its rows are dropped."""
        executor = self._open()
        self._result, self._rowcount = None, -1
        begin: Callable[[], AbstractContextManager[Executor]] | None
        begin = getattr(executor, "transaction", None)  # a transaction has none, it is one
        if begin is None:
            for values in parameters:
                executor.execute(text, values)
        else:
            with begin() as transaction:
                for values in parameters:
                    transaction.execute(text, values)
        return self

    def fetchone(self) -> Row | None:
        """The next row, or None after the last; as the others, it raises ClosedError where nothing was executed."""
        return self.result.fetchone()

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next rows, `arraysize` where no size is given; fewer at the end."""
        return self.result.fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left, as tuples without names."""
        return self.result.fetchall()

    def __iter__(self) -> Iterator[Row]:
        while (row := self.fetchone()) is not None:
            yield row

    def setinputsizes(self, sizes: object) -> None:
        """Nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing, as PEP 249 allows."""

    def close(self) -> None:
        """Forget the rows; the cursor runs nothing more."""
        self._executor = self._result = None

    def _open(self) -> Executor:
        if self._executor is None:
            raise errors.ClosedError("the cursor is closed.", "Make another: cursor().")
        return self._executor


class Connection(Closing):
    """A Database under PEP 249's names; made by `connect`. `database` has all the rest."""

    Warning = Warning
    Error, DatabaseError, OperationalError = Error, DatabaseError, OperationalError
    InterfaceError, InternalError, IntegrityError = InterfaceError, InternalError, IntegrityError
    ProgrammingError, DataError, NotSupportedError = ProgrammingError, DataError, NotSupportedError

    def __init__(self, database: Database) -> None:
        self.database = database

    def cursor(self) -> Cursor:
        """A new cursor. ClosedError : the connection is closed."""
        if self.database.closed:
            raise errors.ClosedError("the connection is closed.", "Connect again.")
        return Cursor(self.database)

    def commit(self) -> None:
        """Nothing: every statement was committed when it ended."""

    def rollback(self) -> None:
        """Refused: every statement was committed when it ended. NotSupported."""
        raise errors.NotSupported(
            "every statement of a connection is committed when it ends.",
            "Write `with db.transaction() as tx:` for changes that may be dropped.",
        )

    def close(self) -> None:
        """Close the database; closing twice is fine."""
        self.database.close()


def connect(path: str | os.PathLike[str] | None = None, *, read_only: bool = False) -> Connection:
    """Open a store, or a graph in memory, as `gdb.connect` does."""
    from gdb.api.database import Database

    return Connection(Database(path, read_only=read_only))
