"""Reading processes beside a writing one, on a graph that shows whether it is whole (`tests.crash.ring`).

python -m tests.crash.cycle --seconds 60 --readers 8 (`make cycle`) prints what was written, and what each reader saw.
"""

from __future__ import annotations

import argparse
import json
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import gdb
from gdb.storage.disk.file_names import strays
from tests.crash import ring_reader
from tests.crash.ring import Ring, Witness, change, create
from tests.crash.ring_reader import Report

REPOSITORY = Path(__file__).resolve().parents[2]
SIZE = 200
PATIENCE = 60.0  # seconds in which a reader must answer
ROLLED_BACK, COMPACTED = 0.1, 0.03  # parts of the transactions


@dataclass(slots=True)
class Written:
    """What the writer did. left : files that are unused and still there."""

    transactions: int = 0
    rolled_back: int = 0
    compactions: int = 0
    left: int = 0


class Refused(Exception):
    """Raised in a transaction to drop it."""


def write(db: gdb.Database, until: Callable[[Written], bool]) -> tuple[Written, Ring]:
    """Write version after version; the counts and the last version."""
    written, ring, rng = Written(), Ring.new(SIZE), Random(7)
    while not until(written):
        new = ring.next()
        if rng.random() < ROLLED_BACK:
            _roll_back(db, ring, new, by_error=rng.random() < 0.5)
            written.rolled_back += 1
        with db.transaction() as tx:
            change(tx, ring, new)
        ring = new
        written.transactions += 1
        if rng.random() < COMPACTED:
            db.compact()
            written.compactions += 1
    return written, ring


def _roll_back(db: gdb.Database, old: Ring, new: Ring, *, by_error: bool) -> None:
    try:
        with db.transaction() as tx:
            change(tx, old, new)
            if by_error:
                raise Refused
            tx.rollback()
    except Refused:
        pass


def run(
    folder: Path, readers: int, until: Callable[[Written], bool], broken: str = ""
) -> tuple[Written, list[Report]]:
    """One writer, which is this process, and readers beside it. It writes until each of them has seen enough too.

    Parameters
    ----------
    folder : of a new store.
    until : whether what was written so far, its argument, is enough.
    broken : what the readers do wrong; see `ring_reader.BROKEN`.
    """
    with gdb.connect(folder) as db:
        with db.transaction() as tx:
            create(tx, Ring.new(SIZE))
        db.compact()
        with _readers([str(folder), str(SIZE), *filter(None, [broken])], readers) as processes:
            patience = time.monotonic() + PATIENCE
            written, ring = write(
                db,
                lambda written: (
                    until(written) and (_all_said(processes) or time.monotonic() > patience)
                ),
            )
            said = [process.communicate(timeout=PATIENCE)[0] for process in processes]
        db.check()
        assert not Witness(SIZE).judge(ring_reader.whole(db))
        written.left = _left(db, folder, ring)
    return written, [Report(**json.loads(text.splitlines()[-1])) for text in said]


def _all_said(processes: list[subprocess.Popen[str]]) -> bool:
    """Whether every reader has said that it has seen enough, or is no more."""
    pipes = [process.stdout for process in processes if process.stdout is not None]
    return len(select.select(pipes, [], [], 0)[0]) == len(pipes)


def _left(db: gdb.Database, folder: Path, ring: Ring) -> int:
    """How many files there are, after the first commit whose sweep no reader blocks, that neither its
    version needs nor the one that it came from."""
    versions = [db._store.snapshot()]
    with db.transaction() as tx:
        change(tx, ring, ring.next())
    versions.append(db._store.snapshot())
    kept = {record.name for one in versions for record in one.manifest.files}
    return len(strays([path.name for path in folder.iterdir()], kept))


@contextmanager
def _readers(arguments: list[str], count: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that have begun to read; none outlives the block."""
    command = [sys.executable, "-m", "tests.crash.ring_reader", *arguments]
    processes = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
        )
        for _ in range(count)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def show(written: Written, reports: list[Report]) -> None:
    """Print the table, and the first violations."""
    print(
        f"writer: {written.transactions:,} transactions, {written.rolled_back:,} rolled back, "
        f"{written.compactions:,} compactions; {written.left} files left that nobody needs"
    )
    line = "{:<8}{:>8}{:>10}{:>14}{:>16}{:>8}{:>12}"
    head = ("reader", "looks", "versions", "first seen", "last seen", "opened", "violations")
    print(line.format(*head))
    for number, one in enumerate(reports):
        own = one.looks, one.versions, one.first, one.last, one.opened, one.violations
        print(line.format(number, *(f"{value:,}" for value in own)))
    looks, violations = sum(r.looks for r in reports), sum(r.violations for r in reports)
    print(line.format("all", f"{looks:,}", "", "", "", "", violations))
    for number, one in enumerate(reports):
        for fault in one.faults:
            print(f"reader {number}: {fault}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--readers", type=int, default=8, help="reading processes")
    parser.add_argument("--broken", default="", choices=["", *ring_reader.BROKEN])
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        ends: list[float] = []  # counted from the first transaction, when all readers read

        def until(written: Written) -> bool:
            ends.append(time.monotonic() + given.seconds)
            return time.monotonic() > ends[0]

        written, reports = run(Path(folder) / "s", given.readers, until, given.broken)
    show(written, reports)
    return int(any(report.violations for report in reports) or written.left > 0)


if __name__ == "__main__":
    sys.exit(main())
