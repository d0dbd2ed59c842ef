"""The options of a run, and its profile."""

from __future__ import annotations

import logging
import math
import threading
from typing import TYPE_CHECKING

from gdb.errors import GdbError, OutOfBudget
from gdb.records import dataclass, field
from gdb.storage.graph.adjacency import I64

from .plan.plan import Plan
from .plan.source import GraphSource
from .work.scheduler import Budget, Watch

if TYPE_CHECKING:
    from .cluster.cluster import Cluster

_log = logging.getLogger("gdb")


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
    plans : the first `MOST_PLANS` runs, in their order; a caller that profiles several parts of a query sets its own.
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
        for candidate sets and rows,
    None for no bound. gpu_memory : bytes of each GPU, None for a share of what is free.
    timeout : seconds. cancel : when set, the run stops within about 10 ms of
    work. profile : where to put what the run did, None to forget it.
    on : other processes that share the work of what takes long; None for none.
    ran : the device of the last run, once it began; "cluster" for other processes. lost : what became of GPUs that gave
        a run up, which then went on on the CPU.
    """

    device: str = "auto"
    threads: int = 0
    memory: int | None = None
    timeout: float | None = None
    cancel: threading.Event | None = None
    profile: Profile | None = None
    on: Cluster | None = None
    ran: str = "cpu"
    lost: tuple[str, ...] = ()
    gpu_memory: int | None = None

    def gave_up(self, plan: Plan, error: GdbError) -> bool:
        """Whether a GPU that was chosen automatically gave a run of a plan up: then this query goes on on the CPU, and
        the plan does not come back to a GPU, unless it was memory that this query had too little of."""
        if self.ran == "cpu" or self.device != "auto":
            return False
        if not isinstance(error, OutOfBudget):
            plan.runs.add(self.ran, math.inf)
        self.device = "cpu"
        message = f"{self.ran} gave up, so the query ran on the CPU: {error}"
        self.lost = (*self.lost, message)
        _log.warning(message)
        return True
