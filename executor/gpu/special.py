"""Special kernels: the kernel of one nest, its tables as constants in the source.

A prepared stage that has kept the GPU busy gets one. It is compiled in the background, while the generic kernel goes
on, and takes over at the next launch. Nests of the same tables share one.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from gdb.base import usage, waiting
from gdb.base.once import PerProcess
from gdb.errors import DeviceError

from ..table_fields import NodeField, Role
from . import compiler, render
from .compiler import Function
from .layout import Job

if TYPE_CHECKING:
    from .stage import Stage

WORTH = 0.005  # seconds on the GPU from which a stage gets its own kernel; to compile it takes a core 1 s or more,
SOON = 4  # and each loop more than these about half as long again: 15 s with 10; with 24 NVRTC has ended by a signal
LARGE = (
    64 << 20
)  # bytes that were placed for a stage, above which it is looked whether its kernel is kept
LOADING = 0.05  # seconds that a stage waits for its kernel before it begins with the generic one
MOST_NODES = 4
"""Nodes of trees in a nest that branches and gets a kernel of its own: with three trees of two that takes 54 s."""
_CONSTANTS = (
    *(Job.LOOPS, Job.COUNTING, Job.NODE_COUNT, Job.LEVEL_COUNT, Job.STATE_WORDS, Job.CUT_NODE),
    *(Job.FILTER_BITS, Job.FILTER_WORDS, Job.ONCE, Job.PAIRS, Job.JOINS_AT, Job.OUTER, Job.PACKS),
    *(Job.IN_PASSES, Job.GROUP),
)
_TABLES = (
    *(Job.LEVELS, Job.SETS, Job.REFS, Job.CHECKS, Job.NODES),
    *(Job.SIMPLE, Job.SCRATCH_AT, Job.SPREAD_AT, Job.FILTER_AT),
)


class Kernel:
    """A special kernel. function : None while it is being compiled, and where it cannot be: the log says why, and the
    generic one goes on."""

    def __init__(self, source: str, ordinal: int) -> None:
        self.function: Function | None = None
        self.done = threading.Event()
        arguments = (source, ordinal)
        threading.Thread(target=self._make, args=arguments, name="gdb-nvrtc", daemon=True).start()

    def _make(self, source: str, ordinal: int) -> None:
        import cupy

        try:
            with cupy.cuda.Device(ordinal):
                self.function = compiler.load_kernels(source, ordinal).get_function(render.ENTRY)
        except (DeviceError, RuntimeError) as error:
            _log.warning(
                "A query goes on with the general GPU kernel, its own not being made: %s", error
            )
        finally:
            self.done.set()


class Race:
    """The generic kernel and a stage's own: runs go on with the one that has done all of a run in less time.

    runs : seconds of the quickest run with each, under `key` and whether the kernel is the stage's own; all stages of a
        prepared one have them in common.
    """

    def __init__(self, runs: dict[object, float], key: object) -> None:
        self._runs, self._key = runs, key
        # of the run so far; whether it stays with the generic one
        self._seconds, self._stays = (0.0, False)
        self._with_own: bool | None = None  # None: both have had a part in it

    @staticmethod
    def quickest(runs: dict[object, float], key: object) -> float:
        """Seconds of the quickest run with either kernel, infinite without any."""
        return min(runs.get((key, own), float("inf")) for own in (False, True))

    def own(self, own: Function | None, *, begins: bool, whole: bool) -> Function | None:
        """The stage's own kernel where the next launch is to have it. begins : a run begins with it. whole : a run
        stays with the kernel that it began with."""
        if begins:
            generic = self._runs.get((self._key, False), float("inf"))
            self._stays = generic < self._runs.get((self._key, True), 0.0)
        if self._stays or (whole and not begins and not self._with_own):
            own = None
        if begins:
            self._seconds, self._with_own = 0.0, own is not None
        elif self._with_own != (own is not None):
            self._with_own = None
        return own

    def add(self, seconds: float, *, ended: bool) -> None:
        """A launch has taken so long. ended : and with it the run has."""
        self._seconds += seconds
        if ended and self._with_own is not None:
            key = self._key, self._with_own
            self._runs[key] = min(self._seconds, self._runs.get(key, self._seconds))


_log = logging.getLogger("gdb")


class _Kernels:
    def __init__(self) -> None:
        self.lock = waiting.Lock()
        self.known: dict[tuple[int, str], Kernel] = {}


_made = PerProcess(_Kernels)


def settle(seconds: float) -> bool:
    """Wait until nothing is being compiled, at most so long; whether that is so."""
    end = time.monotonic() + seconds
    made = _made.get()
    with made.lock:
        kernels = list(made.known.values())
    return all(waiting.happens(kernel.done, end) for kernel in kernels)


def source_of(stage: Stage) -> str:
    """The source of a stage's own kernel."""
    numbers = {job: int(stage.job[job]) for job in _CONSTANTS}
    tables = {job: stage.small_tables[job] for job in _TABLES}
    bits = None if stage.cold else stage.bits  # matrices of bits are made of whole rows
    how = {"narrow": stage.narrow, "cold": stage.cold}
    return render.special(numbers, tables, stage.local, bits, **how)


def is_worth(stage: Stage) -> bool:
    """Whether a stage has kept the GPU busy for long enough to get a kernel of its own, and that is soon compiled; or
    an earlier process has compiled it, and the stage is over a graph that is large and new here."""
    if stage.tables.branches:
        roles = stage.tables.nodes[:, NodeField.ROLE]
        if np.count_nonzero(roles != Role.LONE) > MOST_NODES:
            return False
    spent = stage.prepared.spent.get(stage.ordinal, 0.0)
    if (
        spent == 0
        and stage.moved_bytes > LARGE
        and compiler.is_kept(source_of(stage), stage.ordinal)
    ):
        return True
    return spent > WORTH * (1 << max(stage.tables.loops - SOON, 0))


def function_of(kernel: Kernel | None, *, needed: bool) -> Function | None:
    """A kernel's function, where it is there. needed : it is waited for.

    Raises
    ------
    DeviceError : it is needed, and cannot be compiled; the log says why.
    Cancelled, QueryTimeout : the query of this thread is to go no further.
    """
    if kernel is None:
        return None
    while needed and not waiting.happens(kernel.done, time.monotonic() + LOADING):
        usage.pulse()
    found = kernel.function
    if needed and found is None:
        raise DeviceError(
            "The query's own GPU kernel, without which it needs more host memory, cannot be compiled.",
            'Raise memory=, or use device="cpu".',
        )
    return found


def kernel_of(stage: Stage) -> Kernel:
    """The special kernel of a stage, compiled on first use; a kept one is loaded before the stage begins."""
    key, made = (stage.ordinal, source_of(stage)), _made.get()
    with made.lock:
        if key not in made.known:
            made.known[key] = Kernel(key[1], stage.ordinal)
        found = made.known[key]
    if not stage.prepared.spent.get(stage.ordinal):
        waiting.happens(found.done, time.monotonic() + LOADING)
    return found
