"""Patterns on graphs that do not fit: seconds with a whole, a fourth, ... of the graph in memory.

    python -m benchmarks.scale.out_of_core [--graph rmat10m ...] [--device cuda|cpu] [--budgets 1 4 16 64]
        [--pattern triangle ...] [--runs 3] [--timeout 60] [--limit 400] [--group]
        [--disk [--host 4] [--gpu-part 16] [--stores plain packed] | --first-answer |
        --labelled [--walks 4] [--part 16]] [--save]

On a GPU the budget bounds the bytes of the graph that lie in device memory: the rest is in page-locked memory of the
host. On the CPU it is `memory=`, which bounds what a query holds beside the mapped graph (`out_of_core_cpu.py`); on
real graphs, all patterns with known counts run. Seconds are those of warm runs, planned before, the median;
the graph and its page-locked copy are there. Beside them are the milliseconds that PBE was measured at with the graph
in host memory. A query takes at most --timeout; after --limit seconds in all no further cell is begun.

--disk measures the first answer over a store whose files are not in the page cache instead, on either device
(`out_of_core_disk.py`); --first-answer that of a new process, from its start (`out_of_core_first.py`); --labelled a
graph of many labels (`out_of_core_labelled.py`). The exit code is 1 if a count differs from the one in memory, 2 if
there is nothing to measure on.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmarks.inputs import graphs, rmat
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Over, Table
from benchmarks.scale import (
    out_of_core_cpu,
    out_of_core_disk,
    out_of_core_first,
    out_of_core_labelled,
)
from gdb import planner
from gdb.base.machine.cores import cores
from gdb.errors import OutOfBudget, QueryTimeout
from gdb.executor import run
from gdb.executor.gpu import device, launch, memory, pinned, residency, special
from gdb.executor.gpu.stage import Share
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
    "runs, medians. through the link: what a run copies, and what it is expected to read in place. PBE: as published, "
    "with the graph in host memory."
)

_HEADER = (
    *("graph", "pattern", "budget", Column("time", "ms"), Column("ratio", decimals=2)),
    *(Column("resident", "MB", 1), Column("in host memory", "MB", 1)),
    *(Column("through the link", "MB", 0), Column("PBE", "ms"), "equal"),
)
Found = tuple[Report, bool]


@dataclass(frozen=True, slots=True)
class Measured:
    """A pattern at a budget. seconds : None where it was refused, or took too long, which `late` says. linked : bytes
    that go through the link in a run: copied, and read in place as far as is expected."""

    graph: str
    pattern: str
    part: int
    seconds: float | None
    count: int | None
    resident: int
    streamed: int
    linked: int = 0
    late: bool = False


def query(pairs: tuple[tuple[int, int], ...]) -> QueryGraph:
    """The query graph of a pattern, by the ends of its edges."""
    vertices = tuple(QueryVertex() for _ in range(1 + max(map(max, pairs))))
    edges = tuple(QueryEdge(a, b, ("E",), Direction.ANY) for a, b in pairs)
    return QueryGraph(vertices, edges, DIFFERENT_NODES)


def timed(
    plan: Plan, graph: rmat.ArrayGraph, options: Options, runs: int
) -> tuple[float, int, int]:
    """Seconds of a warm run, the median, the bytes that one copies to the device, and the count. A pattern that takes
    long runs fewer times."""
    begin, limit = time.perf_counter(), options.timeout or sys.maxsize
    run.count(plan, graph, options)
    special.settle(min(COMPILING, limit))
    run.count(plan, graph, options)
    seconds, found, before = list[float](), 0, 0
    while len(seconds) < runs and (not seconds or time.perf_counter() - begin < limit):
        before, start = options.profile.moved_bytes if options.profile else 0, time.perf_counter()
        found = run.count(plan, graph, options)
        seconds.append(time.perf_counter() - start)
    moved = options.profile.moved_bytes - before if options.profile else 0
    return statistics.median(seconds), moved, found


def measured(
    name: str, pattern: str, part: int, graph: rmat.ArrayGraph, arguments: argparse.Namespace
) -> Measured:
    """One cell."""
    plan = planner.plan(query(PATTERNS[pattern]), graph, counting=True)
    prepared = stage(plan, graph)
    size = residency.view_bytes(graph.adjacency((), Direction.ANY), split=prepared.restricted)
    options = Options(arguments.device, profile=Profile(), timeout=arguments.timeout)
    residency.MOST = sys.maxsize if part == 1 else size // part
    split = residency.split_views(prepared, sys.maxsize)
    try:
        seconds, moved, count = timed(plan, graph, options, arguments.runs)
        if counted := launch.sum_over_edges(prepared, Share(0)):
            prepared = counted.triangles
            split = residency.split_views(prepared, sys.maxsize)
    except (OutOfBudget, QueryTimeout) as error:
        print(name, pattern, part, error, file=sys.stderr)
        late = isinstance(error, QueryTimeout)
        return Measured(name, pattern, part, None, None, split.resident, split.streamed, late=late)
    finally:
        residency.MOST = sys.maxsize
        memory.KEPT.forget()
    linked = moved + (residency.read_in_place(prepared, split)[1] if split.cold else 0)
    return Measured(name, pattern, part, seconds, count, split.resident, split.streamed, linked)


def line(one: Measured, whole: Measured, limit: float) -> tuple[Cell, ...]:
    """A row of the table. limit : seconds after which a query was stopped."""
    published = PUBLISHED.get(one.graph, {}).get(one.pattern)
    ratio = one.seconds / whole.seconds if one.seconds and whole.seconds else None
    stopped = Over(limit * 1e3) if one.late else "refused"
    return (
        one.graph,
        one.pattern,
        f"1/{one.part}" if one.part > 1 else "1",
        stopped if one.seconds is None else one.seconds * 1e3,
        ratio,
        *(one.resident / 1e6, one.streamed / 1e6, one.linked / 1e6 if one.seconds else None),
        published,
        None if None in (one.count, whole.count) else "yes" if one.count == whole.count else "NO",
    )


def report(arguments: argparse.Namespace) -> Iterator[Found]:
    """Generate, count on a GPU; after each cell what there is, and whether every count is the one in memory."""
    special.WORTH = -1.0  # each has its own kernel, however short it runs
    rows, right, end = list[tuple[Cell, ...]](), True, time.perf_counter() + arguments.limit
    for name in arguments.graph:
        begin = time.perf_counter()
        graph = rmat.graph(name, cores())
        print(name, f"made in {time.perf_counter() - begin:.1f} s", flush=True)
        for pattern in arguments.pattern:
            whole: Measured | None = None
            for part in sorted(arguments.budgets):
                if time.perf_counter() > end:
                    break
                one = measured(name, pattern, part, graph, arguments)
                whole = whole or one
                rows.append(line(one, whole, arguments.timeout))
                right = right and "NO" not in rows[-1]
                print(*rows[-1], sep="\t", flush=True)
                yield Report.of(_ABOUT, [Table.of(_HEADER, rows)]), right
                if one.late:
                    break  # with less of it in memory it takes longer
        memory.RESIDENTS.forget(0)
        pinned.CACHE.forget()


def main(words: list[str] | None = None) -> int:
    """Generate, count, print."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--graph", nargs="+", default=["rmat10m"], choices=[*rmat.SIZES, *graphs.LOADERS])
    add("--device", default="cuda", help="cuda, cuda:N, cpu, or auto with --disk")
    add("--budgets", nargs="+", type=int, default=[1, 4, 16, 64], help="(default: 1 4 16 64)")
    add("--pattern", nargs="+", default=list(PATTERNS), choices=list(PATTERNS))
    add("--timeout", type=float, default=60, help="seconds for a query (default: 60)")
    add("--limit", type=float, default=3600, help="seconds for all cells (default: 3600)")
    add("--runs", type=int, default=3, help="(default: 3)")
    add("--group", action="store_true", help="on the CPU, in a memory group: the page cache counts")
    add("--disk", action="store_true", help="first answers from the disk instead")
    add("--first-answer", action="store_true", help="from the start of a process instead")
    add("--labelled", action="store_true", help="a graph of many labels instead")
    add("--walks", type=int, default=4, help="its query graphs of 12 vertices (default: 4)")
    add("--part", type=int, default=16, help="of what these read may be in memory (default: 16)")
    add("--host", type=int, default=4, help="with --disk memory= is this part of the store")
    add("--gpu-part", type=int, default=16, help="and this part of the view may be on the GPU")
    kinds = ["plain", "packed"]
    add("--stores", nargs="+", default=kinds, choices=kinds, help="with --disk only such stores")
    arguments = parser.parse_args(words)
    shapes = {name: PATTERNS[name] for name in arguments.pattern}
    missing = None if arguments.device == "cpu" else device.absence()
    if missing is not None:
        print(f"there is nothing to measure on: {missing}", file=sys.stderr)
        return 2
    title, found = _part(arguments, shapes)
    where = "CPU" if arguments.device == "cpu" else "GPU"
    versions = ("duckdb",) if where == "CPU" else ("duckdb", "cupy-cuda12x", "cupy-cuda13x")
    table, right = Report.of("", []), True
    for table, right in found:
        if arguments.save and right:  # what was measured is kept if the rest fails or is stopped
            page.save(__file__, f"Out of core: {where}{title}", table, "numpy", *versions)
    print(f"\n{table.markdown()}")
    return int(not right)


def _part(
    arguments: argparse.Namespace, shapes: dict[str, tuple[tuple[int, int], ...]]
) -> tuple[str, Iterable[Found]]:
    """The part of the measurements that is wanted: the end of its title, and what it finds, more and more of it."""
    if arguments.labelled:
        return ", many labels", out_of_core_labelled.report(arguments)
    if arguments.first_answer:
        return ", first answer", [out_of_core_first.report(arguments)]
    if arguments.disk:
        return ", from the disk", out_of_core_disk.report(arguments, shapes)
    if arguments.device == "cpu":
        group = ", in a memory group" if arguments.group else ""
        return group, [out_of_core_cpu.report(arguments, shapes)]
    names = "" if arguments.graph == ["rmat10m"] else f", {', '.join(arguments.graph)}"
    return names, report(arguments)


if __name__ == "__main__":
    sys.exit(main())
