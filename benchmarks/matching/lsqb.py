"""The nine queries of the Labelled Subgraph Query Benchmark, beside other engines: counts and milliseconds.

    python -m benchmarks.matching.lsqb [--graph lsqb-sf0.003] [--system gdb DuckDB ladybug NeuG ArcadeDB] [--repeat 5]
        [--timeout 60] [--save]
    python -m benchmarks.matching.lsqb --generate 1000 [--seed 1] ...

Mhedhbi, Lissandrini, Kuiper, Waudby, Szarnyas: "LSQB: a large-scale subgraph query benchmark", GRADES-NDA 2021
(https://github.com/ldbc/lsqb). Graph and queries lie beside the repository (`../shared/data`); the SQL is ours.
`--generate` makes a graph instead (`lsqb_graph.py`): at a scale of 1000 several files have a million rows or more.

Each system answers in a process of its own, over a graph that it has loaded before; another query has run, which
counts the friendships, so that what a process does once is done. "first" is the first run of a query,
"again" the median of the times after it. A query is stopped at the timeout; a process that ends, or
goes on for long after it, is reported as such. Every count is compared with the known one, those of a generated graph
with one another. The exit code is 1 if one differs or a query of ours has no answer, 2 if the graph is not here.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.inputs import graphs, lsqb_graph
from benchmarks.matching.lsqb_systems import MEMORY_GB, NUMBERS, SYSTEMS, counts, queries
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Over, Table, figures

LOADING = 1200.0  # seconds that a graph may take
CURE = "pip install ladybug neug arcadedb-embedded"
LATE = "over the timeout"


@dataclass(frozen=True, slots=True)
class Asked:
    """One query of one system: its count, -1 where it has none; seconds of the first time and the median of later
    ones; why it has none."""

    count: int
    first: float
    again: float
    failed: str = ""


@dataclass(slots=True)
class Answers:
    """What one system's process said. ended : why it has not answered the others, "" where it has answered all."""

    load: float = 0.0
    friends: int = 0
    asked: dict[int, Asked] = field(default_factory=dict)
    ended: str = ""


def measure(name: str, folder: Path, data: Path, repeat: int, timeout: float) -> None:
    """Load, run all nine, and print a line for each; called in a process of its own. A query that takes longer than
    the timeout runs once."""
    system = SYSTEMS[name]()
    with tempfile.TemporaryDirectory(prefix="gdb-lsqb-") as temporary:
        begin = time.perf_counter()
        system.load(folder, Path(temporary) / "store")
        print(json.dumps([0, time.perf_counter() - begin, system.friends()]), flush=True)
        for number, text in queries(data).items():
            times: list[float] = []
            count, failed = -1, ""
            for _ in range(1 + repeat):
                begin = time.perf_counter()
                try:
                    count = system.count(number, text, timeout)
                except TimeoutError:
                    count, failed = -1, LATE
                except (
                    Exception
                ) as error:  # the other queries go on: each system has errors of its own
                    count, failed = -1, str(error).splitlines()[0].partition(":")[0][:40]
                times.append(time.perf_counter() - begin)
                if count == -1 or sum(times) > timeout:
                    break
            asked = number, count, times[0], statistics.median(times[1:] or times), failed
            print(json.dumps(asked), flush=True)


