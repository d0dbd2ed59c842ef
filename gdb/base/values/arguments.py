"""Type checks of function arguments: each has its type, or the problem names the function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.base.values.naming import refusal
from gdb.base.values.problems import ValueProblem

if TYPE_CHECKING:
    from gdb.base.values.kinds import Value


def string(name: str, value: Value) -> str:
    """The argument of a function, which must be a string."""
    if isinstance(value, str):
        return value
    raise refusal(f"{name}()", "a string", value)


def integer(name: str, value: Value) -> int:
    """The argument of a function, which must be an integer."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise refusal(f"{name}()", "an integer", value)


def number(name: str, value: Value, takes: str = "a number") -> int | float:
    """The argument of a function, which must be a number. takes : as the message says it."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    raise refusal(f"{name}()", takes, value)


def natural(name: str, value: Value) -> int:
    """The argument of a function, which must be an integer from 0."""
    found = integer(name, value)
    if found < 0:
        raise ValueProblem("argument", f"{name}() takes an integer from 0, not {found}.")
    return found


def items(name: str, value: Value) -> list[Value]:
    """The argument of a function, which must be a list."""
    if isinstance(value, list):
        return value
    raise refusal(f"{name}()", "a list", value)
