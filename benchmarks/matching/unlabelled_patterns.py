"""Count the 24 unlabelled patterns of the GPU papers on wiki-Vote, each within a limit, beside the published systems.

    python -m benchmarks.matching.unlabelled_patterns [--device cpu|cuda] [--limit 120] [--pattern q1 ...]
        [--threads N] [--save]

The patterns (q1 to q24, of 5 to 7 vertices) and the counts and times of GPU systems on an H200 are read from
`../shared/peers` (`--published`). A count is the number of embeddings with different nodes: `MATCH DIFFERENT NODES`,
not induced. Ours are seconds of the first run of each query through `db.execute`, with parsing and planning; theirs
are GPU time by their own timers, with the graph in GPU memory. A kernel compiled before warms the process. The exit
code is 1 if a count differs or a query fails, 2 if there is nothing to measure on.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import gdb
from benchmarks.inputs import graphs
from benchmarks.inputs.published import PUBLISHED, PUBLISHED_NAMES, Subject, absent, read_subjects
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Header, Over, Table
from gdb.errors import GdbError, QueryTimeout

Verdict = Literal["equal", "counted", "differs", "failed", "over the limit"]
WARM_UP = "MATCH DIFFERENT NODES (a)-[]-(b)-[]-(c), (a)-[]-(c) RETURN count(*)"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a subject; `steps` are the seconds of parse, bind, plan and run."""

    subject: Subject
    verdict: Verdict
    count: int | None
    seconds: float
    steps: dict[str, float] = field(default_factory=dict)
    note: str = ""


def measure(db: gdb.Database, subject: Subject, limit: float, device: str, threads: int) -> Outcome:
    """Count one pattern once."""
    query = subject.pattern.cypher("isomorphisms")
    start = time.perf_counter()
    try:
        result = db.execute(query, device=device, timeout=limit, threads=threads)
        count = int(str(result.scalar()))
    except QueryTimeout:
        return Outcome(subject, "over the limit", None, time.perf_counter() - start)
    except GdbError as error:
        note = f"{type(error).__name__}: {error}"
        return Outcome(subject, "failed", None, time.perf_counter() - start, note=note)
    seconds = time.perf_counter() - start
    verdict: Verdict = "counted" if subject.count is None else "equal"
    if subject.count not in (None, count):
        verdict = "differs"
    return Outcome(subject, verdict, count, seconds, dict(result.summary.seconds))


def table(outcomes: list[Outcome], limit: float) -> Table:
    """One row for each pattern."""
    systems = list(dict.fromkeys(s for o in outcomes for s in o.subject.milliseconds))
    rows = []
    for o in outcomes:
        pattern = o.subject.pattern
        row: list[Cell] = [pattern.name, len(pattern.vertices), len(pattern.edges)]
        row += [o.count, _seconds(o, limit), o.steps.get("plan"), o.steps.get("run")]
        row += [_published(o.subject, system) for system in systems]
        rows.append((*row, _ratio(o), o.verdict))
    times = (Column(name, "s") for name in ("in all", "plan", "run", *systems))
    header: Header = (*("pattern", "vertices", "edges", "count"), *times, "ours / best", "verdict")
    return Table.of(header, rows)


def _seconds(outcome: Outcome, limit: float) -> Cell:
    if outcome.count is not None:
        return outcome.seconds
    return Over(limit) if outcome.verdict == "over the limit" else "error"


def _published(subject: Subject, system: str) -> Cell:
    if system not in subject.milliseconds:
        return None
    milliseconds = subject.milliseconds[system]
    return "stopped" if milliseconds is None else milliseconds / 1e3


def _ratio(outcome: Outcome) -> Cell:
    best = outcome.subject.best
    return None if outcome.count is None or best is None else outcome.seconds / best


def notes(outcomes: list[Outcome], limit: float) -> list[str]:
    """How many are done, what differs and what failed."""
    done = sum(o.count is not None for o in outcomes)
    equal = sum(o.verdict == "equal" for o in outcomes)
    lines = [
        f"{done} of {len(outcomes)} within {limit:g} s; {equal} of them have the published count, "
        f"{sum(o.verdict == 'counted' for o in outcomes)} have no published count"
    ]
    for o in outcomes:
        if o.verdict == "differs":
            lines.append(f"{o.subject.pattern.name} differs: published {o.subject.count:,}")
        elif o.verdict == "failed":
            lines.append(f"{o.subject.pattern.name} failed: {o.note}")
    return lines


def report(outcomes: list[Outcome], device: str, limit: float) -> Report:
    """What was counted on a device."""
    return Report.of(
        "Unlabelled query graphs of 5 to 7 vertices, embeddings with different nodes, each once through "
        f"`execute(..., device={device!r}, timeout={limit:g})`, with parsing and planning. The other systems: GPU time "
        "on an H200, as published (stopped: over 10 to 15 s).",
        [table(outcomes, limit)],
        notes(outcomes, limit),
    )


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--published", type=Path, default=PUBLISHED, help="(default: ../shared/peers)")
    add("--graph", default="wiki-vote", choices=list(PUBLISHED_NAMES))
    add("--pattern", nargs="+", default=[], help="some patterns (default: q1 to q24)")
    add("--limit", type=float, default=120.0, help="seconds for each query (default: 120)")
    add("--device", default="cpu", help="auto, cpu, cuda or cuda:N (default: cpu)")
    add("--threads", type=int, default=0, help="(default: all cores)")
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> int:
    """Load, count, print."""
    arguments = arguments_of(line)
    if absent(arguments):
        return 2
    published_name = PUBLISHED_NAMES[arguments.graph]
    subjects = read_subjects(arguments.published, published_name, arguments.pattern)
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="gdb-decomposition-") as temporary:
        folder = arguments.folder or Path(temporary)
        store = graphs.loaded(arguments.graph, folder, arguments.data)
        with gdb.connect(store, read_only=True) as db:
            db.execute(WARM_UP, device=arguments.device)
            for subject in subjects:
                outcome = measure(db, subject, arguments.limit, arguments.device, arguments.threads)
                outcomes.append(outcome)
                name, seconds = subject.pattern.name, outcome.seconds
                print(f"{name:<8} {seconds:10.3f} s  {outcome.verdict}", flush=True)
    found = report(outcomes, arguments.device, arguments.limit)
    print(f"\n{found.markdown()}")
    if arguments.save:
        title = f"Unlabelled patterns: {arguments.graph} on {arguments.device}"
        page.save(__file__, title, found, "numpy", "llvmlite", "cupy-cuda12x", "cupy-cuda13x")
    return int(any(o.verdict in ("differs", "failed") for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
