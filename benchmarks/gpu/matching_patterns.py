"""Matching patterns 1 to 7 on and off where a GPU lists rows (geneva-tpds §8.3).

    python -m benchmarks.gpu.matching_patterns [--graph email-Enron_l16 ...] [--query "1: star" ...] [--runs 5]
        [--save]

Queries of one, two and three phases that bind several vertices at once, on the labelled graphs of `pattern_counts.py`;
without the pass each phase binds one. The rows, at most 50 million, stay on the device (`db.device_columns`).
Milliseconds in kernels, medians of warm runs. The exit code is 1 if the numbers of rows differ, 2 if there is nothing
to measure on.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import gdb
from benchmarks.gpu.pattern_counts import COMPILING, loaded, unready
from benchmarks.inputs import graphs
from benchmarks.inputs.published import PUBLISHED
from benchmarks.matching.ablation import switched_off
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table
from gdb.executor.gpu import memory, special
from gdb.executor.plan.plan import Extend, Plan

GRAPHS = ("email-Enron_l16", "rmat10m_l16")
LIMIT = 50_000_000
OFF = frozenset({"patterns"})
# how many phases bind several vertices, and what they bind
QUERIES = {
    "1: two alike": "(a:L0)-[]-(b:L1), (b)-[]-(c:L2), (b)-[]-(d:L2)",
    "1: two labels": "(a:L0)-[]-(b:L1), (b)-[]-(c:L2), (b)-[]-(d:L3)",
    "1: three labels": "(a:L0)-[]-(b:L1), (a)-[]-(c:L2), (a)-[]-(d:L2), (a)-[]-(e:L3)",
    "2: a triangle's": "(a:L0)-[]-(b:L1), (b)-[]-(c:L2), (a)-[]-(c), (a)-[]-(d:L3), (b)-[]-(e:L4)",
    "2: two ends": "(a:L0)-[]-(b:L1), (a)-[]-(c:L2), (a)-[]-(d:L3), (b)-[]-(e:L4), (b)-[]-(f:L5)",
    "3: three ends": (
        "(a:L0)-[]-(b:L1), (a)-[]-(c:L2), (a)-[]-(d:L3), (b)-[]-(e:L4), (b)-[]-(f:L5), (c)-[]-(g:L6), (c)-[]-(h:L7)"
    ),
}
_spaces = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows of a listing, the median of milliseconds in its kernels, and its plan's phases that bind several."""

    rows: int
    milliseconds: float
    phases: int


def phases(plan: Plan) -> int:
    """Phases that bind several vertices."""
    return sum(isinstance(p, Extend) and len(p.steps) > 1 for p in plan.phases)


def measure(db: gdb.Database, pattern: str, off: frozenset[str], runs: int) -> Listed:
    """List the rows with or without the pass."""
    names = sorted({part[0] for part in pattern.split("(")[1:]})
    ids = ", ".join(f"id({name})" for name in names)
    text = f"MATCH DIFFERENT NODES {pattern} RETURN {ids} LIMIT {LIMIT}" + " " * next(_spaces)

    def once() -> tuple[int, float]:
        found = db.device_columns(text)
        return found.rows, found.summary.kernel_seconds * 1e3

    with switched_off(off) as made:
        once()
    once()
    special.settle(COMPILING)
    rows, kernels = zip(*(once() for _ in range(runs)), strict=True)
    if len(made) != 1 or len(set(rows)) > 1:
        raise SystemExit(f"{pattern}: {len(made)} plans, {sorted(set(rows))} rows")
    return Listed(rows[0], statistics.median(kernels), phases(made[0]))


def main(line: list[str] | None = None) -> int:
    """Load, list, print."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--published", type=Path, default=PUBLISHED, help="(default: ../shared/peers)")
    add("--graph", nargs="+", default=list(GRAPHS), choices=GRAPHS)
    add("--query", nargs="+", default=list(QUERIES), choices=QUERIES)
    add("--runs", type=int, default=5, help="(default: 5)")
    arguments = parser.parse_args(line)
    if unready(arguments):
        return 2
    special.WORTH = -1.0  # each has its own kernel, however short it runs
    rows, wrong = list[tuple[Cell, ...]](), False
    with tempfile.TemporaryDirectory(prefix="gdb-gpu-") as temporary:
        folder = arguments.folder or Path(temporary)
        for graph in arguments.graph:
            store = loaded(graph, folder, arguments.data, arguments.published)
            with gdb.connect(store, read_only=True) as db:
                for name in arguments.query:
                    on, off = (
                        measure(db, QUERIES[name], passes, arguments.runs)
                        for passes in (frozenset[str](), OFF)
                    )
                    wrong = wrong or on.rows != off.rows
                    times = (off.milliseconds, on.milliseconds, off.milliseconds / on.milliseconds)
                    found = on.rows if on.rows == off.rows else f"{on.rows:,} and {off.rows:,}"
                    rows.append((graph, name, on.phases, found, *times))
                    print(*rows[-1], flush=True)
            memory.KEPT.forget()
    ways = (Column("one by one", "ms"), Column("together", "ms"))
    header = ("graph", "phases: query", "planned", "rows", *ways, "times quicker")
    about = f"Time in kernels; the rows, at most {LIMIT:,}, stay on the device."
    report = Report.of(about, [Table.of(header, rows)])
    print(f"\n{report.markdown()}")
    if arguments.save and not wrong:
        title = "GPU: matching patterns"
        page.save(__file__, title, report, "numpy", "cupy-cuda12x", "cupy-cuda13x")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
