"""Values that are known before the query runs: constants, and what is calculated of them by the Python definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, cast

from gdb.base.values.problems import ValueProblem
from gdb.functions.library import FUNCTIONS
from gdb.functions.types import in_columns
from gdb.imports import deferred
from gdb.language import syntax
from gdb.language.scope import Scope
from gdb.language.syntax import Expression
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
    NotConstant : it is none.
    """
    try:
        return cast(
            "ParameterValue", temporal_python.to_python(value_of(expression, scope.parameters))
        )
    except ValueProblem:
        raise NotConstant from None


def value_of(expression: Expression, parameters: Mapping[str, ParameterValue]) -> Value:
    """The value of the language.

    Raises
    ------
    NotConstant : it is none. ValueProblem : it fails.
    """
    match expression:
        case syntax.Literal(value=value):
            return value
        case syntax.Parameter(name=name) if name in parameters:
            return temporal_python.from_python(parameters[name])
        case syntax.Negative(operand=operand):
            return arithmetic.negate(value_of(operand, parameters))
        case syntax.Arithmetic(first=first, rest=rest):
            total = value_of(first, parameters)
            for sign, part in rest:
                total = arithmetic.OPERATIONS[sign](total, value_of(part, parameters))
            return total
        case syntax.ListLiteral(items=items):
            return [value_of(item, parameters) for item in items]
        case syntax.MapLiteral(entries=entries):
            return {key.text: value_of(part, parameters) for key, part in entries}
        case syntax.Call(function=function, arguments=arguments, star=False, distinct=False):
            row = FUNCTIONS.get(function.text.lower())
            if row is None or row.varies or not arguments or "." in row.name:
                raise NotConstant
            return row.apply(*[value_of(argument, parameters) for argument in arguments])
        case _:
            raise NotConstant


def written(expression: Expression, scope: Scope) -> ParameterValue:
    """A literal, also with a minus, or the value of a parameter.

    Raises
    ------
    NotConstant : it is neither. NameProblem, NotSupported : of a parameter.
    """
    match expression:
        case syntax.Literal(value=value):
            return value
        case syntax.Parameter(name=name, place=place):
            return scope.parameter(name, place)
        case syntax.Negative(operand=syntax.Literal(value=int() | float() as value)) if (
            value is not True
        ):
            return -value
    raise NotConstant


def written_list(expression: Expression, scope: Scope) -> Sequence[ParameterValue] | None:
    """The values of a list of what is `written`, or of a parameter that is a list; None for anything else."""
    match expression:
        case syntax.Parameter(name=name, place=place):
            value = scope.parameter(name, place)
            return value if isinstance(value, (list, tuple)) else None
        case syntax.ListLiteral(items=items):
            try:
                return [written(item, scope) for item in items]
            except NotConstant:
                return None
    return None


def has_column(value: ParameterValue) -> bool:
    """Whether a column of its type can hold a value."""
    if isinstance(value, timedelta):
        return abs(length_of(value)) < 1 << 63
    plain = value is None or isinstance(value, (bool, int, float, str, date))
    return plain and in_columns(value)  # a datetime with a zone is a date, too
