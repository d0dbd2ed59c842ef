"""STARTS WITH, ENDS WITH, CONTAINS and =~: null where one side is no string."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gdb.language.syntax import StringOperator
from gdb.values.kinds import Value
from gdb.values.regex import compiled

Test: TypeAlias = "Callable[[Value, Value], bool | None]"


def tester(operator: StringOperator) -> Test:
    """What decides left operator right."""
    match operator:
        case StringOperator.STARTS_WITH:
            return _strings(str.startswith)
        case StringOperator.ENDS_WITH:
            return _strings(str.endswith)
        case StringOperator.CONTAINS:
            return _strings(lambda left, right: right in left)
        case StringOperator.MATCHES:
            return _strings(lambda left, right: compiled(right).fits(left))


def _strings(test: Callable[[str, str], bool]) -> Test:
    def either(left: Value, right: Value) -> bool | None:
        return test(left, right) if isinstance(left, str) and isinstance(right, str) else None

    return either
