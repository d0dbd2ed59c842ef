"""Estimates for a plan: its work, and the seconds of that work in the kernels of a GPU.

The figures were fitted to an H200 (docs/performance.md, "The choice of a device").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.records import dataclass

from .nest.prepare import Prepared

if TYPE_CHECKING:
    from .plan.plan import Plan

WARP_STEP = 6e-7  # seconds of one step of a warp, and
WARP_BOUND = 7.5e-5  # of one binding of a loop by a warp of the generic kernel, whose set operations are short;
OWN_BOUND = 1.7e-5  # by a kernel of its own
COMPILED = 3.0  # seconds of a run after which it has one
WARPS = 32  # of a multiprocessor
UNIT = 32  # neighbours of a root's list that make one work unit of a GPU


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


def kernel_seconds(prepared: Prepared, work: Work, most: int) -> float:
    """Seconds in the kernels of a GPU with `most` warps that holds the graph."""
    busy = most
    if prepared.nest.around:  # warps do not share what is multiplied
        busy = max(1, min(most, len(prepared.roots) + prepared.work // UNIT))
    seconds = (WARP_STEP * work.steps + WARP_BOUND * work.bound) / busy
    if seconds > COMPILED and not prepared.nest.around:
        own = (WARP_STEP * work.steps + OWN_BOUND * work.bound) / busy
        seconds = COMPILED + (1.0 - COMPILED / seconds) * own
    return seconds
