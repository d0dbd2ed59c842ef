"""Counts shared by several processes: how much quicker, what sending costs, and what is lost when workers are killed.

    python benchmarks/scale.py [--workers 4] [--threads 4] [--graph wiki-vote] [--pattern q18 ...] [--kills 100]
        [--pairs 10] [--units 2000] [--short] [--save]

Needs Dask (`pip install gdb-embedded[dask]`). A worker is a process that does one task at a time with --threads
threads. Times are seconds of `db.execute`, medians of three runs, on a cluster with one worker and with --workers.
What sending costs is measured by queries of about 0.1 s, sent by force to one worker and run here with as many
threads. The memory of the scheduler is what tracemalloc sees in a process that holds client and scheduler when as
many tasks of a query of an hour are submitted as there are at a time, and none has run. With --kills a worker is
killed at a random moment of so many runs, with --pairs two are; half of the runs count, half list rows: each answer
must be equal, and a kill may cost one task. The simulation (`scale_simulation.py`) plays the first pattern, cut into
--units ranges that are measured here, on up to 10,000 workers. --short leaves the table of patterns out. The exit
code is 1 if an answer differs or more is lost.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import gdb
import graphs
import results
from decomposition import PUBLISHED, PUBLISHED_NAMES, Subject, absent, read_subjects
from gdb.executor.cluster.cluster import AHEAD, LATE, tasks_for
from gdb.executor.cluster.task import Answer, Task, work
from gdb.records import replace
from peers.report import figures
from scale_simulation import Costs, Unit, simulated

PATTERNS = ("q18", "q19", "q20", "q22")  # 10 s and more on four threads
SHORT = ("q1", "q3", "q8")  # about 0.1 s
COUNTED = "MATCH DIFFERENT NODES (a)--(b)--(c)--(d)--(a), (a)--(c), (d)--(e) RETURN count(*)"
LISTED = "MATCH DIFFERENT NODES (a)--(b)--(c), (a)--(c) RETURN id(a) AS a, id(b) AS b, id(c) AS c"
RUNS, SHORT_RUNS = 3, 15
HOUR = 3600.0
AT_ONCE = 5  # runs with kills on one cluster: a nanny of Dask gives a worker up that dies too often


class Kept(Executor):
    """Runs each task at once, without a bound, and keeps the first; of each, what was expected and what it took."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.units: list[Unit] = []

    def submit(self, function: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
        (task,) = arguments
        future: Future[Any] = Future()
        begin = time.perf_counter()
        if not self.tasks:  # before a run leaves in its plan what cannot be sent
            self.tasks.append(pickle.loads(pickle.dumps(task)))
        future.set_result(function(replace(task, patience=float("inf"))))
        self.units.append(Unit(task.patience / LATE, time.perf_counter() - begin))
        return future


@dataclass(slots=True)
class Watched(Executor):
    """An executor of Dask whose tasks are written down where they begin."""

    executor: Executor
    folder: Path
    sent: int = 0
    seconds: list[float] = field(default_factory=list)

    def submit(self, function: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
        self.sent += 1
        begin = time.perf_counter()
        future = self.executor.submit(noted, str(self.folder), *arguments)
        self.seconds.append(time.perf_counter() - begin)
        return future

    def noted(self) -> tuple[int, int]:
        """How often tasks began, and ended."""
        text = b"".join(path.read_bytes() for path in self.folder.iterdir())
        return text.count(b"."), text.count(b":")

    def forget(self) -> None:
        self.sent = 0
        for path in self.folder.iterdir():
            path.unlink()


def noted(folder: str, task: Task) -> Answer:
    """A task, which is written down when it begins. Workers have it by value."""
    with (Path(folder) / str(os.getpid())).open("ab") as file:
        file.write(b".")
        file.flush()
        answer = work(task)
        file.write(b":")
    return answer


@contextmanager
def workers(number: int) -> Iterator[tuple[Executor, Any]]:
    """Dask's executor with so many processes of one thread, and the cluster."""
    distributed: Any = import_module("distributed")
    with (
        distributed.LocalCluster(
            n_workers=number, threads_per_worker=1, dashboard_address=None, processes=True
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client.get_executor(pure=False), local


def timed(db: gdb.Database, query: str, runs: int, **options: Any) -> tuple[int, float]:
    """The count, and the median of the seconds of some runs, after one that warms."""
    taken, count = [], 0
    for _ in range(runs + (runs > 1)):
        begin = time.perf_counter()
        count = int(str(db.execute(query, device="cpu", **options).scalar()))
        taken.append(time.perf_counter() - begin)
    return count, statistics.median(taken[runs > 1 :])


def text_of(subject: Subject) -> str:
    return subject.pattern.cypher("isomorphisms")


def shared(db: gdb.Database, subjects: list[Subject], arguments: argparse.Namespace) -> list[str]:
    """Each pattern on one worker and on all."""
    found: dict[int, dict[str, tuple[int, float]]] = {}
    for number in (1, arguments.workers):
        with workers(number) as (executor, _):
            on = gdb.Cluster(executor, number, arguments.threads, least=0.0)
            for subject in subjects:
                found.setdefault(number, {})[subject.pattern.name] = timed(
                    db, text_of(subject), RUNS, on=on
                )
    rows = []
    for name, (count, one) in found[1].items():
        again, several = found[arguments.workers][name]
        if count != again:
            raise SystemExit(f"{name}: {count} and {again}")
        rows.append((name, f"{count:,}", figures(one), figures(several), figures(one / several)))
    return [results.table(("pattern", "count", "1 worker s", "all s", "times"), rows)]


def overhead(
    db: gdb.Database, subjects: list[Subject], arguments: argparse.Namespace, folder: Path
) -> tuple[list[str], Costs]:
    """What it costs to send short queries to one worker, and what each task costs."""
    rows = []
    with workers(1) as (executor, _):
        watched = Watched(executor, folder)
        on = gdb.Cluster(watched, 1, arguments.threads, least=0.0)
        for subject in subjects:
            query = text_of(subject)
            here, there = [], []
            timed(db, query, 1, threads=arguments.threads)
            timed(db, query, 1, on=on)
            watched.forget()
            for _ in range(SHORT_RUNS):  # in turns, because machines change
                here.append(timed(db, query, 1, threads=arguments.threads)[1])
                there.append(timed(db, query, 1, on=on)[1])
            extra = statistics.median(b - a for a, b in zip(here, there, strict=True))
            tasks = watched.sent / SHORT_RUNS
            cells = (1e3 * statistics.median(here), 1e3 * statistics.median(there), 1e3 * extra)
            rows.append((subject.pattern.name, f"{tasks:.0f}", *map(figures, cells)))
        watched.forget()
        begin = time.perf_counter()
        empty = [executor.submit(int, k) for k in range(1000)]
        sent = (time.perf_counter() - begin) / 1000
        for future in empty:
            future.result()
        between = (time.perf_counter() - begin) / 1000
    costs = Costs(statistics.median(watched.seconds[1:]), max(between - sent, 0.0), between)
    told = (
        f"Of 1,000 empty tasks on one worker, each takes {1e3 * between:.2f} ms; to submit one task of a query takes "
        f"{1e3 * costs.sent:.2f} ms."
    )
    head = ("pattern", "tasks", "here ms", "sent ms", "more ms")
    return [results.table(head, rows), told], costs


def memory(task: Task, number: int) -> tuple[int, int]:
    """Bytes that so many tasks take before they run, in client and scheduler; and of one that is sent."""
    distributed: Any = import_module("distributed")
    cloudpickle: Any = import_module("cloudpickle")
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        executor = client.get_executor(pure=False)
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        futures = [executor.submit(work, replace(task, roots=(k, k + 1))) for k in range(number)]
        while len(local.scheduler.tasks) < number:
            time.sleep(0.05)
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        for future in futures:
            future.cancel()
    return after - before, len(cloudpickle.dumps(task))


def units_of(db: gdb.Database, query: str, number: int) -> Kept:
    """A query in so many ranges, each done here by one thread."""
    kept = Kept()
    db.execute(query, device="cpu", on=gdb.Cluster(kept, number, 1, least=0.0))
    return kept


def played(units: list[Unit], costs: Costs) -> str:
    """The simulation's table: efficiency by workers and by the work that each of them would have."""
    rows = []
    for number in (10, 100, 1000, 10_000):
        cells = [
            simulated(units, each * number, number, costs) for each in (1.0, 10.0, 60.0, 600.0)
        ]
        shares = [f"{100 * cell.efficiency:.0f} %" for cell in cells]
        rows.append((f"{number:,}", f"{cells[-1].tasks:,}", *shares))
    return results.table(("workers", "tasks", "1 s each", "10 s", "60 s", "600 s"), rows)


def killed(
    db: gdb.Database, arguments: argparse.Namespace, folder: Path, runs: int, victims: int
) -> tuple[str, int]:
    """Runs that lose so many workers, killed at a random moment; how many answers differed, or in how many
    more than a task for each of them was lost."""
    count = int(str(db.execute(COUNTED, device="cpu").scalar()))
    rows = sorted_rows(db.execute(LISTED, device="cpu"))
    chance = random.Random(5)
    wrong = lost = most = strikes = refetched = 0
    seconds: list[float] = []
    for first in range(0, runs, AT_ONCE):
        with workers(arguments.workers) as (executor, local):
            watched = Watched(executor, folder)
            on = gdb.Cluster(watched, arguments.workers, arguments.threads, least=0.0)
            seconds = []
            for query in (COUNTED, LISTED):
                db.execute(query, on=on)
                begin = time.perf_counter()
                db.execute(query, on=on)
                seconds.append(time.perf_counter() - begin)
            for k in range(first, min(first + AT_ONCE, runs)):
                watched.forget()
                struck, dead = 0, set[int]()

                def strike(dead: set[int], local: Any) -> None:
                    nonlocal struck
                    pids = [worker.pid for worker in local.workers.values() if worker.pid]
                    for pid in chance.sample(pids, min(victims, len(pids))):
                        os.kill(pid, signal.SIGKILL)
                        dead.add(pid)
                        struck += 1

                moment = chance.random() * seconds[k % 2]
                timer = threading.Timer(moment, strike, (dead, local))
                timer.start()
                if k % 2:
                    found = sorted_rows(db.execute(LISTED, on=on, timeout=120))
                    right = np.array_equal(found, rows)
                else:
                    right = int(str(db.execute(COUNTED, on=on, timeout=120).scalar())) == count
                timer.cancel()
                timer.join()
                begun, ended = watched.noted()
                cut = begun - ended
                lost, most, strikes = lost + cut, max(most, cut), strikes + struck
                refetched += ended - watched.sent
                wrong += not right or cut > struck
                print(f"run {k}: {struck} killed, right: {right}, {cut} tasks lost", flush=True)
                ready(local, dead)
    told = (
        f"{runs} runs of {seconds[0]:.1f} s (a count) and {seconds[1]:.1f} s ({len(rows):,} rows) with {victims} of "
        f"{arguments.workers} workers killed at a random moment: {strikes} kills, {wrong} wrong. {lost} tasks were "
        f"lost, at most {most} in one run, and {refetched} that had ended were done again, because a worker died "
        "before its answer was fetched."
    )
    return told, wrong


def ready(local: Any, dead: set[int]) -> None:
    """Wait until there are as many workers as before, without the dead ones."""
    end = time.monotonic() + 120
    while True:
        nannies = list(local.workers.values())
        running = all(n.status.name == "running" and n.pid not in dead for n in nannies)
        if running and len(local.scheduler.workers) == len(nannies):
            time.sleep(0.2)  # the scheduler may not have noticed yet
            if len(local.scheduler.workers) == len(nannies):
                return
        if time.monotonic() > end:
            raise SystemExit("A killed worker did not come back.")
        time.sleep(0.05)


def sorted_rows(result: gdb.Result) -> np.ndarray[Any, Any]:
    """The rows of LISTED in order, i64[rows, 3]."""
    columns = result.numpy()
    table = np.stack([columns[name] for name in "abc"], axis=1)
    return table[np.lexsort(table.T)]


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--published", type=Path, default=PUBLISHED, help="(default: ../shared/peers)")
    add("--graph", default="wiki-vote", choices=sorted(PUBLISHED_NAMES))
    add("--pattern", nargs="+", default=list(PATTERNS))
    add("--workers", type=int, default=4, help="(default: 4)")
    add("--threads", type=int, default=4, help="of each (default: 4)")
    add("--kills", type=int, default=0, help="runs in which a worker is killed (default: none)")
    add("--pairs", type=int, default=0, help="runs in which two are (default: none)")
    add("--units", type=int, default=2000, help="ranges that are measured (default: 2000)")
    add("--short", action="store_true", help="leave the table of patterns out")
    return parser.parse_args(line)


def main(line: list[str] | None = None) -> int:
    """Count, print."""
    arguments = arguments_of(line)
    if absent(arguments):
        return 2
    told: list[str] = []
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="gdb-scale-") as temporary:
        store = graphs.loaded(arguments.graph, arguments.folder or Path(temporary), arguments.data)
        notes = Path(temporary) / "notes"
        notes.mkdir()
        published = PUBLISHED_NAMES[arguments.graph]
        subjects = read_subjects(arguments.published, published, arguments.pattern)
        short = read_subjects(arguments.published, published, list(SHORT))
        with gdb.connect(store, read_only=True) as db:
            if not arguments.short:
                told += shared(db, subjects, arguments)
            text, costs = overhead(db, short, arguments, notes)
            told += text
            kept = units_of(db, text_of(subjects[0]), arguments.units)
            for number in (arguments.workers, 1000):
                tasks = tasks_for(HOUR * number, number)
                ahead = min(AHEAD * number, tasks)
                held, one = memory(kept.tasks[0], ahead)
                told.append(
                    f"A query of an hour on {number:,} workers is {tasks:,} tasks of {one:,} bytes, of which "
                    f"{ahead:,} are sent at a time and take {held / 1e6:.1f} MB of client and scheduler together."
                )
            spent = sum(unit.taken for unit in kept.units)
            told.append(
                f"Simulated from {len(kept.units):,} ranges of {subjects[0].pattern.name}, which take {spent:.1f} s on "
                f"one thread, the longest {max(u.taken for u in kept.units):.2f} s: the share of the workers' time "
                "that is work, by the work that there is for each."
            )
            told.append(played(kept.units, costs))
            for runs, victims in ((arguments.kills, 1), (arguments.pairs, 2)):
                if runs:
                    line_, bad = killed(db, arguments, notes, runs, victims)
                    told.append(line_)
                    wrong += bad
    body = "\n\n".join(told)
    print(body)
    if arguments.save:
        head = f"{published}, {arguments.workers} processes of {arguments.threads} threads (Dask's LocalCluster)."
        results.save("Several processes", f"{head}\n\n{body}", "numpy", "llvmlite", "distributed")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
