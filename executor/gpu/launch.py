"""Run a prepared stage on GPUs: warps are the workers, launches are short; of several devices each holds the whole
graph and has its share of the work units.

A running kernel cannot be stopped from outside, so each launch ends after `LAUNCH_NANOSECONDS`, or when its buffer of
rows is full, with every warp's state saved; between launches the host checks `Watch` whether to go on, and begins to
copy the rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from gdb.base import usage, waiting
from gdb.base.machine.cores import cores
from gdb.base.once import PerProcess
from gdb.errors import CountOverflow, GdbError, InternalError, OutOfBudget, QueryError
from gdb.storage.graph.adjacency import I64, U32

from ..nest.by_edge import ByEdge, by_edge
from ..nest.prepare import Prepared
from ..nest.tables import Written
from ..plan.embeddings import NO_COLUMNS, Deliver, Wanted
from ..plan.plan import Twin
from ..work.scheduler import Budget, Watch
from . import device, layout, memory, residency, rows, special, supports
from .device import DeviceFull
from .memory import DeviceArray
from .residency import NoRoom, Room
from .rows import Drain, Gathered, Pick, Sink
from .stage import Share, Stage, check_size

if TYPE_CHECKING:
    from .parts import Parts

Part = TypeVar("Part")

FIRST = (0,)  # the devices of a query that names none
LAUNCH_NANOSECONDS = 40_000_000
# after a launch that took longer, because its last units did, those behind it have less time and take no longer
LONGEST_LAUNCH, LEAST_LAUNCH = 50_000_000, 10_000_000
STEPS = sys.maxsize  # a warp's step budget in one launch; tests make it small to meet every place where a warp may stop
# bytes of a buffer of rows for the host: to copy it takes ten times as long as to launch a kernel
TO_HOST = 64 << 20
ON_DEVICE = 256 << 20  # and of one for columns that stay
_NEVER = float("inf")  # seconds
MOST_AT_ONCE = 64  # shares of queries on devices beside their first
_threads = PerProcess(lambda: ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="gdb-gpu"))
_ROOM_SHARE = 8  # of what the query may hold on the device at most this part is for buffers,
_FREE_SHARE = 16  # and of the device's free memory this for one


def counts(
    stages: Sequence[Prepared],
    watch: Watch,
    budget: Budget,
    devices: tuple[int, ...] = FIRST,
    gpu_memory: int | None = None,
) -> list[int]:
    """Numbers of embeddings that the nests count (without the plans' multiplicities). Each device goes on to its share
    of the next nest without waiting for the others.

    budget : of the host's memory. gpu_memory : bytes of each device that it may hold, None for a share of what is free.

    Raises
    ------
    DeviceError : no such device, it failed, or it has too little memory.
    LimitExceeded : the nest is too deep for the kernel.
    Cancelled, QueryTimeout, OutOfBudget, CountOverflow (2^63 or more in one work unit).
    """

    def one(prepared: Prepared, share: Share, room: Room, budget: Budget) -> tuple[int, float]:
        found = _count_by_edge(prepared, watch, budget, room, share)
        if found is not None:
            return found
        stage = _placed(prepared, watch, budget, room, share, NO_COLUMNS)
        done, seconds = _run(stage, watch, None)
        total = stage.total
        _keep(stage, done)
        return total, seconds

    return [sum(some) for some in _on_each(stages, watch, budget, devices, gpu_memory, one)]


def tallies(
    prepared: Prepared,
    watch: Watch,
    budget: Budget,
    devices: tuple[int, ...] = FIRST,
    gpu_memory: int | None = None,
) -> I64:
    """As `counts`, of one nest, for each data vertex that its first query vertex is bound to, i64[vids]. Nothing but
    these numbers leaves the device.

    Raises as `counts`; CountOverflow for 2^63 or more of one vertex.
    """
    budget.take(8 * prepared.vids, "a number for each vertex")

    def one(prepared: Prepared, share: Share, room: Room, budget: Budget) -> tuple[I64, float]:
        stage = _placed(prepared, watch, budget, room, share, NO_COLUMNS, tallied=True)
        done, seconds = _run(stage, watch, None)
        assert stage.tallies is not None
        found: I64 = stage.tallies.read(np.int64).view(np.int64)
        _keep(stage, done)
        return found, seconds

    total = np.zeros(prepared.vids, np.int64)
    for some in _on_each([prepared], watch, budget, devices, gpu_memory, one, tallied=True)[0]:
        total += some
        if (total < 0).any():
            raise _too_many()
    return total


def deliver_rows(
    prepared: Prepared,
    watch: Watch,
    budget: Budget,
    wanted: Wanted,
    deliver: Deliver,
    devices: tuple[int, ...] = FIRST,
    threads: int = 0,
    capacity: int | None = None,
    gpu_memory: int | None = None,
) -> None:
    """Hand the embeddings that the nest finds (without twins) to `deliver`, in no promised order, part by part from
    several threads. `deliver` counts them in `watch`.

    capacity : rows of each buffer, None for what memory allows of `TO_HOST` bytes.

    Raises as `counts`, and what `deliver` raises.
    """
    written = prepared.tables.written(wanted)

    def one(prepared: Prepared, share: Share, room: Room, budget: Budget) -> tuple[None, float]:
        n = capacity or _capacity(written, watch, room, share.ordinal, TO_HOST, rows.OUTS)
        n = capacity or rows.on_host(written, budget, n, rows.BLOCKS * share.of)
        room.take(rows.OUTS * n * written.row_bytes, "rows on their way from it")
        stage = _placed(prepared, watch, budget, room, share, wanted)
        with Drain(written, n, deliver, watch, share.ordinal, threads or cores()) as drain:
            done, seconds = _run(stage, watch, drain)
            _keep(stage, done)
        return None, seconds

    _on_each([prepared], watch, budget, devices, gpu_memory, one)


def distinct(
    prepared: Prepared,
    watch: Watch,
    budget: Budget,
    vertex: int,
    devices: tuple[int, ...] = FIRST,
    gpu_memory: int | None = None,
) -> U32:
    """The data vertices that a query vertex is bound to in any embedding, each once, u32[n] ascending. Nothing but a
    mark for each data vertex leaves the device.

    Raises as `counts`.
    """
    wanted = Wanted((vertex,), once=vertex)

    def one(prepared: Prepared, share: Share, room: Room, budget: Budget) -> tuple[U32, float]:
        stage = _placed(prepared, watch, budget, room, share, wanted)
        done, seconds = _run(stage, watch, None)
        seen = np.zeros(0, np.uint8) if stage.seen is None else stage.seen.read(np.uint8)
        _keep(stage, done)
        return np.flatnonzero(seen).astype(np.uint32), seconds

    (found,) = _on_each([prepared], watch, budget, devices, gpu_memory, one)
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.uint32)


def columns(
    prepared: Prepared,
    watch: Watch,
    budget: Budget,
    wanted: Wanted,
    picks: Sequence[Pick],
    twins: Sequence[Twin],
    ordinal: int = 0,
    gpu_memory: int | None = None,
) -> list[DeviceArray]:
    """Columns of ids of the embeddings, twins written out, i64[rows] each, in device memory. Where distinct values of a
    vertex are wanted, each is in one row.

    Raises as `counts`; DeviceError also where the rows do not fit the device.
    """
    with device.on(ordinal), device.PRESENCE.query(ordinal):
        room = room_on(ordinal, gpu_memory)
        if wanted.once is not None:
            vids = distinct(prepared, watch, budget, wanted.once, (ordinal,), gpu_memory)
            return rows.looked_up(vids[: watch.grant(len(vids))], picks, room, ordinal)
        written = prepared.tables.written(wanted)
        n = _capacity(written, watch, room, ordinal, ON_DEVICE, 1)
        room.take(n * written.row_bytes, "rows on their way")
        gathered = Gathered(written, n, picks, twins, watch, room, ordinal)
        if _runs(prepared):
            stage = _placed(prepared, watch, budget, room, Share(ordinal), wanted)
            done, seconds = _run(stage, watch, gathered)
            _keep(stage, done)
            watch.kernel_seconds += seconds
        watch.check()
        return gathered.columns()


def describe_residency(
    prepared: Prepared, ordinal: int, gpu_memory: int | None, memory: int | None = None
) -> list[str]:
    """What of the graph would lie on a device, and what is read from the host: lines for EXPLAIN. memory : bytes of the
    host's memory that a query may hold, None for no bound."""
    from . import parts  # here: only small budgets need it

    with device.on(ordinal):
        room = _graph_room(prepared, Share(ordinal), gpu_memory)
        several = parts.describe_parts(prepared, Budget(memory), room)
        lines = several or residency.describe_residency(prepared, room)
    if not several and by_edge(prepared) is not None:
        lines.append("  or a sum over edges by their supports, where that is quicker")
    return lines


def room_on(ordinal: int, requested: int | None) -> Room:
    """The account of a query on a device. requested : bytes, None for a share of what is free or can be let go.

    Raises
    ------
    QueryError : more than the device has.
    """
    if requested is None:
        with device.PRESENCE.placing(ordinal):  # what is copied just now is there, or is not
            available = memory.available(ordinal)
        return Room(available - available // residency.SPARED)
    total = device.total_bytes(ordinal)
    if requested > total:
        raise QueryError(
            f"gpu_memory= is {requested:,} bytes; GPU {ordinal} has {total:,}.",
            "Give less, or leave it out for a share of what is free.",
        )
    return Room(requested, requested)


def _on_each(
    stages: Sequence[Prepared],
    watch: Watch,
    budget: Budget,
    devices: tuple[int, ...],
    gpu_memory: int | None,
    one: Callable[[Prepared, Share, Room, Budget], tuple[Part, float]],
    tallied: bool = False,
) -> list[list[Part]]:
    """What `one` makes of each stage, or of each of its parts, on each device, at the same time, of its share of the
    work; with it come its seconds in kernels: those of the device that takes longest count. An error on one device
    stops the others."""
    live = [k for k, prepared in enumerate(stages) if _runs(prepared)]
    if not live:
        watch.check()
        return [[] for _ in stages]
    decided: dict[int, Parts] = {}
    deciding = waiting.Lock()

    def parts_on(k: int, ordinal: int) -> Iterator[tuple[Prepared, Budget]]:
        prepared = stages[k]
        if budget.limit is None or prepared.bytes <= budget.limit:
            return iter([(prepared, budget)])
        from . import parts  # here: only small budgets need it

        with deciding:  # once: devices share the work units of each part
            if k not in decided:
                room = min(
                    _graph_room(prepared, Share(d, 0, len(devices)), gpu_memory) for d in devices
                )
                decided[k] = parts.find(prepared, budget, room, len(devices), tallied=tallied)
        return parts.parts_of(prepared, decided[k], ordinal, budget)

    def run(index: int) -> tuple[dict[int, list[Part]], float]:
        ordinal, made, spent = devices[index], dict[int, list[Part]](), 0.0
        try:
            with device.on(ordinal), device.PRESENCE.query(ordinal):
                for k in live:
                    # the first units are the heaviest: each device begins with those of some stages
                    share = Share(ordinal, (index + k) % len(devices), len(devices))
                    found = made[k] = list[Part]()
                    for part, account in parts_on(k, ordinal):
                        some, seconds = one(part, share, room_on(ordinal, gpu_memory), account)
                        found.append(some)
                        spent += seconds
                        if watch.stopped.is_set():
                            return made, spent
        except BaseException:
            watch.stopped.set()
            raise
        return made, spent

    # threads of their own: those of the other pool hand over the rows that these wait for
    begun = [_threads.get().submit(usage.carry_usage(run), k) for k in range(1, len(devices))]
    try:
        found = [run(0), *(waiting.result(future) for future in begun)]
    except BaseException:  # Ctrl-C as well
        watch.stopped.set()
        for future in begun:
            if not future.cancel():
                waiting.wait_for_future(future)
        raise
    watch.kernel_seconds += max(seconds for _, seconds in found)
    watch.check()
    return [[part for made, _ in found for part in made.get(k, ())] for k in range(len(stages))]


def _graph_room(prepared: Prepared, share: Share, gpu_memory: int | None) -> int:
    """Bytes of a device that the views of a stage may take."""
    stage = Stage(prepared, share, NO_COLUMNS)
    stage.shape(device.shared_bytes(share.ordinal) // layout.BLOCKS_PER_MULTIPROCESSOR)
    return stage.graph_room(room_on(share.ordinal, gpu_memory))


def _runs(prepared: Prepared) -> bool:
    """Whether there is anything to launch for; raises where it is too large for the kernel."""
    if prepared.nest.has_windows:
        raise InternalError("A GPU was given windows of rows.", "Please report it.")
    check_size(prepared.tables, len(prepared.views))
    return len(prepared.roots) > 0 or prepared.tables.loops == 0


def _run(stage: Stage, watch: Watch, sink: Sink | None) -> tuple[bool, float]:
    """Launch until the stage is done or the run stops, and send its rows on their way; whether it is done, and seconds
    in kernels."""
    counters = memory.LOCKED.take(0)
    done, fresh, found, spent = False, True, 0, 0.0
    out = None if sink is None else sink.room()
    while watch.going():
        allowed = max(min(LAUNCH_NANOSECONDS, LONGEST_LAUNCH - stage.passes.late), LEAST_LAUNCH)
        done, overflowed, seconds = stage.launch(out, counters, STEPS, allowed, fresh=fresh)
        fresh = False
        spent += seconds
        if overflowed:
            raise _too_many()
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
    memory.LOCKED.give(counters)
    with watch.lock:
        watch.moved_bytes += stage.passes.streamed_bytes
    stage.passes.streamed_bytes = 0
    return done, spent


def sum_over_edges(prepared: Prepared, share: Share) -> ByEdge | None:
    """A stage as a sum over edges of a formula of their supports, where it is to be counted so next, if the kernel is
    there; None where it is no such sum, not worth a kernel, has no room for supports, or the other way was quicker."""
    if share.of > 1 or prepared.spent.get(share.ordinal, 0.0) <= special.WORTH:
        return None
    counted = by_edge(prepared)
    if counted is None:
        return None
    other = special.Race.quickest(prepared.runs, (share, NO_COLUMNS, False))
    return counted if max(counted.quickest.get(share, 0.0), supports.LEAST) <= other else None


def _count_by_edge(
    prepared: Prepared, watch: Watch, budget: Budget, room: Room, share: Share
) -> tuple[int, float] | None:
    """What a stage counts as a sum over edges, and seconds in kernels; None where it is to be counted in the other
    way, also since the kernel is not there yet or the triangles had no room."""
    counted = sum_over_edges(prepared, share)
    if counted is None:
        return None
    held, used, total, seconds = dict(budget.held), room.used, None, 0.0
    on = watch, budget, room, share, NO_COLUMNS
    try:
        stage = _placed(counted.triangles, *on, counted=counted)
    except (DeviceFull, OutOfBudget):
        counted.quickest[share] = _NEVER
    else:
        done = False
        if stage.has_own_kernel():
            done, seconds = _run(stage, watch, None)
            total = 0  # which is not read where it was stopped
        if done and stage.supports is not None:
            total, overflowed, more = stage.supports.total(stage.graph, stage.passes, watch)
            if overflowed:
                raise _too_many()
            seconds += more
            if total is not None and not watch.stopped.is_set():
                counted.quickest[share] = min(seconds, counted.quickest.get(share, seconds))
        _keep(stage, done, again=not done or total is not None)
    if total is None:
        budget.back_to(held)
        room.used = used
        return None
    return total, seconds


def _too_many() -> CountOverflow:
    return CountOverflow(
        "The count exceeds 2^63 - 1 within one work unit, or of one vertex.",
        "Query a smaller pattern or part of it.",
    )


def _keep(stage: Stage, done: bool, *, again: bool = True) -> None:
    """Keep a stage for the next run of its query, after its results were read. again : that will run as this did."""
    stage.warps.leave(done=done)
    if again:
        memory.KEPT.keep(stage.prepared.idle["gpu"], stage, stage.waiting_bytes, stage.ordinal)
    device.PRESENCE.freed(stage.ordinal)


def _placed(
    prepared: Prepared,
    watch: Watch,
    budget: Budget,
    room: Room,
    share: Share,
    wanted: Wanted,
    *,
    tallied: bool = False,
    counted: ByEdge | None = None,
) -> Stage:
    """The stage on the share's device: one of an earlier run, or a new one; accounted for. Where other queries hold the
    memory that it needs, it waits for one of them.

    Raises
    ------
    OutOfBudget, DeviceError : it needs more than the query may hold, or than the device has without other queries.
    Cancelled, QueryTimeout.
    """

    def fits(known: object) -> bool:
        return (
            isinstance(known, Stage)
            and known.prepared is prepared
            and (known.share, known.wanted, known.tallied) == (share, wanted, tallied)
            and known.serves(room)
            and (budget.limit is None or budget.used + known.accounted[0] <= budget.limit)
        )

    while True:
        held, used = dict(budget.held), room.used
        known = memory.KEPT.take(prepared.idle["gpu"], fits)
        try:
            # up to the last allocation, what is free is this query's
            with device.PRESENCE.placing(share.ordinal):
                if isinstance(known, Stage):
                    budget.take(known.accounted[0], "what its GPU reads of it")
                    room.take(known.accounted[1], "what it keeps there")
                    known.enter()
                    return known
                stage = Stage(prepared, share, wanted, tallied=tallied, counted=counted)
                stage.place(budget, room)
                stage.enter()
        except (DeviceFull, OutOfBudget) as error:
            failed: GdbError = error.with_traceback(None)  # its frames hold what was allocated
        else:
            with watch.lock:
                watch.moved_bytes += stage.moved_bytes
            return stage
        again = known is not None
        del known
        budget.back_to(held)
        if isinstance(failed, OutOfBudget) and not isinstance(failed, NoRoom):
            raise NoRoom(failed.message, failed.cure)  # and no waiting for others helps
        if not again and not device.PRESENCE.waits_for_room(share.ordinal, watch.check):
            raise failed
        room.used = used
        if room.requested is None:
            room.limit = used + room_on(share.ordinal, None).limit


def _capacity(
    written: Written, watch: Watch, room: Room, ordinal: int, most: int, copies: int
) -> int:
    """Rows of one buffer, with so many copies of it on a device: at most the query's limit, so that it stops early,
    and what the memory there allows."""
    free = device.free_bytes(ordinal)
    if free // _FREE_SHARE < most:
        memory.KEPT.forget()  # what waits for a query that may come is worth less than room for one that is here
        free = device.free_bytes(ordinal)
    size = min(most, free // _FREE_SHARE, room.left // _ROOM_SHARE // copies)
    # so that a page-locked block, a power of two, is no larger
    size = 1 << max(size, 1).bit_length() - 1
    n = max(size // max(written.row_bytes, 1), 1)
    if watch.limit is not None:
        n = max(min(n, watch.limit), 1)
    return n
