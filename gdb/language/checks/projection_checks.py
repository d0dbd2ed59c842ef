"""WITH and RETURN: their columns, and what ORDER BY, SKIP, LIMIT and WHERE behind them may say.

The items without an aggregate are the keys of the groups. Beside an aggregate are allowed keys that are plain (no
operator), what is made of a key, and constants; behind the projection (ORDER BY, WHERE) its columns and its items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gdb.errors import NameProblem, QueryError, TypeProblem
from gdb.functions.static_kinds import ELEMENTS, INTEGER, VALUE, Kind, Known
from gdb.imports import deferred
from gdb.language import syntax
from gdb.language.aggregation import has_aggregate, is_aggregate
from gdb.language.checks.expression_checks import condition, known, refuse_aggregate
from gdb.language.checks.frame import Aggregates, Frame
from gdb.language.clauses import Return, ReturnItem, With
from gdb.language.hidden_names import is_hidden
from gdb.language.syntax import Expression, Place, brings, children, walk
from gdb.records import dataclass, replace

if TYPE_CHECKING:
    from gdb.base.values import temporal_components
else:
    temporal_components = deferred("gdb.base.values.temporal_components")

_OF_GRAPH = (syntax.PatternTest, syntax.PatternComprehension, syntax.Subquery)
_OPERATORS = (
    *(syntax.Arithmetic, syntax.Comparison, syntax.Connected, syntax.In),
    *(syntax.Negative, syntax.Not, syntax.StringTest),
)
_NOTHING: frozenset[str] = frozenset()


def check_return(clause: Return, frame: Frame) -> dict[str, Known]:
    """Check a RETURN; its columns.

    Raises
    ------
    SyntaxProblem : RETURN * of nothing, a column twice, an aggregate where none is allowed.
    NameProblem, TypeProblem : see `expression_checks.known`.
    """
    if clause.everything and all(map(is_hidden, frame.names)):
        message = "RETURN * has nothing to return: nothing has a name here."
        cure = "Name a node, as in (a), or write RETURN count(*)."
        raise frame.not_allowed(clause.place, "NoVariablesInScope", message, cure)
    return _projected(clause, frame).columns


def passed_on(clause: With, frame: Frame) -> Frame:
    """Check a WITH; the frame behind it. Raises as RETURN."""
    for item in clause.projection.items:
        _refuse_shadow(item, frame)
    projected = _projected(clause.projection, frame)
    if clause.where is not None:
        condition(clause.where, projected.frame(frame))
        if projected.grouped:
            check_behind(clause.where, projected, frame)
    return frame.after(projected.columns)


def _refuse_shadow(item: ReturnItem, frame: Frame) -> None:
    """A name from around a subquery stays visible in it, so that nothing else may have it."""
    alias, around = item.alias, frame.around
    if alias is None or around is None:
        return
    same = isinstance(item.expression, syntax.Variable) and item.expression.name == alias.text
    if around.find(alias.text) is not None and not same:
        raise frame.taken(alias)


def _projected(clause: Return, frame: Frame) -> Projected:
    columns: dict[str, Known] = {}
    if clause.everything:
        columns = {name: of for name, of in frame.names.items() if not is_hidden(name)}
    variables = [syntax.Variable(name, clause.place) for name in columns]
    here = frame.with_aggregates(Aggregates.HERE)
    for item in clause.items:
        value = known(item.expression, here)
        if item.name in columns:
            message = f"there are two columns '{item.name}'."
            cure = "Name one of them with AS."
            place = item.alias.place if item.alias else item.expression.place
            raise frame.not_allowed(place, "ColumnNameConflict", message, cure)
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
    inner = projected.frame(frame)
    if projected.aggregated:
        inner = inner.with_aggregates(Aggregates.HERE)
    known(expression, inner)
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
        if not isinstance(part, syntax.Property) or not isinstance(part.subject, syntax.Variable):
            continue
        name, place = part.subject.name, part.subject.place
        before, column = frame.names.get(name), projected.columns.get(name)
        if before is None or column is None or before == column or before.kind not in ELEMENTS:
            continue
        message = f"'{name}' is here the column of that name, and no longer {before}."
        cure = f"Name the column otherwise, as in AS {name}_{part.key.text}."
        stored = (
            isinstance(items.get(name), syntax.Property)
            and part.key.text not in temporal_components.PARTS
        )
        if stored or not column.may_be((*ELEMENTS, Kind.MAP, Kind.TEMPORAL, Kind.DURATION)):
            raise frame.problem(TypeProblem, place, "PropertyAccessOnNonMap", message, cure)


def _count(word: str, count: Expression, frame: Frame) -> None:
    """Check SKIP or LIMIT: one number for all rows. The parser lets no variable and no pattern through."""
    for part in walk(count):
        if is_aggregate(part):
            message = f"{word} is the same for all rows, so it names nothing of a row."
            cure = "Write a number or a parameter."
            raise frame.not_allowed(part.place, "NonConstantExpression", message, cure)
    value = known(count, frame)
    if not value.may_be((INTEGER.kind,)) or value.kind is Kind.NULL:
        raise frame.misfit(count.place, f"{word} takes a number of rows, and this is {value}.")
    if isinstance(count, syntax.Negative) and isinstance(count.operand, syntax.Literal):
        message = f"{word} takes a number from 0."
        raise frame.not_allowed(count.place, "NegativeIntegerArgument", message)


def same_columns(
    first: dict[str, Known], other: dict[str, Known], place: Place, frame: Frame
) -> None:
    """Refuse the sides of a UNION whose columns have different names."""
    if first.keys() != other.keys():
        message = (
            f"the columns on one side of UNION are {_listed(first)}, on the other {_listed(other)}."
        )
        cure = "Name them alike with AS."
        raise frame.not_allowed(place, "DifferentColumnsInUnion", message, cure)


def _listed(columns: dict[str, Known]) -> str:
    return ", ".join(columns) if columns else "none"


def one_column(columns: dict[str, Known], place: Place, frame: Frame) -> Known:
    """The column of COLLECT { }, which has one."""
    if len(columns) != 1:
        message = f"COLLECT gathers one column, and this query has {len(columns) or 'none'}."
        raise frame.not_allowed(place, "UnexpectedSyntax", message)
    return next(iter(columns.values()))


# ---- groups --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Projected:
    """What WITH or RETURN makes of the rows before it.

    columns : its names. items : the expressions behind them. aggregated, distinct : either way rows are put together,
    so that of what was before only the columns are left.
    """

    columns: dict[str, Known]
    items: frozenset[Expression]
    aggregated: bool
    distinct: bool

    @property
    def grouped(self) -> bool:
        """Whether several rows may become one: it aggregates, or is DISTINCT."""
        return self.aggregated or self.distinct

    def frame(self, before: Frame) -> Frame:
        """The frame of ORDER BY and WHERE behind it. before : of its items."""
        return replace(before.inner(self.columns), grouped=self.items if self.grouped else None)

    @property
    def keys(self) -> frozenset[Expression]:
        """The grouping keys: the items without an aggregate."""
        return frozenset(item for item in self.items if not has_aggregate(item))


def check_items(several: Iterable[Expression], projected: Projected, frame: Frame) -> None:
    """Check the items that hold an aggregate.

    Raises
    ------
    SyntaxProblem : something beside the aggregate is not the same in all rows of a group.
    """
    plain = frozenset(key for key in projected.keys if not isinstance(key, _OPERATORS))
    for item in several:
        if has_aggregate(item):
            _beside(item, _Keys(plain, projected.keys - plain), _NOTHING, frame)


def check_behind(expression: Expression, projected: Projected, frame: Frame) -> None:
    """Check an expression of ORDER BY or WHERE behind a projection that groups. frame : of before the projection.

    Raises
    ------
    NameProblem : a variable that the projection did not pass on.
    SyntaxProblem : an aggregate that is no column, or beside an aggregate what is no plain key.
    """
    items = projected.items
    if has_aggregate(expression):
        items = frozenset(item for item in items if not isinstance(item, _OPERATORS))
    _Behind(projected, items, frame).check(expression, _NOTHING)


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys of groups: those without an operator, which may be used again beside an aggregate, and the others."""

    plain: frozenset[Expression]
    others: frozenset[Expression]


