"""DuckDB for reading and writing files: started when it is needed, stopped when it is cancelled."""

from __future__ import annotations

import os
import secrets
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from gdb.storage.model import ITEM_OF, Kind

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

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

_LEAST = 64 << 20  # bytes that DuckDB needs to do anything


class Engine:
    """One DuckDB for all files of an import or export, started when the first of them needs it.

    memory : bytes that the work may take, of which it takes a part; None for what DuckDB takes by itself.
    """

    def __init__(self, memory: int | None = None) -> None:
        self._memory = memory
        self._database: DuckDBPyConnection | None = None

    def cursor(self) -> DuckDBPyConnection:
        """A connection with temporary tables of its own."""
        import duckdb  # a heavy import that only some files need

        if self._database is None:
            # what does not fit in memory goes there, and not into the folder where the user stands
            spill = str(
                Path(tempfile.gettempdir()) / f"gdb-files-{os.getpid()}-{secrets.token_hex(4)}"
            )
            settings: dict[str, str | bool | int | float | list[str]] = {"temp_directory": spill}
            if self._memory is not None:
                settings["memory_limit"] = f"{max(self._memory // 4, _LEAST)}B"
            self._database = duckdb.connect(config=settings)
        return self._database.cursor()

    def close(self) -> None:
        if self._database is not None:
            self._database.close()


class Watch:
    """Interrupts the statement that a connection runs once `cancel` is set, until `close`."""

    def __init__(self, connection: DuckDBPyConnection, cancel: threading.Event | None) -> None:
        self._connection, self._closed = connection, threading.Event()
        if cancel is not None:
            threading.Thread(target=self._look, args=[cancel], daemon=True).start()

    def close(self) -> None:
        self._closed.set()

    def _look(self, cancel: threading.Event) -> None:
        while not self._closed.wait(0.05):
            if cancel.is_set():
                self._connection.interrupt()
