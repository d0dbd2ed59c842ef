"""What a memory budget does to a compaction: relationships a second, the most memory, and bytes on disk.

    python -m benchmarks.storage.compaction_budget [--edges 1e7] [--memory none 512MB 256MB 128MB] [--folder DIR]
        [--data DIR] [--save]

The graph is that of bulk_import.py, plain and packed, with a twentieth of its relationships changed: half of these
removed, and as many added. Each compaction runs in a process of its own. "start MB" is what that had before, "peak MB"
the most it had (getrusage), with what it had mapped of the store's files; "own MB" the most without these (RssAnon,
looked at a hundred times a second). The exit code is 1 if two budgets give stores that differ in more than the names of
files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table
from benchmarks.storage.bulk_import import LABELS, generate

MB = 1e6
PART = 0.05  # of the relationships that are changed


def prepare(data: Path, store: Path, *, packed: bool) -> None:
    """Import, and change a part, which is too little to be written anew by itself; called in a process of its own, for
    a process begins with the memory that its parent had."""
    import gdb

    draw = np.random.default_rng(1)
    with gdb.connect(store) as db:
        db.load(
            nodes={f"L{k}": data / f"n{k}.csv" for k in range(LABELS)},
            edges={f"T{k}": data / f"e{k}.csv" for k in range(LABELS)},
            format="csv",
            packed=packed,
        )
        stats = db.stats()
        each = int(PART / 2 * stats.edges / LABELS)
        with db.transaction() as tx:
            for k in range(LABELS):
                with (data / f"e{k}.csv").open() as file:
                    some = np.loadtxt(file, np.int64, delimiter=",", skiprows=1, max_rows=5 * each)
                gone = draw.permutation(np.unique(some, axis=0))[:each]
                tx.remove_relationships(f"T{k}", gone[:, 0], gone[:, 1])
                new = draw.permutation(some)[:each], draw.permutation(some)[:each]
                tx.add_relationships(f"T{k}", new[0][:, 0], new[1][:, 1])
        assert db.stats().changes


def measure(store: Path, memory: str) -> dict[str, float | str]:
    """Compact under a budget; called in a process of its own."""
    import gdb

    with gdb.connect(store) as db:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        most, done = [0], threading.Event()
        watch = threading.Thread(target=_watch, args=[most, done])
        watch.start()
        begin, cpu = time.perf_counter(), time.process_time()
        stats = db.compact(memory="1000TB" if memory == "none" else memory)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        done.set()
        watch.join()
    whole = hashlib.blake2b()
    for path in sorted(store.glob("seg-*"), key=lambda p: p.name[:17]):
        whole.update(path.read_bytes())
    return {
        "edges": stats.edges,
        "start": before / MB,
        "peak": peak / MB,
        "own": most[0] / MB,
        "seconds": seconds,
        "cpu": cpu,
        "rate": stats.edges / seconds / 1e6,
        "size": stats.bytes / MB,
        "digest": whole.hexdigest(),
    }


def _watch(most: list[int], done: threading.Event) -> None:
    """Look at the memory that is no map of a file."""
    while not done.wait(0.01):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                most[0] = max(most[0], 1024 * int(line.split()[1]))


def main(line: list[str] | None = None) -> int:
    """Measure all, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edges", type=float, default=1e7, help="(default: 1e7)")
    parser.add_argument("--memory", nargs="+", default=["none", "512MB", "256MB", "128MB"])
    parser.add_argument("--folder", type=Path, help="on the disk to measure (default: temporary)")
    parser.add_argument("--data", type=Path, help="use these CSV files")
    parser.add_argument(
        "--save", action="store_true", help="write the section to benchmarks/results/"
    )
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--prepare", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args(line)
    if arguments.prepare is not None:
        source, store, form = arguments.prepare
        prepare(Path(source), Path(store), packed=form == "packed")
        return 0
    if arguments.one is not None:
        print(json.dumps(measure(Path(arguments.one[0]), arguments.one[1])))
        return 0
    rows, alike = list[tuple[Cell, ...]](), True
    with tempfile.TemporaryDirectory(prefix="gdb-compaction-", dir=arguments.folder) as temporary:
        data = arguments.data
        if data is None:
            (data := Path(temporary) / "data").mkdir()
            generate(data, int(arguments.edges))
        for form in ("plain", "packed"):
            changed = Path(temporary) / form
            command = [
                sys.executable,
                "-m",
                "benchmarks.storage.compaction_budget",
                "--prepare",
                str(data),
                str(changed),
                form,
            ]
            subprocess.run(command, check=True)
            digests = set[str]()
            for memory in arguments.memory:
                store = Path(shutil.copytree(changed, Path(temporary) / "store"))
                command = [
                    sys.executable,
                    "-m",
                    "benchmarks.storage.compaction_budget",
                    "--one",
                    str(store),
                    memory,
                ]
                ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                shutil.rmtree(store)
                found = json.loads(ended.stdout.splitlines()[-1])
                print(form, memory, found, flush=True)
                digests.add(str(found["digest"]))
                keys = ("start", "peak", "own", "seconds", "cpu", "rate", "size")
                rows.append((form, memory, *(found[key] for key in keys)))
                count = int(found["edges"])
            alike = alike and len(digests) == 1
    header = (
        *("store", "memory=", Column("start", "MB"), Column("peak", "MB"), Column("own", "MB")),
        *(Column("time", "s"), Column("CPU", "s")),
        *(Column("rate", "10^6 relationships/s"), Column("disk", "MB")),
    )
    said = "All stores of a form are the same." if alike else "STORES DIFFER."
    about = f"{count:,} relationships of {LABELS} types, {100 * PART:.0f} % changed. {said}"
    report = Report.of(about, [Table.of(header, rows)])
    print(f"\n{report.markdown()}")
    if arguments.save and alike:
        page.save(__file__, "Compaction under a memory budget", report, "numpy")
    return 0 if alike else 1


if __name__ == "__main__":
    sys.exit(main())
