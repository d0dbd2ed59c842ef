"""The translation of expressions over the names of a relation, and of aggregates of its weighted and ordered rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gdb.base.sql import (
    call,
    cast,
    column_of,
    equal,
    exp,
    is_null,
    joined,
    negated,
    row_number,
    value_of,
)
from gdb.base.values.problems import ValueProblem
from gdb.functions.sql_pieces import LONGEST_LIST, number, or_nothing
from gdb.functions.types import BOOLEAN, INTEGER, NULL, Type, Typed, TypeName
from gdb.imports import deferred
from gdb.language import syntax
from gdb.language.refusals import untranslatable_part
from gdb.language.syntax import Expression, Place, rebuilt, walk
from gdb.language.translator import Translator
from gdb.physical.columns.looked_columns import RelationColumns
from gdb.physical.columns.relation import Builder

if TYPE_CHECKING:
    from gdb.base.values import numbers
else:
    numbers = deferred("gdb.base.values.numbers")

MOST_GROWING = 8
"""Concatenations of one query over columns; a replace() is as three."""


def integers_of(values: Expression, parameters: Mapping[str, object]) -> range | None:
    """The integers of a call of range() whose arguments are literals or parameters; None for anything else."""
    if not isinstance(values, syntax.Call) or values.function.text.lower() != "range":
        return None
    integers: list[int] = []
    for argument in values.arguments:
        value: object = None
        if isinstance(argument, syntax.Literal):
            value = argument.value
        elif isinstance(argument, syntax.Parameter):
            value = parameters.get(argument.name)
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        integers.append(value)
    try:
        return numbers.integers(*integers) if 2 <= len(integers) <= 3 else None
    except ValueProblem:  # more than columns take: rows report what is wrong, and where
        return range(1 << 62)


class ChainTranslator(Translator):
    """Translates expressions over the names of a relation."""

    def __init__(self, builder: Builder, columns: RelationColumns) -> None:
        self.builder, self.names = builder, columns.names
        typed = {
            name: Typed(exp.Null() if held.type == NULL else column_of(held.column), held.type)
            for name, held in columns.names.items()
        }
        super().__init__(builder.scope, columns, builder.parameters, typed)

    def typed(self, expression: Expression) -> Typed:
        """SQL and type of an expression of the query.

        Raises
        ------
        QueryError : NotSupported and others: it is not for columns, or wrong.
        """
        return self.translate(self._prepared(expression))

    def _concatenated(self, left: Typed, right: Typed, place: Place) -> Typed:
        self._grows(place)
        return super()._concatenated(left, right, place)

    def _grows(self, place: Place, weight: int = 1) -> None:
        """Note what makes a string longer than its parts. Many of them, one on top of the other, may make it longer
        than there is memory, and no budget counts strings of DuckDB's rows."""
        self.builder.growing += weight
        if self.builder.growing > MOST_GROWING:
            raise self.builder.refuse(place, "a query that joins and replaces so often is")

    def tested(self, expression: Expression) -> exp.Expr:
        """The SQL of a condition."""
        return self.condition(self._prepared(expression))

    def _prepared(self, expression: Expression) -> Expression:
        """The expression with elements for names. What no columns have is refused before its names are looked for."""
        for part in walk(expression):
            if isinstance(part, syntax.Call) and part.function.text.lower() == "replace":
                self._grows(part.place, 3)
            span = integers_of(part, self.scope.parameters)
            if span is not None and len(span) > LONGEST_LIST:
                # DuckDB would make it before it looks at a guard
                raise self.builder.refuse(part.place, "so long a list is")
            found = None if self._measure(part) is not None else untranslatable_part(part)
            if found is not None:
                raise self.builder.refuse(part.place, found)
        return rebuilt(expression, self._resolved)

    def _measure(self, part: Expression) -> syntax.Variable | None:
        """The name whose column is the value of length(path) or size(relationships)."""
        match part:
            case syntax.Call(function=function, arguments=(syntax.Variable() as of,)):
                held = self.names.get(of.name)
                if held is not None and held.measured == function.text.lower():
                    return of
        return None

    def _resolved(self, part: Expression) -> Expression | None:
        measure = self._measure(part)
        if measure is not None:
            return measure
        if not isinstance(part, syntax.Variable):
            return None
        held = self.names.get(part.name)
        self.builder.check_measured(held, part.place)
        if held is None or held.element is None:
            return part
        return syntax.ElementReference(held.element.kind, held.element.index, part.place)

    # ---- aggregates ------------------------------------------------------------------------------

    def weighs(self, expression: syntax.Call) -> bool:
        """Whether an aggregate takes rows that represent several (`aggregated`, weight)."""
        name = expression.function.text.lower()
        if expression.star or expression.distinct or name in ("count", "min", "max"):
            return True
        if name != "sum" or len(expression.arguments) != 1:
            return False
        argument = self.typed(expression.arguments[0])
        return argument.is_null or argument.kind is TypeName.INTEGER

    def aggregated(
        self,
        expression: syntax.Call,
        keys: Sequence[exp.Expr] = (),
        order: Sequence[exp.Expr] = (),
        weight: str | None = None,
    ) -> Typed:
        """SQL of an aggregate of groups that are alike in `keys`. order : in which collect() is to gather. weight : the
        column with the number of rows each represents, where the aggregate takes that (`weighs`)."""
        name = expression.function.text.lower()
        prepared = self._prepared(expression)
        assert isinstance(prepared, syntax.Call)
        if weight is not None and not expression.distinct and name in ("count", "sum"):
            argument = None if expression.star else self.translate(prepared.arguments[0])
            return _weighted(name, argument, weight)
        found = self.gathered(prepared)
        if name != "collect" or not order or found.type.item is TypeName.NULL:
            return found
        argument, tests = self.translate(prepared.arguments[0]), list[exp.Expr]()
        if expression.distinct:
            by = [part.copy() for part in (*keys, argument.sql)]
            first = equal(row_number([one.copy() for one in order], by), value_of(1))
            tests = [self.named(Typed(first, BOOLEAN)).sql]
        return _ordered(argument, found.type, order, tests)

    def listed(self, expression: syntax.Call, order: Sequence[exp.Expr]) -> Typed:
        """SQL of collect() with its nulls; null of no rows."""
        prepared = self._prepared(expression)
        assert isinstance(prepared, syntax.Call)
        found, argument = self.gathered(prepared), self.translate(prepared.arguments[0])
        if found.type.item is TypeName.NULL:
            raise self.refuse(expression.place, "a list of nothing but null is")
        by = exp.Order(this=argument.sql, expressions=[one.copy() for one in order])
        return Typed(call("list", by if order else argument.sql), found.type)


def _weighted(name: str, argument: Typed | None, weight: str) -> Typed:
    """count() or sum() of rows that represent `weight` rows each."""
    times: exp.Expr = column_of(weight)
    if argument is not None and argument.is_null:
        return Typed(number(0), INTEGER)
    if argument is not None and name == "sum":
        times = exp.Mul(this=cast(argument.sql.copy(), "HUGEINT"), expression=times)
    gathered: exp.Expr = call("sum", times)
    if argument is not None:
        there = exp.Where(this=negated(is_null(argument.sql)))
        gathered = exp.Filter(this=gathered, expression=there)
    return Typed(call("coalesce", cast(gathered, "BIGINT"), number(0)), INTEGER)


def _ordered(
    argument: Typed, type_: Type, order: Sequence[exp.Expr], tests: Sequence[exp.Expr]
) -> Typed:
    """collect() in an order. tests : of the rows that it gathers."""
    by = exp.Order(this=argument.sql, expressions=[one.copy() for one in order])
    tests = [negated(is_null(argument.sql.copy())), *tests]
    there = exp.Where(this=joined(exp.And, tests))
    gathered = exp.Filter(this=call("list", by), expression=there)
    return Typed(call("coalesce", gathered, or_nothing(type_)), type_)
