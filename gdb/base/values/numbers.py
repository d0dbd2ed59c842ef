"""The functions of numbers. Where mathematics has no result they give NaN or infinity, as IEEE 754 does."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from gdb.base.allowance import here
from gdb.base.values import arguments
from gdb.base.values.arguments import integer, string
from gdb.base.values.arithmetic import in_range
from gdb.base.values.naming import refusal
from gdb.base.values.problems import ValueProblem

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value


def of_float(name: str, compute: Callable[[float], float]) -> Callable[[Value], Value]:
    """A function from float to float, as one from a number to a float."""

    def apply(value: Value) -> Value:
        number = float(arguments.number(name, value))
        try:
            return compute(number)
        except OverflowError:
            return math.inf
        except ValueError:  # outside of what the function is defined for
            return math.nan

    return apply


def absolute(value: Value) -> Value:
    """abs() of a number, of its own type. Raises ValueProblem for -2^63."""
    number = abs(arguments.number("abs", value))
    return in_range(number) if isinstance(number, int) else number


def sign(value: Value) -> Value:
    """sign(): -1, 0 or 1."""
    number = arguments.number("sign", value)
    return (number > 0) - (number < 0)


def is_nan(value: Value) -> Value:
    """isNaN() of a number."""
    return math.isnan(arguments.number("isNaN", value))


def whole(round_: Callable[[float], int]) -> Callable[[float], float]:
    """ceil and floor; infinity stays what it is, and a zero keeps the sign of the number (IEEE 754)."""

    def apply(number: float) -> float:
        return math.copysign(round_(number), number) if math.isfinite(number) else number

    return apply


def logarithm(log: Callable[[float], float]) -> Callable[[float], float]:
    """A logarithm that is -inf at 0, where the one of `math` raises."""
    return lambda number: log(number) if number else -math.inf


def hyperbolic_sine(number: float) -> float:
    """sinh() that is an infinity where the one of `math` raises."""
    try:
        return math.sinh(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def cotangent(number: float) -> float:
    """cot() of an angle in radians; inf where the tangent is 0."""
    tangent = math.tan(number)
    return 1.0 / tangent if tangent else math.inf


# ---- round ---------------------------------------------------------------------------------------

_MODES = {
    "UP": decimal.ROUND_UP,
    "DOWN": decimal.ROUND_DOWN,
    "CEILING": decimal.ROUND_CEILING,
    "FLOOR": decimal.ROUND_FLOOR,
    "HALF_UP": decimal.ROUND_HALF_UP,
    "HALF_DOWN": decimal.ROUND_HALF_DOWN,
    "HALF_EVEN": decimal.ROUND_HALF_EVEN,
}
_DIGITS = 400  # more than any float has on either side of the point


def rounded(value: Value, precision: Value = 0, mode: Value = None) -> Value:
    """round(): to so many digits after the point. A tie without a mode, as in Neo4j: of 0 digits upwards (-2.5 becomes
    -2), else away from zero (-1.25 to one digit becomes -1.3), as HALF_UP does. A zero keeps its
    sign."""
    number = float(arguments.number("round", value))
    digits = integer("round", precision)
    if not math.isfinite(number) or digits > _DIGITS:
        return number
    if digits == 0 and mode is None:
        below = math.floor(number)
        nearest = below + 1 if number - below >= 0.5 else below  # -1.5 becomes -1
        return math.copysign(nearest, number)
    step = decimal.Decimal(1).scaleb(-max(digits, -_DIGITS))
    with decimal.localcontext(decimal.Context(prec=2 * _DIGITS)):
        # repr is the shortest text of the number, so that 0.15 is a tie as the user sees it.
        parts = decimal.Decimal(repr(number)) / step
        return float(parts.to_integral_value(_mode(mode)) * step)


def _mode(mode: Value) -> str:
    name = "HALF_UP" if mode is None else string("round", mode).upper()
    if name not in _MODES:
        raise ValueProblem(
            "argument", f"round() has no mode '{mode}'.", f"It has {', '.join(_MODES)}."
        )
    return _MODES[name]


def atan2(y: Value, x: Value) -> Value:
    """atan2(): the angle of a point (x, y), in radians."""
    return math.atan2(arguments.number("atan2", y), arguments.number("atan2", x))


# ---- range ---------------------------------------------------------------------------------------

LONGEST_RANGE = 50_000_000  # 2 GB of Python integers
_INTEGER = 40  # bytes of one in a list
_AT_ONCE = 1 << 18  # integers between two looks at the clock


def integers(start: Value, stop: Value, step: Value = 1) -> range | None:
    """The integers of range(start, stop, step), which are made one by one; None where an argument is null.

    Raises
    ------
    ValueProblem : "argument", it is no integer; a step of 0; too many integers.
    """
    if start is None or stop is None or step is None:
        return None
    first, last, by = (_bound(value) for value in (start, stop, step))
    if by == 0:
        raise ValueProblem("argument", "range() takes no step of 0.")
    numbers = range(first, last + (1 if by > 0 else -1), by)
    if abs(last - first) // abs(by) >= LONGEST_RANGE and (last > first) == (by > 0):
        raise ValueProblem(
            "argument",
            f"range() makes lists of up to {LONGEST_RANGE} integers.",
            "Use a larger step.",
        )
    return numbers


def integer_list(start: Value, stop: Value, step: Value = 1) -> Value:
    """start, start + step, ... up to stop, inclusive."""
    numbers = integers(start, stop, step)
    if numbers is None:
        return None
    here().make(_INTEGER * len(numbers), "range()")
    made: list[Value] = []
    for begin in range(0, len(numbers), _AT_ONCE):
        made.extend(numbers[begin : begin + _AT_ONCE])
        here().tick(_AT_ONCE)
    return made


def _bound(value: Value) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    problem = refusal("range()", "integers", value)
    raise ValueProblem("argument", problem.message)
