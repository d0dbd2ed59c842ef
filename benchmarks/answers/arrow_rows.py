"""List 10 million triangles into Arrow, and answer LIMIT 1000 on many shapes.

    python -m benchmarks.answers.arrow_rows [--rows 10000000] [--threads 1 2] [--graph enron hprd] [--runs 3] [--save]

The triangles are those of an R-MAT graph of 8,192 vertices and 600,000 edges, which is made here; rows per second are
end to end: `db.execute`, then `pyarrow.table(result)` (the Arrow stream by nanoarrow where pyarrow is absent). The
shapes with LIMIT run on the graphs of `peers_cpu.py`, with their labels; the second run counts. The exit code is
1 if the number of rows is wrong, 2 if a graph is not here.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import gdb
from benchmarks.inputs import graphs
from benchmarks.peers import data, engine, ours, workload
from benchmarks.peers.worker import forget_peak, memory
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table

SCALE, EDGES, SEED = 13, 600_000, 3
LIMIT = 1000
LIMITED = (*workload.SHAPES, "house", *workload.LABELLED)
_TRIANGLE = "(a)-[]-(b)-[]-(c), (a)-[]-(c)"
_IDS = "RETURN id(a), id(b), id(c)"


@dataclass(frozen=True, slots=True)
class Listed:
    """A listing: the query, rows, median seconds of execute and of both together, MiB above the open store."""

    name: str
    threads: int
    rows: int
    execute: float
    seconds: float
    mebibytes: float


@dataclass(frozen=True, slots=True)
class Limited:
    """A query with LIMIT: rows, and the seconds of the first and the second run."""

    graph: str
    query: str
    rows: int
    first: float
    second: float


def dense_store(folder: Path) -> Path:
    """The R-MAT graph as a store; it is made unless it is there."""
    store = folder / f"rmat-{SCALE}-{EDGES}.gdb"
    if not store.exists():
        folder.mkdir(parents=True, exist_ok=True)
        text = folder / f"rmat-{SCALE}-{EDGES}.txt"
        np.savetxt(text, np.stack(data.rmat_edges(SCALE, EDGES, SEED), axis=1), fmt="%d")
        with gdb.connect(store) as db:
            db.load(text, format="snap", type="E", directed=False)
    return store


def to_arrow(result: gdb.Result) -> int:
    """Take the columns over as Arrow; the number of rows that came."""
    try:
        import pyarrow
    except ImportError:
        import nanoarrow

        return len(nanoarrow.Array(result))
    return int(pyarrow.table(result).num_rows)


def listings(rows: int) -> dict[str, str]:
    """What is listed: name -> query."""
    return {
        "each triangle, all": f"MATCH SUBGRAPHS {_TRIANGLE} {_IDS}",
        "each triangle, LIMIT": f"MATCH SUBGRAPHS {_TRIANGLE} {_IDS} LIMIT {rows}",
        "embeddings, LIMIT": f"MATCH DIFFERENT NODES {_TRIANGLE} {_IDS} LIMIT {rows}",
    }


def list_rows(store: Path, name: str, query: str, threads: int, runs: int) -> Listed:
    """Run a listing several times, in a process that has answered something before."""
    executes, wholes, counts = [], [], set()
    with gdb.connect(store, read_only=True) as db:
        to_arrow(db.execute(f"MATCH SUBGRAPHS {_TRIANGLE} {_IDS} LIMIT 1", device="cpu"))
        before = memory()[0]
        forget_peak()
        for _ in range(runs):
            start = time.perf_counter()
            result = db.execute(query, device="cpu", threads=threads)
            executes.append(time.perf_counter() - start)
            counts.add(to_arrow(result))
            wholes.append(time.perf_counter() - start)
            del result
    (count,) = counts
    above = max(0, memory()[1] - before) / 2**20
    median = statistics.median
    return Listed(name, threads, count, median(executes), median(wholes), above)


def limited(
    name: str, folder: Path, source: Path, queries: Iterable[str], threads: int
) -> list[Limited]:
    """Each query of a graph with LIMIT 1000, twice, on its store."""
    files = data.made(name, folder / name, source)
    known = workload.queries(name)
    found = []
    for query in queries:
        pattern = known[query].pattern if query in known else None
        if query == "house":
            pattern = workload.shape(query)
        if pattern is None:
            continue
        pattern = replace(pattern, limit=LIMIT)
        kind = engine.kind_of_store(workload.Query(query, pattern), "types")
        seconds = []
        with gdb.connect(ours.stored(files, kind), read_only=True) as db:
            db.execute("MATCH (a)-[]-(b) RETURN id(a) LIMIT 1", device="cpu")  # it loads the kernel
            for _ in range(2):
                start = time.perf_counter()
                text = ours.cypher(pattern, "types")
                rows = db.execute(text, device="cpu", threads=threads).fetchall()
                seconds.append(time.perf_counter() - start)
        found.append(Limited(name, query, len(rows), *seconds))
    return found


def listed_table(found: list[Listed]) -> Table:
    """Rows per second."""
    rows: list[tuple[Cell, ...]] = [
        (
            *(one.name, one.threads, one.rows, one.execute, one.seconds),
            *(round(one.rows / one.seconds), round(one.mebibytes)),
        )
        for one in found
    ]
    header = (
        *("listing", "threads", "rows", Column("execute", "s"), Column("to Arrow", "s")),
        *(Column("rate", "rows/s"), Column("above", "MiB")),
    )
    return Table.of(header, rows)


def limited_table(found: list[Limited]) -> Table:
    """Milliseconds of the second run, and of the first."""
    rows: list[tuple[Cell, ...]] = [
        (one.graph, one.query, one.rows, 1e3 * one.second, 1e3 * one.first) for one in found
    ]
    times = (Column("second run", "ms"), Column("first run", "ms"))
    caption = f"LIMIT {LIMIT}, rows of ids as tuples:"
    return Table.of(("graph", "query", "rows", *times), rows, caption)


def report(listed: list[Listed], few: list[Limited], threads: int) -> Report:
    """Both tables; those with a LIMIT ran with `threads`."""
    introduction = (
        f"Triangles of an R-MAT graph of {1 << SCALE:,} vertices and {EDGES:,} edges as three columns of ids, from "
        "`db.execute` to a pyarrow table, each in a process of its own; medians. above: resident memory, "
        f"over the open store. LIMIT: through `fetchall`, the second run, {threads} threads."
    )
    tables = [listed_table(listed)] if listed else []
    return Report.of(introduction, tables + ([limited_table(few)] if few else []))


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--rows", type=int, default=10_000_000, help="(default: 10000000; 0: no listing)")
    add("--threads", type=int, nargs="+", default=sorted({1, cores or 1}))
    add("--runs", type=int, default=3, help="runs of each listing (default: 3)")
    add("--graph", nargs="*", default=["enron", "hprd"], choices=list(data.MAKERS))
    add("--query", nargs="+", default=list(LIMITED), choices=LIMITED, help="shapes for LIMIT")
    return parser.parse_args(line)


def measure(arguments: argparse.Namespace, folder: Path) -> tuple[list[Listed], list[Limited]]:
    """The listings that the command line selects."""
    listed, few = [], []
    if arguments.rows:
        store = dense_store(folder)
        for name, query in listings(arguments.rows).items():
            for threads in arguments.threads:
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as own:
                    job = own.submit(list_rows, store, name, query, threads, arguments.runs)
                    listed.append(job.result())
                print(listed_table(listed[-1:]).line(-1), flush=True)
    for graph in arguments.graph:
        few += limited(graph, folder, arguments.data, arguments.query, max(arguments.threads))
    return listed, few


def main(line: list[str] | None = None) -> int:
    """Make, list, print."""
    arguments = arguments_of(line)
    if missing := data.missing(arguments.graph, arguments.data):
        graphs.absent(*missing)
        return 2
    with tempfile.TemporaryDirectory(prefix="gdb-rows-") as temporary:
        listed, few = measure(arguments, (arguments.folder or Path(temporary)).absolute())
    found = report(listed, few, max(arguments.threads))
    print(f"\n{found.markdown()}")
    if arguments.save:
        measured = ("numpy", "llvmlite", "duckdb", "pyarrow")
        page.save(__file__, "Rows into Arrow", found, *measured)
    short = any("LIMIT" in one.name and one.rows != arguments.rows for one in listed)
    return int(short or any(one.rows > LIMIT for one in few))


if __name__ == "__main__":
    sys.exit(main())
