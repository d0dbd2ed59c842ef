"""Calls of functions: the function exists, and takes as many arguments, and of these kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from gdb.errors import NameProblem, SyntaxProblem
from gdb.language.checks_frame import Frame
from gdb.language.dialects import instead_of
from gdb.language.kinds import Known
from gdb.language.signatures import AGGREGATES, FUNCTIONS, Signature
from gdb.language.suggest import did_you_mean
from gdb.language.syntax import Call, Expression, walk


def is_aggregate(expression: Expression) -> TypeGuard[Call]:
    return isinstance(expression, Call) and expression.function.text.lower() in AGGREGATES


def has_aggregate(expression: Expression) -> bool:
    """Whether an aggregate stands anywhere in the expression; what a subquery in it does is its own."""
    return any(is_aggregate(part) for part in walk(expression))


def called(expression: Call, frame: Frame) -> Signature:
    """What is called.

    Raises
    ------
    NameProblem : there is no such function.
    """
    name = expression.function.text
    signature = AGGREGATES.get(name.lower()) or FUNCTIONS.get(name.lower())
    if signature is not None:
        return signature
    known = [known.name for known in (*AGGREGATES.values(), *FUNCTIONS.values())]
    message = f"there is no function '{name}'."
    cure = instead_of(name) or did_you_mean(name, known)
    raise frame.problem(NameProblem, expression.function.place, "UnknownFunction", message, cure)


def check_call(expression: Call, given: Sequence[Known], frame: Frame) -> Known:
    """Check a call whose arguments were checked, and tell what is known of its value.

    Raises
    ------
    SyntaxProblem : too many arguments, too few, or DISTINCT or * where it means nothing.
    TypeProblem : the first argument is of a kind that the function never takes.
    """
    signature = called(expression, frame)
    _check_star(expression, signature, frame)
    if not expression.star:
        _check_number(expression, signature, frame)
    if signature.takes and not given[0].may_be(signature.takes):
        raise frame.misfit(
            expression.arguments[0].place,
            f"{signature.name}() takes {' or '.join(signature.takes)}, and this is {given[0]}.",
        )
    return signature.result


def refuse_aggregate(expression: Call, frame: Frame, nested: bool) -> SyntaxProblem:
    if nested:
        message = "an aggregate stands inside another."
        cure = "Compute the inner one in a WITH before."
        return frame.problem(SyntaxProblem, expression.place, "NestedAggregation", message, cure)
    message = (
        "an aggregate stands only in the items of RETURN and WITH, and in the ORDER BY behind them."
    )
    cure = "Compute it in a WITH before."
    return frame.problem(SyntaxProblem, expression.place, "InvalidAggregation", message, cure)


def _check_star(expression: Call, signature: Signature, frame: Frame) -> None:
    name = signature.name
    if expression.star and name != "count":
        message = f"{name}() takes no *."
    elif expression.distinct and name.lower() not in AGGREGATES:
        message = f"{name}() takes no DISTINCT: it is no aggregate."
    else:
        return
    raise frame.problem(SyntaxProblem, expression.place, "UnexpectedSyntax", message)


def _check_number(expression: Call, signature: Signature, frame: Frame) -> None:
    number, least, most = len(expression.arguments), signature.least, signature.most
    if number >= least and (most is None or number <= most):
        return
    if most is None:
        takes = f"{least} or more"
    else:
        takes = str(least) if least == most else f"{least} to {most}"
    values = "value" if takes == "1" else "values"
    message = f"{signature.name}() takes {takes} {values}, not {number}."
    raise frame.problem(SyntaxProblem, expression.place, "InvalidNumberOfArguments", message)
