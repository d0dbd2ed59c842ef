"""Run a plan: choose the device, prepare the stage, launch it, write twins out.

This is the one place that knows which backends there are; a backend renders and launches, it never
re-plans.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from gdb.errors import DeviceError
from gdb.executor.embeddings import Embeddings
from gdb.executor.plan import Plan
from gdb.executor.prepare import Prepared, prepare
from gdb.executor.scheduler import Budget, Watch
from gdb.executor.source import GraphSource
from gdb.executor.twins import expand

# Below this many expected partial embeddings a query ends on the CPU before a GPU has its data: the
# link gives 10 GB/s from pageable memory, a launch with its synchronisations takes about 0.1 ms.
WORTH_A_GPU = 50_000_000.0


@dataclass(frozen=True, slots=True)
class Options:
    """How a query may run.

    device : "auto", "cpu", "gpu" (or "cuda"), "cuda:N". threads : 0 for all cores. memory : bytes
        for candidate sets and rows,
    None for no bound. timeout : seconds. cancel : when set, the run stops within about 10 ms of
    work.
    """

    device: str = "auto"
    threads: int = 0
    memory: int | None = None
    timeout: float | None = None
    cancel: threading.Event | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The device that a plan runs on, and why."""

    device: str
    why: str

    @property
    def ordinal(self) -> int:
        return int(self.device.partition(":")[2] or 0)


def choose(plan: Plan, device: str) -> Choice:
    """Where a plan runs.

    Raises
    ------
    DeviceError : the device asked for is unknown or absent.
    """
    name = device.lower()
    if name == "cpu":
        return Choice("cpu", "asked for")
    if name in ("gpu", "cuda") or (name.startswith("cuda:") and name[5:].isdigit()):
        from gdb.executor.gpu.device import require

        ordinal = int(name.partition(":")[2] or 0)
        require(ordinal)
        return Choice(f"cuda:{ordinal}", "asked for")
    if name != "auto":
        raise DeviceError(f"There is no device {device!r}.", "Use auto, cpu, cuda or cuda:N.")
    expected = max(plan.notes.estimates, default=0.0)
    if expected < WORTH_A_GPU:
        return Choice("cpu", f"about {expected:.3g} partial embeddings are not worth a transfer")
    from gdb.executor.gpu.device import absence

    missing = absence()
    if missing is not None:
        return Choice("cpu", missing)
    return Choice("cuda:0", f"about {expected:.3g} partial embeddings are worth a transfer")


def count(plan: Plan, graph: GraphSource, options: Options) -> int:
    """Number of embeddings of a counting plan: its own and those of its terms.

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget, DeviceError, CountOverflow (2^63 or more in one work unit).
    """
    choice = choose(plan, options.device)
    watch, budget = Watch(options.timeout, options.cancel, None), Budget(options.memory)
    total = 0
    for factor, term in ((1, plan), *plan.terms):
        prepared = stage(term, graph, trees=choice.device == "cpu")
        if choice.device == "cpu":
            from gdb.executor.cpu import launch as cpu

            found = cpu.count(prepared, watch, budget, options.threads)
        else:
            from gdb.executor.gpu import launch as gpu

            found = gpu.count(prepared, watch, budget, choice.ordinal)
        total += factor * term.multiplicity * found
    return total


def stage(plan: Plan, graph: GraphSource, *, trees: bool) -> Prepared:
    """The plan's stage, prepared once for each plan and graph and kept as long as the plan."""
    key = (id(graph), trees)
    known = plan.stages.get(key)
    if known is None or known[0] is not graph:
        known = plan.stages[key] = (graph, prepare(plan, graph, trees=trees))
    prepared = known[1]
    assert isinstance(prepared, Prepared)
    return prepared


def rows(plan: Plan, graph: GraphSource, options: Options, limit: int | None = None) -> Embeddings:
    """The embeddings table of a plan for rows, at most `limit` of them, in no promised order.

    Raises
    ------
    Cancelled, QueryTimeout, OutOfBudget, DeviceError.
    """
    if limit == 0:
        empty = np.zeros((0, plan.vertices), np.uint32)
        return Embeddings(empty, np.zeros((0, plan.edges), np.int64))
    watch, budget = Watch(options.timeout, options.cancel, limit), Budget(options.memory)
    choice = choose(plan, options.device)
    prepared = stage(plan, graph, trees=choice.device == "cpu")
    if choice.device == "cpu":
        from gdb.executor.cpu import launch as cpu

        found = cpu.rows(prepared, watch, budget, options.threads)
    else:
        from gdb.executor.gpu import launch as gpu

        found = gpu.rows(prepared, watch, budget, choice.ordinal)
    if limit is not None:
        found = Embeddings(found.vids[:limit], found.eids[:limit])
    copies = max(len(plan.twins) - 1, 0)
    budget.take(copies * (found.vids.nbytes + found.eids.nbytes), "the twins of its rows")
    table = expand(found, plan.twins)
    return table if limit is None else Embeddings(table.vids[:limit], table.eids[:limit])
