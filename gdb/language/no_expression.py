"""Errors where an expression is missing: operators and parameters of other languages, a comma too many."""

from __future__ import annotations

from gdb.errors import SyntaxProblem
from gdb.language import dialects
from gdb.language.cursor import TokenCursor
from gdb.language.syntax import Name

_PARAMETERS = (":", "%", "@")  # what they begin with elsewhere: :name, %s, @name


def no_expression(cursor: TokenCursor) -> SyntaxProblem:
    """The error that the token at the cursor begins no expression."""
    token = cursor.tokens[cursor.at]
    before = cursor.tokens[cursor.at - 1].sign if cursor.at else ""
    operator = f"{before}{token.sign}"
    if operator in dialects.OPERATORS:
        place = cursor.last.to(cursor.here)
        message = f"the language has no operator {operator}."
        return cursor.error(place, message, dialects.OPERATORS[operator])
    cure = ""
    if token.sign == "*":
        cure = "* is written alone, or in count(*)."
    elif token.sign in _PARAMETERS:
        cure = "A parameter is written $name."
    elif before == ",":
        cure = "Leave out the comma before it."
    return cursor.unexpected("an expression", cure=cure)


def no_colon(cursor: TokenCursor, key: Name, *, first: bool) -> SyntaxProblem:
    """The error that no colon follows a key of a map; first : the key is the first one, as in {name}."""
    cure = "A property map is written {key: value}."
    if first and cursor.is_sign("}"):
        cure = f"A parameter is written ${key.text}; a property map {{key: value}}."
    return cursor.unexpected("':' after the name of a property", cure=cure)
