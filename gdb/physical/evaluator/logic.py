"""AND, OR, XOR, NOT, IN and the quantifiers: the logic of true, false and null."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gdb.language.syntax import Connective, Quantifier

if TYPE_CHECKING:
    from gdb.base.values.kinds import Row
    from gdb.physical.evaluator.context import Condition


def connect_conditions(connective: Connective, operands: Sequence[Condition]) -> Condition:
    """The operands from left to right; those after the one that decides are not evaluated."""
    match connective:
        case Connective.AND:
            return _decided_by(False, operands)
        case Connective.OR:
            return _decided_by(True, operands)
        case Connective.XOR:
            return _xor(operands)


def _decided_by(decisive: bool, operands: Sequence[Condition]) -> Condition:
    """AND, which one false decides, or OR, which one true decides; else a null makes it null."""

    def test(row: Row) -> bool | None:
        result: bool | None = not decisive
        for operand in operands:
            value = operand(row)
            if value is decisive:
                return decisive
            if value is None:
                result = None
        return result

    return test


def _xor(operands: Sequence[Condition]) -> Condition:
    def test(row: Row) -> bool | None:
        result: bool | None = False
        for operand in operands:
            value = operand(row)
            result = None if value is None or result is None else result is not value
        return result

    return test


def negate_condition(operand: Condition) -> Condition:
    """NOT of a condition; null stays null."""

    def test(row: Row) -> bool | None:
        value = operand(row)
        return None if value is None else not value

    return test


def quantify_list(quantifier: Quantifier, answers: Iterable[bool | None]) -> bool | None:
    """The result for the list from those for the single items; evaluates no more of them than it needs."""
    match quantifier:
        case "any":
            return _any(answers)
        case "none":
            found = _any(answers)
            return None if found is None else not found
        case "all":
            fails = _any(None if answer is None else not answer for answer in answers)
            return None if fails is None else not fails
        case "single":
            return _single(answers)


def _any(answers: Iterable[bool | None]) -> bool | None:
    result: bool | None = False
    for answer in answers:
        if answer:
            return True
        if answer is None:
            result = None
    return result


def _single(answers: Iterable[bool | None]) -> bool | None:
    count, unknown = 0, False
    for answer in answers:
        if answer is None:
            unknown = True
        elif answer:
            count += 1
            if count > 1:
                return False  # whatever the nulls are
    return None if unknown else count == 1
