"""toInteger, toFloat, toString, toBoolean, and their forms ...OrNull and ...List.

A string that says no such value becomes null; a value of a type that has no meaning here is refused, or null in the
form ...OrNull.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from gdb.base.allowance import here, paced
from gdb.base.values import times
from gdb.base.values.arguments import items
from gdb.base.values.arithmetic import HIGHEST, as_text, in_range
from gdb.base.values.naming import refusal
from gdb.base.values.problems import ValueProblem

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value

_ITEM = 66  # bytes of a short string in a list
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NAMED = {"nan": math.nan, "infinity": math.inf, "+infinity": math.inf, "-infinity": -math.inf}


def to_integer(value: Value) -> Value:
    """toInteger() of a number or a text; null for a text that is no number."""
    match value:
        case bool():
            raise refusal("toInteger()", "a number or a string", value)
        case int():
            return value
        case float():
            return _whole(value)
        case str():
            text = value.strip()
            if _INTEGER.fullmatch(text):
                # Python refuses to read integers of thousands of digits.
                return in_range(int(text) if len(text) < 1000 else HIGHEST + 1)
            number = to_float(text)
            return _whole(number) if isinstance(number, float) else None
        case _:
            raise refusal("toInteger()", "a number or a string", value)


def _whole(number: float) -> Value:
    """Without its fraction; NaN has no integer."""
    if math.isnan(number):
        return None
    if math.isinf(number):
        raise ValueProblem("arithmetic", "infinity is no integer.")
    return in_range(int(number))


def to_float(value: Value) -> Value:
    """toFloat() of a number or a text; null for a text that is no number."""
    match value:
        case bool():
            raise refusal("toFloat()", "a number or a string", value)
        case int() | float():
            return float(value)
        case str():
            text = value.strip()
            return float(text) if _FLOAT.fullmatch(text) else _NAMED.get(text.lower())
        case _:
            raise refusal("toFloat()", "a number or a string", value)


def to_string(value: Value) -> Value:
    """toString() of a number, a text, a boolean or a temporal value."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float() | str():
            return as_text(value)
        case _ if times.is_temporal(value):
            return str(value)
        case _:
            raise refusal("toString()", "a number, string, boolean or temporal value", value)


def to_boolean(value: Value) -> Value:
    """toBoolean() of a boolean, a text or an integer; null for another text than true and false."""
    match value:
        case bool():
            return value
        case int():
            return value != 0
        case str():
            return {"true": True, "false": False}.get(value.strip().lower())
        case _:
            raise refusal("toBoolean()", "a boolean, a string or an integer", value)


def or_null(convert: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """The form ...OrNull of a conversion: null for what it refuses."""

    def converted(value: Value) -> Value:
        try:
            return None if value is None else convert(value)
        except ValueProblem:
            return None

    return converted


def of_list(name: str, convert: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """The form ...List of a conversion: item by item, null for what it refuses. name : of this form."""
    each = or_null(convert)

    def converted(values: Value) -> Value:
        listed = items(name, values)
        here().make(_ITEM * len(listed), f"{name}()")
        return [each(value) for value in paced(listed, len(listed))]

    return converted
