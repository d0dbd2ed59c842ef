"""Counts shared by several processes: how much quicker, what sending costs, and what is lost when workers are killed.

    python -m benchmarks.scale.several_processes [--part patterns gpus sending simulation kills] [--workers 4]
        [--threads 4] [--graph wiki-vote] [--pattern q18 ...] [--kills 100] [--pairs 10] [--units 2000] [--save]

Needs Dask (`pip install gdb-embedded[dask]`). A worker is a process that does one task at a time with --threads
threads. Each part saves a section of its own at its end, so that what follows may be cut off:

patterns    seconds of `db.execute`, medians of three runs, on a cluster with one worker and with --workers.
gpus        the same on workers that have a GPU each, one and --gpus of them.
sending     queries of about 0.1 s, sent by force to one worker and run here with as many threads; and what tracemalloc
            sees in a process that holds client and scheduler when as many tasks of a query of an hour are submitted as
            there are at a time, and none has run.
simulation  the first pattern, cut into --units ranges that are measured here, on up to 10,000 workers
            (`simulation.py`).
kills       in each of --kills runs a worker is killed at a random moment, in each of --pairs two are; half of the runs
            count, half list rows: each answer must be equal, and a kill may cost one task. It saves after either kind.

The exit code is 1 if an answer differs or more is lost.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import statistics
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import gdb
from benchmarks.inputs import graphs
from benchmarks.inputs.patterns import Pattern
from benchmarks.inputs.published import PUBLISHED, PUBLISHED_NAMES, Subject, absent, read_subjects
from benchmarks.report import page
from benchmarks.report.section import Report
from benchmarks.report.table import Cell, Column, Header, Table
from benchmarks.scale.dask_workers import Strike, gpu_workers, ready, restarting, workers
from benchmarks.scale.simulation import Costs, Unit, simulated
from gdb.base.once import cached_property
from gdb.executor.cluster import cluster
from gdb.executor.cluster.cluster import AHEAD, LATE, tasks_for
from gdb.executor.cluster.task import Answer, Task, work
from gdb.records import replace

PATTERNS = ("q18", "q19", "q20")  # 1 to 8 s on four threads of a machine with 32 cores
PATH = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6))
LONG = {"k7-path5": PATH[:5], "k7-path6": PATH}  # 7-cliques without these: 15 s and a minute there
SHORT = ("q1", "q3", "q8")  # about 0.1 s
COUNTED = "MATCH DIFFERENT NODES (a)--(b)--(c)--(d)--(a), (a)--(c), (d)--(e) RETURN count(*)"
LISTED = "MATCH DIFFERENT NODES (a)--(b)--(c), (a)--(c) RETURN id(a) AS a, id(b) AS b, id(c) AS c"
RUNS, SHORT_RUNS = 3, 15
HOUR = 3600.0


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
        whole = tuple(replace(one, patience=float("inf"), more=()) for one in (task, *task.more))
        future.set_result(function(replace(whole[0], more=whole[1:])))
        hoped = sum(one.patience for one in (task, *task.more)) / LATE
        self.units.append(Unit(hoped, time.perf_counter() - begin))
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


def timed(db: gdb.Database, query: str, runs: int, **options: Any) -> tuple[int, float]:
    """The count, and the median of the seconds of some runs, after one that warms."""
    taken, count = [], 0
    for _ in range(runs + (runs > 1)):
        begin = time.perf_counter()
        count = int(str(db.execute(query, device="cpu", **options).scalar()))
        taken.append(time.perf_counter() - begin)
    return count, statistics.median(taken[runs > 1 :])


def long_subject(name: str) -> Subject:
    """A pattern of LONG."""
    edges = tuple(edge for edge in combinations(range(7), 2) if edge not in LONG[name])
    return Subject(Pattern(name, (None,) * 7, edges), None, {})


def text_of(subject: Subject) -> str:
    return subject.pattern.cypher("isomorphisms")


def shared(
    db: gdb.Database,
    subjects: list[Subject],
    most: int,
    on: Callable[[int], AbstractContextManager[gdb.Cluster]],
) -> Table:
    """Each pattern on one worker and on so many."""
    found: dict[int, dict[str, tuple[int, float]]] = {}
    for number in (1, most):
        with on(number) as cluster_of_them:
            for subject in subjects:
                found.setdefault(number, {})[subject.pattern.name] = timed(
                    db, text_of(subject), RUNS, on=cluster_of_them
                )
    rows: list[tuple[Cell, ...]] = []
    for name, (count, one) in found[1].items():
        again, several = found[most][name]
        if count != again:
            raise SystemExit(f"{name}: {count} and {again}")
        rows.append((name, count, one, several, one / several))
    times = (Column("1 worker", "s"), Column("all workers", "s"))
    return Table.of((*("pattern", "count"), *times, "times quicker"), rows)


def overhead(
    db: gdb.Database, subjects: list[Subject], arguments: argparse.Namespace, folder: Path
) -> tuple[Table, Costs]:
    """What it costs to send short queries to one worker, and what each task costs."""
    rows: list[tuple[Cell, ...]] = []
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
            rows.append((subject.pattern.name, round(tasks), *cells))
        watched.forget()
        begin = time.perf_counter()
        empty = [executor.submit(int, k) for k in range(1000)]
        sent = (time.perf_counter() - begin) / 1000
        for future in empty:
            future.result()
        between = (time.perf_counter() - begin) / 1000
    costs = Costs(statistics.median(watched.seconds[1:]), max(between - sent, 0.0), between)
    times = (Column(name, "ms") for name in ("here", "sent", "more"))
    caption = "Queries sent by force to one worker, and run here with as many threads:"
    return Table.of((*("pattern", "tasks"), *times), rows, caption), costs


def memory(task: Task, number: int) -> tuple[int, int]:
    """Bytes that so many tasks take in client and scheduler before one runs; and of one that is sent."""
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
    """A query in about so many ranges, each done here by one thread, with what is expected of it, however short."""
    kept = Kept()
    with (
        patch.object(cluster, "tasks_for", lambda _, wanted: wanted),
        patch.object(cluster, "GIVES_BACK", 0.0),
    ):
        db.execute(query, device="cpu", on=gdb.Cluster(kept, number, 1, least=0.0))
    return kept


def held(task: Task, workers: Iterable[int]) -> Table:
    """The tasks of a query of an hour on so many workers, and the memory of those that are sent at a time."""
    rows: list[tuple[Cell, ...]] = []
    for number in workers:
        tasks = tasks_for(HOUR * number, number)
        ahead = min(AHEAD * number, tasks)
        taken, one = memory(task, ahead)
        rows.append((number, tasks, one, ahead, taken / 1e6))
    header: Header = (
        *("workers", "tasks", Column("a task", "bytes"), "sent at a time"),
        Column("client and scheduler", "MB", 1),
    )
    caption = "A query of an hour; the tasks that are sent at a time, before one runs:"
    return Table.of(header, rows, caption)


def played(units: list[Unit], costs: Costs) -> Table:
    """The simulation's table: efficiency by workers and by the work that each of them would have."""
    rows: list[tuple[Cell, ...]] = []
    for number in (10, 100, 1000, 10_000):
        cells = [
            simulated(units, each * number, number, costs) for each in (1.0, 10.0, 60.0, 600.0)
        ]
        shares = (round(100 * cell.efficiency) for cell in cells)
        rows.append((number, cells[-1].tasks, *shares))
    shares_of = (Column(name, "%") for name in ("1 s each", "10 s", "60 s", "600 s"))
    return Table.of(("workers", "tasks", *shares_of), rows)


