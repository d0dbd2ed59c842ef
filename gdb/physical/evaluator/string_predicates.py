"""STARTS WITH, ENDS WITH, CONTAINS, =~ and IS NORMALIZED: null where one side is no string."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from gdb.base.values.kinds import Value
from gdb.imports import deferred
from gdb.language.syntax import StringOperator
from gdb.language.value_types import NormalForm

if TYPE_CHECKING:
    import unicodedata

    from gdb.base.values import regex
else:
    unicodedata = deferred("unicodedata")
    regex = deferred("gdb.base.values.regex")

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
            return _strings(lambda left, right: regex.compile_regex(right).fits(left))


def normal_form_test(form: NormalForm, negated: bool) -> Callable[[Value], bool | None]:
    """What decides text IS [NOT] form NORMALIZED: null of what is no string."""

    def test(value: Value) -> bool | None:
        if not isinstance(value, str):
            return None
        return unicodedata.is_normalized(form, value) is not negated

    return test


def _strings(test: Callable[[str, str], bool]) -> Test:
    def either(left: Value, right: Value) -> bool | None:
        return test(left, right) if isinstance(left, str) and isinstance(right, str) else None

    return either
