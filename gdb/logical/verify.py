"""The invariants of a logical plan, which hold after every pass."""

from __future__ import annotations

from collections.abc import Iterator

from gdb.errors import InternalError
from gdb.language.mentioned_names import mentioned
from gdb.logical import operators
from gdb.logical.operators import MADE, Names, Operator, Operators, expressions_of, follow


def verify(side: Operators, names: Names, outputs: Names) -> None:
    """Verify the operators of a side. names : before them. outputs : in the end.

    Raises
    ------
    InternalError : an operator uses a name that the rows do not have there.
    """
    known = dict.fromkeys(names)
    for operator in side:
        for name in _names(operator):
            if name not in known:
                raise InternalError(
                    f"{type(operator).__name__} uses {name!r}, but the rows have {tuple(known)}."
                )
        follow(operator, known)
    if not known.keys() >= {*outputs}:
        raise InternalError(f"the answer is to have {outputs}, and there is {tuple(known)}.")


def _names(operator: Operator) -> Iterator[str]:
    """The names that must be there. A name that a user wrote may be that of something inside an expression."""
    if isinstance(operator, operators.Distinct):
        yield from operator.names
    if isinstance(operator, operators.Aggregate):
        yield from operator.rest
    for expression in expressions_of(operator):
        yield from (name for name in mentioned(expression) if name.startswith(MADE))
