"""A process of `out_of_core_first.py`: opens a store, counts, prints the count and the seconds of each step.

Nothing is imported before the clock begins that gdb or Python would not import itself.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


class Stopwatch:
    """Seconds of steps, each without the steps within it. of : by name. The thread that made it is timed, and the one
    that reads the graph for it: "read the graph" is its wait for that, too."""

    def __init__(self) -> None:
        self.of: dict[str, float] = {}
        self._within = {threading.current_thread().name: [0.0], "gdb-aside": [0.0]}

    def timed(self, name: str, work: Callable[..., object]) -> Callable[..., object]:
        """A function that does the same as another, as a step."""

        def step(*arguments: object, **options: object) -> object:
            within = self._within.get(threading.current_thread().name)
            if within is None:
                return work(*arguments, **options)
            begin = time.perf_counter()
            within.append(0.0)
            try:
                return work(*arguments, **options)
            finally:
                whole = time.perf_counter() - begin
                self.of[name] = self.of.get(name, 0.0) + whole - within.pop()
                within[-1] += whole

        return step


def _watch(watch: Stopwatch, gpu: bool) -> None:
    """Time steps of a query. Imports what has them."""
    from gdb import planner
    from gdb.executor.nest import prepare
    from gdb.storage.format import segment_checksum
    from gdb.storage.graph import part_reading, partitions, section_checks

    steps: list[tuple[str, ModuleType | type, str]] = [
        ("wait for checksums", segment_checksum.Comparison, "settle"),
        ("check rows", section_checks, "compare_rows"),
        ("read parts", part_reading, "read"),
        ("read the graph", partitions.Partitions, "adjacency"),
        ("prepare", prepare, "stage"),
        ("plan", planner, "plan"),
    ]
    if gpu:
        from gdb.executor.gpu import compiler, device, launch, pinned, placing, stage

        steps += [
            ("begin CUDA", device, "absence"),
            ("begin CUDA", device, "free_bytes"),
            ("begin CUDA", device, "multiprocessors"),
            ("load kernels", compiler, "load_kernels"),
            ("place graph", pinned, "upload"),
            ("place graph", placing.Placed, "place"),
            ("place stage", stage.Stage, "place"),
            ("launches", launch, "_run"),
        ]
    for name, owner, function in steps:
        setattr(owner, function, watch.timed(name, getattr(owner, function)))


def answer(store: str, text: str, device: str, mode: str) -> None:
    """Called in a process of its own: print the count and the seconds of each step. mode : "watched" times those within
    a query; "compiles" waits for kernels that are compiled meanwhile, as a process does that goes on."""
    watch, watched = Stopwatch(), mode == "watched"
    begin = time.perf_counter()
    import gdb

    if watched:
        _watch(watch, device != "cpu")
    imported = time.perf_counter()
    with gdb.connect(store, read_only=True) as db:
        opened = time.perf_counter()
        result = db.execute(text, device=device)
        count = int(str(result.scalar()))
        end = time.perf_counter()
    steps = {"import gdb": imported - begin, "open": opened - imported} | watch.of
    steps |= {} if watched else dict(result.summary.seconds)
    steps["kernels, by their clock"] = result.summary.kernel_seconds
    steps["begin to answer"] = end - begin
    print(json.dumps({"count": count, "steps": steps}), flush=True)
    if mode == "compiles" and device != "cpu":
        from gdb.executor.gpu import special

        special.settle(60)


if __name__ == "__main__":
    answer(*sys.argv[1:])
