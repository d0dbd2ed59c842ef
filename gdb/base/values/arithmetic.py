"""+ - * / % ^ of the language: integers of 64 bits, floats, strings, lists; the temporal ones are in `times`.

Null in, null out. An integer that does not fit into 64 bits is an error, never a wrapped one.
"""

from __future__ import annotations

import math
from sys import getsizeof
from typing import TYPE_CHECKING

from gdb.base.allowance import here
from gdb.base.values import times
from gdb.base.values.naming import kind, type_phrase
from gdb.base.values.problems import ValueProblem
from gdb.imports import deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gdb.base.values import temporal_between
    from gdb.base.values.kinds import Value
else:
    temporal_between = deferred("gdb.base.values.temporal_between")  # few values are times

LOWEST, HIGHEST = -(2**63), 2**63 - 1
_POINTER = 8  # bytes of an item in a list
_LARGE = 256  # characters


def in_range(number: int) -> int:
    """The integer itself.

    Raises
    ------
    ValueProblem : "arithmetic", it does not fit into 64 bits.
    """
    if LOWEST <= number <= HIGHEST:
        return number
    raise ValueProblem(
        "arithmetic",
        "the integer does not fit into 64 bits.",
        "Compute with floats, as in toFloat(x).",
    )


def is_number(value: Value) -> bool:
    """Whether a value is an integer or a float; booleans are not numbers here."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def add(a: Value, b: Value) -> Value:
    """a + b: numbers added, strings joined (also with a number), lists joined, an item put before or behind a list."""
    if a is None or b is None:
        return None
    if type(a) is int and type(b) is int:  # type() leaves bool out
        return in_range(a + b)
    if isinstance(a, list):
        several = b if isinstance(b, list) else [b]
        here().make_value(_POINTER * (len(a) + len(several)), "a list that + makes")
        return [*a, *several]
    if isinstance(b, list):
        here().make_value(_POINTER * len(b), "a list that + makes")
        return [a, *b]
    if isinstance(a, str) and (isinstance(b, str) or is_number(b)):
        return _text(a, as_text(b))
    if isinstance(b, str) and is_number(a):
        return _text(as_text(a), b)
    if times.is_temporal(a) or times.is_temporal(b):
        return temporal_between.add(a, b)
    left, right = _floats("+", a, b)
    return left + right


def _text(left: str, right: str, operator: str = "+") -> str:
    """Both strings joined; a large one counts before it is made."""
    if len(left) + len(right) > _LARGE:
        here().make_value(getsizeof(left) + getsizeof(right), f"a string that {operator} makes")
    return left + right


def joined(a: Value, b: Value) -> Value:
    """a || b: of two strings, or of two lists."""
    if a is None or b is None:
        return None
    if isinstance(a, str) and isinstance(b, str):
        return _text(a, b, "||")
    if isinstance(a, list) and isinstance(b, list):
        here().make_value(_POINTER * (len(a) + len(b)), "a list that || makes")
        return [*a, *b]
    cure = "Write OR." if isinstance(a, bool) and isinstance(b, bool) else ""
    cure = cure or "Write toString() around what is no string, or + for an item of a list."
    raise ValueProblem("type", f"|| does not take {type_phrase(a)} and {type_phrase(b)}.", cure)


def subtract(a: Value, b: Value) -> Value:
    """a - b"""
    if a is None or b is None:
        return None
    if type(a) is int and type(b) is int:
        return in_range(a - b)
    if times.is_temporal(a) or times.is_temporal(b):
        return temporal_between.subtract(a, b)
    left, right = _floats("-", a, b)
    return left - right


def multiply(a: Value, b: Value) -> Value:
    """a * b"""
    if a is None or b is None:
        return None
    if type(a) is int and type(b) is int:
        return in_range(a * b)
    if times.is_temporal(a) or times.is_temporal(b):
        return temporal_between.multiply(a, b)
    left, right = _floats("*", a, b)
    return left * right


def divide(a: Value, b: Value) -> Value:
    """a / b: of integers toward zero; of floats inf or NaN where b is 0."""
    if a is None or b is None:
        return None
    if type(a) is int and type(b) is int:
        return _divide_integers(a, b)
    if times.is_temporal(a) or times.is_temporal(b):
        return temporal_between.divide(a, b)
    left, right = _floats("/", a, b)
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _divide_integers(a: int, b: int) -> int:
    if b == 0:
        raise _by_zero()
    quotient = abs(a) // abs(b)  # Python's // rounds down, the language toward zero
    return in_range(quotient if (a < 0) == (b < 0) else -quotient)


def remainder(a: Value, b: Value) -> Value:
    """a % b, with the sign of a."""
    if a is None or b is None:
        return None
    if type(a) is int and type(b) is int:
        return _remainder_of_integers(a, b)
    left, right = _floats("%", a, b)
    return math.nan if right == 0 or math.isinf(left) else math.fmod(left, right)


def _remainder_of_integers(a: int, b: int) -> int:
    if b == 0:
        raise _by_zero()
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def power(a: Value, b: Value) -> Value:
    """a ^ b, always a float."""
    if a is None or b is None:
        return None
    left, right = _floats("^", a, b)
    odd = right % 2 == 1 if math.isfinite(right) else False
    negative = odd and math.copysign(1.0, left) < 0
    try:
        return math.pow(left, right)
    except OverflowError:
        return -math.inf if negative else math.inf
    except ValueError:  # 0 to a negative power, or a root of a negative number
        return math.nan if left else -math.inf if negative else math.inf


def negate(value: Value) -> Value:
    """-value"""
    if value is None:
        return None
    if isinstance(value, float):
        return -value
    if isinstance(value, int) and not isinstance(value, bool):
        return in_range(-value)
    if times.is_temporal(value):
        return temporal_between.multiply(value, -1)
    raise ValueProblem("type", f"- takes a number, and this is {type_phrase(value)}.")


def _floats(operator: str, a: Value, b: Value) -> tuple[float, float]:
    if (
        isinstance(a, (int, float))
        and isinstance(b, (int, float))
        and not isinstance(a, bool)
        and not isinstance(b, bool)
    ):
        return float(a), float(b)
    several = {kind(a), kind(b)}
    cure = ""
    if "BOOLEAN" in several:
        cure = "toString() makes a string of a boolean, CASE WHEN ... THEN 1 ELSE 0 END a number."
    elif "STRING" in several:
        cure = "toInteger() and toFloat() make a number of a string."
    elif several & {"NODE", "RELATIONSHIP", "MAP"}:
        cure = "Take a property, as in a.key."
    raise ValueProblem(
        "type", f"{operator} does not take {type_phrase(a)} and {type_phrase(b)}.", cure
    )


def _by_zero() -> ValueProblem:
    return ValueProblem(
        "arithmetic", "an integer is divided by zero.", "Divide by a float for infinity."
    )


def as_text(value: Value) -> str:
    """A number as the language writes it, a string as it is.

    Examples
    --------
    >>> as_text(1), as_text(1.0), as_text(1e30), as_text(float("inf"))
    ('1', '1.0', '1.0E30', 'Infinity')
    """
    if not isinstance(value, float):
        return str(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    mantissa, exponent, scale = repr(value).partition("e")
    if not exponent:
        return mantissa
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(scale)}"


OPERATIONS: Mapping[str, Callable[[Value, Value], Value]] = {
    "+": add,
    "-": subtract,
    "||": joined,
    "*": multiply,
    "/": divide,
    "%": remainder,
    "^": power,
}
"""Operators of two values."""
