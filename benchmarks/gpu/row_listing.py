"""Rows from a GPU: as Arrow on the host, to a taker on the host, and as columns that stay on the device.

    python -m benchmarks.gpu.row_listing [--rows 1000000000] [--listing triangles ...] [--runs 3] [--save]

Listings: the triangles of rmat10m in all six orders, q10 of email-Enron with 16 labels, and the first `--rows` paths of
two edges of rmat10m. Each is read in three ways, end to end, its graph resident and its kernel compiled: `arrow`
from `db.execute` to a pyarrow table (nanoarrow where pyarrow is absent), int64 ids; `host` to a taker that looks at
nothing, in page-locked memory, uint32 vertex numbers and int64 relationships, the pattern planned before; `device` by
`db.device_columns`, int64 ids. Bytes are those of the rows in these types. The graphs are those of `pattern_counts.py`.
The exit code is 1 if a number of rows is wrong, 2 if there is nothing to measure on.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import gdb
from benchmarks.answers.arrow_rows import to_arrow
from benchmarks.gpu.pattern_counts import COMPILING, loaded, unready
from benchmarks.inputs import graphs
from benchmarks.inputs.published import PUBLISHED, read_subjects
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table
from gdb import planner
from gdb.executor import run
from gdb.executor.gpu import memory, special
from gdb.executor.run import Options, Profile
from gdb.language.parser import parse
from gdb.logical.planning import planned
from gdb.physical.binder import bind
from gdb.physical.one_pattern import one_pattern
from gdb.run import options
from gdb.storage.write.store import Store

WAYS = ("arrow", "host", "device")
WARM_UP = 2  # runs before those that count: the first plans and copies, after the second the kernel is compiled
Run = Callable[[], tuple[int, float, float]]  # rows, seconds, seconds in kernels


@dataclass(frozen=True, slots=True)
class Listing:
    """What is listed. graph : of `gpu.GRAPHS`. match : the pattern. columns : ids returned. rows : how many there must
    be; limit : of the query, None for all rows."""

    name: str
    graph: str
    match: str
    columns: tuple[str, ...]
    limit: int | None = None
    rows: int | None = None

    @property
    def query(self) -> str:
        ids = ", ".join(f"id({name})" for name in self.columns)
        return f"{self.match} RETURN {ids}" + (f" LIMIT {self.limit}" if self.limit else "")


@dataclass(frozen=True, slots=True)
class Listed:
    """A listing in one way: rows, bytes of them, the seconds of the first run, and medians of the others."""

    name: str
    way: str
    rows: int
    bytes: int
    first: float
    seconds: float
    kernel: float
    right: bool

    @property
    def rate(self) -> float:
        """GB of rows in a second."""
        return self.bytes / self.seconds / 1e9


def listings(published: Path, rows: int) -> list[Listing]:
    """What can be listed."""
    q10 = read_subjects(published, "email-Enron_l16", ["q10"], labelled=True)[0]
    names = tuple(f"v{k}" for k in range(len(q10.pattern.vertices)))
    match = q10.pattern.cypher("isomorphisms").partition(" RETURN")[0]
    triangles = read_subjects(published, "rmat10m", ["triangle"])[0].count
    triangle = "MATCH DIFFERENT NODES (a)-[]-(b)-[]-(c), (a)-[]-(c)"
    paths = "MATCH SUBGRAPHS (a)-[]-(b)-[]-(c)"
    return [
        Listing("triangles", "rmat10m", triangle, ("a", "b", "c"), rows=triangles),
        Listing("q10", "email-Enron_l16", match, names, rows=q10.count),
        Listing("paths", "rmat10m", paths, ("a", "b", "c"), limit=rows, rows=rows),
    ]


def arrow(db: gdb.Database, listing: Listing) -> Run:
    """By `execute`, to Arrow."""

    def once() -> tuple[int, float, float]:
        begin = time.perf_counter()
        result = db.execute(listing.query, device="cuda")
        rows = to_arrow(result)
        return rows, time.perf_counter() - begin, result.summary.kernel_seconds

    return once


def device(db: gdb.Database, listing: Listing) -> Run:
    """By `device_columns`."""

    def once() -> tuple[int, float, float]:
        begin = time.perf_counter()
        found = db.device_columns(listing.query)
        return found.rows, time.perf_counter() - begin, found.summary.kernel_seconds

    return once


def host(store: Store, listing: Listing) -> Run:
    """By the executor, to a taker that looks at nothing."""
    snapshot = store.snapshot()
    mode = options.match_mode("DIFFERENT EDGES")
    asked = one_pattern(planned(parse(listing.query), {}, mode))
    assert asked is not None
    bound = bind(asked, snapshot, {}, mode)
    few = listing.limit is not None
    plan = planner.plan(bound.graph, snapshot, counting=False, few=few)

    def once() -> tuple[int, float, float]:
        asked = Options("cuda", profile=Profile())
        begin = time.perf_counter()
        found = run.rows(plan, snapshot, asked, bound.tail.wanted, len, listing.limit)
        seconds = time.perf_counter() - begin
        return found.rows, seconds, asked.profile.kernel_seconds if asked.profile else 0.0

    return once


def measure(listing: Listing, way: str, once: Run, runs: int) -> Listed:
    """Warm up, then run."""
    rows, first, _ = once()
    for _ in range(WARM_UP - 1):
        once()
    special.settle(COMPILING)
    counts, seconds, kernels = zip(*(once() for _ in range(runs)), strict=True)
    each = len(listing.columns) * (4 if way == "host" else 8)
    right = {rows, *counts} == {rows if listing.rows is None else listing.rows}
    median = statistics.median
    return Listed(
        *(listing.name, way, rows, rows * each, first, median(seconds), median(kernels), right)
    )


def table(listed: list[Listed]) -> Table:
    """One row for each listing and way."""
    rows: list[tuple[Cell, ...]] = [
        (
            *(one.name, one.way, one.rows, one.bytes / 1e9, one.seconds, one.rate, one.kernel),
            one.first,
        )
        for one in listed
    ]
    header = (
        *("listing", "way", "rows", Column("size", "GB"), Column("time", "s")),
        *(Column("rate", "GB/s"), Column("in kernels", "s"), Column("first run", "s")),
    )
    return Table.of(header, rows)


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--published", type=Path, default=PUBLISHED, help="(default: ../shared/peers)")
    add("--rows", type=int, default=1_000_000_000, help="of the paths (default: 1000000000)")
    names = ["triangles", "q10", "paths"]
    add("--listing", nargs="+", default=names, choices=names)
    add("--way", nargs="+", default=list(WAYS), choices=WAYS)
    add("--runs", type=int, default=3, help="that count (default: 3)")
    return parser.parse_args(line)


def list_all(arguments: argparse.Namespace, folder: Path) -> list[Listed]:
    """The measurements that the command line selects."""
    listed = []
    for listing in listings(arguments.published, arguments.rows):
        if listing.name not in arguments.listing:
            continue
        path = loaded(listing.graph, folder, arguments.data, arguments.published)
        with gdb.connect(path, read_only=True) as db:
            store = Store.open(path, create=False, read_only=True)
            ways = {"arrow": arrow(db, listing), "host": host(store, listing)}
            ways["device"] = device(db, listing)
            for way in arguments.way:
                listed.append(measure(listing, way, ways[way], arguments.runs))
                print(table(listed[-1:]).line(-1), flush=True)
            store.close()
        memory.KEPT.forget()
    return listed


def main(line: list[str] | None = None) -> int:
    """Load, list, print."""
    arguments = arguments_of(line)
    if unready(arguments):
        return 2
    with tempfile.TemporaryDirectory(prefix="gdb-gpu-rows-") as temporary:
        listed = list_all(arguments, arguments.folder or Path(temporary))
    report = Report.of(
        "Rows end to end, graph resident, medians. arrow: `db.execute` to a pyarrow table, int64 ids; host: to a "
        "taker that looks at nothing, in page-locked memory, uint32 vertex numbers; device: `db.device_columns`, "
        "int64 ids. size: of the rows in these types. Of the six orders of a triangle one crosses the link; on the "
        "host the others are the same memory, read otherwise. The paths have no such twins.",
        [table(listed)],
    )
    print(f"\n{report.markdown()}")
    if arguments.save:
        page.save(__file__, "GPU: rows", report, "numpy", "cupy-cuda13x", "pyarrow")
    return int(not all(one.right for one in listed))


if __name__ == "__main__":
    sys.exit(main())
