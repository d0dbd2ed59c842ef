"""Patterns on graphs that do not fit: seconds with a whole, a fourth, ... of the graph in memory.

    python -m benchmarks.scale.out_of_core [--graph rmat10m ...] [--device cuda|cpu] [--budgets 1 4 16 64]
        [--pattern triangle ...] [--runs 3] [--timeout 60] [--group] [--disk [--host 4] [--gpu-part 16]]
        [--save]

On a GPU the budget bounds the bytes of the graph that lie in device memory: the rest is in page-locked memory of the
host. On the CPU it is `memory=`, which bounds what a query holds beside the mapped graph (`out_of_core_cpu.py`); on
real graphs, all patterns with known counts run. Seconds are those of warm runs, planned before, the median;
the graph and its page-locked copy are there. Beside them are the milliseconds that PBE was measured at with the graph
in host memory. With --disk the first answer over a store whose files are not in the page cache is measured instead,
on either device (`out_of_core_disk.py`). The exit code is 1 if a count differs from the one in memory, 2 if there is
nothing to measure on.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from dataclasses import dataclass

from benchmarks.inputs import graphs, rmat
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table
from benchmarks.scale import out_of_core_cpu, out_of_core_disk
from gdb import planner
from gdb.errors import OutOfBudget
from gdb.executor import run
from gdb.executor.gpu import device, memory, pinned, residency, special
from gdb.executor.nest.prepare import stage
from gdb.executor.plan.plan import Plan
from gdb.executor.run import Options, Profile
from gdb.query_graph import DIFFERENT_NODES, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction

PATTERNS: dict[str, tuple[tuple[int, int], ...]] = {
    "triangle": ((0, 1), (1, 2), (0, 2)),
    "rectangle": ((0, 1), (1, 2), (2, 3), (3, 0)),
    "diamond": ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2)),
    "clique4": tuple((a, b) for b in range(4) for a in range(b)),
    "clique5": tuple((a, b) for b in range(5) for a in range(b)),
    "house": ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)),
}
# PBE with the graph in host memory, milliseconds
PUBLISHED = {
    "rmat10m": dict(zip(PATTERNS, (219, 4232, 348, 297, 363, 5183), strict=True)),
}
COMPILING = 120.0  # seconds to wait for kernels of their own
_ABOUT = (
    "budget: the part of the graph that device memory may hold; the rest is in page-locked memory of the host. Warm "
    "runs, medians. PBE: as published, with the graph in host memory."
)


@dataclass(frozen=True, slots=True)
class Measured:
    """A pattern at a budget. seconds : None where it was refused."""

    graph: str
    pattern: str
    part: int
    seconds: float | None
    count: int | None
    resident: int
    streamed: int


def query(pairs: tuple[tuple[int, int], ...]) -> QueryGraph:
    """The query graph of a pattern, by the ends of its edges."""
    vertices = tuple(QueryVertex() for _ in range(1 + max(map(max, pairs))))
    edges = tuple(QueryEdge(a, b, ("E",), Direction.ANY) for a, b in pairs)
    return QueryGraph(vertices, edges, DIFFERENT_NODES)


def timed(plan: Plan, graph: rmat.ArrayGraph, options: Options, runs: int) -> tuple[float, int]:
    """Seconds of a warm run, the median, and the count."""
    run.count(plan, graph, options)
    special.settle(COMPILING)
    run.count(plan, graph, options)
    seconds, found = [], 0
    for _ in range(runs):
        begin = time.perf_counter()
        found = run.count(plan, graph, options)
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds), found


def measured(
    name: str, pattern: str, part: int, graph: rmat.ArrayGraph, arguments: argparse.Namespace
) -> Measured:
    """One cell."""
    plan = planner.plan(query(PATTERNS[pattern]), graph, counting=True)
    prepared = stage(plan, graph)
    size = residency.view_bytes(graph.adjacency((), Direction.ANY), split=prepared.restricted)
    options = Options(arguments.device, profile=Profile())
    residency.MOST = sys.maxsize if part == 1 else size // part
    split = residency.split_views(prepared, sys.maxsize)
    try:
        seconds, count = timed(plan, graph, options, arguments.runs)
    except OutOfBudget as error:
        print(name, pattern, part, error, file=sys.stderr)
        return Measured(name, pattern, part, None, None, split.resident, split.streamed)
    finally:
        residency.MOST = sys.maxsize
        memory.KEPT.forget()
    return Measured(name, pattern, part, seconds, count, split.resident, split.streamed)


def line(one: Measured, whole: Measured) -> tuple[Cell, ...]:
    """A row of the table."""
    published = PUBLISHED.get(one.graph, {}).get(one.pattern)
    ratio = one.seconds / whole.seconds if one.seconds and whole.seconds else None
    return (
        one.graph,
        one.pattern,
        f"1/{one.part}" if one.part > 1 else "1",
        "refused" if one.seconds is None else one.seconds * 1e3,
        ratio,
        *(one.resident / 1e6, one.streamed / 1e6),
        published,
        "yes" if one.count == whole.count else "NO" if one.count is not None else None,
    )


def main(words: list[str] | None = None) -> int:
    """Generate, count, print."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--graph", nargs="+", default=["rmat10m"], choices=[*rmat.SIZES, *graphs.LOADERS])
    add("--device", default="cuda", help="cuda, cuda:N or cpu (default: cuda)")
    add("--budgets", nargs="+", type=int, default=[1, 4, 16, 64], help="(default: 1 4 16 64)")
    add("--pattern", nargs="+", default=list(PATTERNS), choices=list(PATTERNS))
    add("--timeout", type=float, default=60, help="seconds for a query on the CPU (default: 60)")
    add("--runs", type=int, default=3, help="(default: 3)")
    add("--group", action="store_true", help="on the CPU, in a memory group: the page cache counts")
    add("--disk", action="store_true", help="first answers from the disk instead")
    add("--host", type=int, default=4, help="with --disk memory= is this part of the store")
    add("--gpu-part", type=int, default=16, help="and this part of the view may be on the GPU")
    arguments = parser.parse_args(words)
    shapes = {name: PATTERNS[name] for name in arguments.pattern}
    missing = None if arguments.device == "cpu" else device.absence()
    if missing is not None:
        print(f"there is nothing to measure on: {missing}", file=sys.stderr)
        return 2
    if arguments.disk or arguments.device == "cpu":
        part = out_of_core_disk if arguments.disk else out_of_core_cpu
        found, right = part.report(arguments, shapes)
        print(f"\n{found.markdown()}")
        if arguments.save and right:
            where = "CPU" if arguments.device == "cpu" else "GPU"
            title = f"Out of core: {where}" + (", from the disk" if arguments.disk else "")
            title += ", in a memory group" if arguments.group else ""
            page.save(__file__, title, found, "numpy", "duckdb")
        return int(not right)
    special.WORTH = -1.0  # each has its own kernel, however short it runs
    rows, wrong = list[tuple[Cell, ...]](), False
    for name in arguments.graph:
        begin = time.perf_counter()
        graph = rmat.graph(name, cores())
        print(name, f"made in {time.perf_counter() - begin:.1f} s", flush=True)
        for pattern in arguments.pattern:
            whole: Measured | None = None
            for part in sorted(arguments.budgets):
                one = measured(name, pattern, part, graph, arguments)
                whole = whole or one
                rows.append(line(one, whole))
                wrong = wrong or "NO" in rows[-1]
                print(*rows[-1], sep="\t", flush=True)
        memory.RESIDENTS.forget(0)
        pinned.CACHE.forget()
    header = (
        *("graph", "pattern", "budget", Column("time", "ms"), Column("ratio", decimals=2)),
        *(Column("resident", "MB", 1), Column("in host memory", "MB", 1)),
        *(Column("PBE", "ms"), "equal"),
    )
    report = Report.of(_ABOUT, [Table.of(header, rows)])
    print(f"\n{report.markdown()}")
    if arguments.save and not wrong:
        page.save(__file__, "Out of core: GPU", report, "numpy", "cupy-cuda12x", "cupy-cuda13x")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
