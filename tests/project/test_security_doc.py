"""docs/SECURITY.md: each promise names a test that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.project.test_house import text_of

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def named(repository: Path) -> list[tuple[str, str]]:
    text = (repository / "docs" / "SECURITY.md").read_text(encoding="utf-8")
    return [(match[1], match[2]) for match in _TEST.finditer(text)]


def functions(path: Path) -> set[str]:
    """What may be one: each `def`, at the head of a line."""
    return set(re.findall(r"^ *def (\w+)\(", text_of(path), re.MULTILINE))


def test_every_test_that_is_named_exists(repository: Path) -> None:
    found = named(repository)
    assert len(found) > 50
    missing = [
        f"{file}::{name}"
        for file, name in found
        if not (repository / file).is_file() or name not in functions(repository / file)
    ]
    assert not missing


def test_every_row_of_a_promise_names_what_holds_it(repository: Path) -> None:
    text = (repository / "docs" / "SECURITY.md").read_text(encoding="utf-8")
    text = text.partition("## Measurements")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ") and "| test |" not in line]
    promises = [row.split(" | ")[1] for row in rows if row.count(" | ") >= 2]
    assert all("::" in test or "`make " in test or "the same" in test for test in promises)


def test_nothing_is_unpickled(repository: Path) -> None:
    """No module of the library reads what could run code: pickles, marshalled code, arrays of objects."""
    folders = [repository / room for room in ("gdb", "storage", "executor", "repl")]
    found = [
        f"{path.name}:{getattr(node, 'lineno', 0)}"
        for folder in folders
        for path in folder.rglob("*.py")
        if path
        != repository
        / "gdb"
        / "records.py"  # compiles methods of the classes that the library declares
        and _RUNNING.search(text_of(path))
        for node in ast.walk(ast.parse(text_of(path)))
        if _runs_content(node)
    ]
    assert not found


_RUNNING = re.compile(r"\b(?:pickle|marshal|shelve|dill|eval|exec|allow_pickle)\b")
"""One of these names is in what `_runs_content` finds."""


def _runs_content(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(one.name in ("pickle", "marshal", "shelve", "dill") for one in names)
        case ast.ImportFrom(module="pickle" | "marshal" | "shelve"):
            return True
        case ast.Call(func=ast.Name(id="eval" | "exec")):
            return True
        case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
            return True
    return False
