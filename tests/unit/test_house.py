"""The habits of the house that a program can check (rooms small, names telling, packages complete)."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from pathlib import Path

import pytest

MOST_LINES = 500
ROOMS = ("gdb", "storage", "executor", "repl")
MADE_LATER = {"dataclass", "field", "replace"}


def sources(repository: Path) -> list[Path]:
    """Every Python file that is ours: what git tracks or would track, or the folders' own files without git."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=repository,
        capture_output=True,
        text=True,
    )
    if listing.returncode == 0 and listing.stdout:
        found = {repository / line for line in listing.stdout.splitlines()}
    else:
        found = {
            path
            for room in (*ROOMS, "tests", "benchmarks")
            for path in (repository / room).rglob("*.py")
        }
    return sorted(path for path in found if path.is_file())


def test_no_module_is_long(repository: Path) -> None:
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources(repository)
    }
    assert len(lengths) > 20
    long = [f"{path.relative_to(repository)}: {n}" for path, n in lengths.items() if n > MOST_LINES]
    assert not long, f"over {MOST_LINES} lines; is there a second idea in it? {long}"


def test_no_module_is_a_drawer(repository: Path) -> None:
    drawers = {"utils", "util", "helpers", "misc", "common"}
    found = [
        path for path in sources(repository) if path.stem in drawers or "_fast_path" in path.stem
    ]
    assert not found, "name a module by what it does"


def test_no_room_compiles_methods_before_they_are_called(repository: Path) -> None:
    """`gdb.records` says what the decorator of the standard library costs each process."""
    costly = []
    for path in sources(repository):
        if path.relative_to(repository).parts[0] in ROOMS and path.stem != "records":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module == "dataclasses":
                    costly += [path for name in node.names if name.name in MADE_LATER]
    assert not costly, "import it from gdb.records"


def test_every_module_says_what_it_is(repository: Path) -> None:
    silent = []
    for path in sources(repository):
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        if tree.body and ast.get_docstring(tree) is None:
            silent.append(str(path.relative_to(repository)))
    assert not silent


@pytest.mark.parametrize("room", ["storage", "executor", "repl"])
def test_the_symlink_of_each_room_is_there(repository: Path, room: str) -> None:
    link = repository / "gdb" / room
    assert link.is_symlink()
    assert link.readlink() == Path("..") / room


def test_every_package_is_listed(repository: Path) -> None:
    """Packages are listed by hand (pyproject.toml says why), so one may be forgotten."""
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(project["tool"]["setuptools"]["packages"])
    present = set()
    for room in ROOMS:
        for init in (repository / room).rglob("__init__.py"):
            parts = init.parent.relative_to(repository).parts
            present.add(".".join(parts if room == "gdb" else ("gdb", *parts)))
    assert listed == present
