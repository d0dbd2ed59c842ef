"""Run the 200 published query graphs of hprd, each shape new to a warm process, and say how long each takes.

    python -m benchmarks.matching.query_graphs [--threads N] [--number 200] [--warm-up 2] [--repeat N] [--save]

Every query has 16 vertices and is dense. Each runs once, through `db.execute`, on a store on disk, by a process
that has answered only a few queries of other shapes (triangle, 4-cycle): the seconds are those of the first execution,
from the text to the count. Every count is compared with the published one. The exit code is 1 if a count differs, 2 if
the graph is not here.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gdb
from benchmarks.inputs import graphs, patterns
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table

GOALS = (0.015, 0.2)  # seconds: how many queries take longer
SLOWEST = 10
WARM_UP = (
    "MATCH DIFFERENT NODES (a)-[]-(b)-[]-(c), (a)-[]-(c) RETURN count(*)",
    "MATCH DIFFERENT NODES (a:L1)-[]-(b)-[]-(c)-[]-(d), (a)-[]-(d) RETURN count(*)",
    "MATCH DIFFERENT NODES (a)-[]-(b:L7)-[]-(c)-[]-(a) RETURN count(*)",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One query: its count, and the seconds of its first execution.

    steps : of each step in it. collected : of Python's garbage collection, which falls into any step.
    again : of a later execution, 0 for none.
    """

    pattern: patterns.Pattern
    count: int
    seconds: float
    steps: dict[str, float]
    collected: float = 0.0
    again: float = 0.0

    @property
    def right(self) -> bool:
        return self.count == self.pattern.counts["isomorphisms"]

    @property
    def between(self) -> float:
        """Seconds that belong to no step."""
        return self.seconds - sum(self.steps.values())


@contextmanager
def collections() -> Iterator[list[float]]:
    """The seconds of each garbage collection meanwhile."""
    found: list[float] = []
    begun = 0.0

    def note(phase: str, info: dict[str, int]) -> None:
        nonlocal begun
        if phase == "start":
            begun = time.perf_counter()
        else:
            found.append(time.perf_counter() - begun)

    gc.callbacks.append(note)
    try:
        yield found
    finally:
        gc.callbacks.remove(note)


def ask(
    db: gdb.Database, queries: list[patterns.Pattern], *, threads: int = 0, repeat: int = 0
) -> Iterator[Asked]:
    """Run each query for the first time, and then `again` times more (the median is kept)."""
    for pattern in queries:
        text = pattern.cypher("isomorphisms")
        with collections() as collected:
            start = time.perf_counter()
            result = db.execute(text, device="cpu", threads=threads)
            count = int(str(result.scalar()))
            seconds = time.perf_counter() - start
        later = []
        for _ in range(repeat):
            start = time.perf_counter()
            db.execute(text, device="cpu", threads=threads).scalar()
            later.append(time.perf_counter() - start)
        again = statistics.median(later) if later else 0.0
        yield Asked(pattern, count, seconds, dict(result.summary.seconds), sum(collected), again)


def steps(asked: list[Asked]) -> list[str]:
    """The names of the steps that took place, in their order."""
    return list(dict.fromkeys(name for a in asked for name in a.steps))


def distribution(asked: list[Asked]) -> Table:
    """Median, p90 and largest, of the whole and of each step; how many are over the goals."""
    lists = {"end to end": [a.seconds for a in asked]}
    for step in steps(asked):
        lists[step] = [a.steps.get(step, 0.0) for a in asked]
    lists["between"] = [a.between for a in asked]
    lists["garbage collection in all"] = [a.collected for a in asked]
    if any(a.again for a in asked):
        lists["run again"] = [a.again for a in asked]
    rows: list[tuple[Cell, ...]] = []
    for name, seconds in lists.items():
        numbers = [*np.percentile(seconds, (50, 90)).tolist(), max(seconds), sum(seconds)]
        over = [sum(s > goal for s in seconds) for goal in GOALS]
        rows.append((name, *(1e3 * n for n in numbers), *over))
    times = (Column(name, "ms") for name in ("median", "p90", "max", "sum"))
    return Table.of(("step", *times, *(f"over {1e3 * goal:g} ms" for goal in GOALS)), rows)


def slowest(asked: list[Asked]) -> Table:
    """The slowest first executions, by step."""
    worst = sorted(asked, key=lambda a: -a.seconds)[:SLOWEST]
    names = steps(worst)
    rows: list[tuple[Cell, ...]] = []
    for a in worst:
        parts = (1e3 * a.steps.get(step, 0.0) for step in names)
        rows.append((a.pattern.name, a.count, 1e3 * a.seconds, *parts, 1e3 * a.collected))
    times = (Column(name, "ms") for name in ("in all", *names, "garbage"))
    return Table.of(("query", "count", *times), rows, "The slowest, by step:")


def report(asked: list[Asked], warm_up: int, threads: int) -> Report:
    """Both tables, and the counts that differ.

    Parameters
    ----------
    warm_up : queries of other shapes that the process answered before.
    threads : of a query, 0 for all cores.
    """
    right = sum(a.right for a in asked)
    notes = [f"{right} of {len(asked)} counts are the published ones"]
    for a in asked:
        if not a.right:
            known = a.pattern.counts["isomorphisms"]
            notes.append(f"{a.pattern.name} differs: {a.count:,}, published {known:,}")
    cores = f"{threads} threads" if threads else "all cores"
    introduction = (
        f"{len(asked)} published query graphs (16 vertices, dense) on hprd, embeddings with different nodes; each "
        f"run for the first time by a process that answered {warm_up} queries of other shapes before, "
        f"through `db.execute` on a store on disk, {cores}. From the text to the count; `between` "
        "belongs to no step."
    )
    return Report.of(introduction, [distribution(asked), slowest(asked)], notes)


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--threads", type=int, default=0, help="(default: all cores)")
    add("--number", type=int, default=200, help="the first so many queries (default: 200)")
    add(
        "--warm-up",
        type=int,
        default=2,
        choices=range(len(WARM_UP) + 1),
        help="queries of other shapes before (default: 2)",
    )
    add("--repeat", type=int, default=0, help="also ask each again so often (default: 0)")
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> int:
    """Load the graph, run the queries, print the table."""
    arguments = arguments_of(line)
    if graphs.absent(arguments.data / "hprd" / "query_graph"):
        return 2
    queries = graphs.published(arguments.data)[: arguments.number]
    with tempfile.TemporaryDirectory(prefix="gdb-query-graphs-") as temporary:
        store = graphs.loaded("hprd", arguments.folder or Path(temporary), arguments.data)
        with gdb.connect(store, read_only=True) as db:
            for text in WARM_UP[: arguments.warm_up]:
                db.execute(text, device="cpu", threads=arguments.threads)
            asked = list(ask(db, queries, threads=arguments.threads, repeat=arguments.repeat))
    found = report(asked, arguments.warm_up, arguments.threads)
    print(f"\n{found.markdown()}")
    if arguments.save:
        title = "Query graphs of hprd, each new"
        page.save(__file__, title, found, "numpy", "llvmlite", "duckdb")
    return int(not all(a.right for a in asked))


if __name__ == "__main__":
    sys.exit(main())
