"""`import gdb` stays light: what a query needs is imported when a query needs it."""

from __future__ import annotations

import shutil
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


@pytest.fixture(scope="module")
def ring(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three people in a ring."""
    store = tmp_path_factory.mktemp("import") / "ring.gdb"
    people = "UNWIND range(0, 2) AS i CREATE (:P {id: i, name: 'p' + toString(i)})"
    joined = "MATCH (a:P), (b:P) WHERE b.id = (a.id + 1) % 3 CREATE (a)-[:R]->(b)"
    program = f"import gdb; db = gdb.connect({str(store)!r})"
    for text in (people, joined):
        program += f"; db.execute({text!r})"
    modules_after(f"{program}; db.compact(); db.close()", repository)
    return store


COLUMNS = {"duckdb", "sqlglot", "nanoarrow"}
MACHINE_CODE = {"llvmlite"}


@pytest.mark.parametrize(
    ("query", "answer", "needed", "not_needed"),
    [
        ("MATCH (a)--(b)--(c) RETURN count(*)", (6,), MACHINE_CODE, COLUMNS),
        ("MATCH (a:P {id: 1}) RETURN a.name, a.id", ("p1", 1), MACHINE_CODE, COLUMNS),
        ("MATCH (a:P) RETURN a.name AS n LIMIT 0", None, set(), {"duckdb", "sqlglot"}),
        ("CREATE (a:P {id: 3}) RETURN a.id", (3,), set(), COLUMNS | MACHINE_CODE),
        ("MATCH (a)-->(b) RETURN a.id % 1, sum(b.id)", (0, 3), MACHINE_CODE, COLUMNS),
        (  # of too many rows for Python
            f"MATCH (a), (b), {', '.join(f'(v{k})' for k in range(8))} RETURN a.id % 1, sum(b.id)",
            (0, 59049),
            COLUMNS | MACHINE_CODE,
            set(),
        ),
    ],
)
def test_an_answer_waits_for_what_it_needs_alone(
    repository: Path,
    tmp_path: Path,
    ring: Path,
    query: str,
    answer: tuple[object, ...] | None,
    needed: set[str],
    not_needed: set[str],
) -> None:
    """The first answer of a process waits for what it imports."""
    store = shutil.copytree(ring, tmp_path / "copy.gdb")
    rows = [] if answer is None else [answer]
    asked = f"assert db.execute({query!r}, device='cpu').fetchall() == {rows!r}"
    after = modules_after(f"import gdb; db = gdb.connect({str(store)!r}); {asked}", repository)
    assert needed <= after
    assert not after.intersection(not_needed | {"numba", "cupy", "pandas", "polars", "pyarrow"})
    assert not after.intersection({"subprocess", "difflib"}) or "duckdb" in after


def test_functions_are_imported_when_one_is_called(repository: Path, ring: Path) -> None:
    """All functions, dates and times among them, are a third of the modules that a count would wait for."""
    program = (
        f"import sys, gdb; db = gdb.connect({str(ring)!r}, read_only=True); "
        "db.execute('MATCH (a:P) RETURN count(*)', device='cpu').scalar(); "
        "print(*(name for name, module in sys.modules.items()"
        " if name.startswith('gdb.') and not hasattr(module, '__path__')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=repository, capture_output=True, text=True, check=True
    )
    held = done.stdout.split()  # modules that have code: a folder's own file is a docstring
    late = {"gdb.functions.of_times", "gdb.functions.of_strings", "gdb.language.translator"}
    assert "gdb.language.parser" in held
    assert not late.intersection(held)
    assert not [name for name in held if name.startswith("gdb.base.values.temporal")]
    assert len(held) < 218


def test_means_by_group_import_no_values_of_python(repository: Path, ring: Path) -> None:
    """What runs over columns needs neither the definitions in Python nor dates and times."""
    program = (
        "import duckdb, sqlglot.expressions; "  # else it would run over rows
        f"import sys, gdb; db = gdb.connect({str(ring)!r}, read_only=True); "
        "text = 'MATCH (a:P)-->(b) RETURN a.name, avg(b.id) AS mean ORDER BY mean, a.name LIMIT 1'; "
        "assert db.execute(text, device='cpu').fetchall() == [('p2', 0.0)]; "
        "print(*(name for name in sys.modules if name.startswith('gdb.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=repository, capture_output=True, text=True, check=True
    )
    held = {name for name in done.stdout.split() if name.startswith("gdb.base.values.")}
    assert held == {"gdb.base.values.problems"}


def test_a_first_answer_is_not_interrupted_by_the_collector(repository: Path, ring: Path) -> None:
    """Modules, trees and plans stay: to go through them ever again took a tenth of what a process waited for."""
    program = (
        f"import gc, gdb, gdb.run.pipeline; db = gdb.connect({str(ring)!r}, read_only=True); passes = []; "
        "gc.callbacks.append(lambda phase, told: passes.append(told['generation'])); "
        "db.execute('MATCH (a)-->(b) RETURN a.id % 1, sum(b.id)', device='cpu'); "
        "print(len(passes), gc.get_threshold()[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=repository, capture_output=True, text=True, check=True
    )
    passes, threshold = map(int, done.stdout.split())
    assert passes < 40  # two calls a pass; over 200 without
    assert threshold == 700


def test_who_opens_a_store_loads_nothing_that_answers(repository: Path, tmp_path: Path) -> None:
    """An import is over before a query runs."""
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
        "gdb.executor.relational.relational_tail",
        "gdb.storage.graph.edge_loops",
    }
    assert "gdb.storage.write.store" in done.stdout.split()
    assert not late.intersection(done.stdout.split())


def test_the_test_can_see(repository: Path) -> None:
    """A module imported on purpose shows up."""
    assert "duckdb" in modules_after("import gdb, duckdb", repository)


def test_limits_and_dbapi_are_there_without_an_import_of_their_own(repository: Path) -> None:
    for program in (
        "import gdb; gdb.limits.MAX_DEPTH = 200; assert gdb.connect().execute('RETURN 1').scalar() == 1",
        "import gdb; assert gdb.dbapi.connect().cursor().execute('RETURN 1').fetchall() == [(1,)]",
    ):
        subprocess.run([sys.executable, "-c", program], cwd=repository, check=True)
    assert not modules_after("import gdb", repository) & {"gdb.limits", "gdb.dbapi"}


def test_dir_tells_the_public_names(repository: Path) -> None:
    """Names exported lazily are still listed, so that completion offers them."""
    program = "import gdb; print(*dir(gdb)); print(*gdb.__all__)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=repository, capture_output=True, text=True, check=True
    )
    listed, exported = (set(line.split()) for line in done.stdout.splitlines())
    assert {"connect", "Database", "Result", "Node", "Relationship"} <= exported <= listed
