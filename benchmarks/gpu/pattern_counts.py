"""Count patterns on a GPU beside the research systems that were measured on the same kind of chip.

    python -m benchmarks.gpu.pattern_counts [--graph wiki-Vote rmat10m ...] [--pattern q1 ...] [--limit 20] [--runs 5]
        [--save]

Patterns, graphs, and the counts and GPU times of gMatch, T-DFS, STMatch, G2Miner, EGSM, PBE and GSI are read from
`../shared/peers` (`--published`). A count is the number of embeddings with different nodes. Ours, in milliseconds:
`kernel` is the time in kernels by the GPU's own clock in the median run of a warm query, its graph resident, as theirs
is; `beside` what `db.execute` takes besides; `first` the first run of the query, with planning and copying. The exit
code is 1 if a count differs or a query fails, 2 if there is nothing to measure on.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import gdb
from benchmarks.inputs import graphs
from benchmarks.inputs.published import PUBLISHED, Subject, absent, measured_names, read_subjects
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table, figures
from gdb.errors import GdbError
from gdb.executor.gpu import special
from gdb.executor.gpu.device import absence

LABELS = 16
WARM_UP, WARM_UPS = (
    0.3,
    1,
)  # seconds, and runs at least after the first; then a query has its own kernel compiled
COMPILING = 30.0  # seconds to wait for that
# graph -> the real graph it is made of (None: R-MAT), how many labels are drawn (0: none), and whether vertices get
# them in the order of their ids, or of being named first (the published counts are those)
GRAPHS: dict[str, tuple[str | None, int, bool]] = {
    "wiki-Vote": ("wiki-vote", 0, False),
    "email-Enron_l16": ("email-enron", 36_692, False),
    "rmat10m": (None, 0, False),
    "rmat10m_l16": (None, 1 << 20, True),
}
FILES = {
    "wiki-vote": Path("wiki-vote") / "wiki-Vote.txt",
    "email-enron": Path("email-enron") / "email-Enron.txt.gz",
}


@dataclass(frozen=True, slots=True)
class Counted:
    """One pattern on one graph. Times in milliseconds; count None: ours failed, and `note` says why."""

    graph: str
    subject: Subject
    count: int | None = None
    kernel: float = math.nan
    beside: float = math.nan
    first: float = math.nan
    note: str = ""

    @property
    def name(self) -> str:
        return self.subject.pattern.name

    @property
    def best(self) -> tuple[str, float] | None:
        """The quickest peer that finished."""
        done = {name: ms for name, ms in self.subject.milliseconds.items() if ms is not None}
        return min(done.items(), key=lambda item: item[1]) if done else None

    @property
    def gain(self) -> float | None:
        """How many times our kernels are quicker than the best peer."""
        return None if self.best is None or self.count is None else self.best[1] / self.kernel

    @property
    def wrong(self) -> bool:
        return self.count is None or self.subject.count not in (None, self.count)


def loaded(name: str, folder: Path, data: Path, published: Path) -> Path:
    """The store of a graph in a folder; it is made unless it is there."""
    store = folder / f"{name}.gdb"
    if store.exists():
        return store
    source, ids, by_id = GRAPHS[name]
    edges = data / FILES[source] if source is not None else _rmat(folder, published)
    begin = time.perf_counter()
    with gdb.connect(store) as db:
        if ids:
            nodes, pairs = folder / f"{name}.csv", folder / f"{name}-edges.csv"
            _labelled(edges, ids, nodes, pairs, by_id=by_id)
            db.load(nodes=nodes, edges=pairs, type="E", directed=False)
        else:
            db.load(
                edges,
                format="snap",
                type="E",
                directed=False,
                multi_edges="drop",
                self_loops="drop",
            )
        stats = db.stats()
    seconds = time.perf_counter() - begin
    print(
        f"{name}: {stats.vertices:,} vertices, {stats.edges:,} edges, {seconds:.1f} s", flush=True
    )
    return store


def _rmat(folder: Path, published: Path) -> Path:
    found = folder / "rmat10m.el"
    if not found.exists():
        command = [sys.executable, str(published / "rmat.py"), "20", "1e7", str(found)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return found


def _labelled(edges: Path, ids: int, nodes: Path, pairs: Path, *, by_id: bool) -> None:
    """An edge list as two CSV files: each edge once, no loops. Vertex k, or the vertex that is named as the k-th, has
    the k-th label."""
    ends = np.loadtxt(edges, dtype=np.int64, comments="#")
    order, first = np.unique(ends, return_index=True)
    labels = np.random.default_rng(0).integers(0, LABELS, ids)
    if by_id:
        labels = labels[order]
    else:
        order = order[np.argsort(first)]
        labels = labels[: len(order)]
    with nodes.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([":ID", ":LABEL"])
        labelled = zip(order.tolist(), labels.tolist(), strict=True)
        writer.writerows((vertex, f"L{label}") for vertex, label in labelled)
    ends.sort(axis=1)
    keys = np.unique(ends[:, 0] << 32 | ends[:, 1])
    ends = np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1)
    ends = ends[ends[:, 0] != ends[:, 1]]
    np.savetxt(pairs, ends, "%d", ",", header=":START_ID,:END_ID", comments="")


def measure(db: gdb.Database, cell: Counted, limit: float, runs: int) -> Counted:
    """Count once; again until its own kernel has taken over; then `runs` times."""
    query = cell.subject.pattern.cypher("isomorphisms")
    kernels, besides = [], []
    try:
        count, first, kernel = _once(db, query, limit)
        begin = time.perf_counter()
        for _ in range(WARM_UPS):  # after the first, a query may get its own kernel
            _, _, kernel = _once(db, query, limit)
        while kernel < 500 and time.perf_counter() - begin < WARM_UP:
            _, _, kernel = _once(db, query, limit)
        special.settle(COMPILING)
        for _ in range(runs if kernel < 500 else 3):
            again, whole, kernel = _once(db, query, limit)
            if again != count:
                return replace(cell, note=f"counts {count:,} and then {again:,}")
            kernels.append(kernel)
            besides.append(whole - kernel)
    except GdbError as error:
        return replace(cell, note=f"{type(error).__name__}: {error}")
    kernel, beside = statistics.median(kernels), statistics.median(besides)
    return replace(cell, count=count, kernel=kernel, beside=beside, first=first)


def _once(db: gdb.Database, query: str, limit: float) -> tuple[int, float, float]:
    """Count, milliseconds as a whole, milliseconds in kernels."""
    begin = time.perf_counter()
    result = db.execute(query, device="cuda", timeout=limit)
    count = int(str(result.scalar()))
    whole = (time.perf_counter() - begin) * 1e3
    return count, whole, result.summary.kernel_seconds * 1e3


def table(cells: Iterable[Counted]) -> Table:
    """One row for each pattern."""
    rows: list[tuple[Cell, ...]] = []
    for cell in cells:
        peer, ms = cell.best or ("all stopped", None)
        times = (None if math.isnan(x) else x for x in (cell.kernel, cell.beside, cell.first))
        rows.append((cell.graph, cell.name, cell.count, *times, ms, peer, cell.gain))
    times_of = (Column(name, "ms") for name in ("kernel", "beside", "first", "best peer"))
    return Table.of(("graph", "pattern", "count", *times_of, "which", "times quicker"), rows)


def notes(cells: list[Counted]) -> list[str]:
    """The geometric mean of each graph, cells that are behind, and what went wrong."""
    lines = []
    for graph in dict.fromkeys(cell.graph for cell in cells):
        mine = [cell for cell in cells if cell.graph == graph]
        gains = [cell.gain for cell in mine if cell.gain is not None]
        behind = [cell.name for cell in mine if cell.gain is not None and cell.gain < 1]
        if gains:
            mean = statistics.geometric_mean(gains)
            ahead = len(gains) - len(behind)
            where = f"; behind in {', '.join(behind)}" if behind else ""
            lines.append(
                f"{graph}: {figures(mean)} times quicker (geometric mean), ahead in {ahead} of {len(gains)}{where}"
            )
    for cell in cells:
        if cell.wrong:
            lines.append(
                f"{cell.graph} {cell.name}: {cell.note or f'published {cell.subject.count:,}'}"
            )
    return lines


def report(cells: list[Counted]) -> Report:
    """What was counted on some graphs."""
    return Report.of(
        "Embeddings with different nodes, counted. kernel: the time in our kernels by the GPU's clock, median of warm "
        "runs; beside: what `db.execute` takes besides; first: the first run, with planning and copying. Peers: GPU "
        "time by their own timers, measured on the same kind of chip.",
        [table(cells)],
        notes(cells),
    )


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--published", type=Path, default=PUBLISHED, help="(default: ../shared/peers)")
    add("--graph", nargs="+", default=list(GRAPHS), choices=list(GRAPHS))
    add("--pattern", nargs="+", default=[], help="some patterns (default: all that were measured)")
    add("--limit", type=float, default=20.0, help="seconds for each query (default: 20)")
    add("--runs", type=int, default=5, help="after the first (default: 5)")
    return parser.parse_args(line)


def unready(arguments: argparse.Namespace) -> bool:
    """Whether the graphs, the published figures or a GPU are not here; says which."""
    missing = absence()
    if missing is not None:
        print(f"there is nothing to measure on: {missing}", file=sys.stderr)
    return missing is not None or absent(arguments)


def main(line: list[str] | None = None) -> int:
    """Load, count, print."""
    arguments = arguments_of(line)
    if unready(arguments):
        return 2
    cells = []
    with tempfile.TemporaryDirectory(prefix="gdb-gpu-") as temporary:
        folder = arguments.folder or Path(temporary)
        for graph in arguments.graph:
            names = measured_names(arguments.published, graph)
            chosen = [name for name in names if name in (arguments.pattern or names)]
            if not chosen:  # of this graph
                continue
            labelled = GRAPHS[graph][1] > 0
            subjects = read_subjects(arguments.published, graph, chosen, labelled=labelled)
            store = loaded(graph, folder, arguments.data, arguments.published)
            with gdb.connect(store, read_only=True) as db:
                for subject in subjects:
                    cell = Counted(graph, subject)
                    cells.append(measure(db, cell, arguments.limit, arguments.runs))
                    done = cells[-1]
                    gain = "" if done.gain is None else f"{done.gain:.3g} x"
                    print(
                        f"{graph:<16} {done.name:<10} {done.kernel:10.3f} ms  {gain} {done.note}",
                        flush=True,
                    )
            if arguments.save:
                own = report([cell for cell in cells if cell.graph == graph])
                page.save(__file__, f"GPU: {graph}", own, "numpy", "cupy-cuda12x", "cupy-cuda13x")
    print(f"\n{report(cells).markdown()}")
    return int(any(cell.wrong for cell in cells))


if __name__ == "__main__":
    sys.exit(main())
