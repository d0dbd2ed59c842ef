"""Label expressions: `:A:B`, `:A&(B|C)`, `:!A`, `:%`, `:$(expression)`, of nodes and, for types, of relationships.

What names of labels can say, an AND of ORs, goes to the element itself (`terms`). The rest becomes a condition.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, TypeAlias
from typing import Literal as OneOf

from gdb.errors import LimitExceeded
from gdb.language import syntax
from gdb.language.dynamic_labels import HasNamed
from gdb.language.report import located_message
from gdb.language.syntax import Comparator, Connective, Expression, LabelTerms, Name, Place
from gdb.language.tokens import TokenKind
from gdb.records import dataclass, quick

if TYPE_CHECKING:
    from gdb.language.atoms import AtomReader

NAMES = (TokenKind.NAME, TokenKind.QUOTED)
_MOST = 64
"""Alternatives of an AND of ORs; multiplying out may make very many."""


@dataclass(frozen=True, slots=True)
class AnyName:
    """%"""

    place: Place


@dataclass(frozen=True, slots=True)
class NamedBy:
    """$(names), $all(names), $any(names)"""

    names: Expression
    any: bool
    place: Place


Test: TypeAlias = "Name | AnyName | NamedBy"
Signed: TypeAlias = "tuple[bool, Test]"
"""A test, and whether it must be true."""
Clauses: TypeAlias = "tuple[tuple[Signed, ...], ...]"
"""An AND of ORs."""


@quick
@dataclass(frozen=True, slots=True)
class LabelExpression:
    """terms : the ORs that consist of names only. others : the rest."""

    terms: LabelTerms
    others: Clauses
    place: Place

    def condition(
        self, subject: Expression, of: OneOf["node", "relationship"]
    ) -> Expression | None:
        """The conditions of `others` on an element, as an expression; None where there are none."""
        parts = [_either(clause, subject, of, self.place) for clause in self.others]
        return _joined(Connective.AND, parts, self.place) if parts else None

    def whole(self, subject: Expression, place: Place) -> Expression:
        """All of it as a test of a value."""
        if not self.others:
            return syntax.HasLabels(subject, self.terms, place)
        parts = [_either(clause, subject, "node", place) for clause in self.others]
        if self.terms:
            parts.insert(0, syntax.HasLabels(subject, self.terms, place))
        return _joined(Connective.AND, parts, place)


def label_expression(reader: AtomReader, what: str = "a label") -> LabelExpression:
    """The labels (or types, `what`) that begin with the ':' at the cursor.

    Raises
    ------
    SyntaxProblem : no name; a `:` behind a | that has no parentheses.
    LimitExceeded : written as an AND of ORs it would be very long.
    """
    cursor, start = reader.cursor, reader.cursor.at
    if cursor.peek(1).kind in NAMES and cursor.peek(2).sign not in ("|", "&", ":"):
        cursor.at += 1
        name = cursor.name(what)
        return LabelExpression(((name,),), (), name.place)
    clauses: list[tuple[Signed, ...]] = []
    while cursor.accept_sign(":"):
        found, open_bar = _alternatives(reader, what)
        clauses += found
        if open_bar and cursor.is_sign(":"):
            cure = "Write :(A|B)&C."
            raise cursor.error(cursor.since(start), ": behind | needs parentheses here.", cure)
    place = cursor.since(start)
    if len(clauses) > _MOST:
        message = f"the expression of labels has more than {_MOST} alternatives."
        raise LimitExceeded(
            located_message(cursor.text, place, message), "Write it as conditions in WHERE."
        )
    plain: list[tuple[Name, ...]] = []
    others: list[tuple[Signed, ...]] = []
    for clause in clauses:
        names = tuple(test for positive, test in clause if positive and isinstance(test, Name))
        if len(names) == len(clause):
            plain.append(names)
        else:
            others.append(clause)
    return LabelExpression(tuple(plain), tuple(others), place)


# ---- reading -------------------------------------------------------------------------------------


def _alternatives(reader: AtomReader, what: str) -> tuple[Clauses, bool]:
    """A|B|C, and whether there is a | outside of parentheses."""
    cursor = reader.cursor
    several = [_conjunction(reader, what)]
    while cursor.is_sign("|") and not reader.separates(cursor.at):
        cursor.take()
        cursor.accept_sign(":")
        several.append(_conjunction(reader, what))
    return _or(several), len(several) > 1


def _conjunction(reader: AtomReader, what: str) -> Clauses:
    found = _negated(reader, what)
    while reader.cursor.accept_sign("&"):
        found = (*found, *_negated(reader, what))
    return found


def _negated(reader: AtomReader, what: str) -> Clauses:
    if reader.cursor.accept_sign("!"):
        return _not(_negated(reader, what))
    return _atom(reader, what)


def _atom(reader: AtomReader, what: str) -> Clauses:
    cursor = reader.cursor
    if cursor.accept_sign("("):
        found, _ = _alternatives(reader, what)
        cursor.expect_sign(")", "to close the labels")
        return found
    if cursor.accept_sign("%"):
        return (((True, AnyName(cursor.last)),),)
    if cursor.is_sign("$"):
        return (((True, _named_by(reader)),),)
    return (((True, cursor.name(what)),),)


def _named_by(reader: AtomReader) -> NamedBy:
    cursor, start = reader.cursor, reader.cursor.at
    cursor.take()
    every = cursor.accept_word("ALL") if cursor.is_sign("(", ahead=1) else False
    any_ = not every and cursor.is_sign("(", ahead=1) and cursor.accept_word("ANY")
    written = cursor.peek().text
    cursor.expect_sign("(", "behind $", f"Write $(expression), as in :$(${written}).")
    names = reader.read()
    cursor.expect_sign(")", "to close $(")
    return NamedBy(names, any_, cursor.since(start))


def _or(several: list[Clauses]) -> Clauses:
    """An OR of ANDs of ORs as an AND of ORs."""
    count = 1
    for one in several:
        count *= len(one)
    if count > _MOST:  # it is refused by its length
        return several[0] * (_MOST + 1)
    return tuple(tuple(test for part in parts for test in part) for parts in product(*several))


def _not(clauses: Clauses) -> Clauses:
    return _or([tuple(((not positive, test),) for positive, test in clause) for clause in clauses])


# ---- conditions ----------------------------------------------------------------------------------


def _either(
    clause: tuple[Signed, ...], subject: Expression, of: OneOf["node", "relationship"], place: Place
) -> Expression:
    names = tuple(test for positive, test in clause if positive and isinstance(test, Name))
    parts: list[Expression] = [syntax.HasLabels(subject, (names,), place)] if names else []
    for positive, test in clause:
        if positive and isinstance(test, Name):
            continue
        found = _tested(test, subject, of)
        parts.append(found if positive else syntax.Not(found, found.place))
    return _joined(Connective.OR, parts, place)


def _tested(test: Test, subject: Expression, of: OneOf["node", "relationship"]) -> Expression:
    match test:
        case Name():
            return syntax.HasLabels(subject, ((test,),), test.place)
        case NamedBy(names=names, any=any_, place=place):
            return HasNamed(subject, names, any_, place)
        case AnyName(place=place):
            if of == "relationship":  # each has a type
                return syntax.Literal(True, place)
            labels = syntax.Call(Name("labels", place), (subject,), place)
            size = syntax.Call(Name("size", place), (labels,), place)
            return syntax.Comparison(Comparator.GREATER, size, syntax.Literal(0, place), place)


def _joined(connective: Connective, parts: list[Expression], place: Place) -> Expression:
    return parts[0] if len(parts) == 1 else syntax.Connected(connective, tuple(parts), place)
