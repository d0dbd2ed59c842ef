"""What a query must read at least, and how near ours comes: elements, bytes, and elements per second.

    python -m benchmarks.matching.floors [--graph enron hprd rmat10m] [--query tri ...] [--threads 1 2] [--runs 5]
        [--save]

An element is one neighbour, of 4 bytes. Shapes without labels, vertices ordered by degree (the lists are short then):
tri, k4, k5: each intersection of the nested loops reads the shorter of its two lists; diamond: as tri, and a counter
for each edge; c4: the paths of two edges from the highest vertex over a lower one. Patterns with labels (star3, rw6):
every edge whose ends have the labels of a query edge, once. Beside them the seconds of ours through `db.execute` and
those of the hand-written loops of one thread (`peers/kernels.py`). The exit code is 2 if a graph is not here.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.inputs import graphs
from benchmarks.peers import data, floor, kernels, ours, workload
from benchmarks.peers.engine import Session, Settings
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table

QUERIES = ("tri", "k4", "k5", "c4", "diamond", "star3", "rw6")
BYTES = 4
_CLIQUES = {"tri": 3, "k4": 4, "k5": 5}


@dataclass(frozen=True, slots=True)
class Floor:
    """A query on a graph: its count, elements to read, and the median seconds of each way to answer it."""

    graph: str
    query: str
    count: int
    elements: int
    seconds: dict[str, float]


def elements(graph: data.Graph, query: workload.Query) -> int:
    """The elements that a query must read."""
    if query.pattern is not None and query.pattern.labels:
        return matching_edges(graph, query.pattern)
    one, other = floor.by_degree(graph)
    oriented = floor.csr(graph.vertices, one, other)
    if query.name in _CLIQUES:
        return int(floor.compiled(kernels.cliques)(*oriented, _CLIQUES[query.name], True))
    if query.name == "diamond":
        triangles = int(floor.compiled(kernels.cliques)(*oriented, 3, True))
        return triangles + len(graph.sources)
    if query.name == "c4":
        return paths_below(graph.vertices, one, other)
    raise ValueError(f"there is no floor of {query.name}")


def matching_edges(graph: data.Graph, pattern: workload.Pattern) -> int:
    """Edges whose ends have the labels of a query edge, each once."""
    labels = int(graph.labels.max()) + 1
    pairs = graph.labels[graph.sources] * labels + graph.labels[graph.targets]
    counts = np.bincount(pairs, minlength=labels * labels).reshape(labels, labels)
    wanted = {
        tuple(sorted((pattern.labels[e.source], pattern.labels[e.target]))) for e in pattern.edges
    }
    return sum(int(counts[a, b]) + (int(counts[b, a]) if a != b else 0) for a, b in wanted)


def paths_below(vertices: int, low: data.I64, high: data.I64) -> int:
    """Paths v - u - w with u and w below v: for each edge u < v the neighbours of u that are below v."""
    starts, ends = floor.csr(vertices, np.concatenate([low, high]), np.concatenate([high, low]))
    rows = np.repeat(np.arange(vertices), np.diff(starts))
    places = np.arange(len(ends)) - starts[rows]
    return int(places[ends > rows].sum())


def median(session: Session, query: workload.Query, runs: int) -> tuple[int | None, float]:
    """The answer and the median seconds of the runs after the first."""
    answer = session.answer(query)
    if answer is None:
        return None, 0.0
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        session.answer(query)
        seconds.append(time.perf_counter() - start)
    return answer.count, statistics.median(seconds)


def measure(
    files: data.GraphFiles, names: Iterable[str], threads: list[int], runs: int
) -> list[Floor]:
    """The floors of some queries on a graph, ours with so many threads, and the loops by hand."""
    graph, known = files.read(), workload.queries(files.name)
    store = ours.stored(files)
    found = []
    for query in (known[name] for name in names if name in known):
        seconds, count = {}, 0
        for number in threads:
            session: Session = ours.Ours().open(files, store, query, Settings(threads=number))
            told, seconds[_ours(number)] = median(session, query, runs)
            count = told or 0
        by_hand = floor.Floor().open(files, store, query, Settings())
        told, hand = median(by_hand, query, runs)
        if told is not None:
            seconds["by hand"] = hand
        found.append(Floor(files.name, query.name, count, elements(graph, query), seconds))
        print(table(found[-1:], threads).line(-1), flush=True)
    return found


def _ours(threads: int) -> str:
    return f"ours, {threads} thread{'s' * (threads > 1)}"


def table(found: list[Floor], threads: list[int]) -> Table:
    """One row for each query."""
    ways = [*map(_ours, threads), "by hand"]
    rows = []
    for one in found:
        row: list[Cell] = [one.query, one.count, one.elements, one.elements * BYTES / 1e6]
        for way in ways:
            seconds = one.seconds.get(way)
            row += [None, None] if not seconds else [seconds, one.elements / seconds / 1e6]
        rows.append(row)
    columns = [
        column
        for way in ways
        for column in (Column(way, "s"), Column(f"{way}: rate", "10^6 elements/s"))
    ]
    return Table.of(("query", "count", "elements", Column("read", "MB"), *columns), rows)


def copying(megabytes: int = 256, runs: int = 5) -> float:
    """GB/s at which one thread copies memory, what is read and what is written together."""
    source = np.ones(megabytes << 17)
    target = np.zeros_like(source)
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        np.copyto(target, source)
        seconds.append(time.perf_counter() - start)
    return 2 * source.nbytes / statistics.median(seconds) / 1e9


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--graph", nargs="+", default=["enron", "hprd"], choices=list(data.MAKERS))
    add("--query", nargs="+", default=list(QUERIES), choices=QUERIES)
    add("--threads", type=int, nargs="+", default=sorted({1, cores or 1}))
    add("--runs", type=int, default=5, help="runs after the first (default: 5)")
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> int:
    """Make the graphs, measure, print."""
    arguments = arguments_of(line)
    if missing := data.missing(arguments.graph, arguments.data):
        graphs.absent(*missing)
        return 2
    speed = f"One thread copies memory at {copying():.1f} GB/s, read and written."
    print(speed)
    with tempfile.TemporaryDirectory(prefix="gdb-floors-") as temporary:
        folder = (arguments.folder or Path(temporary)).absolute()
        for name in arguments.graph:
            files = data.made(name, folder / name, arguments.data)
            found = measure(files, arguments.query, arguments.threads, arguments.runs)
            report = Report.of(
                f"{files.vertices:,} vertices, {files.edges:,} edges. Elements to read at least (4 bytes each; "
                "docs/performance.md says how they are counted), medians of ours through `db.execute` and of the "
                f"hand-written loops of one thread. {speed}",
                [table(found, arguments.threads)],
            )
            print(f"\n## {name}\n\n{report.markdown()}\n", flush=True)
            if arguments.save:
                page.save(__file__, f"Floors: {name}", report, "numpy", "llvmlite", "numba")
    return 0


if __name__ == "__main__":
    sys.exit(main())
