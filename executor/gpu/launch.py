"""Run a prepared stage on one GPU through the generic kernel: warps are the workers, launches are short.

A running kernel cannot be stopped from outside, so each launch ends after `LAUNCH_NANOSECONDS`, or when its buffer of
rows is full, with every warp's state saved; between launches the host asks `Watch` whether to go on, and sends rows on
their way.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from gdb.errors import CountOverflow
from gdb.executor.embeddings import NO_COLUMNS, Deliver, Wanted
from gdb.executor.gpu import device, memory, rows
from gdb.executor.gpu.memory import DeviceArray
from gdb.executor.gpu.rows import Drain, Gathered, Pick, Sink
from gdb.executor.gpu.stage import Stage, check_size
from gdb.executor.plan import Twin
from gdb.executor.prepare import Prepared
from gdb.executor.scheduler import Budget, Watch, cores
from gdb.executor.tables import Written
from gdb.storage.adjacency import U32

LAUNCH_NANOSECONDS = 40_000_000
STEPS = sys.maxsize  # a warp's step budget in one launch; tests make it small to meet every place where a warp may stop
# bytes of a buffer of rows for the host: to copy it takes ten times as long as to launch a kernel
TO_HOST = 64 << 20
ON_DEVICE = 256 << 20  # and of one for columns that stay
_SHARE = 4  # of the memory that is left at most this part is for buffers,
_FREE_SHARE = 16  # and of the device's free memory this for one


def count(prepared: Prepared, watch: Watch, budget: Budget, ordinal: int = 0) -> int:
    """Number of embeddings that the nest counts (without the plan's multiplicity).

    Raises
    ------
    DeviceError : no such device, it failed, or it has too little memory.
    LimitExceeded : the nest is too deep for the kernel.
    Cancelled, QueryTimeout, OutOfBudget, CountOverflow (2^63 or more in one work unit).
    """
    if not _runs(prepared):
        watch.check()
        return 0
    with device.on(ordinal):
        stage = _placed(prepared, watch, budget, ordinal, NO_COLUMNS)
        done = _run(stage, watch, None)
        total = stage.total
        _keep(stage, done)
    watch.check()
    return total


def deliver_rows(
    prepared: Prepared,
    watch: Watch,
    budget: Budget,
    wanted: Wanted,
    deliver: Deliver,
    ordinal: int = 0,
    threads: int = 0,
    capacity: int | None = None,
) -> None:
    """Hand the embeddings that the nest finds (without twins) to `deliver`, in no promised order, part by part from
    several threads. `deliver` counts them in `watch`.

    capacity : rows of each buffer, None for what memory allows of `TO_HOST` bytes.

    Raises as `count`, and what `deliver` raises.
    """
    if _runs(prepared):
        written = prepared.tables.written(wanted)
        with device.on(ordinal):
            copies = rows.OUTS + rows.BLOCKS
            n = capacity or _capacity(written, watch, budget, ordinal, TO_HOST, copies)
            stage = _placed(prepared, watch, budget, ordinal, wanted)
            with Drain(written, n, deliver, watch, ordinal, threads or cores()) as drain:
                _keep(stage, _run(stage, watch, drain))
    watch.check()


def distinct(
    prepared: Prepared, watch: Watch, budget: Budget, vertex: int, ordinal: int = 0
) -> U32:
    """The data vertices that a query vertex is bound to in any embedding, each once, u32[n] ascending. Nothing but a
    mark for each data vertex leaves the device.

    Raises as `count`.
    """
    found = np.zeros(0, np.uint32)
    if _runs(prepared):
        with device.on(ordinal):
            wanted = Wanted((vertex,), once=vertex)
            stage = _placed(prepared, watch, budget, ordinal, wanted)
            done = _run(stage, watch, None)
            if stage.seen is not None:
                found = np.flatnonzero(memory.download(stage.seen)).astype(np.uint32)
            _keep(stage, done)
    watch.check()
    return found


def columns(
    prepared: Prepared,
    watch: Watch,
    budget: Budget,
    wanted: Wanted,
    picks: Sequence[Pick],
    twins: Sequence[Twin],
    ordinal: int = 0,
) -> list[DeviceArray]:
    """Columns of ids of the embeddings, twins written out, i64[rows] each, in device memory. Where distinct values of a
    vertex are wanted, each is in one row.

    Raises as `count`; DeviceError also where the rows do not fit the device.
    """
    with device.on(ordinal):
        if wanted.once is not None:
            vids = distinct(prepared, watch, budget, wanted.once, ordinal)
            return rows.looked_up(vids[: watch.grant(len(vids))], picks, budget, ordinal)
        written = prepared.tables.written(wanted)
        n = _capacity(written, watch, budget, ordinal, ON_DEVICE, 1)
        gathered = Gathered(written, n, picks, twins, watch, budget, ordinal)
        if _runs(prepared):
            stage = _placed(prepared, watch, budget, ordinal, wanted)
            _keep(stage, _run(stage, watch, gathered))
        watch.check()
        return gathered.columns()


def _runs(prepared: Prepared) -> bool:
    """Whether there is anything to launch for; raises where it is too large for the kernel."""
    check_size(prepared.tables, len(prepared.views))
    return len(prepared.roots) > 0 or prepared.tables.loops == 0


def _run(stage: Stage, watch: Watch, sink: Sink | None) -> bool:
    """Launch until the stage is done or the run stops, and send its rows on their way; whether it is done."""
    told = memory.LOCKED.take(0)
    done, fresh, found = False, True, 0
    out = None if sink is None else sink.room()
    while watch.going():
        done, overflowed, seconds = stage.launch(out, told, STEPS, LAUNCH_NANOSECONDS, fresh=fresh)
        fresh = False
        watch.kernel_seconds += seconds
        if overflowed:
            raise CountOverflow(
                "The count exceeds 2^63 - 1 within one work unit.",
                "Ask for a smaller pattern or part of it.",
            )
        enough = watch.limit is not None and found + stage.rows >= watch.limit
        # a buffer that is not half full is written on: parts are dear
        if (
            sink is not None
            and out is not None
            and (done or enough or 2 * stage.rows >= out.capacity)
        ):
            if stage.rows:
                sink.take(out, stage.rows)
            found, stage.rows = found + stage.rows, 0
            if not done and not enough:
                out = sink.room()
        if done or enough:
            break
    memory.LOCKED.give(told)
    return done


def _keep(stage: Stage, done: bool) -> None:
    """Have a stage wait to be used again, once nobody needs what it holds; not one that was stopped."""
    if done:
        memory.KEPT.keep(stage.prepared.idle["gpu"], stage)


def _placed(
    prepared: Prepared, watch: Watch, budget: Budget, ordinal: int, wanted: Wanted
) -> Stage:
    """The stage on the device: one of an earlier run, or a new one; accounted for."""
    for known in memory.KEPT.taken(prepared.idle["gpu"]):
        if (
            isinstance(known, Stage)
            and known.prepared is prepared
            and (known.ordinal, known.wanted) == (ordinal, wanted)
            and (budget.limit is None or budget.used + known.accounted <= budget.limit)
        ):
            budget.take(known.accounted, "what it keeps on the GPU")
            return known
    stage = Stage(prepared, ordinal, wanted)
    stage.place(budget)
    watch.moved_bytes += stage.moved_bytes
    return stage


def _capacity(
    written: Written, watch: Watch, budget: Budget, ordinal: int, most: int, copies: int
) -> int:
    """Rows of one buffer of which there are so many copies, accounted for: at most the query's limit, so that it stops
    early, and what is left of the memory allows."""
    free = device.free_bytes(ordinal)
    if free // _FREE_SHARE < most:
        memory.KEPT.forget()  # what waits for a query that may come is worth less than room for one that is here
        free = device.free_bytes(ordinal)
    size = min(most, free // _FREE_SHARE)
    if budget.limit is not None:
        size = min(size, (budget.limit - budget.used) // _SHARE // copies)
    size = (
        1 << max(size, 1).bit_length() - 1
    )  # so that a page-locked block, a power of two, is no larger
    n = max(size // max(written.row_bytes, 1), 1)
    if watch.limit is not None:
        n = max(min(n, watch.limit), 1)
    budget.take(copies * n * written.row_bytes, "rows on their way from the GPU")
    return n
