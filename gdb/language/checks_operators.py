"""Operators over values whose kinds are known before the query runs."""

from __future__ import annotations

from gdb.errors import TypeProblem
from gdb.functions.kinds import (
    ELEMENTS,
    FLOAT,
    INTEGER,
    LIST,
    NUMBERS,
    STRING,
    VALUE,
    Kind,
    Known,
)
from gdb.language.checks_frame import Frame
from gdb.language.syntax import (
    Arithmetic,
    ArithmeticOperator,
    Expression,
    Index,
    MapProjection,
    Place,
    Property,
)

_TIMES = (Kind.TEMPORAL, Kind.DURATION)
_WITH_KEYS = (*ELEMENTS, Kind.MAP, *_TIMES)
_NEVER_ADDED = (*ELEMENTS, Kind.PATH, Kind.MAP)
_OPEN = (Kind.VALUE, Kind.NULL)


def boolean(known: Known, expression: Expression, frame: Frame) -> None:
    if not known.may_be((Kind.BOOLEAN,)):
        raise frame.misfit(
            expression.place,
            f"here is {known}, and it must be true or false.",
            "Compare it with something, or write IS NOT NULL.",
        )


def listed(known: Known, expression: Expression, frame: Frame) -> None:
    if not known.may_be((Kind.LIST,)):
        raise frame.misfit(
            expression.place, f"behind IN stands a list, and this is {known}.", "Write it in [ ]."
        )


def labelled(known: Known, subject: Expression, frame: Frame) -> None:
    if not known.may_be(ELEMENTS):
        raise frame.misfit(subject.place, f"only nodes have labels, and this is {known}.")


def with_keys(known: Known, expression: Property | MapProjection, frame: Frame) -> None:
    """Refuse the properties of what has none."""
    if known.may_be(_WITH_KEYS):
        return
    message = f"{known} has no properties."
    place = expression.subject.place
    if known.kind in (Kind.PATH, Kind.LIST):
        cure = "Name a node of it." if known.kind is Kind.PATH else "Take an item, as in list[0]."
        raise frame.misfit(place, message, cure)
    raise frame.problem(TypeProblem, place, "PropertyAccessOnNonMap", message)


def negative(known: Known, operand: Expression, frame: Frame) -> Known:
    if not known.may_be((*NUMBERS, Kind.DURATION)):
        raise frame.misfit(operand.place, f"- stands before a number, and this is {known}.")
    return known


def index(subject: Known, by: Known, expression: Index, frame: Frame) -> Known:
    """Check subject[by], and tell what is known of it."""
    place = expression.index.place
    if not subject.may_be((Kind.LIST, Kind.MAP, *ELEMENTS)):
        message = f"{subject} has no parts to take by [ ]."
        raise frame.problem(TypeProblem, expression.subject.place, "InvalidElementAccess", message)
    if subject.kind is Kind.LIST and not by.may_be((Kind.INTEGER,)):
        message = f"an item of a list is taken by its number, and this is {by}."
        raise frame.problem(TypeProblem, place, "ListElementAccessByNonInteger", message)
    if subject.kind in (Kind.MAP, *ELEMENTS) and not by.may_be((Kind.STRING,)):
        message = f"a value of {subject} is taken by its key, and this is {by}."
        raise frame.problem(TypeProblem, place, "MapElementAccessByNonString", message)
    return subject.items


def arithmetic(
    operator: ArithmeticOperator,
    left: Known,
    right: Known,
    place: Place,
    expression: Arithmetic,
    frame: Frame,
) -> Known:
    """Check one step of a chain, and tell what is known of it. `place` is that of the right operand."""
    if operator != "+":
        for known, at in ((left, expression.first.place), (right, place)):
            if not known.may_be((*NUMBERS, *_TIMES)):
                raise frame.misfit(at, f"{operator} is of numbers, and this is {known}.")
    if left.kind in _OPEN or right.kind in _OPEN:
        return LIST if operator == "+" and Kind.LIST in (left.kind, right.kind) else VALUE
    if left.kind in NUMBERS and right.kind in NUMBERS:
        whole = left.kind is right.kind is Kind.INTEGER and operator != "^"
        return INTEGER if whole else FLOAT
    if operator == "+":
        _check_sum(left, right, expression, place, frame)
        return _sum(left, right)
    return VALUE


def _check_sum(
    left: Known, right: Known, expression: Arithmetic, place: Place, frame: Frame
) -> None:
    """Refuse a sum of known kinds that no value of them has; a list takes anything, a string any single value."""
    if Kind.LIST in (left.kind, right.kind):
        return
    for known, other, at in ((left, right, expression.first.place), (right, left, place)):
        truth = known.kind is Kind.BOOLEAN and other.kind is not Kind.STRING
        if truth or known.kind in _NEVER_ADDED:
            raise frame.misfit(at, f"+ is of numbers, strings and lists, and this is {known}.")


def _sum(left: Known, right: Known) -> Known:
    if Kind.LIST in (left.kind, right.kind):
        return LIST
    return STRING if Kind.STRING in (left.kind, right.kind) else VALUE
