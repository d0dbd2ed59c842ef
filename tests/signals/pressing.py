"""Ctrl-C at a random moment of some work: when it was noticed, what was reported, and whether that is true."""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from types import FrameType
from typing import IO

from gdb.api.database import Database
from gdb.errors import Cancelled
from tests.signals.works import Work

HANGS = 120.0  # seconds after which a press is a hang: the process ends, and prints where it was
OTHER = """
import os, signal, sys, time
for line in sys.stdin:
    pause = float(line)
    time.sleep(pause)
    now = time.monotonic()
    os.kill(os.getppid(), signal.SIGINT)
    print(now, flush=True)
"""


class Handler:
    """The program's own handler: notes when it ran, and raises KeyboardInterrupt while it is armed."""

    def __init__(self) -> None:
        self.armed, self.at = False, list[float]()

    def __call__(self, _: int, __: FrameType | None) -> None:
        self.at.append(time.monotonic())
        if self.armed:
            raise KeyboardInterrupt


class Presser:
    """Presses Ctrl-C once after a pause, from a thread of this process or from another process."""

    def __init__(self) -> None:
        self._other = subprocess.Popen(
            [sys.executable, "-c", OTHER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._sent = list[float]()

    def begin(self, pause: float, *, outside: bool) -> None:
        self._sent.clear()
        if outside:
            stdin: IO[str] | None = self._other.stdin
            assert stdin is not None
            stdin.write(f"{pause}\n")
            stdin.flush()
        self._thread = threading.Thread(target=self._press, args=(pause, outside))
        self._thread.start()

    def _press(self, pause: float, outside: bool) -> None:
        if outside:
            assert self._other.stdout is not None
            self._sent.append(float(self._other.stdout.readline()))
            return
        time.sleep(pause)
        self._sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    def sent(self) -> float:
        """When it was pressed; waits for that."""
        self._thread.join()
        return self._sent[0]

    def close(self) -> None:
        assert self._other.stdin is not None
        self._other.stdin.close()
        self._other.wait()


@dataclass
class Found:
    """What the presses have shown. seconds : by kind of work, from each press to its handler."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    during: int = 0  # presses that came while the work ran
    said: dict[str, int] = field(default_factory=dict)
    lies: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def _sizes(db: Database) -> tuple[int, int]:
    stats = db.stats()
    return stats.vertices, stats.edges


def _told(work: Work, db: Database, handler: Handler) -> bool | None:
    """Do the work; whether it is reported to be committed, None where nothing is reported of it."""
    try:
        handler.armed = True
        work.run(db)
        handler.armed = False
        return True
    except Cancelled as error:
        handler.armed = False
        return error.committed
    except KeyboardInterrupt as error:
        handler.armed = False
        return True if "committed" in str(error) else None


def press(
    work: Work,
    db: Database,
    handler: Handler,
    presser: Presser,
    pause: float,
    found: Found,
    *,
    outside: bool,
) -> None:
    """Press once, and look at the graph afterwards."""
    faulthandler.dump_traceback_later(HANGS, exit=True)
    before = _sizes(db)
    handler.at.clear()
    presser.begin(pause, outside=outside)
    told = _told(work, db, handler)
    ended = time.monotonic()
    sent = presser.sent()
    limit = time.monotonic() + 20
    while not handler.at and time.monotonic() < limit:
        time.sleep(0.001)  # CPython looks for signals between two bytecodes of this loop
    where = f"{work.name}, pressed after {pause * 1e3:.1f} ms by {'a process' if outside else 'a thread'}"
    if not handler.at:
        found.lost.append(where)
    else:
        found.seconds.setdefault(work.name, []).append(handler.at[0] - sent)
    found.during += sent < ended
    found.said[str(told)] = found.said.get(str(told), 0) + 1
    _compare(work, db, before, told, found, where)
    faulthandler.cancel_dump_traceback_later()


def _compare(
    work: Work, db: Database, before: tuple[int, int], told: bool | None, found: Found, where: str
) -> None:
    after = _sizes(db)
    nodes, edges = after[0] - before[0], after[1] - before[1]
    done = edges == work.edges and nodes == work.nodes
    if work.nodes < 0:  # the import makes its nodes when it is first stored
        done = edges == work.edges and nodes >= 0
    nothing = (nodes, edges) == (0, 0)
    reads = (work.nodes, work.edges) == (0, 0)
    true = nothing if reads else done if told else nothing if told is False else done or nothing
    if not true:
        found.lies.append(f"{where}: told {told}, and {nodes} nodes and {edges} relationships came")
    counted = db.execute("MATCH (n) RETURN count(*)").scalar()
    if counted != after[0]:
        found.lies.append(f"{where}: the next query counts {counted} of {after[0]} nodes")


def duration(work: Work, db: Database, runs: int) -> float:
    """Seconds of the work, of the shortest run."""
    taken = []
    for _ in range(runs):
        begin = time.monotonic()
        work.run(db)
        taken.append(time.monotonic() - begin)
    return min(taken)


def draw(chance: random.Random, seconds: float) -> float:
    """When to press: anywhere in the work, sometimes a little behind its end."""
    return chance.uniform(0, 1.05 * seconds)
