"""Errors of operations on values, raised before their place in the query is known."""

from __future__ import annotations

from typing import Literal


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
