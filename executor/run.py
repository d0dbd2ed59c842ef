"""Run a plan: choose the device, prepare the stage, launch it, write twins out.

Of the rest of the executor only `choose_device` knows which backends there are; a backend renders and launches, it
never re-plans.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import cache, partial
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from gdb.base import usage
from gdb.errors import CountOverflow, DeviceError, InternalError, LimitExceeded
from gdb.records import dataclass, field, quick, replace
from gdb.storage.disk.arrays import Shelf
from gdb.storage.graph.adjacency import I64, U32

from .choose_device import (
    Backend,
    Choice,
    choose,
    distinct_values,
    embeddings_of,
    end_short_run,
    in_every_column,
    short_run,
)
from .nest.bindings import Bindings
from .nest.prepare import Prepared, needs_no_roots, stage
from .options import Options as Options
from .options import PlanRun as PlanRun
from .options import Profile as Profile
from .plan.embeddings import NO_COLUMNS, Embeddings, KeptParts, Wanted, unbound_edges
from .plan.plan import Plan, overflow
from .plan.source import GraphSource
from .work.scheduler import Budget, Elsewhere, Guard, Watch

if TYPE_CHECKING:
    from .cluster.task import Answer
    from .cpu.workers import Worker
    from .gpu.memory import DeviceArray
    from .gpu.rows import Pick

Part = TypeVar("Part")


@dataclass(slots=True)
class Found(Generic[Part]):
    """What was made of the embeddings, part by part, and how many there were."""

    parts: list[Part] = field(default_factory=list)
    rows: int = 0


@quick
@dataclass(frozen=True, slots=True)
class _GraphRun:
    """A plan that is to run over a graph. bindings : other candidates than the plan's. guard : gives it up for another
    plan."""

    plan: Plan
    graph: GraphSource
    options: Options
    bindings: Bindings | None
    guard: Guard | None = None

    def backend(self, choice: Choice) -> Backend:
        """The backend of the device that was chosen."""
        ordinals = None if choice.device == "cpu" else choice.ordinals
        return Backend(ordinals, self.options.threads, self.options.gpu_memory)

    def staged(
        self, choice: Choice, watch: Watch, plan: Plan | None = None, *, windows: bool | None = None
    ) -> Prepared:
        """A plan (None: that of the job) as a stage for the chosen device. Where the options demand it, the workers of
        the CPU count how often each loop is bound."""
        plan = plan or self.plan
        by_value = choice.windows if windows is None else windows
        by_value = by_value and needs_no_roots(plan, self.options.memory)
        prepared = stage(plan, self.graph, self.bindings, windows=by_value)
        profile = self.options.profile
        if profile is not None and profile.loops and choice.device == "cpu":
            watch.bound = np.zeros(prepared.tables.loops, np.int64)
            profile.bound[id(plan)] = watch.bound
        return prepared

    def elsewhere(
        self, what: str, watch: Watch, wanted: Wanted = NO_COLUMNS
    ) -> Generator[Answer, None, None] | None:
        """The answers of other processes to the plan by itself; None where it is run here. To be closed."""
        on = self.options.on
        if on is None or watch.limit is not None:
            return None
        from .cluster import cluster  # here: only runs on a cluster need it

        seconds = cluster.shares([self.plan], self.graph, on, self.bindings)
        if seconds == [None]:
            return None
        self.options.ran = "cluster"
        shared = [self.plan], self.graph, self.options, seconds
        return cluster.ask(*shared, what, wanted, watch, self.bindings)

    def begin(self, choice: Choice) -> None:
        """Note the device on which a run begins."""
        self.options.ran = choice.device
        if self.options.profile is None and choice.device != "cpu":
            self.options.profile = Profile()

    def begun(self, budget: Budget) -> None:
        """Note in the profile that the plan runs."""
        if self.options.profile is not None:
            self.options.profile.begun(self.plan, self.graph, budget)

    def ended(self, watch: Watch) -> None:
        """Note in the profile what the run did."""
        if self.options.profile is not None:
            self.options.profile.add(watch)

    def on_device(self, run: Callable[[Choice, Watch, Budget], Part]) -> Part:
        """What `run` makes on the device that is chosen; where that is the CPU, and it turns out that a GPU would be
        done sooner, on the GPU."""
        plan, graph, options = self.plan, self.graph, self.options
        choice = choose(plan, options.device, graph, runs=True, gpu_memory=options.gpu_memory)
        deadline = options.timeout
        first = time.perf_counter()
        while True:
            begun = time.perf_counter()
            left = None if deadline is None else max(deadline - (begun - first), 0.0)
            watch = Watch(left, options.cancel, None)
            guards = () if options.on is not None else (choice.guard, self.guard)
            watch.guards = tuple(guard for guard in guards if guard is not None)
            self.begin(choice)
            try:
                with usage.budget(options.memory).part() as budget:
                    self.begun(budget)
                    made = run(choice, watch, budget)
                break
            except (DeviceError, LimitExceeded) as error:
                if not options.gave_up(plan, error):
                    raise
                choice = choose(plan, options.device, graph)
            except Elsewhere:
                if choice.guard is None or watch.left is not choice.guard:
                    raise
                plan.runs.add("cpu", choice.guard.whole)
                choice = Choice("cuda:0", "the CPU would take longer")
        plan.runs.add(options.ran, time.perf_counter() - begun)
        self.ended(watch)
        return made

    def distinct(
        self, choice: Choice, watch: Watch, budget: Budget, wanted: Wanted, *, number: bool
    ) -> U32 | int:
        """The data vertices of the vertex that `wanted` names, u32[n], or where nothing else is needed their number."""
        assert wanted.once is not None
        answers = self.without_twins().elsewhere("distinct", watch, wanted)
        if answers is not None:
            with closing(answers):
                found = [answer.numbers for answer in answers if answer.numbers is not None]
            return np.unique(np.concatenate([np.zeros(0, np.int64), *found])).astype(np.uint32)
        prepared, backend = self.staged(choice, watch, windows=False), self.backend(choice)
        if number:
            return backend.count_distinct(prepared, watch, budget, wanted.once)
        return backend.distinct(prepared, watch, budget, wanted.once)

    def without_twins(self) -> _GraphRun:
        """The job; rows that restrictions left out would hold values of their own."""
        if self.plan.twins:
            raise InternalError(
                "Distinct values were requested from a plan with twins.", "Please report it."
            )
        return self

    def hand_over(
        self, wanted: Wanted, take: Callable[[Embeddings], None], limit: int | None, budget: Budget
    ) -> int:
        """See `handed_over`."""
        watch = self._watch(limit)
        wanted = wanted.under(self.plan.twins)
        lock = threading.Lock()
        rows = 0
        self.begun(budget)

        def deliver(some: Embeddings) -> None:
            nonlocal rows
            for twin in self.plan.twins or (None,):
                part = some if twin is None else replace(some, turned=twin)
                count = watch.grant(len(part))
                if count:
                    take(part.part(0, count))
                    with lock:
                        rows += count

        if limit != 0:
            try:
                self._deliver(wanted, deliver, watch, budget)
            except (DeviceError, LimitExceeded) as error:
                if rows or not self.options.gave_up(self.plan, error):
                    raise
                watch = self._watch(limit)
                self._deliver(wanted, deliver, watch, budget)
        self.ended(watch)
        return rows

    @property
    def is_plain(self) -> bool:
        """Whether it has the candidates of its plan, no budget, and is not measured loop by loop."""
        profile = self.options.profile
        measured = profile is not None and profile.loops
        return self.bindings is None and self.options.memory is None and not measured

    def _watch(self, limit: int | None) -> Watch:
        return Watch(self.options.timeout, self.options.cancel, limit)

    def _deliver(
        self, wanted: Wanted, deliver: Callable[[Embeddings], None], watch: Watch, budget: Budget
    ) -> None:
        """Hand over what a device finds, a part at a time."""
        plan, memory = self.plan, self.options.gpu_memory
        how = plan, self.options.device, self.graph
        choice = choose(*how, limit=watch.limit, runs=True, gpu_memory=memory)
        self.begin(choice)
        if wanted.once is not None:
            vids = self.distinct(choice, watch, budget, wanted, number=False)
            assert not isinstance(vids, int)
            watch.found = 0  # rows are counted when they are delivered
            deliver(in_every_column(vids, plan))
            return
        elsewhere = self.elsewhere("rows", watch, wanted)
        if elsewhere is None:
            if choice.device == "cpu" and plan.edges == 1 and self.is_plain:
                from .cpu.edge_scan import deliver_edges  # here: few patterns are one relationship

                if deliver_edges(plan, self.graph, wanted, watch, deliver):
                    return
            prepared = self.staged(choice, watch)
            self.backend(choice).deliver_rows(prepared, watch, budget, wanted, deliver)
            return
        with closing(elsewhere):
            for answer in elsewhere:
                for part in answer.rows:
                    deliver(part)


def count(
    plan: Plan,
    graph: GraphSource,
    options: Options,
    bindings: Bindings | None = None,
    guard: Guard | None = None,
) -> int:
    """Number of embeddings of a counting plan: its own and those of its terms.

    bindings : other candidates than the plan's; a plan with terms takes none. guard : may give the run up (Elsewhere).

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget, DeviceError, CountOverflow (2^63 or more in one work unit, or surely in all).
    """
    if plan.notes.too_many and bindings is None:
        raise overflow(plan)
    if not plan.terms:
        worker = short_run(plan, graph, options, bindings, NO_COLUMNS)
        if worker is not None:
            number = worker.total
            end_short_run(worker)
            return number * plan.multiplicity // plan.divisor
    job = _GraphRun(plan, graph, options, bindings, guard)
    try:
        return job.on_device(lambda *how: _counted(job, *how))
    except CountOverflow:
        if not plan.without_loops:
            raise overflow(plan) from None
    # a part of the pattern may have more embeddings than all of it: in loops it is counted where the rest is bound
    return count(replace(plan, tail=0, stages={}), graph, options, bindings, guard)


def _counted(job: _GraphRun, choice: Choice, watch: Watch, budget: Budget) -> int:
    terms = ((1, job.plan), *job.plan.terms)
    shared: dict[int, int] = {}
    options = job.options
    if options.on is not None:
        from .cluster import cluster  # here: only runs on a cluster need it

        plans = [term for _, term in terms]
        shared = cluster.counts(plans, job.graph, options, watch, job.bindings)
    left = [(factor, term) for k, (factor, term) in enumerate(terms) if k not in shared]
    alone = options.profile is not None and options.profile.loops
    found = job.backend(choice).counts(
        [term for _, term in left], partial(job.staged, choice, watch), watch, budget, alone=alone
    )
    counted = zip(left, found, strict=True)
    total = sum(terms[k][0] * terms[k][1].multiplicity * n for k, n in shared.items())
    total += sum(factor * term.multiplicity * n for (factor, term), n in counted)
    return total // job.plan.divisor


def tallies(
    plan: Plan, graph: GraphSource, options: Options, bindings: Bindings | None = None
) -> tuple[Embeddings, I64]:
    """A row for each data vertex that the first query vertex of a counting plan is bound to, its other columns without
    meaning, and the number of its embeddings, terms included, i64[rows]. bindings and errors: see `count`.
    """
    job, size = _GraphRun(plan, graph, options, bindings), plan.over(graph).vertex_count

    def numbers_of(term: Plan, choice: Choice, watch: Watch, budget: Budget) -> I64:
        elsewhere = replace(job, plan=term).elsewhere("tallies", watch)
        if elsewhere is None:
            return job.backend(choice).tallies(job.staged(choice, watch, term), watch, budget)
        total = np.zeros(size, np.int64)
        with closing(elsewhere):
            for answer in elsewhere:
                total += 0 if answer.numbers is None else answer.numbers
        return total

    def run(choice: Choice, watch: Watch, budget: Budget) -> I64:
        total, most = np.zeros(size, np.int64), 0
        for factor, term in ((1, plan), *plan.terms):
            found = numbers_of(term, choice, watch, budget)
            times = factor * term.multiplicity
            most += abs(times) * int(found.max(initial=0))
            if most >= 1 << 63:
                what, cure = "The count of a vertex exceeds 2^63 - 1.", "Query a smaller pattern."
                raise CountOverflow(what, cure)
            total += times * found
        return total

    found = job.on_device(run)
    vids = np.flatnonzero(found).astype(np.uint32)
    return in_every_column(vids, plan), found[vids]


def kept_bytes(plan: Plan) -> int:
    """Bytes of memory that the stages of a plan keep, and of one that took its place; waiting workers included."""
    plan = plan.best
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
    take_all: Callable[[Sequence[Embeddings]], bool] | None = None,
    size_of: Callable[[Embeddings, Part], int] | None = None,
    begin_pick: Callable[[], Callable[[Embeddings], Embeddings]] | None = None,
) -> Found[Part]:
    """The embeddings of a plan for rows, twins written out, at most `limit` of them, in no promised order.

    make : what to keep of some rows, see `handed_over`. It is called at least once, if need be with no rows.
    begin_pick : gives what leaves rows out before that, for a run, in several threads. Those of one short launch stay.
    spill : puts that into temporary files, where the budget has no room for it; None: then OutOfBudget is raised.
    take_all : takes the rows that one short launch has found, or gives False: then `make` gets them.
    size_of : bytes of what is kept of some rows; None: 8 for each element, as where it is less.

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget, DeviceError.
    """
    own = wanted.under(plan.twins)
    worker = short_run(plan, graph, options, bindings, own, limit, windows=own.once is None)
    if worker is not None:
        return _short_rows(plan, worker, make, limit, take_all)
    found: Found[Part] = Found()
    row_bytes = 8 * (len(wanted.vertices) + len(wanted.edges))
    job = _GraphRun(plan, graph, options, bindings)
    begun = time.perf_counter()
    try:
        with usage.budget(options.memory).part() as budget:
            how = make, spill, size_of, found.parts, begin_pick and begin_pick()
            kept = KeptParts(budget, row_bytes, *how)
            found.rows = job.hand_over(wanted, kept.keep, limit, budget)
    except (DeviceError, LimitExceeded) as error:
        if not options.gave_up(plan, error):
            raise
        again = limit, bindings, spill, None, size_of, begin_pick
        return rows(plan, graph, options, wanted, make, *again)
    plan.runs.add(options.ran, time.perf_counter() - begun)
    if not found.parts:
        empty = np.zeros((0, plan.vertices), np.uint32)
        found.parts.append(make(Embeddings(empty, unbound_edges(0, plan.edges))))
    return found


def _short_rows(
    plan: Plan,
    worker: Worker,
    make: Callable[[Embeddings], Part],
    limit: int | None,
    take_all: Callable[[Sequence[Embeddings]], bool] | None,
) -> Found[Part]:
    """The rows that a worker has found in one launch, as `rows` gives them."""
    some, rows = embeddings_of(worker, plan), 0
    parts: list[Embeddings] = []
    for twin in (len(some) and plan.twins) or (None,):  # of no rows there is one part
        part = some if twin is None else replace(some, turned=twin)
        parts.append(part if limit is None else part.part(0, limit - rows))
        rows += len(parts[-1])
    taken = take_all is not None and take_all(parts)
    found: Found[Part] = Found([] if taken else [make(part) for part in parts], rows)
    end_short_run(worker)
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
        return _GraphRun(plan, graph, options, bindings).hand_over(wanted, take, limit, budget)


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

    wanted = once(vertex)
    worker = short_run(plan, graph, options, bindings, wanted, windows=False)
    if worker is not None:
        number = len(distinct_values(worker))
        end_short_run(worker)
        return number
    job = _GraphRun(plan, graph, options, bindings)

    def run(choice: Choice, watch: Watch, budget: Budget) -> int:
        found = job.distinct(choice, watch, budget, wanted, number=True)
        return found if isinstance(found, int) else len(found)

    return job.on_device(run)


@cache
def once(vertex: int) -> Wanted:
    """What distinct values of a query vertex take of the embeddings."""
    return Wanted((vertex,), once=vertex)
