"""Run a prepared stage on a pool of threads through the generic kernel, which releases the GIL."""

from __future__ import annotations

import os
import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gdb.base.machine.cores import cores
from gdb.errors import CountOverflow
from gdb.records import dataclass, field, replace
from gdb.storage.disk.arrays import placed
from gdb.storage.graph import row_loops as _row_loops  # noqa: F401 - loads with the kernel, not with a query
from gdb.storage.graph.adjacency import I64, U32

from ..nest.prepare import Prepared
from ..plan.embeddings import NO_COLUMNS, Deliver, Wanted
from ..work.place import KEPT
from ..work.scheduler import Budget, Helpers, Watch
from . import address
from .caches import SharedCounts
from .sizing import Size, fit_workers
from .turns import NEVER, Turns, Unit
from .workers import CACHES_BYTES, ROOM, WORKERS, Worker, slots_within

if TYPE_CHECKING:
    from ..nest.vid_ranges import Passes

# a launch's step budget: 5 to 10 ms, so that a stop is seen in time, on a busy machine too, and costs nothing
STEPS = 500_000
# a run that may stop early begins with launches of 0.1 ms, and goes no further than a millisecond: then
# helpers are worth calling, and the run waits no longer for one that works on
FIRST_STEPS, EARLY_STEPS = 20_000, 160_000
TURN = EARLY_STEPS  # steps of the first turn of a unit of such a run
ROWS = 1 << 16  # rows of a worker's output buffer
MOST_IDLE = 2 * (os.cpu_count() or 1)  # workers that wait with a stage
# roots and their neighbours; below, a run begins as one unit, and a worker that takes longer than a launch gives some
# away
WORTH_A_THREAD = 20_000


