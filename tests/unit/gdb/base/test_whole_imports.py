"""A Ctrl-C while a module is imported is answered when all of it is there."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

import pytest

from gdb.imports import imported

PRESSED = (
    "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nfor _ in range(100): pass\nthere = 1\n"
)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "pressed_while_imported.py").write_text(PRESSED)
    monkeypatch.delitem(sys.modules, "pressed_while_imported", raising=False)
    return "pressed_while_imported"


def test_it_is_answered_behind(module: str) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        imported(module)
    assert sys.modules[module].there == 1
    assert signal.getsignal(signal.SIGINT) is before
    assert imported(module).there == 1


def test_the_program_s_own_handler_answers(module: str) -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        assert imported(module).there == 1
    finally:
        signal.signal(signal.SIGINT, before)
    assert came == [signal.SIGINT]


def test_in_another_thread() -> None:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(imported("json").__name__))
    thread.start()
    thread.join()
    assert found == ["json"]


def test_what_is_not_there() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module_of_gdb"):
        imported("no_such_module_of_gdb")
