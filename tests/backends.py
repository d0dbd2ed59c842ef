"""The executors under test. GDB_TEST_BACKENDS names them, comma-separated (default: cpu; a GPU run
sets cpu,gpu)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from gdb.executor.embeddings import Embeddings
from gdb.executor.prepare import Prepared
from gdb.executor.scheduler import Budget, Watch


@dataclass(frozen=True)
class Backend:
    name: str
    count: Callable[[Prepared, Watch, Budget], int]
    rows: Callable[[Prepared, Watch, Budget, int], Embeddings]


def _cpu() -> Backend:
    from gdb.executor.cpu import launch

    def rows(prepared: Prepared, watch: Watch, budget: Budget, capacity: int) -> Embeddings:
        return launch.rows(prepared, watch, budget, 2, capacity)

    return Backend("cpu", lambda p, w, b: launch.count(p, w, b, 2), rows)


def _gpu() -> Backend:
    from gdb.executor.gpu import launch

    def rows(prepared: Prepared, watch: Watch, budget: Budget, capacity: int) -> Embeddings:
        return launch.rows(prepared, watch, budget, capacity=capacity)

    return Backend("gpu", lambda p, w, b: launch.count(p, w, b), rows)


BACKENDS = [
    {"cpu": _cpu, "gpu": _gpu}[n]() for n in os.environ.get("GDB_TEST_BACKENDS", "cpu").split(",")
]
