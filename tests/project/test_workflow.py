"""The workflow that builds the wheel: its targets exist, it has the systems and Pythons that the project names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path


def test_it_runs_targets_of_the_makefile(repository: Path) -> None:
    text = (repository / ".github/workflows/wheels.yml").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (repository / "Makefile").read_text(), re.MULTILINE))
    run = {name for line in re.findall(r"run: make (.*)", text) for name in line.split()}
    assert run == {"check", "test", "docs", "wheel"}
    assert run <= targets


def test_it_covers_what_the_project_names(repository: Path) -> None:
    text = (repository / ".github/workflows/wheels.yml").read_text(encoding="utf-8")
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    for versions in re.findall(r"python: \[(.*)\]", text):
        assert versions.startswith(f'"{oldest}"')
    systems = re.findall(r"os: \[(.*)\]", text)
    assert len(systems) == 2
    assert all("ubuntu" in one and "macos" in one for one in systems)


def test_the_checklist_names_targets_and_files_that_there_are(repository: Path) -> None:
    text = (repository / "docs/releasing.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (repository / "Makefile").read_text(), re.MULTILINE))
    named = [name for line in re.findall(r"`make ([^`]*)`", text) for name in line.split()]
    assert len(named) > 10
    assert set(named) <= targets
    files = re.findall(r"`((?:\.github|docs|storage|tests|benchmarks)/[\w/.-]+)`", text)
    assert len(files) > 3
    assert all((repository / name).exists() for name in files)
