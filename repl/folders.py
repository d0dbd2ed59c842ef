"""Files of the user, by the XDG Base Directory Specification: the history, saved queries and the start-up file."""

from __future__ import annotations

import os
from pathlib import Path


def _base(variable: str, default: str) -> Path:
    """The folder that a variable of the environment names, else one in the home. RuntimeError : there is no home."""
    stated = os.environ.get(variable, "")
    return Path(stated) if os.path.isabs(stated) else Path.home() / default


def history_file() -> Path:
    """Where statements are remembered."""
    return _base("XDG_STATE_HOME", ".local/state") / "gdb" / "history"


def queries_folder() -> Path:
    """Where saved queries lie."""
    return _base("XDG_DATA_HOME", ".local/share") / "gdb" / "queries"


def start_file() -> Path | None:
    """The file that a person's shell runs first: gdb/gdbshrc, else ~/.gdbshrc; None where neither is."""
    try:
        named = _base("XDG_CONFIG_HOME", ".config") / "gdb" / "gdbshrc", Path.home() / ".gdbshrc"
    except RuntimeError:
        return None
    return next((path for path in named if path.is_file()), None)
