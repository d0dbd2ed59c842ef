"""CPU seconds of `import gdb` in a fresh process, beside those of what it leaves for later.

python -m benchmarks.process.import_time [--rounds 15] [--save]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Column, Table

REPOSITORY = Path(__file__).resolve().parents[2]
SUBJECTS = ("gdb", "gdb.api.database", "numpy", "duckdb", "llvmlite", "sqlglot", "prompt_toolkit")
_PROGRAM = "import time; t = time.process_time(); import {0}; print(time.process_time() - t, time.process_time())"


def measure(module: str, rounds: int) -> tuple[float, float]:
    """Medians in CPU seconds: the import statement alone, and the whole process up to there."""
    taken = []
    for _ in range(rounds):
        command = [sys.executable, "-c", _PROGRAM.format(module)]
        done = subprocess.run(
            command,
            cwd=REPOSITORY,
            env=os.environ
            | {"PYTHONDONTWRITEBYTECODE": ""},  # it is there, as where gdb is installed
            capture_output=True,
            text=True,
            check=True,
        )
        taken.append(tuple(map(float, done.stdout.split())))
    statement, process = zip(*taken, strict=True)
    return statistics.median(statement), statistics.median(process)


def main() -> int:
    """Measure every subject and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    arguments = parser.parse_args()
    measure("gdb", 2)  # so that the bytecode is written and the files are in memory
    rows = []
    for module in SUBJECTS:
        statement, process = measure(module, arguments.rounds)
        rows.append((f"import {module}", statement, process))
    columns = (Column("CPU of the import", "s", 3), Column("CPU of the process so far", "s", 3))
    report = Report.of(
        f"Medians of {arguments.rounds} fresh processes. `import gdb` leaves the lower rows for later.",
        [Table.of(("statement", *columns), rows)],
    )
    print(report.markdown())
    if arguments.save:
        measured = ("numpy", "duckdb", "llvmlite", "sqlglot", "prompt_toolkit")
        page.save(__file__, "Import time", report, *measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
