"""Patterns of 12 to 32 vertices: how many are solved within a limit, the time to plan them, and how good estimates are.

    python -m benchmarks.matching.large_patterns [--queries 40] [--limit 20] [--threads 0] [--sets yeast,hprd]
        [--apart 2] [--save]

The query graphs are the published ones of yeast (1200) and hprd (200), and graphs that random walks cut out of
email-Enron (16 skewed labels), wiki-Vote (5 labels) and bitcoin-otc (directed, two types), whose seeds are fixed. Each
runs twice: for its first 100,000 rows of ids, and for its number of embeddings (`count(*)`), on the CPU. Where a
count is known, or was found here, it is the truth that the planner's estimate is compared with. The exit code is 1 if a
published count differs, 2 if a graph is not here. On a machine with many cores, `--apart 2` runs several questions at
once, each process on two cores that no other one uses.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

import gdb
from benchmarks.inputs import graphs
from benchmarks.inputs.query_sets import ROWS, SETS, Query, opened, sample
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Header, Table
from gdb import planner
from gdb.errors import CountOverflow, QueryTimeout
from gdb.executor.plan.plan import Plan

PERCENTILES = (("plan", "p50"), ("plan", "p99"), ("all", "p50"), ("all", "p90"))
PART = 5  # query graphs that a process takes at once


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: what came of it ("solved", "timeout", "overflow"), its count or number of rows, seconds of planning
    and of the whole, and the embeddings that the planner expected, None where it made no plan."""

    query: Query
    kind: str
    end: str
    found: int
    planning: float
    seconds: float
    expected: float | None


@contextmanager
def planned() -> Iterator[list[tuple[Plan, float]]]:
    """The plans that this thread makes meanwhile, each with the seconds that it took: it does not wait for those of a
    search beside a run."""
    made: list[tuple[Plan, float]] = []
    whole, own = planner.plan, threading.get_ident()

    def plan(*arguments: object, **options: object) -> Plan:
        start = time.perf_counter()
        found: Plan = whole(*arguments, **options)  # type: ignore[arg-type]
        if threading.get_ident() == own:
            made.append((found, time.perf_counter() - start))
        return found

    with patch.object(planner, "plan", plan):
        yield made


def ask(db: gdb.Database, query: Query, kind: str, *, limit: float, threads: int) -> Asked:
    """Run one query of a query graph for the first time."""
    text = query.texts()[kind]
    end, found = "solved", 0
    with planned() as plans:
        start = time.perf_counter()
        try:
            result = db.execute(text, device="cpu", threads=threads, timeout=limit)
            found = int(str(result.scalar())) if kind == "count" else len(result.fetchall())
        except QueryTimeout:
            end = "timeout"
        except CountOverflow:
            end = "overflow"
        seconds = time.perf_counter() - start
    expected = plans[0][0].notes.estimates[-1] if plans else None
    return Asked(query, kind, end, found, sum(each for _, each in plans), seconds, expected)


def q_error(truth: float, expected: float) -> float:
    """How many times too large or too small, at least 1; what is below one embedding counts as one."""
    a, b = max(truth, 1.0), max(expected, 1.0)
    return max(a / b, b / a)


def truth_of(asked: list[Asked]) -> dict[str, int]:
    """The counts that are known, or were found."""
    known = {a.query.name: a.query.count for a in asked if a.query.count is not None}
    for a in asked:
        if a.end == "solved" and (a.kind == "count" or a.found < ROWS):
            known.setdefault(a.query.name, a.found)
    return known


def wrong(asked: list[Asked]) -> list[Asked]:
    """Answers that differ from a published count, or rows from the count found here."""
    known = truth_of(asked)
    found = []
    for a in asked:
        if a.end == "solved" and a.query.name in known:
            truth = known[a.query.name]
            if a.found != (truth if a.kind == "count" else min(truth, ROWS)):
                found.append(a)
    return found


def compile_kernels(store: Path, queries: list[Query]) -> None:
    """Have the kernels of the planner, and of a run, compiled and kept in the cache's folder."""
    with gdb.connect(store, read_only=True) as db:
        for query in sample(queries, 8):
            db.explain(f"{query.match()} RETURN count(*)", device="cpu")
        db.execute(f"{queries[0].match()} RETURN id(v0) LIMIT 1", device="cpu")


def answered(store: Path, queries: list[Query], arguments: argparse.Namespace) -> list[Asked]:
    """The questions of some query graphs, one after the other, in this process."""
    found = []
    with gdb.connect(store, read_only=True) as db:
        db.execute(f"{queries[-1].match()} RETURN id(v0) LIMIT 1", device="cpu")
        db.explain(f"{queries[-1].match()} RETURN count(*)", device="cpu")
        for query in queries:
            for kind in arguments.kinds.split(","):
                options = {"limit": arguments.limit, "threads": arguments.threads}
                one = ask(db, query, kind, **options)
                found.append(one)
                if arguments.list:
                    _print(one)
    return found


