"""docs/SECURITY.md: each promise names a test that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def named(repository: Path) -> list[tuple[str, str]]:
    text = (repository / "docs" / "SECURITY.md").read_text(encoding="utf-8")
    return [(match[1], match[2]) for match in _TEST.finditer(text)]


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


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
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if _runs_content(node)
    ]
    assert not found


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
