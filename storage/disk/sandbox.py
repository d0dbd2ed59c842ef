"""The one way to a DuckDB: in memory, without extensions, secrets and variables of the program, locked.

What it reads is data of others, whose names and contents may be made to lead it elsewhere. So it opens the files that
are named here, and no other file, address or database (https://duckdb.org/docs/stable/operations_manual/securing_duckdb/overview).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from gdb.base import forks, waiting
from gdb.base.sql import assigned, written

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Setting: TypeAlias = str | bool | int | float | list[str]

_FIXED: dict[str, Setting] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
}
_starting = forks.undivided(waiting.Lock())  # DuckDB has locks of its own around it
_PROGRESS = ["enable_progress_bar", "enable_progress_bar_print", "progress_bar_time"]


def literal(path: Path) -> str:
    """A path that DuckDB takes for one file, not for a pattern of names, a folder of the user or an address."""
    return re.sub(r"[*?\[]", r"[\g<0>]", os.path.abspath(path))


def sandboxed(
    settings: Mapping[str, Setting], *, files: Iterable[Path] = (), folders: Iterable[Path] = ()
) -> DuckDBPyConnection:
    """A new DuckDB in memory.

    Parameters
    ----------
    settings : of DuckDB beside the fixed ones; nothing can change them later.
    files, folders : what it may read and write, by the name `literal`; beside these only its `temp_directory`.

    Cost: 30 ms.
    """
    import duckdb  # a heavy import that only some work needs

    with _starting:
        connection = duckdb.connect(":memory:", config={**_FIXED, **settings})
    paths = [name for path in files for name in (os.path.abspath(path), literal(path))]
    later: dict[str, Setting] = {  # DuckDB takes these only once it runs, and in this order
        "allowed_paths": paths,
        "allowed_directories": [os.path.abspath(folder) for folder in folders],
        "allowed_configs": _PROGRESS,
        "python_enable_replacements": False,
        "TimeZone": "UTC",  # not the machine's
        "enable_external_access": False,
        "lock_configuration": True,
    }
    for name, value in later.items():  # GLOBAL: cursors have them as well
        if value != []:
            connection.execute(written(assigned(name, value)))
    return connection
