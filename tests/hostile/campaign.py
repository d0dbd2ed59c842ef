"""Forge stores by the thousand and use each in a process that may die of it.

python -m tests.hostile --stores 5000: prints every failure with the seed of its store, and how often each outcome was.
"""

from __future__ import annotations

import argparse
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.hostile import forge

GOOD = ("answered", "refused")
SILENCE = 300.0  # seconds of a clock without a word of a worker, which then hangs
BESIDE = 96 << 20  # bytes of memory that may be taken beside twice the store's: the engine's own


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a store. outcome : "answered", "refused"; or "internal", "foreign", "lost", "signal", "hang",
    "memory". what : was forged."""

    seed: int
    outcome: str
    what: str
    text: str = ""


class _Worker:
    """A process that uses stores, begun anew where it dies."""

    def __init__(self, root: Path, blind: bool) -> None:
        self._root, self._options = root, ["blind"] * blind
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._process: subprocess.Popen[str] | None = None

    def run(self, seed: int) -> Outcome:
        if self._process is None:
            self._begin()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        process.stdin.write(f"{seed}\n")
        process.stdin.flush()
        what = ""
        while True:
            try:
                line = self._lines.get(timeout=SILENCE)
            except queue.Empty:
                self.end()
                return Outcome(seed, "hang", what, "waits")
            if line is None:
                process.wait()
                self._process = None
                how = "hang" if process.returncode == -27 else "signal"  # SIGPROF: its time is over
                return Outcome(seed, how, what, f"ended with {process.returncode}")
            _, outcome, rest = line.rstrip("\n").split(" ", 2)
            if outcome == "begins":
                what = rest
                continue
            taken, _, text = rest.partition(" ")
            if outcome in GOOD and int(taken) > BESIDE:
                return Outcome(seed, "memory", what, f"{int(taken):,} bytes")
            return Outcome(seed, outcome, what, text)

    def _begin(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.hostile.worker", str(self._root), *self._options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        self._lines = queue.Queue()
        threading.Thread(target=_read, args=(self._process, self._lines), daemon=True).start()

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _read(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


def run(
    root: Path, seeds: Sequence[int], workers: int = 1, *, blind: bool = False
) -> Iterator[Outcome]:
    """What became of each store.

    root : where the honest ones are, or are written. blind : without what compares files, to prove that this sees what
    they are compared for.
    """
    for kind in forge.KINDS:
        if not (root / kind).exists():
            forge.write(root / kind, kind)
    waiting: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
    made = []
    for number in range(workers):
        (own := root / f"worker {number}").mkdir(exist_ok=True)
        for kind in forge.KINDS:
            if not (own / kind).exists():
                (own / kind).symlink_to(root / kind, target_is_directory=True)
        made.append(_Worker(own, blind))
        waiting.put(made[-1])

    def one(seed: int) -> Outcome:
        worker = waiting.get()
        try:
            return worker.run(seed)
        finally:
            waiting.put(worker)

    try:
        with ThreadPoolExecutor(workers) as pool:
            yield from pool.map(one, seeds)
    finally:
        for worker in made:
            worker.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--stores", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    root, found = Path(tempfile.mkdtemp(prefix="gdb-hostile-")), Counter[str]()
    try:
        seeds = range(given.first, given.first + given.stores)
        for done in run(root, seeds, given.workers):
            found[done.outcome] += 1
            if done.outcome not in GOOD:
                print(f"seed {done.seed}: {done.outcome}: {done.text}\n    {done.what}", flush=True)
    finally:
        shutil.rmtree(root)
    print(", ".join(f"{name}: {count:,}" for name, count in sorted(found.items())))
    sys.exit(any(name not in GOOD for name in found))
