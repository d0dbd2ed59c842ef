"""The cursor of PEP 249 over a Database or a Transaction; `gdb.dbapi` has the rest of that interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from gdb import errors
from gdb.base.closing import Closing, Uncopied

if TYPE_CHECKING:
    from gdb.answer.result import Result
    from gdb.answer.row import Row

Description: TypeAlias = "tuple[str, None, None, None, None, None, None]"
Parameters: TypeAlias = "Mapping[str, object] | None"


class Executor(Protocol):
    """What runs the statements of a cursor: a Database, or a Transaction."""

    def execute(self, text: str, parameters: Parameters = None, /) -> Result:
        """Run one statement; all its errors are `gdb.errors.GdbError`."""
        ...


class Cursor(Uncopied, Closing):
    """Runs statements, and gives the rows of the last one; made by `Database.cursor` and `Connection.cursor`.

    arraysize : the number of rows that `fetchmany` gives by default.
    """

    _instead = "Make one where it is used, with db.cursor()."

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
        """The next row, or None after the last.

        Raises
        ------
        ClosedError : nothing was executed, or the cursor is closed. QueryError : the last statement has no columns.
        The others raise these too.
        """
        return self._rows().fetchone()

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next rows, `arraysize` where no size is given; fewer at the end."""
        return self._rows().fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left, as tuples without names."""
        return self._rows().fetchall()

    def _rows(self) -> Result:
        """The result, which has columns."""
        result = self.result
        if not result.columns:
            raise errors.QueryError(
                "the statement has no rows to fetch.",
                "End it with RETURN; `result.summary` has its effects.",
            )
        return result

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
