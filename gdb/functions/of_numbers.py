"""The functions of numbers. Where mathematics has no result they give NaN or infinity, as IEEE 754 does.

Python's `math` and DuckDB call the same functions of the C library. A guard keeps DuckDB to what neither makes an error
of, and to what both say alike.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from gdb.base.sql import call, cast, chosen, exp, operand
from gdb.base.values import numbers
from gdb.base.values.arithmetic import power, remainder
from gdb.functions.function import Function, Guarded, Made, ToSql, function
from gdb.functions.sql_arithmetic import Operator, calculate
from gdb.functions.sql_pieces import all_of, compared, null_where, number
from gdb.functions.types import BOOLEAN, FLOAT, INTEGER, NUMBERS, Typed, TypeName


def _float(value: Typed) -> exp.Expr:
    """A copy of a number as a float."""
    return value.sql.copy() if value.kind is TypeName.FLOAT else cast(value.sql.copy(), "DOUBLE")


def _of_number(make: Callable[[Typed], Made]) -> ToSql:
    return lambda value: make(value) if value.kind in NUMBERS else None


def _called(name: str, low: float = -math.inf, high: float = math.inf) -> ToSql:
    """A function of C between two bounds, which are not among its arguments where they are infinite."""

    def make(value: Typed) -> Made:
        of = _float(value)
        tests = [
            compared(exp.GT if math.isinf(low) else exp.GTE, of, number(low)),
            compared(exp.LT if math.isinf(high) else exp.LTE, of, number(high)),
        ]
        return Guarded(all_of(*tests), Typed(call(name, of), FLOAT))

    return _of_number(make)


def _whole(name: str) -> ToSql:
    def make(value: Typed) -> Made:
        return Typed(call(name, _float(value)), FLOAT)

    return _of_number(make)


def _times(factor: float) -> ToSql:
    def make(value: Typed) -> Made:
        return Typed(exp.Mul(this=operand(_float(value)), expression=number(factor)), FLOAT)

    return _of_number(make)


def _sign(value: Typed) -> Made:
    sign = cast(call("sign", value.sql.copy()), "BIGINT")
    if value.kind is TypeName.INTEGER:
        return Typed(sign, INTEGER)
    nan = exp.If(this=call("isnan", value.sql.copy()), true=number(0))
    return Typed(exp.Case(ifs=[nan], default=sign), INTEGER)


def _round(value: Typed, precision: Typed | None = None, mode: Typed | None = None) -> Made:
    """Half goes up; with digits that are known before the query runs away from zero."""
    if value.kind not in NUMBERS or mode is not None:
        return None
    if precision is not None:
        digits = None if precision.constant is None else precision.constant.value
        if not isinstance(digits, int) or not 1 <= digits <= _MOST_DIGITS:
            return None
        return _round_to(value, digits) if precision.kind is TypeName.INTEGER else None
    of = _float(value)
    below = call("floor", of.copy())
    part = exp.Sub(this=operand(of.copy()), expression=below.copy())
    up = compared(exp.GTE, part, number(0.5))
    above = call("ceil", of.copy())  # not below + 1.0: of -0.2 it is -0.0
    return Guarded(call("isfinite", of), Typed(chosen((up, above), default=below), FLOAT))


def _round_to(value: Typed, digits: int) -> Made:
    """Python rounds the decimal text of a number, which is off the number by less than 2**-53 of it, and so is the
    product with a power of ten: where this is not as close to a half, both round to the same whole number, and that
    divided by the power of ten is the float of the text."""
    of, power = _float(value), number(float(10**digits))
    scaled = operand(exp.Mul(this=call("abs", of), expression=power))
    below = call("floor", scaled)
    part = operand(exp.Sub(this=scaled, expression=below))
    off = call("abs", exp.Sub(this=part, expression=number(0.5)))
    near = exp.Mul(this=scaled, expression=number(2.0**-50))
    sure = all_of(compared(exp.LT, scaled, number(_LARGEST_SCALED)), compared(exp.GT, off, near))
    up = compared(exp.GT, part, number(0.5))
    above = exp.Add(this=below, expression=number(1.0))
    nearest = chosen((up, above), default=below)
    found = operand(exp.Div(this=nearest, expression=power))
    signed = chosen(
        (compared(exp.LT, of, number(0.0)), exp.Neg(this=found)),  # of -0.01 it is -0.0
        (compared(exp.EQ, of, number(0.0)), of),
        default=found,
    )
    return Guarded(sure, Typed(signed, FLOAT))


def _nan(value: Typed) -> Made:
    if value.kind is TypeName.INTEGER:
        return Typed(null_where([value.sql], exp.false()), BOOLEAN)
    return Typed(call("isnan", value.sql), BOOLEAN)


def _atan2(y: Typed, x: Typed) -> Made:
    if y.kind not in NUMBERS or x.kind not in NUMBERS:
        return None
    return Typed(call("atan2", _float(y), _float(x)), FLOAT)


def _calculated(operator: Operator) -> ToSql:
    def make(left: Typed, right: Typed) -> Made:
        both = left.kind in NUMBERS and right.kind in NUMBERS
        return calculate(operator, left, right) if both else None

    return make


def _of_float(
    name: str, compute: Callable[[float], float], doc: str, sql: ToSql | None = None
) -> Function:
    signature = f"{name}(number :: NUMBER) :: FLOAT"
    return function(signature, numbers.of_float(name, compute), doc, sql)


_log, _log10 = numbers.logarithm(math.log), numbers.logarithm(math.log10)
_LEAST = 5e-324  # above 0
_UP, _DOWN = numbers.whole(math.ceil), numbers.whole(math.floor)
_EXP = (-700.0, 700.0)
_MOST_DIGITS, _LARGEST_SCALED = 15, float(1 << 40)
ROWS = (
    function(
        "abs(number :: NUMBER) :: NUMBER",
        numbers.absolute,
        "without its sign",
        _of_number(lambda value: Typed(call("abs", value.sql), value.type)),
    ),
    function("sign(number :: NUMBER) :: INTEGER", numbers.sign, "-1, 0 or 1", _of_number(_sign)),
    function(
        "isNaN(number :: NUMBER) :: BOOLEAN", numbers.is_nan, "whether it is NaN", _of_number(_nan)
    ),
    function(
        "round(number :: NUMBER, digits? :: INTEGER, mode? :: STRING) :: FLOAT",
        numbers.rounded,
        "rounded to an integer, a half up, or to a number of digits, a half away from zero or by the mode",
        _round,
    ),
    function(
        "atan2(y :: NUMBER, x :: NUMBER) :: FLOAT",
        numbers.atan2,
        "the angle of a point, in radians",
        _atan2,
    ),
    function(
        "power(base :: NUMBER, exponent :: NUMBER) :: FLOAT",
        *(power, "as base ^ exponent", _calculated("^")),
    ),
    function(
        "mod(number :: NUMBER, by :: NUMBER) :: NUMBER",
        *(remainder, "as number % by", _calculated("%")),
    ),
    _of_float("ceil", _UP, "the next whole number that is not less", _whole("ceil")),
    _of_float("ceiling", _UP, "the next whole number that is not less", _whole("ceil")),
    _of_float("floor", _DOWN, "the next whole number that is not more", _whole("floor")),
    _of_float("sqrt", math.sqrt, "the square root", _called("sqrt", 0.0)),
    _of_float("exp", math.exp, "e to this power", _called("exp", *_EXP)),
    _of_float("log", _log, "the logarithm to the base e", _called("ln", _LEAST)),
    _of_float("ln", _log, "the logarithm to the base e", _called("ln", _LEAST)),
    _of_float("log10", _log10, "the logarithm to the base 10", _called("log10", _LEAST)),
    _of_float("sin", math.sin, "the sine", _called("sin")),
    _of_float("cos", math.cos, "the cosine", _called("cos")),
    _of_float("tan", math.tan, "the tangent", _called("tan")),
    _of_float("cot", numbers.cotangent, "the cotangent"),
    _of_float("asin", math.asin, "the angle of a sine, in radians", _called("asin", -1.0, 1.0)),
    _of_float("acos", math.acos, "the angle of a cosine, in radians", _called("acos", -1.0, 1.0)),
    _of_float("atan", math.atan, "the angle of a tangent, in radians", _called("atan")),
    _of_float("sinh", numbers.hyperbolic_sine, "the hyperbolic sine", _called("sinh", *_EXP)),
    _of_float("cosh", math.cosh, "the hyperbolic cosine", _called("cosh", *_EXP)),
    _of_float("tanh", math.tanh, "the hyperbolic tangent", _called("tanh")),
    _of_float("degrees", math.degrees, "radians as degrees", _times(180.0 / math.pi)),
    _of_float("radians", math.radians, "degrees as radians", _times(math.pi / 180.0)),
    _of_float("haversin", lambda number: (1.0 - math.cos(number)) / 2.0, "half of 1 - cos(number)"),
    function("e() :: FLOAT", lambda: math.e, "the base of the natural logarithm"),
    function("pi() :: FLOAT", lambda: math.pi, "the half circle in radians"),
    function("rand() :: FLOAT", random.random, "from 0 to 1, another for each row", varies=True),
)
"""One row a function."""
