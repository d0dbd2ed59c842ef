"""The first operators of a query that writes, run over arrays as far as these can; rows go on from there.

What rows cost is mostly Python's: a dict for each row, an object for each element, a call for each value. A batch,
`UNWIND $rows AS r MERGE (n:P {id: r.i}) SET n.x = r.x`, needs none of them: a value of the rows is a column, a node a
vid. An operator that arrays cannot run has written nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gdb.base import usage
from gdb.base.values.sizes import Pile
from gdb.errors import OutOfBudget
from gdb.language.clauses import WRITING, Create, Delete, Match, Merge, Remove, Set, Unwind
from gdb.language.syntax import Variable
from gdb.logical.needed_properties import demands
from gdb.logical.operators import Filter, Operator, Operators, Plan, Project
from gdb.physical.arrays.array_changes import ArrayChanges
from gdb.physical.arrays.array_matching import match_rows
from gdb.physical.arrays.array_merging import merge_rows
from gdb.physical.arrays.array_table import (
    PIECE,
    ArrayColumn,
    ArrayExpressions,
    ArrayTable,
    Edges,
    Nodes,
    NotForArrays,
    Values,
)
from gdb.physical.rows.batches import MOST, Batches
from gdb.records import replace

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row, Value
    from gdb.physical.rows.run_context import RowContext

_VALUE = 40  # bytes of a value and its place


def run_arrays(context: RowContext, plan: Plan, most: int) -> tuple[Plan, Batches, bool]:
    """Run the first operators of a plan that writes; what is left of it, the rows that it begins with, and whether
    something was written. most : rows of UNWIND that are for rows.

    Raises
    ------
    GdbError : as `gdb.physical.rows.row_run.run_over_rows`.
    """
    (side,) = plan.sides
    live = [one.live for one in demands(side, plan.names if plan.returns else ())]
    run = _ArrayRun(context, last=side[-1])
    pile = Pile(context.allowance, "the rows of a clause")
    table, done = ArrayTable(1, {}), 0
    for operator, needed in zip(side, live, strict=True):
        try:
            found = run.operator(operator, table, pile)
        except NotForArrays:
            break
        except OutOfBudget:
            # rows that are made one after the other may need less, where nothing takes all of them
            if any(isinstance(one, WRITING) for one in side[: done + 1]):
                raise
            break
        table = ArrayTable(
            found.count, {name: one for name, one in found.columns.items() if name in needed}
        )
        done += 1
        if isinstance(operator, Unwind) and len(table) <= most:
            break
    rest, wrote = side[done:], any(isinstance(one, WRITING) for one in side[:done])
    names = tuple(table.columns)
    if not rest and not plan.returns:
        pile.clear()
        return replace(plan, sides=((),), start=()), Batches((), iter(())), wrote
    batches = Batches(names, _rows(context, table, pile))
    return replace(plan, sides=(rest,), start=names), batches, wrote


def may_run(operators: Operators) -> Operators:
    """The first operators of a side, as far as arrays can run such; which of them they do is known when they run."""
    found: list[Operator] = []
    for operator in operators:
        match operator:
            case Unwind() if not found:
                pass
            case (
                Match(optional=False) | Filter() | Project() | Create() | Merge() | Set() | Remove()
            ):
                pass
            case Delete() if operator is operators[-1]:
                pass
            case _:
                break
        found.append(operator)
    return tuple(found)


class _ArrayRun:
    """last : the operator that ends the plan, behind which nothing reads."""

    def __init__(self, context: RowContext, last: Operator) -> None:
        self.context, self.last = context, last
        self.expressions = ArrayExpressions(context)
        self.changes = ArrayChanges(self.expressions)

    def operator(self, operator: Operator, table: ArrayTable, pile: Pile) -> ArrayTable:
        """The rows that an operator makes, and what it writes.

        Raises
        ------
        NotForArrays, OutOfBudget : it has written nothing.
        """
        context = self.context
        context.allowance.pulse()
        level, handled, embeddings = context.allowance.made, context.handled, context.embeddings
        graph, changes = context.graph, self.changes.changes
        before, effects = (changes.delta, changes.seen), graph.effects.copy()
        meter = context.meter
        own = None if meter is None else meter.operator(operator)
        kept, size = context.allowance.kept, pile.size
        budget = usage.room()
        taken = {} if budget is None else budget.held.copy()
        try:
            context.handled += len(table)
            if meter is None or own is None:
                found = self._ran(operator, table, pile)
            else:
                with meter.during(own):
                    found = self._ran(operator, table, pile)
                own.rows, own.arrays = (own.rows or 0) + len(found), True
            context.allowance.made = level
            for name, column in found.columns.items():
                if column is not table.columns.get(name):
                    _count(pile, column)
        except (NotForArrays, OutOfBudget):
            (changes.delta, changes.seen), graph.effects = before, effects
            graph.behind, graph.new_ids = True, None
            context.handled, context.embeddings = handled, embeddings
            context.allowance.kept, pile.size = kept, size
            self.changes = ArrayChanges(self.expressions)
            raise
        finally:
            context.allowance.made = level
            if budget is not None:
                budget.back_to(taken)  # what a pattern has found is in columns now, or gone
        return found

    def _ran(self, operator: Operator, table: ArrayTable, pile: Pile) -> ArrayTable:
        context, changes = self.context, self.changes
        match operator:
            case Unwind():
                return self._unwound(operator, table, pile)
            case Match(optional=False):
                return match_rows(self.expressions, context.pattern(operator), table)[1]
            case Filter(condition=condition):
                return table.take(self.expressions.true_at(condition, table))
            case Project():
                return self._projected(operator, table)
            case Create(patterns=patterns):
                return changes.create(patterns, table)
            case Merge():
                return merge_rows(changes, operator, table)
            case Set(items=items):
                changes.assign(changes.assigned(items, table), table)
                return table
            case Remove(items=subjects):
                changes.remove(subjects, table)
                return table
            case Delete() if operator is self.last:
                changes.delete(operator, table)
                return table
        raise NotForArrays

    def _unwound(self, clause: Unwind, table: ArrayTable, pile: Pile) -> ArrayTable:
        """Each row with each item of its list. One without names is that of nothing."""
        if table.count != 1 or table.columns:
            raise NotForArrays
        items = self.context.evaluator.unwound(clause.list)({})
        if not isinstance(items, list):  # integers that are made as they are read
            pile.count(_VALUE * len(items))
            several: list[Value] = []
            for begin, end in usage.paced(len(items), PIECE):
                several += items[begin:end]
            items = several
        return ArrayTable(len(items), {clause.variable.text: Values(items)})

    def _projected(self, clause: Project, table: ArrayTable) -> ArrayTable:
        columns: dict[str, ArrayColumn] = {}
        for column in clause.columns:
            match column.expression:
                case Variable(name=name):
                    columns[column.name] = table.columns[name]
                case expression:
                    columns[column.name] = self.expressions.of(expression, table)
        return ArrayTable(table.count, columns)


def _count(pile: Pile, column: ArrayColumn) -> None:
    match column:
        case Nodes(vids=vids):
            pile.count(vids.nbytes)
        case Edges(handles=handles):
            pile.count(handles.nbytes)
        case Values(items=items):
            pile.add(items)


def _rows(context: RowContext, table: ArrayTable, pile: Pile) -> Iterator[list[Row]]:
    """The rows as those who take them one by one have them."""
    try:
        for start in range(0, table.count, MOST):
            at = np.arange(start, min(start + MOST, table.count))
            columns = [_elements(context, one, at) for one in table.columns.values()]
            if not columns:
                yield [{} for _ in at]
            else:
                names = tuple(table.columns)
                yield [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    finally:
        pile.clear()


def _elements(context: RowContext, column: ArrayColumn, at: np.ndarray) -> list[Value]:
    graph = context.graph
    match column:
        case Values(items=items):
            return list(items[int(at[0]) : int(at[-1]) + 1])
        case Nodes(vids=vids):
            graph.flush()
            return [*graph.nodes(vids[at])]
        case Edges(type=type_, handles=handles):
            return [*graph.relationships(graph.snapshot.edges_called(type_, handles[at]))]
