"""gdb: an embedded graph database for finding patterns.

>>> import gdb
>>> db = gdb.connect()
>>> db.execute("MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)").scalar()
0
>>> db.close()

Everything but the errors is loaded when first used, so that `import gdb` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gdb import errors
from gdb.errors import GdbError

if TYPE_CHECKING:
    from gdb.api import Database, connect
    from gdb.entities import Node, Path, Relationship
    from gdb.held import HeldSnapshot
    from gdb.result import DeviceColumns, Result
    from gdb.storage.importer.meter import LoadProgress
    from gdb.stream import Stream

    __version__: str

__all__ = [
    "Database",
    "DeviceColumns",
    "GdbError",
    "HeldSnapshot",
    "LoadProgress",
    "Node",
    "Path",
    "Relationship",
    "Result",
    "Stream",
    "__version__",
    "connect",
    "errors",
]

_HOMES = {
    "connect": "gdb.api",
    "Database": "gdb.api",
    "DeviceColumns": "gdb.result",
    "HeldSnapshot": "gdb.held",
    "LoadProgress": "gdb.storage.importer.meter",
    "Result": "gdb.result",
    "Stream": "gdb.stream",
    "Node": "gdb.entities",
    "Path": "gdb.entities",
    "Relationship": "gdb.entities",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        value: object = _version()
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'gdb' has no attribute {name!r}")
    globals()[name] = value  # the next access does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("gdb-embedded")
    except metadata.PackageNotFoundError:  # a source tree that was not installed
        return "0+unknown"
