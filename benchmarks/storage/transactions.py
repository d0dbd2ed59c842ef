"""Small durable commits on a large graph: how many a second, and what they cost the queries after them.

    python -m benchmarks.storage.transactions [--edges 1e6] [--commits 200] [--save]

A random directed graph with a tenth as many nodes as relationships, made in one transaction; then transactions of one
relationship each. Beside it DuckDB and SQLite (write-ahead log, synchronous=FULL), the same rows in a table of pairs
with an index on the first, one row inserted and committed at a time, in a folder on the same disk in the same run.
"query" is the number of neighbours of the neighbours of one node: the median of some runs, and the first after a
commit. The exit code is 1 if the systems count differently.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import duckdb
import numpy as np
import numpy.typing as npt

import gdb
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table

I64 = npt.NDArray[np.int64]
RUNS = 9
PAIRS = "SELECT count(*) FROM e AS a JOIN e AS b ON a.t = b.s WHERE a.s = ?"


class System(Protocol):
    """One of those compared. name : in the table."""

    name: str

    def fill(self, sources: I64, targets: I64) -> None: ...
    def add(self, source: int, target: int) -> None: ...
    def query(self, node: int) -> int: ...
    def compact(self) -> None: ...
    def close(self) -> None: ...


class Ours:
    name = "gdb"

    def __init__(self, folder: Path) -> None:
        self.db = gdb.connect(folder / "s.gdb")

    def fill(self, sources: I64, targets: I64) -> None:
        with self.db.transaction() as tx:
            tx.add_nodes("N", np.arange(max(sources.max(), targets.max()) + 1))
            tx.add_relationships("E", sources, targets)

    def add(self, source: int, target: int) -> None:
        with self.db.transaction() as tx:
            tx.add_relationships("E", [source], [target])

    def query(self, node: int) -> int:
        text = "MATCH REPEATABLE ELEMENTS (a)-[:E]->(b)-[:E]->(c) WHERE id(a) = $a RETURN count(*)"
        return int(str(self.db.execute(text, {"a": node}).scalar()))

    def compact(self) -> None:
        self.db.compact()

    def close(self) -> None:
        self.db.close()


class Duck:
    name = "DuckDB"

    def __init__(self, folder: Path) -> None:
        self.db = duckdb.connect(str(folder / "s.duckdb"))

    def fill(self, sources: I64, targets: I64) -> None:
        rows = {"s": sources, "t": targets}
        self.db.execute("CREATE TABLE e AS SELECT * FROM rows")
        self.db.execute("CREATE INDEX by_s ON e (s)")
        del rows

    def add(self, source: int, target: int) -> None:
        self.db.execute("INSERT INTO e VALUES (?, ?)", [source, target])

    def query(self, node: int) -> int:
        found = self.db.execute(PAIRS, [node]).fetchone()
        return int(str(found[0])) if found else 0

    def compact(self) -> None:
        self.db.execute("CHECKPOINT")

    def close(self) -> None:
        self.db.close()


class Lite:
    name = "SQLite"

    def __init__(self, folder: Path) -> None:
        self.db = sqlite3.connect(folder / "s.sqlite", isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")

    def fill(self, sources: I64, targets: I64) -> None:
        self.db.execute("CREATE TABLE e (s INTEGER, t INTEGER)")
        self.db.execute("BEGIN")
        rows = zip(sources.tolist(), targets.tolist(), strict=True)
        self.db.executemany("INSERT INTO e VALUES (?, ?)", rows)
        self.db.execute("COMMIT")
        self.db.execute("CREATE INDEX by_s ON e (s)")

    def add(self, source: int, target: int) -> None:
        self.db.execute("INSERT INTO e VALUES (?, ?)", [source, target])

    def query(self, node: int) -> int:
        return int(self.db.execute(PAIRS, [node]).fetchone()[0])

    def compact(self) -> None:
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self.db.close()


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds to fill, commits a second, milliseconds of queries, seconds to compact, the last count, MB at the end."""

    name: str
    fill: float
    commits: float
    query: float
    after: float
    compact: float
    count: int
    size: float


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def measure(system: System, folder: Path, sources: I64, targets: I64, commits: int) -> Measured:
    """Fill, commit one at a time, query, compact."""
    fill = seconds(lambda: system.fill(sources, targets))
    node = int(sources[0])
    system.query(node)
    begin = time.perf_counter()
    for target in targets[:commits].tolist():
        system.add(node, int(target))
    spent = time.perf_counter() - begin
    after, query = [], []
    for target in targets[commits : commits + RUNS].tolist():
        system.add(node, int(target))
        after.append(seconds(lambda: system.query(node)))
        query.append(statistics.median(seconds(lambda: system.query(node)) for _ in range(RUNS)))
    compact = seconds(system.compact)
    count = system.query(node)
    system.close()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    medians = (statistics.median(query) * 1e3, statistics.median(after) * 1e3)
    return Measured(system.name, fill, commits / spent, *medians, compact, count, size)


def main(line: list[str] | None = None) -> int:
    """Measure all, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edges", type=float, default=1e6, help="(default: 1e6)")
    parser.add_argument("--commits", type=int, default=200, help="(default: 200)")
    parser.add_argument("--folder", type=Path, help="on the disk to measure (default: temporary)")
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    arguments = parser.parse_args(line)
    draw = np.random.default_rng(7)
    edges = int(arguments.edges)
    sources, targets = draw.integers(0, max(edges // 10, 2), (2, edges))
    found = []
    for make in (Ours, Duck, Lite):
        with tempfile.TemporaryDirectory(prefix="gdb-tx-", dir=arguments.folder) as temporary:
            folder = Path(temporary)
            found.append(measure(make(folder), folder, sources, targets, arguments.commits))
        print(found[-1], flush=True)
    header = (
        *("system", Column("fill", "s"), Column("commits", "/s"), Column("query", "ms")),
        *(Column("first query after a commit", "ms"), Column("compact", "s"), Column("disk", "MB")),
    )
    rows: list[tuple[Cell, ...]] = [
        (*(one.name, one.fill, one.commits, one.query, one.after), one.compact, one.size)
        for one in found
    ]
    about = f"{edges:,} relationships; commits of one each, durable, one after the other."
    report = Report.of(about, [Table.of(header, rows)])
    print(f"\n{report.markdown()}")
    wrong = len({one.count for one in found}) > 1
    if arguments.save and not wrong:
        page.save(__file__, "Transactions", report, "numpy", "duckdb")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
