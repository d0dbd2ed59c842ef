"""Label expressions: `:A:B`, `:A&B`, `:A|B`, `:(A|B)&C`, as an AND of ORs."""

from __future__ import annotations

from gdb.language.cursor import Cursor
from gdb.language.syntax import LabelTerms, Name


def label_terms(cursor: Cursor, bars: bool = True) -> LabelTerms:
    """The labels that begin with the ':' at the cursor; without `bars` a | is no part of them.

    Raises
    ------
    SyntaxProblem : no name; & and | mixed without parentheses (& would bind tighter, an OR of ANDs).
    NotSupported : !A, %.
    """
    start = cursor.at
    cursor.expect_sign(":", "before a label")
    terms = [_term(cursor, bars)]
    bare = [len(terms[0]) > 1 and not _parenthesis_before(cursor)]
    while cursor.accept_sign(":", "&"):
        terms.append(_term(cursor, bars))
        bare.append(len(terms[-1]) > 1 and not _parenthesis_before(cursor))
    if len(terms) > 1 and any(bare):
        raise cursor.error(
            cursor.since(start),
            "| beside & needs parentheses here.",
            "Write :(A|B)&C.",
        )
    return tuple(terms)


def _parenthesis_before(cursor: Cursor) -> bool:
    return cursor.tokens[cursor.at - 1].is_sign(")")


def _term(cursor: Cursor, bars: bool) -> tuple[Name, ...]:
    """A, or A|B, or (A|B)."""
    if cursor.accept_sign("("):
        names = alternatives(cursor, "a label")
        cursor.expect_sign(")", "to close the labels")
        return names
    return alternatives(cursor, "a label") if bars else (_name(cursor, "a label"),)


def alternatives(cursor: Cursor, what: str) -> tuple[Name, ...]:
    """A, or A|B, or A|:B: labels or relationship types of which one must fit."""
    names = [_name(cursor, what)]
    while cursor.accept_sign("|"):
        cursor.accept_sign(":")
        names.append(_name(cursor, what))
    return tuple(names)


def _name(cursor: Cursor, what: str) -> Name:
    token = cursor.tokens[cursor.at]
    if token.sign == "!":
        instead = (
            "Write NOT a:Label in WHERE." if what == "a label" else "Name the types that may match."
        )
        raise cursor.not_supported(cursor.here, "! before a name is", instead)
    if token.sign == "%":
        raise cursor.not_supported(cursor.here, "% for any name is", "Leave it out.")
    return cursor.name(what)
