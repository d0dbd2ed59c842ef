"""The executors under test. GDB_TEST_BACKENDS names them, comma-separated (default: cpu; a GPU run
sets cpu,gpu)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gdb.executor.embeddings import Embeddings, Wanted
from gdb.executor.prepare import Prepared
from gdb.executor.scheduler import Budget, Watch


@dataclass(frozen=True)
class Backend:
    name: str
    count: Callable[[Prepared, Watch, Budget], int]
    rows: Callable[[Prepared, Watch, Budget, int], Embeddings]


def rows_on_cpu(
    prepared: Prepared, watch: Watch, budget: Budget, threads: int, capacity: int
) -> Embeddings:
    """Whole rows, as one table; `capacity` of them are buffered in each worker."""
    from gdb.executor.cpu import launch

    plan = prepared.plan
    vids = [np.zeros((0, plan.vertices), np.uint32)]
    eids = [np.zeros((0, plan.edges), np.int64)]

    def deliver(part: Embeddings) -> None:
        watch.add_rows(len(part))
        vids.append(np.array(part.vids))
        eids.append(np.array(part.eids))

    wanted = Wanted(tuple(range(plan.vertices)), tuple(range(plan.edges)))
    launch.deliver_rows(prepared, watch, budget, wanted, deliver, threads, capacity)
    return Embeddings(np.concatenate(vids), np.concatenate(eids))


def _cpu() -> Backend:
    from gdb.executor.cpu import launch

    def rows(prepared: Prepared, watch: Watch, budget: Budget, capacity: int) -> Embeddings:
        return rows_on_cpu(prepared, watch, budget, 2, capacity)

    return Backend("cpu", lambda p, w, b: launch.count(p, w, b, 2), rows)


def _gpu() -> Backend:
    from gdb.executor.gpu import launch

    def rows(prepared: Prepared, watch: Watch, budget: Budget, capacity: int) -> Embeddings:
        return launch.rows(prepared, watch, budget, capacity=capacity)

    return Backend("gpu", lambda p, w, b: launch.count(p, w, b), rows)


BACKENDS = [
    {"cpu": _cpu, "gpu": _gpu}[n]() for n in os.environ.get("GDB_TEST_BACKENDS", "cpu").split(",")
]
