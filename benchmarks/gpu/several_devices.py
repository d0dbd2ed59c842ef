"""Count heavy patterns on one GPU and on several.

    python -m benchmarks.gpu.several_devices [--devices 0,1] [--pattern q8 q9 ...] [--rmat rmat10m rmat100m]
        [--shape ...] [--limit 20] [--runs 3] [--save]

Patterns of wiki-Vote, from `../shared/peers` (`--published`) as `pattern_counts.py`, and shapes on generated graphs
(`rmat.py`). Milliseconds, medians of warm runs: kernels by the GPU's clock (of several GPUs the one that takes
longest), and whole, through `db.execute`, of a generated graph through the executor. The exit code is 1 if counts
differ, 2 if there is nothing to measure on, or only one GPU.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import gdb
from benchmarks.gpu.pattern_counts import COMPILING, WARM_UP, WARM_UPS, loaded, unready
from benchmarks.inputs import graphs, rmat
from benchmarks.inputs.published import PUBLISHED, read_subjects
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Header, Table
from benchmarks.scale import out_of_core
from gdb import planner
from gdb.base.machine.cores import cores
from gdb.executor import run
from gdb.executor.gpu import special
from gdb.executor.options import Options, Profile
from gdb.executor.plan.plan import Plan

GRAPH = "wiki-Vote"
PATTERNS = ("q8", "q9", "q12", "q17", "q18", "q19", "q20", "q21", "q22")
SHAPES = {
    "rmat10m": ("rectangle", "house", "pentagon"),
    "rmat100m": ("triangle", "rectangle"),
}
PAIRS = out_of_core.PATTERNS | {"pentagon": ((0, 1), (1, 2), (2, 3), (3, 4), (4, 0))}

Times = tuple[int, float, float]  # count, milliseconds in kernels, milliseconds as a whole


@dataclass(frozen=True)
class Count:
    """One row: a pattern of a graph, its count where it is known, and a run of it on the named devices."""

    graph: str
    pattern: str
    known: int | None
    once: Callable[[str], Times]


def of_store(db: gdb.Database, query: str, limit: float, device: str) -> Times:
    """Count through the public face."""
    begin = time.perf_counter()
    result = db.execute(query, device=device, timeout=limit)
    count = int(str(result.scalar()))
    whole = (time.perf_counter() - begin) * 1e3
    return count, result.summary.kernel_seconds * 1e3, whole


def of_arrays(plan: Plan, graph: rmat.ArrayGraph, limit: float, device: str) -> Times:
    """Count a generated graph, which no store holds."""
    begin, profile = time.perf_counter(), Profile()
    count = run.count(plan, graph, Options(device, timeout=limit, profile=profile))
    return count, profile.kernel_seconds * 1e3, (time.perf_counter() - begin) * 1e3


def counts(arguments: argparse.Namespace, folder: Path) -> Iterator[Count]:
    """What is to be counted, one graph after the other."""
    limit = arguments.limit
    if arguments.pattern:
        store = loaded(GRAPH, folder, arguments.data, arguments.published)
        with gdb.connect(store, read_only=True) as db:
            for subject in read_subjects(arguments.published, GRAPH, arguments.pattern):
                query = subject.pattern.cypher("isomorphisms")
                once = partial(of_store, db, query, limit)
                yield Count(GRAPH, subject.pattern.name, subject.count, once)
    for name in arguments.rmat:
        graph = rmat.graph(name, cores())
        for shape in arguments.shape or SHAPES[name]:
            plan = planner.plan(out_of_core.query(PAIRS[shape]), graph, counting=True)
            yield Count(name, shape, None, partial(of_arrays, plan, graph, limit))


def measure(once: Callable[[], Times], runs: int) -> Times:
    """Medians of warm runs."""
    begin = time.perf_counter()
    for _ in range(1 + WARM_UPS):  # after the first a query may get its own kernel
        once()
    while time.perf_counter() - begin < WARM_UP:
        once()
    special.settle(COMPILING)
    found = [once() for _ in range(runs)]
    counts, kernels, wholes = zip(*found, strict=True)
    if len(set(counts)) > 1:
        raise SystemExit(f"counts differ from run to run: {sorted(set(counts))}")
    return counts[0], statistics.median(kernels), statistics.median(wholes)


def main(line: list[str] | None = None) -> int:
    """Load, count on one and on several, print."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--published", type=Path, default=PUBLISHED, help="(default: ../shared/peers)")
    add("--devices", default="0,1", help="(default: 0,1)")
    add(
        "--pattern", nargs="*", default=PATTERNS, help=f"of {GRAPH} (default: {' '.join(PATTERNS)})"
    )
    add("--rmat", nargs="*", default=[], choices=SHAPES, help="generated graphs (default: none)")
    add("--shape", nargs="*", choices=PAIRS, help="of these (default: some of each)")
    add("--limit", type=float, default=20.0, help="seconds for each query (default: 20)")
    add("--runs", type=int, default=3, help="(default: 3)")
    arguments = parser.parse_args(line)
    if unready(arguments):
        return 2
    import cupy

    there = int(cupy.cuda.runtime.getDeviceCount())
    if there < len(arguments.devices.split(",")):
        print(f"there is only {there} of the GPUs {arguments.devices}", file=sys.stderr)
        return 2
    rows, wrong = list[tuple[Cell, ...]](), False
    devices = (f"cuda:{arguments.devices.split(',')[0]}", f"cuda:{arguments.devices}")
    with tempfile.TemporaryDirectory(prefix="gdb-gpu-") as temporary:
        for each in counts(arguments, arguments.folder or Path(temporary)):
            one, all_of = (
                measure(partial(each.once, device), arguments.runs) for device in devices
            )
            right = one[0] == all_of[0] and each.known in (None, one[0])
            wrong = wrong or not right
            times = (
                *(one[1], all_of[1], one[1] / all_of[1]),
                *(one[2], all_of[2], one[2] / all_of[2]),
            )
            verdict = "equal" if right else "differs"
            rows.append((each.graph, each.pattern, one[0], *times, verdict))
            print(*rows[-1], flush=True)
    several = len(arguments.devices.split(","))
    columns = [
        column
        for part in ("kernels", "whole")
        for column in (
            Column(f"{part}, 1 GPU", "ms"),
            Column(f"{part}, {several} GPUs", "ms"),
            Column(f"{part}, times quicker"),
        )
    ]
    header: Header = (*("graph", "pattern", "count"), *columns, "verdict")
    report = Report.of("Warm runs, medians.", [Table.of(header, rows)])
    print(f"\n{report.markdown()}")
    if arguments.save and not wrong:
        title = f"GPU: {several} GPUs"
        page.save(__file__, title, report, "numpy", "cupy-cuda12x", "cupy-cuda13x")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
