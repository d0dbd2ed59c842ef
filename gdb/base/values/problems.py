"""Errors of operations on values, raised before their place in the query is known."""

from __future__ import annotations

from typing import Literal

from gdb.errors import ArgumentProblem, ArithmeticProblem, TypeProblem


class ValueProblem(Exception):
    """An operation or function that a value refuses.

    kind : "type" (the operation does not fit the value), "argument" (a function does not take it), "arithmetic"
        (division by zero, overflow).
    """

    def __init__(
        self, kind: Literal["type", "argument", "arithmetic"], message: str, cure: str = ""
    ) -> None:
        super().__init__(message)
        self.kind, self.message, self.cure = kind, message, cure


class EntityDeleted(ValueProblem):
    """A query read more than the identity of a node or relationship that this statement has deleted."""

    def __init__(self, what: str) -> None:
        super().__init__(
            "type", f"{what} was deleted by this query.", "Read what you need of it before DELETE."
        )


class OutOfRange(ValueProblem, ArithmeticProblem):
    """A temporal value that there is not. Programs make such values too (`gdb.Date(10**12)`): of the errors that an
    operation gets, this one and the next are those that they catch."""

    def __init__(self, message: str, cure: str = "") -> None:
        self.kind = "arithmetic"
        ArithmeticProblem.__init__(self, message, cure)


class WrongOffset(ValueProblem, ArgumentProblem):
    """An offset from UTC that there is not."""

    def __init__(self, message: str, cure: str = "") -> None:
        self.kind = "argument"
        ArgumentProblem.__init__(self, message, cure)


class WrongField(ValueProblem, TypeProblem):
    """A field of a temporal value is given something of another type."""

    def __init__(self, message: str, cure: str = "") -> None:
        self.kind = "type"
        TypeProblem.__init__(self, message, cure)
