"""The import contracts hold, and would see it if they did not (design.md §1).

A linter that lost sight of a room (they are reached through symlinks) would pass in silence, so forbidden imports are
planted in a copy and must each be found.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

LINT = "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())"


@pytest.fixture(scope="module")
def copy(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rooms and the contracts in a folder of their own."""
    pytest.importorskip("importlinter")
    folder = tmp_path_factory.mktemp("rooms")
    for room in ("gdb", "storage", "executor", "repl"):
        shutil.copytree(
            repository / room,
            folder / room,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    shutil.copy(repository / "pyproject.toml", folder)
    return folder


@contextmanager
def planted(path: Path, text: str) -> Iterator[None]:
    """A file of the copy ends with a text, for a while."""
    before = path.read_bytes() if path.exists() else None
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
    try:
        yield
    finally:
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)


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
    with planted(copy / module, f"import {forbidden}\n"):
        done = lint(copy)
    assert done.returncode == 1, done.stdout + done.stderr
    assert forbidden in done.stdout


def test_a_module_without_a_layer_is_found(copy: Path) -> None:
    with planted(copy / "gdb" / "planted.py", '"""Nobody said where this belongs."""\n'):
        done = lint(copy)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "gdb.planted" in done.stdout


# ---- circles ---------------------------------------------------------------------------------------


def imports(repository: Path) -> dict[str, set[str]]:
    """What each module of the library imports when it runs: also inside of functions, and by `gdb.imports.deferred`."""
    files: dict[str, Path] = {}
    for room in ("gdb", "storage", "executor", "repl"):
        for path in (repository / room).rglob("*.py"):
            parts = path.relative_to(repository).with_suffix("").parts
            if any((repository / room / name).is_symlink() for name in parts[1:2]):
                continue  # a room of another folder
            full = parts if room == "gdb" else ("gdb", *parts)
            files[".".join(full[:-1] if full[-1] == "__init__" else full)] = path
    return {name: {*_imported(name, path, files)} - {name} for name, path in files.items()}


def _imported(name: str, path: Path, files: Collection[str]) -> Iterator[str]:
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    text = path.read_text(encoding="utf-8")
    waiting: list[ast.AST] = [ast.parse(text)]
    lines = [
        n for n, line in enumerate(text.splitlines(), 1) if "import" in line or "deferred" in line
    ]
    while waiting:
        match waiting.pop():
            case ast.stmt(lineno=first, end_lineno=int(last)) if not _any_within(
                lines, first, last
            ):
                pass
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=orelse):
                waiting += orelse
            case ast.Import(names=names):
                yield from (one.name for one in names if one.name in files)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = package[: len(package) - level + 1] if level else []
                whole = ".".join([*base, *([module] if module else [])])
                for one in names:
                    inner = f"{whole}.{one.name}"
                    found = inner if inner in files else whole
                    yield from [found] if found in files else []
            case ast.Call(func=ast.Name(id="deferred"), args=[ast.Constant(value=str(module))]):
                yield from [module] if module in files else []
            case node:
                waiting += ast.iter_child_nodes(node)


def _any_within(lines: list[int], first: int, last: int) -> bool:
    at = bisect_left(lines, first)
    return at < len(lines) and lines[at] <= last


def circles(graph: Mapping[str, Collection[str]]) -> list[list[str]]:
    """The largest sets of modules that all lead to one another."""
    reached: dict[str, set[str]] = {}
    for name in graph:
        seen, waiting = set[str](), [name]
        while waiting:
            new = set(graph.get(waiting.pop(), ())) - seen
            seen |= new
            waiting += new
        reached[name] = seen
    found = {
        tuple(sorted(other for other in seen if name in reached.get(other, ())))
        for name, seen in reached.items()
        if name in seen
    }
    return [list(circle) for circle in sorted(found) if len(circle) > 1]


def test_modules_form_no_circles(repository: Path) -> None:
    """Neither by imports at their head, nor by those inside of functions: what two share is in the room below both."""
    graph = imports(repository)
    assert len(graph) > 500
    assert graph["gdb.run.copy_statement"] >= {"gdb.run.writing_files", "gdb.run.copy_values"}
    found = circles(graph)
    assert not found
    assert circles({"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": []}) == [["a", "b", "c"]]
