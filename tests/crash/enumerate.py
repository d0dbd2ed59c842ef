"""A long run of the crash enumeration: python -m tests.crash.enumerate --images 100000

Each workload is cut while it runs, while it recovers from a sample of its images, and while another process goes on
where it was killed. Prints a table, and the first failures; the exit status is 1 where there are any. An image is
counted once in each recorded run.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.crash.explore import Failure, Tally, explore
from tests.crash.workloads import WORKLOADS, Tape, Workload, record, record_killed, record_recovery

_SHOWN = 5
_RUN_IMAGES = 100  # of a short run; there are many
_MEMORY = Path("/dev/shm")  # where there is such a file system, images are made in memory


@dataclass(frozen=True, slots=True)
class Task:
    """About so many images of one kind of one workload; `cut_while` is a key of `_RUNS`."""

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
    runs = max(1, images // _RUN_IMAGES)
    first = explore(tape, 4 * runs, rng, after_writes=False, sample=runs)
    for image in first.sample:
        with _root() as root:
            again = record_recovery(image, root, tape.expected)
        yield explore(again, _RUN_IMAGES, rng)


def going_on(workload: Workload, images: int, rng: Random) -> Iterator[Tally]:
    """Another process, after the workload was killed somewhere and nothing more was synced."""
    tape = _recorded(workload)
    kills = range(len(tape.operations) - tape.began)
    for after in rng.sample(kills, min(len(kills), max(1, images // _RUN_IMAGES))):
        with _root() as root:
            killed = record_killed(workload, root, after, tape.expected)
        if killed is not None:
            yield explore(killed, _RUN_IMAGES, rng)


_RUNS = {"it runs": running, "it recovers": recovering, "another goes on": going_on}
_BY_NAME = {workload.name: workload for workload in WORKLOADS}


def tasks(images: int, seed: int) -> Iterator[Task]:
    """Tasks without end; those that find ever different images come again, with other seeds."""
    share = max(1, images // 10)
    yield from (Task(name, "it runs", share, seed) for name in _BY_NAME)
    part = min(1000, share)
    for round in itertools.count(seed):
        for cut_while in ("it recovers", "another goes on"):
            yield from (Task(name, cut_while, part, round) for name in _BY_NAME)


def work(task: Task) -> Row:
    """Do one task."""
    run = _RUNS[task.cut_while]
    tallies = list(run(_BY_NAME[task.workload], task.images, Random(task.seed)))
    return Row(
        task,
        len(tallies),
        sum(tally.cuts for tally in tallies),
        sum(tally.images for tally in tallies),
        [failure for tally in tallies for failure in tally.failures],
    )


def rows(images: int, jobs: int, seed: int) -> Iterator[Row]:
    """Do tasks, in processes, until there are so many images; the same ones however many processes."""
    done, todo, doing = 0, tasks(images, seed), deque[Future[Row]]()
    with ProcessPoolExecutor(jobs) as pool:
        try:
            while done < images:
                while len(doing) < 2 * jobs:
                    doing.append(pool.submit(work, next(todo)))
                row = doing.popleft().result()
                done += row.images
                yield row
        finally:
            pool.shutdown(cancel_futures=True)


def show(found: list[Row]) -> None:
    """Print the table, and the first failures."""
    line = "{:<16}{:<18}{:>6}{:>12}{:>10}{:>10}"
    print(line.format("workload", "cut while", "runs", "operations", "images", "failures"))
    kinds = list(dict.fromkeys((row.task.workload, row.task.cut_while) for row in found))
    groups = [
        (*kind, [r for r in found if (r.task.workload, r.task.cut_while) == kind]) for kind in kinds
    ]
    for name, cut_while, mine in [*groups, ("all", "", found)]:
        images, failures = sum(row.images for row in mine), sum(len(row.failures) for row in mine)
        runs, cuts = sum(row.runs for row in mine), sum(row.cuts for row in mine)
        print(line.format(name, cut_while, runs, f"{cuts:,}", f"{images:,}", failures))
    for failure in [failure for row in found for failure in row.failures][:_SHOWN]:
        names = [(path, len(content)) for path, content in failure.image.files]
        print(f"\ncut {failure.cut}, after {failure.last!r:.100}, {failure.order.value}")
        print(f"  {failure.fault}\n  {names}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--images", type=int, default=100_000, help="how many to try, at least")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if _MEMORY.is_dir():
        os.environ.setdefault("TMPDIR", str(_MEMORY))
    found: list[Row] = []
    try:
        for row in rows(options.images, options.jobs, options.seed):
            found.append(row)
            print(f"{sum(row.images for row in found):,}", end="\r", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("stopped; what was done:", file=sys.stderr)
    show(found)
    return int(any(row.failures for row in found))


if __name__ == "__main__":
    sys.exit(main())
