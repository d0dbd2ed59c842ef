"""Plans for which rows answer before columns would begin: those that begin with a few rows (one of nothing, the items
of a short list, or nodes of the first MATCH that a value names; each further pattern is joined to what is bound
already), and those that a few of their rows are enough for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from gdb.language.clauses import BulkCreate, Create, Delete, Match, Merge, Remove, Set, Unwind
from gdb.language.syntax import Expression, ListLiteral, Literal, Parameter, Subquery, walk
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
from gdb.physical.rows.limiting import stops
from gdb.physical.rows.row_look_ups import equality
from gdb.physical.rows.subqueries import pattern_of_subquery

if TYPE_CHECKING:
    from gdb.physical.rows.pattern import Component, Pattern
    from gdb.physical.rows.run_context import RowContext

MOST_ENOUGH = 100
"""Rows that a LIMIT takes of a plan which a few suffice for."""
MOST_ITEMS = 512
"""Items of a list that UNWIND begins with."""
_ROW_BY_ROW = (Project, Filter, Aggregate, Distinct, Sort, Limit)
_CHANGES = (Create, BulkCreate, Set, Remove, Delete, Merge)


def begins_with_few(context: RowContext, plan: Plan) -> bool:
    """Whether the rows of a plan come from one of nothing, a short list or a few nodes that values name; how many rows
    they become is not known."""
    lists = context.kept.begun(plan, partial(_begun, context, plan))
    return lists is not None and all(_short(context, one) for one in lists)


def few_suffice(context: RowContext, plan: Plan) -> bool:
    """Whether a few of the rows of the first MATCHes, whichever, fill a LIMIT of a plan, as far as its text shows:
    nothing tests what is matched but patterns."""
    if len(plan.sides) > 1 or plan.start:
        return False
    (operators,) = plan.sides
    place = stops(operators)[0]
    if place is None or not isinstance(operators[0], Match):
        return False
    before, last, behind = operators[:place], operators[place], operators[place + 1 :]
    assert isinstance(last, Limit)
    if not all(isinstance(one, _ROW_BY_ROW) for one in behind):
        return False
    for operator in before:
        if not isinstance(operator, (Match, Project)):
            return False
        if isinstance(operator, Match):
            pattern = context.pattern(operator)
            several = any(len(c.names) > 1 or c.random for c in pattern.conditions)
            if several or operator.where is not None or pattern.variants or pattern.long:
                return False
    if any(_subqueries(operator) for operator in operators):
        return False
    skipped = 0 if last.skip is None else _whole(context, last.skip)
    wanted = None if last.limit is None else _whole(context, last.limit)
    return skipped is not None and wanted is not None and skipped + wanted <= MOST_ENOUGH


def _whole(context: RowContext, expression: Expression) -> int | None:
    """The whole number that is written, or given as a parameter; None where neither is."""
    value: object = None
    if isinstance(expression, Literal):
        value = expression.value
    elif isinstance(expression, Parameter):
        value = context.plain.get(expression.name)
    return value if type(value) is int else None


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
            names = names_after(operator, names)
        case _ if not isinstance(operator, (Unwind, *_ROW_BY_ROW, *_CHANGES)):
            return False
    # what is no pattern at nodes of the rows, which is matched for all of them at once, may be run for each
    return all(_is_at(one, context, names) for one in _subqueries(operator))


def _hangs(context: RowContext, clause: Match, names: Names) -> bool:
    """Whether each part of a pattern has a node that the rows bind, or that a value names, or is where paths from such
    nodes lead; both ends of paths with a selector are such nodes."""
    pattern = context.pattern(clause)
    if pattern.variants:
        return False
    own = {*pattern.vertices, *pattern.edges}
    free, reached, left = own - {*names}, own & {*names}, list["Component"]()
    for component in pattern.components():
        parts = {*component.vertices, *component.edges}
        if parts & reached or _named(pattern, component, free):
            reached |= parts
        else:
            left.append(component)
    if any(edge.selector is not None and not {*edge.ends} <= reached for edge in pattern.long):
        return False
    while left:
        ends = {end for edge in pattern.long if reached & {*edge.ends} for end in edge.ends}
        led = [component for component in left if ends & {*component.vertices}]
        if not led:
            return False
        reached |= {name for one in led for name in (*one.vertices, *one.edges)}
        left = [component for component in left if component not in led]
    return True


def _named(pattern: Pattern, component: Component, free: set[str]) -> bool:
    """Whether a value names a node of a component. free : the names that rows do not have."""
    return any(
        found is not None and not found.mentions & free
        for found in (equality(c, component.vertices) for c in pattern.conditions)
    )


def _short(context: RowContext, values: Expression) -> bool:
    if isinstance(values, ListLiteral):
        return len(values.items) <= MOST_ITEMS
    if isinstance(values, Parameter):
        value = context.plain.get(values.name)
        return isinstance(value, Sequence) and len(value) <= MOST_ITEMS
    return False


def _subqueries(operator: Operator) -> list[Subquery]:
    """Those in the expressions of an operator."""
    every = (part for one in expressions_of(operator) for part in walk(one))
    return [part for part in every if isinstance(part, Subquery)]


def _is_at(subquery: Subquery, context: RowContext, names: Names) -> bool:
    """Whether a subquery is one pattern, and each part of it has a node or relationship of the rows."""
    pattern = pattern_of_subquery(context, subquery)
    if pattern is None or pattern.variants or pattern.long or pattern.routes:
        return False
    return all({*c.vertices, *c.edges} & {*names} for c in pattern.components())
