"""Run a plan: choose the device, prepare the stage, launch it, write twins out.

This is the one place that knows which backends there are; a backend renders and launches, it never
re-plans.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from gdb.base import usage
from gdb.base.budget import ROWS
from gdb.errors import CountOverflow, DeviceError, InternalError, LimitExceeded
from gdb.records import dataclass, field, replace
from gdb.storage.disk.arrays import Shelf
from gdb.storage.graph.adjacency import I64, U32

from .choose_device import Choice, choose
from .nest.bindings import Bindings
from .nest.prepare import Prepared, stage
from .options import Options as Options
from .options import PlanRun as PlanRun
from .options import Profile as Profile
from .plan.embeddings import NO_COLUMNS, Embeddings, Wanted, unbound_edges
from .plan.plan import Plan
from .plan.source import GraphSource
from .work.scheduler import Budget, Elsewhere, Watch

if TYPE_CHECKING:
    from .cluster.task import Answer
    from .gpu.memory import DeviceArray
    from .gpu.rows import Pick

Part = TypeVar("Part")

LARGEST_COUNT = 2**63 - 1
_log = logging.getLogger("gdb")


@dataclass(slots=True)
class Found(Generic[Part]):
    """What was made of the embeddings, part by part, and how many there were."""

    parts: list[Part] = field(default_factory=list)
    rows: int = 0


def count(
    plan: Plan, graph: GraphSource, options: Options, bindings: Bindings | None = None
) -> int:
    """Number of embeddings of a counting plan: its own and those of its terms.

    bindings : other candidates than the plan's; a plan with terms takes none.

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget, DeviceError, CountOverflow (2^63 or more in one work unit, or surely in all).
    """
    if plan.notes.too_many and bindings is None:
        raise _too_many(plan)
    try:
        return _counted(plan, graph, options, bindings)
    except CountOverflow:
        raise _too_many(plan) from None


def _too_many(plan: Plan) -> CountOverflow:
    """Of more embeddings than a count holds: about how many."""
    expected = plan.notes.estimates[-1] if plan.notes.estimates else 0.0
    about = f": about {expected:.2g}" if expected > LARGEST_COUNT else ""
    return CountOverflow(
        f"There are more embeddings than a count holds (2^63 - 1){about}.",
        "Query a smaller pattern or part of it, or take rows with a LIMIT.",
    )


def _counted(plan: Plan, graph: GraphSource, options: Options, bindings: Bindings | None) -> int:
    def run(choice: Choice, watch: Watch, budget: Budget) -> int:
        terms = ((1, plan), *plan.terms)
        watch.parts = len(terms)
        shared: dict[int, int] = {}
        if options.on is not None:
            from .cluster import cluster  # here: of two backends and a cluster, a run needs one

            shared = cluster.counts([term for _, term in terms], graph, options, watch, bindings)
        left = [(factor, term) for k, (factor, term) in enumerate(terms) if k not in shared]
        plans, found = [term for _, term in left], list[int]()
        if choice.device == "cpu":
            from .cpu import plans as cpu

            def staged(term: Plan) -> Prepared:
                prepared = stage(term, graph, bindings, windows=choice.windows)
                _profile(term, prepared, options, watch)
                return prepared

            alone = options.profile is not None and options.profile.loops
            found = cpu.counts(plans, staged, watch, budget, options.threads, alone=alone)
        elif plans:
            from .gpu import launch as gpu

            stages = [stage(term, graph, bindings, windows=choice.windows) for term in plans]
            found = gpu.counts(stages, watch, budget, choice.ordinals, options.gpu_memory)
        counted = zip(left, found, strict=True)
        total = sum(terms[k][0] * terms[k][1].multiplicity * n for k, n in shared.items())
        total += sum(factor * term.multiplicity * n for (factor, term), n in counted)
        return total // plan.divisor

    return _on_device(plan, graph, options, run)


def _elsewhere(
    plan: Plan,
    graph: GraphSource,
    options: Options,
    bindings: Bindings | None,
    what: str,
    watch: Watch,
    wanted: Wanted = NO_COLUMNS,
) -> Generator[Answer, None, None] | None:
    """The answers of other processes to a plan by itself; None where it is run here. To be closed."""
    if options.on is None or watch.limit is not None:
        return None
    from .cluster import cluster  # here: only runs on a cluster need it

    seconds = cluster.shares([plan], graph, options.on, bindings)
    if seconds == [None]:
        return None
    options.ran = "cluster"
    return cluster.ask([plan], graph, options, seconds, what, wanted, watch, bindings)


def _on_device(
    plan: Plan,
    graph: GraphSource,
    options: Options,
    run: Callable[[Choice, Watch, Budget], Part],
) -> Part:
    """What `run` makes on the device that is chosen; where that is the CPU, and it turns out that a GPU would be done
    sooner, on the GPU."""
    choice = choose(plan, options.device, graph, runs=True, gpu_memory=options.gpu_memory)
    deadline = options.timeout
    first = time.perf_counter()
    while True:
        begun = time.perf_counter()
        left = None if deadline is None else max(deadline - (begun - first), 0.0)
        watch = Watch(left, options.cancel, None)
        watch.guard = choice.guard if options.on is None else None
        options.ran = choice.device
        if options.profile is None and choice.device != "cpu":
            options.profile = Profile()
        try:
            with usage.budget(options.memory).part() as budget:
                _begun(plan, graph, options, budget)
                made = run(choice, watch, budget)
            break
        except (DeviceError, LimitExceeded) as error:
            if not options.gave_up(plan, error):
                raise
            choice = choose(plan, options.device, graph)
        except Elsewhere:
            assert choice.guard is not None
            plan.runs.add("cpu", choice.guard.whole)
            choice = Choice("cuda:0", "the CPU would take longer")
    plan.runs.add(options.ran, time.perf_counter() - begun)
    if options.profile is not None:
        options.profile.add(watch)
    return made


def tallies(
    plan: Plan, graph: GraphSource, options: Options, bindings: Bindings | None = None
) -> tuple[Embeddings, I64]:
    """A row for each data vertex that the first query vertex of a counting plan without terms is bound to, its other
    columns without meaning, and the number of its embeddings, i64[rows].

    Raises as `count`.
    """

    def run(choice: Choice, watch: Watch, budget: Budget) -> I64:
        elsewhere = _elsewhere(plan, graph, options, bindings, "tallies", watch)
        if elsewhere is not None:
            total = np.zeros(graph.vertex_count, np.int64)
            with closing(elsewhere):
                for answer in elsewhere:
                    total += 0 if answer.numbers is None else answer.numbers
            return total
        prepared = stage(plan, graph, bindings, windows=choice.windows)
        if choice.device == "cpu":
            from .cpu import launch as cpu  # here: a run needs one backend

            _profile(plan, prepared, options, watch)
            return cpu.tallies(prepared, watch, budget, options.threads)
        from .gpu import launch as gpu

        return gpu.tallies(prepared, watch, budget, choice.ordinals, options.gpu_memory)

    found = _on_device(plan, graph, options, run)
    vids = np.flatnonzero(found).astype(np.uint32)
    numbers = found[vids]
    if len(numbers) and int(numbers.max()) * plan.multiplicity >= 1 << 63:
        raise CountOverflow(
            "The count of a vertex exceeds 2^63 - 1.", "Query a smaller pattern or part of it."
        )
    columns = np.broadcast_to(vids[:, np.newaxis], (len(vids), plan.vertices))
    return Embeddings(columns, unbound_edges(len(vids), plan.edges)), numbers * plan.multiplicity


def _begun(plan: Plan, graph: GraphSource, options: Options, budget: Budget) -> None:
    if options.profile is not None:
        options.profile.begun(plan, graph, budget)


def _profile(plan: Plan, prepared: Prepared, options: Options, watch: Watch) -> None:
    """Have the workers count how often each loop is bound, where the options demand it."""
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
    bindings: Bindings | None = None,
    spill: Callable[[Part, Shelf], Part] | None = None,
) -> Found[Part]:
    """The embeddings of a plan for rows, twins written out, at most `limit` of them, in no promised order.

    make : what to keep of some rows, see `handed_over`. It is called at least once, if need be with no rows.
    spill : puts that into temporary files, where the budget has no room for it; None: then OutOfBudget is raised.

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget, DeviceError.
    """
    found: Found[Part] = Found()
    lock = threading.Lock()
    row_bytes = 8 * (len(wanted.vertices) + len(wanted.edges))

    def keep(part: Embeddings) -> None:
        fits = spill is not None and budget.fits(len(part) * row_bytes, ROWS)
        if spill is None:
            budget.take(len(part) * row_bytes, ROWS)
        made = make(part)
        with lock:
            found.parts.append(made if spill is None or fits else spill(made, shelf))

    begun = time.perf_counter()
    try:
        with usage.budget(options.memory).part() as budget:
            shelf = Shelf(budget, ROWS)
            found.rows = _handed_over(plan, graph, options, wanted, keep, limit, bindings, budget)
    except (DeviceError, LimitExceeded) as error:
        if not options.gave_up(plan, error):
            raise
        return rows(plan, graph, options, wanted, make, limit, bindings, spill)
    plan.runs.add(options.ran, time.perf_counter() - begun)
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
    bindings: Bindings | None = None,
) -> int:
    """Hand the embeddings of a plan for rows over as they are found, twins written out, at most `limit` of them, in no
    promised order; how many there were.

    take : gets some rows, at least one, in several threads; their memory is used again when it returns. While it waits,
        so does the worker that found them, and no more are found than it takes.

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget, DeviceError; what `take` raises.
    """
    with usage.budget(options.memory).part() as budget:
        return _handed_over(plan, graph, options, wanted, take, limit, bindings, budget)


def _handed_over(
    plan: Plan,
    graph: GraphSource,
    options: Options,
    wanted: Wanted,
    take: Callable[[Embeddings], None],
    limit: int | None,
    bindings: Bindings | None,
    budget: Budget,
) -> int:
    watch = Watch(options.timeout, options.cancel, limit)
    lock = threading.Lock()
    wanted = wanted.under(plan.twins)
    rows = 0
    _begun(plan, graph, options, budget)

    def deliver(some: Embeddings) -> None:
        nonlocal rows
        for twin in plan.twins or (None,):
            part = some if twin is None else replace(some, turned=twin)
            count = watch.grant(len(part))
            if count:
                take(part.part(0, count))
                with lock:
                    rows += count

    if limit != 0:
        try:
            _deliver(plan, graph, options, wanted, deliver, watch, budget, bindings)
        except (DeviceError, LimitExceeded) as error:
            if rows or not options.gave_up(plan, error):
                raise
            watch = Watch(options.timeout, options.cancel, limit)
            _deliver(plan, graph, options, wanted, deliver, watch, budget, bindings)
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
    bindings: Bindings | None,
) -> None:
    """Hand over what a device finds, a part at a time."""
    choice = choose(
        plan, options.device, graph, limit=watch.limit, runs=True, gpu_memory=options.gpu_memory
    )
    options.ran = choice.device
    if options.profile is None and choice.device != "cpu":
        options.profile = Profile()
    if wanted.once is not None:
        elsewhere = _elsewhere(
            _without_twins(plan), graph, options, bindings, "distinct", watch, wanted
        )
        if elsewhere is not None:
            vids = _vids(elsewhere)
        else:
            prepared = stage(plan, graph, bindings)
            vids = _distinct(choice, prepared, plan, options, wanted.once, watch, budget)
        watch.found = 0  # rows are counted when they are delivered
        columns = np.broadcast_to(vids[:, np.newaxis], (len(vids), plan.vertices))
        deliver(Embeddings(columns, unbound_edges(len(vids), plan.edges)))
        return
    elsewhere = _elsewhere(plan, graph, options, bindings, "rows", watch, wanted)
    if elsewhere is not None:
        with closing(elsewhere):
            for answer in elsewhere:
                for part in answer.rows:
                    deliver(part)
        return
    prepared = stage(plan, graph, bindings, windows=choice.windows)
    if choice.device == "cpu":
        from .cpu import launch as cpu  # here: a run needs one backend

        _profile(plan, prepared, options, watch)
        cpu.deliver_rows(prepared, watch, budget, wanted, deliver, options.threads)
        return
    from .gpu import launch as gpu

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
    bindings: Bindings | None = None,
) -> list[DeviceArray]:
    """Columns of ids of the embeddings of a plan for rows, i64[rows] each, in the memory of the GPU that
    `options.device` names; twins written out, at most `limit` rows, in no promised order.

    Raises
    ------
    As `rows`; DeviceError also where the rows do not fit the GPU.
    """
    choice = choose(plan, options.device, graph)
    if choice.device == "cpu":
        raise DeviceError("Columns on a GPU were requested from the CPU.", 'Use device="cuda".')
    if len(choice.ordinals) > 1:
        raise DeviceError(
            f"Columns lie on one GPU, not on {choice.device!r}.", 'Use device="cuda:N".'
        )
    from .gpu import launch as gpu

    watch = Watch(options.timeout, options.cancel, limit)
    prepared = stage(plan, graph, bindings, windows=choice.windows)
    wanted = wanted.under(plan.twins)
    (ordinal,), memory = choice.ordinals, options.gpu_memory
    with usage.budget(options.memory).part() as budget:
        found = gpu.columns(prepared, watch, budget, wanted, picks, plan.twins, ordinal, memory)
    if options.profile is not None:
        options.profile.add(watch)
    return found


def count_distinct(
    plan: Plan, graph: GraphSource, options: Options, vertex: int, bindings: Bindings | None = None
) -> int:
    """The number of data vertices of one query vertex over all embeddings of a plan without twins.
    Raises as `rows`."""

    def run(choice: Choice, watch: Watch, budget: Budget) -> int:
        elsewhere = _elsewhere(
            _without_twins(plan),
            graph,
            options,
            bindings,
            "distinct",
            watch,
            Wanted((vertex,), once=vertex),
        )
        if elsewhere is not None:
            return len(_vids(elsewhere))
        prepared = stage(plan, graph, bindings)
        if choice.device != "cpu":
            return len(_distinct(choice, prepared, plan, options, vertex, watch, budget))
        from .cpu import launch as cpu  # here: it loads the kernel

        _profile(plan, prepared, options, watch)
        return cpu.count_distinct(prepared, watch, budget, vertex, options.threads)

    return _on_device(plan, graph, options, run)


def _vids(answers: Generator[Answer, None, None]) -> U32:
    """All vids of some answers, each once, ascending."""
    with closing(answers):
        found = [answer.numbers for answer in answers if answer.numbers is not None]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *found])).astype(np.uint32)


def _distinct(
    choice: Choice,
    prepared: Prepared,
    plan: Plan,
    options: Options,
    vertex: int,
    watch: Watch,
    budget: Budget,
) -> U32:
    if choice.device == "cpu":
        from .cpu import launch as cpu  # here: a run needs one backend

        _profile(plan, prepared, options, watch)
        return cpu.distinct(prepared, watch, budget, vertex, options.threads)
    from .gpu import launch as gpu

    return gpu.distinct(prepared, watch, budget, vertex, choice.ordinals, options.gpu_memory)


def _without_twins(plan: Plan) -> Plan:
    """The plan; rows that restrictions left out would hold values of their own."""
    if plan.twins:
        raise InternalError(
            "Distinct values were requested from a plan with twins.", "Please report it."
        )
    return plan
