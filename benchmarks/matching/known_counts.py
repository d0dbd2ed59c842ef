"""Compare count(*) with known counts: five real graphs, every known pattern, four semantics.

    python -m benchmarks.matching.known_counts [--device cpu|gpu|cuda] [--timeout 60] [--graph NAME ...] [--workers N]
        [--save]

Each count is one query, `MATCH <mode> <pattern> RETURN count(*)`. The known counts lie beside the repository
(`../shared/data`), as do the graphs. A query that runs longer than the timeout is left out and named. The exit code is
1 if any count differs or any query fails, 2 if there is nothing to compare.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Literal

import gdb
from benchmarks.inputs import graphs, patterns
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table
from gdb.errors import GdbError, QueryTimeout

Verdict = Literal["equal", "differs", "failed", "left out"]


@dataclass(frozen=True, slots=True)
class Task:
    """One count to compare: a pattern on a graph's store under one semantics."""

    store: Path
    graph: str
    pattern: patterns.Pattern
    mode: str
    device: str
    timeout: float

    @property
    def name(self) -> str:
        return f"{self.graph} {self.pattern.name} {self.mode}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a task: the count found (None if none), how it compares, wall seconds."""

    task: Task
    verdict: Verdict
    found: int | None
    seconds: float
    note: str = ""

    def __str__(self) -> str:
        count = "-" if self.found is None else f"{self.found:,}"
        line = f"{self.task.name:<52} {count:>20}  {self.seconds:8.3f} s  {self.verdict}"
        return f"{line}  {self.note}" if self.note else line


@cache
def _database(store: Path) -> gdb.Database:
    """The store, opened once for each process."""
    return gdb.connect(store, read_only=True)


def compare(task: Task) -> Outcome:
    """Run one count and compare it."""
    known = task.pattern.counts[task.mode]
    start = time.perf_counter()

    def outcome(verdict: Verdict, found: int | None, note: str = "") -> Outcome:
        return Outcome(task, verdict, found, time.perf_counter() - start, note)

    try:
        result = _database(task.store).execute(
            task.pattern.cypher(task.mode), device=task.device, timeout=task.timeout
        )
        found = result.scalar()
    except QueryTimeout:
        return outcome("left out", None, f"over {task.timeout:g} s")
    except GdbError as error:
        return outcome("failed", None, f"{type(error).__name__}: {error}")
    if found != known:
        return outcome("differs", int(str(found)), f"known: {known:,}")
    return outcome("equal", known)


def tasks(stores: dict[str, Path], device: str, timeout: float) -> Iterator[Task]:
    """Every known count of the loaded graphs."""
    for graph, store in stores.items():
        for pattern in graphs.known(graph):
            for mode in pattern.counts:
                yield Task(store, graph, pattern, mode, device, timeout)


def run(work: list[Task], workers: int) -> Iterator[Outcome]:
    """The outcomes in the order of the tasks; with several workers each is a process that reads the same stores."""
    if workers == 1:
        yield from map(compare, work)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(compare, work)


def summary(outcomes: list[Outcome]) -> Table:
    """How many counts are equal, by graph."""
    verdicts = ("equal", "differs", "failed", "left out")
    rows: list[tuple[Cell, ...]] = []
    for graph in [*dict.fromkeys(o.task.graph for o in outcomes), "all"]:
        mine = [o for o in outcomes if graph in (o.task.graph, "all")]
        numbers = [sum(o.verdict == verdict for o in mine) for verdict in verdicts]
        rows.append((graph, len(mine), *numbers, sum(o.seconds for o in mine)))
    header = (
        *("graph", "counts", "equal", "differ", "failed", "left out"),
        Column("in all", "s", 1),
    )
    return Table.of(header, rows)


def report(outcomes: list[Outcome], arguments: argparse.Namespace) -> Report:
    """The table by graph, the slowest counts by name, and what was left out, differs or failed."""
    slowest = sorted((o for o in outcomes if o.verdict == "equal"), key=lambda o: -o.seconds)[:12]
    rows = [(o.task.name, o.found, o.seconds) for o in slowest]
    header = (*("query", "count"), Column("time", "s", 2))
    return Report.of(
        "Every known count of the graphs, in the four semantics, and the 200 published query graphs of hprd; "
        f"each a query of its own through `execute(..., device={arguments.device!r})`, "
        f"left out over {arguments.timeout:g} s. {arguments.workers} at a time.",
        [summary(outcomes), Table.of(header, rows, "The slowest:")],
        [
            f"{verdict}: {o.task.name} ({o.note})"
            for verdict in ("left out", "differs", "failed")
            for o in outcomes
            if o.verdict == verdict
        ],
    )


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--device", default="cpu", help="auto, cpu, gpu, cuda or reference (default: cpu)"
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, help="seconds for each query (default: 60)"
    )
    parser.add_argument(
        "--graph", nargs="+", default=list(graphs.LOADERS), choices=list(graphs.LOADERS)
    )
    parser.add_argument(
        "--workers", type=int, default=1, help="processes that query at a time (default: 1)"
    )
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> int:
    """Load, compare, print."""
    arguments = arguments_of(line)
    if not (graphs.DATA / "truth").is_dir():
        print("there is nothing to compare with: ../shared/data is not here", file=sys.stderr)
        return 2
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="gdb-truth-") as folder:
        stores = {name: graphs.loaded(name, Path(folder)) for name in arguments.graph}
        work = list(tasks(stores, arguments.device, arguments.timeout))
        for outcome in run(work, arguments.workers):
            print(outcome, flush=True)
            outcomes.append(outcome)
    found = report(outcomes, arguments)
    print(f"\n{found.markdown()}")
    if arguments.save:
        took_part = ("numpy", "llvmlite", "duckdb", "cupy-cuda12x", "cupy-cuda13x")
        page.save(__file__, f"Known counts on {arguments.device}", found, *took_part)
    return int(any(o.verdict in ("differs", "failed") for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
