"""WITH and RETURN: their columns, and what ORDER BY, SKIP, LIMIT and WHERE behind them may say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gdb.errors import SyntaxProblem, TypeProblem
from gdb.functions.static_kinds import ELEMENTS, INTEGER, Kind, Known
from gdb.imports import deferred
from gdb.language.aggregation import has_aggregate, is_aggregate
from gdb.language.checks_expressions import Aggregates, condition, known
from gdb.language.checks_frame import Frame
from gdb.language.checks_grouping import Projected, check_behind, check_items, own_variables
from gdb.language.clauses import Return, ReturnItem, With
from gdb.language.hidden_names import is_hidden
from gdb.language.syntax import (
    Expression,
    Literal,
    Negative,
    PatternComprehension,
    PatternTest,
    Place,
    Property,
    Subquery,
    Variable,
    walk,
)

if TYPE_CHECKING:
    from gdb.base.values import temporal_components
else:
    temporal_components = deferred("gdb.base.values.temporal_components")

_OF_GRAPH = (PatternTest, PatternComprehension, Subquery)


def check_return(clause: Return, frame: Frame) -> dict[str, Known]:
    """Check a RETURN; its columns.

    Raises
    ------
    SyntaxProblem : RETURN * of nothing, a column twice, an aggregate where none is allowed.
    NameProblem, TypeProblem : see `checks_expressions.known`.
    """
    if clause.everything and all(map(is_hidden, frame.names)):
        message = "RETURN * has nothing to return: nothing has a name here."
        cure = "Name a node, as in (a), or write RETURN count(*)."
        raise frame.problem(SyntaxProblem, clause.place, "NoVariablesInScope", message, cure)
    return _projected(clause, frame).columns


def passed_on(clause: With, frame: Frame) -> Frame:
    """Check a WITH; the frame behind it.

    Raises
    ------
    SyntaxProblem : an expression without a name, and as RETURN.
    """
    for item in clause.projection.items:
        if item.alias is None and not isinstance(item.expression, Variable):
            message = "what WITH passes on needs a name."
            cure = "Write AS and a name behind it."
            raise frame.problem(
                SyntaxProblem, item.expression.place, "NoExpressionAlias", message, cure
            )
        _refuse_shadow(item, frame)
    projected = _projected(clause.projection, frame)
    if clause.where is not None:
        condition(clause.where, frame.inner(projected.columns))
        if projected.grouped:
            check_behind(clause.where, projected, frame)
    return frame.after(projected.columns)


def _refuse_shadow(item: ReturnItem, frame: Frame) -> None:
    """A name from around a subquery stays visible in it, so that nothing else may have it."""
    alias, around = item.alias, frame.around
    if alias is None or around is None or alias.text in frame.names:
        return
    same = isinstance(item.expression, Variable) and item.expression.name == alias.text
    if around.find(alias.text) is not None and not same:
        raise frame.taken(alias)


def _projected(clause: Return, frame: Frame) -> Projected:
    columns: dict[str, Known] = {}
    if clause.everything:
        columns = {name: of for name, of in frame.names.items() if not is_hidden(name)}
    variables = [Variable(name, clause.place) for name in columns]
    for item in clause.items:
        value = known(item.expression, frame, Aggregates.HERE)
        if item.name in columns:
            message = f"there are two columns '{item.name}'."
            cure = "Name one of them with AS."
            place = item.alias.place if item.alias else item.expression.place
            raise frame.problem(SyntaxProblem, place, "ColumnNameConflict", message, cure)
        columns[item.name] = value
    items = [item.expression for item in clause.items]
    projected = Projected(
        columns,
        frozenset([*variables, *items]),
        any(has_aggregate(item) for item in items),
        clause.distinct,
    )
    if projected.aggregated:
        check_items(items, projected, frame)
    for sort in clause.order:
        named = {item.name: item.expression for item in clause.items}
        _check_shadowed(sort.expression, named, projected, frame)
        _sorted_by(sort.expression, projected, frame)
    for word, count in (("SKIP", clause.skip), ("LIMIT", clause.limit)):
        if count is not None:
            _count(word, count, frame)
    return projected


def _sorted_by(expression: Expression, projected: Projected, frame: Frame) -> None:
    aggregates = Aggregates.HERE if projected.aggregated else Aggregates.NOWHERE
    known(expression, frame.inner(projected.columns), aggregates)
    if projected.grouped:
        check_behind(expression, projected, frame)


def _check_shadowed(
    expression: Expression, items: Mapping[str, Expression], projected: Projected, frame: Frame
) -> None:
    """Of `RETURN n.age AS n ORDER BY n.name`: behind the projection n is its column, and no node any more.

    Raises
    ------
    TypeProblem : the column has no properties.
    """
    for part in walk(expression):
        if not isinstance(part, Property) or not isinstance(part.subject, Variable):
            continue
        name, place = part.subject.name, part.subject.place
        before, column = frame.names.get(name), projected.columns.get(name)
        if before is None or column is None or before == column or before.kind not in ELEMENTS:
            continue
        message = f"'{name}' is here the column of that name, and no longer {before}."
        cure = f"Name the column otherwise, as in AS {name}_{part.key.text}."
        stored = (
            isinstance(items.get(name), Property) and part.key.text not in temporal_components.PARTS
        )
        if stored or not column.may_be((*ELEMENTS, Kind.MAP, Kind.TEMPORAL, Kind.DURATION)):
            raise frame.problem(TypeProblem, place, "PropertyAccessOnNonMap", message, cure)


def _count(word: str, count: Expression, frame: Frame) -> None:
    """Check SKIP or LIMIT: one number for all rows."""
    own = own_variables(count)
    for part in walk(count):
        of_row = isinstance(part, Variable) and part.name not in own
        if of_row or is_aggregate(part) or isinstance(part, _OF_GRAPH):
            message = f"{word} is the same for all rows, so it names nothing of a row."
            cure = "Write a number or a parameter."
            raise frame.problem(SyntaxProblem, part.place, "NonConstantExpression", message, cure)
    value = known(count, frame)
    if not value.may_be((INTEGER.kind,)) or value.kind is Kind.NULL:
        raise frame.misfit(count.place, f"{word} takes a number of rows, and this is {value}.")
    if _negative(count):
        message = f"{word} takes a number from 0."
        raise frame.problem(SyntaxProblem, count.place, "NegativeIntegerArgument", message)


def _negative(count: Expression) -> bool:
    match count:
        case Literal(value=int(value)):
            return value < 0
        case Negative(operand=Literal(value=int(value))):
            return value > 0
        case _:
            return False


def same_columns(
    first: dict[str, Known], other: dict[str, Known], place: Place, frame: Frame
) -> None:
    """Refuse the sides of a UNION whose columns have different names."""
    if first.keys() != other.keys():
        message = (
            f"the columns on one side of UNION are {_listed(first)}, on the other {_listed(other)}."
        )
        cure = "Name them alike with AS."
        raise frame.problem(SyntaxProblem, place, "DifferentColumnsInUnion", message, cure)


def _listed(columns: dict[str, Known]) -> str:
    return ", ".join(columns) if columns else "none"


def one_column(columns: dict[str, Known], place: Place, frame: Frame) -> Known:
    """The column of COLLECT { }, which has one."""
    if len(columns) != 1:
        message = f"COLLECT gathers one column, and this query has {len(columns) or 'none'}."
        raise frame.problem(SyntaxProblem, place, "UnexpectedSyntax", message)
    return next(iter(columns.values()))
