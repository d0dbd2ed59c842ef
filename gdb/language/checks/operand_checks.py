"""Operators over values whose kinds are known before the query runs."""

from __future__ import annotations

from gdb.errors import TypeProblem
from gdb.functions import static_kinds
from gdb.functions.static_kinds import ELEMENTS, NUMBERS, Kind, Known
from gdb.language import syntax
from gdb.language.checks.frame import Frame
from gdb.language.syntax import ArithmeticOperator, Comparator, Expression, Place

_TIMES = (Kind.TEMPORAL, Kind.DURATION)
_WITH_KEYS = (*ELEMENTS, Kind.MAP, *_TIMES)
_NEVER_ADDED = (*ELEMENTS, Kind.PATH, Kind.MAP)
_OPEN = (Kind.VALUE, Kind.NULL)


def boolean(known: Known, expression: Expression, frame: Frame) -> None:
    """Refuse an operand that is surely no boolean."""
    if not known.may_be((Kind.BOOLEAN,)):
        raise frame.misfit(
            expression.place,
            f"here is {known}, and it must be true or false.",
            "Compare it with something, or write IS NOT NULL.",
        )


def warn_of_null(expression: syntax.Comparison, frame: Frame) -> None:
    """Of `a.x = null`, which no value makes true."""
    sides = (expression.left, expression.right)
    if any(isinstance(side, syntax.Literal) and side.value is None for side in sides):
        negated = "NOT " * (expression.operator is Comparator.UNEQUAL)
        frame.warn(
            expression.place,
            f"a comparison with null is null, and never true. Write IS {negated}NULL.",
        )


def check_listed(known: Known, expression: Expression, frame: Frame) -> None:
    """Refuse a right operand of IN that is surely no list."""
    frame.expect(known, (Kind.LIST,), expression.place, "IN takes a list", "Write it in [ ].")


def check_labelled(known: Known, subject: Expression, frame: Frame) -> None:
    """Refuse labels of what is surely no node and no relationship."""
    frame.expect(known, ELEMENTS, subject.place, "only nodes have labels")


def with_keys(
    known: Known, expression: syntax.Property | syntax.MapProjection, frame: Frame
) -> None:
    """Refuse the properties of what has none."""
    if known.may_be(_WITH_KEYS):
        return
    message = f"{known} has no properties."
    place = expression.subject.place
    if known.kind in (Kind.PATH, Kind.LIST):
        if known.kind is Kind.PATH:
            cure = "Take its parts: nodes(path), relationships(path)."
        else:
            cure = "Take one item, as in list[0].key, or all: [x IN list | x.key]."
        raise frame.misfit(place, message, cure)
    raise frame.problem(TypeProblem, place, "PropertyAccessOnNonMap", message)


def negative(known: Known, operand: Expression, frame: Frame) -> Known:
    """The type of -operand. Refuses what is surely no number and no duration."""
    frame.expect(known, (*NUMBERS, Kind.DURATION), operand.place, "- takes a number")
    return known


def index(subject: Known, by: Known, expression: syntax.Index, frame: Frame) -> Known:
    """Check subject[by], and return what is known of it."""
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
    expression: syntax.Arithmetic,
    frame: Frame,
) -> Known:
    """Check one step of a chain, and return what is known of it. `place` is that of the right operand."""
    if operator == "||":
        return _concatenated(left, right, place, expression, frame)
    if operator != "+":
        for known, at in ((left, expression.first.place), (right, place)):
            if not known.may_be((*NUMBERS, *_TIMES)):
                message = f"{operator} is of numbers, and this is {known}."
                raise frame.misfit(at, message, _converted(known))
    if left.kind in _OPEN or right.kind in _OPEN:
        return (
            static_kinds.LIST
            if operator == "+" and Kind.LIST in (left.kind, right.kind)
            else static_kinds.VALUE
        )
    if left.kind in NUMBERS and right.kind in NUMBERS:
        whole = left.kind is right.kind is Kind.INTEGER and operator != "^"
        return static_kinds.INTEGER if whole else static_kinds.FLOAT
    if operator == "+":
        _check_sum(left, right, expression, place, frame)
        return _sum(left, right)
    return static_kinds.VALUE


def _check_sum(
    left: Known, right: Known, expression: syntax.Arithmetic, place: Place, frame: Frame
) -> None:
    """Refuse a sum of known kinds that no value of them has; a list takes anything, a string any single value."""
    if Kind.LIST in (left.kind, right.kind):
        return
    for known, other, at in ((left, right, expression.first.place), (right, left, place)):
        truth = known.kind is Kind.BOOLEAN and other.kind is not Kind.STRING
        if truth or known.kind in _NEVER_ADDED:
            message = f"+ is of numbers, strings and lists, and this is {known}."
            raise frame.misfit(at, message, _converted(known))


def _concatenated(
    left: Known, right: Known, place: Place, expression: syntax.Arithmetic, frame: Frame
) -> Known:
    """Check a || b, and return what is known of it: two strings, or two lists."""
    for known, at in ((left, expression.first.place), (right, place)):
        if not known.may_be((Kind.STRING, Kind.LIST)):
            cure = "Write toString() around it, or OR between conditions."
            cure = "Write OR." if known.kind is Kind.BOOLEAN else cure
            raise frame.misfit(at, f"|| joins strings or lists, and this is {known}.", cure)
    if left.kind in _OPEN or right.kind in _OPEN:
        return static_kinds.VALUE
    if left.kind is not right.kind:
        message = f"|| joins two strings or two lists, and here are {left} and {right}."
        raise frame.misfit(place, message, "Write + to put an item before or behind a list.")
    return left if left == right else static_kinds.LIST


def _converted(known: Known) -> str:
    """How a number or a string is made of what is none."""
    match known.kind:
        case Kind.STRING:
            return "toInteger() and toFloat() make a number of it."
        case Kind.BOOLEAN:
            return "toString() makes a string of it, CASE WHEN ... THEN 1 ELSE 0 END a number."
        case Kind.NODE | Kind.RELATIONSHIP | Kind.MAP:
            return "Take a property of it, as in a.key."
        case Kind.LIST:
            return "Calculate with its items: [x IN list | x * 2], or reduce()."
        case _:
            return ""


def _sum(left: Known, right: Known) -> Known:
    if Kind.LIST in (left.kind, right.kind):
        return static_kinds.LIST
    return static_kinds.STRING if Kind.STRING in (left.kind, right.kind) else static_kinds.VALUE
