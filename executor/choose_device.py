"""The choice of the device that runs a plan: the one that is expected to finish first, in seconds.

What a run takes is first estimated from the expected steps of the kernel (`gdb.executor.cpu.sample`): on the CPU they
are shared by as many threads as there are work units for, on a GPU by as many warps, and a GPU that does not hold the
graph yet waits for the link. Of a plan that ran before, what it took is known, and better than any estimate; the other
device is tried again when all runs since its last try have taken many times what it is expected to take, so that a
wrong estimate costs a small share of the whole (the doubling argument of ski rental: Karlin et al., Competitive Snoopy
Caching, 1988). A count that began on the CPU because of a wrong estimate is given up for a GPU by the same comparison,
when the work units that are done by then, and the steps that these took, say so (`Guard`).

The figures were fitted to an H200 beside 16 cores (docs/performance.md, "The choice of a device").
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdb.base.machine.cores import cores
from gdb.base.threads import import_beside
from gdb.errors import Cancelled
from gdb.imports import deferred
from gdb.records import dataclass, quick
from gdb.storage.format.direction import Direction
from gdb.storage.graph.adjacency import I64, U32, Adjacency

from .device_names import AUTO, CPU, checked_device, ordinals
from .nest.prepare import Prepared, stage
from .options import Options
from .plan.embeddings import Deliver, Embeddings, Wanted, unbound_edges
from .work.scheduler import Budget, Guard, Watch

if TYPE_CHECKING:
    from .cpu import launch
    from .cpu.workers import Worker
    from .nest.bindings import Bindings
    from .plan.plan import Plan
    from .plan.source import GraphSource
else:
    launch = deferred("gdb.executor.cpu.launch")

STEP = 1.5e-8  # seconds of one step on one thread of a CPU
# seconds that a run on the CPU takes besides, and for each further thread
CALL, CALL_THREAD = (1e-4, 4e-5)
LAUNCH = (
    3e-4  # seconds of a run of one plan on a GPU besides its work: launches, and to wait for them
)
PLACE = 1e-3  # seconds to place a stage that is not there
LINK = 1e10  # bytes a second, from pageable memory
WARP_STEP = 6e-7  # seconds of one step of a warp, and
WARP_BOUND = 7.5e-5  # of one binding of a loop by a warp of the generic kernel, whose set operations are short;
OWN_BOUND = 1.7e-5  # by a kernel of its own
COMPILED = 3.0  # seconds of a run after which it has one
BEGIN = 0.8  # seconds until a process has CuPy, a context and the kernels
SURE = 0.02  # seconds of a run before what is done of it says anything
TRIED = 8.0  # times as long as a try of the other device is expected to take must have gone by
EARLY = 2.0  # before each of the first two on a GPU: an estimate precedes one, and one that places the graph the other
CLEARLY = 1.2  # times as long a device that was not measured must be expected to take to be left
SHARED = 1e-3  # seconds of a run on several GPUs below which one of them may be as quick: threads wake each other
ALONE = 3  # runs on one of them that say so; the first places the stage there
_SURELY = 8  # times the steps of a short launch: a plan that is expected to take these is not tried in one
WARPS = 32  # of a multiprocessor
UNIT = 32  # neighbours of a root's list that make one work unit of a GPU
SPREAD = 8  # warps that are soon busy with one unit, what is left of it being shared


@quick
@dataclass(frozen=True, slots=True)
class Choice:
    """The device that a plan runs on, and why. guard : gives a run on the CPU up for a GPU; None where none may."""

    device: str
    why: str
    guard: Guard | None = None

    @property
    def windows(self) -> bool:
        """Whether the kernel there reads rows in the order of a value; elsewhere these comparisons are tested one by
        one."""
        return self.device == "cpu"

    @property
    def ordinals(self) -> tuple[int, ...]:
        """The GPUs."""
        return ordinals(self.device)


_REQUESTED = Choice("cpu", "requested")
_WINDOWS = Choice("cpu", "windows of values are cut out of rows on the CPU only")
_OPTIONAL = Choice("cpu", "warps do not share the loops of optional parts")
_SHORT = Choice("cpu", "a run there is over before a GPU begins")
_SOME_ROWS = Choice("cpu", "a LIMIT is soon reached")


def begin(device: str) -> None:
    """Begin the first GPU that a query names, in a thread, while the query is read and planned."""
    if device not in (AUTO, CPU):
        from .gpu.device import begin

        begin(ordinals(checked_device(device))[0])
        import_beside("gdb.executor.gpu.launch")


def copying_ahead(device: str, direction: Direction, edges: int) -> Callable[[Adjacency], None]:
    """What copies an adjacency of a direction, and no other, to the GPUs that a query names while it is planned.

    edges : of the graph.
    """
    from .gpu import ahead  # here: only where there is a GPU

    return ahead.copying_ahead(ordinals(checked_device(device)), direction, edges)


def choose(
    plan: Plan,
    device: str,
    graph: GraphSource | None = None,
    *,
    limit: int | None = None,
    runs: bool = False,
    gpu_memory: int | None = None,
) -> Choice:
    """Where a plan runs.

    graph : which it runs over; None where that does not matter, the device having been chosen. limit : of rows.
    runs : it is to run now; else (EXPLAIN) no other device is tried to learn what it takes. gpu_memory : bytes that it
        may take of a GPU, None for what there is.

    Raises
    ------
    DeviceError : the requested device is unknown or absent.
    """
    name = checked_device(device)
    if name == CPU:
        return _REQUESTED
    if name != AUTO:
        return _named(name, plan)
    if limit is not None and not plan.runs.last:
        return _SOME_ROWS
    if graph is None:
        return Choice("cpu", "nothing is known of the graph")
    if plan.optional:
        return _OPTIONAL
    if runs and plan.runs.last.get("cpu", 1.0) < (LAUNCH if cuda_begun() else BEGIN):
        return _SHORT  # most runs, and the quickest, come here
    return _quicker(plan, graph, runs, gpu_memory, some=limit is not None)


def shown(
    plan: Plan, device: str, graph: GraphSource, *, ran: bool, gpu_memory: int | None = None
) -> Choice:
    """As `choose`, for people; where a plan `ran`, the device of its last run."""
    if ran and plan.runs.latest is not None:
        return Choice(plan.runs.latest, "where it ran")
    return choose(plan, device, graph, gpu_memory=gpu_memory)


def _named(name: str, plan: Plan) -> Choice:
    """The named GPUs; of several the first, where runs of the plan were not longer there."""
    from .gpu.device import require

    choice = Choice(name if ":" in name else "cuda:0", "requested")
    for ordinal in choice.ordinals:
        require(ordinal)
    if len(choice.ordinals) == 1:
        return choice
    first = f"cuda:{choice.ordinals[0]}"
    _, together = plan.runs.gpus.get(choice.device, (0, math.inf))
    number, alone = plan.runs.gpus.get(first, (0, math.inf))
    if together < SHARED and (number < ALONE or alone <= together):
        return Choice(first, "a run is too short to share")
    return choice


def _quicker(
    plan: Plan, graph: GraphSource, runs: bool, gpu_memory: int | None, *, some: bool
) -> Choice:
    """The device that "auto" means. some : only some rows are wanted, which took the CPU a known time; how long a GPU
    looks for as many is a guess, so that it is tried and not chosen."""
    prepared = stage(plan, graph, windows=True)
    work = expected(plan, prepared)
    known = plan.runs.last
    cpu = known.get("cpu")
    tried = some and cpu is not None and "cuda" not in known
    if cpu is not None and tried:
        work = work.times(cpu * _threads(prepared, work) / STEP / max(work.steps, 1.0))
    guard = None if cpu is not None else _guard(plan, graph, prepared, gpu_memory)
    if cpu is None:
        cpu = cpu_seconds(plan, prepared, work)
    late = 0.0 if cuda_begun() else BEGIN
    if cpu < late:
        return Choice(
            "cpu",
            "" if runs else f"{_words(cpu)} there, less than it takes to begin with a GPU",
            guard,
        )
    from .gpu.device import absence  # here: short runs never look for a GPU

    missing = absence()
    if missing is not None:
        return Choice("cpu", missing)
    if _has_windows(plan):
        return _WINDOWS  # a GPU tests what such a window leaves out, which has been more than its speed makes up for
    gpu = late + _first_gpu(plan, graph, work, gpu_memory)
    seconds = {"cpu": cpu, "cuda": gpu}
    quicker = not tried and gpu * (1.0 if "cuda" in known else CLEARLY) < cpu
    device, other = ("cuda", "cpu") if quicker else ("cpu", "cuda")
    times = EARLY if other == "cuda" and plan.runs.on_gpus < 2 else TRIED
    if runs and plan.runs.since.get(other, 0.0) > times * seconds[other]:
        device = other
    why = "" if runs else f"{_words(cpu)} on the CPU, {_words(gpu)} on a GPU"
    return Choice("cuda:0", why) if device == "cuda" else Choice("cpu", why, guard)


def cuda_begun() -> bool:
    """Whether this process has used a GPU: else to begin takes longer than most queries."""
    if "gdb.executor.gpu.device" not in sys.modules:
        return False
    from .gpu.device import was_queried  # here: short runs never look for a GPU

    return was_queried()


@dataclass(frozen=True, slots=True)
class Work:
    """What a plan and its terms are expected to take: steps of the kernel, and how often loops are bound."""

    steps: float
    bound: float

    def times(self, factor: float) -> Work:
        """So many times as much."""
        return Work(factor * self.steps, factor * self.bound)


def expected(plan: Plan, prepared: Prepared) -> Work:
    """By sampled walks where the plan was sampled, else by mean degrees."""
    notes, loops = plan.notes, prepared.tables.loops
    steps = notes.steps
    if steps is None:
        steps = max(sum(notes.estimates), float(prepared.work))
    return Work(steps, sum(notes.bound or notes.estimates[:loops]))


def cpu_seconds(plan: Plan, prepared: Prepared, work: Work) -> float:
    """Of a run on the CPU."""
    threads = _threads(prepared, work)
    calls = CALL + CALL_THREAD * (threads - 1)
    return calls * (1 + len(plan.terms)) + STEP * work.steps / threads


def _threads(prepared: Prepared, work: Work) -> int:
    from .cpu.launch import threads_of  # here: it loads the kernel

    return threads_of(prepared, cores(), work.steps)


def gpu_seconds(plan: Plan, prepared: Prepared, work: Work, most: int) -> float:
    """Of a run on a GPU with `most` warps that holds the graph."""
    busy = len(prepared.roots) + prepared.work // UNIT
    if not prepared.nest.around:  # warps do not share what is multiplied
        busy *= SPREAD
    busy = max(1, min(most, busy))
    seconds = (WARP_STEP * work.steps + WARP_BOUND * work.bound) / busy
    if seconds > COMPILED and not prepared.nest.around:
        own = (WARP_STEP * work.steps + OWN_BOUND * work.bound) / busy
        seconds = COMPILED + (1.0 - COMPILED / seconds) * own
    return LAUNCH * (1 + len(plan.terms)) + seconds


def _first_gpu(plan: Plan, graph: GraphSource, work: Work, gpu_memory: int | None) -> float:
    """Seconds of a run on it, with what it has to wait for before. What has no room in its memory comes through the
    link in every run."""
    from .gpu.device import multiprocessors  # here: only where there is a GPU
    from .gpu.placing import missing_bytes

    prepared = stage(plan, graph)
    room = prepared.bytes if gpu_memory is None else gpu_memory
    seconds = plan.runs.last.get("cuda")
    if seconds is None:
        seconds = gpu_seconds(plan, prepared, work, multiprocessors(0) * WARPS)
        seconds += max(prepared.bytes - room, 0) / LINK
    if not prepared.idle["gpu"]:
        seconds += PLACE * (1 + len(plan.terms)) + min(missing_bytes(prepared, 0), room) / LINK
    return seconds


def _guard(
    plan: Plan, graph: GraphSource, prepared: Prepared, gpu_memory: int | None
) -> Guard | None:
    """Of a run that begins on the CPU."""
    if not plan.counting or _has_windows(plan):
        return None
    late = 0.0 if cuda_begun() else BEGIN

    def there(steps: float) -> float | None:
        from .gpu.device import absence  # here: short runs never look for a GPU

        if absence() is not None:
            return None
        work = expected(plan, prepared)
        # that there are fewer than expected says nothing: the share that is done is known in units, some of them small
        more = work.times(max(steps / max(work.steps, 1.0), 1.0))
        return late + _first_gpu(plan, graph, more, gpu_memory)

    return Guard(there, max(SURE, late))


def _has_windows(plan: Plan) -> bool:
    """Whether windows of values are cut out of rows."""
    return any(c.inside and (c.left_is_edge or c.right_is_edge) for c in plan.compares)


def _words(seconds: float) -> str:
    if seconds < 1e-3:
        return f"about {1e6 * seconds:.2g} us"
    if seconds < 1.0:
        return f"about {1e3 * seconds:.3g} ms"
    return f"about {seconds:.3g} s"


# ---- the device at work ------------------------------------------------------------------------------


@quick
@dataclass(frozen=True, slots=True)
class Backend:
    """Where stages run. Each backend is imported when it first runs something.

    ordinals : of the GPUs; None for the CPU. threads : 0 for all cores. gpu_memory : bytes of each GPU, None for a
    share of what is free. The errors are those of `gdb.executor.cpu.launch` and `gdb.executor.gpu.launch`.
    """

    ordinals: tuple[int, ...] | None
    threads: int
    gpu_memory: int | None

    def counts(
        self,
        plans: Sequence[Plan],
        staged: Callable[[Plan], Prepared],
        watch: Watch,
        budget: Budget,
        *,
        alone: bool,
    ) -> list[int]:
        """Numbers of embeddings that the nests of plans count, without the plans' multiplicities.

        staged : prepares a plan, in the order of `plans` where they run alone. alone : on the CPU one plan runs at a
            time.
        """
        if not plans:
            return []
        if self.ordinals is None:
            from .cpu import plans as cpu  # here: a run needs one backend

            return cpu.counts(plans, staged, watch, budget, self.threads, alone=alone)
        from .gpu import launch as gpu

        stages = [staged(plan) for plan in plans]
        return gpu.counts(stages, watch, budget, self.ordinals, self.gpu_memory)

    def tallies(self, prepared: Prepared, watch: Watch, budget: Budget) -> I64:
        """The count for each data vertex that the first query vertex is bound to, i64[vids]."""
        if self.ordinals is None:
            from .cpu import launch as cpu

            return cpu.tallies(prepared, watch, budget, self.threads)
        from .gpu import launch as gpu

        return gpu.tallies(prepared, watch, budget, self.ordinals, self.gpu_memory)

    def distinct(self, prepared: Prepared, watch: Watch, budget: Budget, vertex: int) -> U32:
        """The data vertices that a query vertex is bound to in any embedding, each once, u32[n]."""
        if self.ordinals is None:
            from .cpu import launch as cpu

            return cpu.distinct(prepared, watch, budget, vertex, self.threads)
        from .gpu import launch as gpu

        return gpu.distinct(prepared, watch, budget, vertex, self.ordinals, self.gpu_memory)

    def count_distinct(self, prepared: Prepared, watch: Watch, budget: Budget, vertex: int) -> int:
        """How many `distinct` finds."""
        if self.ordinals is None:
            from .cpu import launch as cpu

            return cpu.count_distinct(prepared, watch, budget, vertex, self.threads)
        return len(self.distinct(prepared, watch, budget, vertex))

    def deliver_rows(
        self, prepared: Prepared, watch: Watch, budget: Budget, wanted: Wanted, deliver: Deliver
    ) -> None:
        """Hand the embeddings that the nest finds, without twins, to `deliver`, a buffer at a time, from several
        threads. `deliver` counts them in `watch`."""
        if self.ordinals is None:
            from .cpu import launch as cpu

            cpu.deliver_rows(prepared, watch, budget, wanted, deliver, self.threads)
            return
        from .gpu import launch as gpu

        gpu.deliver_rows(
            *(prepared, watch, budget, wanted, deliver, self.ordinals, self.threads),
            gpu_memory=self.gpu_memory,
        )


def short_run(
    plan: Plan,
    graph: GraphSource,
    options: Options,
    bindings: Bindings | None,
    wanted: Wanted,
    limit: int | None = None,
    *,
    windows: bool = True,
) -> Worker | None:
    """A worker of the CPU that has run a plan to its end, or to `limit` rows, in one short launch on this thread;
    `end_short_run` gives it back. None where that is not so, or something is measured, accounted for or shared: the
    launch is then lost, 0.1 ms, which a plan that takes longer does not notice, and once until it is short again.

    Raises
    ------
    Cancelled.
    """
    latest = plan.runs.latest
    if (
        options.device not in (AUTO, CPU)
        or options.memory is not None
        or options.profile is not None
        or options.on is not None
        or limit == 0
        or (
            limit is None
            and bindings is None
            and (plan.notes.steps or 0.0) > _SURELY * launch.FIRST_STEPS
        )
        or (cuda_begun() if latest is None else latest != CPU)
    ):
        return None
    begun = time.perf_counter()
    prepared = stage(plan, graph, bindings, windows=windows)
    worker = launch.launched_once(prepared, wanted, limit)
    if worker is not None:
        if options.cancel is not None and options.cancel.is_set():
            raise Cancelled("The query was cancelled.")
        if latest is None:
            plan.runs.add(CPU, time.perf_counter() - begun)
    return worker


def end_short_run(worker: Worker) -> None:
    """Let the next run have the worker."""
    launch.put_back(worker)


def embeddings_of(worker: Worker, plan: Plan) -> Embeddings:
    """What a worker has found in one launch, in its memory."""
    if worker.wanted.once is None:
        return worker.taken()
    return in_every_column(distinct_values(worker), plan)


def distinct_values(worker: Worker) -> U32:
    """The distinct values that a worker has found, u32[n], which it forgets."""
    vids = worker.taken_once().copy()
    worker.unsee(vids)
    return vids


def in_every_column(vids: U32, plan: Plan) -> Embeddings:
    """A row for each data vertex of the only query vertex that is read."""
    columns = np.broadcast_to(vids[:, np.newaxis], (len(vids), plan.vertices))
    return Embeddings(columns, unbound_edges(len(vids), plan.edges))
