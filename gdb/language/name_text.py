"""The texts of names and values, as `gdb.language.parser` reads them again: a keyword is quoted in backquotes."""

from __future__ import annotations

import math
import re

from gdb.language.atoms import (
    FLOAT_WORDS,
    LOOSE_WORDS,
    NO_VALUES,
    QUANTIFIERS,
    SHORTEST,
    SUBQUERIES,
)
from gdb.language.expressions import OPERATOR_WORDS
from gdb.language.patterns import PATH_WORDS
from gdb.language.reading import MODES

_PLAIN = re.compile(r"[^\W\d]\w*")
_CLAUSES = """
    OPTIONAL LOAD CSV CREATE INSERT MERGE SET REMOVE DELETE DETACH FOREACH CALL YIELD ORDER BY OFFSET ASC ASCENDING
    DESC DESCENDING NULLS FIRST LAST ON HEADERS FROM FIELDTERMINATOR EXPLAIN PROFILE DISTINCT BINDING BINDINGS
    CASE WHEN THEN ELSE END REDUCE IS STARTS ENDS GROUP GROUPS PATH PATHS USE SHOW FILTER LET FINISH NEXT DROP ALTER
    TRANSACTIONS CONCURRENT
"""
_KEYWORDS = frozenset(
    word
    for words in (
        *(_CLAUSES, *FLOAT_WORDS, *LOOSE_WORDS, *NO_VALUES, *QUANTIFIERS, *SHORTEST, *SUBQUERIES),
        *(*OPERATOR_WORDS, *PATH_WORDS, *MODES),
    )
    for word in words.split()
)
_ESCAPES = {
    "\\": "\\\\",
    "'": "\\'",
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\b": "\\b",
    "\f": "\\f",
}


def name_text(name: str) -> str:
    """A name as the language takes it: in backquotes if it is a keyword or no plain word."""
    if _PLAIN.fullmatch(name) and name.upper() not in _KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def dotted_text(name: str) -> str:
    """The name of a function or procedure."""
    if name.lower() in ("count", "collect"):  # keywords only before a brace
        return name
    parts = name.split(".")
    return ".".join(map(name_text, parts)) if all(parts) else name_text(name)


def value_text(value: int | float | bool | str | None) -> str:
    """A value as Cypher writes it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + "".join(_ESCAPES.get(character, character) for character in value) + "'"
        case float() if math.isinf(value):
            return "INF" if value > 0 else "-INF"
        case float() if math.isnan(value):
            return "NaN"
        case _:
            return repr(value)