def _beside(expression: Expression, keys: _Keys, local: frozenset[str], frame: Frame) -> None:
    if is_aggregate(expression) or expression in keys.plain:
        return
    plain = keys.plain
    if isinstance(expression, syntax.Variable):
        if expression.name not in local and expression.name in frame.names:
            raise _ambiguous(expression.name, expression.place, frame, keys.others)
        return
    if isinstance(expression, _OF_GRAPH):
        names = local.union(key.name for key in plain if isinstance(key, syntax.Variable))
        for name in sorted(_outer_names(expression, names, frame)):
            raise _ambiguous(name, expression.place, frame, keys.others)
        return
    for part in children(expression):
        _beside(part, keys, local | brings(expression), frame)


def _outer_names(expression: Expression, more: Iterable[str], frame: Frame) -> set[str]:
    """The names of this frame, less `more`, that a pattern or subquery takes from around it."""
    query = replace(frame.query, warnings=[])  # the first check has reported them
    names, looked = dict.fromkeys(more, VALUE), set[str]()
    seen = Frame(query, {**frame.names, **names}, frame.around, looked)
    if isinstance(expression, syntax.PatternTest):
        condition(expression, seen)
    else:
        known(expression, seen)
    return (looked & frame.names.keys()) - names.keys()


def _ambiguous(
    name: str, place: Place, frame: Frame, others: Iterable[Expression] = ()
) -> QueryError:
    """others : keys with an operator."""
    message = f"'{name}' is used beside an aggregate, but is no grouping column."
    cure = "Return what you need of it as a column as well, or compute it in a WITH before."
    if any(syntax.Variable(name, place) in walk(key) for key in others):
        cure = (
            "A column with an operator cannot be repeated there: compute it in a WITH before, and return "
            f"its name, or return '{name}' itself as a column as well."
        )
    return frame.not_allowed(place, "AmbiguousAggregationExpression", message, cure)


