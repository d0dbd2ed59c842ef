"""Run a plan: choose the device, prepare the stage, launch it, write twins out.

This is the one place that knows which backends there are; a backend renders and launches, it never
re-plans.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from gdb.base import usage
from gdb.errors import CountOverflow, DeviceError, InternalError
from gdb.executor.embeddings import Embeddings, Wanted, unbound_edges
from gdb.executor.given import Given
from gdb.executor.plan import Plan
from gdb.executor.prepare import Prepared, prepare
from gdb.executor.scheduler import Budget, Watch
from gdb.executor.source import GraphSource
from gdb.records import dataclass, field, replace
from gdb.storage.adjacency import I64, U32

if TYPE_CHECKING:
    from gdb.executor.gpu.memory import DeviceArray
    from gdb.executor.gpu.rows import Pick

Part = TypeVar("Part")

# Below this many expected partial embeddings a query ends on the CPU before a GPU has its data: the
# link gives 10 GB/s from pageable memory, a launch with its synchronisations takes about 0.1 ms.
LARGEST_COUNT = 2**63 - 1
WORTH_A_GPU = 50_000_000.0


@dataclass(frozen=True, slots=True, eq=False)
class PlanRun:
    """A run of a plan over a graph. budget : what it accounted for."""

    plan: Plan
    graph: GraphSource
    budget: Budget


MOST_PLANS = 16
"""Runs of plans that a profile keeps: a pattern may be matched for each row anew."""


@dataclass(slots=True)
class Profile:
    """What a run did.

    loops : whether it is to count how often each loop is bound, and to keep its plans. bound : for each plan that ran
        on the CPU, by its `id`, those numbers, i64[loops of its nest].
    plans : the first `MOST_PLANS` runs, in their order; who profiles several parts of a query sets another list.
    kernel_seconds, moved_bytes : on a GPU, the time in its kernels, and what was copied to it.
    """

    loops: bool = False
    bound: dict[int, I64] = field(default_factory=dict)
    plans: list[PlanRun] = field(default_factory=list)
    kernel_seconds: float = 0.0
    moved_bytes: int = 0

    def begun(self, plan: Plan, graph: GraphSource, budget: Budget) -> None:
        """Note that a plan runs."""
        if self.loops and len(self.plans) < MOST_PLANS:
            self.plans.append(PlanRun(plan, graph, budget))

    def add(self, watch: Watch) -> None:
        """What a run on a GPU left in its watch."""
        self.kernel_seconds += watch.kernel_seconds
        self.moved_bytes += watch.moved_bytes


# not frozen: each query makes one, and a frozen one takes four times as long to make
@dataclass(slots=True)
class Options:
    """How a query may run.

    device : "auto", "cpu", "gpu" (or "cuda"), "cuda:N", "cuda:0,1,...". threads : 0 for all cores. memory : bytes
        for candidate sets and rows, None for no bound. gpu_memory : bytes of each GPU, None for a share of what is
        free. timeout : seconds. cancel : when set, the run stops within about 10 ms of work. profile : where to put
        what the run did, None to forget it.
    """

    device: str = "auto"
    threads: int = 0
    memory: int | None = None
    timeout: float | None = None
    cancel: threading.Event | None = None
    profile: Profile | None = None
    gpu_memory: int | None = None


@dataclass(slots=True)
class Found(Generic[Part]):
    """What was made of the embeddings, part by part, and how many there were."""

    parts: list[Part] = field(default_factory=list)
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """The device that a plan runs on, and why."""

    device: str
    why: str

    @property
    def windows(self) -> bool:
        """Whether the kernel there reads rows in the order of a value; elsewhere these comparisons are tested one by
        one."""
        return self.device == "cpu"

    @property
    def ordinals(self) -> tuple[int, ...]:
        """The GPUs."""
        return tuple(int(n) for n in (self.device.partition(":")[2] or "0").split(","))


_CUDA = re.compile(r"cuda:\d{1,4}(,\d{1,4})*")
_ASKED_FOR = Choice("cpu", "asked for")
_BRANCHES = Choice("cpu", "loops branch, and the warps of a GPU do not share what is multiplied")
_WINDOWS = Choice("cpu", "windows of values are cut out of rows on the CPU only")


def choose(plan: Plan, device: str, graph: GraphSource | None = None) -> Choice:
    """Where a plan runs. graph : which it runs over; None where that does not matter, the device having been chosen.

    Raises
    ------
    DeviceError : the device asked for is unknown or absent.
    """
    name = device.lower()
    if name == "cpu":
        return _ASKED_FOR
    if name in ("gpu", "cuda") or _CUDA.fullmatch(name):
        from gdb.executor.gpu.device import require

        choice = Choice(name if ":" in name else "cuda:0", "asked for")
        for ordinal in choice.ordinals:
            require(ordinal)
        if len(set(choice.ordinals)) < len(choice.ordinals):
            raise DeviceError(f"A GPU is named twice in {device!r}.", "Name each one once.")
        return choice
    if name != "auto":
        raise DeviceError(
            f"There is no device {device!r}.", "Use auto, cpu, cuda, cuda:N or cuda:0,1,..."
        )
    sampled = plan.notes.steps
    expected = max(plan.notes.estimates, default=0.0) if sampled is None else sampled
    what = "partial embeddings" if sampled is None else "steps, by sampled walks,"
    if expected < WORTH_A_GPU:
        return Choice("cpu", f"about {expected:.3g} {what} are not worth a transfer")
    from gdb.executor.gpu.device import absence

    missing = absence()
    if missing is not None:
        return Choice("cpu", missing)
    if any(c.inside and (c.left_is_edge or c.right_is_edge) for c in plan.compares):
        return _WINDOWS  # a GPU tests what such a window leaves out, which has been more than its speed makes up for
    if graph is not None and plan.counting and stage(plan, graph).nest.around:
        return _BRANCHES
    return Choice("cuda:0", f"about {expected:.3g} {what} are worth a transfer")


def count(plan: Plan, graph: GraphSource, options: Options, given: Given | None = None) -> int:
    """Number of embeddings of a counting plan: its own and those of its terms.

    given : other candidates than the plan's; a plan with terms takes none.

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget, DeviceError, CountOverflow (2^63 or more in one work unit, or surely in all).
    """
    if plan.notes.too_many and given is None:
        raise _too_many(plan)
    try:
        return _counted(plan, graph, options, given)
    except CountOverflow:
        raise _too_many(plan) from None


def _too_many(plan: Plan) -> CountOverflow:
    """Of more embeddings than a count holds: about how many."""
    expected = plan.notes.estimates[-1] if plan.notes.estimates else 0.0
    about = f": about {expected:.2g}" if expected > LARGEST_COUNT else ""
    return CountOverflow(
        f"There are more embeddings than a count holds (2^63 - 1){about}.",
        "Ask for a smaller pattern or part of it, or take rows with a LIMIT.",
    )


def _counted(plan: Plan, graph: GraphSource, options: Options, given: Given | None) -> int:
    choice = choose(plan, options.device, graph)
    watch, budget = Watch(options.timeout, options.cancel, None), Budget(options.memory)
    _begun(plan, graph, options, budget)
    total = 0
    for factor, term in ((1, plan), *plan.terms):
        prepared = stage(term, graph, given, windows=choice.windows)
        if choice.device == "cpu":
            import gdb.executor.cpu.launch as cpu

            _profile(term, prepared, options, watch)
            found = cpu.count(prepared, watch, budget, options.threads)
        else:
            import gdb.executor.gpu.launch as gpu

            found = gpu.count(prepared, watch, budget, choice.ordinals, options.gpu_memory)
        total += factor * term.multiplicity * found
    if options.profile is not None:
        options.profile.add(watch)
    return total // plan.divisor


def tallies(
    plan: Plan, graph: GraphSource, options: Options, given: Given | None = None
) -> tuple[Embeddings, I64]:
    """A row for each data vertex that the first query vertex of a counting plan without terms is bound to, its other
    columns without meaning, and the number of embeddings that it stands for, i64[rows].

    Raises as `count`.
    """
    choice = choose(plan, options.device, graph)
    watch, budget = Watch(options.timeout, options.cancel, None), Budget(options.memory)
    _begun(plan, graph, options, budget)
    prepared = stage(plan, graph, given, windows=choice.windows)
    if choice.device == "cpu":
        import gdb.executor.cpu.launch as cpu

        _profile(plan, prepared, options, watch)
        found = cpu.tallies(prepared, watch, budget, options.threads)
    else:
        import gdb.executor.gpu.launch as gpu

        found = gpu.tallies(prepared, watch, budget, choice.ordinals, options.gpu_memory)
    if options.profile is not None:
        options.profile.add(watch)
    vids = np.flatnonzero(found).astype(np.uint32)
    numbers = found[vids]
    if len(numbers) and int(numbers.max()) * plan.multiplicity >= 1 << 63:
        raise CountOverflow(
            "The count of a vertex exceeds 2^63 - 1.", "Ask for a smaller pattern or part of it."
        )
    columns = np.broadcast_to(vids[:, np.newaxis], (len(vids), plan.vertices))
    return Embeddings(columns, unbound_edges(len(vids), plan.edges)), numbers * plan.multiplicity


def stage(
    plan: Plan, graph: GraphSource, given: Given | None = None, *, windows: bool = False
) -> Prepared:
    """The plan's stage, prepared once for each plan and graph and kept as long as the plan; with other
    candidates where they are given. windows : rows may be read in the order of a value."""
    key = id(graph), windows and bool(plan.compares)
    known = plan.stages.get(key)
    if known is None or known[0] is not graph:
        known = plan.stages[key] = (graph, usage.unread(prepare)(plan, graph, windows=windows))
    prepared = known[1]
    assert isinstance(prepared, Prepared)
    usage.read(*prepared.read)
    return prepared if given is None else given.stage(prepared, graph)


def _begun(plan: Plan, graph: GraphSource, options: Options, budget: Budget) -> None:
    if options.profile is not None:
        options.profile.begun(plan, graph, budget)


def _profile(plan: Plan, prepared: Prepared, options: Options, watch: Watch) -> None:
    """Have the workers count how often each loop is bound, where that is asked for."""
    if options.profile is not None and options.profile.loops:
        watch.bound = np.zeros(prepared.tables.loops, np.int64)
        options.profile.bound[id(plan)] = watch.bound


def kept_bytes(plan: Plan) -> int:
    """Bytes of memory that the stages of a plan keep, waiting workers included."""
    stages = [stage for _, stage in plan.stages.values() if isinstance(stage, Prepared)]
    terms = sum(kept_bytes(term) for _, term in plan.terms)
    return terms + sum(stage.kept_bytes for stage in stages)


def rows(
    plan: Plan,
    graph: GraphSource,
    options: Options,
    wanted: Wanted,
    make: Callable[[Embeddings], Part],
    limit: int | None = None,
    given: Given | None = None,
) -> Found[Part]:
    """The embeddings of a plan for rows, twins written out, at most `limit` of them, in no promised order.

    make : what to keep of some rows, see `handed_over`. It is called at least once, if need be with no rows.

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget, DeviceError.
    """
    found: Found[Part] = Found()
    lock = threading.Lock()
    budget = Budget(options.memory)
    row_bytes = 8 * (len(wanted.vertices) + len(wanted.edges))

    def keep(part: Embeddings) -> None:
        budget.take(len(part) * row_bytes, "its rows")
        made = make(part)
        with lock:
            found.parts.append(made)

    found.rows = handed_over(plan, graph, options, wanted, keep, limit, given, budget)
    if not found.parts:
        empty = np.zeros((0, plan.vertices), np.uint32)
        found.parts.append(make(Embeddings(empty, unbound_edges(0, plan.edges))))
    return found


def handed_over(
    plan: Plan,
    graph: GraphSource,
    options: Options,
    wanted: Wanted,
    take: Callable[[Embeddings], None],
    limit: int | None = None,
    given: Given | None = None,
    budget: Budget | None = None,
) -> int:
    """Hand the embeddings of a plan for rows over as they are found, twins written out, at most `limit` of them, in no
    promised order; how many there were.

    take : gets some rows, at least one, in several threads; their memory is used again when it returns. While it waits,
        so does the worker that found them, and no more are found than it takes.
    budget : what else it is to account for; None for one of its own.

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget, DeviceError; what `take` raises.
    """
    watch, budget = Watch(options.timeout, options.cancel, limit), budget or Budget(options.memory)
    lock = threading.Lock()
    wanted = wanted.under(plan.twins)
    rows = 0
    _begun(plan, graph, options, budget)

    def deliver(some: Embeddings) -> None:
        nonlocal rows
        for twin in plan.twins or (None,):
            part = some if twin is None else replace(some, turned=twin)
            part = part.part(0, watch.grant(len(part)))
            if len(part):
                take(part)
                with lock:
                    rows += len(part)

    if limit != 0:
        _deliver(plan, graph, options, wanted, deliver, watch, budget, given)
    if options.profile is not None:
        options.profile.add(watch)
    return rows


def _deliver(
    plan: Plan,
    graph: GraphSource,
    options: Options,
    wanted: Wanted,
    deliver: Callable[[Embeddings], None],
    watch: Watch,
    budget: Budget,
    given: Given | None,
) -> None:
    """Hand over what a device finds, a part at a time."""
    if wanted.once is not None:
        vids = _distinct(plan, graph, options, wanted.once, watch, budget, given)
        watch.found = 0  # rows are counted when they are delivered
        columns = np.broadcast_to(vids[:, np.newaxis], (len(vids), plan.vertices))
        deliver(Embeddings(columns, unbound_edges(len(vids), plan.edges)))
        return
    choice = choose(plan, options.device, graph)
    prepared = stage(plan, graph, given, windows=choice.windows)
    if choice.device == "cpu":
        import gdb.executor.cpu.launch as cpu

        _profile(plan, prepared, options, watch)
        cpu.deliver_rows(prepared, watch, budget, wanted, deliver, options.threads)
        return
    import gdb.executor.gpu.launch as gpu

    gpu.deliver_rows(
        prepared,
        watch,
        budget,
        wanted,
        deliver,
        choice.ordinals,
        options.threads,
        gpu_memory=options.gpu_memory,
    )


def columns_on_gpu(
    plan: Plan,
    graph: GraphSource,
    options: Options,
    wanted: Wanted,
    picks: Sequence[Pick],
    limit: int | None = None,
    given: Given | None = None,
) -> list[DeviceArray]:
    """Columns of ids of the embeddings of a plan for rows, i64[rows] each, in the memory of the GPU that
    `options.device` names; twins written out, at most `limit` rows, in no promised order.

    Raises
    ------
    As `rows`; DeviceError also where the rows do not fit the GPU.
    """
    choice = choose(plan, options.device, graph)
    if choice.device == "cpu":
        raise DeviceError("Columns on a GPU were asked of the CPU.", 'Use device="cuda".')
    if len(choice.ordinals) > 1:
        raise DeviceError(
            f"Columns lie on one GPU, not on {choice.device!r}.", 'Use device="cuda:N".'
        )
    import gdb.executor.gpu.launch as gpu

    watch, budget = Watch(options.timeout, options.cancel, limit), Budget(options.memory)
    prepared = stage(plan, graph, given, windows=choice.windows)
    wanted = wanted.under(plan.twins)
    (ordinal,), memory = choice.ordinals, options.gpu_memory
    found = gpu.columns(prepared, watch, budget, wanted, picks, plan.twins, ordinal, memory)
    if options.profile is not None:
        options.profile.add(watch)
    return found


def count_distinct(
    plan: Plan, graph: GraphSource, options: Options, vertex: int, given: Given | None = None
) -> int:
    """The number of data vertices of one query vertex over all embeddings of a plan without twins.
    Raises as `rows`."""
    watch, budget = Watch(options.timeout, options.cancel, None), Budget(options.memory)
    _begun(plan, graph, options, budget)
    choice = choose(plan, options.device, graph)
    if choice.device != "cpu":
        return len(_distinct(plan, graph, options, vertex, watch, budget, given))
    import gdb.executor.cpu.launch as cpu

    prepared = stage(_without_twins(plan), graph, given)
    _profile(plan, prepared, options, watch)
    return cpu.count_distinct(prepared, watch, budget, vertex, options.threads)


def _distinct(
    plan: Plan,
    graph: GraphSource,
    options: Options,
    vertex: int,
    watch: Watch,
    budget: Budget,
    given: Given | None,
) -> U32:
    choice = choose(plan, options.device, graph)
    prepared = stage(_without_twins(plan), graph, given)
    if choice.device == "cpu":
        import gdb.executor.cpu.launch as cpu

        _profile(plan, prepared, options, watch)
        return cpu.distinct(prepared, watch, budget, vertex, options.threads)
    import gdb.executor.gpu.launch as gpu

    return gpu.distinct(prepared, watch, budget, vertex, choice.ordinals, options.gpu_memory)


def _without_twins(plan: Plan) -> Plan:
    """The plan; rows that restrictions left out would hold values of their own."""
    if plan.twins:
        raise InternalError("Distinct values were asked of a plan with twins.", "Please report it.")
    return plan
