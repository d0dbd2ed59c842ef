"""Calls of functions whose arguments are known before the query runs: their value is, too, by the Python definition."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, cast

from gdb.base.values.problems import ValueProblem
from gdb.functions.library import FUNCTIONS
from gdb.functions.types import in_columns
from gdb.imports import deferred
from gdb.language.scope import Scope
from gdb.language.syntax import (
    Call,
    Expression,
    ListLiteral,
    Literal,
    MapLiteral,
    Negative,
    Parameter,
)
from gdb.storage.columns.temporal import length_of

if TYPE_CHECKING:
    from gdb.base.values import arithmetic, temporal_python
    from gdb.base.values.kinds import Value
    from gdb.executor.relational.relational_tail import Value as ParameterValue
else:
    arithmetic = deferred("gdb.base.values.arithmetic")
    temporal_python = deferred("gdb.base.values.temporal_python")


class NotConstant(Exception):
    """An expression that depends on the row, on the time, or on chance, or that fails, which the row will report."""


def constant(expression: Expression, scope: Scope) -> ParameterValue:
    """The value, as a parameter would have it.

    Raises
    ------
    NotConstant : it is none. NameProblem, NotSupported : of a parameter.
    """
    try:
        return cast("ParameterValue", temporal_python.to_python(_value(expression, scope)))
    except ValueProblem:
        raise NotConstant from None


def _value(expression: Expression, scope: Scope) -> Value:
    match expression:
        case Literal(value=value):
            return value
        case Parameter(name=name, place=place):
            return temporal_python.from_python(scope.parameter(name, place))
        case Negative(operand=operand):
            return arithmetic.negate(_value(operand, scope))
        case ListLiteral(items=items):
            return [_value(item, scope) for item in items]
        case MapLiteral(entries=entries):
            return {key.text: _value(part, scope) for key, part in entries}
        case Call(function=function, arguments=arguments, star=False, distinct=False):
            row = FUNCTIONS.get(function.text.lower())
            if row is None or row.varies or not arguments or "." in row.name:
                raise NotConstant
            return row.apply(*[_value(argument, scope) for argument in arguments])
        case _:
            raise NotConstant


def has_column(value: ParameterValue) -> bool:
    """Whether a column of its type can hold a value."""
    if isinstance(value, timedelta):
        return abs(length_of(value)) < 1 << 63
    plain = value is None or isinstance(value, (bool, int, float, str, date))
    return plain and in_columns(value)  # a datetime with a zone is a date, too
