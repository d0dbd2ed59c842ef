"""Memory of walkers and searches: buffers for what they find, and marks for each vertex.

To have it from the system, page by page, takes longer than a short walk. So what walks in memory leave is kept for the
next ones, a few pieces at most. Whatever uses a piece leaves its marks as they were, zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdb.storage.disk.arrays import placed

from . import paths, reach

if TYPE_CHECKING:
    from gdb.base.budget import Budget
    from gdb.storage.graph.adjacency import I64

CAPACITY = 1 << 16  # paths in a buffer
EDGE_CAPACITY = 1 << 18  # edges of the paths in it
SHALLOW = 64  # vertices of the first stack; a deeper walk gets a larger one
MOST_KEPT = 4  # pieces of each sort
MOST_VIDS = 1 << 20  # of marks that are kept
MARKS = "marks of a search"  # what memory is for
_STACK = [paths.WK.AT, paths.WK.END, paths.WK.VIDS, paths.WK.EIDS]


class Buffers:
    """A walker's state, its stack, and the buffers for what it finds, at their addresses in the state."""

    def __init__(self) -> None:
        self.state = np.zeros(paths.WK.N, np.int64)
        self.rows, self.numbers = np.empty(CAPACITY, np.int64), np.empty(CAPACITY, np.int64)
        self.ends = np.empty(CAPACITY, np.uint32)
        self.state[paths.WK.OUT_ROWS] = self.rows.ctypes.data
        self.state[paths.WK.OUT_ENDS] = self.ends.ctypes.data
        self.state[paths.WK.OUT_NUMBERS] = self.numbers.ctypes.data
        self._stack = np.zeros((4, 0), np.int64)
        self.make_edges(EDGE_CAPACITY)
        self.make_stack(SHALLOW)

    def make_edges(self, size: int) -> None:
        """Have room for so many edges of paths; what is in it goes."""
        self.eids = np.empty(size, np.int64)
        self.state[paths.WK.OUT_EIDS] = self.eids.ctypes.data
        self.state[paths.WK.EDGE_CAPACITY] = size

    def make_stack(self, size: int) -> None:
        """Have a stack of so many vertices; what is in it stays."""
        made = np.zeros((4, size), np.int64)
        made[:, : self._stack.shape[1]] = self._stack
        self._stack = made
        at = made.ctypes.data
        self.state[_STACK] = at, at + 8 * size, at + 16 * size, at + 24 * size
        self.state[paths.WK.ROOM] = size

    def leave(self) -> None:
        """Keep them for another walker, unless they have grown."""
        ordinary = self._stack.shape[1] == SHALLOW and len(self.eids) == EDGE_CAPACITY
        if ordinary and len(_buffers) < MOST_KEPT:
            _buffers.append(self)


class Marks:
    """What a breadth-first search has for each vertex; u32[vids], `again` u8[vids]. `distances` and `again` are zeros
    before and after it.

    budget : which has room for it; None: in memory.
    """

    def __init__(self, vids: int, budget: Budget | None) -> None:
        self.vids, self._kept = vids, vids <= MOST_VIDS and (budget is None or budget.limit is None)
        self.distances, self.queue, self._sources, self._branches = (
            placed(vids, np.uint32, MARKS, budget) for _ in range(4)
        )
        self._again = placed(vids, np.uint8, MARKS, budget)

    def put(self, state: I64) -> None:
        """Put the addresses into the state of a search."""
        state[_MARKS] = (
            *(self.distances.ctypes.data, self._sources.ctypes.data, self._branches.ctypes.data),
            *(self.queue.ctypes.data, self._again.ctypes.data),
        )

    def leave(self) -> None:
        """Keep them for another search, unless they are large."""
        if self._kept and len(_marks) < MOST_KEPT:
            _marks.append(self)


_MARKS = [reach.SE.DISTANCE, reach.SE.SOURCE, reach.SE.BRANCH, reach.SE.QUEUE, reach.SE.AGAIN]
_buffers: list[Buffers] = []
_marks: list[Marks] = []


def buffers() -> Buffers:
    """Some that no walker has."""
    try:
        return _buffers.pop()
    except IndexError:
        return Buffers()


def marks(vids: int, budget: Budget | None) -> Marks:
    """Some that no search has, for at least so many vertices. budget : see `Marks`."""
    if budget is None or budget.limit is None:
        try:
            found = _marks.pop()
        except IndexError:
            pass
        else:
            if found.vids >= vids:
                return found  # else it was of a smaller graph, and goes
    return Marks(max(vids, 1), budget)
