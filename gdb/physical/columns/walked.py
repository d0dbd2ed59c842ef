"""The run of a step that walks: where its paths begin and end, and what is kept of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from gdb.errors import NotSupported
from gdb.executor.cpu import shortest_paths, walkers
from gdb.executor.cpu.path_ends import distinct_ends
from gdb.executor.cpu.walkers import FOUND
from gdb.executor.nest.tables import bitset
from gdb.executor.plan.embeddings import Embeddings, unbound_edges
from gdb.executor.relational import arrow
from gdb.executor.relational.relational_tail import ColumnRef, gather
from gdb.executor.walk import Question, Taken, steps
from gdb.physical.columns.steps import End, Walked
from gdb.physical.rows.component import admitted_edges, candidates
from gdb.physical.rows.path_questions import conditions_of, taken_by
from gdb.physical.walk_ends import Ends, Walks
from gdb.records import dataclass, replace
from gdb.storage.columns.model import I64

if TYPE_CHECKING:
    from gdb.executor.relational.arrow import Array
    from gdb.executor.relational.relational import Session
    from gdb.executor.walk import Conditions
    from gdb.physical.rows.run_context import RowContext

MOST_PAIRS = 10_000_000
AT_ONCE = 1 << 20
"""Pairs of ends whose shortest paths are found at once."""
SHARED = 4
"""Pairs of ends for each vertex that they share from which on one search finds how far all of them are."""
_PAIR = 64
"""Bytes of a pair, with the orders that pairs are sorted by."""
_ENDS, _TABLE = 24, 48
"""Bytes of a path without its relationships, and of its row."""


@dataclass(slots=True)
class Members:
    """What vertices may be. values : the distinct values of a table's column."""

    context: RowContext
    values: Callable[[str, str], I64]

    def of(self, step: Walked, end: End) -> I64 | None:
        """The vids that an end may be, ascending; None for all."""
        if end.place is not None:
            return self.values(*end.place)
        return candidates(self.context, step.pattern, end.name, end.conditions)


def walk_step(context: RowContext, session: Session, members: Members, step: Walked) -> Array:
    """The table of a step.

    Raises
    ------
    NotSupported : a condition turned out to be none for columns; more pairs of ends than can be kept.
    Cancelled, QueryTimeout, OutOfBudget.
    """
    walking = _Walking(context, session, members, step)
    found = walking.ends()
    walking.conditions.budget.take(_TABLE * found.rows, FOUND)  # until DuckDB has it
    context.embeddings += found.rows
    vids = np.zeros((found.rows, 2), np.uint32)
    for k, side in enumerate((found.left, found.right)):
        if side is not None:
            vids[:, k] = side
    names = [end.name for end in (step.left, step.right)]
    refs = [ColumnRef(c, "vertex", names.index(name)) for name, c in step.columns.items()]
    refs += step.values
    table = gather(refs, Embeddings(vids, unbound_edges(found.rows, 0)), context.graph.snapshot)
    columns = [ref.name for ref in refs] or ["row"]
    children = [arrow.child(table, k) for k in range(len(columns))]
    numbers = found.numbers
    for column in (step.length, step.number):
        if column is not None:
            assert numbers is not None
            columns.append(column)
            children.append(arrow.int64_array(numbers))
    for column, values in (found.used or {}).items():
        columns.append(column)
        children.append(arrow.int64_array(values))
    return arrow.struct_array(columns, children, found.rows)


def shared(starts: I64, goals: I64) -> I64:
    """The distinct ends on that side of some pairs that has fewer."""
    return min(np.unique(starts), np.unique(goals), key=len)


