"""Destructors: silent where a process ends before them, and only there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gdb.base.closing import destructor

_OUTLIVES = """
import sys, gdb
db = gdb.connect(sys.argv[1])
db.execute("CREATE (:P {id: 1})")
sys.excepthook = lambda *_: print(_)  # holds this module, and so the store, until others are gone
"""


def test_a_store_that_outlives_the_modules_says_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(_OUTLIVES)
    command = [sys.executable, str(script), str(tmp_path / "s.gdb")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stderr == ""


class Broken:
    """Cannot be closed."""

    def close(self) -> None:
        """Fail."""
        raise AttributeError("a fault of its own")

    destroy = destructor(close)


def test_a_fault_is_raised_while_the_process_goes_on() -> None:
    with pytest.raises(AttributeError, match="a fault of its own"):
        Broken().destroy()
