"""Calls of functions, and how an operation on values becomes one on rows, whose error knows its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import getsizeof
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from gdb.base.values.problems import ValueProblem
from gdb.base.values.sizes import POINTER

if TYPE_CHECKING:
    from gdb.base.allowance import Allowance
    from gdb.base.values.kinds import Row, Value
    from gdb.language.syntax import Place
    from gdb.physical.evaluator.context import Compiled, Context

Result = TypeVar("Result")
_LARGE = 256  # characters or items
Operation: TypeAlias = "Callable[[Value, Value], Value]"


def apply_operation(
    operation: Callable[..., Result], operands: Sequence[Compiled], context: Context, place: Place
) -> Callable[[Row], Result]:
    """The operation on the values of its operands."""
    match operands:
        case [only]:
            return _unary(operation, only, context, place)
        case [left, right]:
            return _binary(operation, left, right, context, place)
        case _:
            return _any_number(operation, operands, context, place)


def measure_results(evaluate: Compiled, what: str, allowance: Allowance) -> Compiled:
    """The same function, whose large strings and lists count. what : makes them."""

    def value_of(row: Row) -> Value:
        value = evaluate(row)
        if isinstance(value, str):
            if len(value) >= _LARGE:
                allowance.make(getsizeof(value), what)
        elif isinstance(value, list) and len(value) >= _LARGE:
            allowance.make(POINTER * len(value), what)
        return value

    return value_of


def _unary(
    operation: Callable[[Value], Result], operand: Compiled, context: Context, place: Place
) -> Callable[[Row], Result]:
    def evaluate(row: Row) -> Result:
        try:
            return operation(operand(row))
        except ValueProblem as found:
            raise context.located(found, place) from None

    return evaluate


def _binary(
    operation: Callable[[Value, Value], Result],
    left: Compiled,
    right: Compiled,
    context: Context,
    place: Place,
) -> Callable[[Row], Result]:
    def evaluate(row: Row) -> Result:
        try:
            return operation(left(row), right(row))
        except ValueProblem as found:
            raise context.located(found, place) from None

    return evaluate


def chain_operations(
    first: Compiled, steps: Sequence[tuple[Operation, Compiled, Place]], context: Context
) -> Compiled:
    """The operations of a chain from left to right, each on the value so far and the one of its operand."""
    if len(steps) == 1:
        ((operation, operand, place),) = steps
        return _binary(operation, first, operand, context, place)

    def evaluate(row: Row) -> Value:
        value = first(row)
        for operation, operand, place in steps:
            try:
                value = operation(value, operand(row))
            except ValueProblem as found:
                raise context.located(found, place) from None
        return value

    return evaluate


def _any_number(
    operation: Callable[..., Result], operands: Sequence[Compiled], context: Context, place: Place
) -> Callable[[Row], Result]:
    def evaluate(row: Row) -> Result:
        try:
            return operation(*[operand(row) for operand in operands])
        except ValueProblem as found:
            raise context.located(found, place) from None

    return evaluate
