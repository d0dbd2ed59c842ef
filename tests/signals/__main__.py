"""Thousands of Ctrl-C at random moments, under load: `python -m tests.signals --presses 2000`.

Prints for each kind of work how long the presses took to be noticed, and fails where one took longer than the limit or
was lost, and where what was reported about the commit is not true.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from tests.signals.pressing import Found, Handler, Presser, draw, duration, press
from tests.signals.works import graph, works

BUSY = "while True: pass"


def campaign(presses: int, seed: int, only: str = "") -> Found:
    """Press so many times, in turns of the kinds of work, of a graph in memory and one on a disk, of two pressers."""
    found, chance, handler = Found(), random.Random(seed), Handler()
    before = signal.signal(signal.SIGINT, handler)
    presser = Presser()
    try:
        with tempfile.TemporaryDirectory() as name:
            kinds = [work for work in works(Path(name)) if only in work.name]
            graphs = [graph(None), graph(Path(name) / "s.gdb")]
            runs = 1 if presses < 500 else 3
            seconds = {
                (work.name, k): duration(work, db, runs)
                for work in kinds
                for k, db in enumerate(graphs)
            }
            for n in range(presses):
                work, k = kinds[n // 2 % len(kinds)], n % 2
                if n % 500 == 499:  # or commits make them larger and larger
                    graphs[k].close()
                    graphs[k] = graph(None if k == 0 else Path(name) / f"s{n}.gdb")
                pause = draw(chance, seconds[work.name, k])
                outside = chance.random() < 0.5
                press(work, graphs[k], handler, presser, pause, found, outside=outside)
            for db in graphs:
                db.check()
                db.close()
    finally:
        presser.close()
        signal.signal(signal.SIGINT, before)
    return found


def table(found: Found) -> list[str]:
    """The seconds by kind of work, in milliseconds."""
    lines = [f"{'work':26} {'presses':>8} {'median':>8} {'p99':>8} {'max':>8}  ms"]
    rows = {**found.seconds, "all": [s for some in found.seconds.values() for s in some]}
    for name, some in rows.items():
        if some:
            numbers = [float(np.percentile(some, p)) * 1e3 for p in (50, 99, 100)]
            shown = " ".join(f"{number:8.2f}" for number in numbers)
            lines.append(f"{name:26} {len(some):8,} {shown}")
    lines.append(f"{found.during:,} came while the work ran; reported as committed: {found.said}")
    return lines


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--presses", type=int, default=2000)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    arguments.add_argument("--busy", type=int, default=2, help="processes that only burn time")
    arguments.add_argument("--limit", type=float, default=0.2, help="seconds; 0 for none")
    arguments.add_argument("--only", default="", help="a part of the name of a kind of work")
    given = arguments.parse_args()
    assert threading.current_thread() is threading.main_thread()
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(given.busy)]
    try:
        found = campaign(given.presses, given.seed, given.only)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    print("\n".join([f"seed {given.seed}, {given.busy} busy processes", *table(found)]))
    late = [s for some in found.seconds.values() for s in some if given.limit and s > given.limit]
    for what in (*found.lost, *found.lies):
        print("WRONG:", what)
    print(
        f"lost {len(found.lost)}, not true {len(found.lies)}, over {given.limit * 1e3:.0f} ms {len(late)}"
    )
    return 1 if found.lost or found.lies or late else 0


if __name__ == "__main__":
    sys.exit(main())
