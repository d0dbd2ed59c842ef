"""DuckDB for reading and writing files: started when it is needed, stopped when it is cancelled."""

from __future__ import annotations

import errno
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gdb.base import threads, waiting
from gdb.base.machine.cores import cores
from gdb.errors import StoreError

from ..columns.model import ITEM_OF, Kind
from .import_root import DESCRIPTORS, Rooted
from .os_errors import DISK
from .sandbox import Setting, sandboxed
from .scratch_folder import ScratchFolder

if TYPE_CHECKING:
    import duckdb
    from duckdb import DuckDBPyConnection

T = TypeVar("T")

SQL_TYPES: dict[Kind, str] = {
    "int64": "BIGINT",
    "float64": "DOUBLE",
    "bool": "BOOLEAN",
    "string": "VARCHAR",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "duration": "BIGINT",  # microseconds, see Column.in_sql
    "any": "VARCHAR",
}
SQL_TYPES.update({list_: SQL_TYPES[item] + "[]" for list_, item in ITEM_OF.items()})

_LEAST = 32 << 20  # bytes that DuckDB needs to do anything
_THREAD = 16 << 20  # bytes for each of its threads
_LOOK_SECONDS = 0.05
_STREAM_ERROR = re.compile(r"\b(INTERRUPT|[A-Z][A-Za-z]*(?: [A-Za-z]+)*?) Error: .*", re.DOTALL)


class Engine:
    """One DuckDB for all files of an import or export, started when the first of them needs it.

    Parameters
    ----------
    memory : bytes that the work may take; DuckDB gets a part of them. None for DuckDB's own default.
    scratch : where it lays down what has no room in memory; None where nothing can be that large.
    files, folders : all that it may read and write beside `scratch`.
    """

    def __init__(
        self,
        memory: int | None = None,
        scratch: ScratchFolder | None = None,
        *,
        files: Iterable[Path] = (),
        folders: Iterable[Path] = (),
    ) -> None:
        self._memory, self.scratch = memory, scratch
        self._files, self._folders = tuple(files), tuple(folders)
        self._database: DuckDBPyConnection | None = None

    def cursor(self) -> DuckDBPyConnection:
        """A connection with temporary tables of its own."""
        if self._database is None:
            # not into the current folder, as it would
            spill = "" if self.scratch is None else str(self.scratch.path / "duckdb")
            settings: dict[str, Setting] = {"temp_directory": spill}
            if self._memory is not None:
                share = max(self._memory // 4, _LEAST)
                settings["memory_limit"] = f"{share}B"
                settings["threads"] = max(min(cores(), share // _THREAD), 1)
            folders = [*self._folders, *([] if self.scratch is None else [self.scratch.path])]
            if any(isinstance(path, Rooted) for path in self._files):
                folders.append(DESCRIPTORS)  # by which `reopened` names them
            self._database = sandboxed(settings, files=self._files, folders=folders)
        return self._database.cursor()

    def close(self) -> None:
        """Stop DuckDB, if it was started; a second call does nothing."""
        if self._database is not None:
            self._database.close()
            self._database = None


def tell_progress(connection: DuckDBPyConnection) -> None:
    """Let `run` know how far the statements of a connection are."""
    connection.execute("SET enable_progress_bar = true")
    # the numbers are all that is wanted
    connection.execute("SET enable_progress_bar_print = false")
    connection.execute("SET progress_bar_time = 0")


def run(connection: DuckDBPyConnection, work: Callable[[], T], tick: Callable[[float], None]) -> T:
    """Do what runs a statement of a connection in another thread, and meanwhile call `tick` in this one, now and then,
    with the part of the statement that is done, 0 to 1. What `tick` raises ends the statement."""
    with waiting.Pool(1) as pool:
        later = pool.submit(work)
        try:
            while not wait([later], _LOOK_SECONDS).done:
                tick(min(max(connection.query_progress(), 0.0), 100.0) / 100.0)
        except BaseException:
            while not wait([later], _LOOK_SECONDS).done:
                connection.interrupt()  # again, where the statement had not begun yet
            raise
    return waiting.result(later)


@contextmanager
def stream_errors() -> Iterator[None]:
    """Raise DuckDB's errors as DuckDB's: what fails while its Arrow stream is read comes from the reader, as a
    RuntimeError whose text has DuckDB's inside."""
    try:
        yield
    except RuntimeError as error:
        import duckdb

        found = _STREAM_ERROR.search(str(error))
        if found is None:
            raise
        kind, text = found[1], found[0]
        made: dict[str, type[duckdb.Error]] = {
            "INTERRUPT": duckdb.InterruptException,
            "Out of Memory": duckdb.OutOfMemoryException,
            "Out of Range": duckdb.OutOfRangeException,
            "Conversion": duckdb.ConversionException,
            "Mismatch Type": duckdb.TypeMismatchException,
            "Invalid Input": duckdb.InvalidInputException,
            "IO": duckdb.IOException,
        }
        raise made.get(kind, duckdb.Error)(text) from None


def write_error(path: Path, error: duckdb.Error) -> StoreError:
    """The error for what DuckDB could not write at a path. DuckDB's text shows what it does inside; where it has the
    operating system's reason, that is enough."""
    text = str(error)
    found = next((reason for reason in map(os.strerror, errno.errorcode) if reason in text), None)
    if found is None:
        short = text.partition("\n")[0].partition("{")[0].strip().rstrip(".:")
        return StoreError(f"{path} could not be written ({short}).", DISK)
    return StoreError(f"The operating system failed on {path}: {found}.", DISK)


class Watch:
    """Interrupts the statement that a connection runs once `cancel` is set, until `close`."""

    def __init__(self, connection: DuckDBPyConnection, cancel: threading.Event | None) -> None:
        self._connection, self._closed = connection, threading.Event()
        if cancel is not None:
            threads.start(threading.Thread(target=self._look, args=[cancel], daemon=True))

    def close(self) -> None:
        """End the watch: a cancel after this interrupts nothing."""
        self._closed.set()

    def _look(self, cancel: threading.Event) -> None:
        while not self._closed.wait(0.05):
            if cancel.is_set():
                self._connection.interrupt()
