"""Grouping checks: the operands allowed beside an aggregate, and the names after a projection that groups its rows.

The items without an aggregate are the keys of the groups. Beside an aggregate only keys are allowed that are plain (no
operator), what is made of a key, and constants; behind the projection (ORDER BY, WHERE) its columns and its items.
"""

from __future__ import annotations

from collections.abc import Iterable

from gdb.errors import NameProblem, QueryError, SyntaxProblem
from gdb.functions.static_kinds import VALUE, Known
from gdb.language.aggregation import has_aggregate, is_aggregate
from gdb.language.checks_calls import refuse_aggregate
from gdb.language.checks_expressions import condition, known
from gdb.language.checks_frame import Frame
from gdb.language.checks_patterns import parts
from gdb.language.syntax import (
    Arithmetic,
    Comparison,
    Connected,
    Expression,
    In,
    ListComprehension,
    Negative,
    Not,
    PathPattern,
    PatternComprehension,
    PatternTest,
    Place,
    Quantified,
    Reduce,
    StringTest,
    Subquery,
    Variable,
    children,
    walk,
)
from gdb.records import dataclass, replace

_WITH_PATTERN = (PatternComprehension, PatternTest, Subquery)
_OPERATORS = (Arithmetic, Comparison, Connected, In, Negative, Not, StringTest)
NOTHING: frozenset[str] = frozenset()


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
            _beside(item, plain, NOTHING, frame)


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
    _Behind(projected, items, frame).check(expression, NOTHING)


def _beside(
    expression: Expression, plain: frozenset[Expression], local: frozenset[str], frame: Frame
) -> None:
    if is_aggregate(expression) or expression in plain:
        return
    if isinstance(expression, Variable):
        if expression.name not in local and expression.name in frame.names:
            raise _ambiguous(expression.name, expression.place, frame)
        return
    if isinstance(expression, _WITH_PATTERN):
        names = local.union(key.name for key in plain if isinstance(key, Variable))
        for name in sorted(_outer_names(expression, names, frame)):
            raise _ambiguous(name, expression.place, frame)
        return
    for part in children(expression):
        _beside(part, plain, local | brings(expression), frame)


def _outer_names(expression: Expression, more: Iterable[str], frame: Frame) -> set[str]:
    """The names of this frame, less `more`, that a pattern or subquery takes from around it."""
    facts = replace(frame.facts, warnings=[])  # the first check has reported them
    names, looked = dict.fromkeys(more, VALUE), set[str]()
    seen = Frame(facts, {**frame.names, **names}, frame.around, looked)
    if isinstance(expression, PatternTest):
        condition(expression, seen)
    else:
        known(expression, seen)
    return (looked & frame.names.keys()) - names.keys()


def _ambiguous(name: str, place: Place, frame: Frame) -> QueryError:
    message = f"'{name}' is used beside an aggregate, but is no grouping column."
    cure = "Return what you need of it as a column as well, or compute it in a WITH before."
    return frame.problem(SyntaxProblem, place, "AmbiguousAggregationExpression", message, cure)


@dataclass(frozen=True, slots=True)
class _Behind:
    projected: Projected
    items: frozenset[Expression]  # those that may occur again
    frame: Frame

    def check(self, expression: Expression, local: frozenset[str]) -> None:
        if expression in self.items:
            return
        if isinstance(expression, Variable):
            self._variable(expression, local)
        elif is_aggregate(expression):
            for part in walk(expression):
                if isinstance(part, Variable) and not self._visible(part.name, local):
                    raise self._undefined(part.name, part.place)
            raise refuse_aggregate(expression, self.frame, nested=False)
        elif isinstance(expression, _WITH_PATTERN):
            for name in sorted(
                _outer_names(expression, local.union(self.projected.columns), self.frame)
            ):
                raise self._undefined(name, expression.place)
            return
        for part in children(expression):
            self.check(part, local | brings(expression))

    def _variable(self, variable: Variable, local: frozenset[str]) -> None:
        if self._visible(variable.name, local):
            return
        if any(variable in walk(key) for key in self.projected.keys - self.items):
            raise _ambiguous(variable.name, variable.place, self.frame)
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


def own_variables(expression: Expression) -> frozenset[str]:
    """The names that the parts of an expression have of their own."""
    return NOTHING.union(*map(brings, walk(expression)))


def brings(expression: Expression) -> frozenset[str]:
    """The variables that an expression has of its own."""
    match expression:
        case ListComprehension(variable=variable) | Quantified(variable=variable):
            return frozenset([variable.text])
        case Reduce(total=total, variable=variable):
            return frozenset([total.text, variable.text])
        case PatternComprehension(pattern=pattern):
            return _named(pattern)
        case _:
            return NOTHING


def _named(pattern: PathPattern) -> frozenset[str]:
    names = [pattern.name, *(part.variable for part in parts([pattern]))]
    return frozenset(name.text for name in names if name is not None)
