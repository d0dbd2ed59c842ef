"""Temporal patterns: transfers whose times follow one another within a window, beside the self joins of DuckDB.

    python -m benchmarks.matching.temporal_patterns [--transfers 1e6] [--accounts 17] [--window 3600]
        [--pattern ring3 ...] [--limit 60] [--runs 3] [--device cpu cuda] [--save]

An R-MAT graph of transfers (a, b, c of 0.57, 0.19, 0.19) between 2^accounts accounts of 20 countries, each at a second
of 30 days and of an amount; parallel ones stay, loops do not. Every pattern is counted through `db.execute`, its window
a parameter, and by DuckDB from the same tables, sorted by time. Seconds, medians of the runs
after the first; `first` is the first of ours, with planning, reading columns and, on a GPU, copying; `kernel` the time
in kernels of a warm run. The exit code is 1 if a count differs.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

import gdb
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Header, Over, Table
from gdb.errors import QueryTimeout
from gdb.executor.gpu import special
from gdb.executor.gpu.device import absence

SECONDS = 30 * 86_400
COUNTRIES = 20
WARM_UP, COMPILING = (
    0.3,
    30.0,
)  # seconds: after the first a query has its own GPU kernel compiled, which is waited for


@dataclass(frozen=True, slots=True)
class Subject:
    """A pattern in Cypher and in SQL, `$w` the window in both."""

    name: str
    cypher: str
    sql: str


def _chain(
    name: str, hops: int, closed: bool, conditions: str = "", joined: tuple[str, str] = ("", "")
) -> Subject:
    """Transfers one after the other within a window: e0, e1, ... from a0 to a1, ..., back to a0 where it is closed.

    conditions : more of them, the same in both languages. joined : more tables and conditions in SQL.
    """
    ends = [f"(a{k})" for k in range(hops)] + ["(a0)" if closed else f"(a{hops})"]
    path = ends[0] + "".join(f"-[e{k}:T]->{end}" for k, end in enumerate(ends[1:]))
    order = [f"e{k}.at < e{k + 1}.at" for k in range(hops - 1)]
    order.append(f"e{hops - 1}.at - e0.at <= $w")
    joins = [f"e{k}.target = e{k + 1}.source" for k in range(hops - 1)]
    joins += [f"e{hops - 1}.target = e0.source"] if closed else []
    joins += [f"e{k}.at <= e0.at + $w" for k in range(1, hops)]  # what follows: as ranges of times
    tables = ", ".join(f"transfers e{k}" for k in range(hops))
    return Subject(
        name,
        f"MATCH {path} WHERE {' AND '.join(order)}{conditions} RETURN count(*)",
        f"SELECT count(*) FROM {tables}{joined[0]} WHERE {' AND '.join([*joins, *order])}"
        f"{joined[1] or conditions}",
    )


SUBJECTS = (
    _chain("path2", 2, False),
    _chain("path3", 3, False),
    _chain("ring3", 3, True),
    _chain("ring4", 4, True),
    _chain("shrinking3", 3, True, " AND e1.amount <= e0.amount AND e2.amount <= e1.amount"),
    _chain(
        *("abroad2", 2, False, " AND a0.country <> a1.country AND a0.country = a2.country"),
        (
            ", accounts a0, accounts a1, accounts a2",
            " AND a0.id = e0.source AND a1.id = e0.target AND a2.id = e1.target "
            "AND a0.country <> a1.country AND a0.country = a2.country",
        ),
    ),
    Subject(
        "scatter",
        "MATCH (a)-[e:T]->(b)-[f:T]->(d), (a)-[g:T]->(c)-[h:T]->(d) WHERE e.at < f.at "
        "AND f.at - e.at <= $w AND g.at < h.at AND h.at - g.at <= $w AND e.at <= g.at AND g.at - e.at <= $w "
        "RETURN count(*)",
        "SELECT count(*) FROM transfers e, transfers f, transfers g, transfers h "
        "WHERE e.target = f.source AND g.target = h.source AND e.source = g.source AND f.target = h.target "
        "AND e.at < f.at AND f.at <= e.at + $w AND g.at < h.at AND h.at <= g.at + $w AND e.at <= g.at "
        "AND g.at <= e.at + $w AND e.id <> g.id AND e.id <> h.id AND f.id <> g.id AND f.id <> h.id",
    ),
)
NAMES = [subject.name for subject in SUBJECTS]


@dataclass(frozen=True, slots=True)
class Timed:
    """A count, seconds of the first run, the median of the later ones; on a GPU those in kernels. None: it took too
    long."""

    count: int | None
    first: float
    seconds: float
    kernel: float = math.nan


def transfers(scale: int, count: int, folder: Path) -> tuple[Path, Path]:
    """The CSV files of accounts and of transfers, those by their time."""
    random = np.random.default_rng(1)
    ends = np.zeros((2, count), np.int64)
    for _ in range(scale):
        drawn = random.random(count)
        ends[0] = 2 * ends[0] + (drawn >= 0.76)
        ends[1] = 2 * ends[1] + (((drawn >= 0.57) & (drawn < 0.76)) | (drawn >= 0.95))
    ends = ends[:, ends[0] != ends[1]]
    kept = ends.shape[1]
    at = np.sort(random.integers(0, SECONDS, kept))
    amount = random.lognormal(4, 1, kept).round(2)
    accounts, path = folder / "accounts.csv", folder / "transfers.csv"
    country = random.integers(0, COUNTRIES, 1 << scale)
    _write(accounts, ":ID,country:string", [np.arange(1 << scale), country], "%d,C%d")
    _write(path, ":START_ID,:END_ID,at:int,amount:float", [*ends, at, amount], "%d,%d,%d,%.2f")
    return accounts, path


def _write(path: Path, header: str, columns: list[npt.NDArray[np.generic]], form: str) -> None:
    rows = np.column_stack(columns)
    np.savetxt(path, rows, form, header=header, comments="")


def ours(
    db: gdb.Database, subject: Subject, window: int, device: str, limit: float, runs: int
) -> Timed:
    """As the program's text says."""

    def ask() -> tuple[int, float, float]:
        begin = time.perf_counter()
        result = db.execute(subject.cypher, {"w": window}, device=device, timeout=limit)
        found = int(str(result.scalar()))
        return found, time.perf_counter() - begin, result.summary.kernel_seconds

    try:
        count, first, _ = ask()
        if device != "cpu":
            begin = time.perf_counter()
            while time.perf_counter() - begin < WARM_UP:
                ask()
            special.settle(COMPILING)
        later = [ask() for _ in range(runs)]
    except QueryTimeout:
        return Timed(None, limit, limit)
    kernel = statistics.median(kernel for _, _, kernel in later)
    return Timed(count, first, statistics.median(seconds for _, seconds, _ in later), kernel)


