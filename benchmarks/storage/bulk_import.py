"""Bulk import of a large graph beside other embedded databases: seconds, memory, disk, and what the store does then.

    python -m benchmarks.storage.bulk_import [--edges 1e7] [--runs 5] [--system gdb "gdb, packed" DuckDB kuzu ladybug]
        [--folder DIR] [--save]

R-MAT (0.45, 0.22, 0.22, 0.11): five node labels and five relationship types, type k from label k to label k + 1, as ten
CSV files. Each system runs in a process of its own and imports them with its own bulk statement: nodes under a primary
key, relationships with the adjacency that the system keeps (DuckDB keeps none: a table of pairs). "peak MB" is the most
memory that the process had; "point ms" the number of relationships that leave one node, median; "commits/s"
relationships added and committed one at a time, durable. The exit code is 1 if the systems count differently.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np

from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table

LABELS = 5
POINTS, COMMITS = 30, 1000
CURE = "pip install kuzu ladybug"


class System(Protocol):
    """One of those compared, on a store that `load` makes and `open` finds."""

    def load(self, data: Path, store: Path) -> None: ...
    def open(self, store: Path) -> None: ...
    def degree(self, node: int) -> int:
        """Relationships of type 0 that leave a node of label 0."""
        ...

    def add(self, start: int, end: int) -> None: ...
    def close(self) -> None: ...


class Ours:
    packed = False

    def load(self, data: Path, store: Path) -> None:
        import gdb

        with gdb.connect(store) as db:
            db.load(
                nodes={f"L{k}": data / f"n{k}.csv" for k in range(LABELS)},
                edges={f"T{k}": data / f"e{k}.csv" for k in range(LABELS)},
                format="csv",
                packed=self.packed,
            )

    def open(self, store: Path) -> None:
        import gdb

        self.db = gdb.connect(store)

    def degree(self, node: int) -> int:
        text = "MATCH (a:L0)-[:T0]->(b) WHERE id(a) = $a RETURN count(*)"
        return int(str(self.db.execute(text, {"a": node}).scalar()))

    def add(self, start: int, end: int) -> None:
        with self.db.transaction() as tx:
            tx.add_relationships("T0", [start], [end])

    def close(self) -> None:
        self.db.close()


class Packed(Ours):
    packed = True


class Duck:
    def load(self, data: Path, store: Path) -> None:
        import duckdb

        with duckdb.connect(str(store)) as db:
            for k in range(LABELS):
                db.execute(f"CREATE TABLE n{k} (id BIGINT PRIMARY KEY)")
                db.execute(f"COPY n{k} FROM '{data}/n{k}.csv' (HEADER)")
                db.execute(f"CREATE TABLE e{k} (s BIGINT, t BIGINT)")
                db.execute(f"COPY e{k} FROM '{data}/e{k}.csv' (HEADER)")

    def open(self, store: Path) -> None:
        import duckdb

        self.db = duckdb.connect(str(store))

    def degree(self, node: int) -> int:
        found = self.db.execute("SELECT count(*) FROM e0 WHERE s = ?", [node]).fetchone()
        return int(str(found[0])) if found else 0

    def add(self, start: int, end: int) -> None:
        self.db.execute("INSERT INTO e0 VALUES (?, ?)", [start, end])

    def close(self) -> None:
        self.db.close()


class Kuzu:
    """Kuzu, and Ladybug, which is its successor with the same interface."""

    def __init__(self, module: str) -> None:
        self._module = importlib.import_module(module)

    def load(self, data: Path, store: Path) -> None:
        self.open(store)
        for k in range(LABELS):
            self.db.execute(f"CREATE NODE TABLE L{k}(id INT64 PRIMARY KEY)")
            self.db.execute(f"COPY L{k} FROM '{data}/n{k}.csv' (header=true)")
        for k in range(LABELS):
            self.db.execute(f"CREATE REL TABLE T{k}(FROM L{k} TO L{(k + 1) % LABELS})")
            self.db.execute(f"COPY T{k} FROM '{data}/e{k}.csv' (header=true)")
        self.close()

    def open(self, store: Path) -> None:
        self.db = self._module.Connection(self._module.Database(str(store)))

    def degree(self, node: int) -> int:
        text = "MATCH (a:L0 {id: $a})-[:T0]->(b) RETURN count(*)"
        return int(self.db.execute(text, {"a": node}).get_next()[0])

    def add(self, start: int, end: int) -> None:
        text = "MATCH (a:L0 {id: $a}), (b:L1 {id: $b}) CREATE (a)-[:T0]->(b)"
        self.db.execute(text, {"a": start, "b": end})

    def close(self) -> None:
        self.db.close()


SYSTEMS: dict[str, Callable[[], System]] = {
    "gdb": Ours,
    "gdb, packed": Packed,
    "DuckDB": Duck,
    "kuzu": lambda: Kuzu("kuzu"),
    "ladybug": lambda: Kuzu("ladybug"),
}


def generate(folder: Path, edges: int) -> int:
    """Write the ten files; the number of nodes of each label, a power of two: an eighth of the relationships."""
    each = edges // LABELS
    scale = max(1, (each // 8).bit_length())
    count, draw = 1 << scale, np.random.default_rng(1)
    for k in range(LABELS):
        ids = np.arange(k * count, (k + 1) * count)
        np.savetxt(folder / f"n{k}.csv", ids, "%d", header="id:ID", comments="")
        ends = np.zeros((2, each), np.int64)
        for _ in range(scale):
            quarter = draw.random(each)
            ends[0] = ends[0] << 1 | (quarter >= 0.67)
            ends[1] = ends[1] << 1 | ((quarter >= 0.45) & (quarter < 0.67) | (quarter >= 0.89))
        for side in (0, 1):
            ends[side] = draw.permutation(count)[ends[side]] + (k + side) % LABELS * count
        header = ":START_ID,:END_ID"
        with (folder / f"e{k}.csv").open("w", encoding="ascii") as file:
            for at in range(0, each, 1 << 20):
                some = ends.T[at : at + (1 << 20)]
                np.savetxt(file, some, "%d", ",", header="" if at else header, comments="")
    return count


def measure(name: str, data: Path, store: Path, count: int) -> dict[str, float]:
    """Import, open, look up, commit; called in a process of its own."""
    system = SYSTEMS[name]()
    begin = time.perf_counter()
    system.load(data, store)
    load = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    paths = [p for p in (store.parent, *store.parent.rglob("*")) if p.is_file()]
    size = sum(path.stat().st_size for path in paths) / 1e6
    nodes = np.random.default_rng(2).integers(0, count, POINTS).tolist()
    begin = time.perf_counter()
    system.open(store)
    total = system.degree(nodes[0])
    first = time.perf_counter() - begin
    points = []
    for node in nodes:
        begin = time.perf_counter()
        total += system.degree(node)
        points.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    for k in range(COMMITS):
        system.add(nodes[0], count + k)
    commits = COMMITS / (time.perf_counter() - begin)
    total += system.degree(nodes[0])
    system.close()
    point = statistics.median(points) * 1e3
    return {
        "load": load,
        "peak": peak,
        "size": size,
        "first": first * 1e3,
        "point": point,
        "commits": commits,
        "total": total,
    }


def main(line: list[str] | None = None) -> int:
    """Measure all, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edges", type=float, default=1e7, help="(default: 1e7)")
    parser.add_argument("--runs", type=int, default=5, help="of each system, in turns (default: 5)")
    parser.add_argument("--system", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--folder", type=Path, help="on the disk to measure (default: temporary)")
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args(line)
    if arguments.one is not None:
        data, store, count = arguments.one
        print(json.dumps(measure(arguments.system[0], Path(data), Path(store), int(count))))
        return 0
    found: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="gdb-bulk-", dir=arguments.folder) as temporary:
        data = Path(temporary) / "data"
        data.mkdir()
        count = generate(data, int(arguments.edges))
        written = sum(path.stat().st_size for path in data.iterdir()) / 1e6
        for name in [name for _ in range(arguments.runs) for name in arguments.system]:
            (place := Path(temporary) / "store").mkdir()
            command = [
                sys.executable,
                "-m",
                "benchmarks.storage.bulk_import",
                "--system",
                name,
                "--one",
            ]
            os.sync()  # what others wrote is no system's to wait for
            ended = subprocess.run(
                [*command, str(data), str(place / "s"), str(count)],
                capture_output=True,
                text=True,
                check=False,
            )
            shutil.rmtree(place)
            if ended.returncode:
                print(f"{name}: {(ended.stderr.strip().splitlines() or ['?'])[-1]} ({CURE})")
                continue
            found.setdefault(name, []).append(json.loads(ended.stdout.splitlines()[-1]))
            print(name, found[name][-1], flush=True)
    if not found:
        return 2
    header = (
        "system",
        Column("import", "s"),
        Column("peak", "MB"),
        Column("disk", "MB"),
        Column("open and query", "ms"),
        Column("point", "ms"),
        Column("commits", "/s"),
    )
    keys = ("load", "peak", "size", "first", "point", "commits")
    medians = {
        name: {key: statistics.median(run[key] for run in runs) for key in keys}
        for name, runs in found.items()
    }
    rows: list[list[Cell]] = [[name, *(one[key] for key in keys)] for name, one in medians.items()]
    report = Report.of(
        f"{int(arguments.edges):,} relationships of {LABELS} types between {LABELS * count:,} nodes of "
        f"{LABELS} labels, {written:.0f} MB of CSV; medians of {arguments.runs} runs of each, in turns.",
        [Table.of(header, rows)],
    )
    print(f"\n{report.markdown()}")
    wrong = len({run["total"] for runs in found.values() for run in runs}) > 1
    if arguments.save and not wrong:
        present = [name for name in ("duckdb", "kuzu", "ladybug") if _is_installed(name)]
        title = f"Bulk import, {int(arguments.edges):,} relationships"
        page.save(__file__, title, report, "numpy", *present)
    return int(wrong)


def _is_installed(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


if __name__ == "__main__":
    sys.exit(main())
