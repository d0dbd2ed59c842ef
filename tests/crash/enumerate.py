"""A long run of the crash enumeration: python -m tests.crash.enumerate --images 100000

Each workload is cut as it is, while recovering from a sample of its images, and while another process goes on where
it was killed. Prints a table, and the first failures; the exit status is 1 where there are any.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.crash.explore import Failure, Tally, explore
from tests.crash.workloads import (
    WORKLOADS,
    Tape,
    Workload,
    record,
    record_killed,
    record_recovery,
)

_SHOWN = 5
_MEMORY = Path("/dev/shm")  # where there is such a file system, images are made in memory


@dataclass(frozen=True, slots=True)
class Task:
    """Some images of one kind of one workload; `cut_while` is a key of `_RUNS`."""

    workload: str
    cut_while: str
    images: int
    seed: int


@dataclass(frozen=True, slots=True)
class Row:
    """What a task found. runs : recorded; cuts : in all of them."""

    task: Task
    runs: int
    cuts: int
    images: int
    failures: list[Failure]


@contextmanager
def _root() -> Iterator[Path]:
    with TemporaryDirectory(prefix="disk-") as folder:
        yield Path(folder)


def _recorded(workload: Workload) -> Tape:
    with _root() as root:
        return record(workload, root)


def running(workload: Workload, images: int, rng: Random) -> Iterator[Tally]:
    """The workload itself."""
    yield explore(_recorded(workload), images, rng)


def recovering(workload: Workload, images: int, rng: Random) -> Iterator[Tally]:
    """Recovery, and the commit after it with its sweep of strays, from a sample of the workload's images."""
    tape = _recorded(workload)
    first = explore(tape, max(20, images // 10), rng, sample=max(2, images // 200))
    yield first
    left = images - first.images
    for number, image in enumerate(first.sample):
        with _root() as root:
            again = record_recovery(image, root, tape.expected)
        tally = explore(again, left // (len(first.sample) - number), rng)
        left -= tally.images
        yield tally


def going_on(workload: Workload, images: int, rng: Random) -> Iterator[Tally]:
    """Another process, after the workload was killed somewhere and nothing more was synced."""
    tape = _recorded(workload)
    kills = list(range(len(tape.operations) - tape.began))
    chosen = sorted(rng.sample(kills, min(len(kills), max(1, images // 60))))
    left = images
    for number, after in enumerate(chosen):
        with _root() as root:
            killed = record_killed(workload, root, after, tape.expected)
        if killed is not None:
            tally = explore(killed, left // (len(chosen) - number), rng)
            left -= tally.images
            yield tally


_RUNS = {"it runs": running, "recovering": recovering, "another goes on": going_on}
_BY_NAME = {workload.name: workload for workload in WORKLOADS}


def work(task: Task) -> Row:
    """Do one task."""
    tallies = list(_RUNS[task.cut_while](_BY_NAME[task.workload], task.images, Random(task.seed)))
    return Row(
        task,
        len(tallies),
        sum(tally.cuts for tally in tallies),
        sum(tally.images for tally in tallies),
        [failure for tally in tallies for failure in tally.failures],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--images", type=int, default=100_000, help="how many to try, about")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if _MEMORY.is_dir():
        os.environ.setdefault("TMPDIR", str(_MEMORY))
    each = -(-options.images // (len(WORKLOADS) * len(_RUNS)))
    tasks = [
        Task(workload.name, cut_while, each, options.seed)
        for cut_while in _RUNS
        for workload in WORKLOADS
    ]
    line = "{:<16}{:<18}{:>8}{:>10}{:>10}{:>10}"
    print(line.format("workload", "cut while", "runs", "cuts", "images", "failures"), flush=True)
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = []
        for row in pool.map(work, tasks):
            rows.append(row)
            named = row.task.workload, row.task.cut_while
            counts = row.runs, row.cuts, f"{row.images:,}", len(row.failures)
            print(line.format(*named, *counts), flush=True)
    failures = [failure for row in rows for failure in row.failures]
    images, cuts = sum(row.images for row in rows), sum(row.cuts for row in rows)
    print(line.format("all", "", sum(row.runs for row in rows), cuts, f"{images:,}", len(failures)))
    for failure in failures[:_SHOWN]:
        names = [(path, len(content)) for path, content in failure.image.files]
        print(f"\ncut {failure.cut}, after {failure.last!r:.100}, {failure.order.value}")
        print(f"  {failure.fault}\n  {names}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