def answered_apart(
    sets: dict[str, tuple[Path, list[Query]]], arguments: argparse.Namespace
) -> dict[str, list[Asked]]:
    """The questions of all sets, by processes that each have `--apart` cores of their own."""
    mine, each = sorted(os.sched_getaffinity(0)), arguments.apart
    context = multiprocessing.get_context("spawn")
    free = context.SimpleQueue()
    number = max(1, len(mine) // each)
    for k in range(number):
        free.put(mine[k * each : (k + 1) * each])
    with ProcessPoolExecutor(number, context, _pinned, (free,)) as pool:
        parts = {
            name: pool.map(
                partial(answered, store, arguments=arguments),
                [queries[k : k + PART] for k in range(0, len(queries), PART)],
            )
            for name, (store, queries) in sets.items()
        }
        return {name: [one for part in found for one in part] for name, found in parts.items()}


def _pinned(free: multiprocessing.SimpleQueue[list[int]]) -> None:
    os.sched_setaffinity(0, free.get())


def report(
    sets: dict[str, list[Asked]], queries: int, limit: float, threads: int, apart: int = 0
) -> Report:
    """A table of times, one of estimates, and the questions left unsolved.

    Parameters
    ----------
    queries : of each set, 0 for all.
    limit : seconds for one question.
    threads : 0 for all cores. apart : cores of each of several processes; 0 where there was one.
    """
    times, errors = list[tuple[Cell, ...]](), list[tuple[Cell, ...]]()
    for name, asked in sets.items():
        known = truth_of(asked)
        for kind in ("rows", "count"):
            these = [a for a in asked if a.kind == kind]
            if these:
                times.append((name, kind, *_times(these)))
        judged = [
            q_error(known[a.query.name], a.expected)
            for a in asked
            if a.query.name in known and a.expected is not None and a.kind == "count"
        ]
        if judged:
            shares = np.percentile(judged, (50, 90, 95)).tolist()
            errors.append((name, len(judged), *shares, max(judged)))
    every = [a for asked in sets.values() for a in asked]
    if len(times) > 1:
        times.append(("all", "both", *_times(every)))
    spans = (Column(f"{part} {p}", "ms") for part, p in PERCENTILES)
    head: Header = (
        "set",
        "question",
        "queries",
        "timeout",
        "over 2^63",
        *spans,
        Column("sum", "s"),
    )
    judgements = ("set", "counts known", "q-error p50", "p90", "p95", "max")
    left = [f"{a.query.name} ({a.kind})" for a in every if a.end == "timeout"]
    notes = [f"Unsolved: {', '.join(left) or 'none'}"]
    for asked in sets.values():
        notes += [f"{a.query.name} {a.kind} differs: {a.found:,}" for a in wrong(asked)]
    cores = f"{threads} threads" if threads else "all cores"
    if apart:
        cores = f"{apart} cores each, several at once"
    number = f"{queries} of each set" if queries else "all"
    introduction = (
        f"Query graphs of 12 to 32 vertices ({number}), embeddings with different nodes, each run once; "
        f"the first {ROWS:,} rows of ids, and `count(*)`; limit {limit:g} s, CPU, {cores}. The q-error is "
        "that of the expected number of embeddings, where the count is known."
    )
    tables = [Table.of(head, times), Table.of(judgements, errors)]
    return Report.of(introduction, tables, notes)


def _times(asked: list[Asked]) -> tuple[Cell, ...]:
    """The number of questions, how many had no end, percentiles of milliseconds, and all seconds."""
    ends = [sum(a.end == end for a in asked) for end in ("timeout", "overflow")]
    plans = [1e3 * a.planning for a in asked]
    whole = [1e3 * a.seconds for a in asked]
    return (
        *(len(asked), *ends, *np.percentile(plans, (50, 99)).tolist()),
        *(*np.percentile(whole, (50, 90)).tolist(), sum(whole) / 1e3),
    )


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--queries", type=int, default=0, help="so many of each set (default: all)")
    add("--limit", type=float, default=20.0, help="seconds for one question (default: 20)")
    add("--threads", type=int, default=0, help="(default: all cores)")
    add("--sets", default=",".join(SETS), help=f"which of {', '.join(SETS)} (default: all)")
    add("--kinds", default="rows,count", help="which questions (default: rows,count)")
    add("--apart", type=int, default=0, help="cores of each of several processes (default: one)")
    add("--list", action="store_true", help="print each question as it is answered")
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> int:
    """Load the graphs, run the queries, print the table."""
    arguments = arguments_of(line)
    names = arguments.sets.split(",")
    if graphs.absent(*(arguments.data / name for name in names)):
        return 2
    with tempfile.TemporaryDirectory(prefix="gdb-large-patterns-") as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        stores = {name: opened(name, folder, arguments.data, arguments.queries) for name in names}
        for store, queries in stores.values():
            compile_kernels(store, queries)
        if arguments.apart:
            sets = answered_apart(stores, arguments)
        else:
            sets = {name: answered(*stores[name], arguments) for name in names}
    how = arguments.queries, arguments.limit, arguments.threads, arguments.apart
    found = report(sets, *how)
    print(f"\n{found.markdown()}")
    if arguments.save:
        page.save(__file__, "Large patterns", found, "numpy", "llvmlite", "duckdb")
    return int(any(wrong(asked) for asked in sets.values()))


def _print(a: Asked) -> None:
    expected = "-" if a.expected is None else f"{a.expected:.3g}"
    print(
        f"{a.query.name}\t{a.kind}\t{a.end}\t{a.found}\tplan {1e3 * a.planning:.2f} ms\t"
        f"all {1e3 * a.seconds:.1f} ms\texpected {expected}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
