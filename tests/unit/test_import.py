"""`import gdb` stays light: what a query needs is imported when a query needs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "numba",
    "llvmlite",
    "duckdb",
    "cupy",
    "sqlglot",
    "prompt_toolkit",
    "pandas",
    "polars",
    "pyarrow",
    "networkx",
)


def modules_after(statement: str, folder: Path) -> set[str]:
    """The top-level modules that a fresh interpreter holds after a statement."""
    program = f"import sys\n{statement}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_gdb_imports_nothing_heavy(repository: Path) -> None:
    after = modules_after("import gdb", repository)
    assert "gdb" in after
    assert not after.intersection(HEAVY)


@pytest.mark.parametrize("name", ["connect", "Database", "Result", "Node", "Relationship"])
def test_the_public_names_import_nothing_heavy(repository: Path, name: str) -> None:
    assert not modules_after(f"from gdb import {name}", repository).intersection(HEAVY)


def test_a_count_needs_neither_duckdb_nor_arrow(repository: Path, tmp_path: Path) -> None:
    """The first answer of a process waits for what it imports."""
    store = tmp_path / "ring.gdb"
    (tmp_path / "ring.txt").write_text("0 1\n1 2\n2 0\n")
    modules_after(
        f"import gdb; gdb.connect({str(store)!r}).load({str(tmp_path / 'ring.txt')!r})", repository
    )
    count = "db.execute('MATCH (a)--(b)--(c) RETURN count(*)', device='cpu').scalar()"
    after = modules_after(
        f"import gdb; db = gdb.connect({str(store)!r}); assert {count}", repository
    )
    assert "llvmlite" in after
    assert not after.intersection({"duckdb", "numba", "cupy", "pandas", "polars", "pyarrow"})


def test_who_opens_a_store_loads_nothing_that_answers(repository: Path, tmp_path: Path) -> None:
    """An import is over before a query is asked."""
    program = (
        f"import sys, gdb; gdb.connect({str(tmp_path / 's')!r}); "
        "print(*(name for name in sys.modules if name.startswith('gdb.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=repository, capture_output=True, text=True, check=True
    )
    late = {
        "gdb.run.pipeline",
        "gdb.answer.result",
        "gdb.executor.run",
        "gdb.executor.tail",
        "gdb.storage.loops",
    }
    assert "gdb.storage.store" in done.stdout.split()
    assert not late.intersection(done.stdout.split())


def test_the_test_can_see(repository: Path) -> None:
    """A module imported on purpose shows up."""
    assert "duckdb" in modules_after("import gdb, duckdb", repository)


def test_dir_tells_the_public_names(repository: Path) -> None:
    """Names exported lazily are still listed, so that completion offers them."""
    program = "import gdb; print(*dir(gdb)); print(*gdb.__all__)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=repository, capture_output=True, text=True, check=True
    )
    listed, exported = (set(line.split()) for line in done.stdout.splitlines())
    assert {"connect", "Database", "Result", "Node", "Relationship"} <= exported <= listed
