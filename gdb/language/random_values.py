"""Expressions that are another value each time they are evaluated: rand(), randomUUID().

Such an expression must not be evaluated more or less often than its clause says: once for each row. So it is not copied
to several places, not kept for several rows, and no condition with one is tested before its rows are complete.
"""

from __future__ import annotations

from collections.abc import Iterator

from gdb.functions.library import varies
from gdb.language.mentioned_names import inner_expressions
from gdb.language.syntax import Call, Expression, walk


def random_calls(expression: Expression) -> Iterator[Call]:
    """The calls in an expression that give another value each time, in its patterns and subqueries too."""
    for part in walk(expression):
        if isinstance(part, Call):
            if varies(part.function.text.lower()):
                yield part
        else:
            for inner in inner_expressions(part):
                yield from random_calls(inner)


def is_random(expression: Expression) -> bool:
    """Whether an expression is another value each time."""
    return any(True for _ in random_calls(expression))
