"""What the README shows works as shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import picture

MOST_LINES = 120


def blocks(repository: Path, language: str) -> list[str]:
    text = (repository / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_shell_commands_run(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line after the prompt, given to gdbsh with -c. (tests/project/test_samples.py runs the programs.)"""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for program in blocks(repository, "python"):
        exec(compile(program, "README.md", "exec"), names)
    session = "".join(blocks(repository, "console"))
    queries = re.findall(r"^gdb> ([^.].*)$", session, re.MULTILINE)
    queries += re.findall(r'-c "(.*)"', session)
    assert len(queries) == 3
    for query in queries:
        command = [sys.executable, "-m", "gdb", str(tmp_path / "social.gdb"), "-c", query]
        done = subprocess.run(command, cwd=repository, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_short_and_has_the_two_commands(repository: Path) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < MOST_LINES
    commands = re.findall(r"^\$ make (\w+)", text, re.MULTILINE)
    assert commands == ["demo", "test"]
    targets = (repository / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{name}:" in targets for name in [*commands, "docs"])


def test_its_picture_is_drawn_by_gdb(repository: Path) -> None:
    """`python scripts/picture.py` draws it anew. What it shows is compared, not where: another processor may round
    otherwise."""

    def told(svg: str) -> list[str]:
        return re.findall(r"<title>(.*?)</title>|>([^<>\n]+)</text>", svg)

    shown = re.findall(r"!\[.*?\]\((.*?)\)", (repository / "README.md").read_text(encoding="utf-8"))
    assert [repository / one for one in shown] == [picture.PICTURE]
    drawn = told(picture.drawn())
    assert len(drawn) > 20
    assert told(picture.PICTURE.read_text(encoding="utf-8")) == drawn


def test_the_files_it_links_are_there(repository: Path) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([^)#:]+)\)", text)
    assert linked
    missing = [name for name in linked if not (repository / name).exists()]
    assert not missing