@dataclass(slots=True, eq=False)
class _Run:
    """One run of a stage: what its workers share.

    threads : there may be, 0 for one on each core. capacity : rows of a worker's output buffer.
    deliver : takes the rows; None where there are none, or only distinct values.
    counts : of distinct values, found by one worker, only the number is wanted.
    beside : the threads of the runs that it is beside, see `Helpers`; None for none.
    size : of its workers. units : that it began with. helpers : the threads beside the first.
    total : what was counted. once : the distinct values that each worker found. shared : what the first worker
        keeps, and all others with it.
    tallies : where what is counted is added up for each vertex of the first loop, i64[vids]; None: nowhere.
    part : the number of the pass that it is, and how many there are.
    """

    prepared: Prepared
    watch: Watch
    budget: Budget
    threads: int
    capacity: int = 1
    wanted: Wanted = NO_COLUMNS
    deliver: Deliver | None = None
    counts: bool = False
    tallies: I64 | None = None
    beside: Helpers | None = None
    size: Size = field(init=False)
    turns: Turns = field(init=False)
    helpers: Helpers = field(init=False)
    total: int = 0
    once: list[U32] = field(default_factory=list)
    shared: SharedCounts | None = None
    units: int = 1
    lock: threading.Lock = field(default_factory=threading.Lock)
    part: tuple[int, int] = (0, 1)

    @property
    def early(self) -> bool:
        """Whether it may stop before its end."""
        return self.watch.limit is not None

    @property
    def due(self) -> int:
        """Rows that a worker gathers before it hands them over: a buffer, or its share of what is missing."""
        if self.watch.limit is None:
            return self.size.capacity
        # a row is handed on once for each twin
        shares = self.threads * max(len(self.prepared.plan.twins), 1)
        return min(self.size.capacity, max((self.watch.limit - self.watch.found) // shares, 1))


def count(
    prepared: Prepared,
    watch: Watch,
    budget: Budget,
    threads: int = 0,
    beside: Helpers | None = None,
) -> int:
    """Number of embeddings that the nest counts (without the plan's multiplicity).

    beside : the threads of the runs that it is beside, see `Helpers`.

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget; CountOverflow : 2^63 or more within one work unit.
    """
    return _run(_Run(prepared, watch, budget, threads, beside=beside)).total


def tallies(prepared: Prepared, watch: Watch, budget: Budget, threads: int = 0) -> I64:
    """As `count`, for each data vertex that the first query vertex of the nest is bound to, i64[vids]."""
    found = placed(prepared.vids, np.int64, "a number for each vertex", budget)
    _run(_Run(prepared, watch, budget, threads, tallies=found))
    return found


def deliver_rows(
    prepared: Prepared,
    watch: Watch,
    budget: Budget,
    wanted: Wanted,
    deliver: Deliver,
    threads: int = 0,
    capacity: int = ROWS,
) -> None:
    """Hand the embeddings that the nest finds (without twins) to `deliver`, a buffer at a time, from
    several threads.

    `deliver` counts them in `watch`.
    """
    _run(_Run(prepared, watch, budget, threads, capacity, wanted, deliver))


def distinct(
    prepared: Prepared,
    watch: Watch,
    budget: Budget,
    vertex: int,
    threads: int = 0,
    capacity: int = ROWS,
) -> U32:
    """The data vertices that a query vertex is bound to in any embedding, each once, u32[n]."""
    if watch.limit is not None:
        threads = 1  # several would find, and count, the same ones
    wanted = Wanted((vertex,), once=vertex)
    found = _run(_Run(prepared, watch, budget, threads, capacity, wanted)).once
    if len(found) == 1:
        return found[0]
    flags = np.zeros(prepared.vids, np.bool_)
    for part in found:
        flags[part] = True
    return np.flatnonzero(flags).astype(np.uint32)


def count_distinct(
    prepared: Prepared,
    watch: Watch,
    budget: Budget,
    vertex: int,
    threads: int = 0,
    capacity: int = ROWS,
) -> int:
    """How many data vertices a query vertex is bound to in any embedding; one worker's are not even
    copied."""
    wanted = Wanted((vertex,), once=vertex)
    if prepared.work >= WORTH_A_THREAD and threads != 1:
        return len(distinct(prepared, watch, budget, vertex, threads, capacity))
    return _run(_Run(prepared, watch, budget, 1, capacity, wanted, counts=True)).total


def launched_once(prepared: Prepared, wanted: Wanted, limit: int | None = None) -> Worker | None:
    """A worker of the stage that one short launch took through all of its roots, or to `limit` rows: that is the run,
    and `put_back` ends it. None where the run before took longer, or this one does: then it is one of those above."""
    worker = _begun(prepared, wanted, limit)
    if worker is None:
        return None
    worker.begin(0, len(prepared.roots) if prepared.tables.loops else 0)
    if worker.run(FIRST_STEPS) == address.DONE or (limit is not None and worker.rows >= limit):
        return worker
    worker.control[address.SPENT] = FIRST_STEPS  # also where its buffer was full before
    if worker.once >= 0:
        worker.unsee(worker.taken_once())
    put_back(worker)
    return None


def _begun(prepared: Prepared, wanted: Wanted, limit: int | None) -> Worker | None:
    """The worker that waits, or where none does a new one; None where it is another query's, or took long."""
    idle = prepared.idle["cpu"]
    try:
        worker = idle.pop()
    except IndexError:
        capacity = ROWS if limit is None else max(1, min(ROWS, limit))
        return Worker(prepared, capacity, wanted, slots_within(prepared, CACHES_BYTES), ROOM)
    assert isinstance(worker, Worker)
    if worker.spent >= FIRST_STEPS or not (worker.wanted is wanted or worker.wanted == wanted):
        idle.append(worker)
        return None
    worker.attach(prepared)
    worker.reset()
    worker.control[address.SPENT] = 0
    worker.count_into(None)
    return worker


def put_back(worker: Worker) -> None:
    """Let the next run have a worker; not one of a pass, which would keep its blocks."""
    idle = worker.prepared.idle["cpu"]
    if len(idle) < MOST_IDLE and not worker.filed and not worker.prepared.blocks:
        idle.append(worker)


def threads_of(prepared: Prepared, threads: int, steps: float) -> int:
    """Of so many threads those that a run to its end of `steps` has work for."""
    if prepared.tables.loops == 0:
        return 1
    return max(1, min(threads, int(steps) // STEPS))


def _run(run: _Run) -> _Run:
    """The run, done."""
    if not _accounts(run.watch, run.budget):
        return _ran(run)
    with run.budget.part() as run.budget:
        found = _passes(run)
        return _ran(run) if found is None else _in_passes(run, found)


def _passes(run: _Run) -> Passes | None:
    """The passes in which a run goes over its graph; None for one."""
    watch = run.watch
    if run.early or watch.start is not None or watch.may_give or run.wanted.once is not None:
        return None
    return passes_under(run.prepared, run.budget)


def passes_under(prepared: Prepared, budget: Budget) -> Passes | None:
    """The passes of a run that has no LIMIT and is for no distinct values, None for one."""
    if budget.limit is None or prepared.bytes <= budget.limit:
        return None
    from . import ranges  # of large graphs and small budgets alone

    return ranges.find(prepared, budget.limit, budget.left or 0)


def _in_passes(run: _Run, passes: Passes) -> _Run:
    """The run, done in passes."""
    run.total = sum(_pass(run, passes, k) for k in range(len(passes)))
    return run


def _pass(run: _Run, passes: Passes, k: int) -> int:
    """What a run counts in pass k, whose blocks are then given back."""
    run.watch.check()
    with run.budget.part() as part:
        prepared = passes.stage(run.prepared, k, part)
        one = replace(run, prepared=prepared, budget=part, part=(k, len(passes)), total=0)
        return _ran(one).total


def _ran(run: _Run) -> _Run:
    prepared, watch, early = run.prepared, run.watch, run.early
    capacity, threads = run.capacity, run.threads or cores()
    ranges: list[tuple[int, int]] = []
    if watch.limit is not None:
        capacity = max(1, min(capacity, watch.limit))
    if watch.start is None:
        ranges, threads = _ranges(prepared, threads, early=early)
    run.size = fit_workers(prepared, run.wanted, threads, capacity, run.budget)
    run.budget.workers = run.size.threads, threads
    run.turns = turns = Turns.of(ranges, TURN if early else NEVER, run.budget)
    if watch.start is not None:
        turns.waiting = deque([Unit(0, 0, NEVER, watch.start)])
    watch.progress = partial(_share_done, turns, len(ranges), threads, run.part)
    run.threads, run.units = run.size.threads, len(ranges)
    run.helpers = helpers = Helpers(run.threads, run.beside)
    try:
        worker = _idle(run)
        run.shared = worker.shared
        if not early and watch.start is None:
            helpers.call_all(partial(_work, run), len(ranges) - 1)
        _work(run, worker)
        helpers.finish()
    except BaseException:
        watch.stopped.set()
        helpers.give_up()
        raise
    watch.check()
    if turns.waiting:
        watch.rest += turns.rest(len(prepared.tables.levels))
    return run


def _share_done(turns: Turns, units: int, threads: int, part: tuple[int, int]) -> float:
    """Of the units of a run, those under way being half done. part : number of the pass, and how many there are."""
    begun = units - len(turns.waiting)
    return (part[0] + max(begun - min(threads, begun) / 2, 0.5) / max(units, 1)) / part[1]


def _ranges(prepared: Prepared, threads: int, *, early: bool) -> tuple[list[tuple[int, int]], int]:
    """The work units, and how many threads there may be: more than units, where these are cut or given away in part."""
    if prepared.tables.loops == 0:
        return [(0, 0)], 1
    return prepared.cut(1 if not early and prepared.work < WORTH_A_THREAD else threads), threads


def workers_under(prepared: Prepared, budget: Budget, threads: int = 0) -> tuple[Size, int]:
    """The workers of a run that has no LIMIT, and how many there would be without a budget."""
    _, threads = _ranges(prepared, threads or cores(), early=False)
    edges = tuple(range(prepared.plan.edges))
    wanted = Wanted(tuple(range(prepared.plan.vertices)), edges)
    return fit_workers(prepared, wanted, threads, ROWS, budget), threads


def _work(run: _Run, worker: Worker | None = None) -> None:
    """One worker, the run's first or another: take units until none is left."""
    try:
        _units(run, worker or _idle(run))
    finally:
        run.helpers.ended()


def _units(run: _Run, worker: Worker) -> None:
    once: list[U32] = []
    try:
        while (unit := run.turns.take(run.watch.beginning)) is not None:
            if run.prepared.blocks and unit.place is None:
                _read_ahead(run, unit)
            worker.stand_at(unit)
            if _turn(run, worker, unit, once):
                run.turns.end()
            else:
                run.turns.put_back(unit, worker.put_aside())
        if run.wanted.once is None:
            _drain(run, worker, once)
        else:
            _finish_once(run, worker, once)
    except BaseException:
        run.watch.stopped.set()
        raise
    with run.lock:
        run.total += worker.total
        if run.watch.bound is not None:
            run.watch.bound += worker.bound[: len(run.watch.bound)]
    put_back(worker)


def _read_ahead(run: _Run, unit: Unit) -> None:
    """Have the rows of the roots of a unit of a pass read, and of the one that comes next."""
    from .ranges import read_roots_ahead

    read_roots_ahead(run.prepared, unit.start, unit.end)
    for following in list(run.turns.waiting)[:1]:
        read_roots_ahead(run.prepared, following.start, following.end)


def _turn(run: _Run, worker: Worker, unit: Unit, once: list[U32]) -> bool:
    """Go on with a unit for its turn, which was taken while the run was going on; whether it has come to its end. Where
    the run may stop early, launches begin small, and helpers are called in by the first one that did not end it; else
    what others can go on with is given to them."""
    turn = worker.spent + unit.steps
    while True:
        steps = STEPS
        if run.early:
            steps = max(FIRST_STEPS, min(worker.spent, EARLY_STEPS))
        done = _launch(worker, steps, run.watch)
        if worker.rows >= run.due:
            _drain(run, worker, once)
        if done:
            return True
        if not run.early:
            _give(run, worker)
        elif steps == EARLY_STEPS:
            run.helpers.call_all(partial(_work, run))
        if worker.spent > turn and run.turns.room(8 * KEPT * run.prepared.tables.loops):
            return False
        if not run.watch.going():
            return True


def _give(run: _Run, worker: Worker) -> None:
    """Give away of a unit that took longer than a launch what others can go on with: all of it where the run ends
    before its end, half of it where a thread has nothing to do."""
    if run.watch.giving():
        place = worker.give(half=False)
        if place is not None:
            with run.lock:
                run.watch.rest.append(place)
    elif run.helpers.may_be_called and not run.turns.waiting and not worker.filed:
        # two must not count for one vertex of the first loop at a time
        place = worker.give(half=True, roots=run.tallies is not None)
        if place is not None:
            run.turns.give(place)
            run.helpers.call(partial(_work, run))


def _accounts(watch: Watch, budget: Budget) -> bool:
    """Whether the memory of a run is accounted: it has a budget, or is measured. This is a tenth of a small run."""
    return budget.limit is not None or watch.bound is not None


def _idle(run: _Run) -> Worker:
    """A worker of an earlier run of this stage, or a new one."""
    capacity = 1 if run.prepared.tables.counting else run.size.capacity
    worker = _waiting(run, capacity)
    if worker is None:
        rest = run.size.slots, run.size.room
        budget, shared = run.budget, run.shared
        worker = Worker(run.prepared, capacity, run.wanted, *rest, budget=budget, shared=shared)
    elif _accounts(run.watch, run.budget):
        run.budget.fits(worker.bytes, WORKERS)
    worker.control[address.SPENT] = 0
    worker.count_into(run.tallies)
    return worker


def _waiting(run: _Run, capacity: int) -> Worker | None:
    idle = run.prepared.idle["cpu"]
    while idle:
        try:
            worker = idle.pop()
        except IndexError:  # another thread took it
            return None
        if isinstance(worker, Worker) and worker.is_for(
            capacity, run.wanted, run.size.slots, run.size.room
        ):
            worker.attach(run.prepared)
            worker.reset()
            if run.shared is not None:
                worker.share(run.shared)
            return worker
    return None


def _launch(worker: Worker, steps: int, watch: Watch) -> bool:
    """Run for one step budget; whether the unit is done."""
    spent = worker.spent
    status = worker.run(steps)
    watch.took(worker.spent - spent)
    if status == address.OVERFLOW:
        raise CountOverflow(
            "The count exceeds 2^63 - 1 within one work unit.",
            "Count a smaller pattern, or a part of it.",
        )
    return status == address.DONE


def _drain(run: _Run, worker: Worker, once: list[U32]) -> None:
    """Hand the buffered rows over."""
    n = worker.rows
    if not n:
        return
    if run.wanted.once is not None:
        kept = placed(n, np.uint32, "its distinct values", run.budget)
        kept[:] = worker.taken_once()
        once.append(kept)
        run.watch.add_rows(n)
    elif run.deliver is not None:
        run.deliver(worker.taken())


def _finish_once(run: _Run, worker: Worker, once: list[U32]) -> None:
    """Hand over the distinct values that a worker found, and make it forget them."""
    rest = worker.taken_once()
    if run.counts and not once:
        worker.unsee(rest)
        run.total = len(rest)
        return
    found = np.concatenate([*once, rest])
    worker.unsee(found)
    run.watch.add_rows(len(rest))
    with run.lock:
        run.total += len(found) if run.counts else 0
        run.once.append(found)
