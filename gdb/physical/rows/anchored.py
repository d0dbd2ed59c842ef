"""Plans that begin with a few rows: one of nothing, the items of a short list, or nodes of the first MATCH that a value
names; each further pattern is joined to what is bound already. Rows answer them before columns would begin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from gdb.language.clauses import BulkCreate, Create, Delete, Match, Merge, Remove, Set, Unwind
from gdb.language.syntax import Expression, ListLiteral, Parameter, Subquery, walk
from gdb.logical.operators import (
    Aggregate,
    Distinct,
    Filter,
    Limit,
    Names,
    Operator,
    Plan,
    Project,
    Sort,
    expressions_of,
    names_after,
)
from gdb.physical.rows.row_look_ups import equality

if TYPE_CHECKING:
    from gdb.physical.rows.run_context import RowContext

MOST_ITEMS = 512
"""Items of a list that UNWIND begins with."""
_ROW_BY_ROW = (Project, Filter, Aggregate, Distinct, Sort, Limit)
_CHANGES = (Create, BulkCreate, Set, Remove, Delete, Merge)


def begins_with_few(context: RowContext, plan: Plan) -> bool:
    """Whether the rows of a plan come from one of nothing, a short list or a few nodes that values name; how many rows
    they become is not known."""
    lists = context.kept.begun(plan, partial(_begun, context, plan))
    return lists is not None and all(_short(context, one) for one in lists)


def _begun(context: RowContext, plan: Plan) -> Sequence[Expression] | None:
    """The lists that have to be short so that a plan begins with few rows; None where it does not."""
    lists: list[Expression] = []
    for operators in plan.sides:
        begun, names = False, plan.start
        for operator in operators:
            if isinstance(operator, Unwind) and not begun:
                lists.append(operator.list)
            begun = begun or isinstance(operator, (Match, Unwind))
            if not _adds_few(context, operator, names):
                return None
            names = names_after(operator, names)
    return lists


def _adds_few(context: RowContext, operator: Operator, names: Names) -> bool:
    """Whether an operator makes few rows of few, whatever the values of parameters. names : of the rows."""
    match operator:
        case Match():
            if not _hangs(context, operator, names):
                return False
        case _ if not isinstance(operator, (Unwind, *_ROW_BY_ROW, *_CHANGES)):
            return False
    return not any(_asks_for_each(one) for one in expressions_of(operator))


def _hangs(context: RowContext, clause: Match, names: Names) -> bool:
    """Whether each part of a pattern has a node that the rows bind, or that a value names."""
    pattern = context.pattern(clause)
    if pattern.variants or pattern.long or pattern.routes:
        return False
    own = {*pattern.vertices, *pattern.edges}
    for component in pattern.components():
        parts = {*component.vertices, *component.edges}
        if parts & {*names}:
            continue
        free = own - {*names}
        if not any(
            found is not None and not found.mentions & free
            for found in (equality(c, component.vertices) for c in pattern.conditions)
        ):
            return False
    return True


def _short(context: RowContext, values: Expression) -> bool:
    if isinstance(values, ListLiteral):
        return len(values.items) <= MOST_ITEMS
    if isinstance(values, Parameter):
        value = context.plain.get(values.name)
        return isinstance(value, Sequence) and len(value) <= MOST_ITEMS
    return False


def _asks_for_each(expression: Expression) -> bool:
    """Whether an expression contains a subquery: it may be run for each row."""
    return any(isinstance(part, Subquery) for part in walk(expression))