def peer(sql: str, window: int, limit: float, runs: int, base: duckdb.DuckDBPyConnection) -> Timed:
    """DuckDB, interrupted at the limit."""
    seconds, found = [], 0
    for _ in range(1 + runs):
        timer = threading.Timer(limit, base.interrupt)
        timer.start()
        begin = time.perf_counter()
        try:
            (found,) = base.execute(sql, {"w": window}).fetchall()[0]
        except duckdb.InterruptException:
            return Timed(None, limit, limit)
        finally:
            timer.cancel()
        seconds.append(time.perf_counter() - begin)
    return Timed(found, seconds[0], statistics.median(seconds[1:]))


def tables(accounts: Path, path: Path) -> duckdb.DuckDBPyConnection:
    """Both files as tables."""
    base = duckdb.connect()
    base.execute(
        "CREATE TABLE accounts AS SELECT column0 AS id, column1 AS country "
        f"FROM read_csv('{accounts}', header=false, skip=1)"
    )
    base.execute(
        "CREATE TABLE transfers AS SELECT row_number() OVER () AS id, column0 AS source, column1 AS target, "
        f"column2 AS at, column3 AS amount FROM read_csv('{path}', header=false, skip=1)"
    )
    return base


def line_of(
    subject: Subject, found: dict[str, Timed], other: Timed, devices: list[str]
) -> list[Cell]:
    """A row of the table."""
    row: list[Cell] = [
        subject.name,
        next((t.count for t in found.values() if t.count is not None), None),
    ]
    for device in devices:
        one = found[device]
        row += [one.first, _bounded(one, one.seconds)]
        if device != "cpu":
            row.append(one.kernel if one.count is not None else None)
    row.append(_bounded(other, other.seconds))
    for device in devices:
        one = found[device]
        row.append(None if one.count is None else _bounded(other, other.seconds / one.seconds))
    return row