def answered(name: str, folder: Path, arguments: argparse.Namespace) -> Answers:
    """What the process of one system says, until it ends or goes on for long."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.matching.lsqb",
        "--one",
        name,
        "--folder",
        str(folder),
    ]
    command += ["--data", str(arguments.data), "--repeat", str(arguments.repeat)]
    command += ["--timeout", str(arguments.timeout)]
    longest, found = LOADING + 3 * len(NUMBERS) * arguments.timeout, Answers()
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=longest
        )
        output, errors = ended.stdout, ended.stderr.strip().splitlines()
        if ended.returncode:
            found.ended = f"ended with {ended.returncode}: {(errors or ['?'])[-1]}"
    except subprocess.TimeoutExpired as late:
        output, found.ended = (late.stdout or b"").decode(), "does not end"
    for number, *rest in map(json.loads, output.splitlines()):
        if number:
            found.asked[number] = Asked(*rest)
        else:
            found.load, found.friends = rest
    return found


def agreed(found: dict[str, Answers]) -> dict[int, int]:
    """The count of each query that more systems give than any other, of as many the first; -1 where none gives any."""
    known = {}
    for number in NUMBERS:
        given = [
            one.asked[number].count
            for one in found.values()
            if number in one.asked and one.asked[number].count != -1
        ]
        known[number] = max(given, key=given.count, default=-1)
    return known


def table(found: dict[str, Answers], known: dict[int, int], timeout: float) -> Table:
    """One row for each query; a system that was stopped is over the timeout in its first column."""
    header: list[str | Column] = ["query", "count"]
    header += [Column(f"{name}, {what}", "ms") for name in found for what in ("first", "again")]
    rows = []
    for number, count in known.items():
        cells: list[Cell] = [f"q{number}", count if count != -1 else "?"]
        for answers in found.values():
            one = answers.asked.get(number)
            if one is None:
                cells += [answers.ended, None]
            elif one.count == -1:
                cells += [Over(1e3 * timeout) if one.failed == LATE else one.failed, None]
            elif one.count != count:
                cells += [f"{one.count:,}, which is wrong", None]
            else:
                cells += [1e3 * one.first, 1e3 * one.again]
        rows.append(cells)
    return Table.of(header, rows)


def wrong(found: dict[str, Answers], known: dict[int, int]) -> list[str]:
    """The systems with a count that differs, or that have loaded something else."""
    friends = {one.friends for one in found.values()}
    return [
        name
        for name, one in found.items()
        if len(friends) > 1
        or any(asked.count not in (known[n], -1) for n, asked in one.asked.items())
    ]


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    parser = graphs.command_line(__doc__)
    parser.add_argument("--graph", default="lsqb-sf0.003", help="(default: lsqb-sf0.003)")
    parser.add_argument("--generate", type=float, metavar="SCALE", help="a graph of so many times")
    parser.add_argument("--seed", type=int, default=1, help="of a generated graph (default: 1)")
    parser.add_argument("--system", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--repeat", type=int, default=5, help="(default: 5)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds (default: 60)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> int:
    """Measure all, print."""
    arguments = arguments_of(line)
    if arguments.one:
        rest = arguments.data, arguments.repeat, arguments.timeout
        measure(arguments.one, arguments.folder, *rest)
        return 0
    folder = arguments.data / arguments.graph
    if graphs.absent(arguments.data / "lsqb-example" if arguments.generate else folder):
        return 2
    with tempfile.TemporaryDirectory(prefix="gdb-lsqb-") as temporary:
        title, what = arguments.graph, f"{arguments.graph} (one of LDBC's small graphs)"
        if arguments.generate:
            folder = Path(temporary)
            size = lsqb_graph.generate(folder, arguments.generate, arguments.seed)
            title = "a generated graph"
            what = f"a graph of {size:,} relationships (--generate {arguments.generate:g})"
        found = {name: answered(name, folder, arguments) for name in arguments.system}
    for name, one in found.items():
        if one.ended:
            print(f"{name}: {one.ended} ({CURE})")
    found = {name: one for name, one in found.items() if one.load}
    if not found:
        return 2
    known = agreed(found) if arguments.generate else counts(arguments.data, arguments.graph)
    different = wrong(found, known)
    loads = ", ".join(f"{name} {figures(one.load)}" for name, one in found.items())
    report = Report.of(
        f"The nine queries on {what}: the first time that a process runs it, and the median of {arguments.repeat} "
        f"times after it; another query ran before; a query was stopped after {arguments.timeout:g} s. DuckDB has the "
        f"nine in SQL over its tables of pairs, and {MEMORY_GB} GB of memory, as ladybug. Seconds to load: {loads}.",
        [table(found, known, arguments.timeout)],
    )
    print(f"\n{report.markdown()}")
    late = "gdb" in found and any(
        found["gdb"].asked.get(n, Asked(-1, 0, 0)).count == -1 for n in NUMBERS
    )
    if arguments.save and not different:
        peers = ("duckdb", "ladybug", "neug", "arcadedb-embedded")
        page.save(__file__, f"LSQB: {title}", report, *peers)
    return int(bool(different or late))


if __name__ == "__main__":
    sys.exit(main())
