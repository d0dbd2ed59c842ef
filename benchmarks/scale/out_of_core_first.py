"""The part `--first-answer` of `out_of_core.py`: seconds from the start of a process to its first count of triangles.

The store's files are in the page cache, and kernels in the user's cache folder; one process before brings both there.
Then the files are dropped from the page cache before each of half as many, whose answers are compared with what the
bytes take at the disk's rate. One more process has its steps timed, each without those inside of it, which costs it
some time of its own: what other threads do meanwhile is not in a step.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.inputs import patterns
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Table
from benchmarks.scale import out_of_core_cpu, page_cache

_MB = 1e6


@dataclass(frozen=True, slots=True)
class First:
    """A process. seconds : from its start to its answer. steps : seconds of each."""

    count: int
    seconds: float
    steps: dict[str, float]


def first(store: Path, text: str, device: str, mode: str = "") -> First:
    """Start a process and wait for its answer. mode : see `first_process.answer`."""
    words = [str(store), text, device, mode]
    command = [sys.executable, "-m", "benchmarks.scale.first_process", *words]
    begin = time.perf_counter()
    own = os.environ | {
        "PYTHONDONTWRITEBYTECODE": ""
    }  # bytecode is there, as an installation leaves it
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=own) as process:
        assert process.stdout is not None
        found = process.stdout.readline()
        seconds = time.perf_counter() - begin
    if process.returncode:
        raise RuntimeError(f"a process ended with {process.returncode}")
    told = json.loads(found)
    return First(told["count"], seconds, told["steps"])


def report(arguments: argparse.Namespace) -> tuple[Report, bool]:
    """Make the stores, start processes; and whether all counts are equal."""
    pairs = ((0, 1), (1, 2), (0, 2))
    text = patterns.Pattern("triangle", (None,) * 3, pairs).cypher(out_of_core_cpu.MODE)
    table, steps, counts = list[tuple[Cell, ...]](), list[tuple[Cell, ...]](), list[set[int]]()
    with tempfile.TemporaryDirectory(prefix="gdb-out-of-core-") as temporary:
        for name in arguments.graph:
            store, _ = out_of_core_cpu.stored(name, arguments.folder or Path(temporary))
            page_cache.warm(store)
            before = first(store, text, arguments.device, "compiles")
            warm = [first(store, text, arguments.device) for _ in range(max(arguments.runs, 1))]
            watched = first(store, text, arguments.device, "watched")
            size, rates, cold = page_cache.size(store), list[float](), list[First]()
            for _ in range(max(arguments.runs // 2, 1)):
                rates.append(page_cache.disk_rate(store))
                page_cache.drop(store)
                cold.append(first(store, text, arguments.device))
            seconds = statistics.median(one.seconds for one in warm)
            from_disk = statistics.median(one.seconds for one in cold)
            rate = statistics.median(rates)
            counts.append({one.count for one in (before, *warm, watched, *cold)})
            row = (
                *(name, size / _MB, seconds, min(one.seconds for one in warm), before.seconds),
                *(from_disk, rate / _MB, from_disk * rate / size, warm[0].count),
            )
            table.append(row)
            print(*row, sep="\t", flush=True)
            each = [(f"{step}, timed", value) for step, value in watched.steps.items()]
            for step, value in [*warm[-1].steps.items(), *each]:
                steps.append((name, step, value))
                print(*steps[-1], sep="\t", flush=True)
    header = (
        *("graph", Column("store", "MB", 0), Column("first answer", "s"), Column("least", "s")),
        *(Column("kernels not there", "s"), Column("from the disk", "s")),
        *(Column("disk", "MB/s", 0), Column("ratio to reading", decimals=2), "triangles"),
    )
    introduction = (
        f"From the start of a process to its first count of triangles, medians of {arguments.runs}; store in the page "
        "cache, kernels in the cache folder. kernels not there: the first process of all. from the disk: after the "
        "store's files were dropped from the page cache, the median of half as many; its ratio is to reading the store "
        "by four threads."
    )
    parts = [Table.of(header, table), Table.of(("graph", "step", Column("time", "s")), steps)]
    return Report.of(introduction, parts), all(len(found) == 1 for found in counts)
