"""Reads the names of types: INTEGER, LOCAL DATETIME, LIST<STRING NOT NULL>, INTEGER | FLOAT."""

from __future__ import annotations

from collections.abc import Callable

from gdb.language.cursor import TokenCursor
from gdb.language.suggest import closest
from gdb.language.value_types import NAMES, OneType, ValueType

_LISTS = ("LIST", "ARRAY")
_LONGEST = max(name.count(" ") for name in NAMES) + 1


def value_type(
    cursor: TokenCursor, separates: Callable[[int], bool] = lambda _: False
) -> ValueType:
    """The type at the cursor. separates : whether a token that is a | is no part of it.

    Raises
    ------
    SyntaxProblem : there is no type of this name.
    """
    if cursor.is_word("ANY") and cursor.is_sign("<", ahead=1):  # ANY<INTEGER | FLOAT>
        cursor.at += 2
        inner = value_type(cursor)
        cursor.expect_sign(">", "to close ANY<")
        return inner
    found = [_one(cursor)]
    while cursor.is_sign("|") and not separates(cursor.at):
        cursor.take()
        found.append(_one(cursor))
    return ValueType(tuple(found))


def _one(cursor: TokenCursor) -> OneType:
    if cursor.is_word(*_LISTS) and cursor.is_sign("<", ahead=1):
        cursor.at += 2
        items = value_type(cursor)
        cursor.expect_sign(">", "to close LIST<")
        found = OneType("LIST", _nullable(cursor), items)
    else:
        name = _name(cursor)
        nullable = _nullable(cursor) and name != "NOTHING"
        found = OneType(name, nullable)
    while cursor.is_word(*_LISTS):  # INTEGER LIST
        cursor.take()
        found = OneType("LIST", _nullable(cursor), ValueType((found,)))
    return found


def _name(cursor: TokenCursor) -> str:
    for length in range(_LONGEST, 0, -1):
        words = " ".join(cursor.peek(k).word for k in range(length))
        if words in NAMES:
            cursor.at += length
            return NAMES[words]
    if cursor.is_word(*_LISTS):
        raise cursor.error(cursor.here, "a list type names its items.", "Write LIST<ANY>.")
    near = closest(cursor.peek().text, [*NAMES, *_LISTS])
    cure = f"Did you mean {near}?" if near else "Types are INTEGER, STRING, LIST<ANY> and so on."
    raise cursor.unexpected("the name of a type", cure=cure)


def _nullable(cursor: TokenCursor) -> bool:
    return not (cursor.accept_word("NOT NULL") or cursor.accept_sign("!"))