def _bounded(timed: Timed, value: float) -> Cell:
    """A value, or that it is more where the query was stopped."""
    return Over(value) if timed.count is None else value


def main(line: list[str] | None = None) -> int:
    """Make, load, count, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--transfers", type=float, default=1e6, help="(default: 1e6)")
    add(
        "--accounts",
        type=int,
        default=17,
        help="their number is two to the power of this (default: 17)",
    )
    add("--window", type=int, default=3600, help="seconds (default: 3600)")
    add("--pattern", nargs="+", default=NAMES, choices=NAMES)
    add("--limit", type=float, default=60.0, help="seconds for each query (default: 60)")
    add("--runs", type=int, default=3, help="(default: 3)")
    add("--device", nargs="+", help="(default: cpu, and cuda where there is one)")
    add("--save", action="store_true", help="write the section to benchmarks/results/")
    arguments = parser.parse_args(line)
    devices: list[str] = arguments.device or ["cpu", *(["cuda"] if absence() is None else [])]
    times = list[Column]()
    for device in devices:
        kernel = [Column("kernel", "s")] if device != "cpu" else []
        times += [Column(f"{device} first", "s"), Column(device, "s"), *kernel]
    ratios = (Column(f"DuckDB / {device}") for device in devices)
    header: Header = (*("pattern", "count"), *times, Column("DuckDB", "s"), *ratios)
    rows, wrong = list[list[Cell]](), False
    with (
        tempfile.TemporaryDirectory(prefix="gdb-temporal-") as folder,
        gdb.connect(Path(folder) / "t.gdb") as db,
    ):
        accounts, path = transfers(arguments.accounts, int(arguments.transfers), Path(folder))
        db.load(nodes={"Account": accounts}, edges={"T": path})
        base, stats = tables(accounts, path), db.stats()
        for subject in SUBJECTS:
            if subject.name not in arguments.pattern:
                continue
            asked = arguments.window, arguments.limit, arguments.runs
            found = {d: ours(db, subject, asked[0], d, *asked[1:]) for d in devices}
            other = peer(subject.sql, *asked, base)
            counts = {one.count for one in (*found.values(), other) if one.count is not None}
            wrong = wrong or len(counts) > 1
            rows.append(line_of(subject, found, other, devices))
            print(*rows[-1], "" if len(counts) < 2 else f"counts differ: {counts}", flush=True)
    report = Report.of(
        f"{stats.edges:,} transfers of 30 days between {stats.vertices:,} accounts, a window of "
        f"{arguments.window:,} s; `>`: stopped at the limit.",
        [Table.of(header, rows)],
    )
    print(f"\n{report.markdown()}")
    if arguments.save and not wrong:
        title = "Temporal patterns" + (" on a GPU" if len(devices) > 1 else "")
        took_part = ("numpy", "duckdb", "llvmlite", "cupy-cuda12x", "cupy-cuda13x")
        page.save(__file__, title, report, *took_part)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
