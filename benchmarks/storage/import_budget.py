"""What a memory budget does to an import: the most memory that the process had, seconds, and bytes on disk.

    python -m benchmarks.storage.import_budget [--edges 1e7 ...] [--memory none 512MB ...] [--folder DIR]
        [--data DIR ...] [--save]

The graph is that of bulk_import.py (R-MAT, five labels, five types, ten CSV files). Each import runs in a process of
its own; "start MB" is what that had before, "peak MB" the most it had (getrusage), "scratch MB" the most that its
nameless files took, seen twenty times a second. The exit code is 1 if two budgets give stores that differ in anything
but the names of their files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table
from benchmarks.storage.bulk_import import LABELS, generate

MB = 1e6


def measure(data: Path, store: Path, memory: str) -> dict[str, float | str]:
    """Import under a budget; called in a process of its own."""
    import gdb

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    most, done = [0], threading.Event()
    watch = threading.Thread(target=_watch, args=[store, most, done])
    watch.start()
    nodes = {p.stem: p for p in sorted(data.glob("n*.csv"))}
    edges = {p.stem: p for p in sorted(data.glob("e*.csv"))}
    begin = time.perf_counter()
    with gdb.connect(store) as db:
        budget = "1000TB" if memory == "none" else memory
        report = db.load(nodes=nodes, edges=edges, format="csv", memory=budget)
        seconds = time.perf_counter() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        stats = db.stats()
    done.set()
    watch.join()
    whole = hashlib.blake2b()
    for path in sorted(store.glob("seg-*"), key=lambda p: p.name[:17]):
        whole.update(path.read_bytes())
    return {
        "edges": report.edges,
        "vertices": report.vertices,
        "start": before / MB,
        "peak": peak / MB,
        "scratch": most[0] / MB,
        "seconds": seconds,
        "cpu": time.process_time(),
        "size": stats.bytes / MB,
        "digest": whole.hexdigest(),
    }


def _watch(store: Path, most: list[int], done: threading.Event) -> None:
    """Look at what the files of this process take that have no name any more."""
    while not done.wait(0.05):
        size = 0
        for fd in os.listdir("/proc/self/fd"):
            try:
                if "scratch-" in os.readlink(f"/proc/self/fd/{fd}"):
                    size += os.fstat(int(fd)).st_size
            except OSError:
                continue  # closed meanwhile
        most[0] = max(most[0], size)


def main(line: list[str] | None = None) -> int:
    """Measure all, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edges", type=float, nargs="+", default=[1e7], help="(default: 1e7)")
    parser.add_argument("--memory", nargs="+", default=["none", "512MB", "256MB"])
    parser.add_argument("--folder", type=Path, help="on the disk to measure (default: temporary)")
    parser.add_argument("--data", type=Path, nargs="+", default=[], help="use these CSV files")
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args(line)
    if arguments.one is not None:
        data, store, memory = arguments.one
        print(json.dumps(measure(Path(data), Path(store), memory)))
        return 0
    rows, alike = list[tuple[Cell, ...]](), True
    with tempfile.TemporaryDirectory(prefix="gdb-budget-", dir=arguments.folder) as temporary:
        folders = list(arguments.data)
        for edges in [] if folders else arguments.edges:
            folders.append(Path(temporary) / f"data-{edges:g}")
            folders[-1].mkdir()
            generate(folders[-1], int(edges))
        for data in folders:
            digests = set[str]()
            for memory in arguments.memory:
                store = Path(temporary) / "store"
                command = [
                    sys.executable,
                    "-m",
                    "benchmarks.storage.import_budget",
                    "--one",
                    str(data),
                    str(store),
                    memory,
                ]
                ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                shutil.rmtree(store)
                found = json.loads(ended.stdout.splitlines()[-1])
                print(memory, found, flush=True)
                digests.add(str(found["digest"]))
                keys = ("start", "peak", "scratch", "seconds", "cpu", "size")
                counts = (found["edges"], found["vertices"])
                rows.append((*counts, memory, *(found[key] for key in keys)))
            alike = alike and len(digests) == 1
    header = (
        *("relationships", "nodes", "memory=", Column("start", "MB"), Column("peak", "MB")),
        *(Column("scratch", "MB"), Column("time", "s"), Column("CPU", "s"), Column("store", "MB")),
    )
    said = "All stores of a graph are the same." if alike else "STORES DIFFER."
    about = f"{LABELS} labels and types at most, from CSV. {said}"
    report = Report.of(about, [Table.of(header, rows)])
    print(f"\n{report.markdown()}")
    if arguments.save and alike:
        page.save(__file__, "Import under a memory budget", report, "numpy")
    return 0 if alike else 1


if __name__ == "__main__":
    sys.exit(main())
