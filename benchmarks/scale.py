"""Counts shared by several processes: how much quicker, what sending costs, and what is lost when workers are killed.

    python benchmarks/scale.py [--workers 4] [--threads 1] [--kills 10] [--pattern q9 ...] [--simulate 1000] [--save]

The graph is wiki-Vote, the patterns are those of the GPU papers. Ours are seconds of `db.execute` on one process of so
many threads, and on a Dask cluster of processes on this machine (a process pool where Dask is not installed), medians
of three runs. The overhead is that of a query of about 0.1 s which is sent by force. With --kills a worker is killed at
a random moment of so many runs, whose answers must be exact. --simulate plays the tasks of each pattern on so many
workers that cost what the tasks were measured to cost here. The exit code is 1 if an answer differs.
"""

from __future__ import annotations

import argparse
import heapq
import math
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import gdb
import graphs
import results
from decomposition import PUBLISHED, Subject, absent, read_subjects
from gdb.executor.cluster import Answer
from peers.report import figures

GRAPH = "wiki-Vote"
PATTERNS = ("q4", "q9", "q12", "q17", "q21", "q22")
SHORT = "q1"  # takes about 0.1 s on two cores
RUNS = 3


@dataclass(slots=True)
class Watched(Executor):
    """An executor that notes the seconds that its tasks took."""

    executor: Executor
    seconds: list[float] = field(default_factory=list)

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future = self.executor.submit(function, *arguments, **options)
        future.add_done_callback(self._note)
        return future

    def _note(self, future: Future[Answer]) -> None:
        if not future.cancelled() and future.exception() is None:
            self.seconds.append(future.result().seconds)


@contextmanager
def workers(number: int, threads: int) -> Iterator[tuple[Executor, Any]]:
    """An executor with so many processes, and Dask's cluster where that is what it is."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        with ProcessPoolExecutor(number, mp_context=get_context("spawn")) as pool:
            yield pool, None
        return
    with (
        distributed.LocalCluster(
            n_workers=number, threads_per_worker=1, dashboard_address=None, processes=True
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client.get_executor(pure=False), local


def timed(db: gdb.Database, query: str, **options: Any) -> tuple[int, float]:
    """The count, and the median of the seconds of `RUNS` runs."""
    taken, count = [], 0
    for _ in range(RUNS):
        begin = time.perf_counter()
        count = int(str(db.execute(query, device="cpu", **options).scalar()))
        taken.append(time.perf_counter() - begin)
    return count, statistics.median(taken)


def killed(db: gdb.Database, subject: Subject, arguments: argparse.Namespace) -> tuple[int, int]:
    """Exact answers, and answers in all, of runs in each of which a worker is killed at a random moment."""
    query = subject.pattern.cypher("isomorphisms")
    known = int(str(db.execute(query, device="cpu").scalar()))
    exact = 0
    chance = random.Random(5)
    with workers(arguments.workers, arguments.threads) as (executor, local):
        if local is None:
            return 0, 0
        on = gdb.Cluster(executor, arguments.workers, arguments.threads, least=0.0)
        _, whole = timed(db, query, on=on)
        for _ in range(arguments.kills):
            pids = [worker.pid for worker in local.workers.values()]
            timer = threading.Timer(
                chance.random() * whole, os.kill, (chance.choice(pids), signal.SIGKILL)
            )
            timer.start()
            exact += int(str(db.execute(query, on=on).scalar())) == known
            timer.cancel()
            while len(local.scheduler.workers) < arguments.workers:
                time.sleep(0.1)
    return exact, arguments.kills


def simulated(tasks: list[float], number: int) -> float:
    """The share of the time of so many workers that is work, if the tasks are dealt largest first, each cut so that
    there are as many as in a run with them, and each costs 3 ms to send."""
    whole = sum(tasks)
    parts = max(math.ceil(16 * number / max(len(tasks), 1)), 1)
    pieces = sorted((t / parts for t in tasks for _ in range(parts)), reverse=True)
    ends = [0.0] * number
    sent = 0.0
    for piece in pieces:
        sent += 0.0003
        end = heapq.heappop(ends)
        heapq.heappush(ends, max(end, sent) + piece + 0.003)
    return whole / (max(ends) * number)


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--published", type=Path, default=PUBLISHED, help="(default: ../shared/peers)")
    add("--pattern", nargs="+", default=list(PATTERNS))
    add("--workers", type=int, default=os.cpu_count() or 1, help="(default: one for each core)")
    add("--threads", type=int, default=1, help="of each (default: 1)")
    add("--kills", type=int, default=0, help="runs in which a worker is killed (default: none)")
    add("--simulate", type=int, default=1000, help="workers to play with (default: 1000)")
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> int:
    """Count, print."""
    arguments = arguments_of(line)
    if absent(arguments):
        return 2
    wrong, rows, told = 0, [], []
    with tempfile.TemporaryDirectory(prefix="gdb-scale-") as temporary:
        store = graphs.loaded("wiki-vote", arguments.folder or Path(temporary), arguments.data)
        subjects = read_subjects(arguments.published, GRAPH, [*arguments.pattern, SHORT])
        with gdb.connect(store, read_only=True) as db:
            with workers(arguments.workers, arguments.threads) as (executor, local):
                watched = Watched(executor)
                on = gdb.Cluster(watched, arguments.workers, arguments.threads, least=0.0)
                for subject in subjects:
                    query = subject.pattern.cypher("isomorphisms")
                    count, one = timed(db, query, threads=arguments.threads)
                    db.execute(query, on=on)
                    watched.seconds.clear()
                    again, shared = timed(db, query, on=on)
                    wrong += count != again
                    tasks = watched.seconds[-len(watched.seconds) // RUNS :]
                    share = simulated(tasks, arguments.simulate)
                    row = (subject.pattern.name, f"{count:,}", figures(one), figures(shared))
                    rows.append((*row, figures(one / shared), len(tasks), f"{100 * share:.0f} %"))
                    if subject.pattern.name == SHORT:
                        extra = shared - one / arguments.workers
                        told.append(f"To send {SHORT} costs {1e3 * extra:.0f} ms.")
                kind = "a process pool" if local is None else "Dask's LocalCluster"
            if arguments.kills:
                exact, runs = killed(db, subjects[0], arguments)
                told.append(f"{exact} of {runs} runs were exact in which a worker was killed.")
                wrong += exact < runs
    head = (
        "pattern",
        "count",
        "one s",
        "shared s",
        "times",
        "tasks",
        f"of {arguments.simulate} workers",
    )
    text = "\n\n".join([results.table(head, rows), *told])
    print(text)
    if arguments.save:
        body = (
            f"wiki-Vote, one process of {arguments.threads} threads and {arguments.workers} on {kind}; the last column "
            f"is the share of the time of so many simulated workers that is work.\n\n{text}"
        )
        results.save("Several processes", body, "numpy", "llvmlite")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
