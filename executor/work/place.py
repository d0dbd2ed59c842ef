"""The position of a search on the CPU, as a value that other threads and processes continue from."""

from __future__ import annotations

import numpy as np

from gdb.records import dataclass, replace
from gdb.storage.graph.adjacency import I64

# rows of a worker's table of its loops, i64[ROWS, loops]: what each is bound to; the position and the end in its list;
# sums and products of loops that join; what can be found again from these: where the list lies, and where it starts
BOUND, POSITION, END, SUM, PRODUCT, ADDRESS, START = range(7)
ROWS, KEPT = 7, 5


@dataclass(slots=True, eq=False)
class Place:
    """The position of a search: any worker of the stage can go on from here.

    loops : i64[KEPT, loops]. depth, entering, joined, total : as in a worker's control array.
    """

    loops: I64
    depth: int
    entering: int
    joined: int
    total: int

    @classmethod
    def of_roots(cls, start: int, end: int, loops: int) -> Place:
        """Before the roots [start, end) of a nest of so many loops."""
        place = cls(np.zeros((KEPT, loops), np.int64), 0, 0, 0, 0)
        place.loops[POSITION, 0], place.loops[END, 0] = start, end
        return place

    def halve(self) -> Place | None:
        """Take off the later half of what is left of the outermost loop that has two elements left, or more; None where
        none has. For a place between two elements of its innermost loop, with no product under way
        (`Worker.give`)."""
        for k in range(self.depth + 1):
            position, end = self.loops[POSITION : END + 1, k].tolist()
            if end - position > 1:
                rest = replace(self, loops=self.loops.copy(), depth=k)
                rest.loops[END, :k] = rest.loops[POSITION, :k]
                rest.loops[POSITION, k] = self.loops[END, k] = (position + end) // 2
                return rest
        return None

    def cut(self) -> Place | None:
        """Take off what is left of the outermost loop, around the one at `depth`, that has anything left; None where
        none has. For a nest whose loops do not branch."""
        for k in range(self.depth):
            if self.loops[POSITION, k] < self.loops[END, k]:
                rest = replace(self, loops=self.loops.copy(), depth=k, entering=0)
                self.loops[END, k] = self.loops[POSITION, k]
                return rest
        return None
