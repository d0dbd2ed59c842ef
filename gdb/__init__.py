"""gdb: an embedded graph database for finding patterns.

>>> import gdb
>>> db = gdb.connect()
>>> db.execute("MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)").scalar()
0
>>> db.close()

Everything but the errors is loaded when first used, so that `import gdb` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gdb import errors
from gdb.errors import (
    ArgumentProblem,
    ArithmeticProblem,
    Cancelled,
    ChangeRefused,
    ClosedError,
    ClusterError,
    CorruptStore,
    CountOverflow,
    DeletedProblem,
    DeviceError,
    FolderTaken,
    GdbError,
    ImportFailed,
    InternalError,
    LimitExceeded,
    LinesSkipped,
    NameProblem,
    NoSuchColumn,
    NotAStore,
    NotOneRow,
    NotSupported,
    OutOfBudget,
    QueryError,
    QueryTimeout,
    QueryWarning,
    ReadOnlyError,
    RunError,
    StoreError,
    StoreLocked,
    StorePermissionError,
    StoreVersionError,
    SyntaxProblem,
    TypeProblem,
    WrongType,
)
from gdb.imports import imported

if TYPE_CHECKING:
    from gdb import dbapi, limits
    from gdb.answer.device_columns import DeviceColumns
    from gdb.answer.drawing.drawing import Drawing
    from gdb.answer.entities import Node, Path, Relationship
    from gdb.answer.result import Result
    from gdb.answer.row import Row
    from gdb.api.database import Database, connect
    from gdb.api.snapshot import HeldSnapshot
    from gdb.base.values.duration import Duration
    from gdb.base.values.temporal import Date, DateTime, LocalDateTime, LocalTime, Time
    from gdb.executor.cluster.cluster import Cluster
    from gdb.run.stream import Stream
    from gdb.storage.importer.meter import LoadProgress

    __version__: str

__all__ = [
    "ArgumentProblem",
    "ArithmeticProblem",
    "Cancelled",
    "ChangeRefused",
    "ClosedError",
    "Cluster",
    "ClusterError",
    "CorruptStore",
    "CountOverflow",
    "Database",
    "Date",
    "DateTime",
    "DeletedProblem",
    "DeviceColumns",
    "DeviceError",
    "Drawing",
    "Duration",
    "FolderTaken",
    "GdbError",
    "HeldSnapshot",
    "ImportFailed",
    "InternalError",
    "LimitExceeded",
    "LinesSkipped",
    "LoadProgress",
    "LocalDateTime",
    "LocalTime",
    "NameProblem",
    "NoSuchColumn",
    "Node",
    "NotAStore",
    "NotOneRow",
    "NotSupported",
    "OutOfBudget",
    "Path",
    "QueryError",
    "QueryTimeout",
    "QueryWarning",
    "ReadOnlyError",
    "Relationship",
    "Result",
    "Row",
    "RunError",
    "StoreError",
    "StoreLocked",
    "StorePermissionError",
    "StoreVersionError",
    "Stream",
    "SyntaxProblem",
    "Time",
    "TypeProblem",
    "WrongType",
    "__version__",
    "connect",
    "dbapi",
    "errors",
    "limits",
]

_HOMES = {
    "connect": "gdb.api.database",
    "Cluster": "gdb.executor.cluster.cluster",
    "Database": "gdb.api.database",
    "DeviceColumns": "gdb.answer.device_columns",
    "Drawing": "gdb.answer.drawing.drawing",
    "HeldSnapshot": "gdb.api.snapshot",
    "LoadProgress": "gdb.storage.importer.meter",
    "Result": "gdb.answer.result",
    "Row": "gdb.answer.row",
    "Stream": "gdb.run.stream",
    "Node": "gdb.answer.entities",
    "Path": "gdb.answer.entities",
    "Relationship": "gdb.answer.entities",
    "Duration": "gdb.base.values.duration",
    **dict.fromkeys(
        ("Date", "DateTime", "LocalDateTime", "LocalTime", "Time"), "gdb.base.values.temporal"
    ),
}


_MODULES = ("dbapi", "limits")


def __getattr__(name: str) -> object:
    if name == "__version__":
        value: object = imported("gdb.base.version").installed_version()
    elif name in _MODULES:
        value = imported(f"gdb.{name}")
    elif name in _HOMES:
        value = getattr(imported(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'gdb' has no attribute {name!r}")
    globals()[name] = value  # the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(ipython: Any) -> None:
    """What `%load_ext gdb` calls: gives a notebook `%gdb` and `%%cypher` (`gdb.notebook`)."""
    from gdb import notebook

    notebook.load(ipython)
