"""The executors under test. GDB_TEST_BACKENDS names them, comma-separated (default: cpu; a GPU run
sets cpu,gpu)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gdb.executor.nest.prepare import Prepared
from gdb.executor.plan.embeddings import Deliver, Embeddings, Wanted
from gdb.executor.plan.plan import Plan
from gdb.executor.work.scheduler import Budget, Watch


@dataclass(frozen=True)
class Backend:
    name: str
    count: Callable[[Prepared, Watch, Budget], int]
    rows: Callable[[Prepared, Watch, Budget, int], Embeddings]
    windows: bool  # whether its kernel reads rows in the order of a value


def whole_table(plan: Plan, watch: Watch, run: Callable[[Wanted, Deliver], None]) -> Embeddings:
    """All rows that a run delivers, as one table with all columns."""
    wanted = Wanted(tuple(range(plan.vertices)), tuple(range(plan.edges)))
    vids = [np.zeros((0, plan.vertices), np.uint32)]
    eids = [np.zeros((0, plan.edges), np.int64)]
    lock = threading.Lock()

    def deliver(part: Embeddings) -> None:
        watch.add_rows(len(part))
        table = np.empty((len(part), plan.vertices), np.uint32)
        edges = np.empty((len(part), plan.edges), np.int64)
        for v in wanted.vertices:
            table[:, v] = part.vertex(v)
        for e in wanted.edges:
            edges[:, e] = part.edge(e)
        with lock:
            vids.append(table)
            eids.append(edges)

    run(wanted, deliver)
    return Embeddings(np.concatenate(vids), np.concatenate(eids))


def rows_on_cpu(
    prepared: Prepared, watch: Watch, budget: Budget, threads: int, capacity: int
) -> Embeddings:
    """Whole rows, as one table; `capacity` of them are buffered in each worker."""
    from gdb.executor.cpu import launch

    def run(wanted: Wanted, deliver: Deliver) -> None:
        launch.deliver_rows(prepared, watch, budget, wanted, deliver, threads, capacity)

    return whole_table(prepared.plan, watch, run)


def rows_on_gpu(
    prepared: Prepared, watch: Watch, budget: Budget, capacity: int | None = None
) -> Embeddings:
    """Whole rows, as one table; `capacity` of them fit each buffer on the device."""
    from gdb.executor.gpu import launch

    def run(wanted: Wanted, deliver: Deliver) -> None:
        launch.deliver_rows(prepared, watch, budget, wanted, deliver, (0,), 2, capacity)

    return whole_table(prepared.plan, watch, run)


def _cpu() -> Backend:
    from gdb.executor.cpu import launch

    def rows(prepared: Prepared, watch: Watch, budget: Budget, capacity: int) -> Embeddings:
        return rows_on_cpu(prepared, watch, budget, 2, capacity)

    return Backend("cpu", lambda p, w, b: launch.count(p, w, b, 2), rows, windows=True)


def _gpu() -> Backend:
    from gdb.executor.gpu import launch

    return Backend("gpu", lambda p, w, b: launch.counts([p], w, b)[0], rows_on_gpu, windows=False)


BACKENDS = [
    {"cpu": _cpu, "gpu": _gpu}[n]() for n in os.environ.get("GDB_TEST_BACKENDS", "cpu").split(",")
]