def killed(
    db: gdb.Database, arguments: argparse.Namespace, folder: Path, runs: int, victims: int
) -> tuple[tuple[Cell, ...], int]:
    """A row on runs that lose so many workers at a random moment each; how many answers differed, or in how many more
    than a task for each of them was lost. All are on one cluster, as long as Dask brings its workers back."""
    count = int(str(db.execute(COUNTED, device="cpu").scalar()))
    rows = keys_of(db.execute(LISTED, device="cpu"))
    chance = random.Random(5)
    wrong = lost = most = strikes = refetched = k = 0
    seconds: list[float] = []
    while k < runs:
        with restarting(), workers(arguments.workers) as (executor, local):
            watched = Watched(executor, folder)
            on = gdb.Cluster(watched, arguments.workers, arguments.threads, least=0.0)
            seconds = warmed(db, on)
            back = True
            while back and k < runs:
                watched.forget()
                strike = Strike(local, victims, chance)
                timer = threading.Timer(chance.random() * seconds[k % 2], strike)
                timer.start()
                begin = time.perf_counter()
                if k % 2:
                    found = keys_of(db.execute(LISTED, on=on, timeout=120))
                    right = np.array_equal(found, rows)
                else:
                    right = int(str(db.execute(COUNTED, on=on, timeout=120).scalar())) == count
                seconds[k % 2] = min(seconds[k % 2], time.perf_counter() - begin)
                timer.cancel()
                timer.join()
                begun, ended = watched.noted()
                cut, struck = begun - ended, len(strike.dead)
                lost, most, strikes = lost + cut, max(most, cut), strikes + struck
                refetched += ended - watched.sent
                wrong += not right or cut > struck
                print(f"run {k}: {struck} killed, right: {right}, {cut} tasks lost", flush=True)
                k += 1
                back = ready(local, strike.dead, arguments.workers)
    row: tuple[Cell, ...] = (
        *(victims, arguments.workers, runs, *seconds, len(rows)),
        *(strikes, wrong, lost, most, refetched),
    )
    return row, wrong