@dataclass(frozen=True, slots=True)
class _Behind:
    projected: Projected
    items: frozenset[Expression]  # those that are allowed again
    frame: Frame

    def check(self, expression: Expression, local: frozenset[str]) -> None:
        if expression in self.items:
            return
        if isinstance(expression, syntax.Variable):
            self._variable(expression, local)
        elif is_aggregate(expression):
            for part in walk(expression):
                if isinstance(part, syntax.Variable) and not self._visible(part.name, local):
                    raise self._undefined(part.name, part.place)
            raise refuse_aggregate(expression, self.frame, nested=False)
        elif isinstance(expression, (syntax.PatternComprehension, syntax.Subquery)):
            return  # it has been checked without the names before the projection
        elif isinstance(expression, syntax.PatternTest):
            for name in sorted(
                _outer_names(expression, local.union(self.projected.columns), self.frame)
            ):
                raise self._undefined(name, expression.place)
            return
        for part in children(expression):
            self.check(part, local | brings(expression))

    def _variable(self, variable: syntax.Variable, local: frozenset[str]) -> None:
        if self._visible(variable.name, local):
            return
        if any(variable in walk(key) for key in self.projected.keys - self.items):
            others = self.projected.keys - self.items
            raise _ambiguous(variable.name, variable.place, self.frame, others)
        raise self._undefined(variable.name, variable.place)

    def _undefined(self, name: str, place: Place) -> QueryError:
        message = f"'{name}' is neither a column of its own nor inside one, and only columns are left here."
        cure = "Return it as a column as well: with DISTINCT or an aggregate, rows are grouped."
        return self.frame.problem(NameProblem, place, "UndefinedVariable", message, cure)

    def _visible(self, name: str, local: frozenset[str]) -> bool:
        if name in local or name in self.projected.columns:
            return True
        around = self.frame.around
        return name not in self.frame.names and around is not None and around.find(name) is not None
