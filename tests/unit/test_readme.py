"""What the README shows works as shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


def blocks(repository: Path, language: str) -> list[str]:
    text = (repository / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_quickstart_runs(
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (program,) = blocks(repository, "python")
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert "Ada Cem 2015" in shown
    assert "1 triangle" in shown


def test_the_shell_commands_run(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line after the prompt, given to gdbsh with -c."""
    (program,) = blocks(repository, "python")
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "README.md", "exec"), {})
    (session,) = blocks(repository, "console")
    queries = re.findall(r"^gdb> ([^.].*)$", session, re.MULTILINE) + re.findall(
        r'-c "(.*)"', session
    )
    assert len(queries) == 3
    for query in queries:
        command = [sys.executable, "-m", "gdb", str(tmp_path / "social.gdb"), "-c", query]
        done = subprocess.run(command, cwd=repository, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_files_it_links_are_there(repository: Path) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([^)#:]+)\)", text)
    assert linked
    missing = [name for name in linked if not (repository / name).exists()]
    assert not missing
