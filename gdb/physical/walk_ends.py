"""The ends of the paths of one relationship of variable length, and their number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdb.executor.cpu import walkers
from gdb.executor.cpu.path_ends import distinct_ends
from gdb.executor.nest.tables import bitset
from gdb.executor.walk import Question, Steps
from gdb.physical.rows.path_questions import differ_of
from gdb.records import dataclass, replace
from gdb.storage.columns.model import I64

if TYPE_CHECKING:
    from gdb.executor.walk import Conditions
    from gdb.physical.rows.pattern import RowEdge
    from gdb.storage.graph.snapshot import Snapshot

FEW = 64
"""So many times fewer ends are searched from each by itself, rather than from all the others at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """The ends found: vids of the left and the right ends, i64[n] each, None where not needed; `used` by column.

    numbers : lengths of paths, or their numbers; None where neither is needed. rows : n.
    """

    left: I64 | None
    right: I64 | None
    rows: int
    numbers: I64 | None = None
    used: dict[str, I64] | None = None

    @property
    def flipped(self) -> Ends:
        """The same with left and right exchanged."""
        return replace(self, left=self.right, right=self.left)


def no_ends() -> Ends:
    """Of no path."""
    return Ends(None, None, 0, np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Walks:
    """The paths of a relationship of variable length, and what is needed of them.

    steps : over which they go, from the left end on. wants_left, wants_right : whether the end is needed.
    once : all paths with the same ends are as one. listed : every path is one, and its length is needed.
    """

    snapshot: Snapshot
    conditions: Conditions
    edge: RowEdge
    steps: Steps
    wants_left: bool
    wants_right: bool
    once: bool = False
    listed: bool = False

    def between(self, left: I64 | None, right: I64 | None) -> Ends:
        """The ends of the paths between vertices, ascending vids, None for all.

        Raises
        ------
        OutOfBudget; what `conditions.look` raises.
        """
        if self._from_left(left, right):
            return self._find_ends(left, right, self.wants_left, self.wants_right, self.steps)
        wants = self.wants_right, self.wants_left
        return self._find_ends(right, left, *wants, self.steps.flipped).flipped

    def question(self, starts: I64 | None, over: Steps) -> Question:
        """The paths from vertices, None for all, over the steps or these flipped."""
        length = self.edge.length
        assert length is not None
        vids = self.snapshot.vertex_count
        begin = self.snapshot.vids() if starts is None else starts.astype(np.uint32)
        return Question(
            *(over, vids, self.snapshot.edge_count, begin, length.low, length.high),
            differ_of(self.edge.mode),
        )

    def _from_left(self, left: I64 | None, right: I64 | None) -> bool:
        """Whether to begin at the left ends: mostly at those that are fewer."""
        many, other = (
            self.snapshot.vertex_count if side is None else len(side) for side in (left, right)
        )
        if self.wants_left is self.wants_right:
            return many <= other
        # one search from all ends that are not needed finds the others, unless these are very few
        if self.once:
            wanted, rest = (many, other) if self.wants_left else (other, many)
            return self.wants_left is (wanted * FEW < rest)
        return many < other or (many == other and self.wants_left)

    def _find_ends(
        self, starts: I64 | None, ends: I64 | None, wants_start: bool, wants_end: bool, over: Steps
    ) -> Ends:
        """The ends of paths, the starts as the left ones."""
        question = self.question(starts, over)
        if ends is not None:
            question = replace(question, ends=bitset(ends, question.vids))
        begin, listed = question.starts.astype(np.int64), self.listed
        if self.once and not listed and question.reachable:
            as_one, most = not wants_start, None if wants_end else 1
            rows, last = walkers.reach_ends(question, self.conditions, as_one=as_one, most=most)
            side = last.astype(np.int64)
            return Ends(
                begin[rows] if wants_start else None, side if wants_end else None, len(rows)
            )
        if self.once and not listed:
            rows, last = distinct_ends(question, self.conditions)
            return _sides(begin[rows], last.astype(np.int64), wants_start, wants_end)
        if not listed:
            return self._counted(question, begin, wants_start, wants_end)
        rows, last, numbers = walkers.measure_paths(question, self.conditions)
        side = last.astype(np.int64)
        return Ends(begin[rows], side, len(rows), numbers)

    def _counted(self, question: Question, begin: I64, wants_start: bool, wants_end: bool) -> Ends:
        if not wants_end:
            rows, numbers = walkers.count_paths(question, self.conditions)
            if wants_start:
                return Ends(begin[rows], None, len(rows), numbers)
            return Ends(None, None, 1, np.array([numbers.sum()])) if len(rows) else no_ends()
        rows, last, numbers = walkers.tally_ends(question, self.conditions)
        side = last.astype(np.int64)
        if wants_start:
            return Ends(begin[rows], side, len(rows), numbers)
        values, at = np.unique(side, return_inverse=True)
        sums = np.zeros(len(values), np.int64)
        np.add.at(sums, at, numbers)
        return Ends(None, values, len(values), sums)


def _sides(left: I64, right: I64, wants_left: bool, wants_right: bool) -> Ends:
    """Pairs of ends without what is not needed, each once."""
    if wants_left and wants_right:
        return Ends(left, right, len(left))
    if not (wants_left or wants_right):
        return Ends(None, None, min(len(left), 1))
    side = np.unique(left if wants_left else right)
    return Ends(side if wants_left else None, side if wants_right else None, len(side))
