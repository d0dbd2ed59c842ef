"""The invariants of a logical plan, which hold after every pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gdb.errors import InternalError
from gdb.language.mentioned_names import asks, mentioned
from gdb.language.syntax import Expression, own_variables
from gdb.logical import operators
from gdb.logical.operators import MADE, Names, Operator, Operators, expressions_of, follow

_OF_ROWS = (operators.Project, operators.Aggregate, operators.Sort, operators.Filter)
"""The operators whose expressions mention nothing but the rows before them."""


def verify(side: Operators, names: Names, outputs: Names) -> None:
    """Verify the operators of a side. names : before them. outputs : in the end.

    Raises
    ------
    InternalError : an operator uses a name that the rows do not have there.
    """
    known = dict.fromkeys(names)
    for operator in side:
        there = names if isinstance(operator, operators.Argument) else known
        for name in _names(operator, there):
            raise InternalError(
                f"{type(operator).__name__} uses {name!r}, but the rows have {tuple(there)}."
            )
        follow(operator, known)
    if not known.keys() >= {*outputs}:
        raise InternalError(f"the answer is to have {outputs}, and there is {tuple(known)}.")


def _names(operator: Operator, known: Iterable[str]) -> Iterator[str]:
    """The names that an operator uses and that are not there. known : those that are."""
    match operator:
        case operators.Distinct(names=used) | operators.Argument(names=used):
            yield from (name for name in used if name not in known)
        case operators.Aggregate(rest=used) | operators.Apply(sees=used):
            yield from (name for name in used if name not in known)
    for expression in expressions_of(operator):
        for name in mentioned(expression):
            if name not in known and not _may_be_inside(name, expression, operator):
                yield name


def _may_be_inside(name: str, expression: Expression, operator: Operator) -> bool:
    """Whether a name that a user wrote may be that of something that the expression, or the operator, finds itself."""
    if name.startswith(MADE):
        return False
    return (
        not isinstance(operator, _OF_ROWS) or asks(expression) or name in own_variables(expression)
    )
