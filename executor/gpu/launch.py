"""Run a prepared stage on one GPU through the generic kernel: warps are the workers, launches are short.

A running kernel cannot be stopped from outside, so each launch ends after `LAUNCH_NANOSECONDS` with every warp's state
saved; between launches the host drains rows and asks `Watch` whether to go on.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gdb.errors import CountOverflow
from gdb.executor.embeddings import Embeddings
from gdb.executor.gpu import device, memory
from gdb.executor.gpu.stage import Stage, check_size
from gdb.executor.prepare import Prepared
from gdb.executor.scheduler import Budget, Watch

LAUNCH_NANOSECONDS = 40_000_000
STEPS = sys.maxsize  # a warp's step budget in one launch; tests make it small to meet every place where a warp may stop
ROWS = 1 << 18  # rows of the output buffer that all warps share


@dataclass(slots=True, eq=False)
class _Found:
    """What came back from the device."""

    total: int = 0
    vids: list[npt.NDArray[np.uint32]] = field(default_factory=list)
    eids: list[npt.NDArray[np.int64]] = field(default_factory=list)


def count(prepared: Prepared, watch: Watch, budget: Budget, ordinal: int = 0) -> int:
    """Number of embeddings that the nest counts (without the plan's multiplicity).

    Raises
    ------
    DeviceError : no such device, it failed, or it has too little memory.
    LimitExceeded : the nest is too deep for the kernel.
    Cancelled, QueryTimeout, OutOfBudget, CountOverflow (2^63 or more in one work unit).
    """
    return _run(prepared, watch, budget, ordinal, 1).total


def rows(
    prepared: Prepared, watch: Watch, budget: Budget, ordinal: int = 0, capacity: int = ROWS
) -> Embeddings:
    """Embeddings that the nest finds (without twins), in no promised order; `capacity` rows are buffered on the device.

    Raises as `count`.
    """
    found = _run(prepared, watch, budget, ordinal, capacity)
    plan, tables = prepared.plan, prepared.tables
    n = sum(len(part) for part in found.vids)
    vids = np.empty((n, plan.vertices), np.uint32)
    eids = np.full((n, plan.edges), -1, np.int64)
    if n:
        vids[:, list(tables.vertex_columns)] = np.concatenate(found.vids)
        if tables.edge_columns:
            eids[:, list(tables.edge_columns)] = np.concatenate(found.eids)
    return Embeddings(vids, eids)


def _run(prepared: Prepared, watch: Watch, budget: Budget, ordinal: int, capacity: int) -> _Found:
    check_size(prepared.tables, len(prepared.views))
    found = _Found()
    if len(prepared.roots) or prepared.tables.loops == 0:
        with device.on(ordinal):
            stage = _placed(prepared, watch, budget, ordinal, capacity)
            fresh = True
            while watch.going():
                done = _launch(stage, watch, fresh)
                _drain(stage, watch, budget, found)
                fresh = False
                if done:
                    found.total = stage.total
                    memory.KEPT.keep(prepared.idle["gpu"], stage)
                    break
    watch.check()
    return found


def _placed(prepared: Prepared, watch: Watch, budget: Budget, ordinal: int, capacity: int) -> Stage:
    """The stage on the device: one of an earlier run, or a new one; accounted for."""
    capacity = _capacity(prepared, watch, budget, capacity)
    for known in memory.KEPT.taken(prepared.idle["gpu"]):
        if (
            isinstance(known, Stage)
            and known.prepared is prepared
            and (known.ordinal, known.capacity) == (ordinal, capacity)
            and (budget.limit is None or budget.used + known.accounted <= budget.limit)
        ):
            budget.take(known.accounted, "what it keeps on the GPU")
            return known
    stage = Stage(prepared, ordinal, capacity)
    stage.place(budget)
    watch.moved_bytes += stage.moved_bytes
    return stage


def _capacity(prepared: Prepared, watch: Watch, budget: Budget, wanted: int) -> int:
    """Rows to buffer: at most the query's limit, so that it stops early, and a quarter of the memory left."""
    if prepared.tables.counting:
        return 1
    if watch.limit is not None:
        wanted = min(wanted, watch.limit)
    if budget.limit is not None:
        wanted = min(wanted, (budget.limit - budget.used) // 4 // prepared.tables.row_bytes)
    return max(wanted, 1)


def _launch(stage: Stage, watch: Watch, fresh: bool) -> bool:
    """Run for one launch; whether every warp has ended."""
    done, overflowed, seconds = stage.launch(fresh, STEPS, LAUNCH_NANOSECONDS)
    watch.kernel_seconds += seconds
    if overflowed:
        raise CountOverflow(
            "The count exceeds 2^63 - 1 within one work unit.",
            "Ask for a smaller pattern or part of it.",
        )
    return done


def _drain(stage: Stage, watch: Watch, budget: Budget, found: _Found) -> None:
    """Hand the buffered rows over."""
    if stage.written:
        budget.take(stage.written * stage.tables.row_bytes, "its rows")
        watch.add_rows(stage.written)
        vids, eids = stage.taken()
        found.vids.append(vids)
        found.eids.append(eids)