class _Walking:
    def __init__(
        self, context: RowContext, session: Session, members: Members, step: Walked
    ) -> None:
        self.context, self.session, self.step = context, session, step
        self.snapshot = context.graph.snapshot
        self.conditions: Conditions = conditions_of(context)
        self.members = members
        allowed, left = admitted_edges(context, step.pattern, step.edge)
        if left:
            raise NotSupported("a condition of a path needs values of any type.")
        self.steps = steps(self.snapshot, step.edge.types, step.edge.direction, allowed)
        self.walks = Walks(
            *(self.snapshot, self.conditions, step.edge, self.steps),
            *(step.left.name in step.columns, step.right.name in step.columns),
            *(step.once, step.listed),
        )

    def ends(self) -> Ends:
        step = self.step
        if step.edge.selector is not None:
            return self._selected()
        if step.used:
            return self._apart()
        left = self.members.of(step, step.left)
        if step.left.name == step.right.name:
            return self._closed(left)
        return self.walks.between(left, self.members.of(step, step.right))

    def _closed(self, members: I64 | None) -> Ends:
        """Paths that end where they begin."""
        question = self.walks.question(members, self.steps)
        question = replace(question, goals=question.starts)
        begin = question.starts.astype(np.int64)
        if self.step.once and not self.step.listed:
            rows, _ = distinct_ends(question, self.conditions)
            return Ends(begin[rows], begin[rows], len(rows))
        find = walkers.measure_paths if self.step.listed else walkers.tally_ends
        rows, _, numbers = find(question, self.conditions)
        return Ends(begin[rows], begin[rows], len(rows), numbers)

    # ---- rows of their own -----------------------------------------------------------------------

    def _apart(self) -> Ends:
        """Paths that may not use some relationships of their row."""
        step, (first, *more) = self.step, list(self.step.used)
        from_left = self._beside(step.left)
        start, end = (step.left, step.right) if from_left else (step.right, step.left)
        assert start.place is not None
        table, column = start.place
        vids, *used = self.session.distinct(table, [column, first, *more])
        over = self.steps if from_left else self.steps.flipped
        question = self._with_used(self.walks.question(vids, over), used)
        if step.left.name == step.right.name:
            question = replace(question, goals=question.starts)
        else:
            others = self.members.of(step, end)
            if others is not None:
                question = replace(question, ends=bitset(others, question.vids))
        if step.once and not step.listed:
            rows, last = distinct_ends(question, self.conditions)
            numbers = None
        else:
            find = walkers.measure_paths if step.listed else walkers.tally_ends
            rows, last, numbers = find(question, self.conditions)
        columns = {step.used[c]: some[rows] for c, some in zip(step.used, used, strict=True)}
        found = Ends(vids[rows], last.astype(np.int64), len(rows), numbers, columns)
        return found if from_left else found.flipped

    def _beside(self, end: End) -> bool:
        """Whether an end is in the table of the relationships that are used."""
        return end.place is not None and end.place[0] == self.step.used_table

    def _with_used(self, question: Question, used: list[I64]) -> Question:
        if not used:
            return question
        at = np.arange(question.rows + 1, dtype=np.int64) * len(used)
        return replace(question, used_at=at, used=np.stack(used, axis=1).reshape(-1))

    def _selected(self) -> Ends:
        """Shortest paths between pairs of ends."""
        budget, found = self.conditions.budget, list[Ends]()
        for starts, goals, used in self._pairs():
            held = budget.held.copy()
            budget.take(_PAIR * len(starts), "pairs of ends")
            found.append(self._between(starts, goals, used))
            budget.back_to(held)
            budget.take(2 * _ENDS * found[-1].rows, FOUND)  # and where all are made one
        if len(found) == 1:
            return found[0]
        none = np.zeros(0, np.int64)
        left, right, lengths = (
            np.concatenate([none, *(none if one is None else one for one in several)])
            for several in (
                [one.left for one in found],
                [one.right for one in found],
                [one.numbers for one in found],
            )
        )
        return Ends(left, right, len(left), lengths)

    def _between(self, starts: I64, goals: I64, used: list[I64]) -> Ends:
        """Shortest paths between some pairs of ends."""
        step, selector = self.step, self.step.edge.selector
        assert selector is not None
        question = self._with_used(self.walks.question(starts, self.steps), used)
        question = replace(question, goals=goals.astype(np.uint32))
        taken, count = taken_by(selector), selector.count
        one = step.once if taken is Taken.SHORTEST else count == 1
        searched = one and question.low <= 1 and not used
        if searched and SHARED * len(shared(starts, goals)) <= len(starts):
            rows, lengths = shortest_paths.shortest_lengths(question, self.conditions)
        else:
            found = shortest_paths.select_paths(question, taken, count, self.conditions)
            rows, lengths = found.rows, found.lengths
        if step.once:
            kinds = np.unique(np.stack([rows, lengths], axis=1), axis=0)
            rows, lengths = kinds[:, 0], kinds[:, 1]
        columns = {step.used[c]: some[rows] for c, some in zip(step.used, used, strict=True)}
        return Ends(starts[rows], goals[rows], len(rows), lengths, columns)

    def _pairs(self) -> Iterator[tuple[I64, I64, list[I64]]]:
        """The ends of the needed paths, with the relationships that these may not use. Of two sides those of a few ends
        of the smaller one at a time: what is near an end is found once."""
        step = self.step
        left, right = step.left.place, step.right.place
        if left is not None and right is not None and left[0] == right[0]:
            columns = [left[1], right[1], *step.used]
            starts, goals, *used = self.session.distinct(left[0], columns)
            yield starts, goals, used
            return
        if step.used:
            raise NotSupported("the ends of a shortest path come from different tables.")
        sides = [self.members.of(step, end) for end in (step.left, step.right)]
        every = self.snapshot.vids().astype(np.int64)
        first, second = (every if side is None else side for side in sides)
        if len(first) * len(second) > MOST_PAIRS:
            raise NotSupported("shortest paths between so many pairs of nodes at once.")
        few, many = sorted((first, second), key=len)
        memory = self.context.options.memory
        at_once = AT_ONCE if memory is None else min(AT_ONCE, memory // (4 * _PAIR))
        each = max(at_once // max(len(many), 1), 1)
        for begin in range(0, max(len(few), 1), each):
            some = few[begin : begin + each]
            one, other = np.repeat(some, len(many)), np.tile(many, len(some))
            yield (one, other, []) if few is first else (other, one, [])
