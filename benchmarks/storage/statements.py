"""Small statements and batches at several sizes of the store, beside other systems.

    python -m benchmarks.storage.statements [--nodes 1e3 1e5 1e6] [--system gdb SQLite ...] [--peer-python PATH]
        [--limit 900] [--folder DIR] [--save]

Stores of n nodes and 3 n relationships: look-ups by key and by a property without an index, an upsert, SET, a read with
an update, DETACH DELETE and MERGE of a relationship of one row (median milliseconds, each its own durable commit),
and batches of 10,000 and 100,000 rows in one statement (rows a second). Each system runs in a process of its own, in
the first Python that has it; those that are not installed are named and left out. The exit code is 1 if the systems end
with other numbers of nodes and relationships than ours.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.peers import statements
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table

Found = dict[str, list[float] | None]
REPOSITORY = Path(__file__).resolve().parents[2]
CURE = "pip install ladybug kuzu neug arcadedb-embedded"


def python_of(name: str, pythons: list[str]) -> str | None:
    """The first Python that can import a system."""
    test = f"import importlib.util as u, sys; sys.exit(u.find_spec({statements.MODULES[name]!r}) is None)"
    for python in pythons:
        if subprocess.run([python, "-c", test], check=False, capture_output=True).returncode == 0:
            return python
    return None


def installed(
    names: Sequence[str], peer_pythons: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """The Python of each system that is installed, ours or a peer's, and those that are not, which it prints."""
    pythons = [sys.executable, *peer_pythons]
    found = {name: python_of(name, pythons) for name in names}
    absent = [name for name, python in found.items() if python is None]
    if absent:
        print(f"not installed: {', '.join(absent)} ({CURE})", file=sys.stderr)
    return {name: python for name, python in found.items() if python is not None}, absent


def run(python: str, name: str, folder: Path, nodes: int, limit: float) -> Found | str:
    """What one system measures, as far as it came; or why it did not."""
    command = [python, "-m", "benchmarks.peers.statements", name, str(folder), str(nodes)]
    here = folder / "here"  # ArcadeDB writes its log where it is run
    here.mkdir(exist_ok=True)
    paths = os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        made = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            cwd=here,
            env={**os.environ, "PYTHONPATH": paths},
            timeout=limit,
        )
    except subprocess.TimeoutExpired as late:
        print(f"    stopped after {limit:.0f} s", file=sys.stderr)
        told = late.stdout or b""
        output = told.decode() if isinstance(told, bytes) else told
    else:
        output = made.stdout
        for line in made.stderr.splitlines()[-5:]:
            print(f"    {line}", file=sys.stderr)
    finally:
        shutil.rmtree(folder / name, ignore_errors=True)
    objects = [line for line in output.splitlines() if line.startswith("{")]
    if not objects:
        return "nothing was measured"
    found: Found = json.loads(objects[-1])
    return found


def tables(found: dict[tuple[str, int], Found], sizes: list[int]) -> list[Table]:
    """Times of statements of one row, and rates of batches: a cell at each size for each system."""
    captions = {
        "ms": "Statements of one row, each a durable commit: medians.",
        "rows/s": "Batches in one statement:",
    }
    made = []
    for unit, caption in captions.items():
        cells = [
            cell for cell in statements.CELLS if (cell in statements.ONE_ROW) == (unit == "ms")
        ]
        columns = (Column(f"{size:,} nodes", unit) for size in sizes)
        rows = [row for cell in cells for row in lines(found, sizes, cell)]
        made.append(Table.of((*("statement", "system"), *columns), rows, caption))
    return made


def lines(found: dict[tuple[str, int], Found], sizes: list[int], cell: str) -> Iterator[list[Cell]]:
    """A row of a statement for each system."""
    for name in dict.fromkeys(name for name, _ in found):
        several = [found.get((name, size), {}).get(cell) for size in sizes]
        yield [cell, name, *(one[0] if one else "-" for one in several)]
        if name == "gdb" and cell in statements.ONE_ROW[2:]:
            own = (one[1] if one else "-" for one in several)
            yield [cell, "gdb, without the commit", *own]


def main(line: list[str] | None = None) -> int:
    """Measure all, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=float, nargs="+", default=[1e3, 1e5, 1e6])
    parser.add_argument("--system", nargs="+", default=[*statements.SYSTEMS], help="(default: all)")
    parser.add_argument("--peer-python", action="append", default=[], help="that has more systems")
    parser.add_argument("--limit", type=float, default=900, help="seconds of one system and size")
    parser.add_argument("--folder", type=Path, help="on the disk to measure (default: temporary)")
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    arguments = parser.parse_args(line)
    here, absent = installed(arguments.system, arguments.peer_python)
    sizes = [int(size) for size in arguments.nodes]
    found: dict[tuple[str, int], Found] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="gdb-st-", dir=arguments.folder) as temporary:
            folder = Path(temporary)
            statements.data(folder, size)
            for name, python in here.items():
                one = run(python, name, folder, size, arguments.limit)
                print(f"{size:,} {name}: {one}", flush=True)
                if not isinstance(one, str):
                    found[name, size] = one
    report = Report.of(
        f"A system is stopped after {arguments.limit:.0f} s at each size: what it did not reach, or has not, is `-`.",
        tables(found, sizes),
        [f"not installed: {', '.join(absent)}"] if absent else [],
    )
    print(f"\n{report.markdown()}")
    wrong = [
        f"{name} at {size:,}"
        for (name, size), one in found.items()
        if None not in one.values()
        and one.get("counts") not in (None, found.get(("gdb", size), one).get("counts"))
    ]
    if wrong:
        print(f"other counts than ours: {', '.join(wrong)}", file=sys.stderr)
    if arguments.save and not wrong:
        page.save(__file__, "Statements", report, "duckdb")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
