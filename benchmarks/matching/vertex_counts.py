"""How many embeddings of a pattern each vertex has: counted, and from the rows of all embeddings.

    python -m benchmarks.matching.vertex_counts [--graph wiki-vote] [--pattern triangle ...] [--limit 60] [--runs 3]
        [--device cpu] [--save]

`MATCH DIFFERENT NODES ... RETURN id(a), count(*) ORDER BY count(*) DESC LIMIT 10`, through `db.execute`. "listed" is
the same with counting switched off, so that every embedding reaches the relational part as a row; for triangles
networkx runs as well. The exit code is 1 if answers differ, 2 if the graph is not here.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, TypeVar

import networkx as nx
import numpy as np

import gdb
from benchmarks.inputs import graphs
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Over, Table
from gdb.answer import entities
from gdb.errors import QueryTimeout
from gdb.physical import counting

FILES = {
    "wiki-vote": Path("wiki-vote") / "wiki-Vote.txt",
    "email-enron": Path("email-enron") / "email-Enron.txt.gz",
}
PATTERNS = {
    "2-path": "(a)-[]-(b)-[]-(c)",
    "triangle": "(a)-[]-(b)-[]-(c)-[]-(a)",
    "rectangle": "(a)-[]-(b)-[]-(c)-[]-(d)-[]-(a)",
    "diamond": "(a)-[]-(b)-[]-(c)-[]-(a), (b)-[]-(d)-[]-(c)",
    "4-clique": "(a)-[]-(b)-[]-(c)-[]-(d)-[]-(a)-[]-(c), (b)-[]-(d)",
}
T = TypeVar("T")
Row: TypeAlias = "tuple[entities.Cell, ...]"


def timed(work: Callable[[], T], runs: int) -> tuple[T, float]:
    """What the last run gives, and the median of their seconds."""
    seconds = []
    for _ in range(runs):
        begin = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - begin)
    return found, statistics.median(seconds)


def measure(
    db: gdb.Database, name: str, limit: float, runs: int, device: str
) -> tuple[list[Row], list[Row] | None, float, float]:
    """Both answers and seconds; None and the limit where listing takes longer."""
    query = f"MATCH DIFFERENT NODES {PATTERNS[name]} RETURN id(a) AS v, count(*) AS n ORDER BY n DESC, v LIMIT 10"
    counted, seconds = timed(lambda: db.execute(query, device=device).fetchall(), runs)
    worth, counting.WORTH_COUNTING = counting.WORTH_COUNTING, float("inf")
    try:
        listed, longer = timed(
            lambda: db.execute(f"{query} // listed", device=device, timeout=limit).fetchall(), 1
        )
    except QueryTimeout:
        return counted, None, seconds, limit
    finally:
        counting.WORTH_COUNTING = worth
    return counted, listed, seconds, longer


def triangles(edges: Path, top: list[Row], runs: int) -> tuple[bool, float]:
    """Whether networkx finds the same numbers, and its seconds, without those to make its graph."""
    ends = np.loadtxt(edges, dtype=np.int64, comments="#")
    graph = nx.Graph(ends[ends[:, 0] != ends[:, 1]].tolist())
    found, seconds = timed(lambda: nx.triangles(graph), runs)
    return all(2 * found[int(str(v))] == n for v, n in top), seconds


def main(line: list[str] | None = None) -> int:
    """Load, count, print."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--graph", default="wiki-vote", choices=list(FILES))
    add("--pattern", nargs="+", default=list(PATTERNS), choices=list(PATTERNS))
    add("--limit", type=float, default=60.0, help="seconds for each listing (default: 60)")
    add("--runs", type=int, default=3, help="(default: 3)")
    add("--device", default="cpu", help="(default: cpu)")
    arguments = parser.parse_args(line)
    if graphs.absent(arguments.data):
        return 2
    rows, wrong = list[tuple[Cell, ...]](), False
    edges = arguments.data / FILES[arguments.graph]
    with (
        tempfile.TemporaryDirectory(prefix="gdb-counts-") as folder,
        gdb.connect(Path(folder) / "counts.gdb") as db,
    ):
        db.load(
            *(edges,),
            format="snap",
            type="E",
            directed=False,
            multi_edges="drop",
            self_loops="drop",
        )
        for name in arguments.pattern:
            counted, listed, seconds, longer = measure(
                db, name, arguments.limit, arguments.runs, arguments.device
            )
            right = listed is None or listed == counted
            peer: Cell = None
            if name == "triangle":
                same, took = triangles(edges, counted, arguments.runs)
                right, peer = right and same, took
            wrong = wrong or not right
            long, ratio = longer, longer / seconds
            spans = (long, ratio) if listed is not None else (Over(long), Over(ratio))
            verdict = "equal" if right else "differs"
            rows.append((name, seconds, *spans, peer, verdict))
            print(*rows[-1], flush=True)
    header = (
        *("pattern", Column("counted", "s"), Column("listed", "s"), "times quicker"),
        *(Column("networkx", "s"), "answers"),
    )
    about = f"{arguments.graph}: the ten vertices with the most embeddings."
    report = Report.of(about, [Table.of(header, rows)])
    print(f"\n{report.markdown()}")
    if arguments.save and not wrong:
        on = "" if arguments.device == "cpu" else "GPU: c"
        page.save(__file__, f"{on or 'C'}ounts of each vertex", report, "numpy", "networkx")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
