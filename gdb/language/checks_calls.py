"""Calls of functions: the function exists, and takes as many arguments, and of these kinds."""

from __future__ import annotations

from collections.abc import Sequence

from gdb.errors import NameProblem, SyntaxProblem
from gdb.functions.function import AggregateFunction, Function
from gdb.functions.library import AGGREGATES, FUNCTIONS, names
from gdb.functions.static_kinds import Known
from gdb.language.checks_frame import Frame
from gdb.language.dialects import instead_of
from gdb.language.suggest import did_you_mean
from gdb.language.syntax import Call


def called(expression: Call, frame: Frame) -> Function | AggregateFunction:
    """What is called.

    Raises
    ------
    NameProblem : there is no such function.
    """
    name = expression.function.text
    row = AGGREGATES.get(name.lower()) or FUNCTIONS.get(name.lower())
    if row is not None:
        return row
    message = f"there is no function '{name}'."
    cure = instead_of(name) or did_you_mean(name, names())
    raise frame.problem(NameProblem, expression.function.place, "UnknownFunction", message, cure)


def check_call(expression: Call, arguments: Sequence[Known], frame: Frame) -> Known:
    """Check a call whose arguments were checked, and return what is known of its value.

    Raises
    ------
    SyntaxProblem : too many arguments, too few, or DISTINCT or * where it means nothing.
    TypeProblem : the first argument is of a kind that the function never takes.
    """
    row = called(expression, frame)
    _check_star(expression, row, frame)
    if not expression.star:
        _check_number(expression, row, frame)
    if row.takes and not arguments[0].may_be(row.takes):
        raise frame.misfit(
            expression.arguments[0].place,
            f"{row.name}() takes {' or '.join(row.takes)}, and this is {arguments[0]}.",
        )
    return row.signature.result


def refuse_aggregate(expression: Call, frame: Frame, nested: bool) -> SyntaxProblem:
    """The error for an aggregate in a wrong place. nested : inside another one."""
    if nested:
        message = "an aggregate is nested in another."
        cure = "Compute the inner one in a WITH before."
        return frame.problem(SyntaxProblem, expression.place, "NestedAggregation", message, cure)
    message = "an aggregate is allowed only in the items of RETURN and WITH, and in their ORDER BY."
    cure = "Compute it in a WITH before."
    return frame.problem(SyntaxProblem, expression.place, "InvalidAggregation", message, cure)


def _check_star(expression: Call, row: Function | AggregateFunction, frame: Frame) -> None:
    name = row.name
    if expression.star and name != "count":
        message = f"{name}() takes no *."
    elif expression.distinct and name.lower() not in AGGREGATES:
        message = f"{name}() takes no DISTINCT: it is no aggregate."
    else:
        return
    raise frame.problem(SyntaxProblem, expression.place, "UnexpectedSyntax", message)


def _check_number(expression: Call, row: Function | AggregateFunction, frame: Frame) -> None:
    number, least, most = len(expression.arguments), row.signature.least, row.signature.most
    if number >= least and (most is None or number <= most):
        return
    if most is None:
        takes = f"{least} or more"
    else:
        takes = str(least) if least == most else f"{least} to {most}"
    values = "value" if takes == "1" else "values"
    message = f"{row.name}() takes {takes} {values}, not {number}."
    raise frame.problem(SyntaxProblem, expression.place, "InvalidNumberOfArguments", message)
