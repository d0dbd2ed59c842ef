"""Clauses that write as functions from rows to rows, and FOREACH, which runs them for the items of a list.

FOREACH is done item by item: what its clauses write for one item is seen by those of the next. Where nothing that they
read can be what another item wrote, each clause runs once for all items of all rows instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from gdb.errors import InternalError
from gdb.imports import deferred
from gdb.language.clauses import (
    WRITING,
    BulkCreate,
    Clause,
    Create,
    Delete,
    Foreach,
    Merge,
    Remove,
    Set,
)
from gdb.language.mentioned_names import all_expressions, asks
from gdb.logical.operators import names_after
from gdb.physical.rows import creating, element_changes
from gdb.physical.rows.written_effects import keys_read, order_is_free

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row
    from gdb.logical.operators import Names
    from gdb.physical.rows import merging
    from gdb.physical.rows.creating import Change
    from gdb.physical.rows.run_context import RowContext
else:
    merging = deferred("gdb.physical.rows.merging")


def change_of(context: RowContext, clause: Clause, names: Names) -> Change:
    """The function from rows to what a clause that writes makes of them. names : of the rows."""
    match clause:
        case Create():
            return creating.created(context, clause)
        case BulkCreate():
            return lambda rows: creating.create_all(context, clause, rows)
        case Merge():
            return merging.Merging(context, clause, names).run
        case Set(items=items):
            return element_changes.assigned(context, items)
        case Remove():
            return element_changes.removed(context, clause)
        case Delete():
            return element_changes.deleted(context, clause)
        case Foreach():
            return _each_item(context, clause, names)
    raise InternalError(f"{type(clause).__name__} does not write.")


def items_of(context: RowContext, clause: Foreach) -> Callable[[Row], Iterable[Row]]:
    """The function from a row to that row with each item of the list."""
    values, name = context.evaluator.items(clause.list), clause.variable.text
    return lambda row: ({**row, name: item} for item in values(row) or ())


def item_by_item(clause: Foreach, names: Names) -> bool:
    """Whether the clauses of FOREACH have to be done for one item before the next. names : of the rows."""
    match clause.clauses:
        case [one] if not isinstance(one, Foreach):  # it is done for one row after the other
            asking = any(map(asks, all_expressions(clause)))
            if not asking and keys_read([clause.list]) == frozenset():
                return False
    return not order_is_free([clause], names)


def _each_item(context: RowContext, clause: Foreach, names: Names) -> Change:
    items, inner = items_of(context, clause), (*names, clause.variable.text)
    changes: list[Change] = []
    for one in clause.clauses:
        assert isinstance(one, WRITING)
        changes.append(change_of(context, one, inner))
        inner = names_after(one, inner)

    def change(rows: list[Row]) -> list[Row]:
        for row in rows:
            for item in items(row):
                made = [item]
                for apply in changes:
                    made = apply(made)
                context.allowance.tick()
        return rows

    return change
