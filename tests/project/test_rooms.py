"""The import contracts hold, and would see it if they did not (design.md §1).

A linter that lost sight of a room (they are reached through symlinks) would pass in silence, so forbidden imports are
planted in a copy and must each be found.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LINT = "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())"


@pytest.fixture
def copy(repository: Path, tmp_path: Path) -> Path:
    """The rooms and the contracts in a folder of their own."""
    pytest.importorskip("importlinter")
    for room in ("gdb", "storage", "executor", "repl"):
        shutil.copytree(
            repository / room,
            tmp_path / room,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    shutil.copy(repository / "pyproject.toml", tmp_path)
    return tmp_path


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_the_contracts_hold(copy: Path) -> None:
    done = lint(copy)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("storage/planted.py", "gdb.executor.plan.plan"),
        ("storage/planted.py", "gdb.api.database"),
        ("executor/planted.py", "gdb.planner"),
        ("executor/planted.py", "gdb.query_graph"),
        ("executor/planted.py", "gdb.answer.result"),
        ("gdb/language/planted.py", "gdb.repl"),
        ("executor/cpu/planted.py", "gdb.executor.reference"),
        ("executor/gpu/planted.py", "gdb.executor.cpu"),
        ("gdb/errors.py", "gdb.storage"),
    ],
)
def test_a_planted_violation_is_found(copy: Path, module: str, forbidden: str) -> None:
    with (copy / module).open("a", encoding="utf-8") as file:
        file.write(f"import {forbidden}\n")
    done = lint(copy)
    assert done.returncode == 1, done.stdout + done.stderr
    assert forbidden in done.stdout


def test_a_module_without_a_layer_is_found(copy: Path) -> None:
    (copy / "gdb" / "planted.py").write_text('"""Nobody said where this belongs."""\n')
    done = lint(copy)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "gdb.planted" in done.stdout
