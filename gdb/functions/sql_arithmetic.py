"""+ - * / % ^ of numbers as SQL."""

from __future__ import annotations

from typing import Literal as OneOf

from gdb.base.sql import call, cast, chosen, exp, negated, operand
from gdb.functions.sql_pieces import all_of, compared, number
from gdb.functions.types import FLOAT, INTEGER, NULL, Typed, TypeName

Operator = OneOf["+", "-", "*", "/", "%", "^"]
_NODES: dict[str, str] = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "%": "Mod"}


def calculate(operator: Operator, left: Typed, right: Typed) -> Typed:
    """left operator right of two numbers, or null. What DuckDB makes an error of (an overflow, an integer divided by
    zero) is one."""
    if left.is_null or right.is_null:
        return Typed(exp.Null(), NULL)
    if left.kind is right.kind is TypeName.INTEGER and operator != "^":
        # both cut towards zero
        node = exp.IntDiv if operator == "/" else getattr(exp, _NODES[operator])
        return Typed(node(this=operand(left.sql), expression=operand(right.sql)), INTEGER)
    one, other = as_float(left), as_float(right)
    match operator:
        case "^":
            return Typed(call("pow", one, other), FLOAT)
        case "%":
            return Typed(_remainder(one, other), FLOAT)
        case _:
            node = getattr(exp, _NODES[operator])
            return Typed(node(this=operand(one), expression=operand(other)), FLOAT)


def as_float(value: Typed) -> exp.Expr:
    """A number as a float, which the other operand makes of it."""
    return value.sql if value.kind is TypeName.FLOAT else cast(value.sql, "DOUBLE")


def _remainder(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """fmod, and NaN where it is not defined; DuckDB gives null for a divisor of 0."""
    nan = cast(exp.Literal.string("NaN"), "DOUBLE")
    there = all_of(
        compared(exp.EQ, right, number(0.0)),
        negated(exp.Is(this=operand(left.copy()), expression=exp.Null())),
    )
    rest = exp.Mod(this=operand(left), expression=operand(right))
    return chosen((there, nan), default=rest)


def unrewritten(value: Typed) -> Typed:
    """An integer that was calculated, as a side of a comparison: DuckDB would bring its constants to the other side,
    where nothing overflows."""
    inner = value.sql.unnest()
    if value.kind is TypeName.INTEGER and isinstance(inner, (exp.Add, exp.Sub, exp.Mul, exp.Neg)):
        return Typed(call("greatest", value.sql), value.type)
    return value
