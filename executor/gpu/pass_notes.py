"""The notes of passes over a graph that does not fit its share of a device, on a stage's work units and on their local
graphs: `unit_passes.py` and `kernels/local.cuh` say what they are."""

from __future__ import annotations

import numpy as np

from gdb.storage.graph.adjacency import I64

from ..work.scheduler import Budget
from . import unit_passes
from .layout import Job
from .local import LocalGraph
from .own_arrays import Own, Shared
from .placing import Placed

_WHAT = "the edges of its local graphs"


class PassNotes:
    """The notes of one stage, whose `job` says where they lie; there are none where it runs in one pass.

    units : the mark of each work unit, u64[units]. rows : a bit for each u32 of the rows of bits of local graphs, and
    one for each root whose list a last pass counts in. keeps_rows : whether there is such a pass. needed : and the
    stage cannot run otherwise, as no rows but those of roots are there: its own kernel alone knows local graphs.
    """

    def __init__(self, job: I64, *, needed: bool = False) -> None:
        self._job, self._must = job, needed
        self.units: Shared | None = None
        self.rows: Shared | None = None
        self.keeps_rows = False

    def place_rows(
        self,
        local: LocalGraph,
        sizes: I64 | None,
        own: Own,
        budget: Budget,
        *,
        alone: bool,
    ) -> bool:
        """Room in page-locked memory for what passes find of local graphs; False where there is none, or another device
        finds a part of it: the nest runs without.

        sizes : how long the list of each root is, i64[roots]. alone : no other device has work units of the stage, and
        no other count than one is wanted.

        Raises
        ------
        OutOfBudget : there is no room, and they are needed.
        """
        if local.first > 1 or (local.in_passes and local.only_edges):
            return True
        if sizes is None or not alone or not local.in_passes:
            return False
        each = unit_passes.local_bytes(sizes)
        size = int(each.sum())
        if budget.left is not None and size > budget.left // 2 and not self._must:
            return False
        job = self._job
        job[Job.LOCAL_ROWS] = own.locked(size, _WHAT).address
        job[Job.LOCAL_AT] = own.put((np.cumsum(each) - each) // 4, _WHAT)
        words = -(-size // 128)
        self.rows = own.zeros(words + -(-len(each) // 32), np.uint32, _WHAT)
        job[Job.LOCAL_MARKS] = self.rows.address
        job[Job.LOCAL_LISTS] = self.rows.address + 4 * words
        self.keeps_rows = True
        return True

    @property
    def needed(self) -> bool:
        """Whether the stage runs with rows of bits only."""
        return self._must and self.keeps_rows

    def mark(self, graph: Placed, units: int, view: I64, own: Own) -> None:
        """Write the mark of each of so many work units, which are placed. view : as `Placed.mark`."""
        self.units = own.zeros(units, np.uint64, "the passes of its units")
        self._job[Job.MARKS] = self.units.address
        graph.mark(self._job, units, view)

    def clear(self) -> None:
        """What local graphs left of the run before is gone, when the device's stream comes to it."""
        if self.rows is not None:
            self.rows.clear()
