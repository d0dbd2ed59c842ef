"""Modules that a thread imports before they are needed."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from gdb.base.threads import import_beside


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "brought_beside", raising=False)
    (tmp_path / "brought_beside.py").write_text(
        "import threading\nby = threading.current_thread().name\n"
    )
    return "brought_beside"


def test_a_thread_imports_it_once(module: str) -> None:
    for _ in range(2):
        import_beside(module)
        for thread in threading.enumerate():
            if thread.name == "gdb-import":
                thread.join(10)
        assert sys.modules[module].by == "gdb-import"


def test_what_is_wrong_is_raised_later(
    module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / f"{module}.py").write_text("raise RuntimeError('no')\n")
    import_beside(module)
    for thread in threading.enumerate():
        if thread.name == "gdb-import":
            thread.join(10)
    assert module not in sys.modules
    assert capsys.readouterr().err == ""
    with pytest.raises(RuntimeError, match="no"):
        __import__(module)
