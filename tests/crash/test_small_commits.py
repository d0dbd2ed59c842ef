"""Small commits, one after the other, in a process that is killed, or whose calls to the operating system fail.

What was acknowledged is there, whole and in order, and the store takes more commits. `faults` tries the large ones.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gdb
from gdb.errors import ClosedError, StoreError
from gdb.storage.format import journal
from tests.crash import faults
from tests.crash.faults import Fault
from tests.support.effort import PROFILE

COMMITS = 12  # of a child: two manifests, records, and a manifest again


def make(folder: Path) -> None:
    """A store with one node."""
    with gdb.connect(folder) as db, db.transaction() as tx:
        tx.add_nodes("N", [0], {"n": [0]})


def held(folder: Path) -> int:
    """How many commits the store holds; AssertionError where it holds some of them in part, or not in order."""
    with gdb.connect(folder, read_only=True) as db:
        db.check()
        rows = db.execute("MATCH (n:N) RETURN id(n), n.n ORDER BY id(n)").fetchall()
        edges = db.execute("MATCH (a)-[r:R]->(b) RETURN id(a), id(b) ORDER BY id(b)").fetchall()
    count = len(rows) - 1
    assert rows == [(k, k) for k in range(count + 1)]
    assert edges == [(k - 1, k) for k in range(1, count + 1)]
    return count


def commit(db: gdb.Database, number: int) -> None:
    """The commit of that number: a node, and a relationship to it."""
    with db.transaction() as tx:
        tx.add_nodes("N", [number], {"n": [number]})
        tx.add_relationships("R", [number - 1], [number])


def child(folder: Path, first: int, told: int, prepare: Callable[[], object]) -> None:
    """Commit until all is done or something fails, and report each; never returns."""
    tell = os.pwrite  # a call that does not fail
    try:
        prepare()
        with gdb.connect(folder) as db:
            for number in range(first, first + COMMITS):
                commit(db, number)
                tell(told, b"+", number)
    except (StoreError, ClosedError) as error:
        os._exit(0 if error.cure else 3)
    except BaseException:
        os._exit(4)
    os._exit(0)


def run(
    folder: Path,
    first: int,
    prepare: Callable[..., object],
    kill_after: tuple[int, float] | None = None,
) -> tuple[int, int]:
    """Commits from `first` on in a child: how many were reported, and its exit status. kill_after : so many commits,
    and then so many seconds."""
    with tempfile.NamedTemporaryFile() as told:
        if not (pid := os.fork()):
            child(folder, first, told.fileno(), prepare)
        if kill_after is not None:
            commits, seconds = kill_after
            while commits and os.fstat(told.fileno()).st_size < first + commits:
                if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                    break  # it came to its end meanwhile
                time.sleep(0.0002)
            time.sleep(seconds)
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        return first - 1 + Path(told.name).read_bytes().count(b"+"), status


@pytest.fixture(name="folder")
def _folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place in memory, for journals of few records."""
    monkeypatch.setattr(journal, "MOST_BYTES", 7 * 512)
    with tempfile.TemporaryDirectory(dir=faults.in_memory()) as path:
        yield Path(path) / "s"


@pytest.mark.parametrize("kind", faults.KINDS)
def test_a_call_that_fails_or_kills(folder: Path, kind: str) -> None:
    found = set()
    for number in range(1, 100, 11 if PROFILE == "ci" else 7):
        shutil.rmtree(folder, ignore_errors=True)
        make(folder)
        call = "write" if kind == "short write" else ""
        fault = Fault(kind, call, number)
        told, status = run(folder, 1, lambda f=fault: faults._patch(f, lambda: None))
        assert status in ((0,) if kind != "KILL" else (0, signal.SIGKILL))
        count = held(folder)
        assert count in (told, told + 1)  # what was not reported may be there, whole
        found.add(count)
        with gdb.connect(folder) as db:
            for more in range(count + 1, count + 4):
                commit(db, more)
        assert held(folder) == count + 3
    assert len(found) > (4 if kind != "short write" else 0)


def test_killed_at_random_moments(folder: Path) -> None:
    rng, count, interrupted = random.Random(1), 0, 0
    make(folder)
    for _ in range(25):
        moment = rng.randrange(COMMITS), rng.random() * 0.003
        told, _ = run(folder, count + 1, lambda: None, moment)
        before, count = count, held(folder)
        assert count in (told, told + 1)
        interrupted += before < count < before + COMMITS
    assert interrupted > 5  # else the kills came too early or too late to mean anything


def test_a_record_that_is_not_written_would_be_seen(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The row with one step left out: these tests can see.
    make(folder)
    real = os.write

    def write(descriptor: int, data: memoryview) -> int:
        return len(data) if len(data) % 512 == 0 else real(descriptor, data)

    told, _ = run(folder, 1, lambda: monkeypatch.setattr(os, "write", write))
    with pytest.raises(StoreError):  # records of a journal that has a hole
        assert held(folder) < told
