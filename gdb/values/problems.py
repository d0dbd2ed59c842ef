"""What a value refuses, before anybody knows where in a query it stood."""

from __future__ import annotations

from typing import Literal


class ValueProblem(Exception):
    """kind : "type" (the operation does not fit the value), "argument" (a function does not take it), "arithmetic"
    (division by zero, overflow)."""

    def __init__(
        self, kind: Literal["type", "argument", "arithmetic"], message: str, cure: str = ""
    ) -> None:
        super().__init__(message)
        self.kind, self.message, self.cure = kind, message, cure