def warmed(db: gdb.Database, on: gdb.Cluster) -> list[float]:
    """Seconds of each query that is run again and again, on workers that have its plan and the graph."""
    seconds = []
    for query in (COUNTED, LISTED):
        db.execute(query, on=on)
        begin = time.perf_counter()
        db.execute(query, on=on)
        seconds.append(time.perf_counter() - begin)
    return seconds


def keys_of(result: gdb.Result) -> np.ndarray[Any, Any]:
    """The rows of LISTED as a number each, ascending, i64[rows]: equal where the rows are, in whatever order."""
    columns = result.arrow()
    a, b, c = (np.asarray(columns[name]) for name in "abc")
    most = int(max(column.max() for column in (a, b, c))) + 1
    keys: np.ndarray[Any, Any] = np.sort((a * most + b) * most + c)
    return keys


def arguments_of(line: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = graphs.command_line(__doc__)
    add = parser.add_argument
    add("--published", type=Path, default=PUBLISHED, help="(default: ../shared/peers)")
    add("--graph", default="wiki-vote", choices=sorted(PUBLISHED_NAMES))
    add("--pattern", nargs="+", default=[*PATTERNS, "k7-path5"])
    add("--workers", type=int, default=4, help="(default: 4)")
    add("--threads", type=int, default=4, help="of each (default: 4)")
    add("--gpus", type=int, default=2, help="of the part gpus (default: 2)")
    add("--kills", type=int, default=0, help="runs in which a worker is killed (default: none)")
    add("--pairs", type=int, default=0, help="runs in which two are (default: none)")
    add("--units", type=int, default=2000, help="ranges that are measured (default: 2000)")
    add(
        "--part",
        nargs="+",
        default=[part for part in PARTS if part != "gpus"],
        choices=PARTS,
        help="(default: all but gpus)",
    )
    return parser.parse_args(line)


@dataclass
class Bench:
    """A graph's store and the patterns of the parts; what two parts need is measured once.

    Parameters
    ----------
    notes : an empty folder in which workers note their tasks.
    subjects, short : patterns that take seconds, and tenths of a second.
    """

    db: gdb.Database
    arguments: argparse.Namespace
    notes: Path
    subjects: list[Subject]
    short: list[Subject]

    @cached_property
    def sending_costs(self) -> tuple[Table, Costs]:
        return overhead(self.db, self.short, self.arguments, self.notes)

    @cached_property
    def ranges(self) -> Kept:
        return units_of(self.db, text_of(self.subjects[0]), self.arguments.units)

    def save(
        self, part: str, about: str, tables: list[Table], notes: Iterable[str] = (), where: str = ""
    ) -> None:
        """Print the report of a part, and save it where the command line says so. where : it ran, other than on the
        LocalCluster."""
        given = self.arguments
        where = (
            where or f"{given.workers} processes of {given.threads} threads (Dask's LocalCluster)"
        )
        head = f"{PUBLISHED_NAMES[given.graph]}, {where}."
        report = Report.of(f"{head} {about}".strip(), tables, notes)
        print(f"\n{report.markdown()}", flush=True)
        if given.save:
            took_part = ("numpy", "llvmlite", "distributed")
            page.save(__file__, f"Several processes: {part}", report, *took_part)


def patterns(bench: Bench) -> int:
    """Each pattern on one worker and on all."""
    threads = bench.arguments.threads

    @contextmanager
    def on(number: int) -> Iterator[gdb.Cluster]:
        with workers(number) as (executor, _):
            yield gdb.Cluster(executor, number, threads, least=0.0)

    table = shared(bench.db, bench.subjects, bench.arguments.workers, on)
    bench.save("patterns", f"Medians of {RUNS} runs.", [table])
    return 0


def gpus(bench: Bench) -> int:
    """Each pattern on one GPU and on all, a worker for each."""

    @contextmanager
    def on(number: int) -> Iterator[gdb.Cluster]:
        with gpu_workers(number) as executor:
            yield gdb.Cluster(executor, number, device="cuda", least=0.0)

    table = shared(bench.db, bench.subjects, bench.arguments.gpus, on)
    where = f"{bench.arguments.gpus} processes with a GPU each (Dask)"
    bench.save("GPUs", f"Medians of {RUNS} runs.", [table], where=where)
    return 0


def sending(bench: Bench) -> int:
    """What sending costs, and what the scheduler holds."""
    table, costs = bench.sending_costs
    kept = held(bench.ranges.tasks[0], (bench.arguments.workers, 1000))
    note = (
        f"Of 1,000 empty tasks on one worker, each takes {1e3 * costs.between:.2f} ms; to submit one task of a query "
        f"takes {1e3 * costs.sent:.2f} ms"
    )
    bench.save("sending", "", [table, kept], [note])
    return 0


def simulation(bench: Bench) -> int:
    """The first pattern on workers that are not here."""
    units = bench.ranges.units
    about = (
        f"Simulated from {len(units):,} ranges of {bench.subjects[0].pattern.name}, which take "
        f"{sum(unit.taken for unit in units):.1f} s on one thread, the longest {max(u.taken for u in units):.2f} s: "
        "the share of the workers' time that is work, by the work that there is for each."
    )
    bench.save("simulation", about, [played(units, bench.sending_costs[1])])
    return 0


def kills(bench: Bench) -> int:
    """Runs in which workers are killed; how many of them are wrong."""
    rows, wrong = list[tuple[Cell, ...]](), 0
    header: Header = (
        *("killed in a run", "workers", "runs", Column("a count", "s", 1)),
        *(Column("a listing", "s", 1), "rows", "kills", "wrong"),
        *("lost tasks", "lost in one run", "done again"),
    )
    about = (
        "Workers are killed at a random moment of runs that count and runs that list rows, in turns. Lost: tasks that "
        "began and did not end; done again: tasks that had ended, because a worker died before its answer was fetched."
    )
    for runs, victims in ((bench.arguments.kills, 1), (bench.arguments.pairs, 2)):
        if runs:
            row, bad = killed(bench.db, bench.arguments, bench.notes, runs, victims)
            rows.append(row)
            wrong += bad
            bench.save("kills", about, [Table.of(header, rows)])
    return wrong


PARTS: dict[str, Callable[[Bench], int]] = {
    "patterns": patterns,
    "gpus": gpus,
    "sending": sending,
    "simulation": simulation,
    "kills": kills,
}


def main(line: list[str] | None = None) -> int:
    """Run the parts in their order."""
    arguments = arguments_of(line)
    if absent(arguments):
        return 2
    with tempfile.TemporaryDirectory(prefix="gdb-scale-") as temporary:
        store = graphs.loaded(arguments.graph, arguments.folder or Path(temporary), arguments.data)
        notes = Path(temporary) / "notes"
        notes.mkdir()
        published = PUBLISHED_NAMES[arguments.graph]
        named = [name for name in arguments.pattern if name not in LONG]
        subjects = read_subjects(arguments.published, published, named) if named else []
        subjects += [long_subject(name) for name in arguments.pattern if name in LONG]
        short = read_subjects(arguments.published, published, list(SHORT))
        with gdb.connect(store, read_only=True) as db:
            bench = Bench(db, arguments, notes, subjects, short)
            wrong = sum(run(bench) for name, run in PARTS.items() if name in arguments.part)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
