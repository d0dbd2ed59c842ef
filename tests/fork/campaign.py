"""Rounds of forked processes beside a parent that works: pools and preforked servers, with queries, transactions and
imports on both sides at once.

Of each round is compared: no process was killed by a signal or hung, each commit that was acknowledged is there,
another handle can write at once, and `check` finds nothing wrong.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import gdb
from gdb.errors import StoreLocked
from tests.fork import jobs
from tests.fork.children import LONGEST, begin, watch_over

CHILDREN = 3
EACH = 3  # transactions of each writer


def load(db: gdb.Database, folder: Path, label: str) -> None:
    """Import two nodes; where another process writes, try again."""
    table = folder / f"{label}.csv"
    table.write_text(f":ID({label}),:LABEL\n100,{label}\n101,{label}\n")
    while True:
        try:
            db.load(nodes=table)
            return
        except StoreLocked:
            time.sleep(0.002)


def worker(db: gdb.Database, folder: Path, label: str) -> int:
    """What a child does; how many nodes it has committed."""
    jobs.ask(db)
    jobs.write(db, label, list(range(EACH)))
    load(db, folder, label)
    jobs.ask(db)
    return EACH + 2


def pooled(place: tuple[Path, str]) -> tuple[str, int]:
    """A job of a forked pool, on the Database of its parent."""
    watch_over(LONGEST)
    assert jobs.opened is not None
    found = place[1], worker(jobs.opened, *place)
    # from here on it has the lock of the pool's queue while it waits, which must not die with it before the pool ends
    watch_over(5 * LONGEST)
    return found


def in_a_pool(db: gdb.Database, folder: Path, labels: list[str]) -> dict[str, int]:
    jobs.opened = db
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with context.Pool(CHILDREN) as pool:
            places = [(folder, label) for label in labels]
            return dict(pool.map_async(pooled, places, chunksize=1).get(2 * LONGEST))


def preforked(db: gdb.Database, folder: Path, labels: list[str]) -> dict[str, int]:
    children = [begin(lambda label=label: worker(db, folder, label)) for label in labels]  # type: ignore[misc]
    found = zip(labels, [child.answer() for child in children], strict=True)
    return {label: int(str(count)) for label, count in found}


WAYS: tuple[Callable[[gdb.Database, Path, list[str]], dict[str, int]], ...] = (in_a_pool, preforked)


class Beside:
    """Threads of the parent that work until `end`: one reads, one commits, and one imports."""

    def __init__(self, db: gdb.Database, folder: Path, name: str) -> None:
        self._db, self._folder, self._name = db, folder, name
        self._ended = threading.Event()
        self._errors: list[BaseException] = []
        self.committed: dict[str, int] = {}
        works = (self._ask, self._write, self._load)
        self._threads = [threading.Thread(target=self._kept, args=[work]) for work in works]
        for thread in self._threads:
            thread.start()

    def end(self) -> dict[str, int]:
        """The nodes that were committed, by label."""
        self._ended.set()
        for thread in self._threads:
            thread.join()
        if self._errors:
            raise self._errors[0]
        return self.committed

    def _kept(self, work: Callable[[int], None]) -> None:
        try:
            count = 0
            while not self._ended.is_set():
                work(count)
                count += 1
        except BaseException as error:
            self._errors.append(error)

    def _ask(self, _: int) -> None:
        jobs.ask(self._db)

    def _write(self, count: int) -> None:
        label = f"{self._name}Writes"
        jobs.write(self._db, label, [count])
        self.committed[label] = count + 1
        time.sleep(0.005)  # let others have the lock

    def _load(self, count: int) -> None:
        label = f"{self._name}Loads{count}"
        load(self._db, self._folder, label)
        self.committed[label] = 2
        time.sleep(0.02)


def play(number: int, folder: Path) -> int:
    """One round in an empty folder; how many nodes were committed and are there."""
    path = folder / "people.gdb"
    with jobs.filled(path) as db:
        if number % 3:
            jobs.ask(db)
        beside = Beside(db, folder, "Parent") if number % 4 < 3 else None
        labels = [f"Child{k}" for k in range(CHILDREN)]
        committed = WAYS[number % len(WAYS)](db, folder, labels)
        if beside is not None:
            committed |= beside.end()
        with gdb.connect(path) as other:
            jobs.write(other, "Other", [1], 1)  # no lock was left
            for handle in (db, other):
                found = {label: jobs.written(handle, label) for label in committed}
                assert found == committed, (found, committed)
            other.check()
    return sum(committed.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds, begun, total = parser.parse_args().rounds, time.monotonic(), 0
    for number in range(rounds):
        watch_over(4 * LONGEST)
        with tempfile.TemporaryDirectory() as folder:
            total += play(number, Path(folder))
        if (number + 1) % 20 == 0:
            print(f"{number + 1} rounds, {time.monotonic() - begun:.0f} s", flush=True)
    print(
        f"{rounds} rounds, {rounds * CHILDREN} children, {total} nodes committed and there: no fault"
    )
