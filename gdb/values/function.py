"""What a function of the language is, and how it takes its arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from gdb.values.naming import refusal
from gdb.values.problems import ValueProblem

if TYPE_CHECKING:
    from gdb.values.kinds import Value

Apply: TypeAlias = "Callable[..., Value]"


@dataclass(frozen=True, slots=True)
class Function:
    """A function. name : as messages write it. least, most : how many arguments it takes; most None has no bound.
    apply : its value for these arguments, which come one by one; raises ValueProblem."""

    name: str
    least: int
    most: int | None
    apply: Apply


def strict(name: str, least: int, most: int, apply: Apply) -> Function:
    """A function that is null where any of its arguments is."""

    def applied(*arguments: Value) -> Value:
        for argument in arguments:
            if argument is None:
                return None
        return apply(*arguments)

    return Function(name, least, most, applied)


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


def natural(name: str, value: Value) -> int:
    """The argument of a function, which must be an integer from 0."""
    number = integer(name, value)
    if number < 0:
        raise ValueProblem("argument", f"{name}() takes an integer from 0, not {number}.")
    return number


def items(name: str, value: Value) -> list[Value]:
    """The argument of a function, which must be a list."""
    if isinstance(value, list):
        return value
    raise refusal(f"{name}()", "a list", value)
