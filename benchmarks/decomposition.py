"""Count the 24 unlabelled patterns of the GPU papers on wiki-Vote, each within a limit, beside the published systems.

    python benchmarks/decomposition.py [--device cpu|cuda] [--limit 120] [--pattern q1 ...] [--threads N] [--save]

The patterns (q1 to q24, of 5 to 7 vertices) and the counts and times of GPU systems on an H200 are read from
`../shared/peers` (`--published`). A count is the number of embeddings with different nodes: `MATCH DIFFERENT NODES`,
not induced. Ours are seconds of the first run of each query through `db.execute`, with parsing and planning; theirs
are GPU time by their own timers, with the graph in GPU memory. A kernel compiled before warms the process. The exit
code is 1 if a count differs or a query fails, 2 if there is nothing to measure on.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import gdb
import graphs
import patterns
import results
from gdb.errors import GdbError, QueryTimeout
from peers.report import figures

Verdict = Literal["equal", "counted", "differs", "failed", "over the limit"]
PUBLISHED = graphs.DATA.parent / "peers"
PUBLISHED_NAMES = {"wiki-vote": "wiki-Vote", "email-enron": "email-Enron"}
WARM_UP = "MATCH DIFFERENT NODES (a)-[]-(b)-[]-(c), (a)-[]-(c) RETURN count(*)"


@dataclass(frozen=True, slots=True)
class Subject:
    """A pattern, its published count (None: no system finished) and milliseconds by system (None: stopped)."""

    pattern: patterns.Pattern
    count: int | None
    milliseconds: dict[str, float | None]

    @property
    def best(self) -> float | None:
        """Seconds of the quickest published system that finished."""
        done = [ms for ms in self.milliseconds.values() if ms is not None]
        return min(done) / 1e3 if done else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a subject; `steps` are the seconds of parse, bind, plan and run."""

    subject: Subject
    verdict: Verdict
    count: int | None
    seconds: float
    steps: dict[str, float] = field(default_factory=dict)
    note: str = ""


def read_subjects(
    folder: Path, graph: str, chosen: list[str], *, labelled: bool = False
) -> list[Subject]:
    """The patterns of the published folder that are chosen, in the file's order; all q1, q2, ... if none are.

    Parameters
    ----------
    folder : holds `patterns.json` (name -> vertices, edges) and `gpu_h200.json` (graph -> name -> count, ms).
    graph : the graph's name in the second file. labelled : with the vertex labels that the first file gives.
    """
    shapes = json.loads((folder / "patterns.json").read_text(encoding="utf-8"))
    measured = json.loads((folder / "gpu_h200.json").read_text(encoding="utf-8")).get(graph, {})
    names = chosen or [name for name in shapes if name[0] == "q" and name[1:].isdigit()]
    found = []
    for name in names:
        edges = tuple((int(i), int(j)) for i, j in shapes[name]["edges"])
        told = measured.get(name, {"count": None, "ms": {}})
        times = {k: None if ms == "timeout" else ms for k, ms in told["ms"].items()}
        labels = shapes[name]["labels"] if labelled else None
        vertices = (
            (None,) * int(shapes[name]["vertices"])
            if labels is None
            else tuple(f"L{label}" for label in labels)
        )
        pattern = patterns.Pattern(name, vertices, edges)
        found.append(Subject(pattern, told["count"], times))
    return found


def measured_names(folder: Path, graph: str) -> list[str]:
    """The patterns that `gpu_h200.json` has figures of for a graph, in its order."""
    return list(json.loads((folder / "gpu_h200.json").read_text(encoding="utf-8"))[graph])


def absent(arguments: argparse.Namespace) -> bool:
    """Whether the graphs or the published figures are not here; says which."""
    needed = ("patterns.json", "gpu_h200.json")
    return graphs.absent(arguments.data, *(arguments.published / name for name in needed))


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


def table(outcomes: list[Outcome], limit: float) -> str:
    """One row for each pattern."""
    systems = list(dict.fromkeys(s for o in outcomes for s in o.subject.milliseconds))
    rows = []
    for o in outcomes:
        pattern = o.subject.pattern
        row = [pattern.name, len(pattern.vertices), len(pattern.edges)]
        row += ["-" if o.count is None else f"{o.count:,}", _seconds(o, limit)]
        row += [_step(o, "plan"), _step(o, "run")]
        row += [_published(o.subject, system) for system in systems]
        rows.append((*row, _ratio(o), o.verdict))
    header = ("pattern", "vertices", "edges", "count", "seconds", "plan", "run", *systems)
    return results.table((*header, "ours / best", "verdict"), rows)


def _seconds(outcome: Outcome, limit: float) -> str:
    if outcome.count is not None:
        return figures(outcome.seconds)
    return f">{limit:g}" if outcome.verdict == "over the limit" else "error"


def _step(outcome: Outcome, name: str) -> str:
    return figures(outcome.steps[name]) if name in outcome.steps else ""


def _published(subject: Subject, system: str) -> str:
    if system not in subject.milliseconds:
        return ""
    milliseconds = subject.milliseconds[system]
    return "stopped" if milliseconds is None else figures(milliseconds / 1e3)


def _ratio(outcome: Outcome) -> str:
    best = outcome.subject.best
    return "" if outcome.count is None or best is None else figures(outcome.seconds / best)


def summary(outcomes: list[Outcome], limit: float) -> str:
    """How many are done, what differs and what failed."""
    done = sum(o.count is not None for o in outcomes)
    equal = sum(o.verdict == "equal" for o in outcomes)
    lines = [
        f"{done} of {len(outcomes)} within {limit:g} s; {equal} of them have the published count, "
        f"{sum(o.verdict == 'counted' for o in outcomes)} have no published count."
    ]
    for o in outcomes:
        if o.verdict == "differs":
            lines.append(f"- {o.subject.pattern.name} differs: published {o.subject.count:,}")
        elif o.verdict == "failed":
            lines.append(f"- {o.subject.pattern.name} failed: {o.note}")
    return "\n".join(lines)


def save(outcomes: list[Outcome], arguments: argparse.Namespace) -> None:
    """Write the section for this graph and device."""
    body = (
        "Unlabelled query graphs of 5 to 7 vertices, embeddings with different nodes, each once through "
        f"`execute(..., device={arguments.device!r}, timeout={arguments.limit:g})`, seconds with parsing and "
        "planning. The other systems: GPU time on an H200, as published (stopped: over 10 to 15 s).\n\n"
        f"{table(outcomes, arguments.limit)}\n\n{summary(outcomes, arguments.limit)}"
    )
    title = f"Decomposition: {arguments.graph} on {arguments.device}"
    results.save(title, body, "numpy", "llvmlite", "cupy-cuda12x", "cupy-cuda13x")


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
    print(f"\n{table(outcomes, arguments.limit)}\n\n{summary(outcomes, arguments.limit)}")
    if arguments.save:
        save(outcomes, arguments)
    return int(any(o.verdict in ("differs", "failed") for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
