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

`Date`, `Time` and `Timestamp` are the classes of Python's `datetime`, `Binary` is `bytes`, which a query refuses, as no
property holds bytes. `STRING`, `NUMBER` and `DATETIME` equal the Python types of the values that they name; `BINARY`
and `ROWID` equal none. The type codes of a cursor's `description` are None, which none of them equals: a column may
hold values of several types.
"""

from __future__ import annotations

import os
from datetime import date, datetime, time, timedelta

from gdb import errors
from gdb.api import database
from gdb.api.dbapi_cursor import Cursor as Cursor
from gdb.base.closing import Closing

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


Date, Time, Timestamp, Binary = date, time, datetime, bytes
DateFromTicks, TimestampFromTicks = date.fromtimestamp, datetime.fromtimestamp
"""Of seconds since 1970, in local time."""


def TimeFromTicks(ticks: float) -> time:
    """The time of day at so many seconds since 1970, in local time."""
    return datetime.fromtimestamp(ticks).time()


class TypeObject:
    """A group of types, which equals each of them and itself."""

    def __init__(self, *types: type) -> None:
        self._types = types

    def __eq__(self, other: object) -> bool:
        return other is self or other in self._types

    __hash__ = None  # type: ignore[assignment]  # it equals types whose hashes differ


STRING, BINARY, ROWID = TypeObject(str), TypeObject(), TypeObject()
NUMBER = TypeObject(int, float, bool)
DATETIME = TypeObject(date, time, datetime, timedelta)


class Connection(Closing):
    """A Database under PEP 249's names; made by `connect`. `database` has all the rest."""

    Warning = Warning
    Error, DatabaseError, OperationalError = Error, DatabaseError, OperationalError
    InterfaceError, InternalError, IntegrityError = InterfaceError, InternalError, IntegrityError
    ProgrammingError, DataError, NotSupportedError = ProgrammingError, DataError, NotSupportedError

    def __init__(self, database: database.Database) -> None:
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
    return Connection(database.connect(path, read_only=read_only))
